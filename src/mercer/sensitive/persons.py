"""More than one row a person: weights that add up to one, or a few rows drawn at random.

Left of the door.  M16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from mercer.common.checks import Ints
from mercer.sensitive.base import Sensitive
from mercer.sensitive.rows import Chunked, Foldable, fold
from mercer.sources.values import identities

__all__ = ["DrawnRows", "Lots", "Persons", "check_drop", "fold_persons", "n_of", "person_weights", "public_n"]

T = TypeVar("T", bound=Foldable)

_CELLS = 1 << 20  # of rows that wait to be sorted


def public_n(
    rows: int,
    *,
    persons: int = 0,
    complete: int | None = None,
    unit: str | None = None,
    of: str = "rows",
    least: int = 2,
) -> int:
    """The number n of a promise, which is public: rows, persons if there is a unit, or complete rows.

    `complete` is given by a caller who says that the number of complete rows is public (M18).
    """
    n = persons if unit is not None else rows if complete is None else complete
    if n < least:
        what = f"different {unit!r}" if unit is not None else of if least > 1 else of.removesuffix("s")
        raise ValueError(f"data must have at least {least} {what}, got {n}; nothing was spent")
    return n


class _Countable(Protocol):
    """What was counted in one pass over the rows."""

    rows: int
    persons: int

    @property
    def complete(self) -> int:
        """How many rows hold all values."""


def n_of(tally: _Countable, unit: str | None, missing: str, *, of: str = "rows", least: int = 2) -> int:
    """The same from a tally; `missing="drop"` says that the number of complete rows is public."""
    check_drop(missing, unit)
    complete = tally.complete if missing == "drop" else None
    return public_n(tally.rows, persons=tally.persons, complete=complete, unit=unit, of=of, least=least)


def check_drop(missing: str, unit: str | None) -> None:
    """Which rows of a person are complete is not public, so they are not dropped with a unit."""
    if missing == "drop" and unit is not None:
        raise ValueError("missing='drop' cannot be combined with unit; drop the rows first")


def person_weights(rows: Chunked[Any], scale: int) -> tuple[int, Callable[[], Iterator[Ints]]]:
    """Number of persons, and a pass over the weights, scale // (rows of the person), in chunks.

    M16: a person's rows share one unit of weight.  Rows without a name in the unit column belong
    to nobody: they have no weight and no person is counted for them.  Memory grows
    with the persons, not with the rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    total: Any = None
    for part in rows.persons():
        counted = (
            pa.table({"id": identities(part)})
            .group_by("id")
            .aggregate([("id", "count", pc.CountOptions(mode="all"))])
        )
        counted = counted.rename_columns(["id", "rows"])
        if total is not None:
            joined = pa.concat_tables([total, counted]).group_by("id").aggregate([("rows", "sum")])
            counted = joined.rename_columns(["id", "rows"])
        total = counted
    if total is None:
        return 0, lambda: iter(())
    total = total.filter(pc.is_valid(total.column("id")))
    names = total.column("id").combine_chunks()
    share = scale // total.column("rows").to_numpy()

    def weights() -> Iterator[Ints]:
        for part in rows.persons():
            place = pc.fill_null(pc.index_in(identities(part), value_set=names), len(share))
            yield np.append(share, 0)[place.to_numpy(zero_copy_only=False)].astype(np.int64)

    return total.num_rows, weights


def fold_persons(rows: Chunked[Any], zero: Callable[[], T], scale: int) -> T:
    """The tally of all records, in two passes where a person may have several of them (M16).

    With a unit a tally is given the weights of its chunk, which add up to at most `scale` a person.
    """
    if rows.unit is None:
        return fold(rows.parts(), zero, workers=rows.workers)
    persons, weights = person_weights(rows, scale)
    made = zero()
    tally: Any = made
    for chunk, weight in zip(rows.chunks(), weights(), strict=True):
        tally.add(chunk, weight)
    tally.persons = persons
    return made


class Persons(Sensitive):
    """Persons, numbered in the order in which their names first occur."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    @property
    def count(self) -> int:
        """Number of different persons so far."""
        return len(self._numbers)

    def numbers(self, names: Any) -> Ints:
        """The number of each row's person; -1 for a row without a name, which belongs to nobody."""
        import pyarrow as pa

        coded = identities(names).dictionary_encode()
        known, spelt = self._numbers, coded.dictionary.cast(pa.large_binary())
        places = [known.setdefault(name, len(known)) for name in spelt.to_pylist()]
        which = coded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)
        return np.array([*places, -1], dtype=np.int64)[which]

    def since(self, number: int) -> list[bytes]:
        """The names of the persons with this number and later ones."""
        return list(islice(self._numbers, number, None))


class Lots:
    """Uniform numbers of 64 bits for the rows of named persons, whoever else there is.

    The lot of a row follows from the key, the person's name and the place of the row among the
    person's own: no other person's rows have a say in it (docs/proofs/counts.md, 1).
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seeds(self, names: Sequence[bytes]) -> npt.NDArray[np.uint64]:
        """A seed of 64 bits for each name."""
        digests = [blake2b(name, digest_size=8, key=self._key).digest() for name in names]
        return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)

    @staticmethod
    def tickets(seeds: npt.NDArray[np.uint64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """The lot of each row: SplitMix64, which gives no two rows of a person the same.

        [Steele, Lea, Flood, OOPSLA 2014], Figure 19.
        """
        with np.errstate(over="ignore"):
            z = seeds + (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


class DrawnRows(Sensitive):
    """Of each person at most `most` rows, drawn at random: those with the smallest lots.

    Which rows of a person are kept follows from the key of the lots and that person's rows, and
    its law does not depend on their order (docs/proofs/counts.md, 1).  Memory grows with the
    persons.
    """

    def __init__(self, lots: Lots, most: int, width: int) -> None:
        self._lots, self._most, self._persons = lots, most, Persons()
        self._seeds = np.zeros(0, dtype=np.uint64)
        self._seen = np.zeros(0, dtype=np.int64)  # rows of each person so far
        self._bars = np.zeros(0, dtype=np.uint64)  # the largest lot that can still be kept
        self._kept: list[tuple[Ints, Any, Ints]] = [_nothing(width)]
        self._waiting, self._room = 0, max(1, _CELLS // max(1, width))

    @property
    def count(self) -> int:
        """Number of different persons so far."""
        return self._persons.count

    def put(self, names: Any, places: Ints) -> None:
        """Add a chunk of rows, shape (width, rows), and the names of their persons."""
        before = self._persons.count
        person = self._persons.numbers(names)
        self._grow(before)
        named = np.flatnonzero(person >= 0)
        own = person[named]
        tickets = self._lots.tickets(self._seeds[own], self._places(own))
        near = tickets <= self._bars[own]
        self._kept.append((own[near], tickets[near], places[:, named[near]]))
        self._waiting += int(np.count_nonzero(near))
        if self._waiting > max(self._room, len(self._kept[0][0])):
            self._gather()

    def rows(self) -> Iterator[Ints]:
        """The rows that are kept, in chunks."""
        self._gather()
        places = self._kept[0][2]
        for start in range(0, places.shape[1], self._room):
            yield places[:, start : start + self._room]

    def _grow(self, before: int) -> None:
        """Room for persons that came up since: doubled, so that all of it takes linear time."""
        many, room = self._persons.count, len(self._seen)
        more = max(many, 2 * room) - room if many > room else 0
        self._seen = np.append(self._seen, np.zeros(more, dtype=np.int64))
        self._seeds = np.append(self._seeds, np.zeros(more, dtype=np.uint64))
        self._bars = np.append(self._bars, np.full(more, np.iinfo(np.uint64).max, dtype=np.uint64))
        self._seeds[before:many] = self._lots.seeds(self._persons.since(before))

    def _places(self, own: Ints) -> Ints:
        """How many rows of the same person stand before each row."""
        order = np.argsort(own, kind="stable")
        within = np.empty(len(own), dtype=np.int64)
        within[order] = _ranks(own[order])
        within += self._seen[own]
        np.add.at(self._seen, own, 1)
        return within

    def _gather(self) -> None:
        person, tickets, places = (np.concatenate(parts, axis=-1) for parts in zip(*self._kept, strict=True))
        order = np.lexsort((tickets, person))
        rank = _ranks(person[order])
        last = order[rank == self._most - 1]
        self._bars[person[last]] = tickets[last]
        order = order[rank < self._most]
        self._kept = [(person[order], tickets[order], places[:, order])]
        self._waiting = 0


def _nothing(width: int) -> tuple[Ints, Any, Ints]:
    whole = np.zeros(0, dtype=np.int64)
    return whole, np.zeros(0, dtype=np.uint64), np.zeros((width, 0), dtype=np.int64)


def _ranks(numbers: Ints) -> Ints:
    """For each of the sorted numbers, how many equal ones stand before it."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    lengths = np.diff(np.append(starts, len(numbers)))
    return np.arange(len(numbers)) - np.repeat(starts, lengths)
