"""How the error of a private mean curve falls with n, and what eta, penalty and kernel do to it.  M9.

Mirshani 2019, Theorem 4.2: with a penalty of order 1/N the noise for privacy is of order
N^(-2 + 1/eta), the same as the sampling error for eta = 1 and of a lower order for eta > 1.  For
order="paper" the noise is known in closed form, (c 2 tau / N gain)^2 times the sum of the
eigenvalues; Mercer's default is simulated.  Nothing here is private, and no record is read.

    python -m studies.accuracy.curve_rates
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.promise.events import gaussian_multiplier
from mercer.releases.curve.smoothing import ETAS, SCALES, choose_filter
from mercer.spaces.modes import CURVE_KERNELS, DUST, Modes, modes, shrink
from studies.shared.curves import POLYNOMIALS, coordinates, rms, smoothed
from studies.shared.report import COLOURS, Floats, provenance, save, sheet, titles

SEED = 42
PROMISE = {"epsilon": 1.0, "delta": 1e-5}
TAU = 1.0
SCALE = 0.1
SPREAD = 0.1  # expected squared distance of a curve to the mean
SIZES = np.logspace(2, 6, 17)
POWERS = (1.0, 1.5, 2.0, 3.0)
MIDDLE = 1000
NAMES = {
    "gaussian": "Gaussian",
    "matern52": "Matérn 5/2",
    "matern32": "Matérn 3/2",
    "exponential": "exponential",
}


@dataclass(frozen=True)
class Model:
    """Curves in the unit ball: a smooth mean, and deviations with a kernel's eigenvalues."""

    kernel: str = "matern32"

    @property
    def modes(self) -> Modes:
        found = modes(self.kernel, (SCALE,), POLYNOMIALS)
        above = found.values > DUST * found.values[0]
        return Modes(found.values[above], found.vectors[:, above])

    @property
    def truth(self) -> Floats:
        """In the eigenfunctions: the first three, so that every norm of the theorem is finite."""
        return np.concatenate([[0.5, 0.3, -0.2], np.zeros(len(self.modes.values) - 3)])

    @property
    def variances(self) -> Floats:
        return SPREAD * self.modes.values / self.modes.values.sum()


def noise(model: Model, n: Floats, eta: float, penalty: Floats) -> Floats:
    """Expected squared noise of order="paper": the closed form."""
    values = model.modes.values
    factors = shrink(values[None, :], eta, np.asarray(penalty)[:, None])
    gain = np.max(factors / np.sqrt(values), axis=1)
    constant = gaussian_multiplier(**PROMISE)
    return (constant * 2 * TAU / np.asarray(n) * gain) ** 2 * values.sum()


def plain(model: Model, n: Floats, eta: float, penalty: Floats) -> Floats:
    """Expected squared error of the penalised mean without noise: bias and sampling."""
    factors = shrink(model.modes.values[None, :], eta, np.asarray(penalty)[:, None])
    bias = (1 - factors) ** 2 @ model.truth**2
    return bias + factors**2 @ model.variances / np.asarray(n)


def theorem_penalty(model: Model, n: Floats, eta: float) -> Floats:
    """Of order 1 / N, in units of the largest eigenvalue's power."""
    return np.asarray(model.modes.values[0] ** eta / n)


def slope(n: Floats, values: Floats) -> float:
    """Of the logarithms, over the upper half of the sizes."""
    upper = len(n) // 2
    return float(np.polyfit(np.log(n[upper:]), np.log(values[upper:]), 1)[0])


def crossing(values: Floats, n: Floats) -> float:
    """Where privacy costs less than sampling, by a straight line of logarithms; inf if never."""
    ahead = np.log(values) - np.log(SPREAD / n)
    below = np.flatnonzero(ahead < 0)
    if not len(below):
        return math.inf
    k = int(below[0])
    if k == 0:
        return float(n[0])
    share = ahead[k - 1] / (ahead[k - 1] - ahead[k])
    return float(np.exp(np.log(n[k - 1]) + share * np.log(n[k] / n[k - 1])))


# --- Mercer's default ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """Mean squared distances of the default's release, for each n."""

    to_mean: Floats  # to the sample mean: what privacy costs, smoothing included
    to_truth: Floats


def default(model: Model, sizes: Floats, draws: int, kernel: str = "gaussian") -> Costs:
    """Noise on all coordinates, then the filter of least estimated risk, as mean_curve does it.

    The sample mean is drawn as normal with its own mean and covariance, so that n may be large.
    """
    rng = np.random.default_rng(SEED)
    vectors, truth = model.modes.vectors, model.truth
    rows = []
    for n in sizes:
        sd = gaussian_multiplier(**PROMISE) * 2 / n  # in units of the bound
        found = []
        for _ in range(draws):
            mean = vectors @ (truth + rng.normal(size=len(truth)) * np.sqrt(model.variances / n))
            noisy = mean / TAU + sd * rng.standard_normal(len(mean))
            chosen = choose_filter(
                noisy,
                sd**2,
                POLYNOMIALS,
                None,
                kernel=kernel,
                scales=[(h,) for h in SCALES],
                etas=ETAS,
                penalty=None,
            )
            out = smoothed(noisy * TAU, chosen)
            found.append((np.sum((out - mean) ** 2), np.sum((out - vectors @ truth) ** 2)))
        rows.append(np.mean(found, axis=0))
    both = np.array(rows)
    return Costs(both[:, 0], both[:, 1])


def real(model: Model, n: int, draws: int) -> tuple[float, float]:
    """The same from the library itself, on simulated curves: (to the sample mean, to the truth)."""
    grid = np.linspace(0, 1, 201)
    rng = np.random.default_rng(SEED)
    rows = POLYNOMIALS.rows(grid[:, None]) @ model.modes.vectors
    truth = model.modes.vectors @ model.truth
    found = []
    for seed in range(draws):
        scores = rng.uniform(-math.sqrt(3), math.sqrt(3), (n, len(model.truth)))
        curves = (model.truth + scores * np.sqrt(model.variances)) @ rows.T
        mean = coordinates(curves, grid).mean(axis=0)
        release = mercer.mean_curve(curves, grid=grid, bound=TAU, kernel="gaussian", **PROMISE, rng=seed)
        out = release.coefficients
        found.append((rms(out - mean) ** 2, rms(out - truth) ** 2))
    one, two = np.mean(found, axis=0)
    return float(one), float(two)


# --- tables --------------------------------------------------------------------------------------


def rates(kernels: Iterable[str]) -> list[str]:
    lines = [
        "| kernel | eta | slope of the noise | -2 + 1/eta | noise x N at 10^6, over sampling | "
        "noise below sampling from N |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kernel in kernels:
        model = Model(kernel)
        for eta in POWERS:
            found = noise(model, SIZES, eta, theorem_penalty(model, SIZES, eta))
            where = crossing(found, SIZES)
            never = "not up to 10^6" if math.isinf(where) else f"{where:,.0f}"
            lines.append(
                f"| {NAMES[kernel]} | {eta:g} | {slope(SIZES, found):.2f} | {-2 + 1 / eta:.2f} | "
                f"{found[-1] * SIZES[-1] / SPREAD:.3g} | {never} |"
            )
    return lines


def best(model: Model, n: float, eta: float) -> tuple[float, float]:
    """Least expected error to the truth over the penalty, and that penalty: hindsight."""
    penalties = np.logspace(-12, 2, 281) * model.modes.values[0] ** eta
    errors = plain(model, np.array(n), eta, penalties) + noise(model, np.array(n), eta, penalties)
    place = int(np.argmin(errors))
    return float(errors[place]), float(penalties[place])


def totals(sizes: list[int], costs: dict[str, Costs], where: Floats) -> list[str]:
    lines = [
        "| kernel of curves and noise | N | sampling | "
        + " | ".join(f"paper's order, eta {eta:g}" for eta in POWERS)
        + " | Mercer's default | default, to the sample mean |",
        "|---|---:|" + "---:|" * (len(POWERS) + 3),
    ]
    for kernel, cost in costs.items():
        for n in sizes:
            place = int(np.argmin(np.abs(where - n)))
            cells = [best(Model(kernel), n, eta)[0] for eta in POWERS]
            cells += [float(cost.to_truth[place]), float(cost.to_mean[place])]
            text = " | ".join(f"{cell:.2e}" for cell in cells)
            lines.append(f"| {NAMES[kernel]} | {n:,} | {SPREAD / n:.2e} | {text} |")
    return lines


def report(
    costs: dict[str, Costs],
    sizes: Floats,
    checked: tuple[float, float, float, float],
    draws: int,
    source: str,
) -> list[str]:
    mine = costs["matern32"]
    where = crossing(mine.to_mean, sizes)
    shown = [n for n in (100, 1000, 10_000, 100_000) if sizes.min() <= n <= sizes.max()]
    return [
        "# Rates of private mean curves",
        "",
        f"Curves in the unit ball (tau = {TAU:g}) on [0, 1]: mean 0.5 v_1 + 0.3 v_2 - 0.2 v_3, "
        "deviations with variances proportional to the eigenvalues of the kernel (length "
        f"{SCALE:g}), expected squared distance to the mean {SPREAD:g}, so that the sampling error "
        f"is {SPREAD:g}/N. epsilon = 1, delta = 1e-5, exact constant (M1). The noise of "
        'order="paper" is a closed form; Mercer\'s default is simulated with the normal law of '
        f"the sample mean, {draws} draws for each N, seed {SEED}.",
        "",
        "![Rates](curve_rates.png)",
        "",
        "## Theorem 4.2: penalty lambda_1^eta / N",
        "",
        "Slope of log noise against log N, fitted for N from 10^4 to 10^6:",
        "",
        *rates(costs),
        "",
        "For eta = 1 noise and sampling error fall alike, and the noise never becomes negligible; "
        "for eta > 1 it does, at the theorem's rate. (Exponential, eta = 1: the 128 polynomials "
        "end before the eigenvalues come down to the penalty.) The rates hold for any constant in "
        "the penalty; where noise and sampling cross depends on it, and the best penalty for N "
        "curves is another: see below.",
        "",
        f"Mercer's default (noise first, filter by SURE): slope {slope(sizes, mine.to_mean):.2f} "
        "of the squared distance to the sample mean, everything that privacy costs, smoothing "
        f"included; below the sampling error from N = {where:,.0f}. For Matérn 3/2 deviations the "
        "best that any filter can do is about -1.75: of order N^(1/4) coordinates of the sample "
        "mean stand out of noise of variance N^-2.",
        "",
        "## Error to the true mean: kernel, eta and n",
        "",
        "Expected squared error. The paper's order has the penalty that is best in hindsight, "
        "which knows the true mean; the default has none.",
        "",
        *totals(shown, costs, sizes),
        "",
        f"Check of the simulation at N = {MIDDLE:,}: `mean_curve` itself on simulated curves "
        f"{checked[0]:.2e} to the sample mean and {checked[1]:.2e} to the true one; simulated "
        f"{checked[2]:.2e} and {checked[3]:.2e}.",
        "",
        source,
    ]


# --- picture -------------------------------------------------------------------------------------

SHADES = ("#e8a33d", "#d9622b", "#b02a30", "#6d1238")


def picture(costs: dict[str, Costs], sizes: Floats, path: Path) -> None:
    figure, grid = sheet(1, 3, (13.2, 4.6))
    first, second, third = grid[0]
    model, promise = Model(), "epsilon = 1, delta = 1e-5, one curve"
    for eta, shade in zip(POWERS, SHADES, strict=True):
        found = noise(model, SIZES, eta, theorem_penalty(model, SIZES, eta))
        words = f"eta {eta:g}: slope {slope(SIZES, found):.2f} ({-2 + 1 / eta:.2f})"
        first.plot(SIZES, found, color=shade, linewidth=1.8, label=words)
    mine = costs["matern32"]
    words = f"Mercer's default: slope {slope(sizes, mine.to_mean):.2f}"
    first.plot(sizes, mine.to_mean, "o-", color=COLOURS["ours"], markersize=4, label=words)
    first.plot(SIZES, SPREAD / SIZES, color="#9a9a9a", linewidth=4, alpha=0.6, label="sampling error")
    first.set(xlabel="N, number of curves", ylabel="squared error due to privacy")
    titles(first, "Penalty of order 1/N, Matérn 3/2", f"{promise}; in brackets Theorem 4.2")
    shares = np.logspace(-8, 2, 121)
    for eta, shade in zip(POWERS, SHADES, strict=True):
        penalties = shares * model.modes.values[0] ** eta
        n = np.array(float(MIDDLE))
        errors = plain(model, n, eta, penalties) + noise(model, n, eta, penalties)
        second.plot(shares, errors, color=shade, linewidth=1.8, label=f"paper's order, eta {eta:g}")
    place = int(np.argmin(np.abs(sizes - MIDDLE)))
    second.axhline(
        mine.to_truth[place],
        color=COLOURS["ours"],
        linestyle=(0, (5, 1)),
        label="Mercer's default, no penalty given",
    )
    second.axhline(SPREAD / MIDDLE, color="#9a9a9a", linewidth=4, alpha=0.6, label="sampling error")
    second.set(
        xlabel="penalty / (largest eigenvalue)^eta",
        ylabel="squared error to the true mean",
        ylim=(SPREAD / MIDDLE / 2, 30),
    )
    titles(second, f"Penalty, N = {MIDDLE:,}, Matérn 3/2", promise)
    _kernels(third, costs, sizes)
    titles(third, "Kernel of curves and noise", f"{promise}; paper's order: best penalty, eta 1")
    for axes in grid[0]:
        axes.set(xscale="log", yscale="log")
        axes.legend(frameon=False, fontsize=7.5)
    figure.tight_layout()
    save(figure, path)


def _kernels(axes: Any, costs: dict[str, Costs], sizes: Floats) -> None:
    styles = ("-", (0, (4, 1)), (0, (2, 1)), (0, (1, 1)))
    for (kernel, cost), style in zip(costs.items(), styles, strict=False):
        errors = [best(Model(kernel), float(n), 1.0)[0] for n in SIZES]
        axes.plot(
            SIZES,
            errors,
            color=SHADES[1],
            linestyle=style,
            linewidth=1.6,
            label=f"paper's order, {NAMES[kernel]}",
        )
        axes.plot(
            sizes,
            cost.to_truth,
            color=COLOURS["ours"],
            linestyle=style,
            linewidth=1.6,
            label=f"default, {NAMES[kernel]}",
        )
    axes.plot(SIZES, SPREAD / SIZES, color="#9a9a9a", linewidth=4, alpha=0.6, label="sampling error")
    axes.set(xlabel="N, number of curves", ylabel="squared error to the true mean")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 sizes, 2 draws, one kernel")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    source = provenance()
    sizes = np.logspace(2, 6, 9) if not options.quick else np.logspace(2, 4, 3)
    kernels = CURVE_KERNELS if not options.quick else ("matern32",)
    draws = 60 if not options.quick else 2
    costs = {kernel: default(Model(kernel), sizes, draws) for kernel in kernels}
    place = int(np.argmin(np.abs(sizes - MIDDLE)))
    mine = costs["matern32"]
    checked = (*real(Model(), MIDDLE, draws), float(mine.to_mean[place]), float(mine.to_truth[place]))
    options.out.mkdir(parents=True, exist_ok=True)
    picture(costs, sizes, options.out / "curve_rates.png")
    lines = report(costs, sizes, checked, draws, source)
    (options.out / "curve_rates.md").write_text("\n".join(lines) + "\n")
    print(options.out / "curve_rates.md")


if __name__ == "__main__":
    main()
