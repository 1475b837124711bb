"""Summaries f_D of records: how one row contributes and how far it can move f_D.  Layer 2."""

from mercer.summaries.base import Summary
from mercer.summaries.density import DensitySummary
from mercer.summaries.tally import Tally, tally_rows

__all__ = ["DensitySummary", "Summary", "Tally", "tally_rows"]
