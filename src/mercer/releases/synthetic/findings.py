"""What synthetic tables and records tell of the records: see `mercer.releases.findings`.  M10, M18.

A mean of feature vectors of norm at most one has a norm that the noisy coordinates tell.
"""

from __future__ import annotations

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.noise.laws import Normal
from mercer.releases.findings import Finding, about, fit_finding, hidden, reach
from mercer.releases.synthetic.embedding import LandmarkEmbedding, NoisyEmbedding
from mercer.releases.synthetic.records import RecordsRelease
from mercer.releases.synthetic.release import TableRelease

__all__ = ["record_findings", "table_findings"]

_PLACES = 512  # points of a domain that stand for all
_PART = 0.2  # of one: a function that falls below this somewhere counts records badly
_EDGE = 0.05  # of a column's width, next to a bound
_UNFIT = (
    "the promise is too strong for so few records, or they do not fit the domain: are the columns "
    "in its format and unit, and their levels written as in the data?"
)


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
    normal = isinstance(embedding.noise, Normal)
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
