"""Thesis, Figure 5.1: a very sparse histogram under random differential privacy, and without it.  M14.

Expected l1 error of the counts of p cells of which few hold anything: two-sided geometric noise in
every cell (differential privacy), random differential privacy as in (5.3), and Chapter 2's
threshold on noisy counts (differential privacy again), each with the same epsilon.  Two kinds of
data: all records in 10 large cells; and the same with 20 cells of one to three records beside
them, which random differential privacy tells as they are and a threshold hides.  Then the mean of
a column without bounds: how often the promise fails on draws, and the noise of both methods.

    python -m studies.thesis.random_privacy
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mercer
from mercer.common.streams import simulation
from mercer.promise.weaker import RandomStatement, asymptotic_rank, check_gamma, pair_rank, pairs_of, rarest
from studies.shared.report import COLOURS, provenance, save, sheet, titles

EPSILON, GAMMA = 1.0, 0.05
LARGE, RARE = 10, 20
N, P = 100_000, 1000  # what is fixed while the other varies
CELLS = (64, 128, 256, 512, 1024, 2048, 4096, 16_384, 65_536)
SIZES = (1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
METHODS = {
    "dense": ("noise in every cell, differential privacy", COLOURS["paper"], "s-"),
    "random": ("random DP (5.3): NOT differential privacy", COLOURS["exact"], "^-"),
    "sparse": ("threshold of Chapter 2, differential privacy", COLOURS["ours"], "o-"),
}
DRAWS = {  # for the mean of a column without bounds
    "normal": lambda size, rng: rng.standard_normal(size),
    "lognormal": lambda size, rng: rng.lognormal(0.0, 1.0, size),
    "Pareto, index 1.5": lambda size, rng: rng.pareto(1.5, size),
    "1 % are not 0": lambda size, rng: (rng.random(size) < 0.01) * rng.random(size),
}
WORLDS = {
    "large": f"{LARGE} large cells, all others empty",
    "rare": f"{LARGE} large cells and {RARE} of one to three records",
}


def table(n: int, cells: int, world: str, rng: np.random.Generator) -> pd.DataFrame:
    """Cells with their counts, n records in all."""
    places = rng.choice(cells, LARGE + RARE, replace=False)
    few = rng.integers(1, 4, RARE) if world == "rare" else np.zeros(RARE, dtype=np.int64)
    large = rng.multinomial(n - few.sum(), np.full(LARGE, 1 / LARGE))
    return pd.DataFrame({"x": places, "count": np.concatenate([large, few])})


def trial(n: int, cells: int, world: str, method: str, seed: int) -> dict[str, float]:
    """l1 errors of one release: in all, and of the rare cells.  Same arguments, same row."""
    rng = np.random.default_rng([n, cells, seed])
    rows = table(n, cells, world, rng)
    asked: dict[str, Any] = {
        "bins": range(cells),
        "epsilon": EPSILON,
        "columns": "x",
        "counts": "count",
        "rng": rng,
        "insist": True,
    }
    if method == "random":
        release = mercer.random_histogram(rows, gamma=GAMMA, weaker_promise=True, **asked)
        assert isinstance(release.privacy, RandomStatement)
    else:
        release = mercer.histogram(rows, sparse=method == "sparse", **asked)
    truth = np.zeros(cells)
    truth[rows["x"]] = rows["count"]
    errors = np.abs(release.counts - truth)
    return {"all": float(errors.sum()), "rare": float(errors[rows["x"][LARGE:]].sum())}


def average(runs: int, *case: Any) -> tuple[float, float, float]:
    """Mean l1 error, half of its 95 % interval, and the mean of the rare cells' part."""
    found = [trial(*case, seed) for seed in range(runs)]
    whole = np.array([one["all"] for one in found])
    half = 1.96 * whole.std(ddof=1) / np.sqrt(runs)
    return float(whole.mean()), float(half), float(np.mean([one["rare"] for one in found]))


def main() -> None:
    """Two sweeps, a picture and a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True, parents=True)
    runs = 3 if options.quick else 100
    cells, sizes = (CELLS[:3], SIZES[:3]) if options.quick else (CELLS, SIZES)
    sweeps = {"cells": [((N, p), p) for p in cells], "records": [((n, P), n) for n in sizes]}
    figure, panels = sheet(2, 2, (10.0, 7.4), layout="constrained")
    lines: list[str] = []
    for row, (world, words) in enumerate(WORLDS.items()):
        for column, (sweep, cases) in enumerate(sweeps.items()):
            axes = panels[row, column]
            found = {m: [average(runs, *case, world, m) for case, _ in cases] for m in METHODS}
            draw(axes, [x for _, x in cases], found)
            fixed = f"n = {N:,}" if sweep == "cells" else f"p = {P:,}"
            axes.set_xlabel(f"{'cells p' if sweep == 'cells' else 'records n'} ({fixed})")
            titles(axes, words, f"epsilon = {EPSILON:g}, pure, one row; random DP: gamma = {GAMMA}")
            lines += part(f"{words}; {fixed}", cases, found)
    panels[0, 0].set_ylabel("mean l1 error of all counts")
    panels[1, 0].set_ylabel("mean l1 error of all counts")
    panels[0, 0].legend(fontsize=8, frameon=False)
    save(figure, options.out / "thesis-figure51.png")
    lines += means(20 if options.quick else 4000, 8000)
    write(lines, runs, options.out / "random_privacy.md")


def draw(axes: Any, x: list[int], found: dict[str, list[tuple[float, float, float]]]) -> None:
    """One panel."""
    for method, (label, colour, style) in METHODS.items():
        values = np.array([one[0] for one in found[method]])
        axes.loglog(x, np.maximum(values, 0.5), style, color=colour, ms=4, label=label)


def part(title: str, cases: list[Any], found: dict[str, Any]) -> list[str]:
    """Rows of the table, one for each case."""
    rows = []
    for place, ((n, p), _) in enumerate(cases):
        exact = rarest(n, p, check_gamma(GAMMA))
        shown = [
            f"{mean:.1f} ± {half:.1f} ({rare:.1f})"
            for mean, half, rare in (found[method][place] for method in METHODS)
        ]
        told = f"<= {exact}" if exact >= 0 else "none"
        rows.append(f"| {n:,} | {p:,} | {told} | {' | '.join(shown)} |")
    head = "| n | p | counts told exactly | every cell | random DP (5.3) | threshold |"
    return [f"## {title}", "", head, "|" + "---|" * 6, *rows, ""]


def means(runs: int, n: int) -> list[str]:
    """How often the promise of a mean fails over draws, and its noise times n; epsilon = 1."""
    gamma, pairs = check_gamma(GAMMA), pairs_of(n, simulation(n))
    ranks = pair_rank(n // 2, gamma), asymptotic_rank(n, n // 2, gamma)
    assert None not in ranks
    lines = [
        "## Mean of a column without bounds",
        "",
        "| records | n | exact: fails | scale | asymptotic: fails | scale |",
        "|" + "---|" * 6,
    ]
    for name, draw_from in DRAWS.items():
        rng = np.random.default_rng([7, n])
        failed, scales = np.zeros(2), np.zeros(2)
        for _ in range(runs):
            data = draw_from(n + 1, rng)
            other = data[:n].copy()
            other[0] = data[n]
            changes = [np.sort(np.abs(d[pairs[0]] - d[pairs[1]])) for d in (data[:n], other)]
            moved = abs(data[0] - data[n])
            for k, rank in enumerate(ranks):
                one, two = (float(c[rank - 1]) for c in changes)
                near = (
                    one == two if k == 0 else abs(np.log(one / two)) <= n**-0.5 if one * two else one == two
                )
                failed[k] += not near or moved > one
                scales[k] += (1 + k) * one / EPSILON / runs
        lines.append(
            f"| {name} | {n:,} | {failed[0] / runs:.4f} | {scales[0]:.3g} "
            f"| {failed[1] / runs:.4f} | {scales[1]:.3g} |"
        )
    return [*lines, ""]


def write(lines: list[str], runs: int, path: Path) -> None:
    """The table."""
    path.write_text(
        "\n".join(
            [
                "# A sparse histogram under the weaker promise",
                "",
                f"Thesis, Figure 5.1. Mean l1 error of all counts over {runs} releases with its 95 % "
                f"interval, and in brackets the part of the {RARE} rare cells; epsilon = {EPSILON:g}, "
                f"gamma = {GAMMA}. Releases are mercer.histogram, mercer.random_histogram and "
                "mercer.histogram(sparse=True), counts below zero set to zero.",
                "",
                "Random DP has an error of the occupied cells only, until 2p > gamma n: there no cell can "
                "be exact and it is noise in every cell. The threshold of Chapter 2 has half as much error "
                "again where the occupied cells are large (a few empty ones pass it), but under "
                "differential privacy and at every p; where some hold one to three records it hides those, "
                "and its error is larger by what they hold: the few people in them are what random DP "
                "shows. The thesis' own verdict is that Chapter 2 obviates Chapter 5.",
                "",
                "For the mean of a column without bounds the last table counts over draws of 8000 records "
                f"how often the promise fails; at most {GAMMA} is allowed. Exact: the quantile differs or "
                "does not cover the change. Asymptotic (thesis, 5.3): its logarithm differs by more than "
                "n^(-1/2), or it does not cover. The scale is that of the noise, times n.",
                "",
                *lines,
                "![Mean l1 error against cells and records](thesis-figure51.png)",
                "",
                provenance("pandas"),
                "",
            ]
        )
    )


if __name__ == "__main__":
    main()
