"""Composition: what several releases promise together, for a list fixed beforehand.

For releases whose parameters are chosen after others were seen, see `mercer.promise.filter`.

Gaussian releases compose to one, mu = sqrt(sum mu_i^2).  A pure release is no worse than randomised
response, whose privacy loss is +epsilon or -epsilon; an approximate one is that with probability
1 - delta, and discloses everything otherwise (Kairouz, Oh and Viswanath 2015).  The losses of
independent pairs add up, so with s the loss of all that is not Gaussian

    delta(epsilon) = 1 - prod (1 - delta_i) + prod (1 - delta_i) E[delta_G(mu; epsilon - s)],

exact while the number of values of s is small; with more of them dp-accounting's privacy-loss
distributions, rounded to the pessimistic side, take its place.  The total variation between a
discrete Gaussian law and a normal one costs (1 + e^epsilon) distance more (M3.5).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr

from mercer.common.checks import check_delta, check_epsilon
from mercer.promise.events import (
    RANDOM_ALONE,
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    RandomEvent,
    gaussian_log_delta,
    gaussian_multiplier,
    power,
)

__all__ = ["decimal", "delta_of", "epsilon_of", "gaussian_above", "gaussian_beside", "power_of"]

_ATOMS = 4096  # values of the loss that are summed one by one
_LARGEST = 700.0  # epsilon: e^epsilon is a double
_SAFETY = 1e-9


def decimal(number: float) -> Fraction:
    """The decimal that a double prints as, exactly: ten times 0.1 is 1.

    The two differ by a part in 10^16; every calibration leaves a part in 10^9 to spare.
    """
    return Fraction(repr(float(number)))


def gaussian_above(mu: float, *, epsilon: float) -> float:
    """Log of a delta for which a mu-GDP release is (epsilon, delta)-DP: M1 plus a bound on rounding.

    It holds also for epsilon < 0, where delta = 1 - e^epsilon + e^epsilon delta(-epsilon).
    """
    if mu == 0:
        return -math.inf if epsilon >= 0 else math.log(-math.expm1(epsilon))
    if epsilon < 0:
        rest = epsilon + gaussian_above(mu, epsilon=-epsilon)
        return min(0.0, math.log(-math.expm1(epsilon) + math.exp(rest)) + 1e-15)
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    margin = 1e-13 + 4e-15 * ((1 + far) / mu + far**2)
    simple = float(log_ndtr(-near)) * (1 - 1e-13) + 1e-13  # the first term of M1 alone
    if not margin < 0.1:
        return min(0.0, simple)
    return min(0.0, simple, gaussian_log_delta(mu, epsilon=epsilon) + margin)


def delta_of(events: Iterable[Event], *, epsilon: float) -> float:
    """The least delta for which these releases together are (epsilon, delta)-DP; never below it.

    >>> delta_of([PureEvent(0.1)] * 10, epsilon=1.0)
    0.0
    """
    return _Profile.of(events).delta(_check_total(epsilon))


def power_of(events: Iterable[Event], alpha: float) -> float:
    """The largest power of a test of level `alpha` that sees all these releases.

    As `events.power`, by the sharper composition of this module: the minimum over epsilon of
    what (epsilon, delta)-DP allows.
    """
    listed = tuple(events)
    best = power(listed, alpha)
    if len(listed) < 2:
        return best
    profile = _Profile.of(listed)
    for epsilon in np.linspace(0.0, 2.0 + 2 * float(profile.sum) + 6 * profile.mu, 121)[1:]:
        delta = profile.delta(float(epsilon))
        grown = math.exp(min(float(epsilon), 700.0)) * alpha + delta
        best = min(best, grown, 1 - math.exp(-float(epsilon)) * (1 - delta - alpha))
    return best


def epsilon_of(events: Iterable[Event], *, delta: float) -> float:
    """The least epsilon for which these releases together are (epsilon, delta)-DP; never below.

    >>> epsilon_of([PureEvent(0.1), PureEvent(0.2)], delta=0)
    0.3
    """
    profile = _Profile.of(events)
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta!r}")
    if delta == 0 and profile.pure:
        return _float_above(profile.sum)
    low, high = 0.0, 1.0
    if profile.delta(0.0) <= delta:
        return 0.0
    while profile.delta(high) > delta:
        low, high = high, 2 * high
        if high > _LARGEST:
            raise ValueError(
                f"delta = {delta:g} is more than these releases can promise together at any "
                "epsilon up to 700; ask for a larger delta"
            )
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if profile.delta(middle) > delta else (low, middle)
    simple = _float_above(profile.sum)
    return min(high, simple) if profile.delta(simple) <= delta else high


def gaussian_beside(epsilon_pure: float, *, epsilon: float, delta: float) -> float:
    """Sigma / Delta of a Gaussian release that with a pure one is (epsilon, delta)-DP together.

    Both are fixed beforehand.  Never more noise than `gaussian_multiplier` at the difference.
    """
    epsilon_pure = check_epsilon(epsilon_pure)
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if epsilon_pure >= epsilon:
        raise ValueError(
            f"epsilon_pure must be below epsilon = {epsilon:g}, got {epsilon_pure:g}; nothing "
            "would be left for the Gaussian release"
        )
    target = delta * (1 - _SAFETY)

    def fits(multiplier: float) -> bool:
        pair = PureEvent(epsilon_pure), GaussianEvent(1 / multiplier, 0.0)
        return delta_of(pair, epsilon=epsilon) <= target

    low = gaussian_multiplier(epsilon=epsilon, delta=delta)
    high = gaussian_multiplier(epsilon=epsilon - epsilon_pure, delta=delta)
    if not fits(high):  # by a rounding only: the difference alone is enough
        return high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Profile:
    """The privacy profile of a list of events: delta as a function of epsilon."""

    mu: float
    distance: float
    sum: Fraction  # of the epsilons of what is not Gaussian
    lost: float  # 1 - prod (1 - delta_i), rounded up
    atoms: tuple[tuple[float, float], ...]  # values of the loss s and their probabilities
    many: Callable[[float], float] | None  # dp-accounting, where there are too many of them

    @classmethod
    def of(cls, events: Iterable[Event]) -> _Profile:
        square, distance, kept, total = 0.0, 0.0, 0.0, Fraction(0)
        counts: Counter[float] = Counter()
        for event in events:
            match event:
                case GaussianEvent():
                    square, distance = square + event.mu**2, distance + event.distance
                case PureEvent():
                    counts[event.epsilon] += 1
                    total += decimal(event.epsilon)
                case ApproximateEvent():
                    counts[event.epsilon] += 1
                    total += decimal(event.epsilon)
                    kept += math.log1p(-min(event.delta, 1.0)) if event.delta < 1 else -math.inf
                case RandomEvent():
                    raise ValueError(RANDOM_ALONE)
        mu = math.sqrt(square) * (1 + 1e-15)
        lost = -math.expm1(kept) * (1 + 1e-14)
        few = math.prod(count + 1 for count in counts.values()) <= _ATOMS
        atoms = _losses(counts) if few else ()
        many = None if few else _accounted(mu, counts)
        return cls(mu, distance, total, min(1.0, lost), atoms, many)

    @property
    def pure(self) -> bool:
        return self.mu == 0 and self.lost == 0 and self.distance == 0

    def delta(self, epsilon: float) -> float:
        """The delta of all releases together at this epsilon, rounded up."""
        within = self.sum <= decimal(epsilon)
        if self.mu == 0 and within:
            share = 0.0
        else:
            share = self.many(epsilon) if self.many else self._summed(epsilon)
            if within:  # the sum of epsilons first, then the Gaussian part with what is left
                rest = max(0.0, float(decimal(epsilon) - self.sum) * (1 - 1e-15))
                share = min(share, math.exp(gaussian_above(self.mu, epsilon=rest)))
        cost = (1 + math.exp(epsilon)) * self.distance
        tiny = 1e-300 if self.mu else 0.0  # a Gaussian release is never pure
        joined = self.lost + (1 - self.lost) * share + cost + tiny
        return min(1.0, joined * (1 + 1e-14))

    def _summed(self, epsilon: float) -> float:
        terms = (
            chance * math.exp(gaussian_above(self.mu, epsilon=epsilon - loss)) for loss, chance in self.atoms
        )
        rounding = 1e-15 * (1 + abs(epsilon)) if self.mu == 0 else 0.0
        return min(1.0, math.fsum(terms) * (1 + 1e-11) + rounding)


def _losses(counts: Counter[float]) -> tuple[tuple[float, float], ...]:
    """Values and probabilities of the loss of several randomised responses."""
    losses = {0.0: 1.0}
    for epsilon, count in counts.items():
        likely = -math.log1p(math.exp(-epsilon))  # log of the probability of +epsilon
        ways = [
            (
                (2 * k - count) * epsilon,
                math.exp(math.log(math.comb(count, k)) + count * likely - (count - k) * epsilon),
            )
            for k in range(count + 1)
        ]
        joined: dict[float, float] = {}
        for loss, chance in losses.items():
            for more, weight in ways:
                key = loss + more
                joined[key] = joined.get(key, 0.0) + chance * weight
        losses = joined
    return tuple(losses.items())


def _accounted(mu: float, counts: Counter[float]) -> Callable[[float], float]:
    """Delta at epsilon by dp-accounting, whose rounding is pessimistic but for that of its FFT."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    scale = math.sqrt(mu**2 + sum(count * e**2 for e, count in counts.items()))
    largest = sum(count * e for e, count in counts.items()) + mu**2 + 10 * mu
    step = max(min(1e-4, scale / 2000), largest / 4e6)
    joined = pld.identity(value_discretization_interval=step)
    for epsilon, count in counts.items():
        parameters = common.DifferentialPrivacyParameters(epsilon, 0.0)
        one = pld.from_privacy_parameters(parameters, value_discretization_interval=step)
        joined = joined.compose(one.self_compose(count), 0.0)
    if mu:
        one = pld.from_gaussian_mechanism(
            1 / mu, value_discretization_interval=step, log_mass_truncation_bound=-80
        )
        joined = joined.compose(one, 0.0)
    return lambda epsilon: min(1.0, float(joined.get_delta_for_epsilon(epsilon)) + 1e-13)


def _float_above(value: Fraction) -> float:
    """The least double that prints as a number not below `value`."""
    number = float(value)
    while decimal(number) < value:
        number = math.nextafter(number, math.inf)
    return number


def _check_total(epsilon: float) -> float:
    if not 0 <= epsilon <= _LARGEST:
        raise ValueError(f"epsilon must be in [0, 700], got {epsilon!r}")
    return float(epsilon)
