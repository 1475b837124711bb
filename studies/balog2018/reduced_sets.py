"""Figure 2's dashed lines: Algorithm 2, random features and a reduced set, beside the paper's.

Balog, Tolstikhin and Schoelkopf 2018, Appendix B.2: N = 100,000, D = 2 or 5, J = 10,000 features.
Ours are in pairs, so their norm is one (E11) and 2/N is their sensitivity; noise by M1; the search
starts from public points of a normal of mean 0 and standard deviation 500, as the paper's does.
Distances are to the embedding of all rows in the kernel's own space.  The published numbers, one
draw each, are in balog2018_fig1_fig2.csv.

    MERCER_DATA=folder python -m studies.balog2018.reduced_sets [--device cuda]
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import time
from pathlib import Path

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from mercer.promise.events import gaussian_multiplier
from mercer.releases.synthetic.reduced.search import Space, reduce
from mercer.sensitive.summaries.kernel_sums import kernel_sums, wave_sums
from studies.balog2018.embeddings import BELIEF, DELTA, EPSILONS, Setting
from studies.shared.report import Floats, provenance

SIZES = (1, 3, 10, 31, 100, 316, 1000)
FEATURES = 10_000


def space_of(setting: Setting) -> Space:
    """Points may lie anywhere in the domain; candidates follow the public belief."""
    kernel, d = setting.kernel, setting.dimension

    def draw(n: int) -> Floats:
        engine = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(6))
        unit = engine.random(1 << max(n - 1, 1).bit_length())[:n]
        return kernel.domain.snap(ndtri(np.clip(unit, 1e-12, 1 - 1e-12)) * BELIEF)

    ends = [column.ends for column in kernel.domain.columns]
    return Space(
        embed=kernel.embed,
        draw=draw,
        snap=kernel.domain.snap,
        free=tuple(range(d)),
        lower=tuple(low for low, _ in ends),
        upper=tuple(high for _, high in ends),
        slope=tuple(1 / kernel.scales[j] / (b - a) for j, (a, b) in enumerate(ends)),
        place=tuple(range(d)),
    )


def distance(setting: Setting, codes: Floats, weights: Floats) -> float:
    """From weighted points to the embedding of all rows."""
    u, points = setting.kernel.embed(setting.rows), setting.kernel.embed(codes)
    cross = kernel_sums(setting.kernel, u, points, None) / (len(u) * 2.0**24)
    gram = setting.kernel.between(points, points)
    square = setting.square - 2 * float(weights @ cross) + float(weights @ gram @ weights)
    return math.sqrt(max(square, 0.0))


def published() -> dict[tuple[int, int, float], float]:
    """What the authors published, if the file is there; the nearest M counts."""
    path = Path(os.environ.get("MERCER_DATA", ".")) / "balog2018_fig1_fig2.csv"
    if not path.exists():
        return {}
    with path.open() as file:
        return {
            (int(r["D"]), int(r["M"]), epsilon): float(r[f"dist_eps_{epsilon:g}"])
            for r in csv.DictReader(file)
            if r["algorithm"] == "alg2"
            for epsilon in EPSILONS
        }


def main() -> None:
    """One draw of the noise for every epsilon, as the paper has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--device", default="numpy", help="numpy, torch or cuda")
    options = parser.parse_args()
    n, sizes, many = (1000, (3,), 60) if options.quick else (100_000, SIZES, FEATURES)
    given = {} if options.quick else published()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = []
    for dimension in (2,) if options.quick else (2, 5):
        setting = Setting.of(dimension, n)
        waves = setting.kernel.frequencies(many // 2)
        u = setting.kernel.embed(setting.rows)
        mean = wave_sums(waves, u, None) / (n * 2.0**24 * math.sqrt(len(waves)))
        for epsilon in EPSILONS:
            sd = gaussian_multiplier(epsilon=epsilon, delta=DELTA) * 2 / n
            rng = np.random.default_rng([9, dimension, round(1000 * epsilon)])
            noisy = mean + sd * rng.standard_normal(len(mean))
            for size in sizes:
                start = time.perf_counter()
                found = reduce(noisy, waves, space_of(setting), size=size, noise=sd, device=options.device)
                seconds = time.perf_counter() - start
                mine = distance(setting, found.codes, found.weights)
                paper = given.get((dimension, size, epsilon), math.nan)
                print(dimension, epsilon, size, mine, paper, round(seconds, 1), flush=True)
                shown = "" if math.isnan(paper) else f"{paper:.4g}"
                lines.append(
                    f"| {dimension} | {epsilon:g} | {size} | {len(found.weights)} | {mine:.4g} | "
                    f"{shown} | {found.distance:.4g} | {seconds:.1f} |"
                )
    head = [
        "# Algorithm 2 beside the paper's",
        "",
        f"N = {n:,}, {many:,} features, delta = {DELTA:g}, weights of absolute sum at most one; "
        f"one draw of the noise for each D and epsilon; searched on: {options.device}. Distances "
        "in the kernel's space to the embedding of all rows.",
        "",
        "| D | epsilon | M | records used | ours | published | to the noisy target | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    text = "\n".join([*head, *lines, "", provenance(), ""])
    (options.out / "reduced_sets.md").write_text(text)


if __name__ == "__main__":
    main()
