"""How long does a private classifier take beside LinearSVC on the same features?

Ten columns, random features of a Gaussian kernel, two classes with a curved boundary.  The rival,
scikit-learn's LinearSVC, makes no promise, is given its features ready-made and in memory, and the
same penalty; its default loss, the squared hinge, is the one it is fastest with.
"""  # noqa: D400

from __future__ import annotations

import resource
import sys
import warnings
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import mercer
from common import options, report, table, verdict
from mercer.spaces.maps import RandomFeatures

D, PROMISE = 10, {"epsilon": 1.0, "delta": 1e-6}
NOTE = """\
Mercer's time is that of `mercer.classifier(X, y, …)` with secure noise: reading, features in every
pass, noise and all.  LinearSVC's is that of `fit` alone; the time to make its features once is
beside it.  Accuracy is on 20,000 fresh rows.  Memory is the largest resident set of the process
that trained (Mercer) or held the features and trained (LinearSVC), each in a process of its own.
One run each at the largest sizes, best of two below."""


def rows(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Uniform rows; the class is which side of a curved surface, with one in twenty turned."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, D))
    height = np.sin(6 * x[:, 0]) + 3 * (x[:, 1] - 0.5) * (x[:, 2] - 0.5) * 4 + x[:, 3] - 0.5
    return x, (height > 0) ^ (rng.random(n) < 0.05)


def own(n: int, size: int) -> tuple[float, float, float, float]:
    """Seconds, penalty and accuracy of Mercer, and memory."""
    x, y = rows(n)
    mercer.classifier(x[:200], y[:200], classes=(False, True), bounds=(0, 1), size=size, **PROMISE)
    start = perf_counter()
    made = mercer.classifier(x, y, classes=(False, True), bounds=(0, 1), size=size, **PROMISE)
    seconds = perf_counter() - start
    fresh, truth = rows(20_000, 4)
    return seconds, made.penalty, float(np.mean(made.predict(fresh) == truth)), _memory()


def peer(n: int, size: int, penalty: float) -> tuple[float, float, float, float]:
    """Seconds to make the features, to fit, accuracy, and memory of LinearSVC."""
    x, y = rows(n)
    lengths = np.full(D, mercer_bandwidth(n))
    features = RandomFeatures.spanning(0.0, "gaussian", lengths, size)
    start = perf_counter()
    phi = features.features(x)
    made, start = perf_counter() - start, perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(C=1 / (2 * penalty * n)).fit(phi, y)
    seconds = perf_counter() - start
    fresh, truth = rows(20_000, 4)
    return made, seconds, float(model.score(features.features(fresh), truth)), _memory()


def mercer_bandwidth(n: int) -> float:
    from mercer.rules.machines import bandwidth_rule

    return bandwidth_rule(n=n, epsilon=PROMISE["epsilon"], dimension=D, pure=False)


def _memory() -> float:
    scale = 1 << 20 if sys.platform != "darwin" else 1 << 30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def apart(function: object, *arguments: object) -> tuple[float, ...]:
    """Run in a process of its own, so that memory is its own."""
    from multiprocessing import get_context

    with get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)  # type: ignore[arg-type]


def main() -> None:
    args = options(__doc__)
    sizes = (2_000,) if args.quick else (10_000, 100_000, 1_000_000)
    lines, ratio = [], float("nan")
    for n in sizes:
        size = 32 if args.quick else 256
        repeats = 1 if n == sizes[-1] else 2
        mine = min(apart(own, n, size) for _ in range(repeats))
        other = min((apart(peer, n, size, mine[1]) for _ in range(repeats)), key=lambda r: r[1])
        ratio = mine[0] / other[1]
        lines.append(
            [
                f"{n:,}",
                f"{mine[0]:.2f}",
                f"{1e6 * mine[0] / n:.0f}",
                f"{other[0]:.2f}",
                f"{other[1]:.2f}",
                f"{ratio:.2f}",
                f"{mine[2]:.3f}",
                f"{other[2]:.3f}",
                f"{mine[3]:.2f}",
                f"{other[3]:.2f}",
            ]
        )
    head = [
        "rows",
        "mercer s",
        "us a row",
        "features s",
        "LinearSVC s",
        "ratio",
        "accuracy",
        "LinearSVC's",
        "GiB",
        "LinearSVC's",
    ]
    words = f"Mercer over LinearSVC at {sizes[-1]:,} rows"
    report("machines", __doc__, [NOTE, table(head, lines), verdict(words, ratio, 3.0)], args)


if __name__ == "__main__":
    main()
