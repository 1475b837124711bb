"""How far the shares of a synthetic table are off: what is told, beside what is so.  M10, M12."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import mercer
from mercer.columns.kinds import labels_of
from mercer.releases.synthetic.accuracy import TableAccuracy, counts_noise
from mercer.sources.arrays import own_codes
from mercer.spaces.landmarks import bins_of, places_in

ALPHA = 1e-9
DOMAIN = mercer.Domain(
    {
        "visits": range(21),
        "cost": (0, 20),
        "ward": ["a", "b", "c", "d", "rare", "rarer"],
        "sex": ["f", "m"],
        "age": (0, 100),
    }
)


def rows(rng, n):
    """Integers, a skewed column, categories with rare levels."""
    return pd.DataFrame(
        {
            "visits": np.minimum(rng.poisson(3, n), 20),
            "cost": np.minimum(np.exp(rng.normal(0, 0.7, n)), 20),
            "ward": rng.choice(DOMAIN.column("ward").labels, n, p=[0.5, 0.3, 0.15, 0.04, 0.008, 0.002]),
            "sex": rng.choice(["f", "m"], n),
            "age": np.clip(rng.normal(50, 10, n), 0, 100),
        }
    )


def bins(domain, codes, weights):
    """Shares of records in the bins of every column, without noise."""
    return [
        np.bincount(places_in(column, own), weights, bins_of(column))
        for column, own in zip(domain.columns, codes.T, strict=True)
    ]


def exact(frame):
    """Those of a file."""
    codes = own_codes(frame, DOMAIN)
    return bins(DOMAIN, codes, np.full(len(codes), 1 / len(codes)))


def realised(release, truth):
    """Errors of a release's shares, and of the noisy shares that it is compared with, in the same parts."""
    table = bins(DOMAIN, release.codes, release.positive)
    pairs = ((table, truth), (release.shares.shares, truth))
    return [_parts(release, [a - b for a, b in zip(one, other, strict=True)]) for one, other in pairs]


def _parts(release, values):
    """Sums of numbers of bins over the parts that are compared: the same cuts as the noisy shares have."""
    found = []
    for column, own, shares in zip(DOMAIN.columns, values, release.shares.shares, strict=True):
        if labels_of(column):
            found.append(own)
        else:
            grown = np.cumsum(np.maximum(shares, 0))
            cuts = sorted({int(np.argmin(np.abs(grown - k * grown[-1] / 4))) + 1 for k in (1, 2, 3)})
            ends = [0, *(cut for cut in cuts if cut < len(own)), len(own)]
            found.append(np.array([own[a:b].sum() for a, b in itertools.pairwise(ends)]))
    return np.concatenate(found)


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(20_000, 1, 1e-6), (20_000, 4, None), (300, 0.1, None)])
def test_what_is_told_is_the_error_but_for_the_noise_of_the_counts(n, epsilon, delta):
    """The triangle inequality, without exception: no release may break it."""
    frame = rows(np.random.default_rng(), n)
    release = mercer.synthetic(frame, domain=DOMAIN, epsilon=epsilon, delta=delta, size=150)
    error, noise = realised(release, exact(frame))
    told = release.accuracy
    assert abs(told.difference - rms(error)) <= rms(noise) * (1 + 1e-9)
    assert told.most == min(told.difference + told.noise, 1)
    clear = told.noise * 4 <= told.difference
    assert math.isnan(told.error) is not clear
    assert ("at most" in str(told)) is not clear
    assert "noise and smoothing together" in str(told)


def test_the_error_told_is_within_a_third_of_the_error():
    """At 20,000 rows and epsilon 4 the counts err by a few thousandths, and the table by more."""
    frame = rows(np.random.default_rng(), 20_000)
    truth = exact(frame)
    inside, runs = 0, 24
    for _ in range(runs):
        release = mercer.synthetic(frame, domain=DOMAIN, epsilon=4, delta=1e-6, size=60)
        error, _ = realised(release, truth)
        told = release.accuracy
        assert told.noise == pytest.approx(0.0019, rel=0.02)
        inside += 1 / 1.34 <= told.difference / rms(error) <= 1.34 or told.error != told.error
    # the noise of the counts is beyond twice its deviation in fewer than one release in four
    assert binom.cdf(inside, runs, 0.75) > ALPHA


def test_the_noise_of_the_shares_has_the_size_that_is_told():
    """The mean square over bins and releases, six and a half deviations wide (fourth moments at most)."""
    frame = rows(np.random.default_rng(), 400)
    truth = np.concatenate(exact(frame))
    squares, runs = [], 40
    for _ in range(runs):
        release = mercer.synthetic(frame, domain=DOMAIN, epsilon=1, delta=1e-6, size=4)
        squares.append(((np.concatenate(release.shares.shares) - truth) / release.shares.deviation) ** 2)
    slack = 6.5 * math.sqrt(6 / (runs * len(truth)))  # a Laplace law's fourth moment is six
    assert abs(np.mean(squares) - 1) < slack < 0.5


def chance_beyond(far, deviation, bins):
    """That the noise of so many bins adds up to more: Chernoff's bound for Laplace's law, both ways."""
    t = np.linspace(0.01, 0.99, 99)
    return 2 * np.min(np.exp(-t * far * math.sqrt(2) / deviation) * (1 - t**2) ** -bins)


def test_persons_are_counted_once():
    """Half of the persons have three rows each: rows for persons would add up to 2, and f to 3/4 of it."""
    frame = rows(np.random.default_rng(), 600)
    frame["id"] = np.append(np.arange(450) // 3, np.arange(150, 300))
    frame["sex"] = np.where(frame["id"] < 150, "f", "m")
    release = mercer.synthetic(frame, domain=DOMAIN, epsilon=50, insist=True, size=20, unit="id")
    deviation = release.shares.deviation
    assert chance_beyond(0.4, deviation, 32) + chance_beyond(0.1, deviation, 1) < ALPHA / 10
    for shares in release.shares.shares:
        assert shares.sum() == pytest.approx(1, abs=0.4)
    assert release.shares.shares[3] == pytest.approx([0.5, 0.5], abs=0.1)


def test_nothing_is_told_where_no_column_was_counted(tmp_path):
    frame = rows(np.random.default_rng(), 500)
    release = mercer.synthetic(frame, domain=DOMAIN, epsilon=1, delta=1e-6, size=40, scale=0.3)
    assert release.shares is None
    assert math.isnan(release.accuracy.difference)
    assert "is not known" in str(release.accuracy)
    assert "shares" not in json.loads(release.save(tmp_path / "t.json").read_text())
    laws = mercer.synthetic(
        frame, domain=DOMAIN, epsilon=1, delta=1e-6, size=40, scale=0.3, public="laws", dry_run=True
    )
    assert "noisy counts of the columns, themselves off by" in laws.expected
    plain = mercer.synthetic(frame, domain=DOMAIN, epsilon=1, delta=1e-6, size=40, scale=0.3, dry_run=True)
    assert "is not known" in plain.expected


def test_a_plan_knows_the_noise_of_the_counts():
    frame = rows(np.random.default_rng(), 700)
    asked = {"domain": DOMAIN, "epsilon": 1, "delta": 1e-6, "size": 20}
    plan = mercer.synthetic(frame, dry_run=True, **asked)
    release = mercer.synthetic(frame, **asked)
    assert f"off by {release.accuracy.noise:.2g} with 700 records" in plan.expected
    assert counts_noise(DOMAIN, release.shares.deviation) == release.accuracy.noise


def test_other_weights_have_an_accuracy_of_their_own():
    frame = rows(np.random.default_rng(), 5000)
    release = mercer.synthetic(frame, domain=DOMAIN, epsilon=4, delta=1e-6, size=60)
    other = release.reweight("l1", bound=3)
    assert other.shares is release.shares
    assert other.accuracy.noise == release.accuracy.noise
    spoilt = TableAccuracy.of(release.shares, DOMAIN, release.codes[:1], np.ones(1))
    assert spoilt.error > 5 * release.accuracy.difference


def test_shares_of_a_file_are_checked(tmp_path):
    frame = rows(np.random.default_rng(), 300)
    release = mercer.synthetic(frame, domain=DOMAIN, epsilon=1, delta=1e-6, size=20)
    path = release.save(tmp_path / "t.json")
    fields = json.loads(path.read_text())
    assert str(mercer.load(path).accuracy) == str(release.accuracy)
    for key, value, message in [
        ("deviation", -1, "deviation"),
        ("columns", [[0.5, 0.5]], "one for each of 5 columns"),
        ("columns", [fields["shares"]["columns"][1]] * 5, "'visits' must be 21"),
        ("columns", [[None] * 21, *fields["shares"]["columns"][1:]], "a share"),
    ]:
        bad = fields | {"shares": fields["shares"] | {key: value}}
        path.write_text(json.dumps(bad))
        with pytest.raises(ValueError, match=message):
            mercer.load(path)


def test_all_records_of_a_small_domain_are_not_moved():
    """One yes/no column of 20,000 rows: the share is right to the noise."""
    for answer in (0.3, 0.97):
        frame = pd.DataFrame({"sick": np.arange(20_000) < answer * 20_000})
        release = mercer.synthetic(frame, domain=mercer.Domain({"sick": bool}), epsilon=1)
        # Laplace noise of scale 5e-4 or less in either of two cells: below .03 but for e^-60
        assert release.probability({"sick": True}) == pytest.approx(answer, abs=0.03)
