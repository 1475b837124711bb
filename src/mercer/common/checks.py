"""Checks of public arguments: each names the argument, the rule, what came and the way out.

No function here may be given records: what it is handed can appear in an error message.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Bools",
    "FindingWarning",
    "Floats",
    "Ints",
    "PrivacyWarning",
    "Score",
    "Scores",
    "check_choice",
    "check_column",
    "check_count",
    "check_delta",
    "check_epsilon",
    "check_level",
    "check_positive",
    "check_worthwhile",
    "epsilon_required",
    "is_number",
]

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Score: TypeAlias = int | float | Fraction
Scores: TypeAlias = Sequence[Score] | Floats | Ints  # of candidates: numbers that are exact

P = ParamSpec("P")
R = TypeVar("R")


class PrivacyWarning(UserWarning):
    """Something to know before a budget is spent, or (`FindingWarning`) of what it bought."""


class FindingWarning(PrivacyWarning):
    """Something that a release itself tells of its records: see `release.findings()`."""


def check_epsilon(epsilon: object) -> float:
    """Epsilon as a float in [1e-9, 1e9].  There is no default: the choice is the caller's."""
    if epsilon is None:
        raise ValueError(
            "epsilon is missing: a privacy choice has no default; give a positive number, "
            "for example epsilon=1.0 (smaller is more private)"
        )
    number = check_positive("epsilon", epsilon, "smaller is more private; 0.1 to 2 is usual")
    if not 1e-9 <= number <= 1e9:  # beyond, nothing is left of the data or of the promise
        raise ValueError(f"epsilon must be in [1e-9, 1e9], got {number!r}; 0.1 to 2 is usual")
    return number


def epsilon_required(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse a call without epsilon in words that say why there is no default."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if "epsilon" not in kwargs:
            check_epsilon(None)
        return function(*args, **kwargs)

    return called


def check_delta(delta: object) -> float:
    """Delta as a float in (0, 1)."""
    if delta is None:
        raise ValueError(
            "delta is missing: the Gaussian mechanism promises (epsilon, delta) with delta in "
            "(0, 1); give one well below 1/n, for example delta=1e-6, or leave mechanism out: "
            "'orbitope', 'l2' and 'laplace' need no delta"
        )
    number = _number("delta", delta, "in (0, 1), for example 1e-6")
    if not 0.0 < number < 1.0:
        raise ValueError(
            f"delta must be in (0, 1), got {number!r}: give one well below 1/n, for example "
            "delta=1e-6; the Gaussian mechanism has no delta = 0, but 'orbitope', 'l2' and "
            "'laplace' have: leave delta out"
        )
    return number


def check_positive(name: str, value: object, hint: str) -> float:
    """A finite number above zero, as a float."""
    number = _number(name, value, f"above 0; {hint}")
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {number!r}; {hint}")
    return number


def check_count(name: str, value: object, *, least: int, most: int, hint: str) -> int:
    """An integer in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}; {hint}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be in [{least}, {most}], got {int(value)}; {hint}")
    return int(value)


MOST_EPSILON = 20.0  # beyond, a promise excludes nothing that an attacker may care for
FEW_STEPS = 10.0  # n epsilon below which hardly anything but the bounds is left


def check_worthwhile(epsilon: float, delta: float, n: int, *, insist: bool) -> None:
    """Refuse a promise that protects nobody; warn of one that leaves nothing of the records.

    n is public.  Called before anything is charged.
    """
    if not isinstance(insist, bool):
        raise TypeError(f"insist must be True or False, got {type(insist).__name__}")
    if not insist and epsilon > MOST_EPSILON:
        raise ValueError(
            f"epsilon = {epsilon:g} promises next to nothing: an attacker's odds may change by the "
            f"factor e^{epsilon:g}; 0.1 to 2 is usual. Nothing was spent; if it is meant, say "
            "insist=True (--insist)"
        )
    if not insist and delta > 1 / n:
        raise ValueError(
            f"delta = {delta:g} is above 1/n = {1 / n:.3g}: publishing {delta * n:.3g} of the {n} "
            "records in full would keep this promise; give one well below 1/n. Nothing was spent; "
            "if it is meant, say insist=True (--insist)"
        )
    if n * epsilon < FEW_STEPS:
        warnings.warn(
            f"n times epsilon is {n * epsilon:.3g}: with fewer than about {FEW_STEPS:g}, noise "
            "leaves next to nothing of the records but their bounds; nothing was spent so far",
            PrivacyWarning,
            stacklevel=_depth(),
        )


def _depth() -> int:
    """The `stacklevel` at which a warning shows the line that called the library."""
    frame: FrameType | None = sys._getframe(1)
    depth = 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "mercer":
        frame, depth = frame.f_back, depth + 1
    return depth + 1  # the first is the function that warns


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """One of these words."""
    if not isinstance(value, str) or value not in choices:
        shown = value if isinstance(value, str) else type(value).__name__
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {shown!r}")
    return value


def check_column(name: str, value: object) -> str | None:
    """The name of a column, or None where no column is named."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be the name of a column, got {type(value).__name__}")
    return value


def check_level(level: object) -> None:
    """Refuse a level, the coverage of an interval or band, that is not in (0, 1)."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level!r}; 0.95 is usual")


def is_number(word: str) -> bool:
    """Whether a text is that of a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _number(name: str, value: Any, rule: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number {rule}; got {type(value).__name__}")
    return float(value)
