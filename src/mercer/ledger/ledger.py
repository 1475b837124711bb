"""Privacy budgets that last: every release is charged, durably, before noise is drawn.

A ledger holds totals (epsilon, delta) of datasets and the charges against them.  Whether one more
release fits is decided by `promise.filter`, in the transaction that writes the charge.  Rows are
chained by digests, so that damage and careless changes are detected on reading.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mercer.common.checks import check_epsilon, check_positive, epsilon_required
from mercer.ledger.rows import (
    BudgetExceeded,
    Charge,
    Dataset,
    Receipt,
    Remaining,
    accountable,
    charges_in,
    datasets_in,
    digest_of,
    find,
    identity_of,
)
from mercer.ledger.store import (
    Claim,
    LedgerError,
    check_claim,
    check_same,
    claim_on,
    note_of,
    store_of,
    write_claim,
)
from mercer.promise.composition import power_of
from mercer.promise.events import Event, event_to_dict
from mercer.promise.filter import Cost, PrivacyFilter

__all__ = ["BudgetExceeded", "Ledger", "LedgerError", "Receipt", "account", "check_total", "make_with"]

_BACK = timedelta(days=1)  # how far the clock may go back between two charges


class Ledger:
    """Totals of datasets and what was charged against them, in a file or a database.

    Parameters
    ----------
    place
        The path of a SQLite file, or a postgresql:// URL.  Made if there is none.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(tempfile.mkdtemp() + "/budgets.db")
    >>> ledger.register("admissions", epsilon=3, delta=1e-5)
    >>> from mercer.promise.events import PureEvent
    >>> receipt = ledger.charge("admissions", [PureEvent(1)], epsilon=1, delta=0, what="a count")
    >>> receipt.number, ledger.remaining("admissions").epsilon
    (1, 2.0)

    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self._store = store_of(place)
        if not self._store.exists():
            self._store.create()
        self._store.check()
        with self._store.transaction() as run:
            self.id = identity_of(run, self.where)

    @classmethod
    def create(cls, place: str | os.PathLike[str]) -> Ledger:
        """Make a new ledger; LedgerError if one exists at this place."""
        store = store_of(place)
        if store.exists():
            raise LedgerError(f"ledger {store.where!r} exists; open it, or choose another name")
        return cls(place)

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger; LedgerError if there is none."""
        store = store_of(place)
        if not store.exists():
            raise LedgerError(
                f"there is no ledger {store.where!r}; make one with mercer.Ledger or mercer ledger register"
            )
        return cls(place)

    @property
    def where(self) -> str:
        """The path or URL of the ledger, without a password."""
        return self._store.where

    def __repr__(self) -> str:
        return f"Ledger({self.where!r})"

    @epsilon_required
    def register(
        self,
        name: str,
        *,
        epsilon: float,
        delta: float = 0,
        unit: str = "row",
        data: str | os.PathLike[str] | None = None,
    ) -> None:
        """Set the total of a dataset, once and for all.

        delta = 0 (default) admits pure releases only.  `unit` is "row" or the column that names
        a person; all releases must hide the same.  `data`, the path of the records, gets a note
        beside it, so that no other ledger will count them too.
        """
        total, part = check_total(name, epsilon=epsilon, delta=delta, unit=unit)
        place = None if data is None else Path(os.fspath(data)).resolve()
        with self._store.transaction(lock=name) as run:
            if name in (known := datasets_in(run, self.id, self.where)):
                old = known[name]
                raise LedgerError(
                    f"dataset {name!r} exists in ledger {self.where!r} with epsilon = "
                    f"{old.epsilon:g}, delta = {old.delta:g}; totals are never changed"
                )
            if place is not None:
                write_claim(place, Claim(self.id, name, self._store.address))
            row = (name, repr(total), repr(part), unit, place and str(place), _now())
            run("INSERT INTO mercer_datasets VALUES (?, ?, ?, ?, ?, ?, ?)", *row, digest_of(self.id, *row))

    @property
    def datasets(self) -> dict[str, Dataset]:
        """The registered datasets with their totals, by name."""
        with self._store.transaction() as run:
            return datasets_in(run, self.id, self.where)

    def dataset(self, name: str) -> Dataset:
        """One dataset; LedgerError names the known ones."""
        return find(self.datasets, name, self.where)

    def history(self, name: str | None = None) -> list[Charge]:
        """All charges, or those of one dataset, in order; the chain of digests is checked."""
        with self._store.transaction() as run:
            known = datasets_in(run, self.id, self.where)
            chosen = known.values() if name is None else [find(known, name, self.where)]
            return [charge for one in chosen for charge in charges_in(run, self.id, one, self.where)]

    def remaining(self, name: str, *, delta: float | None = None) -> Remaining:
        """What remains, what is spent, what would be accepted; Gaussian releases at this delta."""
        total, costs = self._spent(name)
        at_delta = None if delta is None else _check_delta(delta)
        return Remaining.of(name, total, costs, at_delta)

    def power(self, name: str, alpha: float = 0.05) -> float:
        """What an attacker with all releases of a dataset can do: `mercer.composition.power_of`.

        For the list as it stands, as if it had been fixed beforehand.  What holds however it was
        chosen is the total.
        """
        return power_of([event for charge in self.history(name) for event in charge.events], alpha)

    def holds(self, receipt: Receipt) -> bool:
        """Whether this ledger holds the charge of a receipt; a file restored from a copy may not."""
        return (
            receipt.ledger == self.id
            and receipt.dataset in self.datasets
            and any(charge.receipt == receipt for charge in self.history(receipt.dataset))
        )

    def check(self) -> None:
        """LedgerError if a page, a row or the chain of digests is damaged."""
        self._store.check()
        self.history()

    def charge(
        self,
        name: str,
        events: Iterable[Event],
        *,
        epsilon: float,
        delta: float,
        what: str,
        unit: str = "row",
        secure: bool = True,
    ) -> Receipt:
        """Charge a release, or raise: BudgetExceeded if it does not fit.

        Checked and written in one transaction, and on the disk before this returns.  Draw noise
        only after it: whatever happens then, the release is paid for.
        """
        _check_words("what", what)
        cost = _checked_cost(events, epsilon, delta)
        with self._store.transaction(lock=name) as run:
            dataset = find(datasets_in(run, self.id, self.where), name, self.where)
            self._check_use(dataset, unit, secure)
            past = charges_in(run, self.id, dataset, self.where)
            total, costs = PrivacyFilter(dataset.epsilon, dataset.delta), [c.cost for c in past]
            if not total.accepts([*costs, cost]):
                raise BudgetExceeded.of(name, total, costs, cost)
            last = past[-1] if past else None
            text = json.dumps([event_to_dict(event) for event in cost.events])
            row = (
                name,
                len(past) + 1,
                _time_after(last, self.where),
                text,
                repr(cost.epsilon),
                repr(cost.delta),
                what,
            )
            digest = digest_of(last.receipt.digest if last else dataset.digest, *row)
            run("INSERT INTO mercer_charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row, digest)
        return Receipt(self.id, name, row[1], row[2], digest)

    def rehearse(self, name: str, events: Iterable[Event], *, epsilon: float, delta: float) -> Remaining:
        """What remains of a dataset that would accept this charge; BudgetExceeded if it would not."""
        cost = _checked_cost(events, epsilon, delta)
        total, costs = self._spent(name)
        if not total.accepts([*costs, cost]):
            raise BudgetExceeded.of(name, total, costs, cost)
        return Remaining.of(name, total, costs)

    def _spent(self, name: str) -> tuple[PrivacyFilter, list[Cost]]:
        """The total of a dataset, and the costs of all releases charged to it."""
        with self._store.transaction() as run:
            dataset = find(datasets_in(run, self.id, self.where), name, self.where)
            costs = [charge.cost for charge in charges_in(run, self.id, dataset, self.where)]
        return PrivacyFilter(dataset.epsilon, dataset.delta), costs

    def check_use(self, name: str, *, unit: str, secure: bool) -> None:
        """LedgerError unless such releases may be charged: the first check of `charge`."""
        self._check_use(self.dataset(name), unit, secure)

    def _check_use(self, dataset: Dataset, unit: str, secure: bool) -> None:
        if not secure:
            raise LedgerError(
                "a release with a seed (rng=) is not private and cannot be charged; leave out "
                "rng= for a private release, or ledger= for a trial on made-up records"
            )
        if unit != dataset.unit:
            raise LedgerError(
                f"unit of dataset {dataset.name!r} is {dataset.unit!r}, got a release for "
                f"{unit!r}: promises about different things do not add up; "
                + ("leave unit out" if dataset.unit == "row" else f"give unit={dataset.unit!r}")
            )
        if dataset.data is not None and Path(dataset.data).exists():
            own = Claim(self.id, dataset.name, self.where)
            if (found := claim_on(dataset.data)) is None:
                raise LedgerError(
                    f"the note {str(note_of(Path(dataset.data)))!r} is missing: it says that "
                    "this ledger counts these data; restore it"
                )
            check_same(*found, own)


def make_with(
    place: str | os.PathLike[str], name: str, *, epsilon: float, delta: float, unit: str, data: Path | None
) -> Ledger:
    """A new ledger with its first dataset; no file is made where that cannot be registered."""
    check_total(name, epsilon=epsilon, delta=delta, unit=unit)
    if data is not None:
        check_claim(data.resolve(), Claim("new", name, os.fspath(place)))
    ledger = Ledger(place)
    ledger.register(name, epsilon=epsilon, delta=delta, unit=unit, data=data)
    return ledger


def check_total(name: str, *, epsilon: float, delta: float, unit: str) -> tuple[float, float]:
    """The checked total that `Ledger.register` would set; ValueError says what is wrong with it."""
    _check_words("name", name)
    _check_words("unit", unit)
    total = check_epsilon(epsilon)
    part = 0.0 if delta == 0 else check_positive("delta", delta, "0 means pure releases only")
    if part >= 1:
        raise ValueError(f"delta must be in [0, 1), got {part!r}; well below 1/n is usual")
    return total, part


def account(
    ledger: Ledger | str | os.PathLike[str] | None,
    dataset: str | None,
    *,
    data: object,
    unit: str | None,
    secure: bool,
) -> Ledger | None:
    """The ledger of a release, or None, after all checks that need no data."""
    if (ledger is None) != (dataset is None):
        raise ValueError("ledger and dataset go together: give both, or neither")
    found = claim_on(data)
    if ledger is None or dataset is None:
        if found is not None and secure:
            raise LedgerError(
                f"releases of these data are counted in the ledger {found[1].where!r}; give "
                f"ledger= and dataset={found[1].dataset!r}"
            )
        return None
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    opened.check_use(dataset, unit=unit or "row", secure=secure)
    if found is not None:
        check_same(*found, Claim(opened.id, dataset, opened.where))
    return opened


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _time_after(last: Charge | None, where: str) -> str:
    """Now, or the last charge's time if the clock went back a little since."""
    now = _now()
    if last is None or now >= last.time:
        return now
    if datetime.fromisoformat(last.time) - datetime.fromisoformat(now) > _BACK:
        raise LedgerError(
            f"ledger {where!r}: the clock says {now}, but the last charge was at {last.time}; "
            "set the clock right. Nothing was charged"
        )
    return last.time


def _checked_cost(events: Iterable[Event], epsilon: float, delta: float) -> Cost:
    cost = Cost(check_epsilon(epsilon), _check_delta(delta), accountable(events))
    cost.check()
    return cost


def _check_delta(delta: object) -> float:
    return 0.0 if delta == 0 else check_positive("delta", delta, "or 0 for a pure release")


def _check_words(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip() or len(value) > 200 or "\0" in value:
        raise ValueError(f"{name} must be a short text, 1 to 200 characters; got {value!r:.80}")
