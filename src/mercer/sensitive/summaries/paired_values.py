"""Values of one column in pairs: how much replacing one by the other changes a statistic.

Left of the door.  M14, M18; thesis, Section 5.3.  A value that is missing or infinite
counts as 0.  All of it is held in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.columns.rules import FAR
from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm
from mercer.sensitive.base import Summary
from mercer.sensitive.rows import Records

__all__ = ["Change", "PairedValues", "Statistic", "paired_values"]

_LEAST = 1e-180  # changes below are taken for it, but 0 stays 0

Change = Callable[[Floats, Floats], Any]
Statistic = Callable[[Floats], Any]


class PairedValues(Summary["PairedValues"]):
    """The values of a column, and how much they change a statistic in pairs."""

    def __init__(self, values: Floats, change: Change | None, statistic: Statistic | None) -> None:
        self._values = np.clip(np.where(np.isfinite(values), values, 0.0), -FAR, FAR)
        self._values.setflags(write=False)
        self._change, self._statistic = change, statistic
        self.n, self.unit = len(values), "row"

    @property
    def size(self) -> int:
        return 1

    def sensitivity(self, norm: Norm) -> None:
        """No bound holds: a value may be anything."""

    def coordinates(self) -> PairedValues:
        """The values themselves: the noise follows them."""
        return self

    def spread(self, pairs: tuple[Ints, Ints], rank: int) -> float:
        """The rank-th smallest change h(x, x') of the pairs, rounded up; 1 is the smallest."""
        one, two = (self._values[places] for places in pairs)
        if self._change is None:
            changes = np.abs(one - two)
        else:
            given = _own("change", self._change, one, two)
            if given.shape != one.shape:
                raise ValueError(
                    f"change must give one number for each pair, shape {one.shape}; got shape "
                    f"{given.shape}; nothing was released"
                )
            changes = np.clip(np.where(np.isnan(given), FAR, given), 0.0, FAR)
        found = float(np.partition(changes, rank - 1)[rank - 1])
        return max(found * (1 + 2.0**-40), _LEAST) if found else 0.0

    def steps(self, step: float) -> int:
        """The statistic times n, in steps of a lattice: exact.

        One record moves it by its change over the step and by one more, at most.
        """
        if self._statistic is None:
            return sum(map(int, np.rint(self._values / step).tolist()))
        return round(self._own() * self.n / Fraction(step))

    def exact(self) -> float:
        """The statistic without noise."""
        if self._statistic is None:
            total = sum(map(Fraction, self._values.tolist()), Fraction(0))
            return float(total / self.n)
        return float(self._own())

    def _own(self) -> Fraction:
        given = _own("statistic", self._statistic, self._values)
        if given.shape != ():
            raise ValueError(f"statistic must give one number, got shape {given.shape}; nothing was released")
        number = float(given)
        return Fraction(min(max(number, -FAR), FAR)) if np.isfinite(number) else Fraction(0)


def paired_values(records: Records, change: Change | None, statistic: Statistic | None) -> PairedValues:
    """The values of all records of a source with one column."""
    chunks = [np.array(chunk[:, 0], dtype=np.float64) for chunk in records.chunks()]
    values = np.concatenate(chunks) if chunks else np.zeros(0)
    return PairedValues(values, change, statistic)


def _own(name: str, function: Any, *values: Floats) -> Any:
    """The result of a function of the caller; the text of its errors, which may show a record, is dropped."""
    try:
        return np.asarray(function(*values), dtype=np.float64)
    except Exception:
        raise ValueError(
            f"{name} failed, or gave no number; it must work for any values; nothing was released"
        ) from None
