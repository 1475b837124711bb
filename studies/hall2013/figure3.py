"""Hall 2013, Figure 3: a support vector machine in the plane, not private and private.  M8.

Above the papers' way, noise on the weights with their constant sqrt(2 ln(2/delta)) / epsilon; below
Mercer's default at the same promise.  The paper does not print its numbers, so they are ours: two
synthetic classes, 1000 rows.  Noise is seeded: none of these releases is private.

    python -m studies.hall2013.figure3
"""

from __future__ import annotations

import argparse
import io
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.stats import norm

import mercer
from mercer.promise.events import classic_multiplier, gaussian_multiplier
from mercer.rules.machines import bandwidth_rule
from studies.shared.report import Floats, half_width, provenance

N, DELTA, EPSILONS = 1000, 1e-3, (0.1, 0.5, 1.0)
SEED = 2013
SIDE = 81
BOUNDS = (0.0, 1.0)
CENTRES = {0.0: ((0.25, 0.3), (0.75, 0.7)), 1.0: ((0.3, 0.75), (0.7, 0.25))}
SPREAD = 0.13


@dataclass(frozen=True)
class Panel:
    """A decision function on the mesh, and how often it is right."""

    values: Floats
    accuracy: float


def rows(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Two classes, each of two normals; clipped to the unit square, as Mercer does."""
    y = rng.integers(2, size=n).astype(float)
    centres = np.array([CENTRES[0.0], CENTRES[1.0]])
    x = rng.normal(centres[y.astype(int), rng.integers(2, size=n)], SPREAD)
    return np.clip(x, *BOUNDS), y


def truth(x: Floats) -> Floats:
    """Density of class 1 less that of class 0: the best possible boundary is its zero line."""

    def density(label: float) -> Floats:
        each = [norm.pdf(x, centre, SPREAD).prod(axis=-1) for centre in CENTRES[label]]
        return np.mean(each, axis=0)

    return density(1.0) - density(0.0)


def mesh() -> Floats:
    ticks = np.linspace(*BOUNDS, SIDE)
    return np.stack(np.meshgrid(ticks, ticks, indexing="xy"), -1).reshape(-1, 2)


def learn(x: Floats, y: Floats, epsilon: float, seed: int, **settings: Any) -> Any:
    return mercer.classifier(
        x, y, classes=(0.0, 1.0), bounds=[BOUNDS] * 2, epsilon=epsilon, delta=DELTA, rng=seed, **settings
    )


def printed(x: Floats, y: Floats, epsilon: float, seed: int) -> Any:
    """The papers' noise: that of method='output', lengthened to their constant.

    Mercer does not add more noise than the promise needs, so the same draw is multiplied here.
    """
    h = bandwidth_rule(n=len(x), epsilon=epsilon, dimension=2, pure=False)
    release = learn(x, y, epsilon, seed, method="output", bandwidth=h)
    plain = unnoised(x, y, release.penalty, h).coordinates
    promise = {"epsilon": epsilon, "delta": DELTA}
    factor = classic_multiplier(**promise) / gaussian_multiplier(**promise)
    return replace(release, coordinates=plain + factor * (release.coordinates - plain))


def unnoised(x: Floats, y: Floats, penalty: float, bandwidth: float) -> Any:
    """The same machine without privacy: two releases with the same draws, taken to no noise."""
    first, second = (
        learn(x, y, epsilon, SEED, method="output", penalty=penalty, bandwidth=bandwidth)
        for epsilon in (1.0, 20.0)
    )
    ratio = first.noise.deviations(1)[0] / second.noise.deviations(1)[0]
    weights = (ratio * second.coordinates - first.coordinates) / (ratio - 1)
    return replace(second, coordinates=weights)


def best(x: Floats, y: Floats, x_test: Floats, y_test: Floats) -> Any:
    """Not private: the penalty and the bandwidth of the best test accuracy."""
    choices = [unnoised(x, y, penalty, h) for penalty in (1e-4, 1e-3, 1e-2) for h in (0.1, 0.2)]
    return max(choices, key=lambda release: np.mean(release.predict(x_test) == y_test))


def panels(repeats: int) -> tuple[dict[tuple[str, float], Panel], list[str]]:
    rng = np.random.default_rng(SEED)
    (x, y), (x_test, y_test) = rows(N, rng), rows(20_000, rng)
    points, found = mesh(), {}

    def right(release: Any) -> float:
        return float(np.mean(release.predict(x_test) == y_test))

    def panel(release: Any) -> Panel:
        return Panel(release(points).reshape(SIDE, SIDE), right(release))

    found["none", math.inf] = panel(best(x, y, x_test, y_test))
    bayes = float(np.mean((truth(x_test) > 0) == y_test))
    lines = [
        "| epsilon | as printed | noise on the weights, exact constant | Mercer |",
        "|---:|---:|---:|---:|",
    ]
    ways: dict[str, Any] = {
        "printed": printed,
        "output": lambda x, y, e, s: learn(x, y, e, s, method="output"),
        "Mercer": learn,
    }
    for epsilon in EPSILONS:
        texts = [f"{epsilon:g}"]
        for name, way in ways.items():
            if name != "output":
                found[name, epsilon] = panel(way(x, y, epsilon, SEED))
            seeds = range(SEED, SEED + repeats)
            each = 100 * np.array([right(way(x, y, epsilon, seed)) for seed in seeds])
            texts.append(f"{each.mean():.1f} ± {half_width(each):.1f}")
        lines.append("| " + " | ".join(texts) + " |")
    plain = 100 * found["none", math.inf].accuracy
    lines += [
        "",
        f"Not private: {plain:.1f} (penalty and bandwidth chosen in hindsight); the best possible "
        f"boundary: {100 * bayes:.1f}.",
    ]
    return found, lines


def picture(found: dict[tuple[str, float], Panel], path: Path) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image

    sheet, grid = plt.subplots(
        2, len(EPSILONS) + 1, figsize=(11, 6.2), sharex=True, sharey=True, layout="constrained"
    )
    names = {"printed": "as printed", "Mercer": "Mercer"}
    line = truth(mesh()).reshape(SIDE, SIDE)
    for axes, name in zip(grid[:, 0], names, strict=True):
        plain = found["none", math.inf]
        _draw(axes, plain, line, "not private", f"accuracy {plain.accuracy:.1%}")
        axes.set_ylabel(f"{names[name]}\nsecond column (no unit)")
    for place, name in enumerate(names):
        for axes, epsilon in zip(grid[place, 1:], EPSILONS, strict=True):
            panel = found[name, epsilon]
            promise = f"epsilon = {epsilon:g}, delta = {DELTA:g}, one row"
            _draw(axes, panel, line, f"{names[name]}: accuracy {panel.accuracy:.1%}", promise)
    for axes in grid[-1]:
        axes.set_xlabel("first column (no unit)")
    sheet.suptitle(
        "Hall 2013, Figure 3: the sign is the predicted class. White: the released boundary; "
        "dotted: the best possible one",
        x=0.01,
        ha="left",
        fontsize=10,
    )
    with io.BytesIO() as buffer:  # few colours: a third of the size
        sheet.savefig(buffer, dpi=80)
        Image.open(buffer).convert("RGB").quantize(64).save(path, optimize=True)
    plt.close(sheet)


def _draw(axes: Any, panel: Panel, line: Floats, title: str, promise: str) -> None:
    extent = (*BOUNDS, *BOUNDS)
    most = float(np.quantile(np.abs(panel.values), 0.98))
    axes.imshow(panel.values, origin="lower", extent=extent, cmap="cividis", vmin=-most, vmax=most)
    axes.contour(panel.values, levels=[0.0], colors="white", linewidths=2.2, extent=extent)
    axes.contour(line, levels=[0.0], colors="black", linewidths=1.1, linestyles=":", extent=extent)
    axes.set_title(title, loc="left", fontsize=9, pad=13)
    axes.text(0, 1.02, promise, transform=axes.transAxes, fontsize=7, color="#555555")


def report(lines: list[str], repeats: int, source: str) -> list[str]:
    return [
        "# Hall 2013, Figure 3, made again",
        "",
        f"{N} synthetic rows of two classes, each of two normals (sd {SPREAD:g}) on a diagonal of "
        f"the unit square; Gaussian kernel, delta = {DELTA:g}. The paper prints none of its "
        "numbers. *As printed*: noise on the weights with the constant sqrt(2 ln(2/delta)) / "
        "epsilon, penalty and bandwidth by Mercer's public rule for such noise; its proof ends at "
        "epsilon = 1. *Mercer*: the default, noise in the objective. Each panel has its own "
        "scale: the sign is what counts. Seeded noise: not private.",
        "",
        "![Hall 2013, Figure 3](hall2013-figure3.png)",
        "",
        f"Per cent right of 20,000 new rows, mean of {repeats} draws of the noise ± half of its "
        "95 % interval:",
        "",
        *lines,
        "",
        source,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 draws of the noise")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    repeats = 2 if options.quick else 25
    source = provenance()
    found, lines = panels(repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    picture(found, options.out / "hall2013-figure3.png")
    (options.out / "figure3.md").write_text("\n".join(report(lines, repeats, source)) + "\n")
    print(options.out / "figure3.md")


if __name__ == "__main__":
    main()
