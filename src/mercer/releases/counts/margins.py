"""Released margins of a table.  Right of the door: never sees a record.  M13, M15.

Noisy whole counts of several sets of columns, released together.  They are made to agree with
each other, without negative counts, when they are first asked for; the noisy counts stay in the
release.  docs/proofs/margins.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from mercer.columns.cells import Axes
from mercer.common.checks import Floats, Ints, check_level
from mercer.common.files import Fields
from mercer.noise.count_laws import CountLaw, RoundedNormalLaw, count_law_from_dict
from mercer.noise.lower_bounds import margins_bound
from mercer.promise.statement import Statement
from mercer.releases.counts.asked import Asked, CountAnswer
from mercer.releases.counts.cells import CellsRelease, Margin, best_in_words, rows_each, whole_numbers, within
from mercer.releases.counts.margin_fit import MarginFit
from mercer.releases.counts.margin_parts import MOST_CELLS

__all__ = ["MarginsAccuracy", "MarginsRelease"]

_LEAST = 1e-12  # variance of noise that is all but none
_LISTED = 20  # margins that an error names


@dataclass(frozen=True)
class MarginsAccuracy:
    """Expected sum over cells of the absolute error of each margin."""

    margins: tuple[tuple[str, ...], ...]
    raw: tuple[float, ...]  # of the noisy counts
    unbiased: tuple[float, ...]  # of the best unbiased estimate from all of them together
    best: float | None  # of one-way margins: no pure release has less in all, on its worst data
    pure: bool

    @property
    def error(self) -> float:
        """Of all margins together, after they are used together."""
        return sum(self.unbiased)

    @property
    def ratio(self) -> float | None:
        """How many times the best possible this is, at most."""
        return None if not self.best else self.error / self.best

    def __str__(self) -> str:
        many = len(self.margins)
        best = None if self.best is None else self.best / many
        return (
            f"{many} margins: the absolute errors of one margin's counts add up to "
            f"{self.error / many:.4g} expected, {sum(self.raw) / many:.4g} before the margins are "
            f"used together.{best_in_words(best, self.ratio, pure=self.pure)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields, their sum and the ratio, for JSON."""
        return asdict(self) | {"error": self.error, "ratio": self.ratio}


@dataclass(frozen=True, eq=False, repr=False)
class MarginsRelease(CellsRelease):
    """Counts of several sets of columns that anyone may ask and keep for ever."""

    sets: tuple[tuple[int, ...], ...]  # places of the columns of each margin, rising
    raw: tuple[Ints, ...]  # noisy counts as they came out, an axis for each column
    noise: CountLaw  # of every count
    single: tuple[bool, ...] = ()  # margins of two cells where one is what the other leaves of n

    kind = "margins"

    def __post_init__(self) -> None:
        places = range(self.domain.dimension)
        if not self.sets or len(set(self.sets)) < len(self.sets):
            raise ValueError("sets must be one or more different margins")
        for chosen in self.sets:
            if list(chosen) != sorted(set(chosen)) or not set(chosen) <= set(places):
                raise ValueError("sets must be rising places of columns of the table")
        shapes = [tuple(self.domain.sizes[place] for place in chosen) for chosen in self.sets]
        fixed = tuple(np.array(counts, dtype=np.int64) for counts in self.raw)
        if [counts.shape for counts in fixed] != shapes:
            raise ValueError("raw must be counts of each margin, in the shape of its columns")
        for counts in fixed:
            counts.setflags(write=False)
        object.__setattr__(self, "raw", fixed)
        single = self.single or (False,) * len(fixed)
        object.__setattr__(self, "single", single)
        if self.complete and self.rows_each != 1:
            raise ValueError("complete records are one row each")
        if len(single) != len(fixed) or (any(single) and not self.complete):
            raise ValueError("single must be one for each margin, of complete records")
        for counts, alone in zip(fixed, single, strict=True):
            if alone and (counts.size != 2 or int(counts.sum()) != self.n):
                raise ValueError("a margin with a single noisy count must have two, of sum n")

    @property
    def margins(self) -> tuple[tuple[str, ...], ...]:
        """Names of the columns of each margin."""
        return tuple(tuple(self.domain.names[place] for place in chosen) for chosen in self.sets)

    @cached_property
    def fit(self) -> MarginFit:
        """All margins together; see `mercer.releases.counts.margin_fit`."""
        one = max(self.noise.variance, _LEAST)
        variances = [2 * one if alone else one for alone in self.single]  # proof, section 2
        raw = [counts.astype(np.float64) for counts in self.raw]
        total = float(self.n) if self.complete else None
        return MarginFit.of(self.domain.sizes, self.sets, raw, variances, total)

    def margin(self, *names: str, level: float = 0.95, simultaneous: bool = False) -> Margin:
        """Counts of columns that are together in a released margin, with an interval for each.

        Counts are not negative and agree with those of all other margins.  Each interval covers
        the true count with this probability, as in `query`; with `simultaneous=True` all of them
        together do (a union bound: what is left out is shared evenly among the cells).
        """
        check_level(level)
        return self._margin(names, level, math.prod(self._sizes(names)) if simultaneous else 1)

    def _sizes(self, names: Iterable[str]) -> list[int]:
        return [self.domain.columns[self.domain.index(name)].size for name in names]

    def _margin(self, names: Sequence[str], level: float, among: int) -> Margin:
        """A margin whose intervals are those of so many that hold together."""
        places = [self.domain.index(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise ValueError("margin needs the names of one or more different columns")
        self._check_together(places)
        corner = [np.eye(1, self.domain.sizes[place])[0] for place in places]
        counts, middle = self.fit.margin(places), self.fit.unbiased(places)
        ends = self._ends(counts, middle, self._width(places, corner, 1 - (1 - level) / among))
        return Margin(self.domain.only(places), counts, *ends, level, among > 1)

    def one_way(self, *, level: float = 0.95, simultaneous: bool = False) -> dict[str, Margin]:
        """The margin of every column that is in a released one.

        With `simultaneous=True` the intervals of all cells of all of them hold together.
        """
        check_level(level)
        held = set().union(*self.sets)
        names = [name for place, name in enumerate(self.domain.names) if place in held]
        among = sum(self._sizes(names)) if simultaneous else 1
        return {name: self._margin([name], level, among) for name in names}

    def query(self, where: Mapping[str, Any], *, level: float = 0.95) -> CountAnswer:
        """How many records fulfil a condition: `query({"age": (20, 40), "sex": "f"})`.

        Of numbers in bins 20 <= x < 40; of integers and dates both ends count.  The estimate agrees
        with `margin`; a bin that is cut counts by its width in it.  The interval is for the records:
        from the least to the most that the bins that are cut allow, and noise, of which it has the
        exact variance in the best unbiased answer; its level is by the normal law, widened as for
        a sum of few noises where few counts decide.  The answer's `note` names the nearest ends
        that cut no bin.
        """
        check_level(level)
        asked = Asked.of(self.domain, where)
        places = [k for k, one in enumerate(asked.along) if one is not None]
        self._check_together(places)
        least, share, most = (
            [vector for vector in vectors if vector is not None]
            for vectors in (asked.least, asked.shares, asked.most)
        )
        estimate = self.fit.answer(places, share)[1]
        low = self.fit.answer(places, least)[0] - self._width(places, least, level)
        high = self.fit.answer(places, most)[0] + self._width(places, most, level)
        return CountAnswer.of(within(estimate, low, high, self.most, level), asked)

    def terms(self, places: Sequence[int], shares: Sequence[Floats]) -> float:
        """How many equal noises have a sum as near to a normal as that in an answer, at least."""
        found = self.fit.terms(places, shares)
        return max(found / 2 if any(self.single) else found, 1.0)  # a pair of cells has one noise

    @cached_property
    def accuracy(self) -> MarginsAccuracy:
        """Expected error due to privacy of every margin."""
        fit, law, normal = self.fit, self.noise, math.sqrt(2 / math.pi)
        alone = law.mean_error / law.deviation if law.deviation else 0.0
        raw, unbiased = [], []
        for chosen in fit.sets:
            cells = math.prod(fit.sizes[place] for place in chosen)
            corner = [np.eye(1, fit.sizes[place])[0] for place in chosen]
            # E|.| over the deviation lies between that of one noise and a normal's
            ratio = normal + (alone - normal) / self.terms(chosen, corner)
            raw.append(law.mean_error * cells)
            unbiased.append(ratio * cells * fit.cell_deviation(chosen))
        pure, best = self.privacy.delta == 0, _best_margins(fit, self.privacy)
        return MarginsAccuracy(self.margins, tuple(raw), tuple(unbiased), best, pure)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "privacy": self.privacy.to_dict(),
            "domain": self.domain.to_dict(),
            "noise": self.noise.to_dict(),
            "sets": [list(chosen) for chosen in self.sets],
            "values": [counts.reshape(-1).tolist() for counts in self.raw],
            "single": list(self.single),
            "complete": self.complete,
            "rows_each": self.rows_each,
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        privacy, axes = Statement.from_fields(top.part("privacy")), Axes.from_dict(top.get("domain", dict))
        sets = tuple(_places(chosen, axes.dimension) for chosen in top.get("sets", list))
        values = top.get("values", list)
        if len(values) != len(sets):
            raise ValueError("values must be one list for each of the sets")
        shapes = [tuple(axes.sizes[place] for place in chosen) for chosen in sets]
        if sum(max(math.prod(shape), 2 ** len(shape)) for shape in shapes) > MOST_CELLS:
            raise ValueError(f"margins must have at most {MOST_CELLS} cells together")
        raw = []
        for counts, shape in zip(values, shapes, strict=True):
            if not isinstance(counts, list) or len(counts) != math.prod(shape):
                raise ValueError("values must be one count for each cell of a margin")
            raw.append(whole_numbers(counts, "values").reshape(shape))
        single = tuple(top.get("single", list))
        if len(single) != len(sets) or not all(isinstance(alone, bool) for alone in single):
            raise ValueError("single must be true or false for each of the sets")
        each = rows_each(top)
        return cls(
            domain=axes,
            privacy=privacy,
            sets=sets,
            raw=tuple(raw),
            noise=count_law_from_dict(top.get("noise", dict)),
            single=single,
            complete=top.get("complete", bool),
            rows_each=each,
        )

    def __repr__(self) -> str:
        cells = sum(counts.size for counts in self.raw)
        return (
            f"<MarginsRelease of {len(self.sets)} margins, {cells} cells, "
            f"{self.domain.describe()}: {self.privacy.short}" + (f"; {self.rows}>" if self.rows else ">")
        )

    def _width(self, places: list[int], shares: list[Floats], level: float) -> float:
        """Half width of an interval for the noise in an answer, and half a step of the lattice.

        Without it intervals of noise of the order of one cover too little.
        """
        spread = self.fit.deviation(places, shares)
        step = math.prod(float(np.max(share)) for share in shares) if spread else 0.0
        ratio = float(ndtri((1 + level) / 2))
        terms = math.floor(min(self.terms(places, shares), 1e4))
        normal = isinstance(self.noise, RoundedNormalLaw) and self.noise.scale > 2
        if self.noise.deviation and terms < 1e4 and not normal:
            sum_of = self.noise.half_width(terms, level)
            ratio = max(ratio, sum_of / (self.noise.deviation * math.sqrt(terms)))
        return ratio * spread + (step / 2 if self.noise.deviation else 0.0)

    def _ends(self, counts: Floats, middle: Floats, width: float) -> tuple[Floats, Floats]:
        """Around the unbiased estimate, within what a count can be; the count is between them."""
        low = np.clip(middle - width, 0, self.most)
        high = np.clip(middle + width, 0, self.most)
        return np.minimum(low, counts), np.maximum(high, counts)

    def _check_together(self, places: list[int]) -> None:
        if not self.fit.covers(places):
            asked = ", ".join(repr(self.domain.names[place]) for place in places)
            there = "; ".join(", ".join(names) or "the total" for names in self.margins[:_LISTED])
            more = f"; and {len(self.sets) - _LISTED} more" if len(self.sets) > _LISTED else ""
            raise ValueError(
                f"the columns {asked} are not together in any released margin; there are {there}"
                f"{more}; ask about columns of one of them"
            )


def _places(chosen: Any, dimension: int) -> tuple[int, ...]:
    if not isinstance(chosen, list) or len(chosen) > dimension:
        raise ValueError("sets must be lists of places of columns")
    places = whole_numbers(chosen, "sets")
    if any(not 0 <= place < dimension for place in places.tolist()):
        raise ValueError("sets must be lists of places of columns")
    return tuple(places.tolist())


def _best_margins(fit: MarginFit, privacy: Statement) -> float | None:
    """The least error of one-way margins, where records are in two cells of each column.

    Half of the first count's error and of the second's is at least that of a count of ones, made
    from both and n: so both together have twice the bound for counts of ones.
    """
    wide = sum(fit.sizes[chosen[0]] > 1 for chosen in fit.sets if chosen)
    if any(len(chosen) != 1 for chosen in fit.sets) or not 1 <= wide <= 10_000:
        return None
    return 2 * margins_bound(privacy.n, wide, privacy.epsilon)
