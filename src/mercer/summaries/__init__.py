"""Summaries f_D of records: how one row contributes and how far it can move f_D.  Layer 2."""

from mercer.summaries.base import Summary
from mercer.summaries.density import DensitySummary, row_sensitivity
from mercer.summaries.examples import Examples
from mercer.summaries.machine import Machine, MachineBounds, MachineSummary
from mercer.summaries.scores import held_scores
from mercer.summaries.tally import Tally, tally_rows
from mercer.summaries.values import PointValues

__all__ = [
    "DensitySummary",
    "Examples",
    "Machine",
    "MachineBounds",
    "MachineSummary",
    "PointValues",
    "Summary",
    "Tally",
    "held_scores",
    "row_sensitivity",
    "tally_rows",
]
