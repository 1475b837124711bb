"""Averages of Wiener filters weighted by evidence: what noisy coordinates of known variance tell.  M22.

Coordinates y = c + noise, the noise normal (nearly) with known variances v.  A component of the prior
says c_j ~ N(0, a_j) in orthonormal directions; given it, c_j has the posterior law N(s_j y_j, s_j v_j)
with s_j = a_j/(a_j + v_j), and y has a density, its evidence.  Components are weighed by prior weight
times evidence: the estimate is the average of their filters, and draws of the mixture say how far it
may be from c.  All of it is post-processing of y and of public constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.common.checks import Floats, Ints

__all__ = ["Drawn", "Posterior", "Spectra"]


@dataclass(frozen=True, eq=False)
class Spectra:
    """Components of a prior that are diagonal in the same orthonormal directions."""

    vectors: Floats | None  # directions as columns, in the coordinates; None: the coordinates themselves
    spectra: Floats  # prior variances: (components, directions); infinite where nothing is shrunk
    weights: Floats  # logarithms of prior weights, one for each component

    def turned(self, coordinates: Floats) -> Floats:
        """Rows of coordinates, in the directions."""
        return coordinates if self.vectors is None else coordinates @ self.vectors

    def back(self, turned: Floats) -> Floats:
        """Rows in the directions, as coordinates."""
        return turned if self.vectors is None else turned @ self.vectors.T

    def factors(self, variance: float | Floats) -> Floats:
        """a/(a + v), one where a is infinite: (components, directions)."""
        finite = np.isfinite(self.spectra)
        some = np.where(finite, self.spectra, 0.0)
        return np.where(finite, some / (some + variance), 1.0)

    def evidence(self, coordinates: Floats, variance: float | Floats) -> Floats:
        """Log prior weight plus log density of the coordinates, up to a constant: (rows, components).

        Directions of infinite variance say nothing; they must be as many in every component.
        """
        finite = np.isfinite(self.spectra)
        whole = np.where(finite, self.spectra + variance, 1.0)
        inverse = np.where(finite, 1 / whole, 0.0)
        square = self.turned(coordinates) ** 2
        return self.weights - 0.5 * (square @ inverse.T + np.sum(np.log(whole), axis=1))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Draws of the true coordinates, and the component that each comes from."""

    coordinates: Floats  # (draws, coordinates)
    parts: Ints  # of each draw
    components: Ints  # within its part


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of the true coordinates of every row of noisy ones.

    The noise's variance is one number, or one for each coordinate where all parts are diagonal in the
    coordinates themselves.
    """

    parts: Sequence[Spectra]
    coordinates: Floats  # noisy ones: (rows, coordinates)
    variance: float | Floats

    def __post_init__(self) -> None:
        if np.ndim(self.variance) and any(part.vectors is not None for part in self.parts):
            raise ValueError("variance must be one number where directions are not the coordinates")

    @cached_property
    def weights(self) -> list[Floats]:
        """Posterior weights of each part's components: (rows, components), of sum one over all parts."""
        logs = [part.evidence(self.coordinates, self.variance) for part in self.parts]
        top = np.max([log.max(axis=1) for log in logs], axis=0)
        raw = [np.exp(log - top[:, None]) for log in logs]
        total = np.sum([each.sum(axis=1) for each in raw], axis=0)
        return [each / total[:, None] for each in raw]

    @cached_property
    def mean(self) -> Floats:
        """The average of the filtered coordinates: (rows, coordinates)."""
        found = np.zeros_like(self.coordinates)
        for part, weights in zip(self.parts, self.weights, strict=True):
            factors = weights @ part.factors(self.variance)
            found += part.back(factors * part.turned(self.coordinates))
        return found

    @property
    def freedom(self) -> Floats:
        """How many coordinates are left in effect, for each row: the average sum of the factors."""
        sums = [part.factors(self.variance).sum(axis=1) for part in self.parts]
        return np.asarray(sum(w @ s for w, s in zip(self.weights, sums, strict=True)))

    def draws(self, runs: int, *, row: int = 0, rng: np.random.Generator) -> Drawn:
        """Draws of the true coordinates of one row: systematic over components, in random order."""
        weights = [each[row] for each in self.weights]
        ends = np.cumsum([each.size for each in weights])
        place = np.searchsorted(
            np.cumsum(np.concatenate(weights)), (np.arange(runs) + rng.random()) / runs, side="right"
        )
        place = rng.permutation(np.minimum(place, ends[-1] - 1))
        which = np.searchsorted(ends, place, side="right")
        inside = place - np.concatenate([[0], ends])[which]
        white = rng.standard_normal((runs, self.coordinates.shape[1]))
        found = np.empty_like(white)
        for i in np.unique(which):
            part, here = self.parts[i], np.flatnonzero(which == i)
            factors = part.factors(self.variance)[inside[here]]
            centre = factors * part.turned(self.coordinates[row])
            found[here] = part.back(centre + np.sqrt(factors * self.variance) * white[here])
        return Drawn(found, which, inside)
