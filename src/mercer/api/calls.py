"""What every public function that makes a release shares: its terms, its data, its budget, its dry run.

Such a function is a call.  The terms of all calls are the same: the promise, whose it is, where
noise comes from and who pays; a call adds its own choices to them.  A budget that pays for a
private choice and for the release that uses it is divided before anything is drawn.  No warning of
another library, which may tell of a record, gets out of a call.  With `dry_run=True` a call says
what it would release and charge: nothing of the records is used but their number, or that of the
persons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

from scipy.optimize import brentq

from mercer.columns.domain import MAX_DIMENSION
from mercer.columns.reading import Reading
from mercer.common.checks import check_choice, check_epsilon, check_positive
from mercer.common.quiet import quiet
from mercer.door.publish import LedgerLike, Paid, Payer, Purse, Rehearsed, Weaker
from mercer.noise.mechanisms import Mechanism
from mercer.noise.mechanisms.base import Promise, check_promise
from mercer.noise.mechanisms.exponential import Choice
from mercer.promise.composition import decimal, delta_of, gaussian_beside
from mercer.promise.events import ApproximateEvent, Event, PureEvent, gaussian_multiplier
from mercer.sensitive.data import open_rows
from mercer.sensitive.labels import Labels
from mercer.sensitive.rows import Rows

__all__ = [
    "ENDS",
    "DryRun",
    "Expected",
    "Progress",
    "Source",
    "Split",
    "Terms",
    "beside",
    "call",
    "check_share",
    "made",
    "part",
    "pure",
    "shares",
]

ENDS = 0.02  # share of epsilon for the counts beside quantiles

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
class Source:
    """The data of a call on columns of numbers, and the public arguments by which they are read."""

    data: object
    bounds: object
    columns: object
    missing: str
    reading: Reading
    terms: Terms

    @classmethod
    def of(
        cls,
        terms: Terms,
        data: object,
        bounds: object,
        columns: object,
        missing: str,
        na_values: object,
        outside: object,
        formats: object,
    ) -> Source:
        check_choice("missing", missing, ("zero", "drop"))
        reading = terms.reading(na_values, formats, outside, missing=missing)
        return cls(data, bounds, columns, missing, reading, terms)

    def rows(self, dimension: int | None, labels: Labels | None = None) -> Rows:
        """Open the data; `dimension` is the number of columns that the bounds are given for."""
        return open_rows(
            self.data,
            columns=self.columns,
            unit=self.terms.unit,
            dimension=dimension,
            bounds=self.bounds,
            labels=labels,
            reading=self.reading,
        )


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


@dataclass(frozen=True)
class Split:
    """A budget for a choice and the release that uses it.

    Epsilon of the choice is a share; the rest is the release's.  Pure releases add up; a Gaussian
    one is calibrated so that both together keep the promise by the composition of their events
    (`mercer.promise.composition`), which costs less than the difference.
    """

    method: str
    choice: float  # epsilon of the choice
    noise: Promise  # of the release alone
    whole: Promise
    events: tuple[Event, Event]

    @classmethod
    def of(cls, method: str, mechanism: Mechanism, promise: Promise, share: object) -> Split:
        """Divide a budget, `share` of epsilon for the choice; ValueError where a part is too small."""
        number = check_positive("choice_share", share, "a share of epsilon, for example 0.2")
        if number >= 1:
            raise ValueError(f"choice_share must be below 1, got {number:g}; 0.2 is usual")
        epsilon, delta = promise["epsilon"], promise["delta"]
        first = epsilon * number
        check_share(first, 2 * MAX_DIMENSION if method == "private-scott" else 1)
        check_share(epsilon - first, 1)
        rest = beside(first, epsilon)
        alone = Promise(epsilon=rest, delta=delta)
        if mechanism.pure:
            return cls(method, first, alone, promise, (PureEvent(first), PureEvent(rest)))
        joined = Promise(epsilon=_beside(first, epsilon=epsilon, delta=delta), delta=delta)
        both: tuple[Event, Event] = (PureEvent(first), mechanism.event(**joined))
        if joined["epsilon"] > rest and delta_of(both, epsilon=epsilon) <= delta:
            return cls(method, first, joined, promise, both)
        return cls(method, first, alone, promise, (both[0], ApproximateEvent(rest, delta)))

    def pay(
        self,
        mechanism: Mechanism,
        purse: Payer,
        *,
        n: int,
        unit: str,
        what: str,
        chosen: str = "bandwidth",
        by: str = Choice.words,
    ) -> Paid:
        """Charge both at once, before either is drawn."""
        return purse.pay(
            self.events,
            promise=self.whole,
            n=n,
            unit=unit,
            words=f"{mechanism.words}; {chosen} by {by}, epsilon = {self.choice:g} of it",
            calibration=mechanism.calibration,
            what=what,
        )


def beside(share: float, epsilon: float) -> float:
    """What a share leaves of epsilon: both together are at most the whole, exactly."""
    rest = float(decimal(epsilon) - decimal(share))
    while decimal(share) + decimal(rest) > decimal(epsilon):
        rest = math.nextafter(rest, 0.0)
    return rest


def pure(epsilon: float) -> Promise:
    """The promise of a choice by the exponential mechanism: there is no delta in it."""
    return Promise(epsilon=epsilon, delta=0.0)


def shares(epsilon: float, choices: int) -> tuple[float, float]:
    """Epsilon of the choices and of the counts beside: their sum is at most the whole, exactly."""
    counts = part(epsilon, round(1 / ENDS))
    choice = epsilon - counts
    while Fraction(choice) + Fraction(counts) > Fraction(epsilon):
        choice = math.nextafter(choice, 0.0)
    check_share(choice, choices)  # before anything is charged
    return choice, counts


def check_share(epsilon: float, count: int) -> None:
    """Refuse an epsilon that cannot be shared by so many choices, before it is charged."""
    if epsilon / count < 1.001e-9:
        raise ValueError(
            "epsilon must be in [1e-9, 1e9] for each choice that is made with it, and is too "
            f"small to be shared: {epsilon:g} for {count} choice(s); nothing was spent; use a "
            "larger epsilon"
        )


def part(epsilon: float, count: int) -> float:
    """An even share, rounded down so that `count` of them never exceed epsilon."""
    share = epsilon / count
    while Fraction(share) * count > Fraction(epsilon):
        share = math.nextafter(share, 0.0)
    return share


def _beside(first: float, *, epsilon: float, delta: float) -> float:
    """Epsilon at which a Gaussian alone has the noise that it needs beside a pure choice."""
    # the lattice costs up to delta/1000 at the Gaussian's own epsilon, and more at the whole one
    lattice = 0.0011 * (1 + math.exp(min(epsilon, 700.0))) / (1 + math.exp(min(epsilon - first, 700.0)))
    if lattice > 0.3:
        return epsilon - first
    multiplier = gaussian_beside(first, epsilon=epsilon, delta=delta * (1 - lattice))

    def excess(candidate: float) -> float:
        return gaussian_multiplier(epsilon=candidate, delta=delta) / multiplier - 1

    low, high = epsilon - first, epsilon
    if excess(low) <= 0:
        return low
    return float(brentq(excess, low, high, xtol=1e-9)) * (1 - 1e-6) if excess(high) < 0 else low
