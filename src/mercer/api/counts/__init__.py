"""`mercer.count`, `mercer.histogram`, `mercer.table`: what is asked, and how it is released."""
