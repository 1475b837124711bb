"""Hall 2013, Figures 1 and 2, and the thesis' Figure 3.1: the papers' curves beside Mercer's.

Left the paper's noise, right Mercer's for the same promise, from the same normal draws, so that
the eye compares the amount only.  All records are synthetic and the noise is seeded, so that the
pictures can be made again: none of these releases is private.

    python -m studies.hall2013.figures
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.integrate import trapezoid
from scipy.stats import norm

import mercer
from mercer.kernels import Exponential, Gaussian
from mercer.noise.mechanisms import Gaussian as GaussianMechanism
from mercer.promise.events import classic_multiplier
from mercer.spaces.bases import Eigenfunctions
from mercer.spaces.markov import sample_path
from studies.shared.report import Floats, provenance

N, H, EPSILON, DELTA = 100, 0.1, 1.0, 0.1  # of Hall 2013, Figures 1 and 2
X = np.linspace(0.0, 1.0, 1000)
SEED = 2013
DRAWS, QUICK_DRAWS = 200, 3  # of the noise, for the means in the table
PROMISE = f"epsilon = {EPSILON:g}, delta = {DELTA:g}, one row; {N} synthetic rows, seeded noise"
SIZES, WIDTH = (5, 10, 15), 0.05  # of the thesis, Figure 3.1, which does not print its bandwidth
_INK, _SOLID, _BAND = "#b04a00", "#000000", "#e8e2da"


@dataclass(frozen=True)
class Curve:
    """A released function on X and the standard deviation of its noise at a point."""

    values: Floats
    sd: float


def records() -> Floats:
    """Half from N(0.3, 0.1^2) and half from N(0.7, 0.1^2), clipped to [0, 1] as Mercer does."""
    rng = np.random.default_rng(SEED)
    return np.clip(rng.normal(rng.choice([0.3, 0.7], size=N), 0.1), 0.0, 1.0)


def truth() -> Floats:
    return (norm.pdf(X, 0.3, 0.1) + norm.pdf(X, 0.7, 0.1)) / 2


def estimate(x: Floats) -> Floats:
    """The kernel density estimate, without privacy."""
    return norm.pdf(X[:, None], x[None, :], H).mean(axis=1)


def mean_square(values: Floats) -> float:
    """Integral of the square over [0, 1]."""
    return float(trapezoid(values**2, X))


# --- the four releases ---------------------------------------------------------------------------


def released(x: Floats, seed: int, *, kernel: str, calibration: str) -> mercer.DensityRelease:
    return mercer.density(
        x,
        bounds=(0, 1),
        epsilon=EPSILON,
        delta=DELTA,
        insist=True,
        bandwidth=H,
        boundary="open",
        kernel=kernel,
        size=X.size if kernel == "exponential" else None,
        mechanism=GaussianMechanism(calibration=calibration),
        rng=seed,
    )


def curve(x: Floats, seed: int, *, kernel: str, calibration: str) -> Curve:
    release = released(x, seed, kernel=kernel, calibration=calibration)
    return Curve(release(X, raw=True), float(np.max(release.standard_error([0.0, 0.5, 1.0]))))


def printed_second(x: Floats, seed: int) -> Curve:
    """Hall 2013, Sec. 4.2 as printed: sensitivity 2 / ((2 pi)^(1/4) n h), 1.9 times M6's (E3).

    Mercer has no way to add more noise than M6 asks for, so the path is drawn here.
    """
    sensitivity = 2 / ((2 * math.pi) ** 0.25 * N * H)
    sd = sensitivity * classic_multiplier(epsilon=EPSILON, delta=DELTA)
    path = sample_path(Exponential(((H**2,),)), X, rng=np.random.default_rng(seed))
    return Curve(estimate(x) + sd * path, sd)


def printed(figure: int, x: Floats, seed: int) -> Curve:
    if figure == 1:
        return curve(x, seed, kernel="gaussian", calibration="classic")
    return printed_second(x, seed)


def ours(figure: int, x: Floats, seed: int) -> Curve:
    kernel = "gaussian" if figure == 1 else "exponential"
    return curve(x, seed, kernel=kernel, calibration="analytic")


# --- pictures ------------------------------------------------------------------------------------


def hall_picture(figure: int, x: Floats, path: Path) -> None:
    sheet, panels = _sheet(1, 2, (10, 4.6))
    sides = {"As printed": printed(figure, x, SEED), "Mercer at the same promise": ours(figure, x, SEED)}
    for axes, (title, side) in zip(panels, sides.items(), strict=True):
        reach = norm.ppf(0.975) * side.sd
        axes.fill_between(
            X,
            side.values - reach,
            side.values + reach,
            color=_BAND,
            linewidth=0,
            label="95 % band for the noise, at each point",
        )
        axes.plot(X, estimate(x), color=_SOLID, linewidth=1.8, label="not private")
        axes.plot(X, side.values, color=_INK, linewidth=1.3, linestyle=(0, (4, 1.5)), label="released")
        how = "; simulated, sensitivity as printed, 1.26324/(n h)"
        note = how if figure == 2 and title == "As printed" else ""
        _titles(axes, title, f"{PROMISE}\nnoise at a point: sd {side.sd:.3f}{note}")
        axes.set(xlabel="x (no unit)", xlim=(0, 1))
        axes.axhline(0, color="#888888", linewidth=0.6)
    panels[0].set_ylabel("density per unit of x")
    section = {1: "Sec. 4.1, Gaussian noise kernel", 2: "Sec. 4.2, exponential noise kernel"}
    sheet.suptitle(f"Hall 2013, Figure {figure}: {section[figure]}, h = {H:g}", x=0.01, ha="left")
    _save(sheet, path)


def bumps(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Centres and weights of sum_i w_i K(z_i, .): a function of the Gaussian kernel's space."""
    return rng.uniform(0, 1, 12), rng.normal(0, 1, 12)


def truncations() -> list[tuple[int, Floats, float, float]]:
    """For each size: size, approximation on X, its largest error, and the bound on that error.

    |f - f_m|(x) <= ||f|| sqrt(K(x, x) - ||e(x)||^2): Cauchy-Schwarz.
    """
    kernel = Gaussian(((WIDTH**2,),))
    centres, weights = bumps(np.random.default_rng(SEED))
    length = math.sqrt(weights @ kernel(centres[:, None], centres[:, None]) @ weights)
    f = kernel(X[:, None], centres[:, None]) @ weights
    found = []
    for size in SIZES:
        basis = Eigenfunctions.spanning(kernel, size)
        coordinates = weights @ basis.features(centres[:, None])  # M2: no noise here
        approximation = basis.evaluate(X[:, None], coordinates)
        error = float(np.max(np.abs(approximation - f)))
        found.append((size, approximation, error, length * math.sqrt(basis.deficit)))
    return found


def thesis_picture(path: Path) -> None:
    kernel = Gaussian(((WIDTH**2,),))
    centres, weights = bumps(np.random.default_rng(SEED))
    f = kernel(X[:, None], centres[:, None]) @ weights
    sheet, panels = _sheet(1, 3, (10, 4.0))
    for axes, (size, approximation, error, _) in zip(panels, truncations(), strict=True):
        axes.plot(X, f, color="#b5b5b5", linewidth=4, label="function")
        axes.plot(
            X,
            approximation,
            color=_SOLID,
            linewidth=1.5,
            linestyle=(0, (3, 1.5)),
            label="its first coordinates",
        )
        _titles(axes, f"{size} eigenfunctions", f"no noise, no data; largest error {error:.2g}")
        axes.set(xlabel="x (no unit)", xlim=(0, 1))
    panels[0].set_ylabel("f(x)")
    sheet.suptitle(f"Thesis, Figure 3.1: truncation, Gaussian kernel, h = {WIDTH:g}", x=0.01, ha="left")
    _save(sheet, path)


def _sheet(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt.subplots(rows, columns, figsize=size, sharex=True, sharey=True)


def _titles(axes: Any, title: str, small: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, pad=10 + 11 * (small.count("\n") + 1))
    axes.text(0, 1.03, small, transform=axes.transAxes, fontsize=8, color="#555555")
    axes.spines[["top", "right"]].set_visible(False)


def _save(sheet: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    handles, labels = sheet.axes[0].get_legend_handles_labels()
    sheet.legend(handles, labels, ncols=3, loc="lower center", frameon=False, fontsize=9)
    sheet.tight_layout(rect=(0, 0.05, 1, 1))
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


# --- the table -----------------------------------------------------------------------------------


def noise_table(x: Floats, draws: int) -> list[str]:
    lines = [
        "| figure | noise | sd at a point | over Mercer's | sd² | in the picture | "
        f"mean of {draws} draws | to the true density, mean |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    clean = estimate(x)
    for figure in (1, 2):
        least = ours(figure, x, SEED).sd
        for name, make in (("as printed", printed), ("Mercer", ours)):
            drawn = make(figure, x, SEED)
            many = [make(figure, x, SEED + k).values for k in range(1, draws + 1)]
            cells = [
                f"{drawn.sd:.5f}",
                f"{drawn.sd / least:.3f}",
                f"{drawn.sd**2:.5f}",
                f"{mean_square(drawn.values - clean):.5f}",
                f"{np.mean([mean_square(v - clean) for v in many]):.5f}",
                f"{np.mean([mean_square(v - truth()) for v in many]):.4f}",
            ]
            lines.append(f"| {figure} | {name} | " + " | ".join(cells) + " |")
    return lines


def defaults(x: Floats, draws: int) -> str:
    """Error to the true density of the default call, and of the estimate without noise."""
    errors = []
    for seed in range(1, draws + 1):
        release = mercer.density(x, bounds=(0, 1), epsilon=EPSILON, delta=DELTA, insist=True, rng=SEED + seed)
        errors.append(mean_square(release(X) - truth()))
    return (
        f"Error to the true density, for comparison: {mean_square(estimate(x) - truth()):.4f} "
        f"for the estimate without noise (h = {H:g}), {np.mean(errors):.4f} for Mercer's default "
        f"call (bandwidth chosen after the noise, projected to a density; {draws} draws)."
    )


def same_path(x: Floats) -> float:
    """Largest difference between the two noise paths of Figure 2, each divided by its sd."""
    clean = estimate(x)
    one, two = ((side.values - clean) / side.sd for side in (printed(2, x, SEED), ours(2, x, SEED)))
    return float(np.max(np.abs(one - two)))


def report(x: Floats, draws: int) -> list[str]:
    return [
        "# Figures of the papers, made again",
        "",
        f"{N} synthetic rows from two normals (0.3 and 0.7, sd 0.1 each), h = {H:g}, epsilon = "
        f"{EPSILON:g}, delta = {DELTA:g}, {X.size} even points on [0, 1], the function as released "
        "(open boundary, no projection). Seeded noise: not private.",
        "",
        "![Hall 2013, Figure 1](hall2013-figure1.png)",
        "",
        "![Hall 2013, Figure 2](hall2013-figure2.png)",
        "",
        "In Figure 2 the paper's noise is simulated directly (`spaces.markov.sample_path` on a "
        "NumPy estimate), because its sensitivity, 2/((2 pi)^(1/4) n h) = 1.26324/(n h), is 1.9 "
        "times the one Mercer uses, 0.66806/(n h) (M6, E3). Left and right panels have the same "
        f"normal draws (largest difference of the scaled paths of Figure 2: {same_path(x):.1g}).",
        "",
        "Integrated squared distances, to the non-private estimate (columns 5 to 7) and to the true density:",
        "",
        *noise_table(x, draws),
        "",
        defaults(x, draws),
        "",
        "## Truncation, thesis Figure 3.1",
        "",
        "![Thesis, Figure 3.1](thesis-figure31.png)",
        "",
        f"A sum of 12 Gaussian kernel functions (h = {WIDTH:g}) with random centres and weights, "
        "projected on the first m eigenfunctions of the kernel on [0, 1]; the bound is "
        "||f|| sup sqrt(K(x, x) - ||e(x)||²).",
        "",
        "| m | largest error | bound |",
        "|---:|---:|---:|",
        *(f"| {m} | {error:.3g} | {bound:.3g} |" for m, _, error, bound in truncations()),
        "",
        provenance("matplotlib"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--quick", action="store_true", help="means of 3 draws")
    options = parser.parse_args()
    out, draws = options.out, QUICK_DRAWS if options.quick else DRAWS
    out.mkdir(parents=True, exist_ok=True)
    x = records()
    hall_picture(1, x, out / "hall2013-figure1.png")
    hall_picture(2, x, out / "hall2013-figure2.png")
    thesis_picture(out / "thesis-figure31.png")
    (out / "figures.md").write_text("\n".join(report(x, draws)) + "\n")
    print(out / "figures.md")


if __name__ == "__main__":
    main()
