"""Geometry without data: kernels, bases, feature maps, Markov forms."""
