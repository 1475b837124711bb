"""How near released margins are to the true ones.  M13.

Known beforehand, from the law of the noise and the columns alone.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer.noise.lower_bounds import margins_bound
from mercer.releases.counts.margins import MarginsRelease

__all__ = ["MarginsAccuracy", "accuracy_of_margins"]


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
        """For machines."""
        return asdict(self) | {"error": self.error, "ratio": self.ratio}


def accuracy_of_margins(release: MarginsRelease) -> MarginsAccuracy:
    """Of each margin; E|.| over the deviation lies between that of one noise and a normal's."""
    law, sizes = release.noise, release.domain.sizes
    normal = math.sqrt(2 / math.pi)
    alone = law.mean_error / law.deviation if law.deviation else 0.0
    unbiased = []
    for chosen, counts in zip(release.sets, release.raw, strict=True):
        corner = [np.eye(1, sizes[place])[0] for place in chosen]
        ratio = normal + (alone - normal) / release.terms(chosen, corner)
        unbiased.append(ratio * counts.size * release.fit.cell_deviation(chosen))
    raw = tuple(law.mean_error * counts.size for counts in release.raw)
    pure = release.privacy.delta == 0
    return MarginsAccuracy(release.margins, raw, tuple(unbiased), _best(release), pure)


def _best(release: MarginsRelease) -> float | None:
    """Of one-way margins, where records are in two cells of each column.

    Half of the first count's error and of the second's is at least that of a count of ones, made
    from both and n: so both together have twice the bound for counts of ones.
    """
    wide = sum(release.domain.sizes[chosen[0]] > 1 for chosen in release.sets if chosen)
    if any(len(chosen) != 1 for chosen in release.sets) or not 1 <= wide <= 10_000:
        return None
    return 2 * margins_bound(release.n, wide, release.privacy.epsilon)
