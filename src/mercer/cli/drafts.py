"""A first domain file, to be filled in.

Names of columns are public, and so are the types that a Parquet file declares; nothing else of the
data is looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.sources.files import file_batches, keeps_places

__all__ = ["example_domain"]

_EXAMPLE = """\
# The public domain of a table: a line for each column that is released.
# Bounds and levels come from public knowledge, never from the records.
age: [0, 100]                                   # numbers: lower and upper bound; others are clipped
visits: {type: integer, bounds: [0, 50]}        # whole numbers
sex: [f, m]                                     # categories; quote words such as "no", "on", "007"
smoker: boolean
stage: {ordered: [I, II, III, IV]}              # categories in an order
ward: {categories: [north, south], other: other}  # whatever is not declared counts as the other
admitted: [2020-01-01, 2024-12-31]              # dates
"""
_HEAD = """\
# The public domain of {name}: fill in what stands in CAPITALS and take the # away.
# Bounds and levels come from public knowledge, never from the records. {types}
#   numbers [0, 100] | whole numbers {{type: integer, bounds: [0, 50]}} | categories [f, m]
#   boolean | in an order {{ordered: [I, II, III]}} | dates [2020-01-01, 2024-12-31]
#   categories and whatever else {{categories: [north, south], other: other}}
"""
_CSV = "A CSV file declares no types: choose."
_PARQUET = "Types are those that the file declares."


def example_domain(path: Path | None) -> str:
    """YAML with every way to declare a column, or with a line for each column of a file."""
    if path is None:
        return _EXAMPLE
    schema, _ = file_batches(path)
    typed = keeps_places(path)
    lines = [f"# {_quoted(field.name)}: {_form(field.type) if typed else 'ONE-OF-THESE'}" for field in schema]
    return _HEAD.format(name=path.name, types=_PARQUET if typed else _CSV) + "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    import json

    return (
        name if name.isidentifier() and name.lower() not in _WORDS else json.dumps(name, ensure_ascii=False)
    )


_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")  # YAML reads them as others


def _form(kind: Any) -> str:
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind):
        return "{type: integer, bounds: [LOWER, UPPER]}"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "[LOWER, UPPER]"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "[FIRST-DAY, LAST-DAY]"
    return "[LEVEL, LEVEL]"
