"""Mechanisms: numbers only.  How much noise, of which law, and what it costs.  Layer 3."""

from mercer.mechanisms.base import MECHANISMS, Mechanism, Noise
from mercer.mechanisms.exponential import Choice, Exponential
from mercer.mechanisms.gaussian import Gaussian, GaussianNoise
from mercer.mechanisms.knorm import L2, Body, KNorm, cross_polytope, cube, euclidean_ball
from mercer.mechanisms.laplace import Geometric, Laplace
from mercer.mechanisms.orbitope import Orbitope

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
