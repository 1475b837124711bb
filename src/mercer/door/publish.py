"""The one door.  The only place where a summary meets noise and becomes a release.

Every draw passes through `publish`: it checks, charges durably, shows to a replay what it is about
to use, draws, and builds the release.  Whoever pays is a `Purse`, or a `Paid` for a choice and a
release that were paid for together, or `Weaker`: nobody, since no ledger counts the weaker promise
(M14).  A `Tap` gives noise to numbers that come one at a time, all of it paid for at once (M7).
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np

from mercer.common import __version__
from mercer.common.checks import check_worthwhile
from mercer.ledger.ledger import Ledger, LedgerError, account
from mercer.ledger.store import claim_on
from mercer.noise.entropy import Entropy, Secure, resolve
from mercer.noise.laws import Normal
from mercer.noise.mechanisms.additive import Gaussian, GaussianNoise
from mercer.noise.mechanisms.base import AnyMechanism, Promise
from mercer.promise.events import (
    Event,
    GaussianEvent,
    PureEvent,
    RandomEvent,
    Sensitivity,
    event_from_dict,
    event_to_dict,
    replace_one,
)
from mercer.promise.filter import Allowance
from mercer.promise.statement import Statement
from mercer.promise.weaker import RandomStatement
from mercer.sensitive.base import Summary
from mercer.sensitive.persons import Lots

__all__ = [
    "LedgerLike",
    "Paid",
    "Payer",
    "Purse",
    "Rehearsed",
    "Tap",
    "Weaker",
    "open_tap",
    "public_seed",
    "publish",
]

R = TypeVar("R")
X = TypeVar("X")
Y = TypeVar("Y")
LedgerLike: TypeAlias = Ledger | str | os.PathLike[str] | None


def publish(
    summary: Summary[X],
    mechanism: AnyMechanism[X, Y],
    build: Callable[[Y, Any, Any], R],
    payer: Payer,
    *,
    promise: Promise,
    what: str = "",
) -> R:
    """Calibrate to the summary's sensitivity, charge, draw, and hand out what is public.

    What can fail does so before the charge, and the charge is made before anything is drawn.
    `payer` is a purse, or what was paid already for several draws together, which must cover this
    one.  `build` makes the release of what was drawn, the law of its noise and the statement; it
    is post-processing.
    """
    bound = summary.sensitivity(mechanism.norm)
    if bound is None and payer.shows:
        raise ValueError("a summary that has no bound cannot keep differential privacy; nothing was drawn")
    randomiser = mechanism.calibrate(bound, summary.size, **promise)  # type: ignore[arg-type]
    payer.check_stretch(summary.stretch, randomiser.event)
    exact = summary.coordinates()
    paid = payer.pay(
        (randomiser.event,),
        promise=promise,
        n=summary.n,
        unit=summary.unit,
        words=mechanism.words + summary.note,
        calibration=mechanism.calibration,
        what=what,
    )
    if paid.shows:
        paid.entropy.parameters(*summary.parameters, *randomiser.parameters)
        paid.entropy.witness(summary.name, partial(summary.shown, exact), bound)
    drawn = paid.entropy.given(randomiser.randomise(exact, paid.entropy))
    return build(drawn, randomiser.law, paid.statement)


class DrawTerms(TypedDict):
    """What is about to be drawn, for whoever pays and for the statement: all of it public."""

    promise: Promise
    n: int
    unit: str
    words: str
    calibration: str
    what: str


class Payer(ABC):
    """Whoever pays for draws, and where their noise comes from."""

    entropy: Entropy
    shows: ClassVar[bool] = True  # to a replay, what gets noise: its test is of differential privacy
    among: int = 1  # draws that share one event, this one included

    @abstractmethod
    def pay(self, events: Sequence[Event], **terms: Unpack[DrawTerms]) -> Paid:
        """Charge what is about to be drawn, durably; or draw on what was charged already."""

    def check_stretch(self, stretch: float, event: Event) -> None:
        """Refuse noise that is too small beside the other draws that share one event with it."""
        least = self.among if isinstance(event, PureEvent) else math.sqrt(self.among)
        if stretch < least:
            raise ValueError(
                f"noise of {self.among} draws on one event must be at least {least:g} times as large "
                f"as that of one, got {stretch:g}; nothing was drawn"
            )

    def lots(self) -> Lots:
        """What decides which rows of a person count: one key, however many rows there are."""
        return Lots(self.entropy.octets(32))


class Paid(Payer):
    """What was charged, its statement, and what of it may still be drawn."""

    def __init__(
        self,
        statement: Any,
        events: Sequence[Event],
        entropy: Entropy,
        *,
        shows: bool = True,
        rows: int | None = None,
        among: int = 1,
    ) -> None:
        self.statement, self.entropy, self.among = statement, entropy, among
        self.shows = shows  # type: ignore[misc]
        self._rows = statement.n if rows is None else rows  # records that may be drawn from
        self._events, self._left = events, [Allowance(event) for event in events]

    def pay(self, events: Sequence[Event], **terms: Unpack[DrawTerms]) -> Paid:
        """Draw on what was paid, of these records or a part; ValueError if it does not reach."""
        fits = terms["n"] <= self._rows and terms["unit"] == self.statement.unit
        if not fits or not all(any(left.take(event) for left in self._left) for event in events):
            raise ValueError("what was paid does not cover this noise; nothing was drawn")
        return self

    def parts(self, sizes: Sequence[int], *, notes: Sequence[str] = (), disjoint: bool = True) -> list[Paid]:
        """The same for each of several parts of the records; nothing is left beside them.

        Nobody is in two parts: then each may have all that was paid.  Or (not `disjoint`) anybody
        may be in all of them: then each must have noise so much larger that all of it together is
        one event.  With `notes` each part has a statement of its own.
        """
        if sum(sizes) > self._rows or not self._left or any(left.used for left in self._left):
            raise ValueError("what was paid does not cover these parts; nothing was drawn")
        self._left = []
        made = [self.statement] * len(sizes)
        if notes:
            whole = self.statement
            pairs = zip(sizes, notes, strict=True)
            made = [replace(whole, n=n, mechanism=whole.mechanism + note) for n, note in pairs]
        among = 1 if disjoint else len(sizes)
        return [
            Paid(statement, self._events, self.entropy, shows=self.shows, rows=n, among=among)
            for statement, n in zip(made, sizes, strict=True)
        ]


@dataclass(frozen=True)
class Purse(Payer):
    """Where noise comes from, and who pays: nobody, or a dataset of a ledger."""

    entropy: Entropy
    ledger: Ledger | None = None
    dataset: str | None = None
    insist: bool = False  # on a promise that protects next to nobody
    dry: bool = False  # say what would be charged, and stop there

    def __post_init__(self) -> None:
        if (self.ledger is None) != (self.dataset is None):
            raise ValueError("ledger and dataset go together: give both, or neither")

    @classmethod
    def of(
        cls,
        rng: object,
        ledger: LedgerLike,
        dataset: str | None,
        *,
        data: object = None,
        unit: str | None = None,
        insist: bool = False,
        dry_run: bool = False,
    ) -> Purse:
        """Open the ledger and check all that can be checked before data are read."""
        entropy = resolve(rng)
        if unit == "row":
            raise ValueError(
                "unit = 'row' is the word for no unit: a promise about it would speak of rows; "
                "rename the column that names the person"
            )
        book = account(ledger, dataset, data=data, unit=unit, secure=entropy.secure)
        return cls(entropy, book, dataset, insist, dry_run)

    def check(self, *, data: object, unit: str | None) -> None:
        """The same check for one more source of the records: it may be a file with a note."""
        account(self.ledger, self.dataset, data=data, unit=unit, secure=self.entropy.secure)

    def pay(self, events: Sequence[Event], **terms: Unpack[DrawTerms]) -> Paid:
        """Charge what is about to be drawn, durably, and make the statement of it.

        A crash may cost a charge, but never leaves a release unpaid.
        """
        if any(isinstance(event, RandomEvent) for event in events):
            raise ValueError("the weaker promise is no differential privacy; nothing was drawn")
        promise, n, unit, what = terms["promise"], terms["n"], terms["unit"], terms["what"]
        check_worthwhile(promise["epsilon"], promise["delta"], n, insist=self.insist)
        statement = Statement(
            **promise,
            neighbours="replace-one",
            unit=unit,
            n=n,
            mechanism=terms["words"],
            calibration=terms["calibration"],
            secure=self.entropy.secure,
            version=__version__,
            events=tuple(events),
        )
        if self.dry:
            raise Rehearsed(statement, what, self._would_charge(statement))
        if self.ledger is not None and self.dataset is not None:
            self.ledger.charge(
                self.dataset, statement.events, **promise, what=what, unit=unit, secure=statement.secure
            )
        return Paid(statement, events, self.entropy)

    def _would_charge(self, statement: Statement) -> str:
        """What a charge would take and leave, in words; BudgetExceeded if it would be refused."""
        if self.ledger is None or self.dataset is None:
            return "no ledger is given, so nothing would be counted"
        cost = {"epsilon": statement.epsilon, "delta": statement.delta}
        left = self.ledger.rehearse(self.dataset, statement.events, **cost)
        return f"epsilon = {cost['epsilon']:g}, delta = {cost['delta']:g} of {left}"


class Rehearsed(Exception):  # noqa: N818
    """A dry run has come to the door: what would be charged there, instead of the charge."""

    def __init__(self, statement: Any, what: str, charge: str) -> None:
        super().__init__("a dry run ends at the door")
        self.statement, self.what, self.charge = statement, what, charge
        self.expected = ""  # error in words, where the release's own code knows it best


def public_seed(rng: object) -> int:
    """A seed for draws on public values, from the caller's `rng`."""
    return int.from_bytes(resolve(rng).octets(16), "big")


class Tap:
    """Gives noise to one coordinate after another: together they move no further than was said."""

    def __init__(self, noise: GaussianNoise, entropy: Entropy) -> None:
        self.noise, self._entropy = noise, entropy
        self._bound = replace_one(noise.law.scale * noise.event.mu)

    @property
    def law(self) -> Normal:
        """Of the noise: public."""
        return self.noise.law

    def draw(self, value: float) -> float:
        """The coordinate with noise."""
        exact = np.array([value])
        self._entropy.witness("coordinates", lambda: exact, self._bound)
        return float(self.noise.add(exact, self._entropy)[0])

    def to_fields(self) -> dict[str, Any]:
        """For the store: what was paid for."""
        return {
            "noise": {"law": self.noise.law.to_dict(), "scale": self.noise.scale},
            "event": event_to_dict(self.noise.event),
        }

    @classmethod
    def resume(cls, fields: Mapping[str, Any]) -> Tap:
        """What `to_fields` wrote, with secure noise; ValueError if it is no such event."""
        event, noise = event_from_dict(fields["event"]), fields["noise"]
        if not isinstance(event, GaussianEvent):
            raise ValueError("the event of a live release must be a Gaussian one")
        law = Normal(noise["law"]["scale"], noise["law"]["step"])
        return cls(GaussianNoise(law, noise["scale"], event), Secure())


def open_tap(
    sensitivity: Sensitivity, size: int, payer: Payer, *, promise: Promise, n: int, unit: str, what: str
) -> tuple[Tap, Statement]:
    """Calibrate and charge for `size` coordinates that will come one at a time."""
    mechanism = Gaussian()
    noise = mechanism.calibrate(sensitivity, size, **promise)
    paid = payer.pay(
        (noise.event,),
        promise=promise,
        n=n,
        unit=unit,
        words=mechanism.words,
        calibration=mechanism.calibration,
        what=what,
    )
    return Tap(noise, paid.entropy), paid.statement


@dataclass(frozen=True)
class Weaker(Payer):
    """What is promised, and where noise comes from."""

    entropy: Entropy
    gamma: Fraction
    insist: bool = False
    dry: bool = False  # say what would be released, and stop there
    unprotected: str = ""  # whom the promise leaves out, in words
    asymptotic: bool = False

    shows: ClassVar[bool] = False

    @classmethod
    def of(cls, rng: object, gamma: Fraction, *, data: object, insist: bool, dry_run: bool) -> Weaker:
        """LedgerError for a file whose releases a ledger counts: it cannot count this one."""
        entropy, found = resolve(rng), claim_on(data)
        if found is not None and entropy.secure:
            raise LedgerError(
                f"releases of these data are counted in the ledger {found[1].where!r}; random "
                "differential privacy fails for a share gamma of data sets, so the ledger cannot count "
                "it and its total would no longer hold; nothing was released; use mercer.histogram, "
                "mercer.proportion or mercer.density with ledger="
            )
        return cls(entropy, gamma, insist, dry_run)

    def pay(self, events: Sequence[Event], **terms: Unpack[DrawTerms]) -> Paid:
        """The statement; a promise that protects next to nobody is refused before anything is drawn."""
        promise, n = terms["promise"], terms["n"]
        check_worthwhile(promise["epsilon"], promise["delta"], n, insist=self.insist)
        made: Any = RandomStatement(
            **promise,
            gamma=float(self.gamma),
            asymptotic=self.asymptotic,
            unit=terms["unit"],
            n=n,
            mechanism=terms["words"],
            unprotected=self.unprotected,
            secure=self.entropy.secure,
            version=__version__,
        )
        if self.dry:
            raise Rehearsed(made, terms["what"], "no ledger can count a weaker promise")
        return Paid(made, events, self.entropy, shows=self.shows)
