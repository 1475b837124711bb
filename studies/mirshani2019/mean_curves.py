"""Mirshani 2019, Figures 1 and 4 to 10: the paper's mean curves beside Mercer's.

The simulation of Section 5 and Appendix B: 25 curves 0.1 sin(pi t) + sum_j j^(-p/2) U_j v_j(t),
U_j uniform on (-0.4, 0.4), v_j the first 50 eigenfunctions of exp(-|t - s|^2 / 0.001), on 100
points.  Above the paper's release (smoothing, then noise with the constant sqrt(2 ln(2/delta)) /
epsilon), below the same with the exact constant (M1) and Mercer's default.  The curves are
simulated, so they may be drawn, and noise is seeded: none of these releases is private.

    python -m studies.mirshani2019.mean_curves
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer.promise.events import GaussianEvent, delta_at, gaussian_multiplier
from mercer.spaces.modes import SpectralFilter, modes
from studies.shared.curves import (
    POLYNOMIALS,
    coordinates,
    gaussian_scale,
    largest_norm,
    printed_multiplier,
    rms,
    smoothed,
)
from studies.shared.report import COLOURS, Floats, provenance, save, sheet, titles

T = np.linspace(0.0, 1.0, 100)
SEED = 2019
RHO, TERMS, MOST = 0.001, 50, 100
SCALE = gaussian_scale(RHO)
DRAWS, QUICK_DRAWS = 200, 2


def peaks(t: Floats) -> Floats:
    return 0.1 * np.exp(-((t - 0.3) ** 2) / 0.01) + 0.07 * np.exp(-((t - 0.75) ** 2) / 0.003)


MEANS: dict[str, Callable[[Floats], Floats]] = {
    "0.1 sin(pi t)": lambda t: 0.1 * np.sin(np.pi * t),
    "0.1 cos(4 pi t)": lambda t: 0.1 * np.cos(4 * np.pi * t),
    "0.2 (t - 1/2)": lambda t: 0.2 * (t - 0.5),
    "two peaks": peaks,
}


@dataclass(frozen=True)
class Panel:
    """One setting; the defaults are the paper's, but for the penalty, which it does not print."""

    title: str = ""
    kernel: str = "gaussian"
    scale: float = SCALE
    penalty: float = 0.01
    p: float = 4.0
    epsilon: float = 1.0
    delta: float = 0.1
    n: int = 25
    mean: str = "0.1 sin(pi t)"

    @property
    def promise(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    @property
    def smoothing(self) -> SpectralFilter:
        return SpectralFilter(self.kernel, (self.scale,), 1.0, self.penalty)

    @property
    def longer(self) -> float:
        """The paper's noise over the noise that is enough."""
        return printed_multiplier(**self.promise) / gaussian_multiplier(**self.promise)


def panels(name: str, values: tuple[Any, ...], **more: Any) -> list[Panel]:
    return [Panel(f"{more.get('symbol', name)} = {v:g}", **{name: v}) for v in values]


FIGURES: dict[int, tuple[str, list[Panel]]] = {
    1: ("penalty phi", panels("penalty", (1e-6, 1e-4, 1e-2, 1.0), symbol="phi")),
    4: (
        "range rho of the kernel",
        [Panel(f"rho = {rho:g}", scale=gaussian_scale(rho)) for rho in (0.002, 0.02, 0.2, 2.0)],
    ),
    5: (
        "kernel, all with length 0.022",
        [
            Panel(words, kernel=kernel)
            for kernel, words in (
                ("gaussian", "C1, Gaussian"),
                ("matern52", "C2, Matérn 5/2"),
                ("matern32", "C3, Matérn 3/2"),
                ("exponential", "C4, exponential"),
            )
        ],
    ),
    6: ("smoothness p of the curves", panels("p", (1.1, 2.0, 3.0, 4.0))),
    7: ("epsilon", panels("epsilon", (5.0, 1.0, 0.5, 0.1))),
    8: ("delta", panels("delta", (0.1, 1e-2, 1e-4, 1e-6))),
    9: ("number of curves N", panels("n", (5, 10, 25, 100), symbol="N")),
    10: ("mean function", [Panel(name, mean=name) for name in list(MEANS)[1:]]),
}


def sample(panel: Panel, seed: int) -> Floats:
    """The same scores for every panel, so that only what the title names changes."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(-0.4, 0.4, (MOST, TERMS))[: panel.n]
    found = modes("gaussian", (SCALE,), POLYNOMIALS)
    functions = POLYNOMIALS.rows(T[:, None]) @ found.vectors[:, :TERMS]
    weights = np.arange(1, TERMS + 1) ** (-panel.p / 2)
    return MEANS[panel.mean](T) + (scores * weights) @ functions.T


@dataclass(frozen=True)
class Draw:
    """One sample and its releases, as coefficients."""

    curves: Floats
    tau: float
    mean: Floats
    smooth: Floats
    paper: Floats
    exact: Floats
    ours: Floats


@dataclass(frozen=True)
class Errors:
    """Root mean squared errors over the samples, and one of them to look at."""

    panel: Panel
    shown: Draw
    tau: float
    to_smooth: tuple[float, float]  # paper, exact
    to_mean: tuple[float, float, float, float]  # smoothing alone, paper, exact, ours
    size: float  # of the sample mean: the error of publishing the zero curve


def draw(panel: Panel, seed: int) -> Draw:
    curves = sample(panel, seed)
    found = coordinates(curves, T)
    tau = largest_norm(curves, T)  # as the paper does it: not private, E8
    mean = found.mean(axis=0)
    clean = smoothed(mean, panel.smoothing)
    fixed = {"grid": T, "bound": tau * (1 + 1e-6), "kernel": panel.kernel, **panel.promise, "insist": True}
    paper_way = {"scale": panel.scale, "eta": 1.0, "penalty": panel.penalty, "order": "paper"}
    exact = mercer.mean_curve(curves, **fixed, **paper_way, rng=seed).coefficients
    ours = mercer.mean_curve(curves, **fixed, rng=seed).coefficients
    paper = clean + panel.longer * (exact - clean)  # the same draw, multiplied
    return Draw(curves, tau, mean, clean, paper, exact, ours)


def study(panel: Panel, draws: int) -> Errors:
    every = [draw(panel, seed) for seed in range(SEED, SEED + draws)]
    truth = coordinates(MEANS[panel.mean](T), T)
    shown = min(every, key=lambda one: rms(one.mean - truth))

    def error(to: str, name: str) -> float:
        return rms(np.array([getattr(one, name) - getattr(one, to) for one in every]))

    return Errors(
        panel,
        shown,
        float(np.mean([one.tau for one in every])),
        (error("smooth", "paper"), error("smooth", "exact")),
        (error("mean", "smooth"), error("mean", "paper"), error("mean", "exact"), error("mean", "ours")),
        rms(np.array([one.mean for one in every])),
    )


# --- pictures ------------------------------------------------------------------------------------


def picture(number: int, what: str, found: list[Errors], path: Path) -> None:
    size = max(2.9 * len(found), 10.4), 5.6
    figure, grid = sheet(2, len(found), size, sharex=True, sharey="col")
    fine = np.linspace(0, 1, 401)
    table = POLYNOMIALS.rows(fine[:, None])
    for column, errors in enumerate(found):
        panel = errors.panel
        shown = errors.shown
        heights = [np.abs(shown.curves).max(), 1.05 * np.abs(table @ shown.paper).max()]
        reach = min(max(heights), 6 * heights[0])
        promise = f"epsilon = {panel.epsilon:g}, delta = {panel.delta:g}, 1 of {panel.n} curves"
        for row, axes in enumerate(grid[:, column]):
            axes.plot(T, shown.curves.T, color=COLOURS["sample"], linewidth=0.6)
            axes.plot([], [], color=COLOURS["sample"], label="simulated curves")
            axes.plot(
                fine,
                table @ shown.smooth,
                color=COLOURS["mean"],
                linewidth=2.2,
                label="smoothed mean, not private",
            )
            if row == 0:
                _line(axes, fine, table @ shown.paper, "paper", "as printed", "-")
                titles(axes, panel.title, f"{promise}\nrms error {errors.to_mean[1]:.3g}")
            else:
                _line(axes, fine, table @ shown.exact, "exact", "the same, exact constant", "-")
                _line(axes, fine, table @ shown.ours, "ours", "Mercer's default", (0, (5, 1)))
                titles(
                    axes,
                    "",
                    f"rms error {errors.to_mean[2]:.3g} with the exact constant\n"
                    f"and {errors.to_mean[3]:.3g} by default",
                )
            axes.set(xlim=(0, 1), ylim=(-reach, reach))
    for axes in grid[-1]:
        axes.set_xlabel("t (no unit)")
    grid[0, 0].set_ylabel("as printed\nheight (no unit)")
    grid[1, 0].set_ylabel("Mercer\nheight (no unit)")
    figure.suptitle(f"Mirshani 2019, Figure {number}: {what}", x=0.01, ha="left", fontsize=12)
    lines = dict(zip(*grid[0, 0].get_legend_handles_labels()[::-1], strict=True))
    lines |= dict(zip(*grid[1, 0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(lines.values(), lines.keys(), ncols=5, loc="lower center", frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    save(figure, path, colours=128)


def _line(axes: Any, x: Floats, y: Floats, colour: str, label: str, style: Any) -> None:
    axes.plot(x, y, color=COLOURS[colour], linewidth=1.4, linestyle=style, label=label)


# --- the table -----------------------------------------------------------------------------------


def table(found: dict[int, list[Errors]]) -> list[str]:
    lines = [
        "| figure | panel | tau | paper's noise, to the smoothed mean | exact constant | ratio | "
        "smoothing alone, to the sample mean | as printed | exact constant | Mercer's default | "
        "default / as printed | the zero curve |",
        "|---:|---|" + "---:|" * 10,
    ]
    for number, each in found.items():
        for e in each:
            paper, exact = e.to_smooth
            numbers = [e.tau, paper, exact, exact / paper, *e.to_mean, e.to_mean[3] / e.to_mean[1], e.size]
            cells = " | ".join(f"{v:.3g}" for v in numbers)
            lines.append(f"| {number} | {e.panel.title} | {cells} |")
    return lines


def true_delta(epsilon: float, delta: float) -> float:
    """What the paper's constant promises in truth."""
    mu = 1 / printed_multiplier(epsilon=epsilon, delta=delta)
    return delta_at([GaussianEvent(mu, 0.0)], epsilon=epsilon)


def report(found: dict[int, list[Errors]], draws: int, source: str) -> list[str]:
    every = [e for each in found.values() for e in each]
    better = sum(e.to_mean[3] < e.to_mean[1] for e in every)
    exact = sum(e.to_mean[3] < e.to_mean[2] for e in every)
    half = sum(e.to_mean[3] < e.to_mean[1] / 2 for e in every)
    fives = [e.panel for e in every if e.panel.epsilon > 1]
    lines = [
        "# Mirshani 2019, Figures 1 and 4 to 10, made again",
        "",
        "Simulated curves as in Section 5 and Appendix B; defaults N = 25, epsilon = 1, delta = "
        f"0.1, p = 4, rho = {RHO:g}, mean 0.1 sin(pi t) (root mean square 0.071), 100 points, "
        f"{TERMS} terms, eta = 1. Not printed in the paper, so chosen here: the values between the "
        "ends of each range, phi = 0.01 for Figures 4 to 10, the three further means of Figure 10 "
        f"({', '.join(list(MEANS)[1:])}: two normal bumps of heights 0.1 and 0.07), and the length "
        f"{SCALE:.3f} for all kernels of Figure 5 (rho = {RHO:g} would be a tenth of the grid's "
        "step for the Matérn kernels). The caption of Figure 7 says delta = 1; the text, and this "
        "study, take 0.1.",
        "",
        "tau is the largest norm of the simulated curves, as the paper takes it. **That is not "
        "private**: a bound must be public (E8). Seeded noise is not private either.",
        "",
        "*As printed*: smoothing, then noise with the constant sqrt(2 ln(2/delta)) / epsilon. "
        "*Exact constant*: order=\"paper\", the same draws with M1's constant. *Mercer's default*: "
        "noise first, then smoothing chosen from the noisy curve (M17); in Figure 5 with the "
        "panel's kernel.",
        "",
    ]
    for number in found:
        lines += [f"![Figure {number}](mirshani2019-figure{number}.png)", ""]
    promise = {"epsilon": 1.0, "delta": 0.1}
    ours, theirs = gaussian_multiplier(**promise), printed_multiplier(**promise)
    lines += [
        f"At epsilon = 1, delta = 0.1 the exact constant is {ours:.4f} and the printed one "
        f"{theirs:.4f}: **a standard deviation of {ours / theirs:.3f} of the paper's** at every "
        "point, for the same promise.",
        "",
        f"Root mean squared errors over {draws} samples, each with its noise, in the units of the "
        "curves (tau: mean). The pictures show the sample whose mean is nearest to the true one:",
        "",
        *table(found),
        "",
        f"The default is nearer to the sample mean than the paper's release in {better} of "
        f'{len(every)} panels, by more than half in {half}, and nearer than order="paper" with '
        f"the exact constant in {exact}.",
    ]
    lines += _losses(every)
    worse = [e for e in every if e.to_mean[3] > e.size]
    lines += [
        "",
        "These are few curves for such promises. *The zero curve*, which costs nothing, is as near "
        f"as its column says: nearer than the default in {len(worse)} panels "
        f"({', '.join(e.panel.title for e in worse) or 'none'}), where a release is of no use, and "
        "nearer than the paper's release in "
        f"{sum(e.to_mean[1] > e.size for e in every)}.",
    ]
    for panel in fives:
        was = true_delta(panel.epsilon, panel.delta)
        words = "more noise than needed" if panel.longer > 1 else "too little noise"
        lines += [
            "",
            f"At epsilon = {panel.epsilon:g} the printed constant is outside its proof (E1). For "
            f"delta = {panel.delta:g} its noise is {panel.longer:.2f} times the exact one "
            f"({words}: its true delta is {was:.3g}); above 1 that has to be checked every time.",
        ]
    return [*lines, "", source]


def _losses(every: list[Errors]) -> list[str]:
    lost = [e for e in every if e.to_mean[3] >= min(e.to_mean[1:3])]
    if not lost:
        return []
    names = "; ".join(
        f"{e.panel.title} (default {e.to_mean[3]:.3g}, exact constant {e.to_mean[2]:.3g})" for e in lost
    )
    return [
        "",
        f"Where it is not: {names}. There a penalty that happens to suit was given; the default "
        "has to find one in a noisy curve.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="Figure 1, 2 samples")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", mercer.PrivacyWarning)  # few curves: the paper's settings
    draws = QUICK_DRAWS if options.quick else DRAWS
    source = provenance()
    figures = {k: v for k, v in FIGURES.items() if k == 1 or not options.quick}
    found = {k: [study(panel, draws) for panel in each] for k, (_, each) in figures.items()}
    for number, each in found.items():
        path = options.out / f"mirshani2019-figure{number}.png"
        picture(number, figures[number][0], each, path)
    (options.out / "mean_curves.md").write_text("\n".join(report(found, draws, source)) + "\n")
    print(options.out / "mean_curves.md")


if __name__ == "__main__":
    main()
