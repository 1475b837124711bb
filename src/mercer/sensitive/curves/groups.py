"""Groups of curves by a public column, and which columns hold points.  Left of the door.

Which group a curve is in, and so how many there are, is public; nothing else of a row is (M18).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.columns.rules import listed
from mercer.common.checks import Ints
from mercer.sensitive.curves.chunks import curves_of, names_in
from mercer.sensitive.curves.source import is_file, matched, present_in
from mercer.sensitive.data import open_rows
from mercer.sources.frames import names_of, tabled
from mercer.sources.values import identities

__all__ = ["columns_of_points", "split_by"]

_MOST = 64


def columns_of_points(curves: object, columns: object, *, besides: Sequence[str]) -> list[str]:
    """Names of a table's columns that hold heights; all but `besides` where none are named."""
    present = present_in(curves)
    if columns is None:
        return [name for name in present if name not in besides]
    names: Any = matched(curves, columns, None)
    if not isinstance(names, list):
        raise TypeError(f"columns must be a column's name or a list of names, got {type(columns).__name__}")
    for name in names:
        if name not in present:
            raise ValueError(f"columns: there is no column {name!r}; there are {listed(present)}")
    return [name for name in names if name not in besides or name in _listed(columns)]


def split_by(
    data: object,
    by: object,
    groups: object,
    *,
    columns: object = None,
    long: object = None,
    unit: str | None = None,
) -> dict[Any, Any]:
    """An Arrow table for each group: the rows whose column `by` holds the group's name.

    The whole table is read into memory.  Rows of no declared group are left out.  In a long table
    a curve is in the group of its first row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = _names(groups)
    data, present = _table(data)
    if not isinstance(by, str):
        raise TypeError(f"by must be the name of a column, got {type(by).__name__}")
    texts = [by, *([unit] if unit is not None else [])]
    if long is None:
        numbers = columns_of_points(data, columns, besides=texts)
        told = "columns"
    else:
        if not isinstance(long, (list, tuple)) or len(long) != 3:
            raise ValueError('long must name three columns, for example ("id", "t", "value")')
        texts, numbers, told = [*texts, long[0]], list(long[1:]), "long"
    if by in numbers or by == unit or (long is not None and by in long):
        raise ValueError(f"by names the column {by!r}, which has another use: name another")
    for what, name in [("by", by), ("unit", unit), *((told, name) for name in [*texts, *numbers])]:
        if name is not None and name not in present:
            raise ValueError(f"{what}: there is no column {name!r}; there are {listed(present)}")
    table = _read(data, numbers, list(dict.fromkeys(texts)))
    which = table.column(by).combine_chunks()
    if long is not None:
        people = None if unit in (None, long[0]) else table.column(unit).combine_chunks()
        first = _first_rows(table.column(long[0]).combine_chunks(), people)
        which = which.take(pa.array(first))
    out = {}
    for name, text in names.items():
        part = table.filter(pc.fill_null(pc.equal(which, text), False)).drop_columns([by])
        if part.num_rows == 0:
            raise ValueError(f"groups: no row has {text!r} in the column {by!r}; write groups as there")
        out[name] = part
    return out


def _listed(columns: Any) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _names(groups: Any) -> dict[Any, str]:
    """The groups that a caller named, and the text of each in the column."""
    import pyarrow as pa

    plain = isinstance(groups, Sequence) and not isinstance(groups, str)
    if not plain or not all(isinstance(g, (str, int, float, np.generic)) for g in groups):
        raise TypeError(
            "groups must be a list of values of the column, such as ('case', 'control'): which "
            "there are is public and cannot be read from the data"
        )
    names = {group: str(identities(pa.array([group]))[0]) for group in groups}
    if not 2 <= len(groups) <= _MOST or len(set(names.values())) < len(groups):
        raise ValueError(f"groups must be 2 to {_MOST} different values, got {list(groups)[:10]}")
    return names


def _table(data: Any) -> tuple[Any, list[str]]:
    data = tabled(data)  # a stream can be read once only
    if not is_file(data) and names_of(data) is None:
        raise TypeError(
            "by names a column, so the curves must have named columns: hand in a data frame, an "
            f"Arrow table or a file, or a dictionary of groups; got {type(data).__name__}"
        )
    return data, present_in(data)


def _read(data: Any, numbers: list[str], texts: list[str]) -> Any:
    """An Arrow table of points as doubles and names as text, from any source."""
    import pyarrow as pa

    passes = {name: open_rows(data, columns=numbers, unit=name, dimension=None) for name in texts}
    chunks = [np.empty((0, len(numbers))), *passes[texts[0]].chunks()]
    columns = {
        name: pa.array(np.concatenate([chunk[:, place] for chunk in chunks]))
        for place, name in enumerate(numbers)
    }
    return pa.table(columns | {name: names_in(rows) for name, rows in passes.items()})


def _first_rows(ids: Any, people: Any) -> Ints:
    """For each row of a long table, the first row of its curve; rows of no curve are their own."""
    codes, names = curves_of(ids, people)
    first = np.zeros(len(names) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return np.where(codes >= 0, first[codes], np.arange(len(codes)))
