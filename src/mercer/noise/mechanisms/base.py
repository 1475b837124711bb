"""What every mechanism does: calibrate from a sensitivity, draw, state the event."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, TypedDict

from mercer.common.checks import Floats, check_delta, check_epsilon
from mercer.noise.entropy import Entropy, Secure
from mercer.noise.laws import Law
from mercer.promise.events import Event, Norm, PureEvent, Sensitivity

__all__ = [
    "MECHANISMS",
    "AnyMechanism",
    "Mechanism",
    "Noise",
    "Promise",
    "PureMechanism",
    "Randomiser",
    "check_norm",
    "check_promise",
    "check_pure",
    "lattice_below",
    "no_delta",
    "secure_draws",
]

MECHANISMS: dict[str, type[Mechanism]] = {}


class Randomiser(ABC):
    """A calibrated mechanism: it turns an exact value into one that may be told."""

    event: Event
    law: Any  # of the noise, for the release: public

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Public numbers, for whoever replays a release: they may not follow the records."""
        return ()

    @abstractmethod
    def randomise(self, exact: Any, entropy: Entropy) -> Any:
        """What is told of the exact value."""


class Noise(Randomiser):
    """Noise of a known law, ready to be added to exact coordinates."""

    law: Law

    def randomise(self, exact: Floats, entropy: Entropy) -> Floats:
        return self.add(exact, entropy)

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


class PureMechanism(Mechanism, by_name=False):
    """A mechanism that promises epsilon alone: delta is 0, and what it releases is a pure event."""

    pure = True

    def event(self, *, epsilon: float, delta: float) -> PureEvent:  # noqa: ARG002
        return PureEvent(epsilon)


class AnyMechanism(Protocol):
    """What the door asks of a mechanism, whatever it turns into what: numbers, counts or a choice."""

    @property
    def norm(self) -> Norm:
        """In which it wants the sensitivity."""
        ...

    @property
    def words(self) -> str:
        """What the statement says about it."""
        ...

    @property
    def calibration(self) -> str:
        """How the noise follows from the promise."""
        ...

    def calibrate(self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float) -> Randomiser:
        """What makes `size` numbers of this sensitivity (epsilon, delta)-DP."""
        ...


def secure_draws(randomiser: Randomiser, exact: Any, runs: int) -> list[Any]:
    """So many answers to the same question, drawn as for a release: for audits."""
    source = Secure()
    return [randomiser.randomise(exact, source) for _ in range(runs)]


def check_norm(mechanism: AnyMechanism, sensitivity: Sensitivity) -> None:
    """A bound in another norm says nothing about this mechanism."""
    if sensitivity.norm != mechanism.norm:
        raise ValueError(
            f"sensitivity must be in the norm {mechanism.norm!r} for the mechanism "
            f"{getattr(mechanism, 'name', type(mechanism).__name__)!r}, got one in {sensitivity.norm!r}"
        )


class Promise(TypedDict):
    """Epsilon and delta, checked."""

    epsilon: float
    delta: float


def check_promise(mechanism: Mechanism, epsilon: object, delta: object) -> Promise:
    """What this mechanism can promise: a pure one keeps any promise with a delta, and more."""
    if mechanism.pure:
        return Promise(epsilon=check_pure(epsilon, delta), delta=0.0)
    return Promise(epsilon=check_epsilon(epsilon), delta=check_delta(delta))


def check_pure(epsilon: object, delta: object) -> float:
    """Epsilon of a mechanism that is pure: it keeps any promise with a delta, and more."""
    number = check_epsilon(epsilon)
    if not no_delta(delta):
        check_delta(delta)
    return number


def no_delta(delta: object) -> bool:
    """Whether pure differential privacy is asked for: delta left out, or 0."""
    if isinstance(delta, bool):
        return False
    return delta is None or (isinstance(delta, (int, float)) and delta == 0)


def lattice_below(scale: float) -> float:
    """A power of two some 2^-20 of the noise's scale, which doubles hold beside numbers below 4."""
    return max(math.ldexp(1.0, math.floor(math.log2(scale)) - 20), 2.0**-50)
