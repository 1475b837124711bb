"""Summaries f_D of records: how one row contributes and how far it can move f_D."""

from mercer.sensitive.base import Scores, Summary
from mercer.sensitive.summaries.curvature import CurvatureCells, curvature_bound
from mercer.sensitive.summaries.density import DensitySummary, PointValues, row_sensitivity
from mercer.sensitive.summaries.machine import (
    Machine,
    MachineBounds,
    MachineObjective,
    MachineSummary,
    held_scores,
)
from mercer.sensitive.summaries.risk import Examples
from mercer.sensitive.summaries.tally import Tally, tally_rows

__all__ = [
    "CurvatureCells",
    "DensitySummary",
    "Examples",
    "Machine",
    "MachineBounds",
    "MachineObjective",
    "MachineSummary",
    "PointValues",
    "Scores",
    "Summary",
    "Tally",
    "curvature_bound",
    "held_scores",
    "row_sensitivity",
    "tally_rows",
]
