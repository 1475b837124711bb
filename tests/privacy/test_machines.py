"""The promise of kernel machines: what one row can move, and what an attacker can show.  M8, E9."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.door.objective import FINISH, Objective, calibrate_tilt, tilted_bounds, tilted_noise
from mercer.noise.entropy import Seeded
from mercer.noise.mechanisms import Gaussian
from mercer.promise.events import Sensitivity, Slopes, corners, gaussian_log_delta
from mercer.sensitive.data import open_rows
from mercer.sensitive.labels import Classes, Labels, Response
from mercer.sensitive.summaries.machine import MachineBounds, MachineObjective, MachineSummary
from mercer.sensitive.summaries.risk import Examples, Machine
from mercer.spaces.losses import Hinge, Huber, Insensitive, Logistic, Pinball, Squared
from mercer.spaces.maps import Linear, RandomFeatures

CONFIDENCE = 1 - 1e-9
LOSSES = [
    Logistic(),
    Hinge(0.1),
    Hinge(0.005),
    Huber(0.2),
    Insensitive(0.05, 0.02),
    Pinball(0.9, 0.05),
    Pinball(0.5, 0.02),
    Squared(),
]
NAMES = [f"{loss.name}-{i}" for i, loss in enumerate(LOSSES)]


def minima(phi, target, loss, penalty):
    """Independent of the library's solver: damped Newton on many small problems at once.

    phi is (problems, rows, features).
    """
    many, n, m = phi.shape
    w = np.zeros((many, m))

    def objective(w):
        f = np.einsum("bnm,bm->bn", phi, w)
        return loss.jet(f, target).value.mean(1) + penalty * np.sum(w**2, 1)

    for _ in range(200):
        jet = loss.jet(np.einsum("bnm,bm->bn", phi, w), target)
        gradient = np.einsum("bn,bnm->bm", jet.slope, phi) / n + 2 * penalty * w
        if np.linalg.norm(gradient, axis=1).max() < 1e-13:
            break
        hessian = np.einsum("bn,bni,bnj->bij", jet.curve, phi, phi) / n
        hessian += 2 * penalty * np.eye(m)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        length, here = np.ones(many), objective(w)
        for _ in range(40):
            worse = objective(w - length[:, None] * step) > here + 1e-15
            if not worse.any():
                break
            length[worse] /= 2
        w = w - length[:, None] * step
    return w


def pairs(loss, rng, many, n, m):
    """Features of neighbours: random rows and worst ones, the last row is replaced."""
    phi = rng.standard_normal((many, n, m))
    phi[::3] = np.round(phi[::3])
    phi /= np.maximum(np.linalg.norm(phi, axis=2, keepdims=True), 1e-9)
    target = rng.uniform(-1, 1, (many, n))
    if loss.classes:
        target = np.sign(target)
    target[1::3] = np.sign(target[1::3])
    other, changed = phi.copy(), target.copy()
    other[:, -1] = phi[rng.permutation(many), -1]
    other[::2, -1] = phi[::2, -1]  # same row, other answer: the worst
    changed[:, -1] = -np.sign(target[:, -1] + 1e-300)
    target[::2, -1] = np.sign(target[::2, -1] + 1e-300)
    return phi, target, other, changed


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_a_row_moves_the_minimum_by_no_more_than_the_bound_and_nearly_that(loss, rng):
    reached = 0.0
    for penalty, n in ((0.003, 40), (0.05, 12), (2.0, 5)):
        phi, target, other, changed = pairs(loss, rng, 700, n, 4)
        moved = minima(phi, target, loss, penalty) - minima(other, changed, loss, penalty)
        bound = loss.steepness(penalty=penalty, kappa=1.0) / (penalty * n)
        share = np.linalg.norm(moved, axis=1) / bound
        assert share.max() <= 1 + 1e-9
        reached = max(reached, float(share.max()))
    assert reached > 1 / 3  # the bound is not idle


def test_an_intercept_free_of_the_penalty_is_seen(rng):
    """E9: the same data, one feature a constant without penalty; the bound of M8 fails."""
    loss, penalty, n = Hinge(0.05), 1.0, 9
    x = np.concatenate([np.full(5, 0.1), np.full(4, -0.1)])[:, None]
    y = np.concatenate([np.ones(5), -np.ones(4)])
    flipped = y.copy()
    flipped[0] = -1  # the majority changes: a free intercept jumps from one side to the other

    def free(y):
        def best(c):
            w = minimize_scalar(lambda w: loss.jet(x[:, 0] * w + c, y).value.mean() + penalty * w * w)
            return w.fun

        return minimize_scalar(best, bounds=(-3, 3), method="bounded").x

    bound = 1 * math.sqrt(1.01) / (penalty * n)
    assert abs(free(y) - free(flipped)) > 5 * bound
    phi = np.concatenate([np.ones((n, 1)), x], axis=1)[None]
    held = minima(phi, y[None], loss, penalty) - minima(phi, flipped[None], loss, penalty)
    assert np.linalg.norm(held) <= bound


def summary_of(x, y, loss, penalty, *, features=None, many=1, classes=True, machines=None):
    target = Classes((0, 1)) if classes else Response(-1, 1)
    rows = open_rows(
        np.asarray(x), columns=None, unit=None, dimension=None, labels=Labels(np.asarray(y), target)
    )
    domain = Box.of([(0.0, 1.0)] * len(rows.names), rows.names, most=99)
    features = features or Linear(1.0, len(rows.names))
    one = Machine(loss, penalty, 1 if classes else None)
    bounds = MachineBounds(machines or (one,) * many, features, len(np.asarray(x)))
    return MachineSummary(Examples(rows, domain), bounds, unit="row")


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_the_library_solves_to_its_stated_distance(loss, rng):
    n, penalty = 300, 0.004
    x = rng.random((n, 3))
    y = rng.random(n) < x[:, 0] if loss.classes else np.tanh(3 * rng.standard_normal(n) * x[:, 1])
    features = RandomFeatures.spanning(0.7, "gaussian", np.full(3, 0.4), 12)
    summary = summary_of(x, y, loss, penalty, features=features, classes=loss.classes)
    found = summary.coordinates() / penalty
    phi = features.features(x)[None]
    exact = minima(phi, (2.0 * y - 1 if loss.classes else y)[None], loss, penalty)[0]
    distance = summary.bounds.left(summary.bounds.machines[0]) / penalty
    assert np.linalg.norm(found - exact) <= distance
    assert distance <= 0.002 * loss.steepness(penalty=penalty, kappa=features.kappa) * features.kappa / (
        penalty * n
    )


def test_the_papers_solvers_agree(rng):
    """scikit-learn on the same features: hinge with a penalised intercept, logistic, ridge."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    n, penalty = 400, 0.01
    x, features = rng.random((n, 2)), RandomFeatures.spanning(1.0, "matern52", np.full(2, 0.5), 20)
    y = (x.sum(1) + 0.3 * rng.standard_normal(n) > 1).astype(int)
    phi = features.features(x)
    hard = LinearSVC(loss="hinge", C=1 / (2 * penalty * n), tol=1e-8, max_iter=10**6, fit_intercept=False)
    cases = [
        (Hinge(0.001), hard.fit(phi, y).coef_[0], 0.02),
        (
            Logistic(),
            LogisticRegression(C=1 / (2 * penalty * n), fit_intercept=False, tol=1e-10, max_iter=10**4)
            .fit(phi, y)
            .coef_[0],
            1e-4,
        ),
    ]
    for loss, coefficients, close in cases:
        own = summary_of(x, y, loss, penalty, features=features).coordinates() / penalty
        assert np.linalg.norm(own - coefficients) <= close * np.linalg.norm(own)
    t = np.sin(5 * x[:, 0])
    ridge = Ridge(alpha=penalty * n, fit_intercept=False, tol=1e-12).fit(phi, t).coef_
    own = summary_of(x, t, Squared(), penalty, features=features, classes=False).coordinates()
    assert np.linalg.norm(own / penalty - ridge) <= 1e-4 * np.linalg.norm(ridge)


def test_an_exact_kernel_solution_is_the_same_function(rng):
    """With a landmark at every row the feature space holds the whole kernel solution."""
    from mercer.spaces.kernels import KERNELS
    from mercer.spaces.maps import LandmarkMap

    n, penalty, h = 40, 0.02, 0.2
    x = rng.random((n, 2))
    y = (rng.random(n) < 0.5).astype(int)
    sign = 2.0 * y - 1
    features = LandmarkMap.spanning(0.5, "gaussian", np.full(2, h), x)
    own = summary_of(x, y, Logistic(), penalty, features=features).coordinates() / penalty
    gram = KERNELS["gaussian"](((h * h, 0.0), (0.0, h * h)))(x, x) + 0.25
    a = np.zeros(n)  # f = gram a; the minimum has a = -slope / (2 penalty n)
    for _ in range(100):
        jet = Logistic().jet(gram @ a, sign)
        residual = a + jet.slope / (2 * penalty * n)
        a -= np.linalg.solve(np.eye(n) + (jet.curve / (2 * penalty * n))[:, None] * gram, residual)
    assert np.max(np.abs(features.features(x) @ own - gram @ a)) < 2e-3  # within the solver's gap


def test_a_loose_solver_is_seen(rng, monkeypatch):
    """E9: gradient steps that stop by a rule that looks at the data move more than the bound."""
    loss, penalty, n = Hinge(0.1), 0.01, 1500
    x = rng.random((n, 2))
    y = (x[:, 0] > 0.5).astype(int)
    other = y.copy()
    other[0] = 1 - y[0]

    def moved():
        one, two = (summary_of(x, t, loss, penalty) for t in (y, other))
        change = np.linalg.norm(one.coordinates() - two.coordinates())
        return change / one.sensitivity("l2").value

    assert moved() <= 1
    steps = iter([2, 80])

    def loose(risk, aims):
        w = np.zeros((1, risk.size))
        for _ in range(next(steps)):
            w = w - risk.sweep(w, curve=False).gradient / 6
        return w

    monkeypatch.setattr("mercer.sensitive.summaries.machine.minimise", loose)
    assert moved() > 1


# noise in the objective: exact loss of privacy on a line


def line_delta(loss, row, other, rest, penalty, s, epsilon):
    """The true delta of w(b) between two data sets with one feature, by integration over w.

    `row` and `other` are (feature, target) of the row that differs, `rest` those that both share.
    """
    n = len(rest[0]) + 1
    reach = (12 * s + 2 * n) / (2 * penalty * n)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(-reach, reach, 1200)
    half = (edges[1] - edges[0]) / 2
    w = ((edges[:-1] + edges[1:]) / 2)[:, None] + half * nodes

    def log_density(feature, target):
        phi, y = np.append(rest[0], feature), np.append(rest[1], target)
        jet = loss.jet(w[..., None] * phi, y)
        b = jet.slope @ phi + 2 * penalty * n * w
        return -(b**2) / (2 * s**2) + np.log(jet.curve @ phi**2 + 2 * penalty * n)

    one, two = log_density(*row), log_density(*other)
    density = np.exp(one) / (s * math.sqrt(2 * math.pi))
    excess = density * np.maximum(0.0, -np.expm1(np.minimum(epsilon + two - one, 0.0)))
    return float(half * np.sum(excess * weights))


SMOOTH = [Logistic(), Hinge(0.1), Huber(0.3), Insensitive(0.05, 0.05), Pinball(0.8, 0.1)]


@pytest.mark.parametrize("loss", SMOOTH, ids=[loss.name for loss in SMOOTH])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_noise_in_the_objective_keeps_its_delta_and_uses_it(loss, epsilon):
    """The formula for delta against integration, on rows with one feature; 20 % less is seen."""
    delta = 1e-3
    rest = (np.array([0.3, -0.2, 0.1]), np.array([1.0, -1.0, 1.0]))
    share, lost = (1 - FINISH) * epsilon, (1 - FINISH) * delta
    worst, faulty = 0.0, 0.0
    for penalty in (1.5, 100.0):  # strong: slopes stay at the corners, the worst
        growth = math.log1p(loss.curvature / (2 * penalty * 4))
        if growth > share / 2:
            continue
        s = calibrate_tilt([Slopes(*loss.slopes)], growth, 1, epsilon=epsilon, delta=delta).scale
        for other in ((1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, 1.0)):
            for pair in (((1.0, 1.0), other), (other, (1.0, 1.0))):
                worst = max(worst, line_delta(loss, *pair, rest, penalty, s, share))
                faulty = max(faulty, line_delta(loss, *pair, rest, penalty, 0.8 * s, share))
    assert 0 < worst <= lost
    assert faulty > 1.5 * worst
    if loss.name in ("hinge", "epsilon-insensitive", "huber"):  # their slopes reach the ends
        assert worst > 0.3 * lost
        assert faulty > lost


def test_pure_noise_in_the_objective_has_a_bounded_ratio(rng):
    """log p_D / p_D' at random weights in three features, all losses: never above epsilon."""
    for loss in SMOOTH:
        n, penalty, m = 6, 5.0, 3
        growth = math.log1p(loss.curvature / (2 * penalty * n))
        tilt = calibrate_tilt([Slopes(*loss.slopes)], growth, m, epsilon=1.0, delta=0.0)
        phi, target, other, changed = pairs(loss, rng, 400, n, m)
        w = rng.standard_normal((400, m)) * np.exp(rng.uniform(-3, 3, (400, 1)))

        def log_density(phi, target, w=w, loss=loss, penalty=penalty, n=n, m=m, tilt=tilt):
            jet = loss.jet(np.einsum("bnm,bm->bn", phi, w), target)
            b = np.einsum("bn,bnm->bm", jet.slope, phi) + 2 * penalty * n * w
            h = np.einsum("bn,bni,bnj->bij", jet.curve, phi, phi) + 2 * penalty * n * np.eye(m)
            return -np.linalg.norm(b, axis=1) / tilt.law.scale + np.linalg.slogdet(h)[1]

        ratio = np.abs(log_density(phi, target) - log_density(other, changed))
        assert ratio.max() <= 1 - FINISH
        if loss.name == "hinge":
            assert ratio.max() > 0.8  # and comes near


def test_noise_in_the_objective_is_one_gaussian_mechanism_and_a_little():
    """The sum over corners, and that it costs one to two per cent over sensitivity 2 kappa."""
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-5), (5.0, 1e-9)):
        s = calibrate_tilt([Slopes(-1.0, 0.0)], 0.0, 50, epsilon=epsilon, delta=delta).scale
        e, d = (1 - FINISH) * epsilon, (1 - FINISH) * delta
        total = sum(math.exp(gaussian_log_delta(v / s, epsilon=e)) for v in corners(Slopes(-1.0, 0.0)) if v)
        assert 0.998 * d < total <= d
        alone = 2 * Gaussian().multiplier(1, epsilon=epsilon, delta=delta)
        assert alone < s < 1.025 * alone
    many = calibrate_tilt([Slopes(-1.0, 0.0)] * 5, 0.0, 50, epsilon=1, delta=1e-5).scale
    one = calibrate_tilt([Slopes(-1.0, 0.0)], 0.0, 50, epsilon=1, delta=1e-5).scale
    assert math.sqrt(5) * one < many < 1.15 * math.sqrt(5) * one
    assert max(corners(Slopes(-0.2, 0.8))) == 1.6
    assert sorted(corners(Slopes(-1, 1)))[::3] == [math.sqrt(2), 2]


def test_noise_in_an_objective_is_for_its_own_machines(rng):
    """Noise for flatter machines, or for fewer of them, would be smaller under the same statement."""
    x, y, promise = rng.random((30, 1)), rng.integers(0, 2, 30), {"epsilon": 1.0, "delta": 1e-5}

    def objective(loss, many=1):
        machine = Machine(loss, 4.0, 1 if loss.classes else None)
        bounds = MachineBounds((machine,) * many, Linear(1.0, 1), 30)
        bounds = tilted_bounds(bounds, **promise)
        rows = open_rows(x, columns=None, unit=None, dimension=None, labels=Labels(y, Classes((0, 1))))
        domain = Box.of([(0.0, 1.0)], rows.names)
        return MachineObjective(MachineSummary(Examples(rows, domain), bounds, unit="row"))

    mine, flat, several = objective(Logistic()), objective(Pinball(0.5, 0.1)), objective(Logistic(), 3)
    assert Objective(mine).calibrate(mine.sensitivity("l2"), mine.size, **promise).event
    for other in (flat, several):
        with pytest.raises(ValueError, match="for its own machines; nothing was drawn"):
            Objective(other).calibrate(mine.sensitivity("l2"), mine.size, **promise)


# audits: the real solver and the real noise, many runs at once as machines of one problem


def released(y, method, promise, runs, rng, *, shrink=1.0):
    """One weight of `runs` releases on three rows of one column; `shrink` makes noise too small."""
    x, loss, penalty, features = np.array([[1.0], [0.3], [0.6]]), Hinge(0.05), 60.0, Linear(0.0, 1)
    single = summary_of(x, y, loss, penalty, features=features)
    source = Seeded(rng)
    if method == "output":
        bound = single.sensitivity("l2")
        less = Sensitivity(bound.value * shrink, norm="l2")
        noise = Gaussian().calibrate(less, single.size, **promise)
        exact = np.tile(single.coordinates(), runs)
        return noise.add(exact, source).reshape(runs, -1)[:, 0]
    noise = tilted_noise(single.bounds, **promise)
    many = summary_of(x, y, loss, penalty, features=features, many=runs)
    weights = many.tilted(shrink * noise.tilt.draw(many.size, source))
    return noise.finish.add(weights, source).reshape(runs, -1)[:, 0]


@pytest.mark.parametrize("method", ["objective", "output"])
def test_audit_stays_under_the_claim_and_comes_near(method, rng):
    promise, runs = {"epsilon": 1.0, "delta": 1e-2}, 100_000
    neighbours = ([0, 1, 0], [1, 1, 0])
    one, two = (released(y, method, promise, runs, rng) for y in neighbours)
    bound = epsilon_lower_bound(two, one, delta=1e-2, confidence=CONFIDENCE)
    assert 0.6 < bound <= 1.0
    one, two = (released(y, method, promise, runs, rng, shrink=0.5) for y in neighbours)
    assert epsilon_lower_bound(two, one, delta=1e-2, confidence=CONFIDENCE) > 1.0
