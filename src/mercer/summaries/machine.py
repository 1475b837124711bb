"""Kernel machines: penalised empirical risk in a feature space.  Layer 2, left of the door.

M8; Hall 2013, Sec. 4.3 (thesis 3.3.3).  f_D = argmin (1/n) sum loss(y_i, f(x_i)) + penalty |f|^2
moves by at most M kappa / (penalty n) if one row is replaced, M the largest slope of the loss.  No
intercept is free of the penalty, and what the solver leaves counts (E9).  docs/proofs/machines.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mercer.accountants import replace_one
from mercer.checks import Floats
from mercer.losses import Loss
from mercer.maps import FeatureMap
from mercer.privacy import Norm, Sensitivity
from mercer.summaries.base import Summary
from mercer.summaries.examples import PIECE, Examples
from mercer.summaries.newton import Risk, minimise

__all__ = ["MachineBounds", "MachineSummary"]

_SHARE = 0.0025  # of M kappa / n: the gradient that the solver may leave
_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class MachineBounds:
    """What is public of K machines: losses, features, penalty, n; and all bounds that follow."""

    losses: tuple[Loss, ...]
    features: FeatureMap
    penalty: float
    n: int

    @property
    def size(self) -> int:
        """Weights of all machines."""
        return len(self.losses) * self.features.size

    def steepness(self, loss: Loss) -> float:
        """M of a loss."""
        return loss.steepness(penalty=self.penalty, kappa=self.features.kappa)

    def shift(self, loss: Loss) -> float:
        """M kappa / (penalty n): how far one row moves the exact minimum."""
        return self.steepness(loss) * self.features.kappa / (self.penalty * self.n)

    def aim(self, loss: Loss) -> float:
        """Gradient at which the solver stops."""
        return _SHARE * self.steepness(loss) * self.features.kappa / self.n

    @property
    def gap(self) -> float:
        """The largest P(w) - P(w*) that the solver may leave, |gradient|^2 / (4 penalty)."""
        most = max(self.aim(loss) + self.rounding(loss) for loss in self.losses)
        return most**2 / (4 * self.penalty)

    def rounding(self, loss: Loss, tilt: float = 0.0) -> float:
        """Bound on the error of a computed gradient; `tilt` bounds the noise in the objective.

        Sums of a piece, sums of pieces, a product with m weights of length at most `reach`.
        """
        kappa, m, slope = self.features.kappa, self.features.size, self.steepness(loss)
        reach = (slope * kappa + tilt / self.n) / self.penalty  # twice the bound on |w*|
        terms = (PIECE + self.n / PIECE + 64) * slope * kappa
        terms += 2 * (m + 64) * (loss.curvature * kappa**2 + 2 * self.penalty) * reach
        return 4 * _ROUNDOFF * terms

    def distance(self, loss: Loss, tilt: float = 0.0) -> float:
        """Bound on |w - w*| for what the solver returns: sqrt(gap / penalty) (M8)."""
        return (self.aim(loss) + self.rounding(loss, tilt)) / (2 * self.penalty)

    def check(self, tilt: float = 0.0) -> None:
        """Refuse penalties so small that rounding would be more than the solver may leave."""
        for loss in self.losses:
            if self.rounding(loss, tilt) > 4 * self.aim(loss):
                raise ValueError(
                    f"penalty = {self.penalty:g} is too small for {self.n} records: double "
                    "precision cannot solve it as closely as the promise needs; nothing was spent; "
                    "use a larger penalty"
                )

    def sensitivity(self) -> float:
        """Change of all weights together, in the l2 norm, what the solver leaves included."""
        moves = [self.shift(loss) + 2 * self.distance(loss) for loss in self.losses]
        return math.sqrt(sum(move**2 for move in moves))


class MachineSummary(Summary):
    """The weights of K machines that share features and penalty, one after the other."""

    def __init__(self, examples: Examples, bounds: MachineBounds, *, unit: str) -> None:
        self.bounds, self.n, self.unit = bounds, bounds.n, unit
        self._examples = examples
        bounds.check()

    @property
    def size(self) -> int:
        return self.bounds.size

    def sensitivity(self, norm: Norm) -> Sensitivity:
        if norm == "l2":
            return replace_one(self.bounds.sensitivity())
        if norm == "l1":
            return replace_one(math.sqrt(self.size) * self.bounds.sensitivity(), "l1")
        raise ValueError(f"a machine's weights have no bound in the norm {norm!r}")

    @property
    def risk(self) -> Risk:
        """The objectives, without noise in them."""
        many, m = len(self.bounds.losses), self.bounds.features.size
        self._examples.on(self.bounds.features)
        return Risk(
            self._examples, self.bounds.losses, m, self.n, self.bounds.penalty,
            self.bounds.features.kappa, np.zeros((many, m)),
        )  # fmt: skip

    def coordinates(self) -> Floats:
        return self.tilted(np.zeros(self.size))

    def tilted(self, tilt: Floats) -> Floats:
        """The weights that minimise the risk plus tilt'w / n."""
        risk = replace(self.risk, tilt=tilt.reshape(len(self.bounds.losses), -1))
        aims = np.array([self.bounds.aim(loss) for loss in self.bounds.losses])
        return minimise(risk, aims).reshape(-1)

    def gradient(self) -> Floats:
        """n times the gradient at the function zero: what noise in the objective hides first."""
        zero = np.zeros((len(self.bounds.losses), self.bounds.features.size))
        return self.n * self.risk.sweep(zero, curve=False).gradient.reshape(-1)
