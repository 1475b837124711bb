"""What a promise is made of: neighbours, sensitivities and privacy events.  M1, M8, M14.

All values are immutable and public.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

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
    "corners",
    "event_from_dict",
    "event_to_dict",
    "reach",
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
