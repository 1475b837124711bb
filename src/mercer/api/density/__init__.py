"""`mercer.density`: arguments, the public choices, the plan."""
