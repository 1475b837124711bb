"""The version of the library.  Layer 0."""

__all__ = ["__version__"]

__version__ = "0.1.0"
