"""Kernel machines: penalised empirical risk in a feature space.  Left of the door.

M8; Hall 2013, Sec. 4.3 (thesis 3.3.3).  f_D = argmin (1/n) sum loss(y_i, f(x_i)) + penalty |f|^2
moves by at most M kappa / (penalty n) if one row is replaced, M the largest slope of the loss.  No
intercept is free of the penalty, and what the solver leaves counts (E9).  docs/proofs/machines.md.

Machines that were learnt are scored on rows that none of them learnt from (M12): a row adds between
nothing and one to the score of each, whatever it holds, in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.common.checks import Floats
from mercer.promise.events import Norm, Sensitivity, Slopes, reach, replace_one
from mercer.sensitive.base import Summary
from mercer.sensitive.summaries.risk import PIECE, ExampleBatch, Examples, Machine, Risk, minimise
from mercer.spaces.maps import FeatureMap

__all__ = ["FINE", "UNIT", "Machine", "MachineBounds", "MachineObjective", "MachineSummary", "held_scores"]

COARSE, FINE = 0.0025, 2.5e-6  # of M kappa / n: the gradient that the solver may leave
_MOST_PIECES = 1 << 22  # of persons' rows: 2^34 of them, public whatever their number is
_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class MachineBounds:
    """What is public of K machines: losses, penalties, features, n; and all bounds that follow."""

    machines: tuple[Machine, ...]
    features: FeatureMap
    n: int
    share: float = COARSE  # noise on the weights covers it by itself; noise in the objective: FINE
    moves: bool = False  # whether one record can move the places of others (CSV files, persons)
    persons: bool = False  # n are persons: how many rows they have is not public
    tilt: float = 0.0  # bound on the noise in the objective, where there is any

    @property
    def size(self) -> int:
        """Number of weights of all machines."""
        return len(self.machines) * self.features.size

    @property
    def penalties(self) -> Floats:
        """The penalty of each weight, shape (size,)."""
        return np.repeat([machine.penalty for machine in self.machines], self.features.size)

    def steepness(self, machine: Machine) -> float:
        """M of a loss, times kappa: no row's gradient is longer at the minimum."""
        kappa = self.features.kappa
        return machine.loss.steepness(penalty=machine.penalty, kappa=kappa) * kappa

    @property
    def slopes(self) -> list[Slopes]:
        """Ranges of the losses' slopes, times kappa."""
        kappa, losses = self.features.kappa, [machine.loss for machine in self.machines]
        return [Slopes(loss.slopes[0] * kappa, loss.slopes[1] * kappa) for loss in losses]

    def aim(self, machine: Machine) -> float:
        """Gradient at which the solver stops: not below what rounding may do to it."""
        return max(self.share * self.steepness(machine) / self.n, self.rounding(machine))

    @property
    def gap(self) -> float:
        """The largest P(w) - P(w*) that the solver may leave, |gradient|^2 / (4 penalty)."""
        return max((self.aim(m) + self.rounding(m)) ** 2 / (4 * m.penalty) for m in self.machines)

    def rounding(self, machine: Machine) -> float:
        """Bound on the error of a computed gradient.

        Sums of a piece, sums of pieces, a product with m weights of length at most `reach`.
        """
        kappa, m, slope = self.features.kappa, self.features.size, self.steepness(machine)
        penalty, pull = machine.penalty, self.tilt / self.n
        reach = min((slope + pull) / 2, pull + math.sqrt(machine.loss.at_zero * penalty)) / penalty
        bend = machine.loss.curvature * kappa**2 + 2 * penalty
        pieces = _MOST_PIECES if self.persons else self.n / PIECE
        terms = (PIECE + pieces + 64) * (slope + pull)
        terms += (m + 64) * bend * reach
        moved = self.features.wobble * (slope / kappa + bend * reach) if self.moves else 0.0
        return 1.1 * _ROUNDOFF * terms + moved

    def left(self, machine: Machine) -> float:
        """Bound on penalty |w - w*| for what the solver returns: sqrt(gap penalty) (M8)."""
        return (self.aim(machine) + self.rounding(machine)) / 2

    def check(self) -> None:
        """Refuse penalties so small that rounding would be more than the solver may leave."""
        for machine in dict.fromkeys(self.machines):
            bend = machine.loss.curvature * self.features.kappa**2 + 2 * machine.penalty
            blind = 16 * _ROUNDOFF * (self.features.size + 64) * bend > machine.penalty
            allowed = 4 * COARSE * self.steepness(machine) / self.n
            if blind or self.rounding(machine) > allowed:
                raise ValueError(
                    f"penalty = {machine.penalty:g} is too small for {self.n} records: double "
                    "precision cannot solve it as closely as the promise needs; nothing was spent; "
                    "use a larger penalty"
                    + (", or a Parquet file or data frame without unit" if self.moves else "")
                )

    def sensitivity(self) -> float:
        """Change of all weights, each times its penalty, in the l2 norm.

        M kappa / n a machine (M8, times the penalty), and twice what the solver may leave.
        """
        moves = [self.steepness(m) / self.n + 2 * self.left(m) for m in self.machines]
        return math.sqrt(sum(move**2 for move in moves))


class MachineSummary(Summary[Floats]):
    """Weights of K machines on the same features, each times its penalty, one after the other.

    Times the penalty, because then one row can move each machine as far as any other.
    """

    def __init__(self, examples: Examples, bounds: MachineBounds, *, unit: str) -> None:
        self.bounds, self.n, self.unit = bounds, bounds.n, unit
        self._examples = examples
        bounds.check()

    @property
    def size(self) -> int:
        return self.bounds.size

    @property
    def note(self) -> str:
        return f"; solved to a gap of {self.bounds.gap:.1g}, which the noise covers"

    def sensitivity(self, norm: Norm) -> Sensitivity:
        if norm != "l2":
            raise ValueError(f"a machine's weights have no bound in the norm {norm!r}")
        return replace_one(self.bounds.sensitivity())

    @property
    def risk(self) -> Risk:
        """The objectives, without noise in them."""
        m = self.bounds.features.size
        self._examples.on(self.bounds.features)
        return Risk(
            self._examples,
            self.bounds.machines,
            m,
            self.n,
            self.bounds.features.kappa,
            np.zeros((len(self.bounds.machines), m)),
        )

    def coordinates(self) -> Floats:
        return self.tilted(np.zeros(self.size))

    def tilted(self, tilt: Floats) -> Floats:
        """The weights that minimise the risk plus tilt'w / n, each times its penalty."""
        risk = replace(self.risk, tilt=tilt.reshape(len(self.bounds.machines), -1))
        aims = {m: self.bounds.aim(m) for m in dict.fromkeys(self.bounds.machines)}
        each = np.array([aims[m] for m in self.bounds.machines])
        return minimise(risk, each).reshape(-1) * self.bounds.penalties


class MachineObjective(Summary[Callable[[Floats], Floats]]):
    """The objectives themselves, for noise that is drawn before they are minimised."""

    name = "gradient"

    def __init__(self, machines: MachineSummary) -> None:
        self._machines, self.n, self.unit = machines, machines.n, machines.unit

    @property
    def bounds(self) -> MachineBounds:
        """What is public of the machines."""
        return self._machines.bounds

    @property
    def size(self) -> int:
        return self._machines.size

    @property
    def note(self) -> str:
        return self._machines.note

    def sensitivity(self, norm: Norm) -> Sensitivity:
        """Sensitivity of n times the gradient at any function, which noise in the objective hides."""
        return Sensitivity(reach(self._machines.bounds.slopes), norm=norm)

    def coordinates(self) -> Callable[[Floats], Floats]:
        """The function from a slope to the weights that minimise the objectives with it."""
        return self._machines.tilted

    def shown(self, exact: Callable[[Floats], Floats]) -> Floats:  # noqa: ARG002
        """The gradient at the function zero, times n."""
        bounds = self._machines.bounds
        zero = np.zeros((len(bounds.machines), bounds.features.size))
        return self.n * self._machines.risk.sweep(zero, curve=False).gradient.reshape(-1)


UNIT = 1 << 20  # a row that is predicted rightly


def held_scores(
    examples: Examples, features: FeatureMap, machines: Sequence[Machine], weights: Sequence[Floats]
) -> tuple[list[int], Sensitivity]:
    """Sum over the rows of each candidate's score, and how far a row can move it.

    A classifier scores UNIT for the right class, a regression UNIT less the share of the largest
    error.  Rows that do not fit score nothing (M18).
    """
    examples.on(features)
    classes = machines[0].wanted is not None

    def work(piece: ExampleBatch) -> list[int]:
        out = []
        for w in weights:
            f = piece.phi @ w.T
            if classes:
                place = (f[:, 0] > 0) if len(machines) == 1 else np.argmax(f, axis=1)
                share = (place == piece.target).astype(float)
            else:
                off = np.stack(
                    [
                        m.loss.jet(np.clip(f[:, k], -1, 1), piece.target).value / _most(m)
                        for k, m in enumerate(machines)
                    ]
                )
                share = 1 - np.clip(off.mean(axis=0), 0.0, 1.0)
            whole = np.rint(share * UNIT).astype(np.int64) * (piece.weight > 0)
            out.append(int(whole.sum()))
        return out

    totals = [0] * len(weights)
    for part in examples.fold(work):
        totals = [total + more for total, more in zip(totals, part, strict=True)]
    return totals, Sensitivity(float(UNIT), norm="score")


def _most(machine: Machine) -> float:
    """The largest loss between targets and predictions in [-1, 1]."""
    ends = np.array([-1.0, 1.0])
    return float(max(machine.loss.jet(ends, -ends).value))
