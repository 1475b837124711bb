"""Privacy filter: whether one more release fits a total, chosen after seeing earlier releases.

A total (E, D) holds for all releases together if each was accepted by one of two rules, whose
sums run over the releases that were made:

- basic: sum epsilon_i <= E and sum delta_i <= D_basic;
- gaussian: delta_G(sqrt(sum mu_i^2); E) <= D_curve and (1 + e^E) sum distance_i <= D_distance.

A pure release counts in the second as mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)); a release of which
only (epsilon, delta) is known does not.  D = D_basic + D_curve + D_distance is split beforehand:
99, 0.99 and 0.01 per cent; or all for the basic rule, if the first release fits only so.  The
proof is docs/proofs/ledger.md.  All sums are exact, or rounded up.

An `Allowance` is what was charged for several draws together: each of them must be covered by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy.special import log_ndtr, ndtri

from mercer.promise.composition import decimal, delta_of, epsilon_of, gaussian_above
from mercer.promise.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    RandomEvent,
    gaussian_multiplier,
)

__all__ = ["Allowance", "Cost", "DeltaSplit", "PrivacyFilter", "Spent", "mu_of_pure"]

_LARGEST = 700.0  # E above which the gaussian rule is not used: e^E is no double


@dataclass(frozen=True)
class Cost:
    """One release: (epsilon, delta) as a whole, and the events that it is made of."""

    epsilon: float
    delta: float
    events: tuple[Event, ...]

    def check(self) -> None:
        """ValueError unless the events imply the promise (docs/proofs/ledger.md, 2)."""
        if not self.events:
            raise ValueError("events must not be empty: a release that costs nothing needs none")
        if any(isinstance(event, RandomEvent) for event in self.events):
            raise ValueError(
                "events must be differentially private: a random-DP release fails for a share "
                "gamma of data sets, so no ledger can count it; publish it without ledger="
            )
        events, epsilon, delta = self.events, self.epsilon, self.delta
        if not self._sums() and delta_of(events, epsilon=epsilon) > delta:
            raise ValueError(
                f"events cost more than epsilon = {self.epsilon:g}, delta = {self.delta:g}; "
                "charge what mercer.promise.composition.epsilon_of says, or more"
            )

    def _sums(self) -> bool:
        """Whether the promises of the events add up to at most this one, in exact arithmetic."""
        total, lost = Fraction(0), Fraction(0)
        for event in self.events:
            match event:
                case PureEvent():
                    total += decimal(event.epsilon)
                case ApproximateEvent():
                    total, lost = total + decimal(event.epsilon), lost + decimal(event.delta)
                case _:
                    return False
        return total <= decimal(self.epsilon) and lost <= decimal(self.delta)


@dataclass(frozen=True)
class DeltaSplit:
    """The shares of the total delta D that the two rules may use."""

    basic: Fraction
    curve: Fraction
    distance: Fraction


BOTH = DeltaSplit(Fraction(99, 100), Fraction(99, 10_000), Fraction(1, 10_000))
BASIC = DeltaSplit(Fraction(1), Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Spent:
    """Exact sums over the releases that were made."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    square: Fraction = Fraction(0)  # of mu
    distance: Fraction = Fraction(0)
    smooth: bool = True  # False: something approximate is among them

    @classmethod
    def of(cls, costs: Iterable[Cost]) -> Spent:
        total = cls()
        for cost in costs:
            total = total.plus(cost)
        return total

    def plus(self, cost: Cost) -> Spent:
        square, distance, smooth = self.square, self.distance, self.smooth
        for event in cost.events:
            match event:
                case GaussianEvent():
                    square += Fraction(event.mu) ** 2
                    distance += Fraction(event.distance)
                case PureEvent():
                    square += Fraction(mu_of_pure(event.epsilon)) ** 2
                case ApproximateEvent() | RandomEvent():
                    smooth = False
        return Spent(
            self.epsilon + decimal(cost.epsilon), self.delta + decimal(cost.delta), square, distance, smooth
        )

    @property
    def mu(self) -> float:
        """The mu of all releases together by Gaussian composition, rounded up."""
        if self.square == 0:
            return 0.0
        return math.sqrt(math.nextafter(float(self.square), math.inf)) * (1 + 1e-15)


@dataclass(frozen=True)
class PrivacyFilter:
    """The total (epsilon, delta) of a dataset, and the two rules by which a release is accepted."""

    epsilon: float
    delta: float

    def accepts(self, costs: Sequence[Cost]) -> bool:
        """Whether the last of these fits, the others having been accepted before it."""
        return self._holds(Spent.of(costs), self.split(costs))

    def split(self, costs: Sequence[Cost]) -> DeltaSplit:
        """How D is shared: known once the first release is, before anything came out."""
        if self.delta == 0:
            return BASIC
        if not costs or self._holds(Spent.of(costs[:1]), BOTH):
            return BOTH
        return BASIC

    def _holds(self, spent: Spent, split: DeltaSplit) -> bool:
        return self.basic(spent, split) or self.gaussian(spent, split)

    def basic(self, spent: Spent, split: DeltaSplit) -> bool:
        """Adaptive basic composition: docs/proofs/ledger.md, Lemmas 1 and 2."""
        total = split.basic * decimal(self.delta)
        return spent.epsilon <= decimal(self.epsilon) and spent.delta <= total

    def gaussian(self, spent: Spent, split: DeltaSplit) -> bool:
        """Fully adaptive Gaussian composition: docs/proofs/ledger.md, Lemmas 3 to 5."""
        if not spent.smooth or split.curve == 0 or self.epsilon > _LARGEST:
            return False
        if spent.distance:
            growth = Fraction(math.exp(self.epsilon) * (1 + 1e-12)) + 1
            if growth * spent.distance > split.distance * decimal(self.delta):
                return False
        return gaussian_above(spent.mu, epsilon=self.epsilon) <= self._curve(split)

    def _curve(self, split: DeltaSplit) -> float:
        """Log of the delta that the gaussian rule may use, rounded down."""
        share = float(split.curve * decimal(self.delta))
        return math.log(share) - 1e-12 if share > 0 else -math.inf

    def shares(self, costs: Sequence[Cost]) -> list[float]:
        """The share of the total used after each release, by the rule that has more left: 1 is all."""
        spent, split, used = Spent(), self.split(costs), []
        for cost in costs:
            spent = spent.plus(cost)
            used.append(self._share(spent, split))
        return used

    def _share(self, spent: Spent, split: DeltaSplit) -> float:
        shares = [float(spent.epsilon / decimal(self.epsilon))]
        if spent.delta:
            total = split.basic * decimal(self.delta)
            shares[0] = max(shares[0], float(spent.delta / total) if total else math.inf)
        if self.gaussian(spent, split) and (most := self._most_mu(split)):
            shares.append(float(spent.square) / most**2)
        return min(1.0, *shares)

    def largest_pure(self, costs: Sequence[Cost]) -> float:
        """The largest epsilon of a pure release that would still be accepted."""
        candidates = [float(self._basic_left(costs))]
        if mu := self._mu_left(costs):
            candidates.append(float(log_ndtr(mu / 2) - log_ndtr(-mu / 2)))
        return self._largest(costs, candidates, lambda e: Cost(e, 0.0, (PureEvent(e),)))

    def delta_left(self, costs: Sequence[Cost]) -> float:
        """The largest delta of one more release that the basic rule would accept, rounded down.

        It is zero once its epsilon is used up: then it accepts nothing, whatever the other rule does.
        """
        if costs and not self._basic_left(costs):
            return 0.0
        spent, split = Spent.of(costs), self.split(costs) if costs else BASIC  # of one release: all
        rest = max(Fraction(0), split.basic * decimal(self.delta) - spent.delta)
        found = float(rest)
        return found if decimal(found) <= rest else math.nextafter(found, 0.0)

    def largest_gaussian(self, costs: Sequence[Cost], *, delta: float) -> float:
        """The largest epsilon of a Gaussian release with this delta that would be accepted."""
        candidates = [float(self._basic_left(costs))]
        if mu := self._mu_left(costs):
            candidates.append(epsilon_of((GaussianEvent(mu, 0.0),), delta=delta))

        def cost(epsilon: float) -> Cost:
            mu = 1 / gaussian_multiplier(epsilon=epsilon, delta=delta)
            return Cost(epsilon, delta, (GaussianEvent(mu, 0.0),))

        return self._largest(costs, candidates, cost)

    def _largest(
        self, costs: Sequence[Cost], candidates: list[float], make: Callable[[float], Cost]
    ) -> float:
        best = 0.0
        for candidate in candidates:
            for spare in (0.0, 1e-15, 1e-12, 1e-9, 1e-6):
                epsilon = candidate * (1 - spare)
                if epsilon > max(best, 1e-6) and self.accepts([*costs, make(epsilon)]):
                    best = epsilon
                    break
        return best

    def _basic_left(self, costs: Sequence[Cost]) -> Fraction:
        return max(Fraction(0), decimal(self.epsilon) - Spent.of(costs).epsilon)

    def _most_mu(self, split: DeltaSplit) -> float:
        if split.curve == 0 or not 1e-6 <= self.epsilon <= _LARGEST:
            return 0.0
        share = float(split.curve * decimal(self.delta))
        return 1 / gaussian_multiplier(epsilon=self.epsilon, delta=share) if share > 0 else 0.0

    def _mu_left(self, costs: Sequence[Cost]) -> float:
        spent, split = Spent.of(costs), self.split(costs)
        if not self.gaussian(spent, split):
            return 0.0
        return math.sqrt(max(0.0, self._most_mu(split) ** 2 - float(spent.square)))


@dataclass
class Allowance:
    """An event that was paid for, and what was drawn on it so far."""

    event: Event
    taken: Fraction = Fraction(0)  # of its epsilon, by pure draws: exact
    whole: bool = False  # by a draw that is not pure

    @property
    def used(self) -> bool:
        """Whether anything was drawn on it."""
        return self.whole or self.taken > 0

    def take(self, event: Event) -> bool:
        """Whether it covers one more draw, which is noted."""
        if self.whole:
            return False
        match event, self.event:
            case PureEvent(), PureEvent() | ApproximateEvent() as most:
                taken = self.taken + Fraction(event.epsilon)
                if taken > Fraction(most.epsilon):
                    return False
                self.taken = taken
                return True
            case ApproximateEvent(), ApproximateEvent() as most:
                self.whole = event.epsilon <= most.epsilon and event.delta <= most.delta
            case GaussianEvent(), GaussianEvent() as most:
                self.whole = event.mu <= most.mu and event.distance <= most.distance
            case GaussianEvent(), ApproximateEvent() as most:
                self.whole = delta_of((event,), epsilon=most.epsilon) <= most.delta
        if self.taken:
            self.whole = False
        return self.whole


def mu_of_pure(epsilon: float) -> float:
    """The mu for which an epsilon-DP release is mu-GDP, rounded up.

    The trade-off curve of pure privacy is two straight lines through (0, 1), (a, a) and (1, 0),
    a = 1/(1 + e^epsilon); that of mu is convex, has the same ends, and passes (a, a) if
    Phi(-mu/2) = a.
    """
    rare = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    if rare < 1e-300:
        return math.sqrt(8 * epsilon) + 1  # Phi(-t) < exp(-t^2/2): more than enough
    return -2 * float(ndtri(rare)) * (1 + 1e-12) + 4e-15
