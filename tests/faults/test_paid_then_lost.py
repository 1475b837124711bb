"""What was charged gives something usable, whatever the records and the noise are.

An exception after the charge is a release that was paid for and lost.  Every kind, at the ends of
what can be asked: tiny and huge epsilons, two records, none that fits, all alike.  What cannot be
done is refused before, for public reasons.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.api import choose as selection
from mercer.door.publish import Purse
from mercer.releases.choice import QuantileRelease

pytestmark = pytest.mark.filterwarnings("ignore::mercer.common.checks.PrivacyWarning")
X = np.linspace(0, 1, 7)
T = np.linspace(0, 1, 5)
DOMAIN = mercer.Domain({"a": (0, 1), "c": bool, "k": ["u", "v", "w"]})
TINY = mercer.Domain({"c": bool, "k": ["u", "v"]})
LINE = mercer.Domain({"a": (0, 1)})
EPSILONS = (1e-9, 7e-9, 1e-6, 1e-4, 1e-3, 0.1, 1.0, 20.0)  # beyond, refused
DELTAS = (0.0, 1e-15, 1e-6, 0.5)
SIZES = (2, 3, 40, 300)
RECORDS = {
    "spread": lambda n: np.linspace(0, 1, n),
    "missing": lambda n: np.full(n, np.nan),
    "alike": lambda n: np.full(n, 0.5),
    "at the end": lambda n: np.zeros(n),
    "beyond": lambda n: np.full(n, 1e300),
}


@pytest.fixture
def charges(monkeypatch):
    """Every charge at the door."""
    real, made = Purse.pay, []

    def pay(*args, **kwargs):
        paid = real(*args, **kwargs)  # which refuses before it charges
        made.append(kwargs["what"])
        return paid

    monkeypatch.setattr(Purse, "pay", pay)
    return made


def _kernel(x, z):
    return float(np.exp(-abs(x - z)))


def _frame(d):
    some = np.isfinite(d)
    return pd.DataFrame(
        {
            "a": d,
            "c": [bool(i % 2) if fits else None for i, fits in enumerate(some)],
            "k": ["uvw"[i % 3] if fits else None for i, fits in enumerate(some)],
        }
    )


def _density(**how):
    return lambda d, p: mercer.density(d, bounds=(0, 1), **how, **p)


def _plane(**how):
    return lambda d, p: mercer.density(np.column_stack([d, d[::-1]]), bounds=[(0, 1)] * 2, **how, **p)


def _curve(**how):
    return lambda d, p: mercer.mean_curve(np.outer(d, np.ones(5)), grid=T, bound=1, **how, **p)


def _machine(call, **how):
    return lambda d, p: call(d[:, None], np.resize([0.0, 1.0], len(d)), bounds=(0, 1), **how, **p)


def _table(**how):
    return lambda d, p: mercer.synthetic(
        _frame(d)[["a"]] if how.get("domain") is LINE else _frame(d),
        **{"domain": DOMAIN, "size": 8} | how,
        **p,
    )


def _pure(call):
    """Of a kind that has no delta."""
    return lambda d, p: call(d, {k: v for k, v in p.items() if k != "delta"})


def values(release):
    return [release(X)]


def areas(release):
    return [release(X), release.integral(0, 0.5), release.standard_error(X)]


def plane(release):
    return [release(np.column_stack([X, X]))]


def answers(release):
    return [release.weights, release.predict(X[:, None]), release.standard_error(X[:, None])]


def table(release):
    return [release.expect("a"), release.weights, release.sample(5, rng=0)["a"]]


KINDS = {
    **{
        f"density, {basis}, {bandwidth}, {kernel}": (
            _density(
                basis=basis,
                bandwidth=bandwidth,
                kernel=kernel,
                boundary="open" if basis in ("landmarks", "grid", "eigenfunctions") else None,
            ),
            areas,
        )
        for basis, kernel in [
            (None, "gaussian"),
            ("cosine", "gaussian"),
            ("landmarks", "matern52"),
            ("landmarks", "gaussian"),
            ("grid", "exponential"),
            ("eigenfunctions", "gaussian"),
        ]
        for bandwidth in ("auto", "private-scott", "private-cv")
    },
    "density of two columns": (_plane(), plane),
    "density of two columns, private": (_plane(bandwidth="private-scott"), plane),
    **{
        f"curve, {penalty}, {order}": (_curve(penalty=penalty, order=order), values)
        for penalty in ("auto", "rule", "private-cv", 0.01)
        for order in ("noise-first", "paper")
        if (penalty, order) != ("auto", "paper")
    },
    "curves that overlap": (
        lambda d, p: mercer.mean_curves(
            {"a": np.outer(d, X), "b": np.outer(d, X)}, disjoint=False, grid=X, bound=1, **p
        )["a"],
        values,
    ),
    "curve bound": (
        _pure(lambda d, p: mercer.curve_bound(np.outer(d, X), grid=X, most=9, **p)),
        lambda r: [r.values],
    ),
    **{
        f"classifier, {method}, {penalty}": (
            _machine(mercer.classifier, classes=(0, 1), method=method, penalty=penalty),
            answers,
        )
        for method in ("objective", "output")
        for penalty in ("rule", (0.01, 0.1, 1.0))
    },
    **{
        f"regression, {loss}, {method}": (
            _machine(mercer.regression, y_bounds=(0, 1), loss=loss, method=method),
            answers,
        )
        for loss, method in (
            ("huber", "objective"),
            ("huber", "output"),
            ("squared", "output"),
            ("squared", "moments"),
        )
    },
    **{
        f"synthetic, {method}, {style}": (
            _table(method=method, weights=style, **({"features": 10} if method == "features" else {})),
            table,
        )
        for method in ("landmarks", "features")
        for style in ("positive", "l1", "free", "uniform")
    },
    **{
        f"synthetic, two features, {style}": (
            _table(domain=LINE, method="features", weights=style, features=4, size=2, scale="public"),
            table,
        )
        for style in ("positive", "l1", "free", "uniform")
    },
    "synthetic, public": (_table(scale="public"), table),
    "synthetic, exponential": (
        _pure(
            lambda d, p: mercer.synthetic(
                _frame(d)[["c", "k"]], domain=TINY, method="exponential", size=3, **p
            )
        ),
        lambda r: [r.weights],
    ),
    "synthetic, own kernel": (
        lambda d, p: mercer.synthetic(
            list(d), kernel=mercer.OwnKernel(_kernel, supremum=1.0), public=[0.0, 0.5, 1.0], **p
        ),
        lambda r: [r.weights],
    ),
    "histogram": (
        lambda d, p: mercer.histogram(d, bounds=(0, 1), bins=6, insist=True, **p),
        lambda r: [r.counts],
    ),
    "histogram, sparse": (
        lambda d, p: mercer.histogram(d, bounds=(0, 1), bins=6, insist=True, sparse=True, **p),
        lambda r: [r.counts],
    ),
    "table": (
        lambda d, p: mercer.table(_frame(d), domain=DOMAIN, bins={"a": 4}, insist=True, **p),
        lambda r: [r.counts],
    ),
    "margins": (
        lambda d, p: mercer.table(_frame(d), domain=DOMAIN, bins={"a": 4}, margins=2, insist=True, **p),
        lambda r: [r.margin("a", "c").counts],
    ),
    "count": (lambda d, p: mercer.count(_frame(d), where={"c": True}, insist=True, **p), lambda r: [r.value]),
    "count, optimal": (
        _pure(
            lambda d, p: mercer.count(
                _frame(d[:40]), where={"c": True}, mechanism="optimal", insist=True, **p
            )
        ),
        lambda r: [r.value],
    ),
    "proportion": (
        lambda d, p: mercer.proportion(_frame(d), where={"c": True}, insist=True, **p),
        lambda r: [r.value],
    ),
    "quantiles": (
        _pure(lambda d, p: mercer.quantiles(d, [0.1, 0.5, 0.9], bounds=(0, 1), **p)),
        lambda r: [r.values],
    ),
    "iqr": (_pure(lambda d, p: mercer.iqr(d, bounds=(0, 1), **p)), lambda r: [r.value]),
    "iqr, tested": (
        lambda d, p: mercer.iqr(d, bounds=(0, 1), method="propose-test-release", **p),
        lambda r: [0.0 if r.value is None else r.value],
    ),
    "bandwidth, scott": (
        _pure(lambda d, p: selection.scott_bandwidth(d, bounds=(0, 1), **p)),
        lambda r: [r.values],
    ),
    "bandwidth, cv": (
        _pure(lambda d, p: selection.cv_bandwidth(d, bounds=(0, 1), **p)),
        lambda r: [r.values],
    ),
    "function": (
        _pure(
            lambda d, p: mercer.select_function(
                {"flat": lambda x: 0 * x + 1, "up": lambda x: 2 * x}, d, bounds=(0, 1), **p
            )
        ),
        lambda r: [r.index],
    ),
    **{
        f"live, {route}, {kernel}": (
            lambda d, p, route=route, kernel=kernel: mercer.live(
                d, bounds=(0, 1), route=route, kernel=kernel, **p
            ),
            lambda r: [r.ask(X)],
        )
        for route, kernel in [
            ("auto", "gaussian"),
            ("auto", "exponential"),
            ("auto", "matern52"),
            ("cholesky", "gaussian"),
            ("cholesky", "matern32"),
        ]
    },
}


def _usable(release, probe, folder):
    for found in probe(release):
        assert np.all(np.isfinite(np.asarray(found, dtype=float)))
    if hasattr(release, "save"):
        path = folder / "release.json"
        path.unlink(missing_ok=True)
        release.save(path)
        if not isinstance(release, QuantileRelease):  # a file of numbers, to read as they stand
            assert type(mercer.load(path)) is type(release)


def _asked(rng, most):
    """Corners that are always tried, and others at random: no seed is chosen."""
    yield from itertools.product((1e-9, 1e-3, 20.0), (0.0, 1e-6), (2,), ("spread",))
    yield from ((1e-9, 0.0, 2, "missing"), (1e-3, 1e-6, 2, "missing"), (1.0, 1e-6, 300, "spread"))
    for _ in range(most):
        yield (
            float(rng.choice(EPSILONS)),
            float(rng.choice(DELTAS)),
            int(rng.choice(SIZES)),
            str(rng.choice(list(RECORDS))),
        )


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_charged_is_usable(kind, charges, rng, tmp_path):
    make, probe = KINDS[kind]
    slow = kind.startswith(("synthetic", "live", "curve,", "density of"))
    made = 0
    for epsilon, delta, n, which in _asked(rng, 1 if slow else 4):
        promise = {"epsilon": epsilon, "rng": int(rng.integers(1 << 30))}
        if delta:
            promise["delta"] = delta
        charges.clear()
        try:
            release = make(RECORDS[which](n), promise)
        except (ValueError, TypeError):
            assert not charges, f"{charges} was charged and lost"  # refused beforehand
            continue
        assert charges
        _usable(release, probe, tmp_path)
        made += 1
    assert made


def test_all_weights_vanish(charges, rng, tmp_path):
    """Two random features of two records: noise often leaves nothing of the target."""
    level = 0
    for style in ("positive", "l1", "uniform", "free"):
        for _ in range(30):
            d = rng.uniform(size=2)[:, None]
            release = mercer.synthetic(
                d,
                domain=LINE,
                method="features",
                weights=style,
                size=2,
                features=2,
                scale="public",
                epsilon=1e-3,
                rng=int(rng.integers(1 << 30)),
            )
            assert np.all(np.isfinite(release.weights))
            assert np.any(release.weights)
            if "noise left nothing of the records" in release.privacy.mechanism:
                level += 1
                assert np.allclose(release.weights, 0.5)
                assert 0 <= release.expect("a") <= 1
                _usable(release, table, tmp_path)
    assert level  # one in five, over the styles with bounded weights
    assert len(charges) == 120


def test_shares_of_epsilon_are_checked_before_the_charge(charges):
    """Each choice needs 1e-9: a share below that was found out after the charge."""
    d = np.linspace(0, 1, 50)
    calls = [
        lambda: mercer.quantiles(d, [0.1, 0.9], bounds=(0, 1), epsilon=1.5e-9, rng=0),
        lambda: mercer.iqr(d, bounds=(0, 1), epsilon=1.5e-9, rng=0),
        lambda: selection.scott_bandwidth(d, bounds=(0, 1), epsilon=1.5e-9, rng=0),
        lambda: mercer.density(d, bounds=(0, 1), bandwidth="private-cv", epsilon=2e-9, rng=0),
        lambda: mercer.density(d, bounds=(0, 1), bandwidth="private-scott", epsilon=9e-9, rng=0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="too small to be shared"):
            call()
    assert not charges


def test_noise_that_cannot_be_drawn_is_refused_before_the_charge(charges):
    """A lattice that is too fine for draws of 64 bits is a matter of epsilon, delta and size."""
    d = np.linspace(0, 1, 50)
    calls = [
        lambda more: mercer.density(
            d, bounds=(0, 1), bandwidth="private-scott", basis="landmarks", boundary="open", **more
        ),
        lambda more: mercer.synthetic(_frame(d), domain=DOMAIN, size=10, **more),
        lambda more: mercer.synthetic(
            _frame(d), domain=DOMAIN, method="features", features=10, size=5, **more
        ),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="finer lattice|epsilon"):
            call({"epsilon": 100.0, "delta": 1e-6, "rng": 0})
    assert not charges
