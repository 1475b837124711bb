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


KINDS = {  # the word that a file says
    "density": Kind("density.release:DensityRelease"),
    "classifier": Kind("machine.kinds:ClassifierRelease"),
    "regression": Kind("machine.kinds:RegressionRelease"),
    "mean-curve": Kind("curve.release:CurveRelease"),
    "synthetic-table": Kind("synthetic.release:TableRelease"),
    "synthetic-records": Kind("synthetic.records:RecordsRelease"),
    "histogram": Kind("counts.histogram:HistogramRelease"),
    "count": Kind("counts.number:CountRelease"),
    "margins": Kind("counts.margins:MarginsRelease"),
    "statistic": Kind("counts.number:StatisticRelease"),
}


def found(place: str) -> Any:
    """What stands at a place of the table; its module is imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"mercer.releases.{module}"), name)
