"""Summaries f_D of records: how one row contributes and how far it can move f_D."""

from mercer.sensitive.base import Scores, Summary
from mercer.sensitive.summaries.density import DensitySummary, PointValues, Tally, row_sensitivity, tally_rows
from mercer.sensitive.summaries.machine import (
    Machine,
    MachineBounds,
    MachineObjective,
    MachineSummary,
    held_scores,
)
from mercer.sensitive.summaries.risk import Examples

__all__ = [
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
    "held_scores",
    "row_sensitivity",
    "tally_rows",
]
