"""Releases that answer as they are asked, and the stores that keep their answers."""
