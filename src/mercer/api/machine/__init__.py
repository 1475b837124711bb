"""`mercer.classifier` and `mercer.regression`: kernel machines."""
