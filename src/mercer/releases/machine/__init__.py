"""Released classifiers and regressions."""
