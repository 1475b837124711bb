"""Data and a budget in, a release out."""
