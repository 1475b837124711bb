"""The kinds of releases: what a new one adds a line to.

Everything that treats all kinds alike finds them here, by strings that are followed when a kind is
needed: nothing that handles releases names a kind, and loading one kind imports no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["KINDS", "Kind", "found"]


class Kind(NamedTuple):
    """Where the parts of a kind are: "module:name", below `mercer.releases`."""

    release: str  # the subclass of Release
    figure: str  # what draws it: a function of the release, its level, a title and options


KINDS = {  # the word that a file says
    "density": Kind("density.release:DensityRelease", "density.figure:draw"),
    "classifier": Kind("machine.kinds:ClassifierRelease", "machine.figure:draw"),
    "regression": Kind("machine.kinds:RegressionRelease", "machine.figure:draw"),
    "mean-curve": Kind("curve.release:CurveRelease", "curve.figure:draw"),
    "synthetic-table": Kind("synthetic.release:TableRelease", "synthetic.figure:draw"),
    "synthetic-records": Kind("synthetic.records:RecordsRelease", "synthetic.figure:no_picture"),
    "histogram": Kind("counts.histogram:HistogramRelease", "counts.figure:draw_cells"),
    "count": Kind("counts.number:CountRelease", "counts.figure:draw_number"),
    "margins": Kind("counts.margins:MarginsRelease", "counts.figure:draw_cells"),
    "statistic": Kind("counts.number:StatisticRelease", "counts.figure:draw_number"),
}


def found(place: str) -> Any:
    """What stands at a place of the table; its module is imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"mercer.releases.{module}"), name)
