"""Intervals and plans of every kind of release on ordinary data: coverage, width, error.

Data are released again and again by each kind, at three epsilons, pure and with a delta.  A cell is one
question to one kind on one data set under one promise: the share of the releases whose 95 % interval held
what it says it covers, its width over that of 3.92 standard deviations of what was released (for whole
bands over the narrowest that would have held), and the error over the one said before the release.  Noise
is seeded: nothing here is private.

    MERCER_DATA=FOLDER python -m studies.accuracy.coverage     # writes studies/accuracy/results/coverage.md
    python -m studies.accuracy.coverage --quick --out FOLDER   # drawn data, few releases
    python -m studies.accuracy.coverage --only "table margins" --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import mercer
from studies.accuracy.columns import ALLOWED, REAL, SIGMAS
from studies.shared.kinds import DELTA, KINDS, Answer, Column, Data, Kind, columns
from studies.shared.report import Floats, provenance

__all__ = ["Cell", "Measured", "measured", "run"]

EPSILONS = (0.1, 1.0, 4.0)
LEVEL, LEAST, WIDEST, PLAN = 0.95, 0.93, 1.5, 1.3
SURE = 0.999  # of the one-sided end that calls a coverage below the level, beyond chance


@dataclass(frozen=True)
class Measured:
    """What repeated releases answered to one question."""

    runs: int
    given: float  # share of the answers with an interval
    held: float  # share of the intervals that held the truth, over all places
    worst: float  # the least of the places
    width: float  # over 3.92 standard deviations, or over the narrowest whole band; nan: nothing moved
    needed: float  # width over twice the 95 % quantile of the error: bias counts
    plan: float  # error over the planned one; nan: none was said

    @property
    def end(self) -> float:
        """The upper Clopper-Pearson end of the coverage, with releases as trials."""
        hits = min(round(self.held * self.runs), self.runs)
        return 1.0 if hits == self.runs else float(beta.ppf(SURE, hits + 1, self.runs - hits))

    @property
    def short(self) -> bool:
        """Measured below what is wanted."""
        return self.given > 0 and self.held < LEAST

    @property
    def below(self) -> bool:
        """So much that chance does not explain it."""
        return self.short and self.end < LEVEL


@dataclass(frozen=True)
class Cell:
    """One question to one kind on one data set under one promise."""

    kind: str
    question: str
    data: Data
    epsilon: float
    delta: float | None
    found: Measured | str  # text: why nothing was released

    @property
    def row(self) -> tuple[str, str, str, int, str]:
        """Its place in the table; epsilons stand side by side."""
        promise = "pure" if self.delta is None else f"{self.delta:g}"
        return self.kind, self.question, self.data.name, self.data.n, promise

    @property
    def words(self) -> str:
        _, question, data, n, promise = self.row
        return f"{question}, {data}, n = {n}, epsilon {self.epsilon:g}, {promise}"


def measured(answers: list[Answer]) -> Measured:
    """Of the answers of many releases to one question."""
    first = answers[0]
    width_of = max(np.size(part) for answer in answers[:1] for part in answer[1:5])

    def stack(place: int) -> Floats:
        return np.array([np.broadcast_to(np.asarray(a[place], dtype=float), width_of) for a in answers])

    truth, estimate, lower, upper = (stack(place) for place in (1, 2, 3, 4))
    error, given = estimate - truth, np.isfinite(lower) & np.isfinite(upper)
    slack = 1e-9 * np.maximum(np.abs(truth), 1e-3)
    inside = np.where(given, (lower - slack <= truth) & (truth <= upper + slack), np.nan)
    if first.together:
        inside = np.min(inside, axis=1, keepdims=True)
    some = bool(given.any())
    wide = np.nanmean(np.where(given, upper - lower, np.nan), axis=0) if some else np.full(width_of, np.nan)
    spread, size = error.std(axis=0), np.max(np.abs(error))
    moved = spread > 1e-9 * max(float(np.max(np.abs(truth))), float(size), 1e-12)
    width = needed = np.nan
    if some and moved.any() and first.together:
        reach = np.quantile(np.max(np.abs(error[:, moved]) / spread[moved], axis=1), LEVEL)
        width = needed = float(np.median(wide[moved] / (2 * reach * spread[moved])))
    elif some and moved.any():
        width = float(np.median(wide[moved] / (3.92 * spread[moved])))
        needed = float(np.median(wide[moved] / (2 * np.quantile(np.abs(error[:, moved]), LEVEL, axis=0))))
    return Measured(
        len(answers),
        float(np.mean(given)),
        float(np.nanmean(inside)) if some else np.nan,
        float(np.nanmin(np.nanmean(inside, axis=0))) if some else np.nan,
        width,
        needed,
        _realised(error, first.by) / first.planned if first.planned > 0 else np.nan,
    )


def _realised(error: Floats, by: str) -> float:
    """The error as the plan speaks of it."""
    square = np.mean(error**2, axis=0)
    return {
        "rms": lambda: float(np.sqrt(np.mean(square))),
        "largest": lambda: float(np.sqrt(np.max(square))),
        "mean": lambda: float(np.mean(np.abs(error))),
        "95 %": lambda: float(np.quantile(np.abs(error), LEVEL)),
    }[by]()


def run(kind: Kind, *, quick: bool, epsilons: tuple[float, ...], runs: int | None = None) -> Iterator[Cell]:
    """All cells of a kind."""
    for data in kind.data(quick):
        for delta in kind.promises:
            for epsilon in epsilons:
                answers: dict[str, list[Answer]] = {}
                try:
                    once = kind.ask(data.values, epsilon, delta)
                    first = _seed(kind.name, data.name, data.n, epsilon, delta)
                    for seed in range(first, first + (runs or kind.runs)):
                        for answer in once(seed):
                            answers.setdefault(answer.name, []).append(answer)
                except ValueError as error:
                    yield Cell(kind.name, "everything", data, epsilon, delta, str(error))
                    continue
                for name, given in answers.items():
                    yield Cell(kind.name, name, data, epsilon, delta, measured(given))


def _seed(*what: Any) -> int:
    """The first seed of a cell: noise of cells is apart, and the same every time."""
    return zlib.crc32(repr(what).encode()) & 0x3FFFFFFF


def kept(path: Path | None, name: str, cells: Callable[[], list[Cell]]) -> list[Cell]:
    """The cells of a kind, from a file if an earlier run finished them."""
    if path is not None and (path / f"{name}.json").exists():
        held = json.loads((path / f"{name}.json").read_text())
        return [_again(**fields) for fields in held]
    found = cells()
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        text = json.dumps([_fields(cell) for cell in found], indent=0)
        (path / f"{name}.json").write_text(text)
    return found


def kept_shares(path: Path | None, shares: Callable[[], list[Shares]]) -> list[Shares]:
    """The same of the shares of Adult's columns."""
    if path is not None and (path / "shares.json").exists():
        held = json.loads((path / "shares.json").read_text())
        return [Shares(**fields) for fields in held]
    found = shares()
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        (path / "shares.json").write_text(json.dumps([asdict(one) for one in found], indent=0))
    return found


def _fields(cell: Cell) -> dict[str, Any]:
    found = cell.found if isinstance(cell.found, str) else asdict(cell.found)
    names = ("kind", "question", "epsilon", "delta")
    return {name: getattr(cell, name) for name in names} | {
        "data": [cell.data.name, cell.data.n],
        "found": found,
    }


def _again(data: list[Any], found: Any, **fields: Any) -> Cell:
    made = found if isinstance(found, str) else Measured(**found)
    return Cell(**fields, data=Data(data[0], data[1], None), found=made)


# --- shares of Adult's columns -------------------------------------------------------------------


@dataclass(frozen=True)
class Shares:
    """Of one column under one promise: shares read in three ways, from some releases."""

    column: str
    n: int
    declared: bool
    epsilon: float
    delta: float | None
    right: tuple[float, float, float]  # shares near enough, of `integral`, `cdf` and a sample
    worst: float  # the largest error of `integral`
    beyond: float  # the largest part of it that 4 standard errors and .002 do not allow
    told: float  # share of the releases whose findings tell of a lattice, a spike or a bound

    @property
    def fails(self) -> bool:
        return min(self.right) < 1


def shares(name: str, x: Column, *, declared: bool, epsilon: float, delta: float | None, runs: int) -> Shares:
    """60 ranges between values, of each of some releases, beside those of the file."""
    low, high = x.bounds
    rng = np.random.default_rng(17)
    ends = np.sort(np.floor(rng.uniform(low, high, (80, 2))) + 0.5, axis=1)
    ends = ends[(ends[:, 1] < high) & (ends[:, 0] < ends[:, 1])][:60]
    order = np.sort(x.known)
    truth = np.diff(np.searchsorted(order, ends), axis=1)[:, 0] / len(order)
    first = _seed("shares", name, declared, epsilon, delta)
    near, worst, beyond, told = [], 0.0, -np.inf, 0
    for seed in range(first, first + runs):
        step = x.step if declared else None
        made: Any = mercer.density(
            x.values, bounds=x.bounds, step=step, epsilon=epsilon, delta=delta, rng=seed
        )
        drawn = np.sort(made.sample(20_000, rng=seed))
        found = np.array(
            [
                [made.integral(*pair) for pair in ends],
                np.diff(made.cdf(ends), axis=1)[:, 0],
                np.diff(np.searchsorted(drawn, ends), axis=1)[:, 0] / len(drawn),
            ]
        )
        aside = np.array([made.law.deviations(pair, np.array([[-1.0, 1.0]]))[0] for pair in ends])
        error, allowed = np.abs(found - truth), SIGMAS * aside + ALLOWED
        near.append(np.mean(error <= allowed, axis=1))
        worst, beyond = max(worst, float(error[0].max())), max(beyond, float(np.max(error[0] - allowed)))
        told += any(one.kind in ("lattice", "spike", "bound") for one in made.findings())
    right = np.mean(near, axis=0)
    three = float(right[0]), float(right[1]), float(right[2])
    return Shares(name, len(x.values), declared, epsilon, delta, three, worst, beyond, told / runs)


def share_cells(quick: bool) -> Iterator[Shares]:
    """Adult's five columns, declared and by bounds alone; quick: a drawn column."""
    some = columns("heaped integers", files=tuple(REAL))(quick)
    for data in some if quick else some[-len(REAL) :]:
        many = data.values.bounds[1] > 1e4
        for declared in (True, False):
            for epsilon in (1.0,) if quick else (0.1, 1.0, 3.0, 10.0):
                for delta in (None, DELTA):
                    runs = 2 if quick or (many and declared) else 4
                    yield shares(
                        data.name, data.values, declared=declared, epsilon=epsilon, delta=delta, runs=runs
                    )


def share_lines(found: list[Shares]) -> list[str]:
    """The table of shares."""
    lines = [
        "| column | n | declared | epsilon | delta | right: integral | cdf | sample | worst share | "
        "beyond what is allowed | findings tell |",
        "|---|---:|---|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        right = " | ".join(f"**{r:.3f}**" if r < 1 else "1" for r in one.right)
        lines.append(
            f"| {one.column} | {one.n} | {'step' if one.declared else 'bounds'} | {one.epsilon:g} | "
            f"{one.delta or 0:g} | {right} | {one.worst:.4f} | {max(one.beyond, 0):.4f} | {one.told:.0%} |"
        )
    return lines


# --- the report ----------------------------------------------------------------------------------

# why cells fail, by kind (its beginning) and question (its beginning): the first that fits; a failure that
# none fits is "not explained"
_ONE_BIN = (
    "the records of a bin that is cut may stand anywhere in it: the interval runs from the least to the most"
)
_FIT = (
    "the interval is that of the raw sums, whose noise has a known law, and what is shown is their isotonic "
    "fit, cut at 0 and 1: near an end or beside empty values it moves less, as far as the records have it"
)
_SHARED = (
    "many records share a value that the release resolves to half a wave: an end beside it may have all of "
    "them on either side, and the interval says both"
)
_EMPTY = (
    "where no record stands noisy counts of curvature spread over empty cells, and the claim is too small "
    "there: the weak spot of the band, to first order and estimated"
)
_FLAT = (
    "where a class is sure the rounded hinge is nearly flat: few records hold the function, and noise moves "
    "it further than to first order, while its sign and the probability hardly change"
)
Rule = tuple[str, str, Callable[[Cell, Measured], bool], str]


def _always(_cell: Cell, _found: Measured) -> bool:
    return True


def _alike(cell: Cell, _found: Measured) -> bool:
    return cell.data.name == "constant"


def _few(cell: Cell, _found: Measured) -> bool:
    return cell.data.n * cell.epsilon <= 1000


def _stepped(cell: Cell, _found: Measured) -> bool:
    return cell.data.name not in ("two normals", "log-normal")


def _rough(cell: Cell, _found: Measured) -> bool:
    return "(rough)" in cell.data.name or "(jump)" in cell.data.name


RULES: dict[str, list[Rule]] = {
    "held": [
        ("regression", "", _alike, _EMPTY),
        ("classifier", "", _alike, _EMPTY),
        ("classifier", "", _always, _FLAT),
        (
            "mean curve",
            "whole",
            _rough,
            "no band is honest for all curves and as narrow as smooth ones allow (Low 1997): a corner or a "
            "jump is rounded off once the noise is small",
        ),
    ],
    "width": [
        ("histogram", "range", _always, _ONE_BIN),
        (
            "sparse histogram",
            "",
            _always,
            "a cell that was left out may hold up to the threshold and its noise, in a range each of them: "
            "the interval must reach so far, and what was released hardly moves",
        ),
        (
            "density, two columns",
            "",
            _few,
            "noise hides everything, and smoothing leaves the constant: a band of two columns counts the "
            "noise of the constant, which a release of mass one does not have",
        ),
        (
            "density, one column by step",
            "quantile",
            _always,
            "quantiles stay at a value that many share, and the interval holds all values at which the "
            "shares are within the noise of the level",
        ),
        ("density, one column by step", "", _always, _FIT),
        ("density, one column by bounds", "", _stepped, _SHARED),
        (
            "mean curve",
            "",
            _always,
            "the band allows for roughness that noise would hide: a curve that is smoother is smoothed more, "
            "and errs less",
        ),
    ],
    "plan": [
        (
            "density, one column by step",
            "share of a value",
            _always,
            "the plan is of the raw share; the one shown is a difference of the fitted cdf, and where the "
            "raw one falls beside a high bar the fit takes that from the bar: it errs more",
        ),
        (
            "mean curve",
            "",
            _always,
            "the plan speaks of three smooth reference curves; of a rougher one smoothing takes more away",
        ),
        (
            "density",
            "",
            _stepped,
            "the plan has the bandwidth of the public rule; that of the release follows its coordinates, and "
            "is finer on a comb of values: more noise, and less taken away",
        ),
        (
            "quantiles",
            "rank",
            lambda cell, _: cell.data.name not in ("two normals", "log-normal"),
            "the default grid has no point at a value that many records share, and no point beside it has a "
            "rank near the target: the plan speaks of values without ties; grid=range(0, 101) has the points",
        ),
    ],
}


def failures(cell: Cell) -> dict[str, float]:
    """What of a cell is not as wanted, with its number."""
    found, out = cell.found, {}
    if isinstance(found, str):
        return {}
    if found.below:
        out["held"] = found.held
    if found.width > WIDEST:
        out["width"] = found.width
    if found.plan > PLAN:
        out["plan"] = found.plan
    return out


def reason(what: str, cell: Cell) -> str:
    """Why a cell fails in this."""
    assert isinstance(cell.found, Measured)
    for kind, question, fits, words in RULES[what]:
        if cell.kind.startswith(kind) and cell.question.startswith(question) and fits(cell, cell.found):
            return words
    return "not explained"


def summary(kind: Kind, cells: list[Cell]) -> list[str]:
    """A line for a kind."""
    found = [cell.found for cell in cells if isinstance(cell.found, Measured)]
    given = [one for one in found if one.given > 0]
    widths = np.array([one.width for one in given if np.isfinite(one.width)])
    plans = np.array([one.plan for one in found if np.isfinite(one.plan)])
    refused = sum(isinstance(cell.found, str) for cell in cells)
    parts = [f"- **{kind.name}** ({kind.about}):"]
    if given:
        good, chance = sum(not one.short for one in given), sum(one.short and not one.below for one in given)
        parts.append(
            f"held in {LEAST:.0%} or more of the releases in {good} of {len(given)} cells"
            + (f" (of the others 95 % is not excluded in {chance})" if chance else "")
            + (
                f"; width at most {WIDEST:g} in {np.sum(widths <= WIDEST)} of {len(widths)}, "
                f"median {np.median(widths):.2f}"
                if len(widths)
                else ""
            )
        )
    else:
        parts.append("no interval given")
    if len(given) < len(found) and given:
        parts.append(f"; none given in {len(found) - len(given)}")
    if len(plans):
        parts.append(
            f"; error at most {PLAN:g} times the planned in {np.sum(plans <= PLAN)} of {len(plans)}, "
            f"{plans.min():.2g} to {plans.max():.2g}"
        )
    if refused:
        parts.append(f"; refused in {refused} before anything was spent")
    text = " ".join(parts).replace(" ;", ";")
    return [text + "."]


def failing(cells: list[Cell]) -> list[str]:
    """Cells that fail, by kind and reason."""
    groups: dict[tuple[str, str, str], list[tuple[Cell, float]]] = {}
    for cell in cells:
        for what, value in failures(cell).items():
            groups.setdefault((cell.kind, what, reason(what, cell)), []).append((cell, value))
    words = {"held": "not held", "width": "too wide", "plan": "worse than planned"}
    lines = []
    for (name, what, why), some in groups.items():
        values = [value for _, value in some]
        questions = ", ".join(dict.fromkeys(cell.question for cell, _ in some))
        worst = (min if what == "held" else max)(some, key=lambda pair: pair[1])
        lines.append(
            f"- *{name}*, {words[what]}, {len(some)} cells ({min(values):.2g} to {max(values):.2g}; "
            f"{questions}): {why}. The worst: {worst[0].words}."
        )
    return lines


def table(cells: list[Cell], epsilons: tuple[float, ...]) -> list[str]:
    """A row for each question, data set and promise; epsilons side by side."""
    rows: dict[tuple[Any, ...], dict[float, Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.row, {})[cell.epsilon] = cell
    each = " / ".join(f"{e:g}" for e in epsilons)
    lines = [
        f"| question | data | n | delta | held at {each} | worst place | width | of the needed | "
        "error / planned |",
        "|---|---|---:|---:|---|---|---|---|---|",
    ]
    for (_, question, data, n, promise), found in rows.items():

        def words(part: Callable[[Measured], float], fails: str = "", found: Any = found) -> str:
            said = []
            for epsilon in epsilons:
                cell = found.get(epsilon)
                value = np.nan if cell is None or isinstance(cell.found, str) else part(cell.found)
                text = "" if np.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"
                bad = text and fails and fails in failures(cell)
                said.append(f"**{text}**" if bad else text)
            return " / ".join(said) if any(said) else ""

        held = words(lambda one: one.held, "held")
        if not held:
            said = [cell.found for cell in found.values()]
            held = "refused" if any(isinstance(one, str) for one in said) else "none given"
        lines.append(
            f"| {question} | {data} | {n} | {promise.replace('pure', '0')} | {held} | "
            f"{words(lambda one: one.worst)} | {words(lambda one: one.width, 'width')} | "
            f"{words(lambda one: one.needed)} | {words(lambda one: one.plan, 'plan')} |"
        )
    return lines


def _runs(cells: list[Cell]) -> int:
    return max((one.found.runs for one in cells if isinstance(one.found, Measured)), default=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="drawn data, 3 releases a cell")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--only", action="append", choices=list(KINDS), help="this kind alone")
    parser.add_argument("--runs", type=int, help="releases of a cell, in place of each kind's own number")
    parser.add_argument("--keep", type=Path, help="a folder for what is finished, kind by kind")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # few rows for the promise
    epsilons = (1.0,) if options.quick else EPSILONS
    source, start = provenance("pandas"), time.process_time()
    cells: dict[str, list[Cell]] = {}
    for name in options.only or KINDS:
        runs = 3 if options.quick else options.runs
        made = partial(run, KINDS[name], quick=options.quick, epsilons=epsilons, runs=runs)
        cells[name] = kept(options.keep, name, lambda made=made: list(made()))
        print(f"{name}: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    told = (
        []
        if options.only and not options.keep
        else kept_shares(options.keep, lambda: list(share_cells(options.quick)))
    )
    print(f"shares: {time.process_time() - start:.0f} s", file=sys.stderr, flush=True)
    every = [cell for some in cells.values() for cell in some]
    text = [
        "# Do intervals hold?",
        "",
        (__doc__ or "").split("\n\n")[1],
        "",
        "A cell fails where it held so rarely that 95 % is excluded (the upper Clopper-Pearson end of "
        f"{SURE:.1%} is below it) and below {LEAST:.0%}, where the width is above {WIDEST:g}, or where the "
        f"error is above {PLAN:g} times the planned one. *worst place*: the least coverage of a place, where "
        "a question has several. *of the needed*: the width over twice the 95 % quantile of the error, which "
        "counts bias as well. A share of 0.95 of 50 releases has a standard error of 0.03, of 16 0.05. "
        "Private choices (`mercer.select`, `select_function`, private bandwidths) have no interval.",
        "",
    ]
    text += [line for name in cells for line in summary(KINDS[name], cells[name])]
    left = [name for name in KINDS if name not in cells]
    if left:
        text += ["", f"Left out of this run: {', '.join(left)}."]
    text += ["", "## Cells that fail, and why", "", *failing(every)]
    if told:
        text += ["", "## Shares of Adult's columns", "", *share_lines(told)]
    for name, some in cells.items():
        text += [
            "",
            f"## {name[:1].upper()}{name[1:]}",
            "",
            f"Covers: {KINDS[name].about}. {_runs(some)} releases a cell.",
            "",
        ]
        text += table(some, epsilons)
    if options.keep:
        text += ["", "Kinds were measured one by one and kept, some of them before the commit named here."]
    text += ["", source]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "coverage.md").write_text("\n".join(text) + "\n")
    print(options.out / "coverage.md")


if __name__ == "__main__":
    main()
