"""Loss functions of kernel machines: convex, with bounded first and second derivatives.  M8.

Every kink is smoothed by a logistic curve of a stated width, so that each loss has a bounded
second derivative: max(0, r) becomes width log(1 + exp(r / width)).  The smoothed loss is convex
with the same largest slope, so M8 holds for it as it stands; as the width goes to zero it is the
loss of the textbook.

Targets are in [-1, 1]: the two classes at -1 and 1, or a response scaled by its public bounds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from dataclasses import fields as fields_of
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from mercer.common.checks import Floats

__all__ = [
    "LOSSES",
    "MEAN",
    "WHOLE",
    "Hinge",
    "Huber",
    "Insensitive",
    "Jet",
    "Logistic",
    "Loss",
    "Pinball",
    "Squared",
    "loss_from_dict",
    "sharpness",
]

LOSSES: dict[str, type[Loss]] = {}
WHOLE = 2.0  # no residual is larger where targets and the function are in [-1, 1]
MEAN = "the mean"


class Jet(NamedTuple):
    """A loss and its first two derivatives in the prediction."""

    value: Floats
    slope: Floats
    curve: Floats


@dataclass(frozen=True)
class Loss(ABC):
    """A loss(target, f) that is convex in f, with the bounds that privacy needs."""

    name: ClassVar[str]
    classes: ClassVar[bool]  # the target is a class; otherwise a number in [-1, 1]
    least_squares: ClassVar[bool] = False  # its minimum is that of the squared error, where |f| <= 1
    steps: ClassVar[int] = 1 << 20  # in which the second derivative is counted: 1 where it is all or nothing

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            LOSSES[cls.name] = cls

    @property
    @abstractmethod
    def slopes(self) -> tuple[float, float]:
        """The range of the derivative in f; for classes of that in target * f, which is never above 0."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The largest second derivative in f."""

    @property
    @abstractmethod
    def at_zero(self) -> float:
        """The largest loss of the function that is zero everywhere."""

    @abstractmethod
    def jet(self, f: Floats, target: Floats) -> Jet:
        """Loss, slope and curvature at predictions f."""

    def steepness(self, *, penalty: float, kappa: float) -> float:
        """M, a bound on |slope| at the minimum with or without any one row (M8)."""
        del penalty, kappa
        return max(map(abs, self.slopes))

    @property
    @abstractmethod
    def estimates(self) -> str:
        """What the function estimates, in words."""

    @property
    def words(self) -> str:
        """Its name, and what the function estimates."""
        return f"{self.name}: {self.estimates}"

    def probability(self, f: Floats, *, penalty: float) -> Floats:
        """Probability of the class that counts as 1, where the function is f; of classifiers' losses.

        The exact link of a strictly convex loss psi(target f) (M21): p psi(f) + (1 - p) psi(-f) is
        least where p s(f) = (1 - p) s(-f), s = -psi'.  It is exact without a penalty.
        """
        del f, penalty
        raise ValueError(f"{self.name!r} is a loss for responses, which have no probability")

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which a file rebuilds the loss."""
        return {"name": self.name} | asdict(self)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-t)), t = target * f: then 1 / (1 + exp(-f)) estimates a probability."""

    name = "logistic"
    classes = True
    slopes = (-1.0, 0.0)
    curvature = 0.25
    at_zero = math.log(2.0)
    estimates = "which class is the more likely"

    def jet(self, f: Floats, target: Floats) -> Jet:
        t = target * f
        miss = expit(-t)
        return Jet(np.logaddexp(0.0, -t), -target * miss, miss * (1 - miss))

    def probability(self, f: Floats, *, penalty: float) -> Floats:
        del penalty
        return np.asarray(expit(f))


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - t), t = target * f, smoothed: the loss of the support vector machine."""

    width: float = 0.5

    name = "hinge"
    classes = True
    slopes = (-1.0, 0.0)
    estimates = "which class is the more likely"

    @property
    def curvature(self) -> float:
        return 0.25 / self.width

    @property
    def at_zero(self) -> float:
        return self.width * float(np.logaddexp(0.0, 1 / self.width))

    def jet(self, f: Floats, target: Floats) -> Jet:
        value, slope, curve = _ramp(1 - target * f, self.width)
        return Jet(value, -target * slope, curve)

    def probability(self, f: Floats, *, penalty: float) -> Floats:
        """s(t) = 1 / (1 + exp(-(1 - t) / width)), and p = s(-f) / (s(f) + s(-f)).

        A penalty draws f towards 0 and so p towards one half, which `sharpness` undoes in part.
        """
        t = f * sharpness(penalty)
        return np.asarray(expit(log_expit((1 + t) / self.width) - log_expit((1 - t) / self.width)))


@dataclass(frozen=True)
class Huber(Loss):
    """r^2 / 2 for |r| <= threshold, then linear: between the mean and the median.

    With the threshold 2, the whole range, it is the mean: see `Squared`.
    """

    threshold: float = 0.3

    name = "huber"
    classes = False
    steps = 1
    curvature = 1.0

    @property
    def slopes(self) -> tuple[float, float]:
        return (-self.threshold, self.threshold)

    @property
    def estimates(self) -> str:
        return MEAN if self.threshold >= WHOLE else "between the mean and the median"

    @property
    def words(self) -> str:
        where = "the whole range" if self.threshold >= WHOLE else f"{self.threshold / 2:.3g} of the range"
        return f"{self.name}, threshold {where}: {self.estimates}"

    @property
    def at_zero(self) -> float:
        k = self.threshold
        return 0.5 if k >= 1 else k - k**2 / 2

    def jet(self, f: Floats, target: Floats) -> Jet:
        r = f - target
        size, k = np.abs(r), self.threshold
        value = np.where(size <= k, r**2 / 2, k * size - k**2 / 2)
        return Jet(value, np.clip(r, -k, k), (size <= k).astype(float))


@dataclass(frozen=True)
class Insensitive(Loss):
    """max(0, |r| - tube), smoothed: support vector regression."""

    tube: float = 0.05
    width: float = 0.05

    name = "epsilon-insensitive"
    classes = False
    slopes = (-1.0, 1.0)
    estimates = "between the mean and the median"

    @property
    def curvature(self) -> float:
        return 0.5 / self.width  # two corners, which may meet

    @property
    def at_zero(self) -> float:
        return float(self.jet(np.zeros(1), np.ones(1)).value[0])

    def jet(self, f: Floats, target: Floats) -> Jet:
        r = f - target
        above, below = _ramp(r - self.tube, self.width), _ramp(-r - self.tube, self.width)
        return Jet(above.value + below.value, above.slope - below.slope, above.curve + below.curve)


@dataclass(frozen=True)
class Pinball(Loss):
    """level * (y - f) for y above f, (1 - level) * (f - y) below: the quantile of this level."""

    level: float = 0.5
    width: float = 0.05

    name = "pinball"
    classes = False
    estimates = "a quantile"

    @property
    def slopes(self) -> tuple[float, float]:
        return (-self.level, 1 - self.level)

    @property
    def curvature(self) -> float:
        return 0.25 / self.width

    @property
    def at_zero(self) -> float:
        ends = self.jet(np.zeros(2), np.array([-1.0, 1.0])).value
        return float(ends.max())

    def jet(self, f: Floats, target: Floats) -> Jet:
        r = f - target
        value, slope, curve = _ramp(r, self.width)
        return Jet(value - self.level * r, slope - self.level, curve)


@dataclass(frozen=True)
class Squared(Loss):
    """(y - f)^2 for |y - f| <= 2, then linear: the mean (M21).

    Targets are in [-1, 1], so a residual above 2 needs |f| > 1: the minimum is that of least squares
    as long as |f| <= 1 at the records, and the slope is bounded by 4.  It is twice Huber's loss with
    the threshold 2.
    """

    name = "squared"
    classes = False
    least_squares = True
    steps = 1
    slopes = (-4.0, 4.0)
    curvature = 2.0
    at_zero = 1.0
    estimates = MEAN

    def jet(self, f: Floats, target: Floats) -> Jet:
        return Jet(*(2 * part for part in Huber(WHOLE).jet(f, target)))

    def steepness(self, *, penalty: float, kappa: float) -> float:
        """The minimum has |f| <= kappa / sqrt(penalty), which bounds the slope too (M8)."""
        return min(4.0, 2 * (1 + kappa / math.sqrt(penalty)))


def sharpness(penalty: float) -> float:
    """Factor of a hinge's function in its link, by a public rule: 1 to 1.75, growing with the penalty.

    Chosen on held-out rows of public data (docs/mathematics.md, M21).
    """
    return float(np.clip(1 + math.log10(penalty / 3e-4) / 2, 1.0, 1.75)) if penalty > 0 else 1.0


def loss_from_dict(fields: object) -> Loss:
    """Rebuild a loss from a table of names; ValueError where a field is out of range."""
    name = fields.get("name") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(name, str) or name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; this version knows {', '.join(LOSSES)}")
    kind = LOSSES[name]
    values = {}
    for key in (f.name for f in fields_of(kind)):
        value = fields.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 4:
            raise ValueError(f"{key} of the loss must be a number above 0")
        values[key] = float(value)
    return kind(**values)


def _ramp(r: Floats, width: float) -> Jet:
    """max(0, r), smoothed at zero: value, slope and curvature."""
    s = expit(r / width)
    return Jet(width * np.logaddexp(0.0, r / width), s, s * (1 - s) / width)
