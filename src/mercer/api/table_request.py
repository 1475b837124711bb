"""How a synthetic table is made from noisy coordinates, or drawn whole.  M10, M12, M17.

Balog, Tolstikhin and Schoelkopf 2018; Sec. 3.4 for a table drawn whole, out of all tables of a tiny
domain, by the exponential mechanism: exact, to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.api.calls import Split, pure
from mercer.api.recipes.synthetic import TableRecipe
from mercer.common.checks import Floats
from mercer.door.publish import Payer, Purse, publish
from mercer.noise.laws import Law
from mercer.noise.mechanisms import Geometric
from mercer.noise.mechanisms.base import Promise
from mercer.noise.mechanisms.exponential import Exponential
from mercer.promise.events import replace_one
from mercer.promise.statement import Statement
from mercer.releases.findings import tell
from mercer.releases.synthetic.accuracy import NoisyShares
from mercer.releases.synthetic.embedding import LandmarkEmbedding, WaveEmbedding
from mercer.releases.synthetic.reduced.search import Space, reduce
from mercer.releases.synthetic.release import TableRelease
from mercer.releases.synthetic.weights import moved, placed
from mercer.sensitive.base import Scores
from mercer.sensitive.persons import public_n
from mercer.sensitive.rows import Records
from mercer.sensitive.summaries.embedding import (
    EmbeddingSummary,
    LandmarkFeatures,
    WaveFeatures,
    tally_records,
)
from mercer.sensitive.summaries.tables import (
    ColumnCounts,
    candidate_tables,
    count_columns,
    count_records,
    table_scores,
)
from mercer.spaces.landmarks import ColumnLaws, spread
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["TableRequest", "draw_laws", "draw_table"]

# no warning: after the charge, `python -W error` would make it an exception, and lose the release
_LEVEL = "; noise left nothing of the records: equal weights on public records"


@dataclass(frozen=True)
class TableRequest:
    """The arguments of a synthetic table, checked before any record is read."""

    recipe: TableRecipe
    promise: Promise
    split: Split | None

    @classmethod
    def of(cls, recipe: TableRecipe, promise: Promise, choice_share: object) -> TableRequest:
        split = None
        if recipe.follows:
            split = Split.of("private-scott", recipe.mechanism, promise, choice_share)
        return cls(recipe, promise, split)

    def release(self, records: Records, purse: Purse, polish: dict[str, Any]) -> TableRelease:
        """Read the records, charge, add noise, and weigh synthetic ones."""
        recipe, promise = self.recipe, self.promise
        payer: Payer = purse
        what = f"synthetic table of {', '.join(recipe.domain.names)}"
        laws, shares = None, None
        if self.split is not None:
            counts = count_columns(records)
            records.progress(lambda _rows: None)  # once is enough
            n = public_n(counts.rows, persons=counts.persons, unit=records.unit)
            self._check(counts, n)
            payer = self.split.pay(
                recipe.mechanism,
                purse,
                n=n,
                unit=records.unit or "row",
                what=what,
                chosen="landmarks and scales",
                by=f"laws of the columns, {Geometric().words}",
            )
            promise = self.split.noise
            laws, shares = draw_laws(counts, self.split.choice, payer)
        kernel, marks = recipe.record_kernel(laws), recipe.marks(laws)
        how, landmarks = recipe.features(kernel, marks)
        tally = tally_records(records, how)
        n = public_n(tally.rows, persons=tally.persons, unit=records.unit)
        seen = how
        if isinstance(how, LandmarkFeatures):
            seen = recipe.kept(how, n=n, epsilon=promise["epsilon"])
        summary = EmbeddingSummary(tally, n=n, unit=records.unit or "row", how=seen)

        def build(noisy: Floats, law: Law, statement: Statement) -> TableRelease:
            if isinstance(seen, LandmarkFeatures):
                made = self._weighed(kernel, seen, (landmarks, marks), noisy, law, statement)
            else:
                made = self._reduced(kernel, seen, laws, noisy, law, statement, polish)
            return replace(made, shares=shares)

        return tell(publish(summary, recipe.mechanism, build, payer, promise=promise, what=what))

    def _check(self, counts: ColumnCounts, n: int) -> None:
        """Raise errors of the promise before the charge, since the laws of the columns come after it."""
        assert self.split is not None
        Geometric().calibrate(counts.sensitivity("l1"), counts.size, epsilon=self.split.choice)
        size = self.recipe.waves + 1 if self.recipe.method == "features" else self.recipe.size
        moved = replace_one(2 / n, norm=self.recipe.mechanism.norm)
        self.recipe.mechanism.calibrate(moved, size, **self.split.noise)

    def _weighed(
        self,
        kernel: RecordKernel,
        how: LandmarkFeatures,
        places: tuple[Floats, Floats],
        noisy: Floats,
        law: Law,
        statement: Statement,
    ) -> TableRelease:
        recipe = self.recipe
        embedding = LandmarkEmbedding.of(noisy, how.span, law)
        landmarks, marks = places
        codes, weight = placed(
            embedding, kernel, landmarks, marks, recipe.style, recipe.bound, size=recipe.size
        )
        whole = recipe.domain.size is not None and recipe.domain.size <= recipe.size  # all there are
        if recipe.public is None and not whole and recipe.style in ("positive", "l1"):
            codes, weight = moved(
                embedding, kernel, landmarks, codes, weight, style=recipe.style, bound=recipe.bound
            )
        seen_through = None if codes is landmarks else landmarks
        records = (seen_through, codes, weight, recipe.style, recipe.bound)
        return TableRelease(recipe.domain, statement, kernel, recipe.method, embedding, *records)

    def _reduced(
        self,
        kernel: RecordKernel,
        how: WaveFeatures,
        laws: ColumnLaws | None,
        noisy: Floats,
        law: Law,
        statement: Statement,
        polish: dict[str, Any],
    ) -> TableRelease:
        recipe = self.recipe
        found = reduce(
            noisy,
            how.span.frequencies,
            _space(kernel, laws),
            size=recipe.size,
            weights=recipe.style,
            bound=recipe.bound,
            noise=float(law.deviations(len(noisy))[0]),
            **polish,
        )
        if found.level:
            statement = replace(statement, mechanism=statement.mechanism + _LEVEL)
        embedding = WaveEmbedding(noisy, law, how.span.frequencies)
        records = (None, found.codes, found.weights, recipe.style, recipe.bound)
        return TableRelease(recipe.domain, statement, kernel, recipe.method, embedding, *records)


def draw_laws(counts: ColumnCounts, epsilon: float, payer: Payer) -> tuple[ColumnLaws, NoisyShares]:
    """Release the laws of the columns, by two-sided geometric noise on all counts.  M12, M13.

    They say where landmarks belong and how long scales are; the shares of rows that they come from
    stay in the release, to compare the table with.
    """
    ends = np.cumsum([len(part) for part in counts.counts])[:-1]

    def build(noisy: Floats, law: Law, _statement: object) -> tuple[ColumnLaws, NoisyShares]:
        total = max(counts.n, 1) * counts.weight
        shares = NoisyShares(tuple(np.split(noisy / total, ends)), float(law.deviations(1)[0]) / total)
        return ColumnLaws.of(counts.domain, np.split(noisy, ends)), shares

    return publish(counts, Geometric(), build, payer, promise=pure(epsilon))


def draw_table(recipe: TableRecipe, records: Records, purse: Purse, *, epsilon: float) -> TableRelease:
    """Charge, then draw a table of `size` records with equal weights: pure differential privacy."""
    if records.unit is not None:
        raise ValueError("unit cannot be combined with method='exponential': it counts rows")
    if recipe.follows:
        raise ValueError("private laws of the columns cannot be combined with method='exponential'")
    kernel = recipe.record_kernel()
    cells, tables = candidate_tables(kernel, recipe.size)
    counts = count_records(records, cells)
    n = public_n(counts.rows)
    scores, moved = table_scores(kernel, counts, tables, n=n)

    def build(place: int, _law: object, statement: Statement) -> TableRelease:
        codes = np.repeat(cells, tables[place], axis=0)
        weight = np.full(recipe.size, 1 / recipe.size)
        return TableRelease(
            recipe.domain, statement, kernel, "exponential", None, None, codes, weight, "uniform", 1.0
        )

    what = f"synthetic table of {', '.join(recipe.domain.names)}"
    held = Scores(scores, moved, n=n, unit="row")
    return publish(held, Exponential(), build, purse, promise=pure(epsilon), what=what)


def _space(kernel: RecordKernel, laws: ColumnLaws | None) -> Space:
    """The space of synthetic records, in which a reduced set is searched for."""
    domain = kernel.domain
    free = [
        j for j, column in enumerate(domain.columns) if column.numeric and column.ends[0] < column.ends[1]
    ]
    ends = [domain.columns[j].ends for j in free]
    records = None if laws is None else laws.records
    return Space(
        embed=kernel.embed,
        draw=lambda n: spread(domain, n, label=2, records=records),
        snap=domain.snap,
        free=tuple(free),
        lower=tuple(low for low, _ in ends),
        upper=tuple(high for _, high in ends),
        slope=tuple(1 / kernel.scales[j] / (b - a) for j, (a, b) in zip(free, ends, strict=True)),
        place=tuple(domain.slices[j].start for j in free),
        step=tuple(0.0 if domain.columns[j].continuous else 1.0 for j in free),
    )
