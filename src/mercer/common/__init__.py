"""What every package may use: checks, files, silence, random numbers for public values, the version."""

__all__ = ["__version__"]

__version__ = "0.1.0"
