"""`mercer.mean_curve`: arguments, the public choices, bounds."""
