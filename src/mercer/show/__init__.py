"""What a terminal shows: words, numbers and tables."""
