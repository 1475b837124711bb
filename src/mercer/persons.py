"""More than one row a person: their weights add up to one (M16).  Layer 2, left of the door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from mercer.checks import Ints
from mercer.sensitive import Sensitive

__all__ = ["Named", "Persons", "identities", "person_weights"]


class Named(Protocol):
    """Records with a column that names the person: rows, or curves."""

    def persons(self) -> Iterator[Any]:
        """The unit column in chunks, as Arrow arrays."""
        ...


def person_weights(rows: Named, scale: int) -> tuple[int, Callable[[], Iterator[Ints]]]:
    """Number of persons, and a pass over the weights, scale // (rows of the person), in chunks.

    M16: a person's rows share one unit of weight.  Rows without a name in the unit column belong
    to nobody: they have no weight and no person is counted for them.  Memory grows
    with the persons, not with the rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    total: Any = None
    for part in rows.persons():
        counted = pa.table({"id": identities(part)}).group_by("id").aggregate([("id", "count", pc.CountOptions(mode="all"))])  # fmt: skip  # noqa: E501
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


class Persons(Sensitive):
    """Numbers of persons as they come up in chunks, and how many rows of each were seen."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._seen = np.zeros(0, dtype=np.int64)

    @property
    def count(self) -> int:
        """Different persons so far."""
        return len(self._numbers)

    def numbers(self, names: Any) -> Ints:
        """The number of each row's person; -1 of a row without a name, which is nobody's."""
        import pyarrow as pa

        coded = identities(names).dictionary_encode()
        known, spelt = self._numbers, coded.dictionary.cast(pa.large_binary())  # not all is UTF-8
        places = [known.setdefault(name, len(known)) for name in spelt.to_pylist()]
        which = coded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)
        return np.array([*places, -1], dtype=np.int64)[which]

    def ranks(self, names: Any) -> Ints:
        """How many rows of the same person stand before each row; very many if it is nobody's."""
        person = self.numbers(names)
        more = self.count - len(self._seen)
        self._seen = np.append(self._seen, np.zeros(more, dtype=np.int64))
        named = np.flatnonzero(person >= 0)
        own = person[named]
        order = np.argsort(own, kind="stable")
        starts = np.flatnonzero(np.diff(own[order], prepend=-1))
        lengths = np.diff(np.append(starts, len(own)))
        rank = np.full(len(person), np.iinfo(np.int64).max)
        within = np.arange(len(own)) - np.repeat(starts, lengths)
        rank[named[order]] = self._seen[own[order]] + within
        np.add.at(self._seen, own, 1)
        return rank


def identities(column: Any) -> Any:
    """Ids as text, so that every chunk has the same type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return pc.cast(column, pa.large_string(), safe=False)
