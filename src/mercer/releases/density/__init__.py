"""Released densities."""
