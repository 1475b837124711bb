"""What a private density costs in accuracy, and from which n on it is nearly free.

Mean integrated squared error against the true density on [0, 1], for three densities, five
sample sizes and two budgets.  The same data sets go to every method.  Noise is seeded, so that
the table can be made again: the releases of this simulation are marked not private.

    python -m studies.accuracy.density_mise            # all of it, writes studies/accuracy/results
    python -m studies.accuracy.density_mise --quick --out FOLDER
"""

from __future__ import annotations

import argparse
import io
import math
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.fft import dct, idct
from scipy.stats import expon, norm

import mercer
from mercer.kernels import Gaussian as GaussianKernel
from mercer.noise.mechanisms import Gaussian
from mercer.releases.density.smoothing import choose_bandwidth, density_level
from mercer.rules.public import moment_rule, noise_bandwidth
from mercer.spaces.bases import Cosine, Moments
from studies.shared.report import Floats, half_width, provenance

DELTA = 1e-6
CELLS = 4096  # of the grid on which errors are integrated; the non-private estimates are binned
BINS = (8, 16, 32, 64, 128, 256)
GRID: dict[str, Any] = {
    "n": [10**2, 10**3, 10**4, 10**5, 10**6],
    "epsilon": [0.1, 1.0],
    "repeats": {10**6: 10},
}
REPEATS, QUICK_REPEATS = 50, 3
MIDDLES = (np.arange(CELLS) + 0.5) / CELLS
BANDWIDTHS = np.geomspace(5e-4, 2.0, 240)  # among which hindsight chooses


# --- the densities, restricted to [0, 1] by rejection -------------------------------------------


@dataclass(frozen=True)
class Mixture:
    """Weights and distributions of scipy.stats."""

    title: str
    weights: tuple[float, ...]
    parts: tuple[Any, ...]

    def mixed(self, function: str, x: Any) -> Any:
        pairs = zip(self.weights, self.parts, strict=True)
        return sum(weight * getattr(part, function)(x) for weight, part in pairs)

    def truth(self) -> Floats:
        return self.mixed("pdf", MIDDLES) / (self.mixed("cdf", 1.0) - self.mixed("cdf", 0.0))

    def propose(self, n: int, rng: np.random.Generator) -> Floats:
        counts = rng.multinomial(n, self.weights)
        draws = [p.rvs(k, random_state=rng) for p, k in zip(self.parts, counts, strict=True)]
        return np.concatenate(draws)


DENSITIES = {
    "two normals": Mixture("Two normals", (0.5, 0.5), (norm(0.3, 0.1), norm(0.7, 0.1))),
    "claw": Mixture(  # Marron and Wand's tenth, x -> (x + 3) / 6
        "The claw",
        (0.5, *[0.1] * 5),
        (norm(1 / 2, 1 / 6), *(norm((k / 2 + 2) / 6, 0.1 / 6) for k in range(5))),
    ),
    "exponential": Mixture("Exponential, rate 5", (1.0,), (expon(scale=1 / 5),)),
}


@dataclass(frozen=True)
class Sample:
    """A data set, the cosine coefficients of its binned form, and the truth it came from."""

    x: Floats
    theta: Floats
    truth: Floats

    @property
    def n(self) -> int:
        return self.x.size


@lru_cache(maxsize=1)
def sample(density: str, n: int, seed: int) -> Sample:
    rng = np.random.default_rng([seed, n, list(DENSITIES).index(density)])
    x = np.empty(0)
    while x.size < n:
        more = DENSITIES[density].propose(n - x.size, rng)
        x = np.concatenate([x, more[(more >= 0) & (more <= 1)]])
    x.setflags(write=False)
    place = np.minimum((x * CELLS).astype(np.int64), CELLS - 1)
    theta = coefficients(np.bincount(place, minlength=CELLS) * (CELLS / n))
    return Sample(x, theta, DENSITIES[density].truth())


def coefficients(values: Floats) -> Floats:
    """Coefficients of 1, sqrt2 cos(pi j x): their squares sum to the mean of values^2."""
    return dct(values, norm="ortho") / math.sqrt(CELLS)


# --- the methods: values on the grid -------------------------------------------------------------


def keep(h: float | Floats, smoother: str = "gaussian") -> Floats:
    """What a kernel of bandwidth h and a reflecting boundary leave of each coefficient."""
    square = (np.pi * np.arange(CELLS) * np.asarray(h)[..., None]) ** 2
    return np.exp(-(square if smoother == "gaussian" else square**2) / 2)


def reflected(theta: Floats, h: float, smoother: str = "gaussian") -> Floats:
    return idct(theta * keep(h, smoother), norm="ortho") * math.sqrt(CELLS)


@lru_cache(maxsize=2)
def filters(smoother: str) -> Floats:
    return keep(BANDWIDTHS, smoother)


def normal_rule(data: Sample, _epsilon: float | None, _seed: int) -> Floats:
    low, high = np.percentile(data.x, [25, 75])
    spread = min(float(data.x.std(ddof=1)), float(high - low) / 1.34)
    return reflected(data.theta, 1.06 * spread * data.n**-0.2)


def hindsight(*smoothers: str) -> Callable[[Sample, float | None, int], Floats]:
    def values(data: Sample, _epsilon: float | None, _seed: int) -> Floats:
        found = []
        for smoother in smoothers:
            error = filters(smoother) * data.theta - coefficients(data.truth)
            risks = np.sum(error**2, axis=1)
            found.append((float(risks.min()), float(BANDWIDTHS[np.argmin(risks)]), smoother))
        return reflected(data.theta, *min(found)[1:])

    return values


def unnoised(data: Sample, _epsilon: float | None, _seed: int) -> Floats:
    """Ours in the limit of large epsilon: same public rule, same choice, same projection."""
    h0 = noise_bandwidth(n=data.n, multiplier=0.0, dimension=1, boundary="reflect")
    basis = Cosine.spanning(GaussianKernel(((h0**2,),)))
    own = data.theta[: basis.size] * np.sqrt(basis.eigenvalues)
    chosen = choose_bandwidth(basis, basis.mix(own), sd=0.0, n=data.n)[0]
    return projected(reflected(data.theta, chosen))


def pure_unnoised(data: Sample, _epsilon: float | None, _seed: int) -> Floats:
    """The same for the pure release, which may choose a kernel of order four."""
    basis = Moments(moment_rule(np.zeros, n=data.n, boundary="reflect")[0], "reflect")
    own = basis.mix(data.theta[: basis.size])
    (h,), smoother = choose_bandwidth(basis, own, sd=0.0, n=data.n)
    kept = np.where(np.arange(CELLS) < basis.size, data.theta, 0.0)
    return projected(reflected(kept, h, smoother))


def projected(values: Floats) -> Floats:
    return np.maximum(values - density_level(values), 0.0)


def ours(data: Sample, epsilon: float | None, seed: int) -> Floats:
    release = mercer.density(data.x, bounds=(0, 1), epsilon=epsilon, delta=DELTA, rng=seed)
    return release(MIDDLES)


def pure(data: Sample, epsilon: float | None, seed: int) -> Floats:
    return mercer.density(data.x, bounds=(0, 1), epsilon=epsilon, rng=seed)(MIDDLES)


def paper(calibration: str) -> Callable[[Sample, float | None, int], Floats]:
    """Hall 2013, Sec. 4.1 at the bandwidth of Mercer's public rule, as released."""

    def values(data: Sample, epsilon: float | None, seed: int) -> Floats:
        release = mercer.density(
            data.x,
            bounds=(0, 1),
            epsilon=epsilon,
            delta=DELTA,
            bandwidth="rule",
            boundary="open",
            mechanism=Gaussian(calibration=calibration),
            rng=seed,
        )
        return release(MIDDLES, raw=True)

    return values


def histogram(bins: int, share: float) -> Callable[[Sample, float | None, int], Floats]:
    def values(data: Sample, epsilon: float | None, seed: int) -> Floats:
        tools, accountant = peer()
        counts, _ = tools.histogram(
            data.x,
            epsilon=share * float(epsilon or 0),
            bins=bins,
            range=(0, 1),
            random_state=seed,
            accountant=accountant,
        )
        counts = np.maximum(counts.astype(float), 0.0)
        total = counts.sum()
        heights = counts * bins / total if total > 0 else np.ones(bins)
        return np.repeat(heights, CELLS // bins)

    return values


def peer() -> tuple[Any, Any]:
    """Diffprivlib's tools and a fresh accountant (the default one slows down as it fills)."""
    try:
        import diffprivlib
    except ModuleNotFoundError:
        hint = "diffprivlib is missing: python -m pip install -e '.[peers]', or use --quick"
        raise ModuleNotFoundError(hint) from None
    except ImportError:  # its models do not load with scikit-learn 1.9; histograms need none
        sys.modules["diffprivlib.models"] = types.ModuleType("diffprivlib.models")
        import diffprivlib
    from diffprivlib import tools

    return tools, diffprivlib.BudgetAccountant()


METHODS: dict[str, Callable[[Sample, float | None, int], Floats]] = {
    "rule": normal_rule,
    "best": hindsight("gaussian"),
    "best of both": hindsight("gaussian", "quartic"),
    "paper": paper("classic"),
    "paper, M1": paper("analytic"),
    "pure": pure,
    "ours": ours,
    "no noise": unnoised,
    "no noise, pure": pure_unnoised,
    **{f"histogram {bins}": histogram(bins, 1.0) for bins in BINS},
    **{f"half histogram {bins}": histogram(bins, 0.5) for bins in BINS},
}
NOT_PRIVATE = ("rule", "best", "best of both", "no noise", "no noise, pure")
OURS = {"pure": "no noise, pure", "ours": "no noise"}  # and their limits for large epsilon
COLUMNS: dict[str, tuple[str, list[str]]] = {  # heading, and what it is the best of
    "rule": ("non-private, normal rule", ["rule"]),
    "best": ("non-private, best bandwidth", ["best"]),
    "best of both": ("non-private, best of two kernels", ["best of both"]),
    "no noise, pure": ("Mercer, pure, without noise", ["no noise, pure"]),
    "no noise": ("Mercer, delta, without noise", ["no noise"]),
    "pure": ("**Mercer, pure**", ["pure"]),
    "ours": ("**Mercer, delta = 1e-6**", ["ours"]),
    "paper": ("Hall 2013", ["paper"]),
    "paper, M1": ("Hall 2013, M1", ["paper, M1"]),
    "histogram": ("histogram", [f"histogram {bins}" for bins in BINS]),
    "half": ("histogram, replace-one", [f"half histogram {bins}" for bins in BINS]),
}


def trial(density: str, n: int, epsilon: float | None, method: str, seed: int) -> dict[str, float]:
    """Integrated squared error of one estimate of one data set: same arguments, same row."""
    data = sample(density, n, seed)
    values = METHODS[method](data, epsilon, 10**6 + seed)
    return {"ise": float(np.mean((values - data.truth) ** 2))}


# --- running, and what comes of it ---------------------------------------------------------------

Key = tuple[str, int, float | None, str]


def cases(sizes: list[int], methods: list[str]) -> Iterator[Key]:
    for density in DENSITIES:
        for n in sizes:
            for method in methods:
                for epsilon in [None] if method in NOT_PRIVATE else GRID["epsilon"]:
                    yield density, n, epsilon, method


def run(sizes: list[int], methods: list[str], repeats: int) -> tuple[dict[Key, Floats], Floats]:
    """Errors of every case, and mean seconds by n (rows) and method (columns)."""
    errors: dict[Key, list[float]] = {key: [] for key in cases(sizes, methods)}
    seconds = np.zeros((len(sizes), len(methods)))
    calls = np.zeros_like(seconds)
    for density in DENSITIES:
        for i, n in enumerate(sizes):
            todo = [key for key in errors if key[:2] == (density, n)]
            for seed in range(min(repeats, GRID["repeats"].get(n, repeats))):
                sample(density, n, seed)  # so that nobody pays for drawing it
                for key in todo:
                    start = time.perf_counter()
                    errors[key].append(trial(*key, seed)["ise"])
                    seconds[i, methods.index(key[3])] += time.perf_counter() - start
                    calls[i, methods.index(key[3])] += 1
            print(f"{density}, n = {n}: done", file=sys.stderr)
    return {key: np.array(values) for key, values in errors.items()}, seconds / calls


@dataclass(frozen=True, eq=False)
class Cell:
    """Errors in one cell of the table, and which method was the best of its column."""

    errors: Floats
    method: str

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def half(self) -> float:
        """Half the width of the 95 % interval of the mean."""
        return half_width(self.errors)

    def __str__(self) -> str:
        bins = f" ({self.method.split()[-1]})" if "histogram" in self.method else ""
        return f"{self.mean:.3g} ± {self.half:.1g}{bins}"


def cell(errors: dict[Key, Floats], density: str, n: int, epsilon: float, column: str) -> Cell:
    found = [
        Cell(errors[key], method)
        for method in COLUMNS[column][1]
        for key in [(density, n, None if method in NOT_PRIVATE else epsilon, method)]
    ]
    return min(found, key=lambda c: c.mean)


def excess(private: Cell, base: Cell) -> tuple[float, float]:
    """How much larger the mean error is, as a share, and half its 95 % interval (paired)."""
    ratio = private.mean / base.mean
    return ratio - 1, half_width(private.errors - ratio * base.errors) / base.mean


def tables(errors: dict[Key, Floats], sizes: list[int], columns: list[str]) -> list[str]:
    lines = []
    for density, target in DENSITIES.items():
        for epsilon in GRID["epsilon"]:
            lines += ["", f"## {target.title}, epsilon = {epsilon:g}", ""]
            heads = ["n", *(COLUMNS[c][0] for c in columns)]
            heads += ["pure / best non-private", "delta / best non-private"]
            heads += ["cost of privacy, pure", "cost of privacy, delta"]
            lines += ["| " + " | ".join(heads) + " |", "|---:" * len(heads) + "|"]
            for n in sizes:
                row = {c: cell(errors, density, n, epsilon, c) for c in columns}
                texts = [f"{n:,}", *map(str, row.values())]
                texts += [f"{row[own].mean / row['best'].mean:.2f}" for own in OURS]
                for own, limit in OURS.items():
                    cost, half = excess(row[own], row[limit])
                    digits = 0 if cost > 1 else 1
                    texts.append(f"{cost:+.{digits}%} ± {half:.{digits}%}")
                lines.append("| " + " | ".join(texts) + " |")
    return lines


def aim(errors: dict[Key, Floats], sizes: list[int]) -> list[str]:
    """Whether the pure release at epsilon 1 is as near to the best bandwidth as it should be."""
    lines = [
        "The aim: at epsilon = 1 and from n = 10,000 on, the pure release is within 1.3 times the "
        "error of the best non-private bandwidth, and below that of the non-private normal rule.",
        "",
        "| density | n | pure / best non-private | pure / normal rule | holds | pure / best of two kernels |",
        "|---|---:|---:|---:|---|---:|",
    ]
    for density, target in DENSITIES.items():
        for n in [n for n in sizes if n >= 10**4]:
            own, *bases = (cell(errors, density, n, 1.0, c) for c in ("pure", "best", "rule", "best of both"))
            texts = []
            for base in bases:
                more, half = excess(own, base)
                texts.append(f"{1 + more:.2f} ± {half:.2f}")
            near, below = own.mean <= 1.3 * bases[0].mean, own.mean < bases[1].mean
            texts.insert(2, "yes" if near and below else "no: above 1.3" if below else "no")
            lines.append(f"| {target.title} | {n:,} | " + " | ".join(texts) + " |")
    return lines


def verdict(errors: dict[Key, Floats], sizes: list[int], mine: str, base: str, words: str) -> list[str]:
    """From which n on the excess over `base` stays under 5 %, computed from the table."""
    name = COLUMNS[mine][0].strip("*")
    lines = [f"The mean error of {name} is less than 5 % above that of {words}:", ""]
    for density, target in DENSITIES.items():
        parts = []
        for epsilon in GRID["epsilon"]:
            pairs = [[cell(errors, density, n, epsilon, column) for column in (mine, base)] for n in sizes]
            small = [excess(*pair)[0] < 0.05 for pair in pairs]
            first = next((n for i, n in enumerate(sizes) if all(small[i:])), None)
            place = f"not up to n = {sizes[-1]:,}" if first is None else f"from n = {first:,}"
            parts.append(f"{place} at epsilon = {epsilon:g}")
        lines.append(f"- {target.title}: " + ", ".join(parts) + ".")
    return lines


RIVALS = {"pure": ("half",), "ours": ("paper", "paper, M1", "half")}  # of the same promise


def losses(errors: dict[Key, Floats], sizes: list[int], columns: list[str], mine: str) -> list[str]:
    """Where another method of the same promise has a smaller mean error than `mine`."""
    rivals, lines = [c for c in RIVALS[mine] if c in columns], []
    places = [(d, e, n) for d in DENSITIES for e in GRID["epsilon"] for n in sizes]
    for density, epsilon, n in places:
        own, *others = (cell(errors, density, n, epsilon, c) for c in (mine, *rivals))
        best = min(others, key=lambda c: c.mean)
        more, half = excess(own, best)
        if more > 0:
            where = f"{DENSITIES[density].title}, epsilon = {epsilon:g}, n = {n:,}"
            name = COLUMNS[rivals[others.index(best)]][0]
            sure = "" if more > half else " (within the 95 % interval)"
            lines.append(f"- {where}: {name}, {best.mean:.3g} against {own.mean:.3g}{sure}.")
    head = (
        "Methods of the same promise (the histogram's bins chosen in hindsight) have a smaller "
        f"mean error than {COLUMNS[mine][0].strip('*')} in {len(lines)} of {len(places)} cells"
    )
    return ["", head + (":" if lines else "."), "", *lines]


def price_of_purity(errors: dict[Key, Floats], sizes: list[int]) -> list[str]:
    """Where the stronger promise costs something, that is, has the larger error."""
    lines, places = [], [(d, e, n) for d in DENSITIES for e in GRID["epsilon"] for n in sizes]
    for density, epsilon, n in places:
        own, other = (cell(errors, density, n, epsilon, c) for c in OURS)
        more, half = excess(own, other)
        if more > 0:
            where = f"{DENSITIES[density].title}, epsilon = {epsilon:g}, n = {n:,}"
            sure = "" if more > half else " (within the 95 % interval)"
            lines.append(f"- {where}: {own.mean:.3g} against {other.mean:.3g}{sure}.")
    head = (
        "The pure release, which promises more, has the larger mean error than the one with "
        f"delta = {DELTA:g} in {len(lines)} of {len(places)} cells"
    )
    return ["", head + (":" if lines else "."), "", *lines]


NOTES = """Mean integrated squared error on [0, 1] ± half of its 95 % interval, over {repeats} data
sets for each cell. delta = 1e-6 for Hall 2013. Neighbours: replace one row. All data
are synthetic, drawn from the density restricted to [0, 1]; noise is seeded, so no release here is
private; every method sees the same data sets.

- *non-private, normal rule*: Gaussian kernel, reflecting boundary,
  h = 1.06 min(sd, IQR/1.34) n^(-1/5) of the data.
- *non-private, best bandwidth*: the same with the h of least error for each data set, in hindsight.
- *non-private, best of two kernels*: the same, with a choice in hindsight between the Gaussian
  kernel and one of order four (the Fourier transform is exp(-(wh)^4/2)), as the pure release has.
- *Mercer, pure (or delta), without noise*: what Mercer's own choice of bandwidth and projection
  give in the limit of large epsilon.
- *Hall 2013*: Sec. 4.1 with its own calibration sqrt(2 ln(2/delta))/epsilon, open boundary, the
  function as released (no projection), h by Mercer's public rule (`bandwidth="rule"`: least
  expected error of a normal of sd 1/8 at this n, delta, epsilon and calibration).
- *Hall 2013, M1*: the same with the exact calibration (M1).
- *Mercer, pure*: `mercer.density(x, bounds=(0, 1), epsilon=...)`, nothing else set: delta = 0.
- *Mercer, delta = 1e-6*: the same with `delta=1e-6`.
- *histogram*: diffprivlib, epsilon as given (pure), divided by its sum; the number of bins, in
  brackets, is the best of {bins} in hindsight. Its promise is about adding or
  removing a row; *replace-one* has half the epsilon, which is the promise of *Mercer, pure*.

Cost of privacy: error of Mercer over that of the same without noise, less one (paired 95 %
interval). The pure release can have a smaller error than the best non-private bandwidth, which is
that of a Gaussian kernel: its smoother of order four suits smooth densities better.
"""


BEST = "the best non-private bandwidth in hindsight"


def report(errors: dict[Key, Floats], sizes: list[int], columns: list[str]) -> list[str]:
    by_count: dict[int, list[str]] = {}
    for n in sizes:
        count = next(v.size for key, v in errors.items() if key[1] == n)
        by_count.setdefault(count, []).append(f"{n:,}")
    counts = " and ".join(f"{k} (n = {', '.join(ns)})" for k, ns in by_count.items())
    lines = ["# What a private density costs", ""]
    lines += [NOTES.format(repeats=counts, bins=", ".join(map(str, BINS))).strip()]
    lines += tables(errors, sizes, columns)
    if "rule" in columns:
        lines += ["", "## The pure release at epsilon = 1", "", *aim(errors, sizes)]
    lines += ["", "## When privacy is nearly free"]
    for mine, limit in OURS.items():
        for base, words in {limit: "itself without noise", "best": BEST}.items():
            lines += ["", *verdict(errors, sizes, mine, base, words)]
    lines += ["", "## Where others do better"]
    for mine in OURS:
        if set(RIVALS[mine]) & set(columns):
            lines += losses(errors, sizes, columns, mine)
    return lines + price_of_purity(errors, sizes)


def timings(seconds: Floats, sizes: list[int], methods: list[str], columns: list[str]) -> list[str]:
    heads = ["n", *(COLUMNS[column][0].strip("*") for column in columns)]
    lines = ["", "## Seconds for one estimate, mean", "", "| " + " | ".join(heads) + " |"]
    lines.append("|---:" * len(heads) + "|")
    for n, row in zip(sizes, seconds, strict=True):
        means = [np.mean([row[methods.index(method)] for method in COLUMNS[column][1]]) for column in columns]
        lines.append(f"| {n:,} | " + " | ".join(f"{value:.2g}" for value in means) + " |")
    return lines


STYLES: dict[str, dict[str, Any]] = {
    "rule": {"color": "#9a9a9a", "ls": ":", "marker": "", "lw": 1.6},
    "best": {"color": "#9a9a9a", "ls": "-", "marker": "", "lw": 4},
    "paper": {"color": "#c05a00", "ls": "--", "marker": "s", "lw": 1.2, "ms": 5},
    "paper, M1": {"color": "#c05a00", "ls": "-.", "marker": "s", "mfc": "white", "ms": 5},
    "ours": {"color": "#3f78b5", "ls": "--", "marker": "o", "mfc": "white", "lw": 1.4, "ms": 6},
    "pure": {"color": "#0b2440", "ls": "-", "marker": "o", "lw": 2.0, "ms": 6},
    "half": {"color": "#4f7f3f", "ls": (0, (1, 1)), "marker": "^", "ms": 6},
}


LABELS = {
    "pure": "Mercer, pure (0)",
    "ours": f"Mercer ({DELTA:g})",
    "paper": f"Hall 2013 ({DELTA:g})",
    "paper, M1": f"Hall 2013, M1 ({DELTA:g})",
    "half": "histogram, replace-one (0)",
}


def picture(errors: dict[Key, Floats], sizes: list[int], columns: list[str], path: Path) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image

    figure, grid = plt.subplots(3, 2, figsize=(8.4, 9.4), sharex=True, sharey="row")
    for line, (density, target) in zip(grid, DENSITIES.items(), strict=True):
        for axes, epsilon in zip(line, GRID["epsilon"], strict=True):
            for column in [c for c in STYLES if c in columns]:
                cells = [cell(errors, density, n, epsilon, column) for n in sizes]
                label = LABELS.get(column, COLUMNS[column][0])
                axes.plot(sizes, [c.mean for c in cells], label=label, **STYLES[column])
            axes.set(xscale="log", yscale="log")
            axes.set_title(target.title, loc="left", fontsize=11, pad=18)
            promise = f"epsilon = {epsilon:g}, delta in brackets, one row"
            axes.text(0, 1.03, promise, transform=axes.transAxes, fontsize=8, color="#555555")
            axes.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel("mean integrated squared error")
    for axes in grid[-1]:
        axes.set_xlabel("n, number of rows")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, loc="lower center", frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    with io.BytesIO() as buffer:  # few colours: a third of the size
        figure.savefig(buffer, dpi=100)
        Image.open(buffer).convert("RGB").quantize(64).save(path, optimize=True)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n up to 1000, 3 repeats, no peers")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    sizes = [n for n in GRID["n"] if n <= 1000 or not options.quick]
    columns = ["best", *OURS.values(), *OURS] if options.quick else list(COLUMNS)
    methods = [method for column in columns for method in COLUMNS[column][1]]
    source = ["", provenance("diffprivlib")]  # before the run: the tree may change while it lasts
    errors, seconds = run(sizes, methods, QUICK_REPEATS if options.quick else REPEATS)
    lines = report(errors, sizes, columns) + timings(seconds, sizes, methods, columns) + source
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "density_mise.md").write_text("\n".join(lines) + "\n")
    picture(errors, sizes, columns, options.out / "density_mise.png")
    print(options.out / "density_mise.md")


if __name__ == "__main__":
    main()
