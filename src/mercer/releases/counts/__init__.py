"""Released counts, histograms, tables and margins."""
