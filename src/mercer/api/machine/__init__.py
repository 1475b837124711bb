"""`mercer.classifier` and `mercer.regression`."""
