"""Summaries f_D of records: how one row contributes and how far it can move f_D."""

from mercer.sensitive.summaries.base import Scores, Summary
from mercer.sensitive.summaries.density import DensitySummary, row_sensitivity
from mercer.sensitive.summaries.examples import Examples
from mercer.sensitive.summaries.machine import Machine, MachineBounds, MachineObjective, MachineSummary
from mercer.sensitive.summaries.scores import held_scores
from mercer.sensitive.summaries.tally import Tally, tally_rows
from mercer.sensitive.summaries.values import PointValues

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
