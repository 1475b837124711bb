"""Statements of differential privacy, and the composition of releases."""
