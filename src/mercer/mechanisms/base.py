"""What every mechanism does: calibrate from a sensitivity, draw, state the event.  Layer 3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from mercer.checks import Floats
from mercer.entropy import Entropy
from mercer.privacy import GaussianEvent, Sensitivity

__all__ = ["MECHANISMS", "Mechanism", "Noise"]

MECHANISMS: dict[str, type[Mechanism]] = {}


class Noise(ABC):
    """Noise of a known law, ready to be added to exact coordinates."""

    sd: float  # standard deviation of every released coordinate
    step: float  # the lattice: a power of two
    event: GaussianEvent

    @abstractmethod
    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        """Noisy coordinates, on the lattice."""


class Mechanism(ABC):
    """A law of noise."""

    name: ClassVar[str]
    calibration: str

    def __init_subclass__(cls) -> None:
        MECHANISMS[cls.name] = cls

    @property
    @abstractmethod
    def words(self) -> str:
        """What the statement says about it."""

    @abstractmethod
    def multiplier(self, *, epsilon: float, delta: float) -> float:
        """Noise sd / sensitivity, before the lattice: for public rules and plans."""

    @abstractmethod
    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float
    ) -> Noise:
        """The noise that makes `size` coordinates of this sensitivity (epsilon, delta)-DP."""
