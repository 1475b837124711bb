"""The public domain of a table of mixed columns, and how it is declared.

Everything here is public, on both sides of the door: the sensitive side reads records by it, a
synthetic table is written by it.  A record is a row of codes, one float64 a column.

Columns are declared as people write them, in Python or in a JSON or YAML file: (0, 100) for
numbers, range(0, 51) for whole numbers, ["f", "m"] for categories, bool, two dates,
{"ordered": […]}, {"categories": […], "other": "other"}; or everything by name,
{"type": "integer", "bounds": [0, 120]}.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.columns.domain import NamedColumns
from mercer.columns.kinds import Boolean, Categorical, Column, Date, Integer, Numeric, Ordered
from mercer.columns.rules import check_name
from mercer.common.checks import Floats

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KINDS", "MOST_TABLE_COLUMNS", "Domain", "column_from_dict", "column_of", "read_declarations"]

_FORMS = (
    "(lower, upper) for numbers or dates, range(lower, upper + 1) for whole numbers, a list of "
    'levels, bool, {"ordered": levels}, {"categories": levels, "other": name}, or {"type": …}'
)
_FILE_FORMS = (
    "[lower, upper] for numbers or dates, a list of levels, boolean, {ordered: levels}, "
    "{categories: levels, other: name}, or {type: …, bounds or levels: …}"
)
_SHORT = {"ordered": ("ordered",), "categorical": ("categories", "other")}


KINDS: Mapping[str, tuple[str, ...]] = {  # what a column of each type is declared by
    "numeric": ("bounds",),
    "integer": ("bounds",),
    "ordered": ("levels",),
    "categorical": ("levels", "other"),
    "boolean": (),
    "date": ("bounds",),
}


def column_from_dict(fields: Mapping[str, Any]) -> Column:
    """A column from its name, its type and its parameters; an error says what is wrong with them."""
    name = check_name(fields.get("name"))
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        shown = repr(kind) if isinstance(kind, (str, type(None))) else type(kind).__name__
        raise ValueError(f"column {name!r}: type must be one of {', '.join(KINDS)}; got {shown}")
    given = {key: value for key, value in fields.items() if key not in ("name", "type")}
    if odd := [str(key) for key in given if key not in KINDS[kind]]:
        allowed = ", ".join(("type", *KINDS[kind]))
        raise ValueError(
            f"column {name!r}: a column of type {kind} has {allowed} alone; got {', '.join(odd)}"
        )
    if kind == "boolean":
        return Boolean(name)
    if kind in ("ordered", "categorical"):
        if "levels" not in given:
            raise ValueError(
                f"column {name!r}: levels is missing: which levels there are is public and cannot "
                "be read from the data; list them"
            )
        return Ordered(name, **given) if kind == "ordered" else Categorical(name, **given)
    bounds = given.get("bounds")
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise ValueError(
            f"column {name!r}: bounds must be a lower and an upper one, public and not read from "
            f"the data; got {_came(bounds)}"
        )
    if kind == "date":
        return Date(name, *bounds)
    return Numeric(name, *bounds) if kind == "numeric" else Integer(name, *bounds)


def _came(value: object) -> str:
    """What an error says of a public argument: its length or its type."""
    if isinstance(value, (list, tuple)):
        return f"{len(value)} of them"
    return "nothing" if value is None else type(value).__name__


def column_of(name: object, written: object, *, file: bool = False) -> Column:
    """The column that `written` declares; in a file a list of two numbers or dates is bounds."""
    return column_from_dict({"name": name, **_explicit(name, written, file)})


def _explicit(name: object, written: object, file: bool) -> Mapping[str, Any]:
    """A declaration in its explicit form: a mapping with the type and its parameters."""
    forms = _FILE_FORMS if file else _FORMS
    if written is bool or (isinstance(written, str) and written in ("bool", "boolean")):
        return {"type": "boolean"}
    if isinstance(written, range):
        return _whole(name, written)
    if isinstance(written, tuple) and len(written) == 2:
        if all(map(_is_number, written)):
            return {"type": "numeric", "bounds": written}
        if all(map(_is_day, written)):
            return {"type": "date", "bounds": written}
    elif isinstance(written, list):
        return _listed(name, written, file)
    elif isinstance(written, Mapping):
        if "name" in written:
            raise ValueError(f"column {name!r}: its name is given already; leave 'name' out")
        if "type" in written:
            return written
        for kind, keys in _SHORT.items():
            if keys[0] in written and set(written) <= set(keys):
                rest = {key: written[key] for key in keys[1:] if key in written}
                return {"type": kind, "levels": written[keys[0]], **rest}
    came = written.__name__ if isinstance(written, type) else type(written).__name__
    if isinstance(written, Mapping):
        came = "{" + ", ".join(map(str, written)) + "}"
    raise ValueError(f"column {name!r} must be {forms}; got {came}")


def _whole(name: object, written: range) -> Mapping[str, Any]:
    if written.step != 1 or not written:
        raise ValueError(
            f"column {name!r}: a range must have step 1 and hold a number, got {written!r}; for "
            'other steps list the levels: {"ordered": […]}'
        )
    return {"type": "integer", "bounds": (written[0], written[-1])}


def _listed(name: object, written: list[Any], file: bool) -> Mapping[str, Any]:
    if len(written) == 2 and all(isinstance(item, (bool, np.bool_)) for item in written):
        both = written[0] != written[1]
        return {"type": "boolean"} if both else {"type": "categorical", "levels": written}
    numbers = len(written) == 2 and all(map(_is_number, written))
    days = len(written) == 2 and all(map(_is_day, written))
    texts = any(isinstance(item, str) for item in written)
    if (numbers or (days and texts)) and not file:
        raise ValueError(
            f"column {name!r}: the list {written!r} may be bounds or levels; write "
            f"({written[0]!r}, {written[1]!r}) for all between them, or "
            f'{{"categories": {written!r}}} for these two alone'
        )
    if file and len(written) == 2 and any(map(_is_power, written)):
        raise ValueError(
            f"column {name!r}: {written!r} holds a number that YAML reads as text; write it out, "
            "or like 1.0e+3, or give {categories: …}"
        )
    if numbers or days:
        return {"type": "numeric" if numbers else "date", "bounds": written}
    return {"type": "categorical", "levels": written}


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool)


def _is_power(value: object) -> bool:
    """Whether a value is text like 1e3, which YAML does not read as a number."""
    return isinstance(value, str) and bool(re.fullmatch(r"[+-]?[0-9.]+[eE][+-]?[0-9]+", value))


def _is_day(value: object) -> bool:
    if isinstance(value, str):
        try:
            date.fromisoformat(value)
        except ValueError:
            return False
        return True
    return isinstance(value, date)  # a datetime is one


def read_declarations(path: str | Path) -> Sequence[Column]:
    """Columns of a JSON or YAML file that holds {name: declaration} or what `to_dict` gives."""
    file = Path(path)
    if file.suffix not in (".json", ".yaml", ".yml"):
        raise ValueError(f"domain: {file.name!r} must end in .json, .yaml or .yml")
    if not file.is_file():
        raise FileNotFoundError(f"domain: there is no file {str(file)!r}")
    try:
        text = file.read_text(encoding="utf-8-sig")
        written = _parsed_json(text) if file.suffix == ".json" else _parsed_yaml(text)
    except _TwiceError as error:
        raise ValueError(f"domain: {file.name}: {error}") from None
    except (ValueError, RecursionError) as error:  # of UTF-8, JSON and YAML
        where = f": {error}" if isinstance(error, ValueError) else ""
        raise ValueError(f"domain: {file.name} cannot be read{where}") from None
    try:
        return _columns(written)
    except (TypeError, ValueError) as error:
        raise type(error)(f"domain: {file.name}: {error}") from None


def _columns(written: object) -> Sequence[Column]:
    if not isinstance(written, Mapping):
        raise ValueError(
            f"a domain must be columns by their names, each {_FILE_FORMS}; got {type(written).__name__}"
        )
    columns = written.get("columns")
    whole = isinstance(columns, list) and all(isinstance(c, Mapping) for c in columns)
    if whole and len(written) == 1 and columns:
        return [column_from_dict(column) for column in columns]
    return [column_of(name, column, file=True) for name, column in written.items()]


class _TwiceError(Exception):
    """A name of a column that a file declares more than once."""


def _check_once(names: Sequence[object]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _TwiceError(f"{name!r} stands more than once; leave one of them")


def _parsed_json(text: str) -> Any:
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _check_once([name for name, _ in pairs])
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def _parsed_yaml(text: str) -> Any:
    import yaml

    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        _check_once([key.value for key, _ in tree.value] if isinstance(tree, yaml.MappingNode) else [])
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


MOST_TABLE_COLUMNS = 64


@dataclass(frozen=True, init=False, repr=False)
class Domain(NamedColumns):
    """Which records there may be: columns by name, each with bounds or levels.

    >>> from mercer import Domain
    >>> Domain({"age": (0, 100), "visits": range(0, 51), "sex": ["f", "m"], "smoker": bool})
    Domain(age in [0, 100], visits in {0..50}, sex in {f, m}, smoker in {false, true})
    """

    columns: tuple[Column, ...]

    def __init__(self, columns: Mapping[str, object] | Iterable[Column]) -> None:
        if isinstance(columns, Mapping):
            found = tuple(column_of(name, written) for name, written in columns.items())
        elif isinstance(columns, (list, tuple)) and all(isinstance(c, Column) for c in columns):
            found = tuple(columns)
        else:
            raise TypeError(
                "a domain must be columns by their names, for example "
                '{"age": (0, 100), "sex": ["f", "m"]}; got ' + type(columns).__name__
            )
        if not 1 <= len(found) <= MOST_TABLE_COLUMNS:
            raise ValueError(
                f"a domain must have 1 to {MOST_TABLE_COLUMNS} columns, got {len(found)}; release "
                "the columns of interest"
            )
        names = [column.name for column in found]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"column {twice[0]!r} stands more than once; leave one of them")
        object.__setattr__(self, "columns", found)

    @classmethod
    def read(cls, path: str | Path) -> Domain:
        """Read the domain that a JSON or YAML file declares."""
        columns = read_declarations(path)
        try:
            return cls(columns)
        except (TypeError, ValueError) as error:
            raise type(error)(f"domain: {Path(path).name}: {error}") from None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Domain:
        """The domain that `to_dict` gave, as a file of a release holds it."""
        columns = fields.get("columns")
        if not isinstance(columns, list) or not all(isinstance(c, Mapping) for c in columns):
            raise ValueError(f"domain: columns must be a list of columns, got {type(columns)!r}")
        return cls([column_from_dict(column) for column in columns])

    def to_dict(self) -> dict[str, Any]:
        return {"columns": [column.to_dict() for column in self.columns]}

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def _told(self, most: int) -> list[str]:
        return [column.describe() for column in self.columns[:most]]

    @property
    def width(self) -> int:
        """Number of coordinates of an embedded record."""
        return sum(column.width for column in self.columns)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Which embedded coordinates belong to each column."""
        ends = np.cumsum([column.width for column in self.columns]).tolist()
        return tuple(map(slice, [0, *ends], ends))

    @property
    def size(self) -> int | None:
        """Number of distinct records; None where a column is continuous."""
        counts = [column.levels_count for column in self.columns]
        return None if None in counts else math.prod(count for count in counts if count)

    def column(self, name: str) -> Column:
        """The column of this name; ValueError where there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise ValueError(f"there is no column {name!r}; there are {', '.join(self.names)}")

    def embed(self, codes: Floats) -> Floats:
        """Records as points, shape (n, width); NaN in the coordinates of a cell that does not fit."""
        return np.concatenate([column.embed(part) for column, part in self._apart(codes)], axis=1)

    def from_unit(self, u: Floats) -> Floats:
        """Records from points of the unit cube, shape (n, columns); uniform points give uniform cells."""
        return np.stack([column.from_unit(part) for column, part in self._apart(u)], axis=1)

    def snap(self, codes: Floats) -> Floats:
        """The nearest valid codes, shape (n, columns); NaN stays NaN."""
        return np.stack([column.snap(part) for column, part in self._apart(codes)], axis=1)

    def table(self, codes: Floats) -> pa.Table:
        """Records as an Arrow table, with null where a cell does not fit."""
        import pyarrow as pa

        return pa.table({column.name: column.arrow(part) for column, part in self._apart(codes)})

    def rows(self, codes: Floats) -> list[dict[str, Any]]:
        """Records as dictionaries of Python values; None where a cell does not fit."""
        lists = [column.values(part) for column, part in self._apart(codes)]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*lists, strict=True)]

    def __repr__(self) -> str:
        return f"Domain({self.describe()})"

    def _apart(self, codes: Floats) -> Iterator[tuple[Column, Floats]]:
        """Each column with the codes of all records in it."""
        codes = np.asarray(codes, dtype=np.float64)
        if codes.ndim != 2 or codes.shape[1] != self.dimension:
            raise ValueError(f"codes must have shape (records, {self.dimension}), got {codes.shape}")
        return zip(self.columns, codes.T, strict=True)


def domain_given(domain: object) -> Domain:
    """The domain of a table from what callers give: a `mercer.Domain`, a mapping, or a path."""
    if isinstance(domain, Domain):
        return domain
    if domain is None:
        raise ValueError(
            "domain is missing: columns with their bounds and categories are public and cannot be "
            'read from the data; give mercer.Domain({"age": (0, 100), "sex": ["f", "m"]})'
        )
    if isinstance(domain, Mapping):
        return Domain(domain)
    if isinstance(domain, str):
        return Domain.read(domain)
    raise TypeError(f"domain must be a mercer.Domain, got {type(domain).__name__}")
