"""`mercer.synthetic`."""
