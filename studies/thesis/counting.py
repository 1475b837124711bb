"""How well can a count be released?  Thesis, Figures 2.1 and 2.2.

The risk bodies of one record, and the least possible largest expected error of a count of n = 70
against epsilon (the thesis' alpha), beside the curve 1/epsilon that it is compared with there,
geometric noise clipped to 0..n, and the lower bound that is proved without a program.  What the
thesis says about the figures is checked.  There are no data: all of it is computed from n and
epsilon.

    python -m studies.thesis.counting            # all of it, writes studies/thesis/results
    python -m studies.thesis.counting --quick --out FOLDER
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import matplotlib
import numpy as np

import mercer
from mercer.noise.lower_bounds import counting_bound
from studies.shared.report import provenance

BODIES = (0.05, 0.5, 1.0, 5.0)  # alpha of Figure 2.1
PRINTED = {0.1: 8.26, 0.05: 13.3, 0.001: 33.8}  # M13, for n = 70
CORNERS = ("say 0", "tell the truth oftener", "say 1", "lie oftener")
_GREY, _SMALL, _DARK = "#9a9a9a", "#555555", "#0b2440"


@dataclass(frozen=True)
class Plan:
    """How much is computed."""

    n: int = 70
    table: tuple[float, ...] = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 2.0, 5.0)
    curve: int = 60  # points of the picture


QUICK = Plan(n=12, table=(0.05, 0.5, 2.0), curve=6)


@dataclass(frozen=True)
class Row:
    """One epsilon."""

    epsilon: float
    risk: float
    best: float
    geometric: float
    bound: float
    double: float  # the least risk for twice as many records
    seconds: float


def row(n: int, epsilon: float, *, double: bool) -> Row:
    start = perf_counter()
    one = mercer.optimal_count(n, epsilon)
    seconds = perf_counter() - start
    more = mercer.optimal_count(2 * n, epsilon).risk if double else math.nan
    bound = counting_bound(n, epsilon)
    return Row(epsilon, one.risk, one.best, one.geometric_risk, bound, more, seconds)


def lines_of(rows: list[Row], n: int) -> list[str]:
    heads = ["epsilon", "least risk", "epsilon times it", "no mechanism below", "clipped geometric"]
    heads += ["excess", "proved bound", "share", f"least risk, n = {2 * n}", "seconds"]
    lines = ["| " + " | ".join(heads) + " |", "|---:" * len(heads) + "|"]
    for r in rows:
        texts = [f"{r.epsilon:g}", f"{r.risk:.5g}", f"{r.epsilon * r.risk:.3f}", f"{r.best:.5g}"]
        texts += [f"{r.geometric:.5g}", f"{r.geometric / r.risk - 1:.1%}", f"{r.bound:.5g}"]
        texts += [f"{r.bound / r.risk:.1%}", f"{r.double:.5g}", f"{r.seconds:.2f}"]
        lines.append("| " + " | ".join(texts) + " |")
    return lines


def bodies() -> list[str]:
    heads = ["epsilon", *CORNERS, "least largest risk", "1/(1 + e^epsilon)", "area"]
    lines = ["| " + " | ".join(heads) + " |", "|---:" * len(heads) + "|"]
    for epsilon in BODIES:
        corners = mercer.risk_body(epsilon)
        x, y = corners.T
        area = (x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
        texts = [f"{epsilon:g}", *(f"({a:.3f}, {b:.3f})" for a, b in corners)]
        texts += [f"{mercer.optimal_count(1, epsilon).risk:.4f}"]
        texts += [f"{1 / (1 + math.exp(epsilon)):.4f}", f"{area:.3f}"]
        lines.append("| " + " | ".join(texts) + " |")
    return lines


def statements(rows: list[Row], n: int) -> list[str]:
    """What the thesis says about its Figure 2.2, and M13's numbers."""
    under = all(r.risk < 1 / r.epsilon for r in rows)
    ratio = [r.epsilon * r.risk for r in rows]
    top = int(np.argmax(ratio))
    rising = all(a > b for a, b in zip(ratio[top:], ratio[top + 1 :], strict=False))
    still = [r.epsilon for r in rows if r.double > 1.01 * r.risk]
    level = [r.epsilon for r in rows if r.double <= 1.01 * r.risk]
    large = [(e, e * mercer.optimal_count(200, e).risk) for e in (0.5, 0.2, 0.1)] if n == 70 else []
    lines = [
        f'- "The minimax risk lies underneath" 1/epsilon: {"holds" if under else "**fails**"} at '
        "every epsilon here.",
        f'- "As alpha decreases towards zero the two curves are brought closer together": the '
        f"ratio rises from {ratio[-1]:.3f} at epsilon = {rows[-1].epsilon:g} to {ratio[top]:.3f} "
        f"at {rows[top].epsilon:g} ({'without a fall' if rising else '**with falls**'}). At "
        f"smaller epsilon it falls, since none exceeds n/2 = {n / 2:g}, that of 0 or n by a coin.",
    ]
    if large:
        words = ", ".join(f"{value:.3f} at {e:g}" for e, value in large)
        lines.append(
            f"- With more records the approach goes on: for n = 200 the ratio is {words}. For "
            "n without limit it is epsilon/sinh(epsilon), which tends to one."
        )
    if level and still:
        lines.append(
            f'- "For all displayed alpha the risk is no longer increasing with n" (n = {n}): to '
            f"one percent, and against n = {2 * n}, from epsilon = {min(level):g} on; at "
            f"{max(still):g} and below it still grows."
        )
    for r in rows:
        if n == 70 and r.epsilon in PRINTED:
            same = float(f"{r.risk:.3g}") == PRINTED[r.epsilon]
            lines.append(
                f"- M13 at epsilon = {r.epsilon:g}: {PRINTED[r.epsilon]}; here {r.risk:.3g}: "
                f"{'the same' if same else '**different**'}."
            )
    return lines


# --- pictures ------------------------------------------------------------------------------------


def figure_21(path: Path) -> None:
    plt = _pyplot()
    sheet, panels = plt.subplots(1, 4, figsize=(12, 4.4), sharex=True, sharey=True)
    for axes, epsilon in zip(panels, BODIES, strict=True):
        corners = mercer.risk_body(epsilon)
        axes.fill(*corners.T, facecolor="#d9d4cb", edgecolor=_DARK, lw=1.2)
        axes.plot(*corners[:3].T, color="#c05a00", lw=3, solid_capstyle="round")
        axes.plot(*corners[1], "o", color=_DARK, ms=6)
        axes.plot([0, 1], [0, 1], color=_GREY, lw=0.8, ls=":")
        _titles(axes, f"epsilon = {epsilon:g}", "pure, one record, n = 1")
        axes.set(xlabel="risk where the count is 0", aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    panels[0].set_ylabel("risk where the count is 1")
    sheet.suptitle(
        "Thesis, Figure 2.1: all pairs of risks that a private release of one record "
        "can have\n(thick: best under some prior; dot: least largest risk)",
        x=0.01,
        ha="left",
        fontsize=12,
    )
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def figure_22(n: int, rows: list[Row], path: Path) -> None:
    plt = _pyplot()
    epsilon = np.array([r.epsilon for r in rows])
    sheet, panels = plt.subplots(1, 2, figsize=(11, 4.8))
    for axes, unit in zip(panels, (np.ones_like(epsilon), epsilon), strict=True):
        axes.plot(epsilon, unit / epsilon, color=_GREY, ls="--", lw=1.6, label="1/epsilon")
        axes.plot(
            epsilon,
            unit * [r.geometric for r in rows],
            color="#c05a00",
            ls="-.",
            lw=1.6,
            label=f"geometric noise, clipped to 0..{n}",
        )
        axes.plot(epsilon, unit * [r.risk for r in rows], color=_DARK, lw=2.2, label="least risk")
        axes.plot(
            epsilon, unit * [r.bound for r in rows], color="#7fb3e6", ls=":", lw=2, label="proved lower bound"
        )
        axes.set(xscale="log", xlabel="epsilon (the thesis' alpha)")
    panels[0].axhline(n / 2, color=_GREY, lw=0.8)
    panels[0].text(epsilon[-1], n / 2, f"n/2 = {n / 2:g}", fontsize=8, ha="right", va="bottom")
    panels[0].set(
        yscale="log", ylabel="largest expected absolute error (records)", ylim=(rows[-1].bound / 2, 2 * n)
    )
    panels[1].set(ylabel="the same, times epsilon", ylim=(0, 1.15))
    _titles(panels[0], f"A count of n = {n} records", "pure, one record")
    _titles(panels[1], "The same as a share of 1/epsilon", "pure, one record")
    panels[0].legend(frameon=False, fontsize=9, loc="lower left")
    sheet.suptitle("Thesis, Figure 2.2: the least possible error of a count", x=0.01, ha="left", fontsize=12)
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _pyplot() -> Any:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def _titles(axes: Any, title: str, small: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, pad=21)
    axes.text(0, 1.03, small, transform=axes.transAxes, fontsize=8, color=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)


# --- the page ------------------------------------------------------------------------------------


def report(plan: Plan, rows: list[Row]) -> list[str]:
    n = plan.n
    return [
        "# How well can a count be released?",
        "",
        "Least largest expected absolute error over counts, of all epsilon-DP releases of a count "
        "in 0..n (`mercer.optimal_count`, M13). No data are used.",
        "",
        "## a. Thesis, Figure 2.1: one record",
        "",
        "![Thesis, Figure 2.1](thesis-figure21.png)",
        "",
        "Corners of the risk body (`mercer.risk_body`), from the four extreme mechanisms:",
        "",
        *bodies(),
        "",
        f"## b. Thesis, Figure 2.2: n = {n}",
        "",
        "![Thesis, Figure 2.2](thesis-figure22.png)",
        "",
        "*Least risk*: of the exact matrix, after rounding to whole numbers. *No mechanism below*: "
        "a bound from the dual program's prior. *Excess*: of geometric noise clipped to 0..n, over "
        "the least. *Proved bound*: `counting_bound`, milliseconds and no program for any n, and "
        "its share of the least risk.",
        "",
        *lines_of(rows, n),
        "",
        "## c. What the thesis says",
        "",
        *statements(rows, n),
        "",
        provenance("matplotlib"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a few numbers, in seconds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    plan = QUICK if args.quick else Plan()
    args.out.mkdir(parents=True, exist_ok=True)
    rows = [row(plan.n, epsilon, double=True) for epsilon in plan.table]
    figure_21(args.out / "thesis-figure21.png")
    grid = np.geomspace(0.005, 3.0, plan.curve)
    drawn = [row(plan.n, float(epsilon), double=False) for epsilon in grid]
    figure_22(plan.n, drawn, args.out / "thesis-figure22.png")
    lines = report(plan, rows)
    (args.out / "counting.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
