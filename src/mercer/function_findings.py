"""What curves, machines and synthetic tables tell: see `mercer.findings`.  Layer 4.  M8-M10, M18.

A mean of curves of norm at most one, or of records of norm one, has a norm that the noisy
coordinates tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mercer.checks import Floats
from mercer.findings import Finding, about, fit_finding, hidden, reach
from mercer.laws import Normal
from mercer.noisy_embeddings import LandmarkEmbedding, NoisyEmbedding

if TYPE_CHECKING:
    from mercer.curves import CurveRelease
    from mercer.machines import MachineRelease
    from mercer.record_releases import RecordsRelease
    from mercer.table_releases import TableRelease

__all__ = ["curve_findings", "machine_findings", "record_findings", "table_findings"]

_FULL = 0.95  # norm of a mean, in bounds: its curves have that much or more on average
_NOISE = 0.05  # of a coordinate, in bounds, without which "flat" is no fault of the noise
_EDGE = 0.02  # of a column's width, next to a bound
_DRY = "the promise is too strong for so few records, or they hold no numbers"


def curve_findings(release: CurveRelease) -> tuple[Finding, ...]:
    """Whether the mean is as large as the bound lets it be, or nothing but noise."""
    if release.order == "paper":
        return ()  # its coordinates are those of the smoothed curve
    sd = float(release.law.deviations(release.raw.size)[0])
    around = "public centre" if release.center.any() else "zero"
    if hidden(release.raw / sd):
        if sd <= _NOISE:
            return ()
        return (
            Finding(
                "flat", f"the mean of {release.value} cannot be told from the {around}: {_DRY}"
            ),
        )
    square, noise = _squared_norm(release.raw, sd)
    least = square - reach(normal=isinstance(release.law, Normal)) * noise
    if least < _FULL**2 or square > 1.5:
        return ()
    size = min(math.sqrt(square), 1.0) * release.bound
    apart = " around the centre" if release.center.any() else ""
    return (
        Finding(
            "clipped",
            f"the mean of {release.value} has a root mean square{apart} of about {size:.3g}, and "
            f"no curve can have more than the bound, {release.bound:g}, to which larger ones are "
            "scaled down: so are most, it seems; is the bound in the unit of the values?",
        ),
    )


def machine_findings(release: MachineRelease) -> tuple[Finding, ...]:
    """Whether the functions can be told from zero."""
    sd = float(release.noise.deviations(release.coordinates.size)[0])
    parts = release.coordinates.reshape(len(release.losses), -1) / sd
    if release.method != "output" or not all(hidden(part) for part in parts):
        return ()  # of noise in the objective a bound alone is known
    what = "function" if len(parts) == 1 else "functions"
    return (Finding("flat", f"the {what} learnt cannot be told from zero: {_DRY}"),)


def record_findings(release: RecordsRelease) -> tuple[Finding, ...]:
    """Of records under a kernel of the caller's: whether anything is left of them."""
    if release.kernel is None:
        return ()
    return _nothing(release.embedding)


def table_findings(release: TableRelease) -> tuple[Finding, ...]:
    """Whether records fit the domain, whether anything is left of them, and piles at bounds."""
    embedding = release.embedding
    if embedding is None:
        return ()
    if isinstance(embedding, LandmarkEmbedding):
        found = _fit(embedding, isinstance(embedding.law, Normal))
        if found:
            return found
    return _nothing(embedding) or _piles(release)


def _fit(embedding: LandmarkEmbedding, normal: bool) -> tuple[Finding, ...]:
    """The share of records that fit: a function that is nearly one at all landmarks, averaged."""
    ones = embedding.span.coordinates(np.ones(len(embedding.gram)))
    values = embedding.span.eigenvalues
    for penalty in (1e-1, 1e-2, 1e-3, 1e-4):  # the least noise with which it is one nearly
        function = ones * values / (values + penalty * values[0])
        heights = embedding.values(function)
        if heights.min() >= 0.97 and heights.max() <= 1.03:
            break
    else:
        return ()
    value = float(function @ embedding.noisy)
    sd = embedding.deviation * float(np.linalg.norm(function))
    return fit_finding(
        value, reach(normal=normal) * sd + 0.05, "fit the domain",
        "are the columns in the domain's format and unit, and their levels written as in the data?",
        otherwise="the others miss a value, or hold one that is not in the domain",
    )  # fmt: skip


def _nothing(embedding: NoisyEmbedding) -> tuple[Finding, ...]:
    if not hidden(embedding.noisy / embedding.deviation):
        return ()
    return (Finding("flat", f"the table cannot be told from none at all: {_DRY}"),)


def _piles(release: TableRelease) -> tuple[Finding, ...]:
    """Columns of numbers of which most of the table's weight lies next to a bound."""
    found = []
    for place, column in enumerate(release.domain.columns):
        if not column.numeric or (column.levels_count or 100) < 50:
            continue
        low, high = column.ends
        unit = (release.codes[:, place] - low) / (high - low)
        for name, near in (("lower", unit), ("upper", 1 - unit)):
            held = float(release.positive[near <= _EDGE].sum())
            if held > 0.8:
                found.append(
                    Finding(
                        "bound",
                        f"{column.name}: {about(held, 0.2)} are next to the {name} bound; values "
                        "beyond the bounds are moved there: are the bounds in the column's unit?",
                    )
                )
    return tuple(found)


def _squared_norm(raw: Floats, sd: float) -> tuple[float, float]:
    """Of the mean without noise: an unbiased estimate, and its standard deviation."""
    square = max(float(np.sum(raw**2)) - raw.size * sd**2, 0.0)
    return square, math.sqrt(2 * raw.size * sd**4 + 4 * max(square, sd**2) * sd**2)
