"""Samples of curves from any source, in chunks."""
