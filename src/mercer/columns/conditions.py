"""Which synthetic records a condition by columns holds for.  Right of the door.

Everything here is public: what does not fit is an error that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import numpy as np

from mercer.columns.kinds import Boolean, Categorical, Column, Date, Ordered
from mercer.columns.table import TableDomain
from mercer.common.checks import Bools, Floats

__all__ = ["holds", "matches"]

_EPOCH = date(1970, 1, 1).toordinal()


def holds(domain: TableDomain, codes: Floats, condition: Mapping[str, Any]) -> Bools:
    """Each column has a pair (least, most), a value, or a list of values; all must hold.

    Ends of a pair are included; None is an open end.
    """
    found = np.ones(len(codes), dtype=bool)
    for name, rule in condition.items():
        column = domain.column(name)
        found &= matches(column, codes[:, domain.names.index(name)], rule)
    return found


def matches(column: Column, codes: Floats, rule: Any) -> Bools:
    """Which codes of one column a rule holds for."""
    if isinstance(rule, tuple):
        return _between(column, codes, rule)
    if isinstance(rule, (list, set, frozenset)):
        return np.isin(codes, [_code(column, value) for value in rule])
    return np.asarray(codes == _code(column, rule), dtype=bool)


def _between(column: Column, codes: Floats, rule: tuple[Any, ...]) -> Bools:
    if len(rule) != 2:
        raise ValueError(
            f"condition on {column.name!r} must be (least, most), a value or a list of values; got "
            f"a tuple of {len(rule)}"
        )
    if not column.numeric:
        raise ValueError(
            f"condition on {column.name!r}: its levels have no order; give a list of them instead "
            "of (least, most)"
        )
    low, high = (None if end is None else _code(column, end) for end in rule)
    least = -np.inf if low is None else low
    most = np.inf if high is None else high
    if least > most:
        raise ValueError(f"condition on {column.name!r}: (least, most) stand the other way round")
    return np.asarray((codes >= least) & (codes <= most), dtype=bool)


def _code(column: Column, value: Any) -> float:
    """Of a value as people write it."""
    plain = value.item() if isinstance(value, np.generic) else value
    found: float | None = None
    if isinstance(column, Boolean):
        found = float(plain) if isinstance(plain, (bool, int)) and plain in (0, 1) else None
    elif isinstance(column, (Ordered, Categorical)):
        labels = column.labels if isinstance(column, Categorical) else column.levels
        written = [str(label) for label in labels]
        found = float(written.index(str(plain))) if str(plain) in written else None
    elif isinstance(column, Date):
        found = _day(plain)
    elif isinstance(plain, (int, float)) and not isinstance(plain, bool) and plain == plain:
        found = float(plain)
    if found is None:
        raise ValueError(
            f"condition on {column.name!r}: {value!r} is no value of it; there is {column.describe()}"
        )
    return found


def _day(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        value = value.date()
    return float(value.toordinal() - _EPOCH) if isinstance(value, date) else None
