"""How cautious should the choice of a smoothing be?  Stein's estimate plus c standard deviations.

`penalty="auto"` takes the filter of least estimated risk.  The least of some 2500 estimates is too
good, and noise lets a rough filter seem right; c v sqrt(2 sum s^2), c standard deviations of what
noise alone does to the estimate, is added against that.  Mean squared error to the mean without
noise for c = 0 to 4, relative to c = 0: six functions made for this question, and the four of Lin
and Reimherr, on which c was first looked at.  Simulated coordinates: nothing here is private.

    python -m studies.accuracy.curve_caution
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import norm

from mercer.promise.events import gaussian_multiplier
from mercer.releases.curve.smoothing import ETAS, PENALTIES, SCALES, estimated_risk
from mercer.spaces.modes import SpectralFilter, shrink
from mercer.spaces.polynomials import Polynomials
from studies.shared.report import Floats, provenance

SEED, REPEATS, N, TAU, DELTA = 1961, 100, 1000, 5.0, 1e-5
EPSILONS = (1.0, 0.25)
KERNELS = ("gaussian", "matern52")
CAUTIONS = (0.0, 1.0, 2.0, 3.0, 4.0)
SOME = Polynomials((128,))
T = np.linspace(0, 1, 101)


def means(rng: np.random.Generator) -> dict[str, Floats]:
    eigen = SpectralFilter("matern32", (0.1,), 1.0, 1.0).modes(SOME).vectors[:, :25]
    peaks = [norm.pdf(T, m, s) for m, s in ((0, 0.03), (0.2, 0.05), (0.5, 0.05), (1, 0.03))]
    heights = {
        "zero": 0 * T,
        "line": 1 + 2 * T,
        "sine": 3 * np.sin(2 * np.pi * T),
        "step": 3 / (1 + np.exp(-(T - 0.5) / 0.02)),
        "edge": 3 * np.exp(-T / 0.05),
        "chirp": 2 * np.sin(2 * np.pi * np.exp(2 * T)),
        "10 t exp(-t)": 10 * T * np.exp(-T),
        "two peaks": 0.3 * norm.pdf(T, 0.3, 0.05) + 0.7 * norm.pdf(T, 0.8, 0.05),
        "five peaks": 0.2 * (np.sum(peaks, axis=0) - norm.pdf(T, 0.75, 0.03)),
    }
    table = SOME.of_grid((T,))
    found = {name: curve @ table for name, curve in heights.items()}
    return found | {"25 eigenfunctions": eigen @ rng.uniform(-0.5, 0.5, 25)}


def errors(truth: Floats, variance: float, kernel: str, draws: Floats) -> Floats:
    """Squared error of each draw (rows) at each caution, the filter chosen for each."""
    noisy = truth + np.sqrt(variance) * draws
    best = np.full((len(draws), len(CAUTIONS)), np.inf)
    out = np.zeros_like(best)
    for scale in SCALES:
        found = SpectralFilter(kernel, (scale,), 1.0, 1.0, level=True).seen(SOME, None)
        turned, centre = noisy @ found.vectors, truth @ found.vectors
        for eta in ETAS:
            factors = shrink(found.values, eta, (PENALTIES * found.top**eta)[:, None])
            spread = variance * np.sqrt(2 * np.sum(factors**2, axis=1))
            risks = np.stack([estimated_risk(row, variance, factors) for row in turned])
            for place, caution in enumerate(CAUTIONS):
                total = risks + caution * spread
                least = np.argmin(total, axis=1)
                value = total[np.arange(len(draws)), least]
                made = np.sum((factors[least] * turned - centre) ** 2, axis=1)
                better = value < best[:, place]
                best[better, place], out[better, place] = value[better], made[better]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few draws, one kernel")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the table")
    args = parser.parse_args()
    repeats, kernels = (4, KERNELS[:1]) if args.quick else (REPEATS, KERNELS)
    rng = np.random.default_rng(SEED)
    truths = means(rng)
    lines = [
        "# How cautious should the choice of a smoothing be?",
        "",
        (
            f"{N} curves, bound {TAU:g}, delta = {DELTA:g}; {repeats} draws of the noise; mean squared "
            "error at c = 0, and that at other c relative to it. Mercer has c = 2. The first six "
            "functions were made for this table after c was looked at on the other four."
        ),
        "",
    ]
    for kernel in kernels:
        lines += [
            f"## {kernel} kernel",
            "",
            "| function | epsilon | error, c = 0 | " + " | ".join(f"c = {c:g}" for c in CAUTIONS[1:]) + " |",
            "|---|" + "---:|" * (len(CAUTIONS) + 1),
        ]
        ratios = []
        for epsilon in EPSILONS:
            variance = (gaussian_multiplier(epsilon=epsilon, delta=DELTA) * 2 * TAU / N) ** 2
            for name, truth in truths.items():
                draws = rng.standard_normal((repeats, SOME.size))
                found = errors(truth, variance, kernel, draws).mean(axis=0)
                ratios.append(found[1:] / found[0])
                cells = " | ".join(f"{r:.2f}" for r in ratios[-1])
                lines.append(f"| {name} | {epsilon:g} | {found[0]:.4f} | {cells} |")
        mean = " | ".join(f"**{r:.2f}**" for r in np.exp(np.mean(np.log(ratios), axis=0)))
        lines += [f"| geometric mean | | | {mean} |", ""]
    text = "\n".join([*lines, provenance("scipy")])
    print(text)
    folder = args.out or (None if args.quick else Path(__file__).parent / "results")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "curve_caution.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
