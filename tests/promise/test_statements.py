"""What was promised: closed forms of an attacker's power, sentences, events in files."""

import dataclasses
import math

import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, LaplaceDpEvent
from dp_accounting.pld import PLDAccountant
from scipy.stats import norm

import mercer
from mercer.promise.events import (
    ApproximateEvent,
    GaussianEvent,
    PureEvent,
    RandomEvent,
    delta_at,
    event_from_dict,
    event_to_dict,
    gaussian_multiplier,
    power,
)

ALPHAS = np.array([1e-6, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999])
EVENTS = [PureEvent(0.3), GaussianEvent(0.5, 1e-12), ApproximateEvent(1.0, 1e-6), RandomEvent(1.0, 0.0, 0.05)]


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_power_of_pure_releases_in_closed_form(epsilon):
    for alpha in ALPHAS:
        exact = min(math.exp(epsilon) * alpha, 1 - math.exp(-epsilon) * (1 - alpha))
        assert power([PureEvent(epsilon)], alpha) == pytest.approx(exact, rel=1e-12)
        halves = [PureEvent(epsilon / 2)] * 2
        assert power(halves, alpha) == pytest.approx(exact, rel=1e-9)
    # randomised response reaches it: true with probability e^eps / (1 + e^eps)
    lie = 1 / (1 + math.exp(epsilon))
    assert power([PureEvent(epsilon)], lie) == pytest.approx(1 - lie, rel=1e-12)


@pytest.mark.parametrize("mu", [0.01, 0.2367, 3.0])
def test_power_of_gaussian_releases_in_closed_form(mu):
    for alpha in ALPHAS:
        exact = norm.cdf(norm.ppf(alpha) + mu)
        assert power([GaussianEvent(mu, 0.0)], alpha) == pytest.approx(exact, rel=1e-9)
        parts = [GaussianEvent(0.6 * mu, 0.0), GaussianEvent(0.8 * mu, 0.0)]
        assert power(parts, alpha) == pytest.approx(exact, rel=1e-9)
        assert power([GaussianEvent(mu, 1e-6)], alpha) >= exact  # a distance only adds


def exact_mixed_power(alpha, epsilon, mu):
    """Randomised response beside a Gaussian, by Neyman and Pearson: one number to solve for."""
    truth, lie = (1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon)))

    def above(threshold, shift):  # loss = +-epsilon + mu x - mu^2 / 2 > threshold, x ~ N(shift, 1)
        up, down = (norm.sf((threshold + s + mu**2 / 2) / mu - shift) for s in (-epsilon, epsilon))
        return (truth * up + lie * down) if shift else (lie * up + truth * down)

    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle, 0.0) > alpha else (low, middle)
    return above(high, mu)


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.3), (1.0, 0.2367), (0.1, 1.5)])
def test_mixed_power_is_above_the_truth_and_above_each_part(epsilon, mu):
    parts = [PureEvent(epsilon), GaussianEvent(mu, 0.0)]
    previous = 0.0
    for alpha in ALPHAS:
        bound = power(parts, alpha)
        assert bound >= exact_mixed_power(alpha, epsilon, mu) * (1 - 1e-9)
        assert bound >= max(power(parts[:1], alpha), power(parts[1:], alpha)) - 1e-12
        assert bound <= 1.0
        assert bound >= previous - 1e-9
        previous = bound


@pytest.mark.parametrize("events", [EVENTS[:1], EVENTS[1:2], EVENTS[2:3], EVENTS[:3]])
def test_power_rises_with_alpha_and_is_no_less(events):
    values = [power(events, alpha) for alpha in np.linspace(0, 1, 201)]
    assert np.all(np.diff(values) >= -1e-9)
    assert np.all(np.array(values) >= np.linspace(0, 1, 201) - 1e-12)
    assert values[-1] == pytest.approx(1.0)
    assert values[0] <= 1e-5


def test_random_promises_do_not_compose():
    with pytest.raises(ValueError, match="random-DP release does not compose"):
        power([PureEvent(1.0), RandomEvent(1.0, 0.0, 0.1)], 0.05)
    with pytest.raises(ValueError, match="account for it apart"):
        delta_at([RandomEvent(1.0, 0.0, 0.1)], epsilon=1.0)


def test_delta_agrees_with_a_privacy_loss_accountant():
    """Exact for Gaussian releases; never below for mixed ones."""
    for mus in ((0.3,), (0.3, 0.4), (0.1,) * 25):
        accountant = PLDAccountant()
        accountant.compose(ComposedDpEvent([GaussianDpEvent(1 / mu) for mu in mus]))
        events = [GaussianEvent(mu, 0.0) for mu in mus]
        for epsilon in (0.2, 1.0, 2.0):
            ours = delta_at(events, epsilon=epsilon)
            theirs = accountant.get_delta(epsilon)  # rounded up by the grid of losses
            assert ours <= theirs * (1 + 1e-9)
            assert ours == pytest.approx(theirs, rel=0.02, abs=1e-10)
    accountant = PLDAccountant()
    accountant.compose(ComposedDpEvent([LaplaceDpEvent(2.0), GaussianDpEvent(4.0)]))
    for epsilon in (0.6, 1.0, 2.0):
        ours = delta_at([PureEvent(0.5), GaussianEvent(0.25, 0.0)], epsilon=epsilon)
        assert ours >= accountant.get_delta(epsilon) * (1 - 1e-3)


def test_delta_of_pure_and_approximate_lists():
    pure = [PureEvent(0.4), PureEvent(0.6)]
    assert delta_at(pure, epsilon=1.0) == 0.0
    assert delta_at(pure, epsilon=0.99) == 1.0
    mixed = [*pure, ApproximateEvent(1.0, 1e-6), ApproximateEvent(0.0, 2e-6)]
    assert delta_at(mixed, epsilon=2.0) == pytest.approx(3e-6)
    near = [GaussianEvent(1 / gaussian_multiplier(epsilon=1.0, delta=1e-6), 1e-9)]
    assert delta_at(near, epsilon=1.0) == pytest.approx(1e-6 + (1 + math.e) * 1e-9, rel=1e-6)
    assert delta_at([], epsilon=0.0) == 0.0


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_events_survive_a_file(event):
    assert event_from_dict(event_to_dict(event)) == event
    for name in [field.name for field in dataclasses.fields(event)]:
        for bad in (None, "1", True, -0.1, math.inf, math.nan, 10**400):
            with pytest.raises(ValueError, match=f"{name} of a {event.kind} event must be"):
                event_from_dict(event_to_dict(event) | {name: bad})
    first = dataclasses.fields(event)[0].name
    with pytest.raises(ValueError, match=f"{first} of a"):
        event_from_dict(event_to_dict(event) | {first: 0})


@pytest.mark.parametrize("bad", [None, 3, [], {}, {"kind": "magic"}, {"kind": None}])
def test_what_is_no_event_is_refused(bad):
    with pytest.raises(ValueError, match="must be one of pure, gaussian, approximate, random"):
        event_from_dict(bad)


@pytest.mark.parametrize("kind", [[1], {"a": 1}])
def test_kinds_of_another_type_are_refused(kind):
    with pytest.raises(ValueError, match="must be one of"):
        event_from_dict({"kind": kind})


def test_sentences_say_the_numbers(rng):
    rows = rng.random(500)
    pure = mercer.density(rows, bounds=(0, 1), epsilon=1).privacy
    assert (pure.delta, pure.events) == (0.0, (PureEvent(1.0),))
    assert "epsilon = 1 (pure, no delta)" in pure.sentence
    assert "but for a probability" not in pure.sentence
    assert pure.power(0.05) == pytest.approx(0.05 * math.e)
    assert "in at most 13.6 % of the cases of B (without the release: 5 %)" in pure.attack
    assert "every other row" in pure.attack
    assert pure.short.startswith("epsilon = 1, pure")
    both = mercer.density(rows, bounds=(0, 1), epsilon=1, delta=1e-6).privacy
    mu = 1 / gaussian_multiplier(epsilon=1, delta=1e-6)
    shown = 100 * norm.cdf(norm.ppf(0.05) + mu)
    assert f"in at most {shown:.1f} %" in both.attack  # 7.9 %: less than e^1 times 5 %
    assert "but for a probability of 1e-06" in both.sentence
    small = mercer.density(rows, bounds=(0, 1), epsilon=0.1).privacy
    assert "in at most 5.5 %" in small.attack
    assert both.to_dict()["events"] == [event_to_dict(both.events[0])]
    assert pure.to_dict()["attack"] == pure.attack
