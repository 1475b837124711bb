"""Released mean curves."""
