"""The rows of a ledger as values, and the chain that ties them.

Every row carries the SHA-256 digest of its contents and of the row before it: the first charge's
of its dataset's, the dataset's of the ledger's id.  Damage and careless changes are seen when
rows are read; whoever may write the file and means to deceive can compute the chain anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mercer.ledger.store import VERSION, LedgerError, Run
from mercer.promise.events import Event, RandomEvent, event_from_dict, event_to_dict
from mercer.promise.filter import Cost
from mercer.promise.weaker import RandomStatement

__all__ = [
    "Charge",
    "Dataset",
    "Receipt",
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
    """One release as the ledger remembers it."""

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
        """For machines."""
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
    """A dataset and its totals."""

    name: str
    epsilon: float
    delta: float
    unit: str  # whose presence all its releases hide: "row", or the column that names a person
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
    """All datasets by name; LedgerError where one is not what was registered."""
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
    """One of them; LedgerError names the known ones."""
    if name not in known:
        names = ", ".join(map(repr, known)) or "none yet"
        raise LedgerError(
            f"dataset {name!r} is not in ledger {where!r} (it has {names}); register it first: "
            "mercer ledger register, or Ledger.register in Python"
        )
    return known[name]


def charges_in(run: Run, identity: str, dataset: Dataset, where: str) -> list[Charge]:
    """All charges of a dataset; LedgerError where the chain of digests is broken."""
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
    """Of a row and the row before it."""
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
