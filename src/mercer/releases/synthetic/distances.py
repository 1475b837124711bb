"""How far a synthetic table is from the records, and from rows of one's own.  M10, M15.

The parts of the error: Balog, Tolstikhin and Schoelkopf 2018, equations (18) and (23), distances in
the kernel's space between the distribution, the records, their projection, the noisy one, and the
table.

The two-sample test, Gretton et al. 2012, against released noisy coordinates.  Under the hypothesis
that own rows and records have one distribution, the difference of their mean features is normal,
nearly, with covariance S (1/rows + 1/n) + noise; S is estimated from the rows and from the synthetic
records, half each: rows where nobody else is vary in no direction that would tell.  The statistic is
the squared length of the difference with every eigendirection of S weighted by its share of signal,
s / (s + noise): directions of noise alone do not count.  Its law is that of a weighted sum of
squares, by simulation with a public stream (the spectrum method of Gretton et al. 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.releases.synthetic.embedding import NoisyEmbedding
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["TableAccuracy", "TwoSample", "two_sample_test"]

_RUNS = 20_000
MOST_ROWS = 50_000


@dataclass(frozen=True)
class TableAccuracy:
    """Distances in the kernel's space, where a single record has length one.  All are public."""

    sampling: float  # of the records to their distribution, expected
    projection: float  # of a record to the subspace, root mean square: of synthetic records, or
    # anywhere in the domain where those are the landmarks themselves
    privacy: float  # of what is released to the records' projection, estimated after shrinking
    noise: float  # the same before shrinking, expected
    reduced: float  # of the table to what was released
    coordinates: int
    points: int

    def __str__(self) -> str:
        return (
            "Distances in the kernel's space (a record has length 1): sampling "
            f"{self.sampling:.2g}, privacy {self.privacy:.2g} ({self.noise:.2g} before shrinking), "
            f"the table's own {self.reduced:.2g}; a record is {self.projection:.2g} from what "
            f"{self.coordinates} coordinates can tell. {self.points} records."
        )

    @classmethod
    def of(
        cls,
        embedding: NoisyEmbedding | None,
        kernel: RecordKernel,
        marks: Floats,
        codes: Floats,
        weights: Floats,
        *,
        n: int,
    ) -> Self:
        """All parts that are public, or follow from the release alone."""
        if embedding is None:
            return cls(1 / math.sqrt(n), 0.0, math.nan, math.nan, 0.0, 0, len(codes))
        target = embedding.target
        length = min(float(np.dot(target, target)), 1.0)
        return cls(
            sampling=math.sqrt((1 - length) / n),
            projection=embedding.unseen(kernel, codes, marks),
            privacy=math.sqrt(embedding.risk),
            noise=embedding.raw_error,
            reduced=float(np.linalg.norm(embedding.mean(kernel, codes, marks, weights) - target)),
            coordinates=embedding.size,
            points=len(codes),
        )


@dataclass(frozen=True)
class TwoSample:
    """Of the hypothesis that own rows come from the distribution of the records."""

    statistic: float
    p_value: float
    mmd: float  # distance of the means, squared bias of the noise taken off
    rows: int

    def __str__(self) -> str:
        return (
            f"p = {self.p_value:.3g} for the hypothesis that the {self.rows} rows come from the "
            f"same distribution (distance {self.mmd:.3g})"
        )


def two_sample_test(
    embedding: NoisyEmbedding, phi: Floats, synthetic: Floats, weights: Floats, *, n: int
) -> TwoSample:
    """Test own rows, given by their coordinates, beside those of the synthetic records."""
    rows = len(phi)
    if not 8 <= rows <= MOST_ROWS:
        raise ValueError(f"rows must be 8 to {MOST_ROWS}, got {rows}; thin them")
    mean = phi.mean(axis=0)
    gap = embedding.noisy - mean
    middle = weights @ synthetic
    pooled = np.concatenate(
        [(phi - mean) / math.sqrt(2 * (rows - 1)), (synthetic - middle) * np.sqrt(weights / 2)[:, None]]
    )
    spread, turned = _spectrum(pooled, gap)
    share, noise = 1 / rows + 1 / n, embedding.deviation**2
    variance = spread * share + noise
    weight = spread * share / variance
    statistic = float(np.sum(weight * turned**2))
    rng = streams.simulation(41)
    null = np.zeros(_RUNS)
    for start in range(0, len(weight), 64):
        part = slice(start, start + 64)
        null += rng.standard_normal((_RUNS, len(weight[part]))) ** 2 @ (weight * variance)[part]
    p = (1 + int(np.sum(null >= statistic))) / (_RUNS + 1)
    expected = float(np.sum(spread)) / rows + noise * embedding.size
    distance = max(float(np.dot(gap, gap)) - expected, 0.0) ** 0.5
    return TwoSample(statistic, p, distance, rows)


def _spectrum(roots: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of roots' roots, a covariance, and the gap in its eigenvectors."""
    rows, size = roots.shape
    if rows >= size:
        values, vectors = np.linalg.eigh(roots.T @ roots)
        keep = values > 1e-9 * values[-1]
        return values[keep], vectors[:, keep].T @ gap
    values, left = np.linalg.eigh(roots @ roots.T)
    keep = values > 1e-9 * values[-1]
    values, left = values[keep], left[:, keep]
    return values, (roots.T @ left / np.sqrt(values)).T @ gap
