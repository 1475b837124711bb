"""Laws of counts: closed forms, tails, sums."""

import math

import numpy as np
import pytest

from mercer.noise.count_laws import COUNT_LAWS, GeometricLaw, RoundedNormalLaw, count_law_from_dict
from mercer.noise.exact import working
from mercer.releases.counts.cells import noise_width

LAWS = [
    GeometricLaw(0.5),
    GeometricLaw(2.0),
    GeometricLaw(40.0),
    RoundedNormalLaw(0.6),
    RoundedNormalLaw(6.0),
    RoundedNormalLaw(50.0),
]


def masses(law, top=4000):
    k = np.arange(-top, top + 1)
    return k, np.array([law.above(int(i) - 1) - law.above(int(i)) for i in k])


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_moments_and_transform(law):
    k, p = masses(law)
    assert np.isclose(p.sum(), 1)
    assert np.isclose((p * k).sum(), 0, atol=1e-9)
    assert np.isclose((p * k**2).sum(), law.variance, rtol=1e-6)
    assert np.isclose((p * np.abs(k)).sum(), law.mean_error, rtol=1e-6)
    t = np.array([0.0, 0.3, 1.7])
    assert np.allclose(law.transform(t), np.cos(np.outer(t, k)) @ p, atol=1e-9)
    s, few = 0.1 * min(law.reach, 1.0), np.abs(k) < 600
    # an upper bound, exact for the geometric law
    assert law.log_moment(s) >= math.log((p * np.exp(s * k * few)).sum()) - 1e-9


def test_geometric_values():
    law = GeometricLaw(2.0)  # P(k) proportional to exp(-|k| / 2), epsilon = 1, sensitivity 2
    ratio = math.exp(-0.5)
    assert np.isclose(law.above(0), ratio / (1 + ratio))
    assert np.isclose(law.above(-1), 1 / (1 + ratio))
    assert np.isclose(law.mean_error, 2 * ratio / (1 - ratio**2))
    assert abs(law.mean_error / 2.0 - 1) < 0.05  # within 4 % of Laplace's 2 / epsilon (M13)
    assert np.isclose(law.threshold(1 / (2 * 64)), 2 * math.log(64))  # (2 / epsilon) ln p


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tails_as_balls(law):
    with working(200):
        for k in (0, 3, 17):
            assert np.isclose(float(law.above_ball(k)), law.above(k), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("terms", [1, 2, 7])
def test_half_width_is_the_least(law, terms):
    _, p = masses(law, 600)
    total = np.ones(1)
    for _ in range(terms):
        total = np.convolve(total, p)
    reach = (len(total) - 1) // 2
    inside = total[reach] + 2 * np.cumsum(total[reach + 1 :])
    for level in (0.5, 0.95, 0.999):
        w = int(law.half_width(terms, level))
        covered = total[reach] if w == 0 else inside[w - 1]
        before = 0.0 if w == 0 else total[reach] if w == 1 else inside[w - 2]
        assert covered >= level - 1e-6
        assert before < level + 1e-6


def test_wide_sums_are_normal():
    law = GeometricLaw(1e5)
    assert np.isclose(law.half_width(400, 0.95), 1.96 * 20 * law.deviation, rtol=0.01)
    assert law.half_width(0, 0.95) == 0


@pytest.mark.parametrize("scale", [0.3, 40.0, 1e3, 5e4, 2e9])
def test_one_noise_of_any_scale_is_covered(scale):
    law = GeometricLaw(scale)
    for level in (0.5, 0.95, 0.999, 1 - 1e-9):
        w = int(law.half_width(1, level))
        assert 2 * law.above(w) <= 1 - level
        assert w == 0 or 2 * law.above(w - 1) > (1 - level) * (1 - 1e-6)


@pytest.mark.parametrize("terms", [2, 5, 40])
def test_sums_of_large_scales_are_covered(terms):
    """Laplace's law, on any lattice: a normal one would be 6 % too narrow for two."""
    fine, coarse = GeometricLaw(1e6), GeometricLaw(2e3)
    for level in (0.9, 0.99):
        wide, narrow = fine.half_width(terms, level) / 1e6, coarse.half_width(terms, level) / 2e3
        assert narrow * (1 - 1e-3) <= wide <= narrow * (1 + 1e-3)


def test_few_rare_noises_are_not_normal():
    law = GeometricLaw(0.1)  # 20000 of them have a variance below 2
    k, p = masses(law, 40)
    grown = np.fft.fft(np.fft.ifftshift(p)).real ** 20_000
    total = np.fft.fftshift(np.fft.ifft(grown).real)
    w = law.half_width(20_000, 1 - 1e-6)
    assert total[np.abs(k) > w].sum() <= 1e-6


@pytest.mark.parametrize("kind", [GeometricLaw, RoundedNormalLaw])
def test_cut_bins_are_covered(kind):
    """All pairs of noises counted out; without the half step 6 % are missing at 80 %."""
    for scale in (0.3, 0.5, 0.8, 1.5, 4.0):
        law = kind(scale)
        k, p = masses(law, int(30 * scale) + 20)
        both = p[:, None] * p
        for one, other in ((1, 0.5), (1, 0.9), (1, 0.01), (0.3, 0.7), (0.5, 0.5)):
            away = np.abs(one * k[:, None] + other * k)
            for level in (0.5, 0.8, 0.95, 0.99):
                width = noise_width(law, np.array([0.0, one, other]), level)
                assert both[away <= width + 1e-9].sum() >= level - 1e-9


@pytest.mark.parametrize("law", [GeometricLaw(4.0), RoundedNormalLaw(5.0)], ids=str)
def test_chosen_width_holds_for_the_worst_choice(law, rng):
    """The sum of the m largest of p noises: exceeded in less than one run of twenty."""
    noise = np.sort(law.simulate((400, 300), rng), axis=1)[:, -20:].sum(axis=1)
    assert np.mean(noise > law.chosen_width(20, 300, 0.95)) < 0.05  # by far: Chernoff's bound


def test_chosen_width_of_few_among_very_many():
    """One of p noises, the largest: exactly log p and no less, up to p = 2^62."""
    law = GeometricLaw(2.0)
    for bits in (1, 10, 29, 31, 40, 52, 60, 62):
        wide = law.chosen_width(1, 1 << bits, 0.975)
        assert wide >= law.threshold(0.025 / (1 << bits))
        assert wide <= 2 * (bits * math.log(2) + math.log(40)) + 15
        assert law.chosen_width(2, 1 << bits, 0.975) >= wide
    widths = [law.chosen_width(terms, 40, 0.95) for terms in range(41)]
    assert np.all(np.diff(widths) > 0)  # fewer never exceed the width of more


def test_files():
    for law in LAWS:
        assert count_law_from_dict(law.to_dict()) == law
    for wrong in (
        {},
        {"law": "x", "scale": 1},
        {"law": next(iter(COUNT_LAWS)), "scale": -1},
        {"law": next(iter(COUNT_LAWS)), "scale": True},
        {"law": next(iter(COUNT_LAWS)), "scale": 1e-300},
    ):
        with pytest.raises(ValueError, match="law|scale"):
            count_law_from_dict(wrong)


def test_moments_beyond_doubles_are_not_left_out():
    """An upper bound of the logarithm even where the moment itself overflows."""
    for law in (RoundedNormalLaw(0.8), RoundedNormalLaw(6.0), RoundedNormalLaw(29.0)):
        for share in (0.3, 0.9):
            t = share * law.reach
            assert law.log_moment(t) >= (t * law.scale) ** 2 / 2 - t / 2
