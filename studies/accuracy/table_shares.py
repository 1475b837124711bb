"""How far shares of rows in synthetic tables are off, beside what the release tells of it.

Every case is released several times.  Realised errors are root mean squares over levels, and over
quarters of the rows in columns of numbers (one column), and over pairs of them (two columns), against
the file's own shares.  Beside them stands what `release.accuracy` tells, and the narrowest interval
that could be proved from the noisy embedding: its noise, and how far the function of a record that is
estimated may be from the one that is asked for, at worst over the domain.

    MERCER_DATA=FOLDER python -m studies.accuracy.table_shares  # writes studies/accuracy/results
    python -m studies.accuracy.table_shares --quick --out FOLDER
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mercer
from mercer.columns.kinds import labels_of
from mercer.spaces.landmarks import spread
from studies.shared.report import Floats, data_file, provenance

SEED, DELTA = 7, 1e-6
EPSILONS = (0.1, 1.0, 4.0)
Z = 1.96
DRAWN = {
    "visits": range(21),
    "cost": (0, 20),
    "ward": ["a", "b", "c", "d", "rare", "rarer"],
    "sex": ["f", "m"],
    "age": (0, 100),
}
LEVELS = ("sex", "race", "marital_status", "relationship", "income")


def drawn(n: int) -> pd.DataFrame:
    """Integers, skewed money, categories with rare levels, normal ages."""
    rng = np.random.default_rng(SEED)
    return pd.DataFrame(
        {
            "visits": np.minimum(rng.poisson(3, n), 20),
            "cost": np.minimum(np.exp(rng.normal(0, 0.7, n)), 20),
            "ward": rng.choice(DRAWN["ward"], n, p=[0.5, 0.3, 0.15, 0.04, 0.008, 0.002]),
            "sex": rng.choice(["f", "m"], n),
            "age": np.clip(rng.normal(50, 10, n), 0, 100),
        }
    )


def adult() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Eight columns of Adult; levels are those of its public description."""
    frame = pd.read_csv(data_file("adult_full.csv.gz"))
    numbers = {"age": range(17, 91), "education_num": range(1, 17), "hours_per_week": range(1, 100)}
    return frame, numbers | {name: sorted(frame[name].unique().tolist()) for name in LEVELS}


def cases(*, quick: bool) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Names, rows and domains."""
    two = {name: DRAWN[name] for name in ("visits", "ward")}
    if quick:
        yield "two discrete columns", drawn(300), two
        return
    for n in (300, 3000, 20_000):
        yield "drawn, 5 columns", drawn(n), DRAWN
    yield "two discrete columns", drawn(20_000), two
    frame, domain = adult()
    yield "Adult, 3 columns", frame, {name: domain[name] for name in ("age", "sex", "income")}
    yield "Adult, 8 columns", frame.sample(3000, random_state=SEED), domain
    yield "Adult, 8 columns", frame, domain


def parts(frame: pd.DataFrame, domain: mercer.Domain) -> list[tuple[int, Floats]]:
    """Column and codes of each part: levels, and quarters of the file's rows, as (column, low, high)."""
    found = []
    for place, column in enumerate(domain.columns):
        many = len(labels_of(column))
        values = frame[column.name]
        cuts = np.arange(many - 1) + 0.5 if many else np.unique(np.quantile(values, (0.25, 0.5, 0.75)))
        ends = [-np.inf, *cuts, np.inf]
        found += [(place, np.array(pair)) for pair in itertools.pairwise(ends)]
    return found


def members(asked: list[tuple[int, Floats]], codes: Floats) -> tuple[Floats, Floats]:
    """Which records are in each part, and in each pair of parts of two columns."""
    one = np.stack([(codes[:, j] > low) & (codes[:, j] <= high) for j, (low, high) in asked], axis=1) * 1.0
    pairs = [(a, b) for b in range(len(asked)) for a in range(b) if asked[a][0] != asked[b][0]]
    two = np.stack([one[:, a] * one[:, b] for a, b in pairs], axis=1)
    return one, two


def provable(release: Any, asked: list[tuple[int, Floats]]) -> float:
    """Half width of an interval of a part's share, from the embedding, at the best ridge; the median part.

    The supremum is over public records that fill the domain, so it is told too small, if anything.
    """
    seen, domain = release.embedding, release.domain
    fit, test = (spread(domain, 1500, label=label) for label in (5, 6))
    x, y = (
        np.column_stack([seen.seen(release.kernel, at, release.marks), np.ones(len(at))])
        for at in (fit, test)
    )
    wanted, other = (members(asked, at)[0] for at in (fit, test))
    gram, best = x.T @ x / len(x), np.full(len(asked), 0.5)  # 0.5 +- 0.5 is always there
    for ridge in np.logspace(-8, 0, 5):
        penalty = np.append(np.full(seen.size, ridge), 1e-12)
        w = np.linalg.solve(gram + np.diag(penalty), x.T @ wanted / len(x))
        gaps = np.concatenate([x @ w - wanted, y @ w - other])
        bias = (gaps.max(axis=0) - gaps.min(axis=0)) / 2
        best = np.minimum(best, Z * seen.deviation * np.linalg.norm(w[:-1], axis=0) + bias)
    return float(np.median(best))


def rms(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def row(frame: pd.DataFrame, space: dict[str, Any], epsilon: float, delta: float | None, runs: int) -> str:
    """One line of the table."""
    domain, n = mercer.Domain(space), len(frame)
    asked = parts(frame, domain)
    own = np.column_stack(
        [
            pd.Categorical(frame[c.name], categories=labels_of(c)).codes if labels_of(c) else frame[c.name]
            for c in domain.columns
        ]
    ).astype(float)
    truth = [found.mean(axis=0) for found in members(asked, own)]
    said, realised = [], []
    for seed in range(runs):
        release = mercer.synthetic(frame[list(space)], domain=domain, epsilon=epsilon, delta=delta, rng=seed)
        found = members(asked, release.codes)
        realised.append([rms(release.weights @ f - t) for f, t in zip(found, truth, strict=True)])
        told = release.accuracy
        said.append((told.difference, told.most, told.noise, told.error == told.error))
    one, two = np.median(realised, axis=0)
    difference, most, noise = np.median([entry[:3] for entry in said], axis=0)
    clear = np.mean([entry[3] for entry in said]) > 0.5
    words = f"about {difference:.2g}" if clear else f"at most {most:.2g}"
    ratio = f"{difference / one:.2f}" if clear else "yes" if one <= most else "NO"
    width = provable(release, asked)
    promise = f"{epsilon:g}, {'pure' if delta is None else 'delta'}"
    shown = "none" if width >= 0.499 else f"{width:.2g}"
    return f"| {n} | {promise} | {one:.2g} | {words} | {ratio} | {noise:.2g} | {two:.2g} | {shown} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small table")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the result")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    runs, epsilons = (2, (1.0,)) if args.quick else (3, EPSILONS)
    lines = [
        "# How far shares of rows in synthetic tables are off",
        "",
        (
            f"Root mean squares, medians of {runs} releases, default arguments, delta = {DELTA:g} or pure. "
            "*Told*: by `release.accuracy`, in one column; *right*: told over realised, or whether the bound "
            "holds. *Counts*: what the noisy counts that it is compared with are off by, which the plan "
            "tells. *Provable*: half of the narrowest interval at 95 % that follows from the noisy "
            "embedding, for the median part; none where it is as wide as [0, 1]."
        ),
    ]
    last = ""
    for name, frame, space in cases(quick=args.quick):
        if name != last:
            head = "| n | epsilon | one column | told | right | counts | two columns | provable |"
            lines += ["", f"## {name}", "", head, "|---:|---|---:|---|---:|---:|---:|---:|"]
        last = name
        for delta in (DELTA, None):
            for epsilon in epsilons:
                lines.append(row(frame, space, epsilon, delta, runs))
                print(name, lines[-1], flush=True)
    text = "\n".join([*lines, "", provenance("pandas")])
    folder = args.out or (None if args.quick else Path(__file__).parent / "results")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "table_shares.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
