"""What curves, machines and synthetic tables tell: see `mercer.releases.findings`.  M8-M10, M18.

A mean of curves of norm at most one, or of records of norm one, has a norm that the noisy
coordinates tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.noise.laws import Normal
from mercer.releases.findings import Finding, about, fit_finding, hidden, reach
from mercer.releases.synthetic.embedding import LandmarkEmbedding, NoisyEmbedding

if TYPE_CHECKING:
    from mercer.releases.curve.release import CurveRelease
    from mercer.releases.machine.release import MachineRelease
    from mercer.releases.synthetic.records import RecordsRelease
    from mercer.releases.synthetic.release import TableRelease

__all__ = ["curve_findings", "machine_findings", "record_findings", "table_findings"]

_FULL = 0.95  # norm of a mean, in bounds: its curves have that much or more on average
_NOISE = 0.05  # of a coordinate, in bounds, without which "flat" is no fault of the noise
_QUIET = 0.2  # of the bound on a weight's variance: less noise is a sign of records
_PLACES = 512  # points of a domain that stand for all
_PART = 0.2  # of one: a function that falls below this somewhere counts records badly
_EDGE = 0.05  # of a column's width, next to a bound
_DRY = "the promise is too strong for so few records, or they hold no numbers"
_UNFIT = (
    "the promise is too strong for so few records, or they do not fit the domain: are the columns "
    "in its format and unit, and their levels written as in the data?"
)


def curve_findings(release: CurveRelease) -> tuple[Finding, ...]:
    """Whether the mean is as large as the bound lets it be, or nothing but noise."""
    if release.order == "paper":
        return ()  # its coordinates are those of the smoothed curve
    sd = float(release.law.deviations(release.raw.size)[0])
    around = "the public centre" if release.center.any() else "zero"
    if hidden(release.raw / sd):
        if sd <= _NOISE:
            return ()
        return (Finding("flat", f"the mean of {release.value} cannot be told from {around}: {_DRY}"),)
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
    blind = hidden if release.method == "output" else _even
    if not all(blind(part) for part in parts):
        return ()
    what = "function" if len(parts) == 1 else "functions"
    return (Finding("flat", f"the {what} learnt cannot be told from zero: {_DRY}"),)


def _even(ratios: Floats) -> bool:
    """Whether the weights look like those of noise in an objective that records do not enter.

    Its size in the weights is known as a bound alone.  Without records all weights are alike and
    as large as the bound; records raise the first, and lower the noise of all.
    """
    from scipy.stats import f

    half = ratios.size // 2
    if half < 2:
        return hidden(ratios)
    noise = float(np.mean(ratios[half:] ** 2))
    sizes = sorted({min(4, half), min(16, half)})
    alike = all(
        float(np.mean(ratios[:size] ** 2)) <= noise * f.ppf(0.99, size, ratios.size - half) for size in sizes
    )
    return alike and noise > _QUIET


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
        found = _fit(release, embedding)
        if found:
            return found
    return _nothing(embedding) or _piles(release)


def _fit(release: TableRelease, embedding: LandmarkEmbedding) -> tuple[Finding, ...]:
    """The share of records that fit: the mean of a function that is nearly one in the domain."""
    landmarks = release.codes if release.landmarks is None else release.landmarks
    between = release.kernel(_places(release), landmarks)
    normal = isinstance(embedding.law, Normal)
    ones = embedding.span.coordinates(np.ones(len(embedding.gram)))
    values = embedding.span.eigenvalues
    best = None
    for penalty in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):  # the less noise, the less nearly one
        function = ones * values / (values + penalty * values[0])
        least = float(np.min(between @ embedding.span.weights(function)))
        far = reach(normal=normal) * embedding.deviation * float(np.linalg.norm(function))
        if least > _PART and (best is None or far / least < best[1] / best[2]):
            best = float(function @ embedding.noisy), far, least
    if best is None:
        return ()
    value, far, least = best  # records that fit have this height or more, the others none
    width = (value + far) / least - value
    return fit_finding(
        value,
        width,
        "fit the domain",
        "are the columns in the domain's format and unit, and their levels written as in the data?",
        otherwise="the others miss a value, or hold one that is not in the domain",
    )


def _places(release: TableRelease) -> Floats:
    """Public points of the domain: its corners, its faces and its inside."""
    draws = streams.simulation(3).random((_PLACES, 2, release.domain.dimension))
    share = np.where(draws[:, 0] < 0.5, np.rint(draws[:, 1]), draws[:, 1])
    ends = np.array([column.ends for column in release.domain.columns])
    inside = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    return np.concatenate([release.domain.snap(inside), release.codes])


def _nothing(embedding: NoisyEmbedding) -> tuple[Finding, ...]:
    if not hidden(embedding.noisy / embedding.deviation):
        return ()
    return (Finding("flat", f"the table cannot be told from none at all: {_UNFIT}"),)


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
