"""Empirical lower bounds on epsilon: what an attacker can show.  Layer 6."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta

from mercer.checks import Floats

__all__ = ["epsilon_lower_bound"]


def epsilon_lower_bound(
    under: Floats, other: Floats, *, delta: float, confidence: float = 1 - 1e-6
) -> float:
    """A lower bound on epsilon at `delta`, from a statistic observed on two neighbours.

    Half of each sample chooses the threshold at which "statistic above threshold" betrays most;
    the other half tests it: with Clopper-Pearson bounds p <= P(under), P(other) <= q, every
    (epsilon, delta)-DP mechanism has epsilon >= ln((p - delta) / q).  It exceeds the true epsilon
    with probability at most 1 - confidence, whatever the statistic.
    """
    under, other = np.asarray(under, dtype=float), np.asarray(other, dtype=float)
    learn = np.sort(under[::2]), np.sort(other[::2])
    test = np.sort(under[1::2]), np.sort(other[1::2])
    candidates = np.quantile(np.concatenate(learn), np.linspace(0.001, 0.999, 999))
    risk = (1 - confidence) / 2

    def bound(samples: tuple[Floats, Floats], threshold: float) -> float:
        return _bound(_above(samples[0], threshold), _above(samples[1], threshold), risk, delta)

    guesses = [bound(learn, t) for t in candidates]
    return bound(test, float(candidates[int(np.argmax(guesses))]))


def _above(sample: Floats, threshold: float) -> tuple[int, int]:
    return int(sample.size - np.searchsorted(sample, threshold, side="right")), int(sample.size)


def _bound(under: tuple[int, int], other: tuple[int, int], risk: float, delta: float) -> float:
    (hits, runs), (false, tries) = under, other
    low = float(beta.ppf(risk, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta.isf(risk, false + 1, tries - false)) if false < tries else 1.0
    return math.log((low - delta) / high) if low > delta else 0.0
