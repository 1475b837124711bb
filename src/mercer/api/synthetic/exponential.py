"""A table drawn whole, out of all tables of a tiny domain.  M10, M12.

Balog, Tolstikhin and Schoelkopf 2018, Sec. 3.4: the exponential mechanism, exact, to compare with.
"""

from __future__ import annotations

import numpy as np

from mercer.api.shares import pure
from mercer.api.synthetic.recipe import TableRecipe
from mercer.door.publish import Purse, publish
from mercer.noise.mechanisms.exponential import Exponential
from mercer.promise.statement import Statement
from mercer.releases.synthetic.release import TableRelease
from mercer.sensitive.rows import Records
from mercer.sensitive.summaries.base import Scores
from mercer.sensitive.summaries.small_tables import candidate_tables, count_records, table_scores

__all__ = ["draw_table"]


def draw_table(recipe: TableRecipe, records: Records, purse: Purse, *, epsilon: float) -> TableRelease:
    """Charge, then draw a table of `size` records with equal weights: pure differential privacy."""
    if records.unit is not None:
        raise ValueError("unit cannot be combined with method='exponential': it counts rows")
    if recipe.follows:
        raise ValueError("private laws of the columns cannot be combined with method='exponential'")
    kernel = recipe.record_kernel()
    cells, tables = candidate_tables(kernel, recipe.size)
    counts = count_records(records, cells)
    if counts.rows < 2:
        raise ValueError(f"table must have 2 records or more, got {counts.rows}; nothing was spent")
    scores, moved = table_scores(kernel, counts, tables, n=counts.rows)

    def build(place: int, _law: object, statement: Statement) -> TableRelease:
        codes = np.repeat(cells, tables[place], axis=0)
        weight = np.full(recipe.size, 1 / recipe.size)
        return TableRelease(
            recipe.domain, statement, kernel, "exponential", None, None, codes, weight, "uniform", 1.0
        )

    what = f"synthetic table of {', '.join(recipe.domain.names)}"
    held = Scores(scores, moved, n=counts.rows, unit="row")
    return publish(held, Exponential(), build, purse, promise=pure(epsilon), what=what)
