"""The public choices of a synthetic table, checked before any record is read.  M10.

And what the table will be, before anything is spent: from public choices alone, where the number of
records is not known yet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.api.calls import Split
from mercer.columns.kinds import Column
from mercer.columns.table import Domain, domain_given
from mercer.common.checks import Floats, check_choice, check_count, check_positive
from mercer.noise.mechanisms import L2, Gaussian, Geometric, Mechanism
from mercer.noise.mechanisms.base import check_promise
from mercer.releases.synthetic.accuracy import UNCHECKED, counts_noise
from mercer.releases.synthetic.release import METHODS, MOST_POINTS
from mercer.releases.synthetic.weights import STYLES
from mercer.sensitive.summaries.embedding import LandmarkFeatures, WaveFeatures
from mercer.sensitive.summaries.kernel_sums import kernel_error
from mercer.sources.arrays import own_codes
from mercer.spaces.kernels import KERNELS
from mercer.spaces.landmarks import ColumnLaws, drawn, spread
from mercer.spaces.record_kernels import MOST_LANDMARKS, MOST_WAVES, LandmarkSpan, RecordKernel, WaveSpan

__all__ = ["TablePlan", "TableRecipe", "plan_table"]

SIZES = {"landmarks": 1000, "features": 200, "exponential": 4}
WAVES = 2000
_MEMORY = 1 << 32  # bytes of a Gram matrix with what is made of it


@dataclass(frozen=True)
class TableRecipe:
    """The public choices of a table: its records, how they are seen, how they are weighed."""

    domain: Domain
    method: str
    kernel: str
    scale: object  # "auto", "private", a number, or numbers by column
    size: int
    waves: int
    style: str
    bound: float
    public: Floats | None  # codes of public records
    drawn: bool  # they come from a public distribution, not from people
    laws: bool  # landmarks follow private laws of the columns, whatever the scales
    mechanism: Mechanism

    @classmethod
    def of(
        cls,
        domain: object,
        method: object,
        kernel: object,
        scale: object,
        size: object,
        features: object,
        weights: object,
        bound: object,
        public: object,
        *,
        pure: bool,
    ) -> TableRecipe:
        space = domain_given(domain)
        how = check_choice("method", method, METHODS)
        name = check_choice("kernel", kernel, tuple(KERNELS))
        style = check_choice("weights", weights, STYLES)
        radius = check_positive("bound", bound, "of the sum of absolute weights: 1 or more")
        if radius < 1:
            raise ValueError(f"bound must be at least 1 (Balog et al., Theorem 11), got {radius:g}")
        if features is not None and how != "features":
            raise ValueError("features is the number of random features of method='features'")
        if public is not None and how != "landmarks":
            raise ValueError(f"public gives landmarks, and method={how!r} has none; use method='landmarks'")
        many, waves = SIZES[how], WAVES
        if size is not None:
            many = check_count("size", size, least=1, most=MOST_POINTS[how], hint="synthetic records")
        if features is not None:
            hint = "cosines and sines, in pairs"
            waves = check_count("features", features, least=2, most=MOST_WAVES, hint=hint)
        if 40 * many**2 + 400 * waves > _MEMORY:
            raise ValueError(f"size = {many} would need {40 * many**2 / 2**30:.1f} GiB; use a smaller one")
        laws = isinstance(public, str) and check_choice("public", public, ("laws",)) == "laws"
        given = None if laws else public
        marks, from_law = _public(given, space, many if size is not None else None)
        most = len(marks) if marks is not None else many
        noise = L2() if pure else Gaussian()
        recipe = cls(space, how, name, scale, most, waves, style, radius, marks, from_law, laws, noise)
        if not recipe.private:
            recipe.record_kernel()
        return recipe

    @property
    def private(self) -> bool:
        """Whether scales, and landmarks, follow the columns' laws, for a share of the budget."""
        if not isinstance(self.scale, str) or self.method == "exponential":
            return False
        return self.scale == "private" or (self.scale == "auto" and self.public is None)

    @property
    def follows(self) -> bool:
        """Whether the laws of the columns are released first, for a share of the budget."""
        return self.private or self.laws

    def record_kernel(self, laws: ColumnLaws | None = None) -> RecordKernel:
        """The kernel on records; `laws` are the laws of the columns, where they are known.

        The public rule: two records drawn at random have, on average, -log k = log(size), evenly
        shared by the columns; more would leave landmarks alone in the domain.  Records drawn at
        random are those of the columns' laws, the public rows, or spread over the domain.
        """
        scale = self.scale
        if isinstance(scale, str):
            check_choice("scale", scale, ("auto", "private", "public"))
            each = max(math.log(max(self.size, 3)), 1.0) / self.domain.dimension
            scales = [self._rule(j, column, each, laws) for j, column in enumerate(self.domain.columns)]
        elif isinstance(scale, Mapping):
            unknown = [name for name in scale if name not in self.domain.names]
            if unknown:
                raise ValueError(f"scale: there is no column {unknown[0]!r} in the domain")
            left = [name for name in self.domain.names if name not in scale]
            if left:
                raise ValueError(f"scale is missing for the column {left[0]!r}")
            scales = [_given(column, scale[column.name]) for column in self.domain.columns]
        else:
            number = check_positive("scale", scale, "a share of the width of every numeric column")
            scales = [number if column.numeric else 1.0 for column in self.domain.columns]
        return RecordKernel(self.domain, self.kernel, tuple(scales))

    def _rule(self, place: int, column: Column, each: float, laws: ColumnLaws | None) -> float:
        if column.numeric:
            deviation = 1 / math.sqrt(12)
            if laws is not None:
                deviation = laws.deviation(place)
            elif self.public is not None and not self.drawn:
                deviation = float(np.std(column.embed(self.public[:, place])))
            return min(max(deviation, 0.01) / math.sqrt(each), 10.0)
        levels = column.levels_count or 2
        differ = 1 - 1 / max(levels, 2)
        if laws is not None:
            differ = max(laws.differ(place), 0.1)
        elif self.public is not None and not self.drawn:
            shares = np.unique(self.public[:, place], return_counts=True)[1] / len(self.public)
            differ = max(1 - float(np.sum(shares**2)), 0.1)
        return min(max(each / differ, 0.05), 20.0)

    def kept(self, how: LandmarkFeatures, *, n: int, epsilon: float) -> LandmarkFeatures:
        """Coordinates that are released: all, or few where noise grows with their number.

        Pure noise on r coordinates has the expected square r (r + 1) (sqrt2 / (n epsilon))^2.  What
        is left out of a mean embedding is taken for a tenth of what is left out of a record.
        """
        if not self.mechanism.pure:
            return how
        values = how.span.eigenvalues / how.span.points
        left = np.sum(values) - np.cumsum(values)
        r = np.arange(1, len(values) + 1)
        most = int(np.argmin(2 * r * (r + 1) / (n * epsilon) ** 2 + left / 10)) + 1
        return how.first(most)

    def marks(self, laws: ColumnLaws | None = None) -> Floats:
        """Public records that may be landmarks, and synthetic records."""
        if self.public is not None:
            return self.public
        law = None if laws is None else laws.records
        return spread(self.domain, self.size, records=law)

    def features(self, kernel: RecordKernel, marks: Floats) -> tuple[LandmarkFeatures | WaveFeatures, Floats]:
        """The feature map of records, and the codes of the landmarks that are used."""
        if self.method == "features":
            waves = WaveFeatures(kernel, WaveSpan(kernel.frequencies((self.waves + 1) // 2)))
            return waves, np.zeros((0, self.domain.dimension))
        u = kernel.embed(marks)
        span, used = LandmarkSpan.of(kernel.between(u, u), kernel_error(kernel))
        landmarks = marks if len(used) == len(u) else marks[used]
        return LandmarkFeatures(kernel, np.ascontiguousarray(u[used]), span), landmarks


@dataclass(frozen=True)
class TablePlan:
    """The records, the kernel and the noise of a table that is to be made: from public choices."""

    domain: Domain
    method: str
    size: int  # synthetic records, at most
    coordinates: int  # noisy ones, at most; 0 for a table drawn whole
    style: str
    kernel: str | None  # in words; None: its scales take a part of the budget
    epsilon: float
    delta: float
    counts_noise: float  # n times that of noisy shares to compare the table with; 0 without any

    def accuracy(self, *sizes: int) -> str:
        """How far shares of rows will be off, in words, with so many records."""
        if not self.counts_noise:
            return UNCHECKED
        examples = ", ".join(f"{self.counts_noise / n:.2g} with {n}" for n in sizes)
        return (
            "how far a share of one column is off is measured when the table is made, noise and smoothing "
            f"together: compared with noisy counts of the columns, themselves off by {examples} records"
        )

    def rows(self) -> list[tuple[str, str]]:
        """What will be released, in words: a heading and a sentence each."""
        many = "up to " if self.method == "landmarks" else ""
        delta = f", delta = {self.delta:g}" if self.delta else ", pure"
        noise = "none: one of all tables of so many records is drawn"
        if self.coordinates:
            fewer = "" if self.delta else "; fewer are released where that is better"
            noise = f"in {many}{self.coordinates} coordinates{fewer}"
        return [
            ("columns", self.domain.describe(6)),
            ("records", f"{many}{self.size} synthetic ones, weights: {self.style}"),
            ("kernel", self.kernel or "its scales follow the laws of the columns, for a part of the budget"),
            ("promise", f"epsilon = {self.epsilon:g}{delta}, for each record"),
            ("noise", noise),
            ("accuracy", self.accuracy(1_000, 10_000, 100_000)),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The numbers of the plan as fields of JSON."""
        return {
            "method": self.method,
            "size": self.size,
            "coordinates": self.coordinates,
            "weights": self.style,
            "kernel": self.kernel,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "counts_noise_times_n": self.counts_noise or None,
        }


def plan_table(
    chosen: Mapping[str, Any], *, epsilon: float | None, delta: float | None, choice_share: float
) -> TablePlan:
    """Check all public choices and plan a table; `chosen` are the arguments of `TableRecipe.of`."""
    recipe = TableRecipe.of(**chosen)
    promise = check_promise(recipe.mechanism, epsilon, delta)
    whole = recipe.method == "exponential"
    counts = 0.0
    if recipe.follows and not whole:
        choice = Split.of("private-scott", recipe.mechanism, promise, choice_share).choice
        between = 2 * recipe.domain.dimension  # counts that a record changes
        counts = counts_noise(recipe.domain, Geometric().multiplier(1, epsilon=choice / between, delta=0.0))
    waves = recipe.method == "features"
    many = 0 if whole else 2 * ((recipe.waves + 1) // 2) if waves else recipe.size
    return TablePlan(
        recipe.domain,
        recipe.method,
        recipe.size,
        many,
        "uniform" if whole else recipe.style,
        None if recipe.private else recipe.record_kernel().words,
        promise["epsilon"],
        0.0 if whole else promise["delta"],
        counts,
    )


def _public(public: Any, domain: Domain, size: int | None) -> tuple[Floats | None, bool]:
    """Codes of public records, and whether they were drawn from a law."""
    if public is None:
        return None, False
    law = callable(public)
    rows = drawn(domain, public, size or SIZES["landmarks"]) if law else public
    try:
        codes = own_codes(rows, domain)
    except (ValueError, TypeError) as error:
        raise type(error)(f"public {error}") from None
    if size is not None:
        if len(codes) < size:
            raise ValueError(f"size must be at most the number of public rows, {len(codes)}; got {size}")
        codes = codes[:size]
    if len(codes) > MOST_LANDMARKS:
        raise ValueError(
            f"public must be at most {MOST_LANDMARKS} rows, got {len(codes)}; give size=…, and the "
            "first of them are used"
        )
    return codes, law


def _given(column: Column, value: Any) -> float:
    """A scale in the units of a column, as a share of its width."""
    number = check_positive(f"scale of {column.name!r}", value, "in the units of the column")
    if not column.numeric:
        return number
    lower, upper = column.ends
    return number / (upper - lower if upper > lower else 1.0)
