"""Shrinking noisy coordinates of a mean embedding, chosen from them.  M17.

In the eigenbasis of the landmarks' Gram matrix, coordinate i is moved towards that of a public
guess by the factor s_i = e_i^eta / (e_i^eta + penalty e_1^eta); the guess is nothing, or the
landmarks with equal weights.  Guess, eta and penalty are those of least estimated risk (Stein).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats

__all__ = ["GUESSES", "Shrink", "choose_shrink"]

GUESSES = ("nothing", "uniform")
_ETAS = (0.5, 1.0, 1.5, 2.0)
_PENALTIES = np.append(0.0, np.logspace(-10, 4, 57))


@dataclass(frozen=True)
class Shrink:
    """How coordinates are shrunk; penalty 0 leaves them as they are."""

    guess: str
    eta: float
    penalty: float

    def __post_init__(self) -> None:
        if self.guess not in GUESSES:
            raise ValueError(f"guess must be one of {', '.join(map(repr, GUESSES))}")
        if not 0.1 <= self.eta <= 10 or not 0 <= self.penalty <= 1e15:
            raise ValueError("eta must be in [0.1, 10] and penalty in [0, 1e15]")

    def factors(self, eigenvalues: Floats) -> Floats:
        """Of every coordinate."""
        powers = (eigenvalues / eigenvalues[0]) ** self.eta
        return powers / (powers + self.penalty)

    def apply(self, noisy: Floats, uniform: Floats, eigenvalues: Floats) -> Floats:
        """Shrunk coordinates."""
        guess = uniform if self.guess == "uniform" else np.zeros_like(uniform)
        return guess + self.factors(eigenvalues) * (noisy - guess)

    def risk(self, noisy: Floats, uniform: Floats, eigenvalues: Floats, variance: float) -> float:
        """Stein's unbiased estimate of the expected squared distance to the mean without noise."""
        guess = uniform if self.guess == "uniform" else np.zeros_like(uniform)
        s = self.factors(eigenvalues)
        return float(np.sum((1 - s) ** 2 * ((noisy - guess) ** 2 - variance) + s**2 * variance))

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
        return {"guess": self.guess, "eta": self.eta, "penalty": self.penalty}


def choose_shrink(noisy: Floats, uniform: Floats, eigenvalues: Floats, variance: float) -> Shrink:
    """The one of least estimated risk: post-processing, hence free (M17)."""
    best, least = Shrink("nothing", 1.0, 0.0), math.inf
    for guess in GUESSES:
        square = (noisy - (uniform if guess == "uniform" else 0.0)) ** 2 - variance
        for eta in _ETAS:
            powers = (eigenvalues / eigenvalues[0]) ** eta
            s = powers / (powers + _PENALTIES[:, None])
            risks = (1 - s) ** 2 @ square + variance * np.sum(s**2, axis=1)
            place = int(np.argmin(risks))
            if risks[place] < least:
                best, least = Shrink(guess, eta, float(_PENALTIES[place])), float(risks[place])
    return best
