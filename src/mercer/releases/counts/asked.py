"""A question about counts of cells: which cells a condition takes in, and which it cuts.  M13.

Ends that fall inside a bin cut it.  How the records lie inside a bin is not released, so of a bin that
is cut all of them may fulfil the condition, or none: `least` are the cells all of whose records do,
`most` those in which any may.  `share` counts a bin that is cut by its width.  Everything here is
public: what does not fit is an error that names it.  docs/proofs/counts.md, 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from mercer.columns.cells import Axes, Axis
from mercer.columns.conditions import Open, matches, ranged, upper_counts, words_of
from mercer.columns.ends import end_words, exchanged, range_words
from mercer.common.checks import Floats
from mercer.releases.base import Interval

__all__ = ["Along", "Asked", "CountAnswer", "Cut"]


@dataclass(frozen=True)
class Cut:
    """An end of a condition that falls inside a bin, and those at which the answer is exact up to noise."""

    column: str
    at: str
    exact: tuple[str, ...]  # the nearest ends that cut no bin, as text
    below: bool = False  # the exact ones do not count, where the one asked for does

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return {"column": self.column, "at": self.at, "exact": list(self.exact), "below": self.below}


class CountAnswer(Interval):
    """How many records a condition holds for, with its meaning and the bins that it cuts.

    Where bins are cut the interval runs from the least that they allow to the most, and noise; the
    estimate counts them by their width.  With `smooth` the interval is for the noise alone, if
    records are spread evenly in the bins that are cut.
    """

    where: str = ""  # the condition in words: 20 <= age < 40
    cuts: tuple[Cut, ...] = ()
    smooth: bool = False

    @classmethod
    def of(cls, found: Interval, asked: Asked, *, smooth: bool = False) -> CountAnswer:
        """An estimate and its ends as the answer to what was asked."""
        answer = cls(*found)
        answer.where, answer.cuts, answer.smooth = asked.words, asked.cuts, smooth
        return answer

    @property
    def note(self) -> str:
        """Where bins are cut, and where the answer is exact up to noise; empty where none is."""
        if not self.cuts:
            return ""
        columns = list(dict.fromkeys(cut.column for cut in self.cuts))
        parts = []
        for column in columns:
            cuts = [cut for cut in self.cuts if cut.column == column]
            at = " and ".join(cut.at for cut in cuts)
            exact = ", and ".join(f"{'below' if c.below else 'at'} {' or '.join(c.exact)}" for c in cuts)
            of = f" of {column}" if len(columns) > 1 else ""
            parts.append(f"bins{of} are cut at {at}; exact {exact}")
        assumed = ["the interval assumes records spread evenly in them"] if self.smooth else []
        return "; ".join(parts + assumed)

    def __str__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        ends = f"{self.level:.0%} interval {self.lower:.6g} to {self.upper:.6g}"
        return f"{self.estimate:.6g} with {self.where}, {ends}{note}"

    def __repr__(self) -> str:
        note = f", note={self.note!r}" if self.note else ""
        return f"{super().__repr__()[:-1]}, where={self.where!r}{note})"


@dataclass(frozen=True, eq=False)
class Along:
    """What a condition says of the cells along one column."""

    share: Floats  # of each cell, by width where it is cut
    least: Floats  # one for a cell all of whose records fulfil it
    most: Floats  # one for a cell that may hold one that does
    words: str
    cuts: tuple[Cut, ...] = ()

    @classmethod
    def of(cls, axis: Axis, given: Any) -> Along:
        """A rule is (least, most) with None for an open end, a value, a list of values or a `range`."""
        rule = ranged(axis.name, given)
        if axis.edges is not None:
            return _of_bins(axis, rule)
        codes = axis.column.ends[0] + np.arange(axis.size, dtype=np.float64)
        found = matches(axis.column, codes, rule).astype(np.float64)
        if axis.clips and not np.any(found):
            _beyond(axis)
        return cls(found, found, found, _values_words(axis, rule, found))


@dataclass(frozen=True, eq=False)
class Asked:
    """A condition on the columns of a table."""

    axes: Axes
    along: tuple[Along | None, ...]  # None: the column is not in the condition

    @classmethod
    def of(cls, axes: Axes, where: Mapping[str, Any]) -> Asked:
        """From rules by column; ValueError says what does not fit."""
        if not isinstance(where, Mapping):
            raise TypeError(
                'a condition must be by columns, for example {"age": (20, 40), "sex": "f"}; got '
                f"{type(where).__name__}"
            )
        found: list[Along | None] = [None] * axes.dimension
        for name, rule in where.items():
            place = axes.index(name)
            found[place] = Along.of(axes.columns[place], rule)
        return cls(axes, tuple(found))

    @property
    def words(self) -> str:
        """The condition in words, such as `20 <= age < 40 and sex = f`."""
        return " and ".join(one.words for one in self.along if one is not None) or "any record"

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The ends that fall inside bins, of all columns."""
        return tuple(cut for one in self.along if one is not None for cut in one.cuts)

    @property
    def shares(self) -> list[Floats | None]:
        """The share of each cell along every column; None for all of a column."""
        return [None if one is None else one.share for one in self.along]

    @property
    def least(self) -> list[Floats | None]:
        """One for each cell along every column all of whose records fulfil the condition."""
        return [None if one is None else one.least for one in self.along]

    @property
    def most(self) -> list[Floats | None]:
        """One for each cell along every column in which a record may fulfil it."""
        return [None if one is None else one.most for one in self.along]


def _of_bins(axis: Axis, rule: Any) -> Along:
    if not isinstance(rule, tuple) or len(rule) != 2:
        raise ValueError(
            f"condition on {axis.name!r} must be (least, most): it was released in bins; None is an open end"
        )
    whole = not axis.column.continuous
    edges = np.array(axis.edges)
    low, high = (_code(axis, end, open_) for end, open_ in zip(rule, axis.ends, strict=True))
    if low > high:
        raise exchanged(axis.name, rule)
    closed = upper_counts(rule, whole=whole) or low == high
    shown = [None if rule[0] is None else low, None if rule[1] is None else high]
    if whole:  # edges lie between the values
        low = math.ceil(low) - 0.5
        high = math.floor(high) + 0.5 if closed else math.ceil(high) - 0.5
    if axis.clips and (low >= edges[-1] or high < edges[0] or (high == edges[0] and (whole or not closed))):
        _beyond(axis)
    inside = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    share = np.clip(inside / np.diff(edges), 0.0, 1.0)
    least = (edges[:-1] >= low) & (edges[1:] <= high)
    upto = closed and not whole  # a record may stand at the upper end itself
    most = (edges[1:] > low) & ((edges[:-1] <= high) if upto else (edges[:-1] < high))
    if not whole:  # the last bin holds its upper edge
        most[-1] |= bool(low == edges[-1])
        least[-1] &= not (isinstance(rule, Open) and high == edges[-1])
    ends = _shown_ends(axis, rule, shown)
    words = range_words(axis.name, *ends, closed=closed or (high >= edges[-1] and not isinstance(rule, Open)))
    return Along(share, least.astype(float), most.astype(float), words, _cuts(axis, rule, low, high, upto))


def _shown_ends(axis: Axis, rule: tuple[Any, Any], shown: list[float | None]) -> list[str | None]:
    """The ends as text; None where the end cell holds whatever lies beyond it."""
    low, high = shown
    (first, last), column = axis.ends, axis.column
    if not column.continuous:  # edges lie between the values
        first, last = math.ceil(first), math.ceil(last) - 1
    if axis.clips:
        low = None if low is not None and low <= first else low
        high = None if high is not None and high >= last and not isinstance(rule, Open) else high
    return [None if code is None else axis.end(code) for code in (low, high)]


def _cuts(axis: Axis, rule: tuple[Any, Any], low: float, high: float, upto: bool) -> tuple[Cut, ...]:
    """The ends that fall inside bins, with the nearest ones that do not."""
    edges, found = np.array(axis.edges), []
    whole = not axis.column.continuous

    def end(code: float, side: int) -> str:
        """An edge as the lower end of a condition (0), or as its upper one (1)."""
        if not whole:
            return axis.end(code)
        return axis.end(math.ceil(code) - (side == 1 and not isinstance(rule, Open)))

    for side, code in enumerate((low, high)):
        if rule[side] is None:
            continue
        at = axis.end(_code(axis, rule[side], code))
        place = int(np.searchsorted(edges, code, side="right")) - 1
        above = side == 1 and upto
        if not whole and code == edges[-1] and (side == 0 or isinstance(rule, Open)):
            found.append(Cut(axis.name, at, (end(edges[-2], side),)))
        elif 0 <= place < len(edges) - 1 and (code != edges[place] or above):
            last = side == 0 and place + 2 == len(edges)  # nothing can begin beyond the bound
            near = (place,) if last else (place, place + 1)
            nearest = tuple(end(edges[k], side) for k in near)
            found.append(Cut(axis.name, at, nearest, above))
    return tuple(found)


def _values_words(axis: Axis, rule: Any, found: Floats) -> str:
    """A condition on a column whose values are the cells, in words."""
    if not isinstance(rule, tuple):
        return words_of({axis.name: rule})
    if np.all(found) and axis.clips:
        return range_words(axis.name, None, None, closed=True)
    ends = [end_words(end) for end in rule]
    if axis.clips:  # the first and the last cell hold what lies beyond them
        ends = [None if found[place] else end for place, end in zip((0, -1), ends, strict=True)]
    return range_words(axis.name, *ends, closed=upper_counts(rule, whole=True))


def _beyond(axis: Axis) -> NoReturn:
    low, high = axis.bounds_in_words
    raise ValueError(
        f"condition on {axis.name!r}: whatever lies beyond {low} and {high} was counted in the end "
        "cells, and cannot be told apart; ask about values between, or release with outside='drop'"
    )


def _code(axis: Axis, end: Any, otherwise: float) -> float:
    if end is None:
        return otherwise
    plain = end.item() if isinstance(end, np.generic) else end
    if axis.column.kind == "date":
        from mercer.columns.kinds import Date

        return Date("end", plain, plain).ends[0]
    if isinstance(plain, bool) or not isinstance(plain, (int, float)) or plain != plain:
        raise ValueError(f"condition on {axis.name!r}: ends must be numbers")
    return float(plain)
