"""Checks, fields, files on disk, silence: what every package may use."""
