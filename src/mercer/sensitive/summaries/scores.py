"""How well public functions do on rows that nobody learnt from.  Left of the door.  M12.

A row adds between nothing and one to the score of each candidate, whatever it holds, in whole
numbers: so one row moves a score by at most one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.common.checks import Floats
from mercer.promise.events import Sensitivity
from mercer.sensitive.summaries.examples import ExampleBatch, Examples
from mercer.sensitive.summaries.newton import Machine
from mercer.spaces.maps import FeatureMap

__all__ = ["UNIT", "held_scores"]

UNIT = 1 << 20  # a row that is predicted rightly


def held_scores(
    examples: Examples, features: FeatureMap, machines: Sequence[Machine], weights: Sequence[Floats]
) -> tuple[list[int], Sensitivity]:
    """Sum over the rows of each candidate's score, and how far a row can move it.

    A classifier scores UNIT for the right class, a regression UNIT less the share of the largest
    error.  Rows that do not fit score nothing (M18).
    """
    examples.on(features)
    classes = machines[0].wanted is not None

    def work(piece: ExampleBatch) -> list[int]:
        out = []
        for w in weights:
            f = piece.phi @ w.T
            if classes:
                place = (f[:, 0] > 0) if len(machines) == 1 else np.argmax(f, axis=1)
                share = (place == piece.target).astype(float)
            else:
                off = np.stack(
                    [
                        m.loss.jet(np.clip(f[:, k], -1, 1), piece.target).value / _most(m)
                        for k, m in enumerate(machines)
                    ]
                )
                share = 1 - np.clip(off.mean(axis=0), 0.0, 1.0)
            whole = np.rint(share * UNIT).astype(np.int64) * (piece.weight > 0)
            out.append(int(whole.sum()))
        return out

    totals = [0] * len(weights)
    for part in examples.fold(work):
        totals = [total + more for total, more in zip(totals, part, strict=True)]
    return totals, Sensitivity(float(UNIT), norm="score")


def _most(machine: Machine) -> float:
    """The largest loss between targets and predictions in [-1, 1]."""
    ends = np.array([-1.0, 1.0])
    return float(max(machine.loss.jet(ends, -ends).value))
