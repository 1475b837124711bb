"""A release, the public, immutable artifact, and its file.  Right of the door: never sees a record.

What every kind of release has: a domain, a promise, a file, a picture, and what it tells by itself.
A new kind is a subclass of `Release` and a line of `KINDS`.  Everything that treats all kinds alike
finds them there, by strings that are followed when a kind is needed: nothing that handles releases
names a kind, and loading one kind imports no other.

The file is JSON that anyone can read.  Loading checks it field by field and executes nothing: bases and
kernels are rebuilt from a table of names.  Numbers are written with as many digits as give the same
double back.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Self, cast

import numpy as np

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
    "Interval",
    "Kind",
    "Release",
    "class_of",
    "found",
    "freeze",
    "from_dict",
    "load",
    "released",
    "statement_from",
    "text_of",
    "write",
]

FORMAT = "mercer-release"  # what a file calls itself
VERSION = 2
_LARGEST = 1 << 28  # bytes


class Kind(NamedTuple):
    """Where the parts of a kind are: "module:name", below `mercer.releases`."""

    release: str  # the subclass of Release
    figure: str  # what draws it: a function of the release, its level, a title and options
    words: str  # what is said of it: a subclass of Words
    findings: str  # what it tells of the records by itself: a function of the release
    predicts: bool = False  # new rows, with `mercer predict`; its live release needs no budget
    served: bool = False  # by the service


def _kind(release: str, draw: str, words: str, findings: str, **marks: bool) -> Kind:
    """The parts of a kind: its picture and what is said of it are in the folder of its release."""
    folder = release.partition(".")[0]
    return Kind(
        release, f"{folder}.figure:{draw}", f"{folder}.words:{words}", f"{folder}.{findings}", **marks
    )


KINDS = {  # the word that a file says
    "density": _kind(
        "density.release:DensityRelease", "draw", "DensityWords", "words:density_findings", served=True
    ),
    "column": _kind("column.release:ColumnRelease", "draw", "ColumnWords", "words:column_findings"),
    "classifier": _kind(
        "machine.kinds:ClassifierRelease", "draw", "ClassifierWords", "words:machine_findings", predicts=True
    ),
    "regression": _kind(
        "machine.kinds:RegressionRelease", "draw", "RegressionWords", "words:machine_findings", predicts=True
    ),
    "mean-curve": _kind("curve.release:CurveRelease", "draw", "CurveWords", "words:curve_findings"),
    "synthetic-table": _kind("synthetic.release:TableRelease", "draw", "TableWords", "words:table_findings"),
    "synthetic-records": _kind(
        "synthetic.records:RecordsRelease", "no_picture", "RecordsWords", "words:record_findings"
    ),
    "histogram": _kind(
        "counts.histogram:HistogramRelease", "draw_cells", "HistogramWords", "findings:cell_findings"
    ),
    "count": _kind("counts.number:CountRelease", "draw_number", "CountWords", "findings:count_findings"),
    "margins": _kind(
        "counts.margins:MarginsRelease", "draw_cells", "MarginsWords", "findings:margin_findings"
    ),
    "statistic": _kind(
        "counts.number:StatisticRelease", "draw_number", "StatisticWords", "findings:statistic_findings"
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


class Interval(NamedTuple):
    """An estimate with the ends of an interval for the noise of privacy."""

    estimate: float
    lower: float
    upper: float
    level: float

    @property
    def value(self) -> float:
        """The estimate: of a functional of a curve, its value at the released curve."""
        return self.estimate


def freeze(release: object, *names: str, dtype: type = float) -> None:
    """Replace arrays by copies of this type that nobody can change; a field that is None stays."""
    for name in names:
        value = getattr(release, name)
        if value is not None:
            fixed: np.ndarray = np.array(value, dtype=dtype)
            fixed.setflags(write=False)
            object.__setattr__(release, name, fixed)


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


def load(path: str | Path) -> Release:
    """Read a release file; any damage is a ValueError that says what is wrong."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no release file {str(path)!r}")
    if path.suffix == ".db":
        raise ValueError(f"{path.name} is a live store; ask it: mercer ask {path} --at X")
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path.name}: larger than any release ({_LARGEST >> 20} MiB)")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError(f"{path.name} is not a release file: it is truncated, damaged or not JSON") from None
    try:
        return from_dict(fields)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"{path.name} is not a valid release: {_reason(error)}") from None


def from_dict(fields: object) -> Release:
    """Rebuild a release from the fields of its file."""
    top = Fields(fields, "the file")
    if top.get("format", str) != FORMAT:
        raise ValueError(f"it does not call itself {FORMAT!r}")
    version = top.get("version", int)
    if version > VERSION:
        raise ValueError(
            f"it was written by a newer version (format {version}, this library reads "
            f"{VERSION}); upgrade mercer"
        )
    if version < 1:
        raise ValueError(f"its format version {version} does not exist")
    kind = top.get("kind", str)
    if kind == "quantiles":
        raise ValueError("it holds quantiles, which are numbers to read as they stand in the file")
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; this version knows {', '.join(KINDS)}")
    return class_of(kind).from_fields(top)


def statement_from(fields: object) -> Statement:
    """A statement from what its `to_dict` wrote."""
    return Statement.from_fields(Fields(fields, "the statement"))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of a release")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "a field has the wrong type"
