"""Released histograms and tables.  Right of the door: never sees a record.  M13, M15.

Noisy whole counts of cells, the law of their noise, and what was promised.  A sparse release
holds the cells above a public threshold; the others are zero in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer.columns.cells import MOST_LISTED, Axes, Axis
from mercer.common.checks import Bools, Floats, Ints, check_level
from mercer.common.files import Fields
from mercer.noise.count_laws import CountLaw, GeometricLaw, count_law_from_dict
from mercer.noise.lower_bounds import histogram_bound, sparse_bound
from mercer.promise.weaker import RandomStatement, promise_from
from mercer.releases.base import freeze
from mercer.releases.counts.asked import Asked, CountAnswer
from mercer.releases.counts.cells import (
    MOST_COUNT,
    CellsRelease,
    CountAccuracy,
    Margin,
    clipped,
    noise_width,
    product,
    rows_each,
    sparse_ends,
    sparse_error,
    whole_numbers,
    within,
)

if TYPE_CHECKING:
    import pandas

    from mercer.releases.density.release import DensityRelease

__all__ = ["HistogramRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class HistogramRelease(CellsRelease):
    """Counts of cells that anyone may add up, plot and keep for ever at no further cost."""

    noise: CountLaw
    keys: Ints | None  # cells that are held, rising; None: all of them
    values: Ints  # their noisy counts, as they came out
    threshold: int | None = None  # a sparse release holds counts above it
    exact: Bools | None = None  # cells without noise, under the weaker promise (M14)

    kind = "histogram"

    def __post_init__(self) -> None:
        freeze(self, "keys", "values", dtype=np.int64)
        freeze(self, "exact", dtype=bool)
        cells = self.domain.cells
        if (self.keys is None) != (self.threshold is None):
            raise ValueError("a sparse release has keys and a threshold, a dense one neither")
        if self.keys is None:
            if cells > MOST_LISTED or self.values.shape != (cells,):
                raise ValueError(f"values must be {cells} counts, got shape {self.values.shape}")
        elif not _rising(self.keys, cells) or self.values.shape != self.keys.shape:
            raise ValueError("keys must be rising cells of the table, with one value each")
        elif len(self.values) and self.threshold is not None and self.values.min() <= self.threshold:
            raise ValueError("a sparse release holds counts above its threshold alone")
        fits = isinstance(self.privacy, RandomStatement)
        if self.exact is not None and not (fits and self.exact.shape == self.values.shape):
            raise ValueError("exact must be one for each value, under the weaker promise alone")

    @property
    def sparse(self) -> bool:
        """Whether cells at or below a threshold were left out."""
        return self.keys is not None

    @property
    def edges(self) -> Floats:
        """Edges of the bins of a histogram of one column."""
        axis = self._single("edges")
        if axis.edges is None:
            raise ValueError(f"{axis.name!r} has no bins but values: see categories")
        return np.array(axis.edges)

    @property
    def categories(self) -> list[Any]:
        """Values of the cells of a histogram of one column."""
        axis = self._single("categories")
        if axis.edges is not None:
            raise ValueError(f"{axis.name!r} was cut into bins: see edges")
        return axis.values()

    @cached_property
    def raw(self) -> Ints:
        """Noisy counts as they came out, negative ones too, one for each cell."""
        if self.keys is None:
            out = self.values
        else:
            if self.domain.cells > MOST_LISTED:
                raise ValueError(
                    f"the table has {self.domain.cells} cells, too many to list; see cells() for "
                    "those that are held, or ask query(...)"
                )
            out = np.zeros(self.domain.cells, dtype=np.int64)
            out[self.keys] = self.values
        shaped = out.reshape(self.domain.sizes)
        shaped.setflags(write=False)
        return shaped

    @property
    def counts(self) -> Ints:
        """Counts of all cells, none below zero; an axis for each column."""
        return np.maximum(self.raw, 0)

    @property
    def proportions(self) -> Floats:
        """Counts as shares of their sum."""
        counts = self.counts
        return counts / max(int(counts.sum()), 1)

    def cells(self) -> pandas.DataFrame:
        """Cells with a count above zero, one in each row with its values: a pandas data frame."""
        import pandas as pd

        keep = self.values > 0
        keys = (np.arange(self.domain.cells) if self.keys is None else self.keys)[keep]
        columns = {}
        for axis, places in zip(self.domain.columns, self.domain.places(keys), strict=True):
            labels = np.array(axis.labels(), dtype=object)
            columns[axis.name] = labels[places]
        return pd.DataFrame(columns | {"count": self.values[keep]})

    def to_frame(self, level: float = 0.95, *, simultaneous: bool = False) -> pandas.DataFrame:
        """Every cell with its count and the ends of its interval, as a pandas data frame."""
        low, high = self.interval(level, simultaneous=simultaneous)
        return Margin(self.domain, self.counts.astype(float), low, high, level).to_frame()

    def width(self, level: float = 0.95, *, simultaneous: bool = False) -> float:
        """What the interval of a cell's noise reaches to each side: of one cell, or of all at once."""
        check_level(level)
        noisy = self.domain.cells if self.exact is None else int((~self.exact).sum())
        return self.noise.half_width_of_all(noisy if simultaneous else 1, 1, level)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Lower and upper ends for the count of every cell, each covered with this probability.

        With `simultaneous=True` all of them together are.  A cell that a sparse release left out may
        hold up to about its threshold.
        """
        wide = self.width(level, simultaneous=simultaneous)
        width = np.full(self.domain.sizes, wide)
        raw = self.raw.astype(float)
        if self.exact is not None and self.keys is None:
            width[self.exact.reshape(width.shape)] = 0.0
        low, high = raw - width, raw + width
        if self.keys is not None and self.threshold is not None:
            left_out = np.ones(self.domain.cells, dtype=bool)
            left_out[self.keys] = False
            empty = left_out.reshape(width.shape)
            low[empty], high[empty] = 0.0, self.threshold + wide
        return np.clip(low, 0, self.most), np.clip(high, 0, self.most)

    def query(self, *question: Any, level: float = 0.95, smooth: bool = False) -> CountAnswer:
        """How many records: `query(20, 40)`, `query("a")` or `query({"age": (20, 40), …})`.

        Of numbers in bins 20 <= x < 40; of integers and dates both ends count.  The estimate is the
        unbiased sum of noisy counts; a bin that is cut counts by its width in it.  The interval is for
        the records: from the least to the most that the bins that are cut allow, and noise; the
        answer's `note` names the nearest ends that cut none.  Of a sparse release it also allows
        for the cells left out.  `smooth`: the sum of `best` instead, for one column in order,
        usually much nearer, and free; bins that are cut count by their width, and the interval is for
        the noise alone.
        """
        check_level(level)
        asked = Asked.of(self.domain, self._where(question))
        best = self.best if smooth else None
        share, raw = self._shared(asked.shares)
        if best is not None:
            noisy = share if self.exact is None else share * ~self.exact
            width = noise_width(self.noise, noisy, level)
            found = clipped(float(share @ raw), (width, width), self.most, level)
            nearer = min(max(float(share @ best), found.lower), found.upper)
            return CountAnswer.of(found._replace(estimate=nearer), asked, smooth=True)
        low = self._ends_of(asked.least, level)[0]
        high = self._ends_of(asked.most, level)[1]
        return CountAnswer.of(within(float(share @ raw), low, high, self.most, level), asked)

    def _shared(self, along: list[Floats | None]) -> tuple[Floats, Ints]:
        """Shares of the cells that are held, and their noisy counts."""
        if self.keys is None:
            return product(self.domain, along), self.raw.reshape(-1)
        share = np.ones(len(self.keys))
        for vector, places in zip(along, self.domain.places(self.keys), strict=True):
            share *= 1.0 if vector is None else vector[places]
        return share, self.values

    def _ends_of(self, meant: list[Floats | None], level: float) -> tuple[float, float]:
        """The ends of an interval for the number in some cells, each off with half of 1 - level."""
        if self.keys is not None and self.threshold is not None:
            held = self.keys, self.values
            return sparse_ends(self.domain, self.noise, self.threshold, held, meant, self.most, level)
        cells = product(self.domain, meant) > 0
        value = float(self.raw.reshape(-1)[cells].sum())
        noisy = cells if self.exact is None else cells & ~self.exact
        width = self.noise.half_width(int(noisy.sum()), level)
        return value - width, value + width

    def margin(self, *names: str, level: float = 0.95, simultaneous: bool = False) -> Margin:
        """Counts of some of the columns, all others added up, with an interval for each cell.

        With `simultaneous=True` the intervals of all these cells hold together at this level.
        """
        check_level(level)
        places = [self.domain.index(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise ValueError("margin needs the names of one or more different columns")
        if self.keys is not None:
            raise ValueError(
                "margins of a sparse release would miss the cells left out; release the margins "
                "themselves: mercer.table(..., margins=…), or ask query(...)"
            )
        others = tuple(i for i in range(self.domain.dimension) if i not in places)
        kept = [i for i in range(self.domain.dimension) if i in places]
        counts = np.transpose(self.raw.sum(axis=others), [kept.index(i) for i in places])
        noisy = np.ones_like(self.raw) if self.exact is None else ~self.exact.reshape(self.raw.shape)
        terms = np.transpose(noisy.sum(axis=others), [kept.index(i) for i in places])
        among = int(np.count_nonzero(terms)) if simultaneous else 1
        flat = [self.noise.half_width_of_all(among, int(t), level) for t in terms.reshape(-1)]
        width = np.array(flat).reshape(terms.shape)
        counts, low, high = (
            np.clip(counts + shift, 0, self.most).astype(float) for shift in (0, -width, width)
        )
        return Margin(self.domain.only(places), counts, low, high, level, simultaneous)

    def __call__(self, x: object) -> Floats:
        """The histogram as a density at x: share of the bin over its width, 0 outside."""
        axis = self._single("a density")
        if axis.edges is None:
            raise ValueError(f"{axis.name!r} has no bins: a histogram of values is no density")
        points = np.asarray(x, dtype=np.float64)
        edges = np.array(axis.edges)
        height = np.append(self.proportions / np.diff(edges), 0.0)
        place = np.searchsorted(edges, points, side="right") - 1
        place = np.where(points == edges[-1], axis.size - 1, place)
        return height[np.where((place >= 0) & (place < axis.size), place, axis.size)]

    @cached_property
    def best(self) -> Floats:
        """Counts of one column in order, smoothed for sums over ranges: free, not whole.

        Far nearer than the noisy counts where data are sparse or smooth (`counts.smoothing`); what
        they are off by is not known, so they have no interval.
        """
        from mercer.releases.counts.smoothing import best_counts

        axis = self._single("smoothed counts")
        if self.keys is not None or self.exact is not None:
            raise ValueError("smoothed counts are of a release with noise in every cell")
        if not axis.column.numeric:
            raise ValueError(f"{axis.name!r} has levels without an order: nothing is near another")
        total = float(self.n) if self.complete else None
        found = best_counts(self.raw, max(self.noise.variance, 1e-12), total)
        found.setflags(write=False)
        return found

    def density(self, *, degree: int | None = None) -> DensityRelease:
        """A smooth `DensityRelease` of a histogram in bins: free, and all that densities can do.

        `degree` is the number of its cosines, by default from a public rule.
        """
        from mercer.releases.counts.smoothing import histogram_density

        if self.sparse or self.exact is not None:
            raise ValueError(
                "release must hold all bins with noise of one law, got a sparse one or one with exact "
                "bins; make it with sparse=False"
            )
        given = self.domain, self.values, self.noise, self.privacy
        return histogram_density(*given, complete=self.complete, degree=degree)

    @property
    def accuracy(self) -> CountAccuracy:
        """Expected error due to privacy, beside the least that is possible."""
        law, cells, held = self.noise, self.domain.cells, max(len(self.values), 1)
        n, epsilon, pure = self.n, self.privacy.epsilon, self.privacy.delta == 0
        if self.exact is not None:
            noisy = int((~self.exact).sum())
            what = f"{noisy} of {cells} cells with noise"
            return CountAccuracy(what, noisy * law.mean_error, law.deviation, None, False)
        every = "The one cell" if cells == 1 else f"All {cells} cells together"
        if self.threshold is not None:
            least = sparse_bound(n, cells, held, epsilon) if held < cells else None
            words = f" if the {held} cells that are held are all that are occupied"
            error = sparse_error(law, cells, held, self.threshold)
            return CountAccuracy(every, error, law.deviation, least, pure, words)
        best = histogram_bound(n, cells, epsilon) or None
        plain = None if pure else cells * GeometricLaw(2 * self.rows_each / epsilon).mean_error
        return CountAccuracy(every, cells * law.mean_error, law.deviation, best, pure, "", plain)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "privacy": self.privacy.to_dict(),
            "domain": self.domain.to_dict(),
            "noise": self.noise.to_dict(),
            "keys": None if self.keys is None else self.keys.tolist(),
            "values": self.values.tolist(),
            "threshold": self.threshold,
            "complete": self.complete,
            "rows_each": self.rows_each,
            "exact": None if self.exact is None else np.flatnonzero(self.exact).tolist(),
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        privacy = promise_from(top.part("privacy"))
        axes = Axes.from_dict(top.get("domain", dict))
        values = whole_numbers(top.get("values", list), "values")
        keys, given = top.optional("keys", list), top.optional("exact", list)
        threshold = top.optional("threshold", int)
        if threshold is not None and not 0 <= threshold < MOST_COUNT:
            raise ValueError("threshold must be a whole number >= 0")
        exact = None
        if given is not None:
            marks = whole_numbers(given, "exact")
            if np.any(marks < 0) or np.any(marks >= len(values)):
                raise ValueError("exact must be places of values")
            exact = np.zeros(len(values), dtype=bool)
            exact[marks] = True
        return cls(
            domain=axes,
            privacy=privacy,  # type: ignore[arg-type]
            noise=count_law_from_dict(top.get("noise", dict)),
            keys=None if keys is None else whole_numbers(keys, "keys"),
            values=values,
            threshold=threshold,
            complete=top.get("complete", bool),
            exact=exact,
            rows_each=rows_each(top),
        )

    def __repr__(self) -> str:
        held = f", {len(self.values)} held" if self.sparse else ""
        return (
            f"<HistogramRelease of {self.domain.cells} cells{held}, {self.domain.describe()}: "
            f"{self.privacy.short}" + (f"; {self.rows}>" if self.rows else ">")
        )

    def _single(self, what: str) -> Axis:
        if self.domain.dimension != 1:
            raise ValueError(f"{what}: only of a histogram of one column; this one has several")
        return self.domain.columns[0]

    def _where(self, question: tuple[Any, ...]) -> Mapping[str, Any]:
        if len(question) == 1 and isinstance(question[0], Mapping):
            return question[0]
        axis = self._single("questions without a column's name")
        if len(question) == 2:
            return {axis.name: tuple(question)}
        if len(question) == 1:
            return {axis.name: question[0]}
        raise ValueError('query needs (least, most), a value, or a condition such as {"age": (20, 40)}')


def _rising(keys: Ints, cells: int) -> bool:
    inside = not len(keys) or (keys[0] >= 0 and keys[-1] < cells)
    return bool(keys.ndim == 1 and inside and np.all(np.diff(keys) > 0))
