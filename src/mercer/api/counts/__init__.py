"""`mercer.count`, `mercer.histogram`, `mercer.table`."""
