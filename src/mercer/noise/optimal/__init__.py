"""The best mechanism for a count, and how good any mechanism can be."""
