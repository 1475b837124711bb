"""What is promised, and what promises add up to."""
