"""Standard deviations of the numeric columns of a table, for a share of the budget.  Layer 5.

M12: the interquartile range of each from two private quartiles, over that of a normal law.
"""

from __future__ import annotations

from mercer.draws import draw_spread, part
from mercer.entropy import Entropy
from mercer.summaries.column_counts import ColumnCounts

__all__ = ["draw_spreads"]

_NORMAL = 1.349
_NARROWEST = 0.01


def draw_spreads(
    counts: ColumnCounts, *, n: int, epsilon: float, entropy: Entropy
) -> dict[str, float]:
    """As shares of the columns' widths; epsilon is split evenly, and has been charged."""
    share = part(epsilon, max(len(counts.names), 1))
    return {
        name: max(draw_spread(counts.of(i), 0, n, share, entropy) / _NORMAL, _NARROWEST)  # type: ignore[arg-type]
        for i, name in enumerate(counts.names)
    }
