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

from mercer.audits.worst import WorstPair, worst_pair, worst_scores
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

__all__ = ["CASES", "Audit", "audit", "epsilon_lower_bound"]

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
    """What an audit found."""

    name: str
    epsilon: float  # claimed
    delta: float
    audited: float  # lower bound on epsilon at delta
    samples: int  # runs on each neighbour
    seconds: float
    confidence: float

    @property
    def kept(self) -> bool:
        """False: the promise is broken, with this confidence."""
        return self.audited <= self.epsilon

    @property
    def reach(self) -> float:
        """Audited over claimed: how near the worst case the audit came."""
        return self.audited / self.epsilon

    @property
    def verdict(self) -> str:
        """In a word."""
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
    epsilon: object,
    delta: object = None,
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
        draw = _choice_draws(subject, neighbours or worst_scores(), runs, promise, exact, rng)
        statistic = statistic or (lambda rows: rows[:, 0])
        label = name or subject.name
    else:
        if neighbours is None or not callable(subject):
            raise TypeError(
                "subject must be a mechanism or its name, or a function of the data together with "
                "neighbours=(data, other data)"
            )
        promise = {"epsilon": float(epsilon), "delta": float(delta or 0.0)}  # type: ignore[arg-type]
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
    mechanism: Mechanism, pair: WorstPair, runs: int, promise: Any, exact: bool, rng: np.random.Generator
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
    """For each threshold: what both sorted samples, counted above it, say of epsilon."""
    runs, tries = (sample.size for sample in samples)
    hits, false = (s.size - np.searchsorted(s, thresholds, side="right") for s in samples)
    low = np.where(hits > 0, beta.ppf(risk, np.maximum(hits, 1), runs - hits + 1), 0.0)
    high = np.where(false < tries, beta.isf(risk, false + 1, np.maximum(tries - false, 1)), 1.0)
    return np.log(np.where(low > delta, (low - delta) / high, 1.0))
