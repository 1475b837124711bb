"""The numbers of one released column beside those of its file, and whether intervals cover them.

Ordinary columns: integers, heaps, spikes, skew, smooth laws; declared by a step and not; pure and with a
delta.  For each, over repeated releases: the largest error of 60 shares and of 5 quantiles' ranks beyond
4 standard errors and .002 ("passes"); how often 95 % intervals of three shares, the median and the mean
hold the file's own number; their width over that of 3.92 standard deviations of what was released; and
the error of a cdf over what was planned.

    MERCER_DATA=FOLDER python -m studies.accuracy.columns      # writes studies/accuracy/results/columns.md
    python -m studies.accuracy.columns --quick --out FOLDER    # simulated columns alone
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mercer
from studies.shared.report import Floats, data_file, provenance

DELTA, ALLOWED, SIGMAS = 1e-6, 0.002, 4.0
EPSILONS = (0.1, 1.0, 3.0, 10.0)
QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@dataclass(frozen=True)
class Law:
    """A column: where its values come from, its bounds, and its public step where it has one."""

    draw: Callable[[np.random.Generator, int], Floats]
    bounds: tuple[float, float]
    step: float | None = None


def _heaped(rng: np.random.Generator, n: int) -> Floats:
    x, u = np.clip(rng.normal(45, 15, n), 0, 100), rng.random(n)
    return np.where(u < 0.35, 10 * np.rint(x / 10), np.where(u < 0.6, 5 * np.rint(x / 5), np.rint(x)))


def _claw(rng: np.random.Generator, n: int) -> Floats:
    c = rng.integers(0, 10, n)
    return np.where(c < 5, rng.normal(0, 1, n), rng.normal((c - 5) / 2 - 1, 0.1, n))


def _none(rng: np.random.Generator, n: int) -> Floats:
    """For columns that are read, not drawn."""
    raise ValueError(f"{n} values of a file are not drawn by {rng}")


LAWS = {
    "heaped integers": Law(_heaped, (0.0, 100.0), 1.0),
    "log-normal integers": Law(lambda rng, n: np.rint(rng.lognormal(3, 0.6, n)), (0.0, 200.0), 1.0),
    "90 % zeros, money": Law(
        lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, np.rint(rng.lognormal(8.5, 0.9, n))),
        (0.0, 1e5),
        1.0,
    ),
    "constant": Law(lambda _rng, n: np.full(n, 37.0), (0.0, 100.0), 1.0),
    "two normals": Law(
        lambda rng, n: np.where(rng.random(n) < 0.6, rng.normal(0.3, 0.07, n), rng.normal(0.7, 0.05, n)),
        (0.0, 1.0),
    ),
    "claw": Law(_claw, (-3.5, 3.5)),
    "exponential": Law(lambda rng, n: rng.exponential(0.2, n), (0.0, 1.0)),
    "log-normal": Law(lambda rng, n: rng.lognormal(1, 0.6, n), (0.0, 40.0)),
}
REAL = {
    "age": (0.0, 100.0),
    "hours_per_week": (0.0, 100.0),
    "education_num": (0.0, 20.0),
    "capital_gain": (0.0, 1e5),
    "capital_loss": (0.0, 5000.0),
}


@dataclass(frozen=True)
class Row:
    """What repeated releases of one column did."""

    passes: float  # share of the releases within what is allowed
    worst: float  # the largest error of a share, over all releases
    covered: tuple[float, float, float]  # shares, median, mean
    width: float  # of the intervals of shares over 3.92 standard deviations, median over the shares
    planned: float  # error of the cdf over that planned; nan where no plan speaks of it
    peaks: float  # shown by the curve that is drawn; nan for bars


def study(
    x: Floats, law: Law, *, declared: bool, epsilon: float, delta: float | None, runs: int, seed: int
) -> Row:
    """Release a column again and again, and compare with the file."""
    rng = np.random.default_rng(seed)
    (low, high), step = law.bounds, law.step if declared else None
    x, n = np.clip(x, low, high), len(x)
    ends = np.sort(rng.uniform(low, high, (60, 2)), axis=1)
    if law.step is not None:  # shares end between the values, where all readings agree
        ends = np.floor(ends / law.step) * law.step + law.step / 2
        ends = ends[(ends[:, 1] < high) & (ends[:, 0] < ends[:, 1])]
    order = np.sort(x)

    def exact(points: Floats, side: Any = "right") -> Floats:
        return np.searchsorted(order, points, side) / n

    truth = exact(ends[:, 1]) - exact(ends[:, 0])
    found, covered, widths, cdfs = [], [], [], []
    passes, worst, plan, peaks = 0, 0.0, np.nan, np.nan
    grid = np.unique(order[:: max(1, n // 500)])
    grid = grid[(grid > low) & (grid < high)] + (law.step or 0) / 2
    for run in range(runs):
        release: Any = mercer.density(
            x, bounds=law.bounds, step=step, epsilon=epsilon, delta=delta, rng=seed * 1000 + run
        )
        cdf = release.law
        shares = np.diff(cdf.at(ends), axis=1)[:, 0]
        spread = np.array([cdf.deviations(pair, np.array([[-1.0, 1.0]]))[0] for pair in ends])
        ranks = release.quantile(QUANTILES)
        miss = np.maximum(np.maximum(exact(ranks, "left") - QUANTILES, QUANTILES - exact(ranks)), 0.0)
        aside = np.maximum(cdf.deviations(np.clip(ranks, low, high), None), 1e-9)
        error = np.abs(shares - truth)
        passes += bool(
            np.all(error <= SIGMAS * spread + ALLOWED) and np.all(miss <= SIGMAS * aside + ALLOWED)
        )
        worst, found = max(worst, float(error.max())), [*found, shares]
        intervals = [release.share(*ends[k]) for k in range(3)]
        median, mean = release.quantile_band(0.5), release.mean()
        middle = np.quantile(order, 0.5, method="inverted_cdf")
        covered.append(
            (
                np.mean(
                    [i.lower - 1e-9 <= t <= i.upper + 1e-9 for i, t in zip(intervals, truth, strict=False)]
                ),
                median.lower - 1e-9 <= middle <= median.upper + 1e-9,
                mean.lower - 1e-9 <= np.mean(x) <= mean.upper + 1e-9,
            )
        )
        widths.append([i.upper - i.lower for i in intervals])
        cdfs.append(np.sqrt(np.mean((cdf.raw_at(grid) - exact(grid)) ** 2)))
    deviation = np.std([shares[:3] for shares in found], axis=0)
    seen = deviation > 1e-6
    width = (
        float(np.median((np.mean(widths, axis=0) / 3.92)[seen] / deviation[seen])) if seen.any() else np.nan
    )
    if release.kind == "column":
        plan = release.accuracy.cdf
    else:
        from mercer.releases.density.shape import Shape

        peaks = Shape.of(release.law, n).peaks
    hits = np.mean(covered, axis=0)
    return Row(
        passes / runs,
        worst,
        (float(hits[0]), float(hits[1]), float(hits[2])),
        width,
        float(np.sqrt(np.mean(np.square(cdfs)))) / plan,
        peaks,
    )


def cells(quick: bool, folder: str | None) -> list[tuple[str, int, Law, Floats]]:
    """Columns of the study: name, number of records, law and values."""
    rng = np.random.default_rng(5)
    sizes = (1000,) if quick else (1000, 20_000)
    found = [(name, n, law, law.draw(rng, n)) for name, law in LAWS.items() for n in sizes]
    if quick:
        return [cell for cell in found if cell[0] in ("heaped integers", "two normals")]
    frame = pd.read_csv(data_file("adult_numeric.csv.gz", folder))
    for name, bounds in REAL.items():
        values = frame[name].to_numpy(dtype=float)
        found.append((f"Adult {name}", len(values), Law(_none, bounds, 1.0), values))
    return found


HEAD = (
    "| column | n | declared | epsilon | delta | passes | worst share | covered: shares | median | mean | "
    "width | realised/planned | peaks |\n" + "|---" * 13 + "|\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default=str(Path(__file__).parent / "results"))
    parser.add_argument("--data", help="the folder of the data files; or the variable MERCER_DATA")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for seed, (name, n, law, x) in enumerate(cells(chosen.quick, chosen.data)):
        many = law.step is not None and (law.bounds[1] - law.bounds[0]) / law.step > 1e4
        for declared in (True, False) if law.step else (False,):
            for epsilon in (1.0,) if chosen.quick else EPSILONS:
                for delta in (None, DELTA):
                    runs = 4 if chosen.quick else 8 if many and declared else 24
                    row = study(
                        x, law, declared=declared, epsilon=epsilon, delta=delta, runs=runs, seed=seed + 1
                    )
                    words = [
                        name,
                        f"{n}",
                        "step" if declared else "no",
                        f"{epsilon:g}",
                        "0" if delta is None else f"{delta:g}",
                        f"{row.passes:.2f}",
                        f"{row.worst:.4f}",
                        *(f"{share:.2f}" for share in row.covered),
                        *("" if np.isnan(v) else f"{v:.2f}" for v in (row.width, row.planned)),
                        "" if np.isnan(row.peaks) else f"{row.peaks:.0f}",
                    ]
                    lines.append(f"| {' | '.join(words)} |")
                    print(lines[-1], flush=True)
    text = (
        f"# One column: are its numbers those of the file?\n\n{__doc__.split('MERCER_DATA')[0].strip()}\n\n"
    )
    text += HEAD + "\n".join(lines) + f"\n\n{provenance()}\n"
    out = Path(chosen.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "columns.md").write_text(text)


if __name__ == "__main__":
    main()
