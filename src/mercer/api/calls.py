"""What every public function that makes a release shares: its terms, its dry run, its silence.

Such a function is a call.  The terms of all calls are the same: the promise, whose it is, where
noise comes from and who pays; a call adds its own choices to them.  No warning of another library,
which may tell of a record, gets out of a call.  With `dry_run=True` a call says what it would
release and charge: nothing of the records is used but their number, or that of the persons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

from mercer.columns.reading import Reading
from mercer.common.checks import check_epsilon
from mercer.common.quiet import quiet
from mercer.door.publish import LedgerLike, Purse, Rehearsed, Weaker
from mercer.noise.mechanisms import Mechanism
from mercer.noise.mechanisms.base import Promise, check_promise

__all__ = ["DryRun", "Expected", "Progress", "Terms", "call", "made"]

_INSIDE: ContextVar[bool] = ContextVar("inside a call", default=False)

P = ParamSpec("P")
R = TypeVar("R")

# the expected error in words, from a call's public arguments and the statement it would make
Expected = Callable[[Mapping[str, Any], Any], str]
Progress = Callable[[int], None]  # called with the number of rows of each chunk


@dataclass(frozen=True)
class Terms:
    """The arguments of every call beside its data and its own choices."""

    epsilon: float | None  # None is an error that says why there is no default
    delta: float | None
    unit: str | None  # column that names the person
    insist: bool
    dry_run: bool
    rng: object
    ledger: LedgerLike = None
    dataset: str | None = None
    progress: Progress | None = None

    def promise(self, mechanism: Mechanism) -> Promise:
        """Epsilon and delta, checked against what the mechanism can keep."""
        return check_promise(mechanism, self.epsilon, self.delta)

    def purse(self, data: object) -> Purse:
        """Open the ledger, before any record is read."""
        return Purse.of(
            self.rng,
            self.ledger,
            self.dataset,
            data=data,
            unit=self.unit,
            insist=self.insist,
            dry_run=self.dry_run,
        )

    def weaker(self, data: object, gamma: Fraction) -> Weaker:
        """The same for the weaker promise, which no ledger counts."""
        return Weaker.of(self.rng, gamma, data=data, insist=self.insist, dry_run=self.dry_run)

    @property
    def tick(self) -> Progress:
        """The function that is called with the number of rows of each chunk."""
        return self.progress or (lambda _rows: None)

    def reading(
        self, na_values: object, formats: object, outside: object = "clip", *, missing: object = "zero"
    ) -> Reading:
        """How cells are read; in a dry run none is, unless the number of complete rows is public."""
        dry = self.dry_run and missing != "drop"
        return Reading.of(na_values=na_values, outside=outside, formats=formats, dry_run=dry)


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
        """All that it says as fields, which `--dry-run --json` prints."""
        return {"dry_run": True, **vars(self)}


def call(expected: Expected, *, always_pays: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function a call, of which the terms, `epsilon` and `dry_run` among them, are arguments.

    Without epsilon it is refused.  A function that does not `always_pay` gets None in its place, and
    decides.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        named = signature(function)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            with quiet():
                if "epsilon" not in kwargs:
                    if always_pays:
                        check_epsilon(None)  # says why there is no default
                    kwargs["epsilon"] = None
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


def made(found: R | DryRun) -> R:
    """The result of a call that cannot be a dry run: it is inside another one, or without `dry_run`."""
    assert not isinstance(found, DryRun)
    return found


def _told(found: Rehearsed, expected: Expected, arguments: Mapping[str, Any]) -> DryRun:
    statement = found.statement
    return DryRun(
        found.what,
        statement.n,
        statement.unit,
        statement.epsilon,
        statement.delta,
        statement.short,
        statement.mechanism,
        found.expected or expected(arguments, statement),
        found.charge,
    )
