"""Released columns whose values were counted."""
