"""Mechanisms: the public path of `mercer.noise.mechanisms`."""

from mercer.noise.mechanisms import (
    L2,
    MECHANISMS,
    Body,
    Choice,
    Exponential,
    Gaussian,
    GaussianNoise,
    Geometric,
    KNorm,
    Laplace,
    Mechanism,
    Noise,
    Orbitope,
    cross_polytope,
    cube,
    euclidean_ball,
)

__all__ = [
    "L2",
    "MECHANISMS",
    "Body",
    "Choice",
    "Exponential",
    "Gaussian",
    "GaussianNoise",
    "Geometric",
    "KNorm",
    "Laplace",
    "Mechanism",
    "Noise",
    "Orbitope",
    "cross_polytope",
    "cube",
    "euclidean_ball",
]
