"""A bandwidth chosen privately within a density's budget: shares, composition, use."""

import pytest

import mercer
from mercer.api.calls import Split
from mercer.noise.mechanisms import Gaussian, Orbitope
from mercer.promise.composition import delta_of
from mercer.promise.events import GaussianEvent, PureEvent
from mercer.releases.base import from_dict


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (4.0, 1e-3)])
def test_choice_and_noise_keep_the_promise_together(share, epsilon, delta):
    split = Split.of("private-cv", Gaussian(), {"epsilon": epsilon, "delta": delta}, share)
    events = split.events
    assert events[0] == PureEvent(split.choice)
    assert delta_of(events, epsilon=epsilon) <= delta * (1 + 1e-12)
    assert split.noise["epsilon"] >= epsilon - split.choice  # composition is never worse than sums
    assert delta_of(events, epsilon=epsilon) > 0.5 * delta  # and hardly wasteful
    pure = Split.of("private-cv", Orbitope(), {"epsilon": epsilon, "delta": 0.0}, share)
    assert pure.choice + pure.noise["epsilon"] <= epsilon
    assert pure.choice + pure.noise["epsilon"] == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("method", ["private-scott", "private-cv"])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_densities_with_a_private_bandwidth(method, delta, rng):
    x = rng.normal(50, 10, 5000)
    release = mercer.density(x, bounds=(0, 100), epsilon=1, delta=delta, bandwidth=method, choice_share=0.3)
    assert release.choice == method
    assert 0.4 <= release.bandwidth[0] <= 50
    first, second = release.privacy.events
    assert first == PureEvent(pytest.approx(0.3))
    assert isinstance(second, PureEvent if delta is None else GaussianEvent)
    assert "bandwidth by exponential mechanism" in str(release.privacy)
    assert "epsilon = 0.3 of it" in str(release.privacy)
    again = from_dict({"format": "mercer-release", "version": 2, **release.to_dict()})
    assert again.choice == method
    assert again.privacy.events == release.privacy.events


def test_scott_is_near_the_rule_of_the_data(rng):
    x = rng.normal(50, 10, 20_000)
    release = mercer.density(x, bounds=(0, 100), epsilon=1, bandwidth="private-scott")
    rule = (4 / (3 * x.size)) ** 0.2 * 10
    assert release.bandwidth[0] == pytest.approx(rule, rel=0.2)


def test_one_charge_for_both(tmp_path, rng):
    ledger = mercer.Ledger(tmp_path / "l.db")
    ledger.register("d", epsilon=1, delta=1e-5)
    mercer.density(
        rng.random(500),
        bounds=(0, 1),
        epsilon=0.6,
        delta=1e-6,
        bandwidth="private-cv",
        ledger=ledger,
        dataset="d",
    )
    (charge,) = ledger.history("d")
    assert (charge.epsilon, charge.delta, len(charge.events)) == (0.6, 1e-6, 2)
    with pytest.raises(mercer.BudgetExceeded):
        mercer.density(
            rng.random(500), bounds=(0, 1), epsilon=0.6, bandwidth="private-cv", ledger=ledger, dataset="d"
        )
    assert len(ledger.history("d")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"choice_share": 0}, "choice_share must be a finite number above 0"),
        ({"choice_share": 1.0}, "choice_share must be below 1"),
        ({"unit": "who"}, "counts rows; use 'private-scott'"),
        ({"basis": "hermite"}, "has no meaning"),
    ],
)
def test_mistakes_are_found_before_data_are_read(options, message):
    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError("data were read")

    options = {"bandwidth": "private-cv", **options}
    data = [0.1, 0.2] if "basis" in options else Untouchable()
    with pytest.raises(ValueError, match=message):
        mercer.density(data, bounds=(0, 1), epsilon=1, **options)
