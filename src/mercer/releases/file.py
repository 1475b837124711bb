"""The release file: JSON that anyone can read, checked field by field.

Loading executes nothing: bases and kernels are rebuilt from a table of names.  Numbers are
written with as many digits as give the same double back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from mercer.columns.domain import MAX_DIMENSION, MOST_COLUMNS, Domain
from mercer.common.disk import replace_text
from mercer.common.fields import Fields, numbers
from mercer.noise.laws import BinnedLaplace, Law, OrbitopeLaw, law_from_dict
from mercer.promise.statement import Statement
from mercer.promise.weaker import RandomStatement, random_statement_from
from mercer.releases.base import Release
from mercer.releases.counts.margin_storage import margins_from
from mercer.releases.counts.number import count_from
from mercer.releases.counts.statistic import statistic_from
from mercer.releases.counts.storage import histogram_from
from mercer.releases.curve.release import CurveRelease
from mercer.releases.density.release import DensityRelease
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.releases.synthetic.records import RecordsRelease
from mercer.releases.synthetic.release import TableRelease
from mercer.spaces.bases import Moments, basis_from_dict
from mercer.spaces.bases.base import covariance_of, matrix_of
from mercer.spaces.losses import loss_from_dict
from mercer.spaces.maps import map_from_dict
from mercer.spaces.modes import SpectralFilter
from mercer.spaces.polynomials import Polynomials

__all__ = ["FORMAT", "VERSION", "from_dict", "load", "statement_from", "text_of", "write"]

FORMAT = "mercer-release"
VERSION = 2
_LARGEST = 1 << 28  # bytes


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
    if kind not in _KINDS:
        raise ValueError(f"unknown kind {kind!r}; this version knows {', '.join(_KINDS)}")
    return _KINDS[kind](top)


def _domain(top: Fields, most: int = MAX_DIMENSION) -> Domain:
    fields = top.part("domain")
    names = fields.get("columns", list)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError("domain columns must be a list of names")
    box = Domain.of(fields.get("bounds", list), names, most=most)
    dates = fields.get("dates", list) if fields.has("dates") else []
    if not all(isinstance(name, str) and name in names for name in dates):
        raise ValueError("domain dates must be names of its columns")
    return replace(box, dates=tuple(dates))


def _density(top: Fields) -> Release:
    domain = _domain(top)
    basis = basis_from_dict(top.get("basis", dict))
    if basis.dimension != domain.dimension:
        raise ValueError("basis and domain differ in dimension")
    smoothing = top.part("smoothing")
    coordinates = top.get("coordinates", list)
    if len(coordinates) != basis.size:
        raise ValueError(f"coordinates have length {len(coordinates)}, the basis has {basis.size}")
    covariance = covariance_of(smoothing.get("covariance", list))
    if len(covariance) != domain.dimension:
        raise ValueError("smoothing and domain differ in dimension")
    law = law_from_dict(top.get("noise", dict))
    if law.moments and not (isinstance(basis, Moments) and _fits(law, basis)):
        raise ValueError(f"the noise law {law.name!r} does not fit the basis {basis.name!r}")
    return DensityRelease(
        domain=domain,
        basis=basis,
        coordinates=numbers(coordinates, "a coordinate"),  # type: ignore[arg-type]
        noise=law,
        privacy=Statement.from_fields(top.part("privacy")),
        covariance=covariance,
        choice=smoothing.get("choice", str),
        smoother=smoothing.get("kernel", str) if smoothing.has("kernel") else "gaussian",
        boundary=top.get("boundary", str),
    )


def _fits(law: Law, basis: Moments) -> bool:
    if isinstance(law, BinnedLaplace):
        return basis.real and basis.size <= law.cells
    return isinstance(law, OrbitopeLaw) and basis.real == law.real


def _machine(top: Fields) -> dict[str, Any]:
    """What classifiers and regressions share."""
    law, machine = law_from_dict(top.get("noise", dict)), top.part("machine")
    if law.moments:
        raise ValueError(f"the noise law {law.name!r} does not fit a machine")
    losses = tuple(loss_from_dict(loss) for loss in top.get("losses", list))
    return {
        "domain": _domain(top, most=MOST_COLUMNS),
        "privacy": Statement.from_fields(top.part("privacy")),
        "features": map_from_dict(top.get("features", dict)),
        "losses": losses,
        "coordinates": numbers(top.get("coordinates", list), "a coordinate"),
        "noise": law,
        "method": machine.get("method", str),
        "penalty": machine.positive("penalty"),
        "choice": machine.get("choice", str),
        "gap": machine.positive("gap"),
        "shrink": machine.get("shrink", bool),
    }


def _classifier(top: Fields) -> Release:
    classes = top.get("classes", list)
    if not all(isinstance(c, (str, bool, int, float)) for c in classes):
        raise ValueError("classes must be text or numbers")
    fields = _machine(top)
    if not all(loss.classes for loss in fields["losses"]):
        raise ValueError("the losses are not a classifier's")
    return ClassifierRelease(**fields, classes=tuple(classes), label=top.get("label", str))


def _regression(top: Fields) -> Release:
    pair = numbers(top.get("y_bounds", list), "y_bounds")
    fields = _machine(top)
    if len(pair) != 2 or any(loss.classes for loss in fields["losses"]):
        raise ValueError("y_bounds or losses are not a regression's")
    return RegressionRelease(**fields, response=top.get("response", str), y_bounds=(pair[0], pair[1]))


def _curve(top: Fields) -> Release:
    smoothing = top.part("filter")
    frame = top.get("frame", list | None)
    lists = {name: numbers(top.get(name, list), name) for name in ("coordinates", "center", "coefficients")}
    return CurveRelease(
        domain=_domain(top, most=2),
        privacy=Statement.from_fields(top.part("privacy")),
        polynomials=Polynomials.from_dict(top.get("functions", dict)),
        frame=None if frame is None else matrix_of(frame, "frame"),
        raw=lists["coordinates"],  # type: ignore[arg-type]
        law=law_from_dict(top.get("noise", dict)),
        order=top.get("order", str),
        noise_kernel=top.get("noise_kernel", str),
        smoothing=SpectralFilter.from_dict(top.get("filter", dict)),
        choice=smoothing.get("choice", str),
        bound=top.positive("bound"),
        center=lists["center"],  # type: ignore[arg-type]
        value=top.get("value", str),
        exact=lists["coefficients"],  # type: ignore[arg-type]
    )


def _histogram(top: Fields) -> Release:
    return histogram_from(top, _promise(top.part("privacy")))


def _count(top: Fields) -> Release:
    return count_from(top, _promise(top.part("privacy")))


def _statistic(top: Fields) -> Release:
    return statistic_from(top, random_statement_from(top.part("privacy")))


def _margins(top: Fields) -> Release:
    return margins_from(top, Statement.from_fields(top.part("privacy")))


_KINDS: dict[str, Callable[[Fields], Release]] = {
    "density": _density,
    "classifier": _classifier,
    "regression": _regression,
    "mean-curve": _curve,
    "synthetic-table": TableRelease.from_fields,
    "synthetic-records": RecordsRelease.from_fields,
    "histogram": _histogram,
    "count": _count,
    "margins": _margins,
    "statistic": _statistic,
}


def statement_from(fields: object) -> Statement:
    """A statement from what its `to_dict` wrote."""
    return Statement.from_fields(Fields(fields, "the statement"))


def _promise(fields: Fields) -> Statement | RandomStatement:
    """Differential privacy, or the weaker promise that a field names (M14)."""
    return random_statement_from(fields) if fields.has("promise") else Statement.from_fields(fields)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of a release")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "a field has the wrong type"
