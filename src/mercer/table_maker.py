"""How a synthetic table is made: read, charge, add noise, weigh.  Layer 6.  M10, M12, M17."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.bandwidths import Split
from mercer.checks import Floats
from mercer.column_spreads import draw_spreads
from mercer.laws import Law
from mercer.mechanisms.base import Promise, check_promise
from mercer.noisy_embeddings import LandmarkEmbedding, WaveEmbedding
from mercer.publish import Purse, publish
from mercer.record_data import Records
from mercer.record_kernels import RecordKernel
from mercer.statements import Statement
from mercer.summaries.column_counts import count_columns
from mercer.summaries.embedding import (
    EmbeddingSummary,
    Landmarks,
    Waves,
    tally_records,
)
from mercer.table_recipes import TableRecipe
from mercer.table_releases import TableRelease
from mercer.weights_of import placed

__all__ = ["Asked"]


@dataclass(frozen=True)
class Asked:
    """What was asked for, checked before any record is read."""

    recipe: TableRecipe
    promise: Promise
    split: Split | None

    @classmethod
    def of(
        cls, recipe: TableRecipe, *, epsilon: object, delta: object, choice_share: object
    ) -> Asked:
        promise = check_promise(recipe.mechanism, epsilon, delta)
        split = None
        if recipe.private:
            split = Split.of("private-scott", recipe.mechanism, promise, choice_share)
        return cls(recipe, promise, split)

    def release(
        self, records: Records, purse: Purse, progress: Callable[[int], None] | None,
        polish: dict[str, Any],
    ) -> TableRelease:  # fmt: skip
        """Read, charge, add noise, weigh."""
        recipe, promise, paid = self.recipe, self.promise, None
        what = f"synthetic table of {', '.join(recipe.domain.names)}"
        if progress is not None:
            records.progress(progress)
        spreads = None
        if self.split is not None:
            counts = count_columns(records)
            n = _known(counts.persons if records.unit else counts.rows)
            paid = self.split.spend(
                recipe.mechanism, purse, n=n, unit=records.unit or "row", what=what, chosen="scales"
            )
            promise = self.split.noise
            spreads = draw_spreads(counts, n=n, epsilon=self.split.choice, entropy=purse.entropy)
        kernel = recipe.record_kernel(spreads)
        how, landmarks = recipe.features(kernel)
        tally = tally_records(records, how)
        n = _known(tally.persons if records.unit else tally.rows)
        seen = how
        if isinstance(how, Landmarks):
            seen = recipe.kept(how, n=n, epsilon=promise["epsilon"])
        summary = EmbeddingSummary(tally, n=n, unit=records.unit or "row", how=seen)

        def build(noisy: Floats, law: Law, statement: Statement) -> TableRelease:
            if isinstance(seen, Landmarks):
                return self._weighed(kernel, seen, landmarks, noisy, law, statement)
            return self._reduced(kernel, seen, noisy, law, statement, polish)

        return publish(
            summary, recipe.mechanism, build, purse, promise=promise, what=what, paid=paid
        )

    def _weighed(
        self, kernel: RecordKernel, how: Landmarks, landmarks: Floats, noisy: Floats, law: Law,
        statement: Statement,
    ) -> TableRelease:  # fmt: skip
        recipe = self.recipe
        embedding = LandmarkEmbedding.of(noisy, how.span, law)
        codes, weight = placed(
            embedding, kernel, landmarks, recipe.marks, recipe.style, recipe.bound,
            size=recipe.size,
        )  # fmt: skip
        return TableRelease(
            recipe.domain, statement, kernel, recipe.method, embedding,
            None if codes is landmarks else landmarks, codes, weight, recipe.style, recipe.bound,
        )  # fmt: skip

    def _reduced(
        self, kernel: RecordKernel, how: Waves, noisy: Floats, law: Law, statement: Statement,
        polish: dict[str, Any],
    ) -> TableRelease:  # fmt: skip
        from mercer.reduced_sets import reduce, space_of

        recipe = self.recipe
        found = reduce(
            noisy, how.span.frequencies, space_of(kernel), size=recipe.size, weights=recipe.style,
            bound=recipe.bound, **polish,
        )  # fmt: skip
        embedding = WaveEmbedding(noisy, law, how.span.frequencies)
        return TableRelease(
            recipe.domain, statement, kernel, recipe.method, embedding, None, found.codes,
            found.weights, recipe.style, recipe.bound,
        )  # fmt: skip


def _known(n: int) -> int:
    if n < 2:
        raise ValueError(f"table must have at least 2 records, got {n}; nothing was spent")
    return n
