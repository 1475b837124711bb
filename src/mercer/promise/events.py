"""Privacy events, and the epsilon and delta that follow from them.  M1, M8, M14.

Neighbours, sensitivities and events are immutable and public.  From privacy parameters to noise and
back everything is rounded to the private side (Balle and Wang 2018, Theorem 8), and all formulas are
in logarithms, so that delta = 1e-30 and epsilon from 1e-3 to 50 are as exact as the middle of the
range.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from mercer.common.checks import check_delta, check_epsilon

__all__ = [
    "RANDOM_ALONE",
    "ApproximateEvent",
    "Event",
    "GaussianEvent",
    "Neighbours",
    "Norm",
    "PureEvent",
    "RandomEvent",
    "Sensitivity",
    "Slopes",
    "classic_multiplier",
    "corners",
    "delta_at",
    "event_from_dict",
    "event_to_dict",
    "gaussian_log_delta",
    "gaussian_multiplier",
    "power",
    "reach",
    "replace_one",
]

Neighbours = Literal["replace-one"]
Norm = Literal["l1", "l2", "body", "cosines", "moments", "score"]


@dataclass(frozen=True)
class Sensitivity:
    """How far one record (or one person) can move a summary, in a stated norm.

    `value` is an upper bound that includes what quantising, clipping and rounding add.

    - "l1", "l2": the norm of the change of the released coordinates.  For coordinates that are
      orthonormal in a kernel's space the l2 norm is that space's.
    - "body": the gauge of a symmetric body that the mechanism was given.
    - "cosines", "moments": the change is t - t' with t and t' in `value` times the body of
      trigonometric moments, reflecting or periodic (M11), which is not symmetric: no norm of the
      change would do.
    - "score": the change of any candidate's score, for choices among a finite set.
    """

    value: float
    norm: Norm
    neighbours: Neighbours = "replace-one"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value > 0):
            raise ValueError(f"a sensitivity must be finite and above 0, got {self.value!r}")


@dataclass(frozen=True)
class Slopes:
    """The range of the slope of a machine's loss times kappa, the tilt by one record (M8)."""

    low: float
    high: float


def corners(slopes: Slopes) -> list[float]:
    """Bounds on |v| at the four corners of (c, c').

    Slopes of one sign for all: 0, one row alone twice, both together.  If low = -high, the corners
    are +-(phi - phi') and +-(phi + phi'), whose squares add up to 4: one pair is below sqrt(2).
    """
    low, high = abs(slopes.low), abs(slopes.high)
    if slopes.low == -slopes.high:
        return [2 * high, 2 * high, math.sqrt(2) * high, math.sqrt(2) * high]
    return [one + other for one, other in itertools.product((low, high), repeat=2)]


def reach(machines: Sequence[Slopes]) -> float:
    """The largest |v| of all machines together, over the corners of their slopes."""
    return math.sqrt(sum(max(corners(slopes)) ** 2 for slopes in machines))


@dataclass(frozen=True)
class PureEvent:
    """A release whose likelihood changes at most by the factor e^epsilon, whatever comes out."""

    epsilon: float

    kind = "pure"


@dataclass(frozen=True)
class GaussianEvent:
    """A Gaussian release: within total variation `distance` of a mu-GDP one (M1, M3.5).

    The distance is that of the discrete law from a rounded normal, all coordinates together; at
    epsilon it costs (1 + e^epsilon) distance of delta.
    """

    mu: float
    distance: float

    kind = "gaussian"


@dataclass(frozen=True)
class ApproximateEvent:
    """A release of which only (epsilon, delta)-differential privacy is known."""

    epsilon: float
    delta: float

    kind = "approximate"


@dataclass(frozen=True)
class RandomEvent:
    """A release that is (epsilon, delta)-private except for a share gamma of data sets (M14).

    A weaker promise than differential privacy, which no composition here accepts.
    """

    epsilon: float
    delta: float
    gamma: float

    kind = "random"


RANDOM_ALONE = (
    "a random-DP release does not compose with differentially private ones: its promise fails for a "
    "share gamma of data sets; account for it apart"
)

Event = PureEvent | GaussianEvent | ApproximateEvent | RandomEvent
_EVENTS: dict[str, type[Event]] = {
    event.kind: event for event in (PureEvent, GaussianEvent, ApproximateEvent, RandomEvent)
}


def event_to_dict(event: Event) -> dict[str, Any]:
    """The fields of an event, for a file or a ledger."""
    return {"kind": event.kind} | asdict(event)


def event_from_dict(fields: object) -> Event:
    """Rebuild an event from its fields; ValueError if one is missing or out of range."""
    named = fields.get("kind") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(named, str) or named not in _EVENTS:
        raise ValueError(f"a privacy event must be one of {', '.join(_EVENTS)}")
    kind = _EVENTS[named]
    names = kind.__dataclass_fields__
    values = {name: fields.get(name) for name in names}
    for name, value in values.items():
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not (0 <= value <= 1e300 and (value > 0 or name not in ("epsilon", "mu")))
        ):
            raise ValueError(f"{name} of a {kind.kind} event must be a finite number >= 0")
    return kind(**{name: float(value) for name, value in values.items()})  # type: ignore[arg-type]


_SAFETY = 1e-9  # relative: the multiplier is raised until the promise holds with this to spare


def gaussian_log_delta(mu: float, *, epsilon: float) -> float:
    """Log of the smallest delta for which a mu-GDP release is (epsilon, delta)-DP.

    M1: delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).  Both terms share
    the factor phi(mu/2 - epsilon/mu), which is taken out so that their difference does not
    cancel.
    """
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > -20:
        ratio = _mills(near) - _mills(far)
        if ratio <= 0:  # mu so small that the terms agree to the last bit
            return -math.inf
        return -(near**2) / 2 - 0.5 * math.log(2 * math.pi) + math.log(ratio)
    lost = math.exp(epsilon + float(log_ndtr(-far)) - float(log_ndtr(-near)))
    return float(log_ndtr(-near)) + math.log1p(-lost)


def gaussian_multiplier(*, epsilon: float, delta: float) -> float:
    """Sigma / Delta for which Gaussian noise is (epsilon, delta)-DP, and no more (M1)."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if epsilon < 1e-4 or delta > 0.999:
        raise ValueError(
            f"epsilon must be at least 1e-4 and delta at most 0.999, got {epsilon:g} and "
            f"{delta:g}: beyond, doubles cannot tell how much noise is enough"
        )
    target = math.log(delta)

    def excess(log_mu: float) -> float:
        return max(gaussian_log_delta(math.exp(log_mu), epsilon=epsilon), -1e6) - target

    low, high = math.log(epsilon) - 40, math.log(epsilon + 100)
    mu = math.exp(float(brentq(excess, low, high, xtol=1e-15, rtol=1e-15)))
    multiplier = 1 / mu
    while gaussian_log_delta(1 / multiplier, epsilon=epsilon) > target + math.log1p(-_SAFETY):
        multiplier *= 1 + _SAFETY
    return multiplier


def classic_multiplier(*, epsilon: float, delta: float) -> float:
    """Sigma / Delta of the papers, sqrt(2 ln(2/delta)) / epsilon, for reproducing figures.

    [HRW13, JMLR] Proposition 3; paper (alpha, beta) = (epsilon, delta).  It is proved for
    epsilon <= 1 and fails above (E1): at epsilon 16, delta 1e-6 the true delta is 2e-5.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if epsilon > 1:
        raise ValueError(
            f"epsilon must be in (0, 1] for the classic calibration, got {epsilon!r}: its proof "
            "stops at 1 and the promise fails above (E1); use calibration='analytic'"
        )
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


def delta_at(events: Iterable[Event], *, epsilon: float) -> float:
    """A delta for which all these releases together are (epsilon, delta)-DP, in closed form.

    The list must be fixed beforehand.  Gaussian events compose to mu = sqrt(sum mu^2); pure ones shift
    epsilon; approximate ones add their delta as well.  `mercer.promise.composition` is sharper where
    kinds are mixed.
    """
    shift, mu, distance, lost = _gathered(events)
    if epsilon < shift:
        return 1.0
    delta = math.exp(gaussian_log_delta(mu, epsilon=epsilon - shift)) if mu else 0.0
    return min(1.0, lost + delta + (1 + math.exp(min(epsilon, 700.0))) * distance)


def power(events: Iterable[Event], alpha: float) -> float:
    """The largest power of a test of level `alpha`: the trade-off curve of these releases.

    The attacker knows all records but one and tests which of two values that one has.  It is exact
    for Gaussian events together (Phi(Phi^-1(alpha) + mu)) and for pure ones (M1; Hall 2013, Prop. 4,
    has the part e^epsilon alpha only), and an upper bound where kinds are mixed.
    """
    events = tuple(events)
    shift, mu, distance, lost = _gathered(events)
    if mu and shift == 0 and lost == 0:  # the discrete law may differ on both sides
        return min(1.0, float(ndtr(ndtri(min(1.0, alpha + distance)) + mu)) + distance)

    def bound(epsilon: float) -> float:
        delta = delta_at(events, epsilon=epsilon)
        grown = math.exp(min(epsilon, 700.0)) * alpha + delta
        return min(1.0, grown, 1 - math.exp(-epsilon) * (1 - delta - alpha))

    if mu == 0:
        return bound(shift)
    best = minimize_scalar(bound, bounds=(shift, shift + 4 * mu + mu**2 + 4), method="bounded")
    return min(bound(float(best.x)), bound(shift + mu * (mu + 1)))


def replace_one(value: float, norm: Norm = "l2") -> Sensitivity:
    """A sensitivity when one record is replaced by another, rounded up (M3.4)."""
    return Sensitivity(math.nextafter(value * (1 + 1e-9), math.inf), norm=norm)


def _gathered(events: Iterable[Event]) -> tuple[float, float, float, float]:
    """The sum of epsilons, joint mu, sum of distances and sum of deltas of a list of events."""
    shift = square = distance = lost = 0.0
    for event in events:
        match event:
            case PureEvent():
                shift += event.epsilon
            case GaussianEvent():
                square += event.mu**2
                distance += event.distance
            case ApproximateEvent():
                shift, lost = shift + event.epsilon, lost + event.delta
            case RandomEvent():
                raise ValueError(RANDOM_ALONE)
    return shift, math.sqrt(square), distance, lost


def _mills(x: float) -> float:
    """Mills' ratio (1 - Phi(x)) / phi(x) of the normal law."""
    return math.sqrt(math.pi / 2) * float(erfcx(np.float64(x) / math.sqrt(2)))
