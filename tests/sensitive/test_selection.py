"""Cross-validation: J against its definition, its bounds on neighbours, and what fails instead."""

import itertools
import math

import numpy as np
import pytest

from mercer.api.choose import cv_bandwidth, private_bandwidth, scott_bandwidth
from mercer.door.publish import Purse
from mercer.noise import entropy
from mercer.sensitive.summaries.selection import Criterion, CrossValidation, gap_scores, gap_sensitivity
from tests.api.test_selection import tally
from tests.noise.test_exponential import law

LENGTH = {"reflect": 2, "periodic": 1, "open": 2}
WIDTHS = {1: (0.004, 0.03, 0.1, 0.4), 2: (0.02, 0.1, 0.4), 3: (0.05, 0.15, 0.4)}


def normal(u, h):
    return np.exp(-((u / h) ** 2) / 2) / (h * math.sqrt(2 * math.pi))


def kernel(x, h, boundary):
    """All pairs, by images: slow and independent."""
    out, length = 1.0, LENGTH[boundary]
    for axis in x.T:
        gaps = [axis[:, None] - axis[None, :]]
        if boundary == "reflect":
            gaps.append(axis[:, None] + axis[None, :])
        out = out * sum(normal(g + m * length, h) for g in gaps for m in range(-9, 10))
    return out


def reference(x, h, boundary, n):
    narrow, wide = kernel(x, h, boundary), kernel(x, math.sqrt(2) * h, boundary)
    return wide.sum() / n**2 - 2 / (n * (n - 1)) * (narrow.sum() - np.trace(narrow))


def values(rows, criterion):
    return CrossValidation(tally(rows), criterion).values()


@pytest.mark.parametrize("boundary", LENGTH)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_definition(d, boundary, rng):
    criterion = Criterion(WIDTHS[d], boundary, d, 42)
    x = rng.integers(0, criterion.cells + 1, (40, d)) / criterion.cells
    x[0], x[1] = 0.0, 1.0
    rows = np.vstack([x, np.full((2, d), np.nan)])  # two without values count in n
    wanted = [reference(x, h, boundary, 42) for h in criterion.bandwidths]
    scale = np.array([reference(x[:1], h, boundary, 1 + 1e-9) for h in criterion.bandwidths])
    assert np.all(np.abs(values(rows, criterion) - wanted) < 1e-7 * np.abs(scale) + 1e-9)


def neighbours(d, n, rng):
    """Pairs that differ in the last row: random ones, and everybody at a wall, corner or point."""
    for spread in (1.0, 0.1, 0.01):
        rest = np.clip(0.5 + spread * (rng.random((n - 1, d)) - 0.5), 0, 1)
        yield rest, rng.random(d), rng.random(d)
        yield rest, np.full(d, 0.5), np.full(d, np.nan)
    for place in (0.0, 0.5, 1.0):
        rest = np.full((n - 1, d), place)
        for away in np.geomspace(0.01, 0.9, 12):
            yield rest, np.full(d, place), np.full(d, abs(place - away))
        yield rest, np.full(d, place), np.full(d, np.nan)


@pytest.mark.parametrize(
    ("d", "boundary"), [(1, "reflect"), (1, "periodic"), (1, "open"), (2, "reflect"), (3, "open")]
)
def test_no_neighbours_move_it_further_than_the_bounds(d, boundary, rng):
    n = 30
    criterion = Criterion(WIDTHS[d], boundary, d, n)
    worst, score = np.zeros_like(criterion.bounds), 0.0
    pairs = neighbours(d, n, rng)
    for rest, one, two in itertools.islice(pairs, 0, None, 4 if d == 3 else 1):
        a, b = values(np.vstack([rest, one]), criterion), values(np.vstack([rest, two]), criterion)
        change = np.abs((a[:, None] - a[None, :]) - (b[:, None] - b[None, :]))
        np.fill_diagonal(change, np.abs(a - b))
        worst = np.maximum(worst, change)
        moved = gap_scores(a, criterion.bounds) - gap_scores(b, criterion.bounds)
        score = max(score, np.max(np.abs(moved)))
    assert np.all(worst <= criterion.bounds)
    assert score <= gap_sensitivity(n).value
    if d == 1:  # and the bounds are not idle: everybody at the wall, one row leaves
        assert np.max(np.diag(worst) / np.diag(criterion.bounds)) > 0.95
        assert np.max(worst / criterion.bounds) > 0.95
        assert np.any(worst > criterion.bounds / 2)  # bounds halved: caught


def test_bounds_are_half_of_the_sum_of_suprema():
    """M12 adds suprema, (2/n) sup K*K + (4/n) sup K; the two terms have opposite signs."""
    n, h = 1000, 0.05
    bound = Criterion((h, 0.1), "open", 1, n).bounds[0, 0]
    suprema = 2 / n * normal(0, math.sqrt(2) * h) + 4 / n * normal(0, h)
    assert 0.45 * suprema < bound < 0.52 * suprema
    wall = Criterion((h, 0.1), "reflect", 1, n).bounds[0, 0]
    assert wall == pytest.approx(2 * bound, rel=0.01)  # a row at the wall meets its image


def clipped_likelihood(x, h, low, high):
    """sum_i of the clipped leave-one-out log-likelihood, all of d dimensions alike."""
    square = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)
    values = np.exp(-square / (2 * h**2)) / (2 * math.pi * h**2) ** (x.shape[1] / 2)
    np.fill_diagonal(values, 0.0)
    with np.errstate(divide="ignore"):
        return np.sum(np.clip(np.log(values.sum(axis=1) / (len(x) - 1)), low, high))


@pytest.mark.parametrize(("d", "times"), [(1, 2.0), (3, 6.0)])
def test_clipped_leave_one_out_likelihood_fails(d, times):
    """Clipping each record's term does not bound what a record does to the terms of others.

    The record stands amid 2d others that are near to nobody else: when it leaves, each of them
    falls by the whole clipping range.  The same pair moves our score by less than its bound.
    """
    h, reach = 0.02, 4.0
    rest = np.vstack([0.5 + s * reach * h * np.eye(d) for s in (-1, 1)])
    one, two = (np.vstack([rest, np.full(d, place)]) for place in (0.5, 0.02))
    n = len(one)
    top = math.log(math.exp(-(reach**2) / 2) / (2 * math.pi * h**2) ** (d / 2) / (n - 1))
    low, high = top - 6, top + 0.5
    change = clipped_likelihood(one, h, low, high) - clipped_likelihood(two, h, low, high)
    assert abs(change) > times * (high - low)
    criterion = Criterion((h if d == 1 else 0.05, 0.2), "open", d, n)
    moved = np.abs(values(one, criterion) - values(two, criterion))
    assert np.all(moved <= np.diag(criterion.bounds))


def test_private_choice_is_near_the_best(rng):
    """n = 10^4, epsilon = 0.2: in expectation within 0.03 of the least J, where int f^2 = 2.26.

    Dividing each J by its own bound, also of sensitivity 1, takes a bandwidth ten times too wide.
    """
    n, epsilon = 10_000, 0.2
    criterion = Criterion.of(1, n, "reflect")
    j = values(np.clip(rng.normal(0.5, 1 / 8, n), 0, 1), criterion)
    chosen = law(gap_scores(j, criterion.bounds), epsilon / 2)
    assert chosen @ (j - j.min()) < 0.03
    widths = np.array(criterion.bandwidths)
    assert 0.01 < chosen @ widths < 0.06
    divided = law(-j / np.diag(criterion.bounds), epsilon / 2)
    assert divided @ (j - j.min()) > 0.3


def test_bandwidths_in_the_units_of_the_data(rng):
    x = rng.normal(50, 10, 20_000)
    scott = scott_bandwidth(x, bounds=(0, 100), epsilon=2)
    assert scott.values[0] == pytest.approx(1.06 * 10 * 20_000**-0.2, rel=0.1)
    cross = cv_bandwidth(x, bounds=(0, 100), epsilon=2)
    assert 0.2 < cross.values[0] < 10
    assert cross.privacy.delta == 0
    two = scott_bandwidth(np.stack([x, 3 * x], axis=1), bounds=[(0, 100), (0, 300)], epsilon=2)
    assert two.values[1] == pytest.approx(3 * two.values[0], rel=0.1)
    assert two.values[0] == pytest.approx((1 / 20_000) ** (1 / 6) * 10, rel=0.1)  # d + 2, not d + 1
    assert "private-scott" in str(two)
    assert two.to_dict()["columns"] == ["x1", "x2"]


def test_scott_is_cut_to_a_public_range():
    same = scott_bandwidth([0.5] * 50_000, bounds=(0, 1), epsilon=5)
    assert same.values == (1e-3,)


def test_lead_in_for_the_density(rng):
    rows = rng.random((3000, 2))
    counted = tally(rows)
    for method in ("private-scott", "private-cv"):
        lengths = private_bandwidth(
            counted,
            counted.domain,
            n=3000,
            method=method,
            epsilon=0.3,
            boundary="reflect",
            payer=Purse(entropy.Secure()),
        )
        assert len(lengths) == 2
        assert all(1e-3 <= h <= 0.5 for h in lengths)
    with pytest.raises(ValueError, match="unit cannot be combined"):
        cv_bandwidth({"x": [0.1, 0.2], "id": [1, 2]}, bounds=(0, 1), epsilon=1, unit="id")
