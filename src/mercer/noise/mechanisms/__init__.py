"""Mechanisms: numbers only.  How much noise, of which law, and what it costs."""

from mercer.noise.mechanisms.additive import Gaussian, GaussianNoise, Geometric, Laplace
from mercer.noise.mechanisms.base import MECHANISMS, Mechanism, Noise
from mercer.noise.mechanisms.exponential import Choice, Exponential
from mercer.noise.mechanisms.knorm import L2, Body, KNorm, Orbitope, cross_polytope, cube, euclidean_ball

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
