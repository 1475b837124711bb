"""Laws of the columns of a table for a share of the budget.  M12, M13.

They tell where landmarks belong and how long scales are.  The caller has charged.
"""

from __future__ import annotations

import numpy as np

from mercer.noise.entropy import Entropy
from mercer.noise.mechanisms import Geometric
from mercer.sensitive.summaries.column_counts import ColumnCounts
from mercer.spaces.landmarks import ColumnLaws

__all__ = ["draw_laws"]


def draw_laws(counts: ColumnCounts, *, epsilon: float, entropy: Entropy) -> ColumnLaws:
    """Two-sided geometric noise on all counts: pure differential privacy."""
    whole = np.concatenate(counts.counts).astype(float)
    sensitivity = counts.sensitivity()
    noise = Geometric().calibrate(sensitivity, len(whole), epsilon=epsilon)
    entropy.witness("counts", whole, sensitivity)
    noisy = noise.add(whole, entropy)
    ends = np.cumsum([len(part) for part in counts.counts])[:-1]
    return ColumnLaws.of(counts.domain, np.split(noisy, ends))
