"""Ways to a histogram of 4096 cells under one promise, for `histograms.py`: ours and the peers'.

A method is given the true counts, epsilon (replace-one) and a seed, and gives counts back; what
is measured are errors of sums over ranges.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.fft import dct, idct

import mercer
from mercer.common.streams import simulation
from mercer.releases.counts.smoothing import best_counts, nonnegative_counts
from studies.peers.diffprivlib import peer_module
from studies.shared.report import Floats

__all__ = ["MEASURES", "METHODS", "OWN", "RANGES", "range_errors"]

RANGES = 2000
SHORT = 64  # cells of a short range
MEASURES = ("mean", "root mean square", "worst prefix", f"at most {SHORT} cells")


def range_errors(found: Floats, counts: Floats) -> Floats:
    """MEASURES of one release: over random ranges, prefixes, and short ranges."""
    rng, size = simulation(26), counts.size
    error = np.concatenate([[0.0], np.cumsum(found - counts)])
    pairs = np.sort(rng.integers(0, size + 1, (RANGES, 2)), axis=1)
    short = rng.integers(1, SHORT + 1, RANGES)
    start = rng.integers(0, size + 1 - short)
    long_ones = error[pairs[:, 1]] - error[pairs[:, 0]]
    return np.array(
        [
            np.mean(np.abs(long_ones)),
            np.sqrt(np.mean(long_ones**2)),
            np.max(np.abs(error)),
            np.mean(np.abs(error[start + short] - error[start])),
        ]
    )


@cache
def _release(key: tuple[bytes, float, int, bool]) -> Any:
    data, epsilon, seed, sparse = key
    counts = np.frombuffer(data)
    rows = pd.DataFrame({"cell": np.arange(counts.size) + 0.5, "count": counts.astype(np.int64)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.PrivacyWarning)
        return mercer.histogram(
            rows,
            columns="cell",
            counts="count",
            bins=counts.size,
            bounds=(0, counts.size),
            epsilon=epsilon,
            sparse=sparse,
            missing="drop",
            insist=True,
            rng=seed,
        )


def release(counts: Floats, epsilon: float, seed: int, *, sparse: bool = False) -> Any:
    """Mercer's histogram; one for all the ways to read it."""
    if _release.cache_info().currsize > 8:
        _release.cache_clear()
    return _release((counts.astype(float).tobytes(), epsilon, seed, sparse))


def raw(counts: Floats, epsilon: float, seed: int) -> Floats:
    return np.asarray(release(counts, epsilon, seed).raw, dtype=float)


def totalled(counts: Floats, epsilon: float, seed: int) -> Floats:
    """The noisy counts, all moved by the same so that they sum to n."""
    noisy = raw(counts, epsilon, seed)
    return noisy + (np.sum(counts) - np.sum(noisy)) / noisy.size


def best(counts: Floats, epsilon: float, seed: int) -> Floats:
    found = release(counts, epsilon, seed)
    return best_counts(found.raw, found.noise.variance, found.n)


def nearest(counts: Floats, epsilon: float, seed: int) -> Floats:
    return nonnegative_counts(raw(counts, epsilon, seed), float(np.sum(counts)))


def sparse(counts: Floats, epsilon: float, seed: int) -> Floats:
    return np.asarray(release(counts, epsilon, seed, sparse=True).counts, dtype=float)


def haar(counts: Floats, epsilon: float, seed: int) -> Floats:
    """Haar coefficients at all shifts, a soft threshold for each level by Stein's estimate.

    Then the nearest histogram with the right total.
    """
    found = release(counts, epsilon, seed)
    part, details, variance = found.raw.astype(float), [], found.noise.variance
    for level in range(round(math.log2(part.size))):
        other = np.roll(part, -(1 << level))
        details.append((part - other) / math.sqrt(2))
        part = (part + other) / math.sqrt(2)
    for level, detail in reversed(list(enumerate(details))):
        square = np.sort(detail**2)
        k = np.arange(1, square.size + 1)
        risk = square.size * variance - 2 * variance * k + np.cumsum(square)
        risk += (square.size - k) * square
        least = int(np.argmin(risk))
        threshold = math.sqrt(square[least]) if risk[least] < square.size * variance else 0.0
        kept = np.sign(detail) * np.maximum(np.abs(detail) - threshold, 0)
        part = (part + kept + np.roll(part - kept, 1 << level)) / math.sqrt(8)
    return nonnegative_counts(part, float(found.n))


def cosine(counts: Floats, epsilon: float, seed: int) -> Floats:
    """Cosine coefficients times 1/(1 + (k/m)^2 or ^4), m by Stein's estimate; then as above."""
    found = release(counts, epsilon, seed)
    z, variance = dct(found.raw.astype(float), norm="ortho"), found.noise.variance
    k, least, chosen = np.arange(z.size), math.inf, np.ones(z.size)
    for order in (2, 4):
        for m in np.geomspace(0.3, 4 * z.size, 60):
            s = 1 / (1 + (k / m) ** order)
            risk = float(np.sum((1 - s) ** 2 * (z**2 - variance) + s**2 * variance))
            if risk < least:
                least, chosen = risk, s
    return nonnegative_counts(idct(z * chosen, norm="ortho"), float(found.n))


def _diffprivlib(counts: Floats, epsilon: float, seed: int) -> Floats:
    """Its histogram: geometric noise of sensitivity one, cut off below zero."""
    tools = peer_module("tools.histograms")
    cells = np.arange(counts.size)
    noisy, _ = tools.histogram(
        cells + 0.5,
        epsilon=epsilon,
        bins=counts.size,
        range=(0, counts.size),
        weights=counts,
        random_state=seed,
    )
    return np.asarray(noisy, dtype=float)


@cache
def _opendp_laplace(scale: float) -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)


def _opendp(counts: Floats, epsilon: float, seed: int) -> Floats:
    """Laplace noise on whole numbers, of sensitivity one; its entropy takes no seed."""
    del seed
    return np.asarray(_opendp_laplace(1 / epsilon)(counts.astype(np.int64)), dtype=float)


def diffprivlib(counts: Floats, epsilon: float, seed: int) -> Floats:
    return _diffprivlib(counts, epsilon / 2, seed)


def opendp(counts: Floats, epsilon: float, seed: int) -> Floats:
    return _opendp(counts, epsilon / 2, seed)


METHODS: dict[str, Callable[[Floats, float, int], Floats]] = {
    "diffprivlib": diffprivlib,
    "OpenDP": opendp,
    "ours, raw": raw,
    "raw, total n": totalled,
    "ours, sparse": sparse,
    "ours, `best_counts`": best,
    "nearest histogram": nearest,
    "Haar, SURE": haar,
    "cosines, SURE": cosine,
}
OWN: dict[str, Callable[[Floats, float, int], Floats]] = {  # at their own reading of epsilon
    "diffprivlib, add/remove-one": _diffprivlib,
    "OpenDP, add/remove-one": _opendp,
}
