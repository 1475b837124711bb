"""The rows of a ledger as Python values, the chain of their digests, and what remains of a total.

Every row carries the SHA-256 digest of its contents and of the row before it: the first charge's
of its dataset's, the dataset's of the ledger's id.  Damage and careless changes are detected when
rows are read; somebody with write access who wants to deceive can compute the chain anew.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from mercer.ledger.store import VERSION, LedgerError, Run
from mercer.promise.events import Event, RandomEvent, event_from_dict, event_to_dict
from mercer.promise.filter import Cost, PrivacyFilter, Spent
from mercer.promise.weaker import RandomStatement

__all__ = [
    "BudgetExceeded",
    "Charge",
    "Dataset",
    "Receipt",
    "Remaining",
    "accountable",
    "charges_in",
    "datasets_in",
    "digest_of",
    "find",
    "identity_of",
]


@dataclass(frozen=True)
class Receipt:
    """Proof of a charge: which ledger, which dataset, which number, and the row's digest."""

    ledger: str
    dataset: str
    number: int
    time: str
    digest: str

    def __str__(self) -> str:
        return f"charge {self.number} of {self.dataset!r} in ledger {self.ledger[:8]}, {self.time}"


@dataclass(frozen=True)
class Charge:
    """One release as the ledger recorded it."""

    number: int  # 1, 2, 3, … : the order, whatever the clock says
    dataset: str
    time: str  # UTC
    events: tuple[Event, ...]
    epsilon: float
    delta: float
    what: str
    receipt: Receipt

    @property
    def cost(self) -> Cost:
        return Cost(self.epsilon, self.delta, self.events)

    def to_dict(self) -> dict[str, Any]:
        """The charge as fields of JSON, as `mercer ledger history --json` prints it."""
        return {
            "number": self.number,
            "dataset": self.dataset,
            "time": self.time,
            "what": self.what,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "events": [event_to_dict(event) for event in self.events],
            "digest": self.receipt.digest,
        }


@dataclass(frozen=True)
class Dataset:
    """A registered dataset: its totals, and the unit that all its releases protect."""

    name: str
    epsilon: float
    delta: float
    unit: str  # whose data all its releases protect: "row", or the column that names a person
    data: str | None  # the file or folder that carries the ledger's note
    digest: str


def identity_of(run: Run, where: str) -> str:
    """The random id of a ledger; LedgerError if it has none or is of a newer version."""
    try:
        rows = run("SELECT id, version FROM mercer_ledger")
    except Exception as error:
        if "mercer_ledger" in str(error):
            raise LedgerError(f"{where!r} is a database but not a ledger") from None
        raise
    if len(rows) != 1:
        raise LedgerError(f"ledger {where!r} is damaged: it has no identity")
    identity, version = rows[0]
    if version > VERSION:
        raise LedgerError(
            f"ledger {where!r} was made by a newer version (format {version}, this library "
            f"reads {VERSION}); upgrade mercer"
        )
    return str(identity)


def datasets_in(run: Run, identity: str, where: str) -> dict[str, Dataset]:
    """All datasets by name; LedgerError if the digest of one does not fit."""
    known = {}
    for *row, digest in run(
        "SELECT name, epsilon, delta, unit, data, time, digest FROM mercer_datasets ORDER BY name"
    ):
        name, epsilon, delta, unit, data, _ = row
        if digest != digest_of(identity, *row):
            raise LedgerError(
                f"ledger {where!r} is damaged: dataset {name!r} is not what was registered; "
                "restore the ledger from a copy"
            )
        known[name] = Dataset(name, float(epsilon), float(delta), unit, data, digest)
    return known


def find(known: dict[str, Dataset], name: str, where: str) -> Dataset:
    """The dataset of this name; LedgerError names the known ones."""
    if name not in known:
        names = ", ".join(map(repr, known)) or "none yet"
        raise LedgerError(
            f"dataset {name!r} is not in ledger {where!r} (it has {names}); register it first: "
            "mercer ledger register, or Ledger.register in Python"
        )
    return known[name]


def charges_in(run: Run, identity: str, dataset: Dataset, where: str) -> list[Charge]:
    """All charges of a dataset in order; LedgerError if the chain of digests is broken."""
    rows = run(
        "SELECT dataset, number, time, events, epsilon, delta, what, digest "
        "FROM mercer_charges WHERE dataset = ? ORDER BY number",
        dataset.name,
    )
    charges, previous = [], dataset.digest
    for place, (*row, digest) in enumerate(rows, start=1):
        if row[1] != place or digest != digest_of(previous, *row):
            raise LedgerError(
                f"ledger {where!r} is damaged: charge {place} of {dataset.name!r} is not "
                "what was written; restore the ledger from a copy"
            )
        name, number, time, events, epsilon, delta, what = row
        receipt = Receipt(identity, name, number, time, digest)
        parts = tuple(event_from_dict(fields) for fields in json.loads(events))
        charges.append(Charge(number, name, time, parts, float(epsilon), float(delta), what, receipt))
        previous = digest
    return charges


def digest_of(previous: str, *row: object) -> str:
    """The digest of a row, chained to the digest of the row before it."""
    return hashlib.sha256(json.dumps([previous, *row], default=repr).encode()).hexdigest()


def accountable(events: Iterable[Event] | RandomStatement) -> tuple[Event, ...]:
    """The events of a release; LedgerError if they are under the weaker promise (M14)."""
    listed = events.events if isinstance(events, RandomStatement) else tuple(events)
    if any(isinstance(event, RandomEvent | RandomStatement) for event in listed):
        raise LedgerError(
            "a random-DP release cannot be charged: its promise fails for a share gamma of data "
            "sets, and the total of a ledger must hold for all of them; publish it without "
            "ledger=, and never count it as differential privacy"
        )
    return listed


@dataclass(frozen=True)
class Remaining:
    """What remains of a dataset's total, what is spent of it, and what would still be accepted.

    A pure release of at most `epsilon` is accepted now, and none of more.  A release with a delta
    of its own that the ledger adds up is accepted up to `delta` and up to
    `total_epsilon - spent_epsilon`; Gaussian releases, which cost less together than their sums,
    up to `gaussian` at `at_delta`.
    """

    dataset: str
    epsilon: float  # that remains: the largest of a pure release that fits
    delta: float  # that remains by the basic rule
    total_epsilon: float
    total_delta: float
    releases: int
    spent_epsilon: float  # sums of the basic rule
    spent_delta: float
    mu: float | None  # of all releases by the gaussian rule; None if it cannot be used
    share: float  # used, by the rule that has more left: 0 nothing, 1 all
    gaussian: float  # the largest epsilon of a Gaussian release that fits, at `at_delta`
    at_delta: float

    @classmethod
    def of(
        cls, name: str, total: PrivacyFilter, costs: Sequence[Cost], at_delta: float | None = None
    ) -> Remaining:
        """What remains of the total of a filter after the releases so far.

        Without `at_delta` it is that of the total, or a smaller one where only that leaves room for a
        Gaussian release.
        """
        if at_delta is not None:
            return cls._at(name, total, costs, at_delta)
        whole = cls._at(name, total, costs, total.delta)
        if whole.gaussian or not total.delta:
            return whole
        # the whole delta leaves none to put beside what was released before: look below it
        rest = max(0.9 * (total.delta - whole.spent_delta), 0.0)
        return cls._at(name, total, costs, float(f"{rest:.1g}"))

    @classmethod
    def _at(cls, name: str, total: PrivacyFilter, costs: Sequence[Cost], at_delta: float) -> Remaining:
        spent, split = Spent.of(costs), total.split(costs)
        gaussian = total.largest_gaussian(costs, delta=at_delta) if 0 < at_delta < 0.999 else 0.0
        return cls(
            dataset=name,
            epsilon=total.largest_pure(costs),
            delta=total.delta_left(costs),
            total_epsilon=total.epsilon,
            total_delta=total.delta,
            releases=len(costs),
            spent_epsilon=float(spent.epsilon),
            spent_delta=float(spent.delta),
            mu=spent.mu if total.gaussian(spent, split) else None,
            share=(0.0, *total.shares(costs))[-1],
            gaussian=gaussian if total.delta > 0 else 0.0,
            at_delta=at_delta,
        )

    @property
    def offer(self) -> str:
        """What would be accepted now, as a phrase; numbers are rounded down."""
        words = [f"a pure release of epsilon up to {_down(self.epsilon)}"] if self.epsilon else []
        if self.gaussian:
            promise = f"epsilon up to {_down(self.gaussian)} at delta = {self.at_delta:g}"
            words.append(f"a Gaussian release of {promise}")
        return " or ".join(words) + " fits" if words else "nothing more fits"

    @property
    def way_out(self) -> str:
        """What to do if a release does not fit, as a phrase."""
        if self.epsilon or self.gaussian:
            return "ask for no more than that"
        return (
            "a total is never raised, but everything computed from a release that is there, and "
            "every question to a live one, is free"
        )

    def __str__(self) -> str:
        delta = "pure releases only" if self.total_delta == 0 else f"delta = {self.total_delta:g}"
        times = "1 release" if self.releases == 1 else f"{self.releases} releases"
        return (
            f"{self.dataset}: total epsilon = {self.total_epsilon:g}, {delta}. {times}, "
            f"{self.share:.0%} used; sums: epsilon {self.spent_epsilon:g}, delta "
            f"{self.spent_delta:g}. Now {self.offer}."
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields, as `mercer ledger remaining --json` prints them."""
        return asdict(self)


class BudgetExceeded(LedgerError):  # noqa: N818
    """A release that does not fit what is left; nothing was charged and no noise was drawn."""

    def __init__(self, message: str, *, epsilon: float, delta: float, left: Remaining) -> None:
        super().__init__(message)
        self.epsilon, self.delta, self.left = epsilon, delta, left

    @classmethod
    def of(cls, name: str, total: PrivacyFilter, costs: Sequence[Cost], cost: Cost) -> Self:
        """The error for a release `cost` that does not fit after the releases `costs`."""
        left = Remaining.of(name, total, costs, cost.delta)
        if cost.delta > 0 and total.delta == 0:
            words = f"it is registered with delta = 0, for pure releases only, and {left.offer}"
            way = "leave out delta" if left.epsilon else left.way_out
        else:
            if cost.delta > 0 and not left.gaussian:  # with a smaller delta it may fit
                left = Remaining.of(name, total, costs)
            words, way = left.offer, left.way_out
        return cls(
            f"release costs epsilon = {cost.epsilon:g}, delta = {cost.delta:g}; dataset {name!r} "
            f"has not that much left of epsilon = {total.epsilon:g}, delta = {total.delta:g}: "
            f"{words}. Nothing was charged, no noise was drawn; {way}",
            epsilon=cost.epsilon,
            delta=cost.delta,
            left=left,
        )


def _down(value: float) -> str:
    """Four digits, rounded down, so that what is shown is accepted."""
    shift = 10 ** (3 - math.floor(math.log10(value)))
    shown = math.floor(value * shift * (1 + 1e-14)) / shift
    return f"{shown:.4g}"
