"""Released synthetic tables."""
