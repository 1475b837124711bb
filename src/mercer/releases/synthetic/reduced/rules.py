"""Weights of fixed points: what they may be, and the best of those.  M10.

With G = Phi Phi' and b = Phi c the squared distance is w'Gw - 2w'b + c'c, a convex problem in
as many numbers as there are points.  On a polytope it is the point of a convex hull nearest to
the origin: accelerated projected gradient comes close, and Wolfe's finite algorithm (Wolfe 1976)
ends exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.common.checks import Floats

__all__ = ["Ball", "Chart", "Free", "Quadratic", "Rule", "Simplex", "Uniform", "rule_named"]

_SWEEPS = 300  # projected gradient steps
_CYCLES = 200  # of the finite algorithm
_MOST_ATOMS = 4_000  # whose products are held at once
_FAR = 1e6  # values that only noise makes


@dataclass(frozen=True, eq=False)
class Quadratic:
    """w'Gw - 2w'b + c'c: the squared distance of fixed points."""

    gram: Floats
    cross: Floats
    square: float


@dataclass(frozen=True, eq=False)
class Chart:
    """Weights as numbers that may move freely above `least`, near where they are.

    On a polytope w_i = mass * sign_i * v_i / sum(v), one more v holding what is not spent.
    """

    start: Floats
    least: float
    signs: Floats | None = None
    mass: float = 1.0
    fixed: Floats | None = None

    def weights(self, numbers: Floats) -> Floats:
        if self.fixed is not None:
            return self.fixed
        if self.signs is None:
            return numbers
        total = max(float(numbers.sum()), 1e-300)
        return self.mass / total * self.signs * numbers[: len(self.signs)]

    def pull(self, numbers: Floats, gradient: Floats) -> Floats:
        """The gradient in the numbers, from the one in the weights."""
        if self.fixed is not None:
            return np.zeros(0)
        if self.signs is None:
            return gradient
        total = max(float(numbers.sum()), 1e-300)
        out = np.full(len(numbers), -float(gradient @ self.weights(numbers)) / total)
        out[: len(self.signs)] += self.mass / total * self.signs * gradient
        return out


class Rule(ABC):
    """Which weights are allowed."""

    signed: bool  # may a weight be negative
    bounded: bool = True  # bounded weights fit little noise, however many points there are

    @abstractmethod
    def chart(self, weights: Floats) -> Chart:
        """Numbers to move instead of the weights."""

    @abstractmethod
    def project(self, weights: Floats) -> Floats:
        """The nearest allowed weights."""

    @abstractmethod
    def refit(self, points: Quadratic, start: Floats) -> Floats:
        """The best weights of fixed points, from a guess."""


@dataclass(frozen=True)
class Free(Rule):
    """Weights may be any numbers."""

    signed = True
    bounded = False

    def chart(self, weights: Floats) -> Chart:
        return Chart(weights.copy(), -np.inf)

    def project(self, weights: Floats) -> Floats:
        return weights

    def refit(self, points: Quadratic, start: Floats) -> Floats:
        out = _solve(points.gram, points.cross, 1e-10)
        return out if np.all(np.isfinite(out)) else start


@dataclass(frozen=True)
class Uniform(Rule):
    """Each of M weights is 1/M."""

    signed = False

    def chart(self, weights: Floats) -> Chart:
        return Chart(np.zeros(0), 0.0, fixed=self.project(weights))

    def project(self, weights: Floats) -> Floats:
        return np.full(len(weights), 1 / max(1, len(weights)))

    def refit(self, points: Quadratic, start: Floats) -> Floats:  # noqa: ARG002
        return self.project(start)


@dataclass(frozen=True)
class Simplex(Rule):
    """Weights are a distribution: w >= 0 with sum one."""

    signed = False

    def chart(self, weights: Floats) -> Chart:
        return Chart(np.maximum(weights, 0.0), 0.0, signs=np.ones(len(weights)))

    def project(self, weights: Floats) -> Floats:
        total = float(weights.sum())
        if weights.min(initial=0.0) >= 0 and abs(total - 1) < 1e-9:
            return weights / total  # no dust where there was none
        out = _onto_simplex(weights, 1.0)
        return out / out.sum()

    def refit(self, points: Quadratic, start: Floats) -> Floats:
        near = _accelerated(points, self, start)
        if len(near) > _MOST_ATOMS:
            return near
        products = points.gram - points.cross - points.cross[:, None] + points.square
        return self.project(_nearest(products, near))


@dataclass(frozen=True)
class Ball(Rule):
    """Absolute values of the weights add up to at most `bound`.  Balog 2018, equation (5)."""

    bound: float
    signed = True

    def chart(self, weights: Floats) -> Chart:
        kept = self.project(weights)
        slack = max(0.0, self.bound - float(np.abs(kept).sum()))
        signs = np.where(kept < 0, -1.0, 1.0)
        return Chart(np.append(np.abs(kept), slack), 0.0, signs, self.bound)

    def project(self, weights: Floats) -> Floats:
        size = np.abs(weights)
        if size.sum() <= self.bound:
            return weights
        out = np.sign(weights) * _onto_simplex(size, self.bound)
        return out * min(1.0, self.bound / float(np.abs(out).sum()))

    def refit(self, points: Quadratic, start: Floats) -> Floats:
        near = _accelerated(points, self, start)
        count = len(near)
        if 2 * count + 1 > _MOST_ATOMS:
            return near
        # atoms: bound * phi, -bound * phi and the origin, all seen from c
        signs = np.concatenate([np.ones(count), -np.ones(count), np.zeros(1)]) * self.bound
        which = np.concatenate([np.arange(count), np.arange(count), np.zeros(1, dtype=np.int64)])
        line = signs * points.cross[which]
        products = signs[:, None] * points.gram[np.ix_(which, which)] * signs
        products += points.square - line - line[:, None]
        share = np.concatenate([np.maximum(near, 0.0), np.maximum(-near, 0.0), np.zeros(1)])
        share /= self.bound
        share[-1] = max(0.0, 1 - float(share.sum()))
        best = _nearest(products, share / share.sum())
        return self.project(self.bound * (best[:count] - best[count : 2 * count]))


def rule_named(name: str, bound: float) -> Rule:
    """The rule for "free", "l1", "positive" or "uniform" weights."""
    rules: dict[str, Rule] = {"free": Free(), "l1": Ball(bound), "positive": Simplex(), "uniform": Uniform()}
    return rules[name]


def _onto_simplex(values: Floats, mass: float) -> Floats:
    """The nearest vector with entries >= 0 and sum `mass`."""
    top = float(np.max(values))
    if abs(top) > _FAR:  # a shift changes nothing, and the mass is not lost in rounding
        values = values - top
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - mass) / np.arange(1, len(values) + 1)
    last = int(np.nonzero(ordered > excess)[0][-1])
    return np.maximum(values - excess[last], 0.0)


def _accelerated(points: Quadratic, rule: Rule, start: Floats) -> Floats:
    """Accelerated projected gradient, restarted where it turns back."""
    gram, cross = points.gram, points.cross
    top = np.ones(len(cross))
    for _ in range(20):  # the largest eigenvalue, a little from below
        top = gram @ (top / math.sqrt(top @ top))
    rate = 1 / max(1.1 * math.sqrt(top @ top), 1e-300)
    here = ahead = rule.project(start)
    momentum = 1.0
    for _ in range(_SWEEPS):
        gradient = gram @ ahead - cross
        there = rule.project(ahead - rate * gradient)
        if (ahead - there) @ (there - here) > 0:
            momentum = 1.0
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = there + (momentum - 1) / following * (there - here)
        if np.max(np.abs(there - here)) < 1e-14:
            return there
        here, momentum = there, following
    return here


def _nearest(products: Floats, start: Floats) -> Floats:
    """Shares, >= 0 with sum one, of the point of a hull nearest to the origin.

    Wolfe 1976: the nearest point of the affine hull of a few atoms; leave those that it would
    give a negative share; take in the atom that is most against the point.
    """
    level = float(np.mean(np.diag(products)))
    slack = 1e-14 * float(np.max(np.abs(np.diag(products))))
    lifted = products + level  # shares have sum one: the minimiser is the same
    share, used, entered = start.copy(), start > 0, -1
    for _ in range(_CYCLES):
        while True:
            index = np.nonzero(used)[0]
            flat = _solve(lifted[np.ix_(index, index)], np.ones(len(index)))
            flat = flat / flat.sum()
            here = share[index]
            low = flat <= 0
            if not low.any():
                share[index] = flat
                break
            reach = float(np.min(here[low] / (here[low] - flat[low])))
            here = np.maximum(here + reach * (flat - here), 0.0)
            here[here <= 1e-15] = 0.0
            here[np.nonzero(low)[0][np.argmin(here[low])]] = 0.0
            share[index] = here / here.sum()
            used = share > 0
        if entered >= 0 and not used[entered]:
            break  # rounding: it came in and left at once
        pull = products @ share
        pull = np.where(used, np.inf, pull - share @ pull)
        entered = int(np.argmin(pull))
        if pull[entered] >= -slack:
            break
        used[entered] = True
    return share


def _solve(matrix: Floats, right: Floats, least: float = 1e-13) -> Floats:
    """Solve with as little ridge as the factorisation needs."""
    ridge = least * float(np.trace(matrix)) / max(1, len(matrix))
    diagonal = np.arange(len(matrix))
    for _ in range(6):
        lifted = matrix.copy()
        lifted[diagonal, diagonal] += ridge
        try:
            return cho_solve(cho_factor(lifted, lower=True, check_finite=False), right)
        except LinAlgError:
            ridge *= 100
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-10)[0], dtype=np.float64)
