"""What every mechanism does: calibrate from a sensitivity, draw, state the event."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, TypedDict

from mercer.common.checks import Floats, check_delta, check_epsilon
from mercer.noise.entropy import Entropy
from mercer.noise.laws import Law
from mercer.promise.events import Event, Norm, Sensitivity

__all__ = [
    "MECHANISMS",
    "Mechanism",
    "Noise",
    "Promise",
    "check_norm",
    "check_promise",
    "lattice_below",
    "no_delta",
]

MECHANISMS: dict[str, type[Mechanism]] = {}


class Noise(ABC):
    """Noise of a known law, ready to be added to exact coordinates."""

    law: Law
    event: Event

    @abstractmethod
    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        """Noisy coordinates, on the lattice."""


class Mechanism(ABC):
    """A law of noise, and the norm in which it wants the sensitivity."""

    name: ClassVar[str]
    norm: Norm
    pure: ClassVar[bool]  # promises delta = 0
    calibration: str = "exact"

    def __init_subclass__(cls, *, by_name: bool = True) -> None:
        if by_name:
            MECHANISMS[cls.name] = cls

    @property
    @abstractmethod
    def words(self) -> str:
        """What the statement says about it."""

    @abstractmethod
    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        """Root mean square of a coordinate's noise / sensitivity, before the lattice.

        For public rules and plans.
        """

    @abstractmethod
    def event(self, *, epsilon: float, delta: float) -> Event:
        """A bound on the event of noise of this promise, before its size is known."""

    @abstractmethod
    def calibrate(self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float) -> Noise:
        """The noise that makes `size` coordinates of this sensitivity (epsilon, delta)-DP."""


def check_norm(mechanism: Mechanism, sensitivity: Sensitivity) -> None:
    """A bound in another norm says nothing about this mechanism."""
    if sensitivity.norm != mechanism.norm:
        raise ValueError(
            f"sensitivity must be in the norm {mechanism.norm!r} for the mechanism "
            f"{mechanism.name!r}, got one in {sensitivity.norm!r}"
        )


class Promise(TypedDict):
    """Epsilon and delta, checked."""

    epsilon: float
    delta: float


def check_promise(mechanism: Mechanism, epsilon: object, delta: object) -> Promise:
    """What this mechanism can promise: a pure one keeps any promise with a delta, and more."""
    number = check_epsilon(epsilon)
    if mechanism.pure:
        if not no_delta(delta):
            check_delta(delta)
        return Promise(epsilon=number, delta=0.0)
    return Promise(epsilon=number, delta=check_delta(delta))


def no_delta(delta: object) -> bool:
    """Whether pure differential privacy is asked for: delta left out, or 0."""
    if isinstance(delta, bool):
        return False
    return delta is None or (isinstance(delta, (int, float)) and delta == 0)


def lattice_below(scale: float) -> float:
    """A power of two some 2^-20 of the noise's scale, which doubles hold beside numbers below 4."""
    return max(math.ldexp(1.0, math.floor(math.log2(scale)) - 20), 2.0**-50)
