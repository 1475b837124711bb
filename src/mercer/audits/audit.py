"""Empirical lower bounds on epsilon: what an attacker can show.

An audit runs a mechanism, or any release function, many times on two neighbours, reduces what
comes out to one number (the likelihood ratio where it is known, the best linear function
otherwise) and bounds epsilon from below by counting.  The bound is above the true epsilon with
probability 1 - confidence at most, whatever the statistic: one above the claim is a proof that
the promise is broken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from mercer.common import streams
from mercer.common.checks import Floats, check_count, check_epsilon
from mercer.noise.mechanisms import (
    L2,
    Exponential,
    Gaussian,
    Geometric,
    KNorm,
    Laplace,
    Mechanism,
    Orbitope,
    cube,
)
from mercer.noise.mechanisms.base import check_promise, secure_draws
from mercer.promise.events import Sensitivity

__all__ = ["CASES", "Audit", "audit", "epsilon_lower_bound", "worst_pair"]

# every mechanism with a known worst pair; the delta at which few runs come near the claim
CASES: dict[str, tuple[Mechanism | Exponential, float]] = {
    "gaussian": (Gaussian(), 1e-3),
    "laplace": (Laplace(), 0.0),
    "geometric": (Geometric(), 0.0),
    "l2": (L2(), 0.0),
    "k-norm-cube": (KNorm(cube(2)), 0.0),
    "orbitope": (Orbitope(), 0.0),
    "orbitope-periodic": (Orbitope(real=False), 0.0),
    "exponential": (Exponential(), 0.0),
}

_BLOCK = 1 << 20  # numbers drawn at once


@dataclass(frozen=True)
class Audit:
    """A lower bound on epsilon, beside the epsilon that was claimed."""

    name: str
    epsilon: float  # claimed
    delta: float
    audited: float  # lower bound on epsilon at delta
    samples: int  # runs on each neighbour
    seconds: float
    confidence: float

    @property
    def kept(self) -> bool:
        """Whether the claim was kept; if not, the promise is broken, with this confidence."""
        return self.audited <= self.epsilon

    @property
    def reach(self) -> float:
        """The audited epsilon over the claimed one: how near to the worst case the audit came."""
        return self.audited / self.epsilon

    @property
    def verdict(self) -> str:
        """Whether the claim was broken, kept with something seen, or nothing was seen."""
        return "BROKEN" if not self.kept else "kept" if self.audited > 0 else "nothing seen"

    def __str__(self) -> str:
        how = "stays below" if self.kept else "EXCEEDS"
        return (
            f"{self.name}: audited epsilon >= {self.audited:.3f} {how} the claimed "
            f"{self.epsilon:g} at delta = {self.delta:g} ({self.samples} runs on each neighbour, "
            f"confidence 1 - {1 - self.confidence:.1g})"
        )


def audit(
    subject: str | Mechanism | Exponential | Callable[[Any], Any],
    neighbours: tuple[Any, Any] | None = None,
    *,
    epsilon: float,
    delta: float | None = None,
    statistic: Callable[[Floats], Floats] | None = None,
    samples: int | None = None,
    exact: bool = False,
    confidence: float = 1 - 1e-6,
    rng: int | np.random.Generator | None = None,
    name: str | None = None,
) -> Audit:
    """Bound the epsilon of a mechanism or of a release function from below.

    Parameters
    ----------
    subject
        A mechanism (or its name), audited on coordinates one sensitivity apart; or any function
        that takes a data set and returns numbers, for example
        ``lambda data: mercer.density(data, bounds=(0, 1), epsilon=1).coordinates``.
    neighbours
        Two data sets that differ in one record (for a function), or two vectors of coordinates at
        distance one (for a mechanism).  A mechanism knows its own worst pair.
    epsilon, delta
        What is claimed.
    statistic
        From outputs, shape (runs, numbers), to one number each; large values speak for the first
        neighbour.  The likelihood ratio where it is known, otherwise the best linear function,
        learnt from a part of the runs.
    samples
        Runs on each neighbour.  By default as many as come near the claim in seconds.
    exact
        Draw a mechanism's noise as for a release (slow) rather than by simulating its law.
    confidence
        Of the bound.
    rng
        A seed for simulated draws.
    name
        What the report calls it.

    Examples
    --------
    >>> import mercer
    >>> result = mercer.audit("laplace", epsilon=1.0, samples=20_000)
    >>> result.kept
    True

    """
    start = time.perf_counter()
    if isinstance(subject, str):
        if subject not in CASES:
            raise ValueError(f"mechanism must be one of {', '.join(CASES)}; got {subject!r}")
        name, subject = name or subject, CASES[subject][0]
    if isinstance(subject, Mechanism):
        promise = check_promise(subject, epsilon, delta)
        pair = worst_pair(subject, neighbours, **promise)
        runs = _runs(samples, pair.samples)
        draw = _mechanism_draws(subject, pair, runs, promise, exact, streams.fresh(rng))
        statistic = statistic or pair.statistic
        label = name or subject.name
    elif isinstance(subject, Exponential):
        promise = {"epsilon": check_epsilon(epsilon), "delta": 0.0}
        runs = _runs(samples, 400_000)
        draw = _choice_draws(subject, neighbours or _worst_scores(), runs, promise, exact, rng)
        statistic = statistic or (lambda rows: rows[:, 0])
        label = name or subject.name
    else:
        if neighbours is None or not callable(subject):
            raise TypeError(
                "subject must be a mechanism or its name, or a function of the data together with "
                "neighbours=(data, other data)"
            )
        promise = {"epsilon": float(epsilon), "delta": float(delta or 0.0)}
        runs = _runs(samples, 1000)
        draw = _function_draws(subject, neighbours, runs)
        label = name or str(getattr(subject, "__name__", "release"))
    one, two = draw
    if statistic is None:
        one, two, statistic = _linear(one, two)
    bound = epsilon_lower_bound(statistic(one), statistic(two), delta=promise["delta"], confidence=confidence)
    seconds = time.perf_counter() - start
    return Audit(label, promise["epsilon"], promise["delta"], bound, runs, seconds, confidence)


def epsilon_lower_bound(under: Floats, other: Floats, *, delta: float, confidence: float = 1 - 1e-6) -> float:
    """A lower bound on epsilon at `delta`, from a statistic observed on two neighbours.

    Half of each sample chooses the threshold at which "statistic above threshold" betrays most;
    the other half tests it: with Clopper-Pearson bounds p <= P(under), P(other) <= q, every
    (epsilon, delta)-DP mechanism has epsilon >= ln((p - delta) / q).  It exceeds the true epsilon
    with probability at most 1 - confidence, whatever the statistic.
    """
    under, other = np.asarray(under, dtype=float), np.asarray(other, dtype=float)
    learn = np.sort(under[::2]), np.sort(other[::2])
    test = np.sort(under[1::2]), np.sort(other[1::2])
    tail = np.geomspace(min(0.001, 50 / max(len(learn[1]), 1)), 0.001, 60)
    levels = np.concatenate([tail, np.linspace(0.001, 0.999, 999), 1 - tail])
    candidates = np.quantile(np.concatenate(learn), np.clip(levels, 0.0, 1.0))
    candidates = np.concatenate([candidates, np.nextafter(candidates, -np.inf)])  # atoms
    risk = (1 - confidence) / 2

    best = int(np.argmax(_bounds(learn, candidates, risk, delta)))
    return float(_bounds(test, candidates[best : best + 1], risk, delta)[0])


def _runs(samples: object, default: int) -> int:
    if samples is None:
        return default
    return check_count("samples", samples, least=100, most=10**9, hint="runs on each neighbour")


def _mechanism_draws(
    mechanism: Mechanism, pair: _WorstPair, runs: int, promise: Any, exact: bool, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Outputs on both of a pair of coordinate vectors one sensitivity apart."""
    noise = mechanism.calibrate(Sensitivity(1.0, mechanism.norm), pair.size, **promise)
    out = []
    for centre in (pair.one, pair.two):
        if exact:
            rows = np.array(secure_draws(noise, centre, runs))
        else:
            rows = np.empty((runs, pair.size))
            step = max(1, _BLOCK // pair.size)
            for i in range(0, runs, step):
                part = rows[i : i + step]
                part[:] = noise.law.simulate(pair.size, len(part), rng)
                part += centre
                np.rint(part / noise.law.step, out=part)
                part *= noise.law.step
        out.append(rows)
    return out[0], out[1]


def _choice_draws(
    mechanism: Exponential, scores: tuple[Any, Any], runs: int, promise: Any, exact: bool, rng: Any
) -> tuple[Floats, Floats]:
    """Whether the first candidate was chosen, under the scores of both neighbours."""
    choice = mechanism.calibrate(Sensitivity(1.0, "score"), epsilon=promise["epsilon"])
    generator, out = streams.fresh(rng), []
    for side in scores:
        if exact:
            first = np.array([place == 0 for place in secure_draws(choice, side, runs)], dtype=float)
        else:
            chance = choice.probabilities(side)[0]
            first = (generator.random(runs) < chance).astype(float)
        out.append(first[:, None])
    return out[0], out[1]


def _function_draws(
    function: Callable[[Any], Any], neighbours: tuple[Any, Any], runs: int
) -> tuple[Floats, Floats]:
    one, two = (
        np.array([np.asarray(function(data), dtype=float).reshape(-1) for _ in range(runs)])
        for data in neighbours
    )
    return one, two


def _linear(one: Floats, two: Floats) -> tuple[Floats, Floats, Callable[[Floats], Floats]]:
    """The best linear statistic, learnt from a quarter of the runs, and the other runs."""
    cut = len(one) // 4
    a, b = one[:cut], two[:cut]
    spread = np.cov(a.T).reshape(a.shape[1], -1) + np.cov(b.T).reshape(a.shape[1], -1)
    ridge = 1e-9 * np.trace(spread) / len(spread) + 1e-300
    direction = np.linalg.solve(spread + ridge * np.eye(len(spread)), a.mean(0) - b.mean(0))
    return one[cut:], two[cut:], lambda rows: rows @ direction


def _bounds(samples: tuple[Floats, Floats], thresholds: Floats, risk: float, delta: float) -> Floats:
    """A lower bound on epsilon for each threshold, from the counts of both sorted samples above it."""
    runs, tries = (sample.size for sample in samples)
    hits, false = (s.size - np.searchsorted(s, thresholds, side="right") for s in samples)
    low = np.where(hits > 0, beta.ppf(risk, np.maximum(hits, 1), runs - hits + 1), 0.0)
    high = np.where(false < tries, beta.isf(risk, false + 1, np.maximum(tries - false, 1)), 1.0)
    return np.log(np.where(low > delta, (low - delta) / high, 1.0))


@dataclass(frozen=True)
class _WorstPair:
    """Two vectors of coordinates, a statistic of outputs, and a number of runs that is enough."""

    one: Floats
    two: Floats
    statistic: Callable[[Floats], Floats] | None
    samples: int

    @property
    def size(self) -> int:
        """The number of coordinates that get noise."""
        return len(self.one)


def worst_pair(
    mechanism: Mechanism, neighbours: tuple[Any, Any] | None, *, epsilon: float, delta: float
) -> _WorstPair:
    """The pair given, or the worst pair of a mechanism, with the log-likelihood ratio if it is known."""
    del delta
    if neighbours is None:
        one, two = _worst(mechanism)
    else:
        one, two = (np.asarray(side, dtype=float).reshape(-1) for side in neighbours)
        if one.shape != two.shape or not np.all(np.isfinite(one) & np.isfinite(two)):
            raise ValueError("neighbours must be two vectors of coordinates of one length")
    samples = {"gaussian": 3_000_000, "k-norm": 40_000}.get(mechanism.name, 400_000)
    if mechanism == Orbitope(real=False):
        samples = 8_000_000  # the ratio comes near its bound only far out
    return _WorstPair(one, two, _ratio(mechanism, one, two, epsilon), samples)


def _worst_scores() -> tuple[Floats, Floats]:
    """Scores of two neighbours: one falls by one as many others rise, for a ratio near e^epsilon."""
    up = np.zeros(24)
    up[0] = 1.0
    return up, 1.0 - up


def _worst(mechanism: Mechanism) -> tuple[Floats, Floats]:
    if isinstance(mechanism, Orbitope):
        # c_0 and c_1 of one record at either end: the cone is a product of two half lines in
        # c_0 + c_1 and c_0 - c_1 (reflecting), and nearly so (periodic)
        shape = [1.0, 1.0] if mechanism.real else [1.0, 1.0, 0.0]
        mirror = [1.0, -1.0] if mechanism.real else [1.0, -1.0, 0.0]
        return np.array(shape), np.array(mirror)
    if isinstance(mechanism, KNorm):
        corner = np.ones(mechanism.body.dimension)
        corner /= mechanism.body.gauge(corner)
        return corner, np.zeros(len(corner))
    size = 2 if isinstance(mechanism, L2) else 1
    one = np.zeros(size)
    one[0] = 1.0
    return one, np.zeros(size)


def _ratio(
    mechanism: Mechanism, one: Floats, two: Floats, epsilon: float
) -> Callable[[Floats], Floats] | None:
    """Log-likelihood ratio of outputs, up to an increasing function; None where it is unknown."""
    if mechanism.norm == "l1":
        return lambda z: np.sum(np.abs(z - two) - np.abs(z - one), axis=1)
    if isinstance(mechanism, L2):
        return lambda z: np.linalg.norm(z - two, axis=1) - np.linalg.norm(z - one, axis=1)
    if isinstance(mechanism, KNorm):
        gauge = mechanism.body.gauge
        return lambda z: np.array([gauge(row - two) - gauge(row - one) for row in z])
    if isinstance(mechanism, Orbitope):
        if len(one) == (2 if mechanism.real else 3):
            return lambda z: _first_moment(z, one, two, epsilon, real=mechanism.real)
        return None
    return lambda z: z @ (one - two)


def _first_moment(z: Floats, one: Floats, two: Floats, epsilon: float, *, real: bool) -> Floats:
    """Log-likelihood ratio of c_0 + c_1 and c_0 - c_1 for moments of degree one.

    On the cone they are independent Gamma(k, 2 s), k = 1 reflecting and 3/2 periodic, s = 2 /
    epsilon; the difference of two such has density |y|^(k - 1/2) K_(k - 1/2)(|y| / 2s), up to a
    constant, with K the modified Bessel function: Laplace's for k = 1.
    """
    from scipy.special import kve

    scale, order = 4 / epsilon, 0.5 if real else 1.0
    grid = np.linspace(0.0, 8.0, 4001) ** 2 + 1e-9  # finer near zero, where it bends
    values = order * np.log(grid) + np.log(kve(order, grid)) - grid

    def log_density(y: Floats) -> Floats:  # beyond the grid, at e^-64, it does not matter
        return np.interp(np.abs(y) / scale, grid, values)

    total = np.zeros(len(z))
    for sign in (1.0, -1.0):
        value, a, b = (v[..., 0] + sign * v[..., 1] for v in (z, one, two))
        total += log_density(value - a) - log_density(value - b)
    return total
