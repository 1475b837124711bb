"""How near released counts are to the true ones, and to the best there can be.  M13.

Expected absolute errors of the mechanism beside a lower bound that holds for every pure
epsilon-DP release, on its worst data (docs/proofs/lower_bounds.md).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.noise.count_laws import CountLaw, GeometricLaw
from mercer.noise.lower_bounds import counting_bound, histogram_bound, sparse_bound
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.number import CountRelease

__all__ = ["CountAccuracy", "accuracy_of_count", "accuracy_of_histogram", "sparse_error"]


@dataclass(frozen=True)
class CountAccuracy:
    """Error due to privacy, beside the least that any mechanism can promise."""

    what: str
    error: float  # expected sum of absolute errors, at most
    each: float  # standard deviation of one count's noise
    best: float | None  # no pure release of this epsilon has less on its worst data
    pure: bool
    words: str = ""
    plain: float | None = None  # expected error of the same without a delta

    @property
    def ratio(self) -> float | None:
        """How many times the best possible this is, at most."""
        return None if not self.best else self.error / self.best

    def __str__(self) -> str:
        text = f"{self.what}: expected absolute error {self.error:.4g}{self.words}."
        if self.best is None or self.ratio is None:
            return text
        text += f" No pure release of this epsilon can promise less than {self.best:.4g}"
        if not self.pure:
            beside = "" if self.plain is None else f"; without the delta it would be {self.plain:.4g}"
            return text + f"; this one has a delta{beside}."
        return text + f": at most {self.ratio:.3g} times the best possible."

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"ratio": self.ratio}


def accuracy_of_count(release: CountRelease) -> CountAccuracy:
    """Of one count."""
    epsilon, n = release.privacy.epsilon, release.n
    pure = release.privacy.delta == 0
    if release.noise is None:
        return CountAccuracy("One count", 0.0, 0.0, None, False, ", released as it is")
    best = counting_bound(n, epsilon)
    if isinstance(release.noise, CountLaw):
        law = release.noise
        plain = None if pure else GeometricLaw(1 / epsilon).mean_error
        return CountAccuracy("One count", law.mean_error, law.deviation, best, pure, "", plain)
    error, each = _worst(release.noise.matrix)  # whatever its own loss and prior are
    if release.noise.loss == "absolute" and release.noise.prior is None:
        best = max(best, release.noise.best)
    return CountAccuracy("One count, optimal mechanism", error, each, best, pure)


def _worst(matrix: Floats) -> tuple[float, float]:
    """Largest expected absolute error of a mechanism, and root of the largest squared one."""
    place = np.arange(len(matrix))
    away = np.abs(np.subtract.outer(place, place))
    errors, squares = (float(np.max(np.sum(matrix * away**k, axis=1))) for k in (1, 2))
    return errors, math.sqrt(squares)


def accuracy_of_histogram(release: HistogramRelease) -> CountAccuracy:
    """Of all cells together: a sparse one takes the cells it holds for those occupied."""
    law, cells, n = release.noise, release.domain.cells, release.n
    epsilon, pure = release.privacy.epsilon, release.privacy.delta == 0
    if release.exact is not None:
        noisy = int((~release.exact).sum())
        what = f"{noisy} of {cells} cells with noise"
        return CountAccuracy(what, noisy * law.mean_error, law.deviation, None, False)
    if release.threshold is None:
        best = histogram_bound(n, cells, epsilon) or None
        plain = None if pure else cells * GeometricLaw(2 * release.rows_each / epsilon).mean_error
        error = cells * law.mean_error
        return CountAccuracy(_all(cells), error, law.deviation, best, pure, "", plain)
    held = max(len(release.values), 1)
    least = sparse_bound(n, cells, held, epsilon) if held < cells else None
    words = f" if the {held} cells that are held are all that are occupied"
    error = sparse_error(law, cells, held, release.threshold)
    return CountAccuracy(_all(cells), error, law.deviation, least, pure, words)


def _all(cells: int) -> str:
    return "The one cell" if cells == 1 else f"All {cells} cells together"


def sparse_error(law: CountLaw, cells: int, occupied: int, threshold: int) -> float:
    """Bound on the expected l1 error with this many occupied cells (thesis, Prop. 2.4.3).

    An occupied cell errs by at most the threshold and one noise more; an empty one passes with
    the chance P(noise > threshold), and is then wrong by the threshold and a noise.
    """
    each = threshold + 1 + law.mean_error
    return (occupied + (cells - occupied) * law.above(threshold)) * each
