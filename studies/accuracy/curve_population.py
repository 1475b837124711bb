"""How often bands about the population's mean hold it, and how wide they are beside what could be known.

Samples are drawn again and again from populations of curves whose mean is known: two made for this table,
and a file drawn from with replacement.  A twentieth of the budget pays for how the curves vary (M22).  The
noise is drawn in doubles: nothing here is private.

    MERCER_DATA=FOLDER python -m studies.accuracy.curve_population
    python -m studies.accuracy.curve_population --quick --out FOLDER   # one population, few runs, no files
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

import mercer
from mercer.noise.laws import Normal
from mercer.releases.curve.release import CurveRelease
from mercer.releases.curve.sampling import DIRECTIONS, Sampling, radius_of
from mercer.releases.function import Band
from studies.accuracy.curve_coverage import LEVEL, PLACES, ROWS, WEIGHTS, oracle, table_of
from studies.shared.curves import POLYNOMIALS
from studies.shared.report import Floats, provenance

SEED, RUNS, ORACLE, DELTA, SHARE = 2022, 50, 300, 1e-6, 0.05
GRID = np.linspace(0, 1, 401)
ABOVE = np.triu_indices(DIRECTIONS, 1)
Sampler = Callable[[int, np.random.Generator], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Population:
    """Curves in units of the bound, by their coordinates; next to none of those made here reach it."""

    name: str
    mean: Floats  # coordinates of the mean
    root: Floats  # rows: a root of the covariance
    sample: Sampler  # coordinates of curves, and how often each was drawn


def made(name: str, mean: Floats, spread: Floats, length: float) -> Population:
    """Normal curves about a mean on the grid, of these standard deviations, correlated over a length."""
    kernel = np.exp(-0.5 * ((GRID[:, None] - GRID) / length) ** 2) * spread[:, None] * spread
    values, vectors = np.linalg.eigh(kernel)
    kept = values > 1e-6 * values.max()
    table = POLYNOMIALS.of_grid([GRID])
    root = (vectors[:, kept] * np.sqrt(values[kept])).T @ table

    def sample(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return mean @ table + rng.standard_normal((n, len(root))) @ root, np.ones(n)

    return Population(name, mean @ table, root, sample)


def drawn(name: str, heights: Floats, bound: float, center: float) -> Population:
    """The curves of a file, each as likely as another."""
    grid = np.linspace(0, 1, heights.shape[1])
    curves = (heights - center) / bound @ POLYNOMIALS.of_grid([grid])
    curves /= np.maximum(np.linalg.norm(curves, axis=1), 1)[:, None]
    mean, many = curves.mean(axis=0), len(curves)

    def sample(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return curves, rng.multinomial(n, np.full(many, 1 / many)).astype(float)

    return Population(name, mean, (curves - mean) / math.sqrt(many), sample)


def populations(*, files: bool) -> Iterator[Population]:
    wave = 0.35 + 0.25 * np.sin(2 * np.pi * GRID) + 0.2 * np.exp(-(((GRID - 0.7) / 0.07) ** 2))
    yield made("wave and hill", wave, 0.15 * (0.4 + GRID), 0.3)
    if not files:
        return
    late = 0.02 + 0.4 / (1 + np.exp(-(GRID - 0.85) / 0.03))
    yield made("variance in the last fifth", 0.6 * np.exp(-2 * GRID) * np.cos(4 * np.pi * GRID), late, 0.1)
    heights, _, _ = table_of("dti_cca.csv", "cca_")
    grid = np.linspace(0, 1, heights.shape[1])
    whole = [np.interp(grid, grid[np.isfinite(x)], x[np.isfinite(x)]) for x in heights]
    yield drawn("DTI, bound 0.3 around 0.5, drawn", np.array(whole), 0.3, 0.5)


@dataclass
class Cell:
    """What came of the runs of one population, size and promise."""

    population: Population
    n: int
    epsilon: float
    delta: float | None
    sd: float  # of a coordinate's noise, in bounds
    sampling: float  # root mean square of the sample's mean about the population's, in bounds
    held: float  # runs in which the band held the population's mean
    points: float
    known: float  # the same with the covariance known
    own: float  # of the band about the file's own mean
    width: float  # of the band over that with the covariance known
    oracle: float  # over that of a filter that knows the mean and the covariance


def moments_of(
    curves: Floats, counts: Floats, mean: Floats, first: Sampling, rng: np.random.Generator
) -> Sampling:
    """What is released about the residuals, by its definition and with fresh noise."""
    apart, n = curves - mean, float(counts.sum())
    total = float(counts @ np.minimum(np.sum(apart**2, axis=1), 1)) / n
    total += float(first.total_noise.simulate(1, 1, rng)[0, 0])
    radius = radius_of(total, first.total_noise)
    some = apart[:, :DIRECTIONS]
    some = some / np.maximum(np.linalg.norm(some, axis=1), radius)[:, None]
    square = (some * counts[:, None]).T @ some / n
    moments = np.concatenate([np.diag(square), math.sqrt(2) * square[ABOVE]])
    noisy = moments + first.noise.simulate(moments.size, 1, rng)[0]
    return replace(first, total=total, radius=radius, moments=noisy)


def exact(population: Population, n: int) -> Sampling:
    """The covariance itself, as far as the directions reach and with all of the variance in them."""
    square = population.root[:, :DIRECTIONS].T @ population.root[:, :DIRECTIONS]
    moments = np.concatenate([np.diag(square), math.sqrt(2) * square[ABOVE]])
    nothing = Normal(1e-12, 2.0**-60)
    return Sampling(float(np.sum(population.root**2)), nothing, 1.0, moments, nothing, n, SHARE)


def measure(population: Population, n: int, epsilon: float, delta: float | None, runs: int) -> Cell:
    rng = np.random.default_rng([SEED, n, int(epsilon), int(delta is None)])
    flat = np.zeros((n, 2))
    terms = {"bound": 1.0, "population": SHARE, "rng": SEED}
    first = mercer.mean_curve(flat, grid=[0, 1], epsilon=epsilon, delta=delta, **terms)
    assert isinstance(first, CurveRelease)
    assert first.sampling is not None
    given = {part.name: getattr(first, part.name) for part in fields(first) if part.init}
    for name in ("coordinates", "smoothing", "choice", "exact"):
        del given[name]
    truth, known = ROWS @ population.mean, exact(population, n)
    shift = rng.standard_normal((ORACLE, len(population.root))) @ population.root / math.sqrt(n)
    best = oracle((population.mean, truth), first, rng, ORACLE, shift)
    rows = []
    for k, noise in enumerate(first.noise.simulate(first.size, runs, rng)):
        curves, counts = population.sample(n, rng)
        own = counts @ curves / n
        seen = own if first.frame is None else first.frame @ own
        plain = CurveRelease.smoothed(**given, coordinates=seen + noise)
        release = replace(plain, sampling=moments_of(curves, counts, plain.coefficients, first.sampling, rng))
        band = release.band(PLACES, LEVEL, of="population")
        each = release.band(PLACES, LEVEL, of="population", simultaneous=False)
        half = (band.upper - band.lower) / 2 @ WEIGHTS
        found = [_within(band, truth).all(), _within(each, truth).mean(), np.nan, np.nan, np.nan, half / best]
        if k % 4 == 0:
            other = replace(plain, sampling=known).band(PLACES, LEVEL, of="population")
            found[2] = _within(other, truth).all()
            found[3] = _within(release.band(PLACES, LEVEL), truth).all()
            found[4] = half / ((other.upper - other.lower) / 2 @ WEIGHTS)
        rows.append(found)
    mean = [float(number) for number in np.nanmean(np.array(rows, dtype=float), axis=0)]
    sd = float(first.noise.deviations(first.size)[0])
    return Cell(population, n, epsilon, delta, sd, known.error, *mean)


def _within(band: Band, truth: Floats) -> Floats:
    inside: Floats = (band.lower <= truth) & (truth <= band.upper)
    return inside


HEAD = [
    "| population | n | epsilon | delta | sd | sampling | held | points | known | own | width / known | "
    "width / oracle |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
]


def line(cell: Cell) -> str:
    law, mark = "pure" if cell.delta is None else f"{cell.delta:g}", "**" if cell.held < 0.93 else ""
    return (
        f"| {cell.population.name} | {cell.n} | {cell.epsilon:g} | {law} | {cell.sd:.2g} | "
        f"{cell.sampling:.2g} | {mark}{cell.held:.2f}{mark} | {cell.points:.2f} | {cell.known:.2f} | "
        f"{cell.own:.2f} | {cell.width:.2f} | {cell.oracle:.2f} |"
    )


def summary(cells: list[Cell]) -> str:
    held = sum(cell.held >= 0.93 for cell in cells)
    low = min(cell.held for cell in cells)
    near = [cell.width for cell in cells]
    seen = [cell for cell in cells if cell.sd <= 0.1]
    narrow = sum(cell.oracle <= 1.5 for cell in seen)
    return (
        f"The population's mean was held in 93 % of the runs or more in {held} of {len(cells)} cells (the "
        f"least: {low:.2f}). Width over that with the covariance known: {min(near):.2f} to {max(near):.2f}, "
        f"median {np.median(near):.2f}. At most 1.5 times an oracle's width in {narrow} of the {len(seen)} "
        "cells whose noise has at most a tenth of the bound in a coordinate. The band about the file's own "
        f"mean would have held the population's in {min(cell.own for cell in cells):.2f} to "
        f"{max(cell.own for cell in cells):.2f} of the runs."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one population, few runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", mercer.PrivacyWarning)  # few curves: said in the table
    runs, sizes = (4, (1000,)) if options.quick else (RUNS, (100, 1000, 10_000))
    cells = []
    for population in populations(files=not options.quick):
        for n in sizes:
            for epsilon in (1.0, 5.0):
                for delta in (DELTA, None):
                    cells.append(measure(population, n, epsilon, delta, runs))
                    print(line(cells[-1]), flush=True)
    text = [
        "# Bands about the mean of a population",
        "",
        f"Runs: {runs} a cell, each with a fresh sample and fresh noise; nominal level {LEVEL:.0%}, whole "
        f"curve; {SHARE:.0%} of the budget for how the curves vary. *sd*: of the noise of a coordinate; "
        "*sampling*: root mean square of the sample's mean about the population's, both in bounds. *held*: "
        "share of the runs in which the whole band held the population's mean at "
        f"{PLACES.size} places; a share of 0.95 has a standard error of {np.sqrt(0.95 * 0.05 / runs):.3f}. "
        "*points*: share of the places that bands for single points held. *known*: as held, with the "
        "covariance of the curves known; *own*: as held, by the band about the file's own mean, which leaves "
        "sampling out (both: a quarter of the runs). *width / known*: mean half width over that with the "
        "covariance known; *width / oracle*: over the least of a filter that knows the mean and the "
        "covariance.",
        "",
        "The share, its parts, the directions and the radius were chosen on other populations of the first "
        "two sorts and on the file.",
        "",
        summary(cells),
        "",
        *HEAD,
        *(line(cell) for cell in cells),
        "",
        "The band is credible, with the coverage measured here, and not a theorem: it adds draws of the "
        "sampling error to those of the file's own mean, and where those fail, at jumps and cusps, so does "
        "it. Curves are taken for independent draws of one law. Where the band is more than 1.5 times as "
        "wide as an oracle's, so is the one about the file's own mean: it does not know how rough the mean "
        "is, and noise hides that; the part for sampling adds little.",
        "",
        provenance("pandas"),
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "curve_population.md").write_text("\n".join(text) + "\n")
    print(options.out / "curve_population.md")


if __name__ == "__main__":
    main()
