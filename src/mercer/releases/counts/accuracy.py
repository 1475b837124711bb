"""How near released counts are to the true ones, and to the best there can be.  M13.

Expected absolute errors of the mechanism beside a lower bound that holds for every pure
epsilon-DP release, on its worst data (docs/proofs/lower_bounds.md).  All of it follows from the
law of the noise, the columns and the promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mercer.common.checks import Floats
from mercer.noise.count_laws import CountLaw, GeometricLaw
from mercer.noise.lower_bounds import counting_bound, histogram_bound, margins_bound, sparse_bound
from mercer.promise.statement import Statement
from mercer.promise.weaker import RandomStatement
from mercer.releases.counts.margin_fit import MarginFit

if TYPE_CHECKING:
    from mercer.noise.optimal import OptimalCount

Terms: TypeAlias = Callable[[Sequence[int], Sequence[Floats]], float]

__all__ = [
    "CountAccuracy",
    "MarginsAccuracy",
    "accuracy_of_cells",
    "accuracy_of_count",
    "accuracy_of_margins",
    "accuracy_of_sparse",
    "sparse_error",
]


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
        """The fields and the ratio, for JSON."""
        return asdict(self) | {"ratio": self.ratio}


@dataclass(frozen=True)
class MarginsAccuracy:
    """Expected sum over cells of the absolute error of each margin."""

    margins: tuple[tuple[str, ...], ...]
    raw: tuple[float, ...]  # of the noisy counts
    unbiased: tuple[float, ...]  # of the best unbiased estimate from all of them together
    best: float | None  # of one-way margins: no pure release has less in all, on its worst data
    pure: bool

    @property
    def error(self) -> float:
        """Of all margins together, after they are used together."""
        return sum(self.unbiased)

    @property
    def ratio(self) -> float | None:
        """How many times the best possible this is, at most."""
        return None if not self.best else self.error / self.best

    def __str__(self) -> str:
        many = len(self.margins)
        text = (
            f"{many} margins: the absolute errors of one margin's counts add up to "
            f"{self.error / many:.4g} expected, {sum(self.raw) / many:.4g} before the margins are "
            "used together."
        )
        if self.best is None or self.ratio is None:
            return text
        text += f" No pure release of this epsilon can promise less than {self.best / many:.4g}"
        if not self.pure:
            return text + "; this one has a delta."
        return text + f": at most {self.ratio:.3g} times the best possible."

    def to_dict(self) -> dict[str, Any]:
        """The fields, their sum and the ratio, for JSON."""
        return asdict(self) | {"error": self.error, "ratio": self.ratio}


def accuracy_of_count(
    noise: CountLaw | OptimalCount | None, privacy: Statement | RandomStatement
) -> CountAccuracy:
    """The expected error of one count; no noise is a count under the weaker promise, as it is."""
    epsilon, pure = privacy.epsilon, privacy.delta == 0
    if noise is None:
        return CountAccuracy("One count", 0.0, 0.0, None, False, ", released as it is")
    best = counting_bound(privacy.n, epsilon)
    if isinstance(noise, CountLaw):
        plain = None if pure else GeometricLaw(1 / epsilon).mean_error
        return CountAccuracy("One count", noise.mean_error, noise.deviation, best, pure, "", plain)
    error, each = _worst(noise.matrix)  # whatever its own loss and prior are
    if noise.loss == "absolute" and noise.prior is None:
        best = max(best, noise.best)
    return CountAccuracy("One count, optimal mechanism", error, each, best, pure)


def _worst(matrix: Floats) -> tuple[float, float]:
    """Largest expected absolute error of a mechanism, and root of the largest squared one."""
    place = np.arange(len(matrix))
    away = np.abs(np.subtract.outer(place, place))
    errors, squares = (float(np.max(np.sum(matrix * away**k, axis=1))) for k in (1, 2))
    return errors, math.sqrt(squares)


def accuracy_of_cells(
    law: CountLaw,
    cells: int,
    privacy: Statement | RandomStatement,
    *,
    rows_each: int,
    noisy: int | None = None,
) -> CountAccuracy:
    """The expected error of all cells together; of `noisy` ones where the others have no noise."""
    epsilon, pure = privacy.epsilon, privacy.delta == 0
    if noisy is not None:
        what = f"{noisy} of {cells} cells with noise"
        return CountAccuracy(what, noisy * law.mean_error, law.deviation, None, False)
    best = histogram_bound(privacy.n, cells, epsilon) or None
    plain = None if pure else cells * GeometricLaw(2 * rows_each / epsilon).mean_error
    return CountAccuracy(_all(cells), cells * law.mean_error, law.deviation, best, pure, "", plain)


def accuracy_of_sparse(
    law: CountLaw, cells: int, held: int, threshold: int, privacy: Statement | RandomStatement
) -> CountAccuracy:
    """The expected error of a sparse release, if the cells that it holds are those occupied."""
    held, pure = max(held, 1), privacy.delta == 0
    least = sparse_bound(privacy.n, cells, held, privacy.epsilon) if held < cells else None
    words = f" if the {held} cells that are held are all that are occupied"
    error = sparse_error(law, cells, held, threshold)
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


def accuracy_of_margins(
    law: CountLaw, fit: MarginFit, terms: Terms, margins: tuple[tuple[str, ...], ...], privacy: Statement
) -> MarginsAccuracy:
    """The expected error of each margin: how many noises make an answer is what `terms` says."""
    normal = math.sqrt(2 / math.pi)
    alone = law.mean_error / law.deviation if law.deviation else 0.0
    raw, unbiased = [], []
    for chosen in fit.sets:
        cells = math.prod(fit.sizes[place] for place in chosen)
        corner = [np.eye(1, fit.sizes[place])[0] for place in chosen]
        # E|.| over the deviation lies between that of one noise and a normal's
        ratio = normal + (alone - normal) / terms(chosen, corner)
        raw.append(law.mean_error * cells)
        unbiased.append(ratio * cells * fit.cell_deviation(chosen))
    pure, best = privacy.delta == 0, _best_margins(fit, privacy)
    return MarginsAccuracy(margins, tuple(raw), tuple(unbiased), best, pure)


def _best_margins(fit: MarginFit, privacy: Statement) -> float | None:
    """The least error of one-way margins, where records are in two cells of each column.

    Half of the first count's error and of the second's is at least that of a count of ones, made
    from both and n: so both together have twice the bound for counts of ones.
    """
    wide = sum(fit.sizes[chosen[0]] > 1 for chosen in fit.sets if chosen)
    if any(len(chosen) != 1 for chosen in fit.sets) or not 1 <= wide <= 10_000:
        return None
    return 2 * margins_bound(privacy.n, wide, privacy.epsilon)
