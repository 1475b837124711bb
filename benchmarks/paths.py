"""What does a Gaussian path at a million points cost beside as many independent normals?

Exponential and Matern kernels of length 0.1 on [0, 1], at even and at random sorted points.
The baseline is `standard_normal` of the same generator: the least that any sampler has to draw.
"""  # noqa: D400

from __future__ import annotations

import numpy as np

from common import options, race, report, table, verdict
from mercer.kernels import Exponential, Matern32, Matern52, MaternKernel
from mercer.spaces.markov import sample_path

LENGTH = 0.1
KERNELS: tuple[type[MaternKernel], ...] = (Exponential, Matern32, Matern52)
NOTE = """\
Milliseconds are the least of {repeats} after a warm-up, at {points:,} points; one generator for
all.  A kernel with p states draws p normals a point.  Before the clock starts, {checked:,} paths
at nine points show that the covariance is the kernel's: `deviation` is the largest distance of
its entries, in standard errors, over even and uneven points (45 entries each; 5 would be odd)."""


def deviation(kernel: MaternKernel, points: np.ndarray, trials: int, rng: np.random.Generator) -> float:
    """Largest distance of the empirical covariance from the kernel, in standard errors.

    The mean is known to be zero, and entry (i, j) of n paths has variance (1 + k_ij^2) / n.
    """
    paths = np.stack([sample_path(kernel, points, rng=rng) for _ in range(trials)])
    k = kernel(points[:, None], points[:, None])
    error = np.abs(paths.T @ paths / trials - k) / np.sqrt((1 + k**2) / trials)
    return float(error.max())


def checked(kernel: MaternKernel, trials: int, rng: np.random.Generator) -> float:
    even = np.linspace(0.0, 0.4, 9)
    uneven = np.array([0.0, 0.01, 0.03, 0.1, 0.11, 0.2, 0.3, 0.31, 0.4])
    worst = max(deviation(kernel, points, trials, rng) for points in (even, uneven))
    if worst > 8:  # a right sampler comes here less than once in 1e9 runs
        raise RuntimeError(f"{kernel.name}: the paths do not have the kernel's covariance")
    return worst


def main() -> None:
    args = options(__doc__)
    count, repeats, trials = (10**4, 3, 1000) if args.quick else (10**6, 7, 5000)
    rng = np.random.default_rng()
    even, uneven = np.linspace(0.0, 1.0, count), np.unique(rng.random(count))
    rows, verdicts = [], []
    for kind in KERNELS:
        kernel = kind(((LENGTH**2,),))
        worst = checked(kernel, trials, rng)
        seconds = race(
            {
                "normals": lambda: rng.standard_normal(count),
                "even": lambda kernel=kernel: sample_path(kernel, even, rng=rng),
                "uneven": lambda kernel=kernel: sample_path(kernel, uneven, rng=rng),
            },
            repeats,
        )
        base = seconds["normals"]
        numbers = [f"{1e3 * seconds[name]:.2f}" for name in seconds]
        ratios = [f"{seconds[name] / base:.2f}" for name in ("even", "uneven")]
        rows.append([f"{kernel.name}, {kernel.states} states", *numbers, *ratios, f"{worst:.1f}"])
        verdicts.append(verdict(f"{kernel.name}, even points", seconds["even"] / base, 6))
    head = ["kernel", "normals ms", "even ms", "uneven ms", "even ratio", "uneven ratio", "deviation"]
    note = NOTE.format(repeats=repeats, points=count, checked=trials)
    report("paths", __doc__, [table(head, rows), "\n".join(verdicts), note], args)


if __name__ == "__main__":
    main()
