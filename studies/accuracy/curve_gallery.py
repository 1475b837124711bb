"""Three sets of curves, released: the corpus callosum, the growth of children, the weather.

What an honest epsilon leaves of 142, 93 and 35 curves, and what a weak one shows.  Only releases
are drawn, with their bands and their public centres: no curve, and no mean without noise.  Noise
is seeded, so that the pictures can be made again: these very releases are not private.

    MERCER_DATA=FOLDER python -m studies.accuracy.curve_gallery   # dti_cca, berkeley_growth, canadian_...
    python -m studies.accuracy.curve_gallery --quick --out FOLDER # generated stand-ins, no files
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

import mercer
from mercer.api.recipes.curve import center_of
from mercer.columns.domain import Box
from studies.shared.curves import POLYNOMIALS, coordinates, rms
from studies.shared.report import COLOURS, Floats, data_file, provenance, save, sheet, titles

SEED = 1954
DELTA = 1e-5
EPSILONS = (1.0, 8.0)
THANKS = "The MRI/DTI data were collected at Johns Hopkins University and the Kennedy-Krieger Institute"
AGES = np.concatenate([np.arange(1, 2, 0.25), np.arange(2, 8), np.arange(8, 18.5, 0.5)])
DAYS = np.arange(365) + 0.5


def growth_line(age: Floats) -> Floats:
    """A public centre: 80 cm and 5.5 cm a year."""
    return 80 + 5.5 * age


def textbook_year(day: Floats) -> Floats:
    """A public centre: 2 degrees on average, 15 more in July and 15 less in January."""
    return 2 - 15 * np.cos(2 * np.pi * (day - 20) / 365)


@dataclass(frozen=True)
class Example:
    """Curves of one group with public bounds."""

    name: str
    curves: Floats
    grid: Floats
    bounds: tuple[float, float]
    bound: float
    center: Callable[[Floats], Floats] | float
    unit: str
    table: pa.Table | None = None

    def release(self, epsilon: float, delta: float | None, seed: int) -> mercer.CurveRelease:
        call: dict[str, Any] = {
            "grid": self.grid,
            "bounds": self.bounds,
            "bound": self.bound,
            "center": self.center,
            "epsilon": epsilon,
            "delta": delta,
            "rng": seed,
        }
        if self.table is not None:
            return mercer.mean_curve(self.table, columns="cca_*", unit="ID", **call)
        return mercer.mean_curve(self.curves, **call)

    @property
    def n(self) -> int:
        return len(self.curves)

    @property
    def unit_grid(self) -> Floats:
        low, high = self.bounds
        return (self.grid - low) / (high - low)

    def mean(self) -> Floats:
        """Coordinates of the mean without privacy.  For the table only."""
        return np.asarray(coordinates(self.curves, self.unit_grid).mean(axis=0))

    def middle(self) -> Floats:
        domain = Box(("t",), (self.bounds,))
        return center_of(self.center, POLYNOMIALS, domain, (self.unit_grid,))


# --- data ----------------------------------------------------------------------------------------


def corpus(quick: bool) -> Example:
    grid = np.linspace(0, 1, 93)
    names = [f"cca_{k:02d}" for k in range(1, 94)]
    if quick:
        waves = _waves(40, grid, 0.5 + 0.08 * np.cos(9 * grid), 0.03)
        table = pa.table({"ID": np.arange(40)} | dict(zip(names, waves.T, strict=True)))
    else:
        table = csv.read_csv(data_file("dti_cca.csv"))
    person = table["ID"].to_numpy()
    raw = np.column_stack([table[name].to_numpy().astype(float) for name in names])
    whole = np.array([np.interp(grid, grid[np.isfinite(x)], x[np.isfinite(x)]) for x in raw])
    each = np.array([whole[person == who].mean(axis=0) for who in np.unique(person)])
    return Example("corpus callosum", each, grid, (0.0, 1.0), 0.5, 0.5, "person", table)


def children(quick: bool) -> dict[str, Example]:
    if quick:
        noise = {
            "boys": _waves(39, AGES / 18, 80 + 5.4 * AGES, 3.0),
            "girls": _waves(54, AGES / 18, 82 + 4.9 * AGES, 3.0),
        }
    else:
        table = csv.read_csv(data_file("berkeley_growth.csv"))
        names = [name for name in table.column_names if name.startswith("age_")]
        heights = np.column_stack([table[name].to_numpy() for name in names])
        sex = np.array([str(s)[0].lower() for s in table["sex"].to_pylist()])
        boys = np.isin(sex, ["m", "b"])
        noise = {"boys": heights[boys], "girls": heights[~boys]}
    return {
        name: Example(name, curves, AGES, (1.0, 18.0), 15.0, growth_line, "child")
        for name, curves in noise.items()
    }


def weather(quick: bool) -> dict[str, Example]:
    if quick:
        curves = _waves(35, DAYS / 365, textbook_year(DAYS), 4.0)
    else:
        table = csv.read_csv(data_file("canadian_weather_temp.csv"))
        names = [name for name in table.column_names if name.startswith("d") and name[1:].isdigit()]
        curves = np.column_stack([table[name].to_numpy().astype(float) for name in names])
    year = (0.0, 365.0)
    return {
        "-45 to 35 °C": Example("weather", curves, DAYS, year, 40.0, -5.0, "station"),
        "within 15 °C of a textbook year": Example(
            "weather", curves, DAYS, year, 15.0, textbook_year, "station"
        ),
    }


def _waves(n: int, t: Floats, mean: Floats, sd: float) -> Floats:
    """Stand-ins for --quick."""
    rng = np.random.default_rng(SEED)
    shape = np.stack([np.ones_like(t), np.sin(2 * np.pi * t)])
    return mean + rng.normal(0, sd, (n, 2)) @ shape


# --- pictures ------------------------------------------------------------------------------------


def promise(epsilon: float, delta: float | None, who: str) -> str:
    law = "pure" if delta is None else f"delta = {delta:g}"
    return f"epsilon = {epsilon:g}, {law}, one {who}; seeded"


def draw(axes: Any, x: Floats, release: Any, colour: str, label: str, order: int = 0) -> None:
    band = release.band(x, order=order)
    axes.fill_between(x, band.lower, band.upper, color=COLOURS[colour], alpha=0.18, linewidth=0)
    style = "-" if colour == "ours" else (0, (5, 1))
    axes.plot(
        x, release.derivative(x, order), color=COLOURS[colour], linewidth=1.8, label=label, linestyle=style
    )


def corpus_picture(example: Example, path: Path) -> None:
    figure, grid = sheet(1, 3, (11.4, 3.9), sharey=True)
    x = np.linspace(0, 1, 301)
    for axes, (epsilon, delta) in zip(grid[0], ((1.0, DELTA), (1.0, None), (8.0, DELTA)), strict=True):
        release = example.release(epsilon, delta, SEED)
        draw(axes, x, release, "ours" if delta else "pure", "released, 95 % band for the mean")
        axes.axhline(0.5, color="#888888", linewidth=1, linestyle=":", label="public centre")
        titles(axes, f"{example.n} people", promise(epsilon, delta, "person"))
        axes.set(xlabel="place along the tract (share)", xlim=(0, 1), ylim=(0.2, 0.85))
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    grid[0, 0].set_ylabel("fractional anisotropy (no unit)")
    figure.suptitle("Corpus callosum, mean profile; bound 0.5 around 0.5", x=0.01, ha="left")
    figure.tight_layout()
    save(figure, path)


def growth_picture(groups: dict[str, Example], path: Path, epsilons: tuple[float, ...] = EPSILONS) -> None:
    high = 0.6 + 3.4 * len(epsilons)
    figure, grid = sheet(len(epsilons), 3, (12.4, high), sharex=True, sharey="col")
    x = np.linspace(1, 18, 341)
    for row, epsilon in zip(grid, epsilons, strict=True):
        means = both(groups, epsilon, SEED + 1)
        small = promise(epsilon, DELTA, "child")
        for name, colour in (("boys", "ours"), ("girls", "paper")):
            draw(row[0], x, means[name], colour, f"{name}, {groups[name].n}")
            draw(row[2], x, means[name], colour, name, order=1)
        row[0].plot(x, growth_line(x), color="#888888", linewidth=1, linestyle=":", label="public centre")
        draw(row[1], x, means["boys"] - means["girls"], "ours", "boys less girls")
        row[1].axhline(0, color="#888888", linewidth=0.8)
        row[2].axhline(0, color="#888888", linewidth=0.8)
        for axes, title, unit in zip(
            row,
            ("Mean height", "Boys less girls", "Growth velocity"),
            ("height (cm)", "difference (cm)", "velocity (cm a year)"),
            strict=True,
        ):
            titles(axes, title, f"{small}\n95 % bands for the means, at all ages at once")
            axes.set(ylabel=unit, xlim=(1, 18), xticks=range(2, 19, 4))
            axes.legend(frameon=False, fontsize=8, loc="best")
    for axes in grid[-1]:
        axes.set_xlabel("age (years)")
    grid[0, 0].set_ylim(50, 220)
    grid[0, 1].set_ylim(-30, 45)
    grid[0, 2].set_ylim(-20, 32)
    figure.suptitle("Berkeley growth study; bound 15 cm around a straight line", x=0.01, ha="left")
    figure.tight_layout()
    save(figure, path)


def both(groups: dict[str, Example], epsilon: float, seed: int) -> dict[str, mercer.CurveRelease]:
    """Boys and girls are disjoint, so that each mean has the whole budget."""
    one = next(iter(groups.values()))
    return mercer.mean_curves(
        {name: example.curves for name, example in groups.items()},
        disjoint=True,
        grid=one.grid,
        bounds=one.bounds,
        bound=one.bound,
        center=one.center,
        epsilon=epsilon,
        delta=DELTA,
        rng=seed,
    )


def weather_picture(balls: dict[str, Example], path: Path, epsilons: tuple[float, ...] = EPSILONS) -> None:
    shown = [(epsilon, words) for epsilon in epsilons for words in balls]
    figure, grid = sheet(1, len(shown), (3.5 * len(shown), 3.9), sharex=True, sharey=True)
    x = np.linspace(0, 365, 366)
    for axes, (epsilon, words) in zip(grid[0], shown, strict=True):
        example = balls[words]
        draw(axes, x, example.release(epsilon, DELTA, SEED + 2), "ours", "released")
        center = example.center(x) if callable(example.center) else np.full(x.shape, example.center)
        axes.plot(x, center, color="#888888", linewidth=1, linestyle=":", label="public centre")
        titles(axes, words, f"{promise(epsilon, DELTA, 'station')}\n95 % band for the mean")
        axes.set(xlabel="day of the year", xlim=(0, 365), ylim=(-50, 50))
        axes.legend(frameon=False, fontsize=8, loc="lower center")
    grid[0, 0].set_ylabel("temperature (°C)")
    figure.suptitle("Canadian weather, mean of 35 stations", x=0.01, ha="left")
    figure.tight_layout()
    save(figure, path)


# --- the table -----------------------------------------------------------------------------------


def row(name: str, example: Example, epsilon: float, delta: float | None, draws: int, unit: str) -> str:
    mean = example.mean()
    found = [example.release(epsilon, delta, SEED + k) for k in range(draws)]
    error = rms(np.array([one.coefficients for one in found]) - mean)
    noise = float(np.sqrt(np.mean([_noise(one) ** 2 for one in found])))
    held = np.mean([covered(example, one, mean) for one in found[: max(1, draws // 2)]])
    signal = rms(mean - example.middle())
    law = "pure" if delta is None else f"{delta:g}"
    words = "yes" if error < signal / 2 else ("a little" if error < signal else "**no**")
    ball = f"{example.bound:g} {unit}".strip()
    return (
        f"| {name} | {example.n} | {epsilon:g} | {law} | {ball} | {noise:.3g} | {error:.3g} | "
        f"{signal:.3g} | {words} | {held:.0%} |"
    )


def covered(example: Example, release: mercer.CurveRelease, mean: Floats) -> bool:
    """Whether the 95 % band holds the mean of the curves everywhere."""
    places = np.linspace(0, 1, 101)
    low, high = example.bounds
    band = release.band(low + (high - low) * places)
    truth = POLYNOMIALS.rows(places[:, None]) @ mean
    dust = 1e-9 * example.bound
    return bool(np.all((truth >= band.lower - dust) & (truth <= band.upper + dust)))


def _noise(release: mercer.CurveRelease) -> float:
    """Expected root mean square error, as the release itself states it."""
    return float(np.sqrt(release.accuracy.integrated / release.accuracy.width))


def spurts(groups: dict[str, Example], draws: int, epsilons: tuple[float, ...]) -> list[str]:
    """What can be read off the derivative and the difference."""
    lines = [
        "| epsilon | boys less girls at 18, cm (standard error) | height at 18 told apart | "
        "standard error of the velocity at 13, cm a year (boys) |",
        "|---:|---:|---:|---:|",
    ]
    for epsilon in epsilons:
        ends, apart, speed = [], [], []
        for k in range(draws):
            means = both(groups, epsilon, SEED + k)
            gap = means["boys"] - means["girls"]
            band = gap.band(np.array([18.0]), simultaneous=False)
            ends.append((float(gap(18.0)), float(gap.standard_error(18.0))))
            apart.append(bool(band.lower[0] > 0))
            speed.append(float(means["boys"].standard_error(13.0, 1)))
        value, spread = np.mean([v for v, _ in ends]), np.mean([s for _, s in ends])
        lines.append(
            f"| {epsilon:g} | {value:.1f} ({spread:.1f}) | {np.mean(apart):.0%} of draws | "
            f"{np.mean(speed):.2g} |"
        )
    return lines


def report(rows: list[str], growth: list[str], draws: int, source: str) -> list[str]:
    return [
        "# A gallery of private mean curves",
        "",
        f"Everything public is fixed before the curves are read; epsilon = {EPSILONS[0]:g} is the "
        f"honest promise here, epsilon = {EPSILONS[1]:g} a weak one that shows what is hidden. "
        "Filters are averaged by evidence from the noisy curve. Pictures show releases with their bands and "
        "public centres, never a curve of the data nor a mean without noise. "
        f"Seeds are {SEED} and the following: seeded releases are not private.",
        "",
        "![Corpus callosum](curve_gallery-dti.png)",
        "",
        "Fractional anisotropy is in [0, 1] by definition, so curves are within 0.5 of 0.5. One "
        f'person is protected with all her or his visits. "{THANKS}."',
        "",
        "![Growth](curve_gallery-growth.png)",
        "",
        "Heights in cm of 39 boys and 54 girls from 1 to 18 years; who is a boy is public, nobody "
        "is in both groups, so that each has the whole budget. The centre is a straight line, 80 "
        "cm and 5.5 cm a year; growth charts put nearly every child within 15 cm of it in the root "
        "mean square.",
        "",
        "![Weather](curve_gallery-weather.png)",
        "",
        "Daily mean temperatures of 35 Canadian stations. Two public bounds: temperatures from -45 "
        "to 35 °C; or within 15 °C (root mean square) of a textbook year, 2 °C with 15 °C more in "
        "July and less in January.",
        "",
        "## Is there more than noise?",
        "",
        f"Over {draws} draws. *Claimed*: root mean square error that the release itself states. *Error*: "
        "to the mean without privacy. *Signal*: distance of that mean to the public centre, the error of "
        "publishing the centre "
        "and spending nothing. *Worth it*: yes below half of the signal, no above it.",
        "",
        "| curves | n | epsilon | delta | bound | claimed | error | signal | worth it | band holds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|",
        *rows,
        "",
        "With 35 to 142 curves and epsilon = 1 the error is of the size of what there is to see. *Band "
        "holds*: how often the 95 % band holds the mean without privacy, everywhere. "
        "The textbook year is so near to the mean of the stations that a release can only add "
        "noise to it: a good public centre may leave nothing to ask.",
        "",
        "## What the growth curves show",
        "",
        *growth,
        "",
        "With 39 and 54 children the growth spurt, a bump of about 3 cm a year in the velocity, "
        "is no larger than the noise of an honest epsilon: a velocity curve without a bump says "
        "nothing about children. Derivatives are the first to drown.",
        "",
        source,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="generated stand-ins, 2 draws")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore", mercer.PrivacyWarning)  # few curves: said in the table
    source = provenance("pyarrow")
    draws = 2 if options.quick else 200
    brain, groups, balls = (get(options.quick) for get in (corpus, children, weather))
    epsilons = EPSILONS[:1] if options.quick else EPSILONS
    corpus_picture(brain, options.out / "curve_gallery-dti.png")
    growth_picture(groups, options.out / "curve_gallery-growth.png", epsilons)
    weather_picture(balls, options.out / "curve_gallery-weather.png", epsilons)
    pairs = [(EPSILONS[0], DELTA), (EPSILONS[0], None), (EPSILONS[1], DELTA)]
    pairs = pairs[:1] if options.quick else pairs
    rows = [row("corpus callosum", brain, *pair, draws, "") for pair in pairs]
    for name, example in [] if options.quick else groups.items():
        rows += [row(f"height, {name}", example, *pair, draws, "cm") for pair in pairs]
    for name, example in [] if options.quick else balls.items():
        rows += [row(f"temperature, {name}", example, *pair, draws, "°C") for pair in pairs]
    lines = report(rows, spurts(groups, max(2, draws // 4), epsilons), draws, source)
    (options.out / "curve_gallery.md").write_text("\n".join(lines) + "\n")
    print(options.out / "curve_gallery.md")


if __name__ == "__main__":
    main()
