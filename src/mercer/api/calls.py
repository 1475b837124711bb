"""What every call that releases something shares.

No warning of another library, which may tell of a record, gets out of a call.  With
`dry_run=True` a call says what it would release and charge: nothing of the records is used but
their number, or that of the persons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

from mercer.common.quiet import quiet
from mercer.door.publish import Rehearsed

__all__ = ["DryRun", "Expected", "call"]

_INSIDE: ContextVar[bool] = ContextVar("inside a call", default=False)

P = ParamSpec("P")
R = TypeVar("R")


# the expected error in words, from a call's public arguments and the statement it would make
Expected = Callable[[Mapping[str, Any], Any], str]


@dataclass(frozen=True)
class DryRun:
    """What a call would release, for whom, how accurately and at what charge: nothing was spent."""

    what: str
    n: int
    unit: str  # "row", or the column that names the person
    epsilon: float
    delta: float
    promise: str
    mechanism: str
    expected: str  # the expected error in words
    charge: str  # to which ledger, and what is left of it

    def __str__(self) -> str:
        counted = f"{self.n} rows" if self.unit == "row" else f"{self.n} persons ({self.unit!r})"
        what = self.what[:1].upper() + self.what[1:]
        lines = [
            f"Dry run: nothing was spent, nothing was released. {what}.",
            f"  counted   {counted}; the unit of privacy is one {self.unit}",
            f"  promise   {self.promise}",
            f"  noise     {self.mechanism}",
            f"  expected  {self.expected}",
            f"  charge    {self.charge}",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"dry_run": True, **vars(self)}


def call(expected: Expected) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function a call: it has the arguments `dry_run` and `insist` among its own."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        named = signature(function)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            with quiet():
                token = None if _INSIDE.get() else _INSIDE.set(True)
                try:
                    return function(*args, **kwargs)
                except Rehearsed as found:
                    if token is None:  # the call around this one tells it
                        raise
                    bound = named.bind(*args, **kwargs)
                    bound.apply_defaults()
                    return cast(R, _told(found, expected, bound.arguments))
                finally:
                    if token is not None:
                        _INSIDE.reset(token)

        return called

    return decorate


def _told(found: Rehearsed, expected: Expected, arguments: Mapping[str, Any]) -> DryRun:
    made = found.statement
    return DryRun(
        found.what,
        made.n,
        made.unit,
        made.epsilon,
        made.delta,
        made.short,
        made.mechanism,
        found.expected or expected(arguments, made),
        found.charge,
    )
