"""What counts tell of the records: see `mercer.releases.findings`.  M13, M18.

Noise of a count has a known law, so sums of counts have known intervals.  A record is in one cell
or in none: the sum of all cells is the number that fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mercer.columns.cells import Axis
from mercer.columns.kinds import Categorical
from mercer.common.checks import Floats
from mercer.noise.count_laws import CountLaw
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.margins import MarginsRelease
from mercer.releases.counts.number import CountRelease, StatisticRelease
from mercer.releases.findings import ALPHA, Finding, about, fit_finding, share

__all__ = ["cell_findings", "count_findings", "margin_findings", "statistic_findings"]

_LEVEL = 1 - ALPHA / 2  # of an interval for one sum: either end is passed with ALPHA / 4
_END = 0.25  # share of the records in an end bin that is worth a word
_VALUE = 0.5  # … in an end cell that is one value
_EVERY = (10, 5, 4, 2)  # cells from one value of a lattice to the next
_FEW = 0.01  # of a share of the records below this, a condition holds for none
_DRY = "the promise is too strong for so few records; use more of them or a larger epsilon"
_FLAT = Finding("flat", f"no count can be told from the noise: {_DRY}")


def cell_findings(release: HistogramRelease) -> tuple[Finding, ...]:
    """All that a histogram or table tells."""
    axes = release.domain.columns
    if release.keys is not None:
        return (_nothing_above(release),) if _noise_alone(release) else ()
    noisy = np.ones(release.values.size) if release.exact is None else (~release.exact).astype(float)
    counts = release.raw.astype(float)
    noisy = noisy.reshape(counts.shape)
    total, width = float(counts.sum()), _half(release.noise, noisy.sum())
    if _drowned(counts, noisy, release.noise) and total <= width:
        if width <= 0.2 * release.n and not release.complete:
            return _fits(0.0, width, release.n, axes)
        return (_FLAT,) if noisy.all() else ()
    found = list(() if release.complete else _fits(total, width, release.n, axes))
    if total > width:
        found += _columns(axes, counts, noisy, release.noise, total, width)
    return tuple(found)


def margin_findings(release: MarginsRelease) -> tuple[Finding, ...]:
    """All that margins tell: of every one by itself, the same once."""
    found: dict[str, Finding] = {}
    flat = True
    for chosen, counts, alone in zip(release.sets, release.raw, release.single, strict=True):
        if alone:
            flat = False
            continue
        axes = tuple(release.domain.columns[place] for place in chosen)
        values, noisy = counts.astype(float), np.ones(counts.shape)
        total, width = float(values.sum()), _half(release.noise, counts.size)
        if total <= width and _drowned(values, noisy, release.noise):
            if width <= 0.2 * release.n and not release.complete:
                flat = False
                for part in _fits(0.0, width, release.n, axes):
                    found.setdefault(part.kind, part)
            continue
        flat = False
        parts = [] if release.complete else [*_fits(total, width, release.n, axes)]
        parts += _columns(axes, values, noisy, release.noise, total, width)
        for part in parts:  # wider margins say the same less clearly
            where = part.kind if part.kind == "fit" else part.words.partition(":")[0]
            found.setdefault(where, part)
    return (_FLAT,) if flat else tuple(found.values())


def count_findings(release: CountRelease) -> tuple[Finding, ...]:
    """Whether a count can be told from nothing, and from all."""
    if release.noise is None:
        return ()
    if isinstance(release.noise, CountLaw):
        width = _half(release.noise, 1)
        low, high = (min(max(release.raw + side, 0.0), release.n) for side in (-width, width))
    else:
        low, high = release.noise.interval(release.raw, 1 - ALPHA)
    of = release.domain.words
    if low <= 0 and high >= release.n:
        return (Finding("flat", f"the count cannot be told from the noise: {_DRY}"),)
    if low <= 0 and high < _FEW * release.n:
        words = (
            f"no record seems to be counted by {of} (at most {_per_cent(high / release.n)} of "
            "them): are the values written as in the data, and numbers in its unit?"
        )
        return (Finding("categories", words),)
    return ()


def statistic_findings(release: StatisticRelease) -> tuple[Finding, ...]:
    """Whether a statistic can be told from zero."""
    scale = release.scale
    if scale is None or scale == 0 or abs(release.value) >= -scale * math.log(0.01):
        return ()
    return (Finding("flat", f"{release.domain.words} cannot be told from zero: the noise explains it"),)


def _fits(total: float, width: float, n: int, axes: tuple[Axis, ...]) -> tuple[Finding, ...]:
    levels = any(axis.edges is None and not axis.column.numeric for axis in axes)
    ask = (
        "are the categories written as in the data, and numbers in columns of numbers?"
        if levels
        else "is the column text, in another format, or in another unit?"
    )
    what = "are in a cell" if total > 0 else "are in any cell"
    return fit_finding(total / n, width / n, what, ask, otherwise="the others fit no cell")


def _columns(
    axes: tuple[Axis, ...], counts: Floats, noisy: Floats, law: CountLaw, total: float, width: float
) -> Iterator[Finding]:
    """What each column tells, all others added up."""
    for place, axis in enumerate(axes):
        others = tuple(i for i in range(len(axes)) if i != place)
        terms = float(noisy.sum(axis=others).max())
        yield from _column(axis, counts.sum(axis=others), law, terms, total, width)


def _column(
    axis: Axis, counts: Floats, law: CountLaw, terms: float, total: float, width: float
) -> list[Finding]:
    """Values piled up in an end cell, all of it in "other", and values of a lattice."""
    far, found = _half(law, terms), []
    if axis.clips and axis.size >= 3:
        for name, place, near in (("first", 0, 1), ("last", -1, -2)):
            least = (counts[place] - far) / (total + width)
            if least > (_VALUE if axis.edges is None else _END) and counts[near] + far < 0.2 * counts[place]:
                amount = about(counts[place] / total, far / total + width / total)
                words = (
                    f"{axis.name}: {amount} are in the {name} cell, {axis.labels()[place]}, with "
                    "all values beyond it: are the cells in the column's unit, or does it have a "
                    "code for missing values?"
                )
                found.append(Finding("bound", words))
    other = axis.column.other if isinstance(axis.column, Categorical) else None
    if other is not None and (counts[-1] - far) / (total + width) > 0.8:
        words = (
            f"{axis.name}: about {share(counts[-1] / total)} of the records are in {other!r}, "
            "which is none of the categories: are they written as in the data?"
        )
        found.append(Finding("categories", words))
    if axis.equal and not found:
        found += _lattice(axis, counts, law, terms, total)
    return found


def _lattice(axis: Axis, counts: Floats, law: CountLaw, terms: float, total: float) -> list[Finding]:
    """Whether every second, fourth, fifth or tenth cell holds what the others lack."""
    sd = law.deviation * math.sqrt(terms)
    each = float(axis.cuts[1] - axis.cuts[0])
    best = 0, 0.0
    for every in _EVERY:
        if axis.size < 4 * every:
            continue
        rounds = axis.size // every * every
        parts = counts[:rounds].reshape(-1, every).sum(axis=0)
        most = int(np.argmax(parts))
        among = math.log(500 * every * len(_EVERY) / ALPHA) / math.sqrt(2)
        noise = sd * math.sqrt(rounds / every) + 0.5 * math.sqrt(total / every)
        held = float(parts[most]) / max(total, 1.0)
        excess = (held - 1 / every) / (1 - 1 / every)
        others = np.sort(np.delete(parts, most))
        even = excess > 0.8 or every == 2 or others[-1] <= 1.7 * max(float(others.mean()), 0.0) + noise
        spread = counts[most:rounds:every]  # on many cells: no single one makes the lattice
        alone = float(spread.max()) / max(float(parts[most]), 1.0)
        clear = excess * total - among * noise > 0.15 * total
        if clear and even and excess > max(0.3, best[1]) and alone < 0.5:
            best = every, excess
    if not best[0]:
        return []
    step = each * best[0]
    how = "look" if best[1] > 0.8 else "often look"
    whole = "like whole numbers" if step == 1 else f"as if rounded to steps of {step:g}"
    words = (
        f"{axis.name}: values {how} {whole}, so that cells between them are empty or low; cells of "
        f"width {step:g} do not show that"
    )
    return [Finding("lattice", words)]


def _noise_alone(release: HistogramRelease) -> bool:
    """Whether empty cells make so many counts above the threshold, and so large ones."""
    from scipy.stats import poisson

    assert release.threshold is not None
    cells, law, values = release.domain.cells, release.noise, release.values
    expected = cells * law.above(release.threshold)
    few = len(values) <= poisson.ppf(0.99, expected)
    return bool(few and (not len(values) or values.max() <= law.threshold(0.005 / cells)))


def _nothing_above(release: HistogramRelease) -> Finding:
    words = (
        f"no cell is clearly above the public threshold {release.threshold}: either the records "
        f"fit none (are values written as in the data?), or {_DRY}"
    )
    return Finding("flat", words)


def _drowned(counts: Floats, noisy: Floats, law: CountLaw) -> bool:
    """Whether noise alone makes counts as large as these."""
    seen = counts[noisy > 0]
    if np.any(counts[noisy == 0] != 0):
        return False
    return not seen.size or float(seen.max()) <= law.threshold(0.005 / seen.size)


def _half(law: CountLaw, terms: float) -> float:
    """Half the width of an interval for the sum of so many noises."""
    terms = round(terms)
    if terms > 100:  # a sum of so many is normal, all but its farthest tail
        return law.deviation * math.sqrt(terms) * 3.7
    return law.half_width(terms, _LEVEL)


def _per_cent(value: float) -> str:
    return f"{100 * value:.2g} %"
