"""Mechanisms: numbers only.  How much noise, of which law, and what it costs.  Layer 3."""

from mercer.mechanisms.base import MECHANISMS, Mechanism, Noise
from mercer.mechanisms.gaussian import Gaussian, GaussianNoise

__all__ = ["MECHANISMS", "Gaussian", "GaussianNoise", "Mechanism", "Noise"]
