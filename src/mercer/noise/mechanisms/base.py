"""What every mechanism does: calibrate to a sensitivity, draw noise, state the privacy event."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypedDict, TypeVar

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
    "scale_above",
    "secure_draws",
]

X = TypeVar("X")  # what is exact
Y = TypeVar("Y")  # what is released of it
X_contra = TypeVar("X_contra", contravariant=True)
Y_co = TypeVar("Y_co", covariant=True)

MECHANISMS: dict[str, type[Mechanism]] = {}


class Randomiser(ABC, Generic[X_contra, Y_co]):
    """A calibrated mechanism: it turns an exact value into one that may be released."""

    event: Event
    law: Any  # of the noise, for the release: public

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Public numbers that a replay compares: they must not depend on the records."""
        return ()

    @abstractmethod
    def randomise(self, exact: X_contra, entropy: Entropy) -> Y_co:
        """What is released in place of the exact value."""


class Noise(Randomiser[Floats, Floats]):
    """Noise of a known law, ready to be added to exact coordinates."""

    law: Law

    def randomise(self, exact: Floats, entropy: Entropy) -> Floats:
        return self.add(exact, entropy)

    @abstractmethod
    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        """The coordinates with noise, as points of the lattice."""


class AnyMechanism(ABC, Generic[X_contra, Y_co]):
    """What the door needs of a mechanism, whether it releases numbers, counts or a choice."""

    norm: Norm  # in which it takes the sensitivity
    calibration: str = "exact"  # how the noise follows from epsilon and delta, for the statement

    @property
    @abstractmethod
    def words(self) -> str:
        """A description of the noise for the statement of a release."""

    @abstractmethod
    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float
    ) -> Randomiser[X_contra, Y_co]:
        """The mechanism that makes `size` numbers of this sensitivity (epsilon, delta)-DP."""


class Mechanism(AnyMechanism[Floats, Floats]):
    """A law of noise, and the norm in which it takes the sensitivity."""

    name: ClassVar[str]
    pure: ClassVar[bool]  # promises delta = 0

    def __init_subclass__(cls, *, by_name: bool = True) -> None:
        if by_name:
            MECHANISMS[cls.name] = cls

    @abstractmethod
    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        """Root mean square of the noise of a coordinate divided by the sensitivity, without the lattice.

        Public rules and plans use it.
        """

    @abstractmethod
    def event(self, *, epsilon: float, delta: float) -> Event:
        """A bound on the privacy event of noise for this epsilon and delta, before its scale is known."""

    @abstractmethod
    def calibrate(self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float) -> Noise:
        """The noise that makes `size` coordinates of this sensitivity (epsilon, delta)-DP."""


class PureMechanism(Mechanism, by_name=False):
    """A mechanism that promises epsilon alone: delta is 0, and what it releases is a pure event."""

    pure = True

    def event(self, *, epsilon: float, delta: float) -> PureEvent:
        return PureEvent(epsilon)


def secure_draws(randomiser: Randomiser[X, Y], exact: X, runs: int) -> list[Y]:
    """`runs` independent answers for the same exact value, drawn as for a release, for audits."""
    source = Secure()
    return [randomiser.randomise(exact, source) for _ in range(runs)]


def check_norm(mechanism: AnyMechanism[Any, Any], sensitivity: Sensitivity) -> None:
    """ValueError unless the sensitivity is in the norm of the mechanism."""
    if sensitivity.norm != mechanism.norm:
        raise ValueError(
            f"sensitivity must be in the norm {mechanism.norm!r} for the mechanism "
            f"{getattr(mechanism, 'name', type(mechanism).__name__)!r}, got one in {sensitivity.norm!r}"
        )


class Promise(TypedDict):
    """Epsilon and delta that were checked, as keyword arguments."""

    epsilon: float
    delta: float


def check_promise(mechanism: Mechanism, epsilon: object, delta: object) -> Promise:
    """Epsilon and delta of what this mechanism keeps: delta is 0 for a pure one, whatever was asked."""
    if mechanism.pure:
        return Promise(epsilon=check_pure(epsilon, delta), delta=0.0)
    return Promise(epsilon=check_epsilon(epsilon), delta=check_delta(delta))


def check_pure(epsilon: object, delta: object) -> float:
    """Epsilon for a pure mechanism.  A delta is checked and not needed: delta = 0 promises more."""
    number = check_epsilon(epsilon)
    if not no_delta(delta):
        check_delta(delta)
    return number


def no_delta(delta: object) -> bool:
    """Whether pure differential privacy is asked for: delta left out, or 0."""
    if isinstance(delta, bool):
        return False
    return delta is None or (isinstance(delta, (int, float)) and delta == 0)


def scale_above(sensitivity: float, epsilon: float) -> float:
    """The scale sensitivity / epsilon of the noise, rounded up."""
    return math.nextafter(sensitivity / epsilon * (1 + 1e-12), math.inf)


def lattice_below(scale: float) -> float:
    """The lattice step: a power of two, about 2^-20 of the noise's scale and at least 2^-50.

    Doubles hold multiples of it exactly up to 4.
    """
    return max(math.ldexp(1.0, math.floor(math.log2(scale)) - 20), 2.0**-50)
