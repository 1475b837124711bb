"""What pure differential privacy costs in one column: Laplace, l2, orbitope, and the Gaussian.

Thesis, chapter 4, with its errata (E4 to E7): Figure 4.1 and releases by the mechanisms of the
chapter; squared error against the number of moments and of records; M11's table; and the
thesis' own noise, which breaks its promise.  Errors are those of the noise alone, after smoothing,
for n epsilon = 1 unless it says otherwise: they scale with 1 / (n epsilon)^2.  Data are simulated
and noise is seeded: nothing here is private.

    python -m studies.thesis.pure_mechanisms            # all of it, writes studies/thesis/results
    python -m studies.thesis.pure_mechanisms --quick --out FOLDER
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.stats import norm

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.noise.laws import cone_draws, gauge, uniform_moments
from mercer.promise.events import gaussian_multiplier
from studies.shared.report import Floats, provenance

Complexes = np.ndarray[Any, np.dtype[np.complex128]]

EPSILON, DELTA = 1.0, 1e-6
SEED = 2013
WALLS = {"reflect": 1, "periodic": 2}  # and their frequency rate in half turns
PURE = ("laplace", "l2", "orbitope")
NAMES = {"laplace": "Laplace", "l2": "l2", "orbitope": "orbitope", "gaussian": f"Gaussian, delta = {DELTA:g}"}
WIDTHS = (0.1, 0.07, 0.05, 0.03, 0.02, 0.01)  # bandwidths of the requirement
CLAIM = 0.65  # orbitope over Gaussian, at most
DEGREE = 8  # of E5's example


@dataclass(frozen=True)
class Plan:
    """How much is computed."""

    degrees: tuple[int, ...] = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
    sizes: tuple[int, ...] = tuple(round(10 ** (k / 2)) for k in range(4, 15))
    runs: int = 20_000  # simulations of M11's table
    trials: int = 200_000  # of each audit
    rows: tuple[int, ...] = (10**2, 10**3, 10**4, 10**5, 10**6)  # n of the requirement


QUICK = Plan((4, 8, 16, 32), (100, 1000, 10_000), 2_000, 6_000, (1000,))


# --- how much noise ------------------------------------------------------------------------------


def angular(wall: str, m: int) -> Floats:
    return np.pi * WALLS[wall] * np.arange(1, m + 1)


def kept(wall: str, m: int, h: float | Floats) -> Floats:
    """What a Gaussian kernel of bandwidth h leaves of frequency 1..m."""
    return np.exp(-((angular(wall, m) * np.asarray(h)[..., None]) ** 2) / 2)


def width_at(wall: str, m: float, cut: float) -> float:
    """The bandwidth at which frequency m has eigenvalue `cut`."""
    return math.sqrt(-2 * math.log(cut)) / (math.pi * WALLS[wall] * m)


def degree_at(wall: str, h: float, cut: float) -> int:
    return int(width_at(wall, h, cut))  # m and h change places in it


@lru_cache(maxsize=512)
def variances(mechanism: str, wall: str, m: int) -> tuple[float, ...]:
    """Noise in the coefficients of frequency 1..m, cosine and sine together, as Mercer adds it."""
    size = m + 1 if wall == "reflect" else 2 * m + 1
    release = mercer.density(
        np.full(1000, 0.5),
        bounds=(0, 1),
        epsilon=EPSILON,
        bandwidth=0.1,
        boundary=wall,
        basis="moments",
        size=size,
        mechanism=mechanism,
        rng=SEED,
    )
    square = release.noise.deviations(size) ** 2 * release.basis.spread * (1000 * EPSILON) ** 2
    sums = np.bincount(release.basis.frequencies[:, 0], square)
    return tuple(float(value) for value in sums[1:])


def noise(mechanism: str, wall: str, m: int, h: float) -> float:
    """Expected integrated squared error of the noise of m moments smoothed by h, n epsilon = 1."""
    return float(kept(wall, m, h) ** 2 @ np.array(variances(mechanism, wall, m)))


@lru_cache(maxsize=512)
def gaussian(wall: str, h: float) -> float:
    """The same of Mercer's Gaussian mechanism, noise added at bandwidth h; constant left out."""
    release = mercer.density(
        np.full(1000, 0.5), bounds=(0, 1), epsilon=EPSILON, delta=DELTA, bandwidth=h, boundary=wall, rng=SEED
    )
    basis, sd = release.basis, release.noise.deviations(release.basis.size)
    square = sd**2 * basis.spread * basis.eigenvalues * release.filter**2
    return float(np.sum(square[basis.frequencies[:, 0] != 0])) * (1000 * EPSILON) ** 2


def open_gaussian(h: float) -> float:
    """M4's noise on the line at (epsilon, delta): M11 compares with it."""
    multiplier = gaussian_multiplier(epsilon=EPSILON, delta=DELTA)
    return (multiplier * math.sqrt(2) / (math.sqrt(2 * math.pi) * h)) ** 2


def simulated(wall: str, m: int, h: float, runs: int) -> tuple[float, float]:
    """Mean of the orbitope's integrated squared error over `runs` draws, and its own error."""
    real = wall == "reflect"
    rng = np.random.default_rng([SEED, m, real])
    draws = 2 * cone_draws(m, runs, rng, real=real)[:, 1:]  # s = 2 / (n epsilon)
    square = draws**2 if real else draws[:, :m] ** 2 + draws[:, m:] ** 2
    errors = 2 * square @ kept(wall, m, h) ** 2
    return float(errors.mean()), float(errors.std() / math.sqrt(runs))


def weighted(m: int, h: float) -> tuple[float, float]:
    """Periodic, Laplace and l2 noise with the weights that suit the smoothing best.

    Laplace scales b_j with sum_j 4 / b_j <= n epsilon: b_j proportional to keep^(-2/3).  l2 noise
    of the vector with frequency j multiplied by sqrt(keep_j), d = 2 m coordinates.
    """
    keep = kept("periodic", m, h)
    t = np.linspace(0, math.pi, 4001)
    square = 4 * float(np.max((1 - np.cos(np.outer(t, np.arange(1, m + 1)))) @ keep))
    laplace = 64 * float(np.sum(keep ** (2 / 3))) ** 3
    return laplace, 2 * float(np.sum(keep)) * (2 * m + 1) * square


# --- b. error against m and n --------------------------------------------------------------------


def reference(wall: str, m: int) -> tuple[Floats, Floats]:
    """Squared coefficients and n times sampling variances, frequency by frequency.

    Reflecting: an exponential of rate 5 on [0, 1].  Periodic: a two-sided one of rate 10 round
    the circle.  Both have a kink, so that their coefficients fall as 1/j^2.
    """
    if wall == "reflect":
        w = angular(wall, 2 * m)
        c = 25 / (25 + w**2) * (1 - (-1.0) ** np.arange(1, 2 * m + 1) * math.exp(-5))
        c /= 1 - math.exp(-5)
        return 2 * c[:m] ** 2, 1 + c[1::2] - 2 * c[:m] ** 2
    c = 100 / (100 + angular(wall, m) ** 2)
    return 2 * c**2, 2 * (1 - c**2)


@dataclass(frozen=True)
class Best:
    """The least expected error at n, and its parts."""

    total: float
    privacy: float
    degree: int


def best(mechanism: str | None, wall: str, n: int, most: int) -> Best:
    """Over degrees (up to `most`) and bandwidths; no mechanism: without noise."""
    power, sampling = reference(wall, 2048)
    widths = np.geomspace(1e-3, 1.0, 61)
    found = []
    ladder = sorted({round(2 ** (k / 4)) for k in range(4, 33)} & set(range(most + 1)))
    for m in ladder if mechanism in PURE else [2048]:
        keep = kept(wall, m, widths)
        loss = (1 - keep) ** 2 @ power[:m] + np.sum(power[m:]) + keep**2 @ sampling[:m] / n
        if mechanism is None:
            privacy = np.zeros_like(widths)
        elif mechanism == "gaussian":
            privacy = np.array([gaussian(wall, float(h)) for h in widths])
        else:
            privacy = keep**2 @ np.array(variances(mechanism, wall, m))
        privacy = privacy / (n * EPSILON) ** 2
        i = int(np.argmin(loss + privacy))
        top = m if mechanism in PURE else degree_at(wall, float(widths[i]), 0.01)
        found.append(Best(float(loss[i] + privacy[i]), float(privacy[i]), top))
    return min(found, key=lambda b: b.total)


def slope(x: Any, y: Any) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@dataclass(frozen=True)
class Curves:
    """Noise against m (bandwidth with eigenvalue 0.01 at m) and the best choice against n."""

    degrees: tuple[int, ...]
    sizes: tuple[int, ...]
    against_m: dict[tuple[str, str], Floats]
    against_n: dict[tuple[str, str | None], list[Best]]


def curves(plan: Plan) -> Curves:
    against_m, against_n = {}, {}
    for wall in WALLS:
        widths = [width_at(wall, m, 0.01) for m in plan.degrees]
        for name in PURE:
            pairs = zip(plan.degrees, widths, strict=True)
            against_m[wall, name] = np.array([noise(name, wall, m, h) for m, h in pairs])
        against_m[wall, "gaussian"] = np.array([gaussian(wall, h) for h in widths])
        for mechanism in (None, *NAMES):
            against_n[wall, mechanism] = [best(mechanism, wall, n, plan.degrees[-1]) for n in plan.sizes]
    return Curves(plan.degrees, plan.sizes, against_m, against_n)


def rates(found: Curves) -> list[str]:
    some = [n for n in found.sizes if n in (10**3, 10**4, 10**5, 10**6)]
    steep = [i for i, m in enumerate(found.degrees) if m >= found.degrees[-1] / 8]
    late = [i for i, n in enumerate(found.sizes) if n >= found.sizes[-1] / 100]
    heads = ["boundary", "mechanism", "power of m", "power of n, at the best m"]
    heads += [f"n = {n:,}: m, noise, noise / error without privacy" for n in some]
    lines = ["| " + " | ".join(heads) + " |", "|---" * 2 + "|---:" * (len(heads) - 2) + "|"]
    for wall in WALLS:
        for name in NAMES:
            y = found.against_m[wall, name]
            by_m = slope(np.array(found.degrees)[steep], y[steep])
            privacy = np.array([b.privacy for b in found.against_n[wall, name]])
            by_n = slope(np.array(found.sizes)[late], privacy[late])
            texts = [wall, NAMES[name], f"{by_m:.2f}", f"{by_n:.2f}"]
            for n in some:
                i = found.sizes.index(n)
                own, free = (found.against_n[wall, k][i] for k in (name, None))
                share = own.privacy / free.total
                texts.append(f"{own.degree}, {own.privacy:.2g}, {share:.2g}")
            lines.append("| " + " | ".join(texts) + " |")
    return lines


# --- c. M11's table, and the requirement ---------------------------------------------------------

M11 = {  # orbitope, best of weighted Laplace and l2 (not printed: None), Gaussian on the line
    ("periodic", 0.1): (175, 213, 568),
    ("periodic", 0.05): (900, 2107, 2272),
    ("periodic", 0.01): (26000, 299974, 56812),
    ("reflect", 0.1): (310, None, 568),
    ("reflect", 0.05): (1360, None, 2272),
    ("reflect", 0.02): (8650, None, 14203),
}
CUTS = {"periodic": 0.01, "reflect": 1e-4}


def table_m11(runs: int) -> list[str]:
    heads = ["boundary", "h", "m", "orbitope", "M11", "weighted Laplace", "weighted l2", "M11"]
    heads += ["Gaussian on the line", "M11", "Mercer's Gaussian", "orbitope / line"]
    heads += ["orbitope / Mercer's Gaussian"]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for (wall, h), (orbitope, other, line) in M11.items():
        m = degree_at(wall, h, CUTS[wall])
        mean, error = simulated(wall, m, h, runs)
        texts = [wall, f"{h:g}", f"{m}", f"{mean:.4g} ± {1.96 * error:.1g}", f"{orbitope}"]
        if wall == "periodic":
            texts += [f"{value:.0f}" for value in weighted(m, h)] + [f"{other}"]
        else:
            texts += ["", "", ""]
        own = gaussian(wall, h)
        texts += [f"{open_gaussian(h):.0f}", f"{line}", f"{own:.0f}"]
        texts += [f"{mean / open_gaussian(h):.2f}", f"{mean / own:.2f}"]
        lines.append("| " + " | ".join(texts) + " |")
    return lines


@dataclass(frozen=True)
class Ratio:
    """One case of the requirement: squared errors times (n epsilon)^2."""

    wall: str
    h: float
    n: int  # 0: none, M11's cut
    degree: int
    pure: float
    line: float  # the Gaussian on the line
    own: float  # Mercer's Gaussian at the same boundary
    bare: float  # `pure` without the constant coefficient
    own_bare: float

    @property
    def ratios(self) -> tuple[float, float, float, float]:
        own, line = self.own, self.line
        return self.pure / line, self.pure / own, self.bare / line, self.bare / self.own_bare


def at_cut(runs: int) -> list[Ratio]:
    """M11's way: m cut at a public eigenvalue, whatever n; simulated, without the constant."""
    found = []
    for wall, cut in CUTS.items():
        for h in WIDTHS:
            m = degree_at(wall, h, cut)
            mean, own = simulated(wall, m, h, runs)[0], gaussian(wall, h)
            found.append(Ratio(wall, h, 0, m, mean, open_gaussian(h), own, mean, own))
    return found


def by_api(sizes: tuple[int, ...]) -> list[Ratio]:
    """`release.accuracy.integrated` of a given bandwidth, without and with delta."""
    found = []
    for wall in WALLS:
        for h in WIDTHS:
            for n in sizes:
                x = np.full(n, 0.5)
                promise = {"bounds": (0, 1), "epsilon": EPSILON, "bandwidth": h, "rng": SEED}
                pure = mercer.density(x, boundary=wall, **promise)
                both = mercer.density(x, boundary=wall, delta=DELTA, **promise)
                unit, m = (n * EPSILON) ** 2, pure.basis.degree
                errors = (pure.accuracy.integrated * unit, open_gaussian(h))
                errors += (both.accuracy.integrated * unit, noise("orbitope", wall, m, h))
                found.append(Ratio(wall, h, n, m, *errors, gaussian(wall, h)))
    return found


def marked(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio > CLAIM else f"{ratio:.2f}"


def cut_table(found: list[Ratio]) -> list[str]:
    heads = ["boundary", "h", "m", "orbitope", "Gaussian on the line", "Mercer's Gaussian"]
    heads += ["orbitope / line", "orbitope / Mercer's"]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for r in found:
        texts = [r.wall, f"{r.h:g}", f"{r.degree}"]
        texts += [f"{value:.0f}" for value in (r.pure, r.line, r.own)]
        lines.append("| " + " | ".join(texts + [marked(v) for v in r.ratios[:2]]) + " |")
    return lines


def api_table(found: list[Ratio], sizes: tuple[int, ...]) -> list[str]:
    heads = ["boundary", "h", *(f"n = {n:,}" for n in sizes)]
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for wall in WALLS:
        for h in WIDTHS:
            texts = [wall, f"{h:g}"]
            for r in [r for r in found if (r.wall, r.h) == (wall, h)]:
                line, own, bare_line, bare_own = map(marked, r.ratios)
                texts.append(f"m = {r.degree}: {line}, {own} ({bare_line}, {bare_own})")
            lines.append("| " + " | ".join(texts) + " |")
    return lines


WAYS = (
    "against M11's Gaussian on the line",
    "against Mercer's Gaussian at the same boundary",
    "against M11's Gaussian on the line, constant left out",
    "against Mercer's Gaussian at the same boundary, constant left out of both",
)


def verdict(found: list[Ratio], ways: int) -> list[str]:
    lines = []
    for k, words in enumerate(WAYS[:ways]):
        ratios = [r.ratios[k] for r in found]
        above = sum(ratio > CLAIM for ratio in ratios)
        held = f"fails in {above} of {len(found)} cases" if above else "holds"
        lines.append(f"- {words}: {held}, largest ratio {max(ratios):.3f}.")
    return lines


# --- d. E5 ---------------------------------------------------------------------------------------


def moments(x: float, m: int) -> Complexes:
    return np.exp(2j * np.pi * np.arange(1, m + 1) * x)


def gauges(c: Complexes) -> Floats:
    """-lambda_min of Toeplitz(0, c) for every row."""
    m = c.shape[1]
    index = np.arange(m + 1)[:, None] - np.arange(m + 1) + m
    out = []
    for part in np.array_split(c, max(1, len(c) // 20_000)):
        line = np.concatenate([part[:, ::-1].conj(), np.zeros((len(part), 1)), part], axis=1)
        out.append(-np.linalg.eigvalsh(line[:, index])[:, 0])
    return np.concatenate(out)


def draws(m: int, scale: float, runs: int, rng: np.random.Generator) -> Complexes:
    """Density proportional to exp(-gauge / scale)."""
    body = uniform_moments(m, runs, rng, real=False)
    return (body[:m] + 1j * body[m:]).T * rng.gamma(2 * m + 1, scale, (runs, 1))


def farthest(m: int) -> tuple[float, float]:
    """Where ||psi(0) - psi(y)||_K is largest on a fine grid that holds k / (m + 1)."""
    grid = np.arange(1, 100 * (m + 1)) / (100 * (m + 1))
    apart = moments(0.0, m) - np.stack([moments(float(y), m) for y in grid])
    sizes = [gauge(np.concatenate([d.real, d.imag]), real=False) for d in apart]
    i = int(np.argmax(np.round(sizes, 9)))  # the first of equals
    return float(grid[i]), sizes[i]


@dataclass(frozen=True)
class Audit:
    """The statistic of the best attack on the one-sided noise, on two neighbours."""

    name: str
    under: Floats
    other: Floats

    @cached_property
    def bound(self) -> float:
        return epsilon_lower_bound(self.under, self.other, delta=0.0)


def audits(trials: int) -> list[Audit]:
    """All other rows at one place known to the attacker; this one at 0 or at 1 / (m + 1)."""
    m, scale = DEGREE, 2 / EPSILON  # n = 1: the common part of the moments shifts both alike
    here, there = moments(0.0, m), moments(1 / (m + 1), m)
    rng = np.random.default_rng(SEED)

    def statistic(z: Complexes) -> Floats:  # log of the likelihood ratio, of one-sided noise
        return (gauges(z - there) - gauges(z - here)) / scale

    found = []
    for name, sides in (("one-sided, as in the thesis", 1), ("two-sided, as in Mercer", 2)):
        pair = []
        for centre in (here, there):
            z = centre + draws(m, scale, trials, rng)
            pair.append(statistic(z if sides == 1 else z - draws(m, scale, trials, rng)))
        found.append(Audit(name, *pair))
    return found


def broken(found: list[Audit]) -> list[str]:
    m = DEGREE
    place, apart = farthest(m)
    trials = found[0].under.size
    lines = [
        f"m = {m}, epsilon = {EPSILON:g}, periodic. With noise of density exp(-||z||_K / s), s = "
        "2/(n epsilon), the log of the likelihood ratio of two neighbours at an output z is "
        "(||z - b||_K - ||z - a||_K)/s, a and b their moments; by the triangle inequality it is at "
        "most ||a - b||_K / s, which z = a attains. a - b = (psi(x) - psi(y))/n has Toeplitz "
        "matrix (v v* - w w*)/n, of eigenvalues ± sqrt((m + 1)² - |v* w|²)/n: largest for "
        f"orthogonal v and w, |x - y| = k/(m + 1). On a grid: {apart:.6f}/n at |x - y| = "
        f"{place:.6f} = {place * (m + 1):.4g}/(m + 1). So the supremum is (m + 1)/2 epsilon = "
        f"**{apart / 2 * EPSILON:.3g}**, not epsilon.",
        "",
        f"Audit of the pair x = 0, y = 1/{m + 1}: {trials:,} outputs of each, the statistic is "
        "that log likelihood ratio; Clopper-Pearson, both ends together wrong with probability "
        "1e-6 at most.",
        "",
        "| noise | promised | audited lower bound on epsilon | promise |",
        "|---|---:|---:|---|",
    ]
    for a in found:
        kept_word = "broken" if a.bound > EPSILON else "not contradicted"
        lines.append(f"| {a.name} | {EPSILON:g} | {a.bound:.2f} | {kept_word} |")
    return lines


def inertia(runs: int) -> list[str]:
    m, exact = 4, (1 / 8, 17 / 108, 73 / 360, 38 / 135)
    body = uniform_moments(m, runs, np.random.default_rng(SEED), real=False)
    square = body[:m] ** 2 + body[m:] ** 2
    lines = ["| j | exact (M11) | simulated | as printed, index corrected |", "|---:" * 4 + "|"]
    for j, value in enumerate(exact, start=1):
        mean, error = square[j - 1].mean(), 1.96 * square[j - 1].std() / math.sqrt(runs)
        printed = 2 / (4 * m - 3 * (j - 1))
        lines.append(f"| {j} | {value:.4f} | {mean:.4f} ± {error:.4f} | {printed:.4f} |")
    return lines


# --- pictures ------------------------------------------------------------------------------------

_GREY, _SMALL = "#9a9a9a", "#555555"
STYLES: dict[str, dict[str, Any]] = {
    "laplace": {"color": "#c05a00", "ls": "--", "marker": "s", "ms": 4},
    "l2": {"color": "#4f7f3f", "ls": ":", "marker": "^", "ms": 5},
    "orbitope": {"color": "#0b2440", "ls": "-", "marker": "o", "ms": 4, "lw": 2},
    "gaussian": {"color": "#3f78b5", "ls": "-.", "marker": "o", "mfc": "white", "ms": 5},
}
X = np.linspace(0, 1, 501)
ROWS, H = 1000, 0.05  # of the releases in the figure
PARTS = ((0.55, 0.02, 0.07), (0.45, 0.5, 0.11))  # weight, place, sd; round the circle


def circle(width: float) -> Floats:
    """The density of the figure's records, smoothed by `width`."""
    total = np.zeros_like(X)
    for weight, place, sd in PARTS:
        for turn in range(-2, 3):
            total += weight * norm.pdf(X, place + turn, math.hypot(sd, width))
    return total


def records() -> Floats:
    rng = np.random.default_rng(SEED)
    part = np.array(PARTS)[rng.choice(len(PARTS), size=ROWS, p=[p[0] for p in PARTS])]
    return rng.normal(part[:, 1], part[:, 2]) % 1.0


def periodic_kernel(mean: float, h: float, rate: float) -> Floats:
    """1 + 2 sum_j exp(-rate j^2 h^2) cos 2 pi j (x - mean)."""
    j = np.arange(1, 400)
    return 1 + 2 * np.cos(2 * np.pi * np.outer(X - mean, j)) @ np.exp(-rate * (j * h) ** 2)


def figure_41(path: Path) -> dict[str, tuple[int, float]]:
    """The thesis' two panels, and below them releases by the mechanisms of its chapter."""
    plt = _pyplot()
    sheet = plt.figure(figsize=(10.5, 8.6))
    grid = sheet.add_gridspec(2, 6, hspace=0.62, wspace=0.75, left=0.06, right=0.985, top=0.87, bottom=0.125)
    for k, mean in enumerate((0.2, 0.3)):
        axes = sheet.add_subplot(grid[0, 3 * k : 3 * k + 3])
        axes.plot(X, norm.pdf(X, mean, 0.1), color=_GREY, lw=4.5, label="Gaussian kernel")
        axes.plot(
            X,
            periodic_kernel(mean, 0.1, 2 * np.pi**2),
            color="#0b2440",
            lw=1.6,
            ls=(0, (4, 1.5)),
            label="periodic, exp(-2π²j²σ²) (E4)",
        )
        axes.plot(
            X,
            periodic_kernel(mean, 0.1, 2.0),
            color="#c05a00",
            lw=1,
            ls=":",
            label="periodic, exp(-2j²σ²), as printed",
        )
        _titles(axes, f"Kernel at {mean:g}, σ = 0.1", "no data, no noise")
        axes.set(xlabel="x (turns)", ylabel="density per turn", xlim=(0, 1), ylim=(-0.3, 8.5))
        if k:
            top = periodic_kernel(mean, 0.1, 2.0).max()
            axes.legend(
                frameon=False,
                fontsize=8,
                loc="upper right",
                title_fontsize=8,
                title=f"cut at 8.5; the printed one reaches {top:.1f}",
            )
    x, table = records(), {}
    clean = np.mean([np.exp(2j * np.pi * np.arange(1, 200) * v) for v in x], axis=0)
    j = np.arange(1, 200)
    smooth = 1 + 2 * np.real(np.exp(-2j * np.pi * np.outer(X, j)) @ (clean * kept("periodic", 199, H)))
    first: Any = None
    for k, name in enumerate(PURE):
        axes = sheet.add_subplot(grid[1, 2 * k : 2 * k + 2], sharey=first)
        first = first or axes
        release = mercer.density(
            x, bounds=(0, 1), epsilon=EPSILON, bandwidth=H, boundary="periodic", mechanism=name, rng=SEED
        )
        values = release(X, raw=True)
        reach = 1.96 * release.standard_error(X)
        axes.fill_between(
            X,
            values - reach,
            values + reach,
            color="#e3ddd4",
            lw=0,
            label="± 1.96 sd of the noise, at each point",
        )
        axes.plot(X, smooth, color=_GREY, lw=3.5, label="same smoothing, not private")
        axes.plot(X, values, color="#0b2440", lw=1.4, ls=(0, (4, 1.5)), label="released")
        error = release.accuracy.integrated
        _titles(
            axes,
            f"{NAMES[name].capitalize() if name != 'l2' else 'l2'}, m = {release.basis.degree}",
            f"epsilon = {EPSILON:g}, pure, one row of {ROWS}; seeded\nexpected squared error {error:.2g}",
        )
        axes.axhline(0, color="#888888", lw=0.6)
        axes.set(xlabel="x (turns)", xlim=(0, 1))
        if k == 0:
            axes.set_ylabel("density per turn")
        table[name] = (release.basis.degree, error)
    sheet.suptitle(
        "Thesis, Figure 4.1 (above), and releases of a periodic density by the mechanisms of its "
        f"chapter,\ncorrected (below; bandwidth {H:g} turns)",
        x=0.01,
        ha="left",
        fontsize=12,
    )
    handles, labels = first.get_legend_handles_labels()
    sheet.legend(handles, labels, ncols=3, loc="lower center", frameon=False, fontsize=9)
    sheet.savefig(path, dpi=100)
    plt.close(sheet)
    return table


def picture(found: Curves, cut: list[Ratio], needs: list[Ratio], attacks: list[Audit], path: Path) -> None:
    plt = _pyplot()
    sheet, panels = plt.subplots(3, 2, figsize=(10, 12.6))
    for axes, wall in zip(panels[0], WALLS, strict=True):
        m = np.array(found.degrees)
        for name, style in STYLES.items():
            axes.plot(m, found.against_m[wall, name], label=NAMES[name], **style)
        low = found.against_m[wall, "orbitope"][0] * 0.45
        for power, text in ((2, "m²"), (3, "m³")):
            axes.plot(m, low * (m / m[0]) ** power, color=_GREY, lw=1)
            axes.annotate(
                text,
                (m[-1], low * (m[-1] / m[0]) ** power),
                color=_SMALL,
                fontsize=9,
                xytext=(4, -3),
                textcoords="offset points",
            )
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="m, highest frequency released",
            ylabel="integrated squared error of the noise",
        )
        _titles(axes, f"Against m, {wall}", "n epsilon = 1, one row; smoothed so that frequency m keeps 1 %")
        axes.legend(frameon=False, fontsize=8, loc="upper left")
    for axes, wall in zip(panels[1], WALLS, strict=True):
        n = np.array(found.sizes)
        free = [b.total for b in found.against_n[wall, None]]
        axes.plot(n, free, color=_GREY, lw=4, label="whole error without privacy, at its best")
        for name, style in STYLES.items():
            privacy = [b.privacy for b in found.against_n[wall, name]]
            axes.plot(n, privacy, label=NAMES[name], **style)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="n, number of rows",
            ylabel="integrated squared error of the noise",
        )
        _titles(
            axes,
            f"Against n at the best m, {wall}",
            f"epsilon = {EPSILON:g}, one row; a reference density with a kink",
        )
        axes.legend(frameon=False, fontsize=8, loc="lower left")
    _ratio_panel(panels[2][0], cut, needs)
    _audit_panel(panels[2][1], attacks)
    sheet.tight_layout(h_pad=2.0)
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _ratio_panel(axes: Any, cut: list[Ratio], needs: list[Ratio]) -> None:
    api = np.array([[r.ratios[1] for r in needs if r.h == h] for h in WIDTHS])
    sizes = sorted({r.n for r in needs})
    axes.fill_between(
        WIDTHS,
        api.min(axis=1),
        api.max(axis=1),
        color="#e3ddd4",
        lw=0,
        label=f"API, n = {sizes[0]:,} to {sizes[-1]:,}, over Mercer's",
    )
    lines = {
        "reflect, over the Gaussian on the line": ("reflect", 0, "#c05a00", "--", "s"),
        "reflect, over Mercer's Gaussian": ("reflect", 1, "#0b2440", "-", "o"),
        "periodic, over the Gaussian on the line": ("periodic", 0, "#4f7f3f", ":", "^"),
        "periodic, over Mercer's Gaussian": ("periodic", 1, "#3f78b5", "-.", "v"),
    }
    for label, (wall, k, color, dash, marker) in lines.items():
        some = [r for r in cut if r.wall == wall]
        axes.plot(
            [r.h for r in some],
            [r.ratios[k] for r in some],
            color=color,
            ls=dash,
            marker=marker,
            ms=5,
            label=label,
        )
    axes.axhline(CLAIM, color=_SMALL, lw=1)
    axes.text(WIDTHS[0], CLAIM + 0.01, f"{CLAIM:g}: at most", fontsize=8, ha="right")
    axes.set(
        xscale="log",
        ylim=(0, 0.9),
        xlabel="bandwidth h (share of the bounds)",
        ylabel="squared error, orbitope / Gaussian",
    )
    axes.set_xticks(WIDTHS, [f"{h:g}" for h in WIDTHS])
    axes.minorticks_off()
    _titles(
        axes,
        "Orbitope over Gaussian",
        f"pure against delta = {DELTA:g}, epsilon = {EPSILON:g}, one row; lines: M11's m",
    )
    axes.legend(frameon=False, fontsize=8, loc="lower left")


def _audit_panel(axes: Any, attacks: list[Audit]) -> None:
    t = np.linspace(-4.6, 4.6, 185)
    for attack, color, dash in zip(attacks, ("#c05a00", "#0b2440"), ("--", "-"), strict=True):
        one, two = (np.array([np.mean(s > v) for v in t]) for s in (attack.under, attack.other))
        enough = two * attack.other.size >= 20
        axes.plot(
            t[enough],
            np.log(one[enough] / two[enough]),
            color=color,
            ls=dash,
            lw=1.8,
            label=f"{attack.name}:\naudited epsilon ≥ {attack.bound:.2f}",
        )
    top = (DEGREE + 1) / 2 * EPSILON
    for level, text in ((EPSILON, "promised"), (top, "supremum, (m + 1)/2 epsilon")):
        axes.axhline(level, color=_GREY, lw=1)
        axes.text(-4.6, level + 0.06, text, fontsize=8, color=_SMALL)
    axes.set(
        ylim=(-0.1, 5.4),
        xlabel="threshold t of the attacker's statistic",
        ylabel="log of P(above t | 0) / P(above t | 1/9)",
    )
    _titles(
        axes,
        f"What an attacker sees, m = {DEGREE} (E5)",
        f"epsilon = {EPSILON:g} promised, pure, one row; {attacks[0].under.size:,} seeded outputs each",
    )
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(0, 0.55))


def _pyplot() -> Any:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def _titles(axes: Any, title: str, small: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, pad=10 + 11 * (small.count("\n") + 1))
    axes.text(0, 1.03, small, transform=axes.transAxes, fontsize=8, color=_SMALL)
    axes.spines[["top", "right"]].set_visible(False)


# --- the page ------------------------------------------------------------------------------------


def report(
    plan: Plan,
    found: Curves,
    cut: list[Ratio],
    needs: list[Ratio],
    attacks: list[Audit],
    shown: dict[str, tuple[int, float]],
) -> list[str]:
    drawn = "; ".join(f"{NAMES[k]} m = {m}, {error:.3g}" for k, (m, error) in shown.items())
    return [
        "# Pure mechanisms in one column",
        "",
        "Expected integrated squared error of the noise after smoothing, on [0, 1], for n epsilon "
        "= 1 (it scales with 1/(n epsilon)²) unless n is named. The constant coefficient, which is "
        "known to be one, is left out except where it says `accuracy.integrated`. Simulated data, "
        "seeded noise: not private.",
        "",
        "## a. Thesis, Figure 4.1, and what its chapter would release",
        "",
        "![Thesis, Figure 4.1](thesis-figure41.png)",
        "",
        "The thesis' figure shows kernels only: the Gaussian kernel with σ = 0.1 at 0.2 and 0.3 "
        "and its periodic form, which comes back in at the other side (above). The chapter draws "
        f"no release; below, {ROWS} synthetic rows round a circle, released by its mechanisms by "
        f'`mercer.density(..., boundary="periodic", bandwidth={H:g}, mechanism=...)`. Expected '
        f"squared error (`accuracy.integrated`): {drawn}. Corrected:",
        "",
        "- E4: eigenvalues exp(-2 π² j² σ²). As printed, without π², the kernel is π times too "
        "narrow (dotted).",
        "- E5: two-sided noise A - B instead of A with Delta = 2/n, which is (m + 1)/2 times less "
        "private than promised (d).",
        "- E6: Laplace noise of scale Delta_1/epsilon, Delta_1 = 4 m/n; the thesis prints the "
        "inverse, n epsilon/(2 m + 1), and leaves out the bound of the basis.",
        "- E7: uniform points of the body are drawn exactly, by canonical moments, not by a Markov "
        "chain; second moments E|c_j|² at m = 4, thesis Prop. 4.4.1 against the exact ones:",
        "",
        *inertia(10 * plan.runs),
        "",
        "## b. Error against m and n",
        "",
        "![Errors](pure_mechanisms.png)",
        "",
        "Mercer's own mechanisms with its own constants. Against m: bandwidth at which frequency m "
        "has eigenvalue 0.01; powers fitted over the upper eighth of the range, "
        f"m = {found.degrees[-1] // 8} to {found.degrees[-1]}. Against n (epsilon = {EPSILON:g}): "
        "m and h of least whole error (bias, sampling and noise) for an exponential density of "
        "rate 5 (reflect) and a two-sided one of rate 10 round the circle (periodic); powers "
        f"fitted from n = {found.sizes[-1] // 100:,} on. For the Gaussian, m is the frequency of "
        "eigenvalue 0.01.",
        "",
        *rates(found),
        "",
        "## c. M11's table",
        "",
        f"Orbitope: {plan.runs:,} draws of `noise.orbitope.cone_draws` times s = 2/(n epsilon), "
        "with m cut at eigenvalue 0.01 (periodic) and 1e-4 (reflect). Weighted Laplace and l2: "
        "with the weights that suit the smoothing. Gaussian on the line: M4 and M1 at (1, 1e-6), "
        "open boundary. Mercer's Gaussian: the noise of `mercer.density(..., delta=1e-6, "
        "bandwidth=h)` at the same boundary, the constant left out. At a reflecting wall it is "
        "larger than on the line, because two functions carry more noise there.",
        "",
        *table_m11(plan.runs),
        "",
        f"## The requirement: at most {CLAIM:g} of the Gaussian's squared error for h ≤ 0.1",
        "",
        "M11's way, as in the table above. **Bold**: above the requirement.",
        "",
        *cut_table(cut),
        "",
        *verdict(cut, 2),
        "",
        "By the public API, `mercer.density(x, bounds=(0, 1), epsilon=1, bandwidth=h)` without and "
        "with `delta=1e-6`: ratios of `release.accuracy.integrated`, over the Gaussian on the line "
        "and over Mercer's at the same boundary; in brackets the same without the noise of the "
        "constant coefficient, which projection to a density removes from `release(x)`. Here m "
        "grows with n, until what is left out above m, at its worst, is below the noise: at large "
        "n both are far below the sampling error, and fewer moments would do.",
        "",
        *api_table(needs, plan.rows),
        "",
        *verdict(needs, 4),
        "",
        "## d. E5: the thesis' noise breaks its promise",
        "",
        *broken(attacks),
        "",
        provenance("matplotlib"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer degrees, sizes and draws")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    plan = QUICK if options.quick else Plan()
    options.out.mkdir(parents=True, exist_ok=True)
    shown = figure_41(options.out / "thesis-figure41.png")
    found, attacks = curves(plan), audits(plan.trials)
    cut, needs = at_cut(plan.runs), by_api(plan.rows)
    picture(found, cut, needs, attacks, options.out / "pure_mechanisms.png")
    lines = report(plan, found, cut, needs, attacks, shown)
    (options.out / "pure_mechanisms.md").write_text("\n".join(lines) + "\n")
    print(options.out / "pure_mechanisms.md")


if __name__ == "__main__":
    main()
