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
    words: str  # what is said of it: a subclass of Words
    findings: str  # what it tells of the records by itself: a function of the release
    predicts: bool = False  # new rows, with `mercer predict`; its live release needs no budget
    served: bool = False  # by the service


KINDS = {  # the word that a file says
    "density": Kind(
        "density.release:DensityRelease",
        "density.figure:draw",
        "density.words:DensityWords",
        "density.findings:density_findings",
        served=True,
    ),
    "classifier": Kind(
        "machine.kinds:ClassifierRelease",
        "machine.figure:draw",
        "machine.words:ClassifierWords",
        "machine.findings:machine_findings",
        predicts=True,
    ),
    "regression": Kind(
        "machine.kinds:RegressionRelease",
        "machine.figure:draw",
        "machine.words:RegressionWords",
        "machine.findings:machine_findings",
        predicts=True,
    ),
    "mean-curve": Kind(
        "curve.release:CurveRelease",
        "curve.figure:draw",
        "curve.words:CurveWords",
        "curve.findings:curve_findings",
    ),
    "synthetic-table": Kind(
        "synthetic.release:TableRelease",
        "synthetic.figure:draw",
        "synthetic.words:TableWords",
        "synthetic.findings:table_findings",
    ),
    "synthetic-records": Kind(
        "synthetic.records:RecordsRelease",
        "synthetic.figure:no_picture",
        "synthetic.words:RecordsWords",
        "synthetic.findings:record_findings",
    ),
    "histogram": Kind(
        "counts.histogram:HistogramRelease",
        "counts.figure:draw_cells",
        "counts.words:HistogramWords",
        "counts.findings:cell_findings",
    ),
    "count": Kind(
        "counts.number:CountRelease",
        "counts.figure:draw_number",
        "counts.words:CountWords",
        "counts.findings:count_findings",
    ),
    "margins": Kind(
        "counts.margins:MarginsRelease",
        "counts.figure:draw_cells",
        "counts.words:MarginsWords",
        "counts.findings:margin_findings",
    ),
    "statistic": Kind(
        "counts.number:StatisticRelease",
        "counts.figure:draw_number",
        "counts.words:StatisticWords",
        "findings:nothing_to_tell",
    ),
}


def found(place: str) -> Any:
    """What stands at a place of the table; its module is imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"mercer.releases.{module}"), name)
