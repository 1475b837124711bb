"""Mechanisms: numbers only.  How much noise, of which law, and what it costs.  Layer 3."""

from mercer.mechanisms.base import MECHANISMS, Mechanism, Noise
from mercer.mechanisms.exponential import Choice, Exponential
from mercer.mechanisms.gaussian import Gaussian, GaussianNoise

__all__ = ["MECHANISMS", "Choice", "Exponential", "Gaussian", "GaussianNoise", "Mechanism", "Noise"]
