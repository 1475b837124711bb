"""`mercer.density`, its public choices and `mercer.density_plan`."""
