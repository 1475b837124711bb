"""A release: the public, immutable artifact.  Right of the door: never sees a record.

What every kind of release has: a domain, a promise, a file, a picture, and what it tells by itself.
A new kind is a subclass of `Release` and a line of `KINDS`.  Everything that treats all kinds alike
finds them there, by strings that are followed when a kind is needed: nothing that handles releases
names a kind, and loading one kind imports no other.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

from mercer.columns.domain import AnyDomain
from mercer.common.files import Fields, replace_text
from mercer.promise.statement import Statement
from mercer.releases.findings import Finding
from mercer.show.figure import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FORMAT",
    "KINDS",
    "VERSION",
    "Kind",
    "Release",
    "class_of",
    "found",
    "released",
    "text_of",
    "write",
]

FORMAT = "mercer-release"  # what a file calls itself
VERSION = 2


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
    "column": Kind(
        "column.release:ColumnRelease",
        "column.figure:draw",
        "column.words:ColumnWords",
        "column.words:column_findings",
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


@dataclass(frozen=True, eq=False, repr=False)
class Release(ABC):
    """Something anyone may evaluate, plot and keep for ever at no further cost."""

    domain: AnyDomain
    privacy: Statement

    kind: ClassVar[str]
    routes: ClassVar[tuple[str, ...]] = ()  # by which a live release answers from one of this kind

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All that the file holds."""

    @classmethod
    @abstractmethod
    def from_fields(cls, top: Fields) -> Self:
        """The release that `to_dict` wrote; ValueError says what is wrong."""

    def save(self, path: str | Path) -> Path:
        """Write the release as JSON; `mercer.load` reads it back to the last bit."""
        return write(self.to_dict(), Path(path))

    def findings(self) -> tuple[Finding, ...]:
        """What the release itself tells of the records: post-processing of its noisy numbers, free."""
        told: tuple[Finding, ...] = found(KINDS[self.kind].findings)(self)
        return told

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Draw the release with its band; returns the Matplotlib figure."""
        return picture(found(KINDS[self.kind].figure), self, path, **options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.domain.describe()}: {self.privacy.short}>"


def found(place: str) -> Callable[..., Any]:
    """The class or function at a place of the table; its module is imported now."""
    module, _, name = place.partition(":")
    part: Callable[..., Any] = getattr(import_module(f"mercer.releases.{module}"), name)
    return part


def class_of(kind: str) -> type[Release]:
    """The class of a kind of release, by the word that its file says."""
    named: Any = found(KINDS[kind].release)
    return cast(type[Release], named)


def released(data: object) -> Release | None:
    """The release that a caller gave in place of data, if it is one: public already."""
    return data if isinstance(data, Release) else None


def write(fields: dict[str, Any], path: Path) -> Path:
    """Write a release, all of it or nothing: a crash leaves the old file or the new one."""
    text = text_of(fields)
    try:
        replace_text(path, text + "\n", mode=0o644)
    except OSError as error:
        missing = not path.resolve().parent.is_dir()
        reason = f"there is no folder {str(path.parent)!r}" if missing else error.strerror
        raise OSError(
            error.errno,
            f"{reason}; the release is not lost: save it again to another place, at no cost",
            str(path),
        ) from None
    return path


def text_of(fields: dict[str, Any]) -> str:
    """All that the file of a release says."""
    return json.dumps({"format": FORMAT, "version": VERSION, **fields}, allow_nan=False, indent=1)
