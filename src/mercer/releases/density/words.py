"""What is said of densities: on the command line, and what they tell of the records.  M11, M17, M18.

The noisy coordinates are moments of the records with a known standard deviation each.  The
constant one is the share of rows that hold numbers.  A value that many rows share leaves moments
of one size at all frequencies, where those of a density fall; values of a lattice leave single
large ones at its multiples.  Frequencies above 1/10 in noise are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.noise.laws import Law, Normal
from mercer.releases.density.release import DensityRelease
from mercer.releases.findings import Finding, about, fit_finding, hidden, reach, share
from mercer.releases.words import FunctionWords, Question, answer_shares
from mercer.show import terminal
from mercer.spaces.bases import Moments, SpectralBasis

__all__ = ["DensityWords", "Waves", "density_findings", "lattice"]

_HOW = {
    "auto": "chosen from the noisy result, free",
    "rule": "public rule",
    "given": "given",
    "private-scott": "Scott's rule from private quartiles, a part of the budget",
    "private-cv": "private cross-validation, a part of the budget",
}
_USABLE = 0.1  # noise of a moment, in shares of all records, with which it is looked at
_MOST = 512
_LEAST = 24  # moments with which a repeated value is told from a narrow peak; 8 at a bound
_SPIKE = 0.2  # share of a repeated value that is worth a word
_LATTICE = 0.25  # share of the values that a lattice holds beyond what chance puts there
_ALL = 0.75  # from here on, all of them
_NOISE = 0.1  # of the clearest moment, without which "flat" would be no fault of the noise
_STEPS = sorted(base * 10.0**power for base in (1.0, 2.0, 2.5, 5.0) for power in range(-6, 10))


class DensityWords(FunctionWords[DensityRelease]):
    """`density of age in [0, 100]`."""

    repaired = True

    def describe(self) -> str:
        return f"density of {self.release.domain.describe()}"

    def summary(self) -> dict[str, Any]:
        release, accuracy = self.release, self.release.accuracy
        return {
            "kind": release.kind,
            "domain": release.domain.to_dict(),
            "boundary": release.boundary,
            "bandwidth": release.bandwidth.tolist(),
            "finest_bandwidth": release.finest_bandwidth.tolist(),
            "bandwidth_choice": release.choice,
            "smoother": release.smoother,
            "basis": release.basis.name,
            "privacy": release.privacy.to_dict(),
            "findings": self.findings(),
            "accuracy": {
                "integrated": accuracy.integrated,
                "pointwise": accuracy.pointwise,
                "coordinates": accuracy.coordinates,
                "truncation": accuracy.truncation if math.isfinite(accuracy.truncation) else None,
                "resolution": accuracy.resolution,
            },
        }

    def show(self, heading: str) -> None:
        release = self.release
        width = ", ".join(f"{h:.4g}" for h in release.bandwidth)
        rows = [
            *self.promise(),
            ("domain", release.domain.describe() + f", boundary {release.boundary}"),
            ("bandwidth", f"{width} ({_HOW[release.choice]})"),
            ("accuracy", str(release.accuracy)),
        ]
        terminal.facts(heading, rows + self.notes())

    def smoothed(self, bandwidth: list[float]) -> DensityRelease:
        d = self.release.domain.dimension
        if len(bandwidth) == 1:
            return self.release.smooth(bandwidth[0])
        matrix = [bandwidth[i : i + d] for i in range(0, len(bandwidth), d)]
        return self.release.smooth(matrix if len(bandwidth) == d**2 else bandwidth)

    def answer(self, asked: Question, *, as_json: bool) -> None:
        if asked.where and asked.at is None and asked.grid is None:
            self.check_no_cells(asked)
            answer_shares(self.release, self.release.domain, asked, as_json=as_json)
            return
        super().answer(asked, as_json=as_json)

    def evaluate(self, points: Floats, asked: Question, *, as_json: bool) -> None:
        level, raw = asked.level, asked.raw
        release = self.release
        value, band = release(points, raw=raw), release.band(points, level, raw=raw)
        rows: list[dict[str, Any]] = [
            {
                "at": [x if isinstance(x, float) else str(x) for x in release.domain.shown(point.tolist())],
                "density": float(v),
                "lower": float(low),
                "upper": float(high),
            }
            for point, v, low, high in zip(points, value, band.lower, band.upper, strict=True)
        ]
        if as_json:
            terminal.print_json({"level": level, "raw": raw, "values": rows})
            return
        head = f"{level:.0%} band for the noise, everywhere at once"
        table = terminal.table(*release.domain.names, "density", head)
        for row in rows:
            table.add_row(
                *(f"{x:g}" if isinstance(x, float) else x for x in row["at"]),
                f"{row['density']:.6g}",
                f"{row['lower']:.6g} to {row['upper']:.6g}",
            )
        terminal.show(table)


@dataclass(frozen=True)
class Waves:
    """Moments of one column: mean of cos(2 pi k u / period), u in [0, 1], and sines or none."""

    cosines: Floats  # k = 1, 2, …
    sines: Floats | None
    deviation: Floats  # of either, sampling of n records included
    period: float
    normal: bool

    @property
    def size(self) -> int:
        """How many frequencies there are."""
        return len(self.cosines)

    def angles(self, k: Ints, u: Floats) -> Floats:
        """Angles of the waves of frequencies k at places u of [0, 1]: (places, frequencies)."""
        return np.asarray(2 * np.pi / self.period * np.outer(u, k))

    def at(self, k: Ints, u: Floats) -> tuple[Floats, Floats]:
        """The share of records at each place that moments of the frequencies k speak for.

        And its standard deviation: least squares with one unknown.
        """
        angle, weight = self.angles(k, u), 1 / self.deviation[k - 1] ** 2
        cosine = np.cos(angle)
        top, bottom = cosine @ (weight * self.cosines[k - 1]), cosine**2 @ weight
        if self.sines is not None:
            sine = np.sin(angle)
            top, bottom = top + sine @ (weight * self.sines[k - 1]), bottom + sine**2 @ weight
        bottom = np.maximum(bottom, 1e-300)
        return top / bottom, 1 / np.sqrt(bottom)


def density_findings(release: DensityRelease) -> tuple[Finding, ...]:
    """All that a density tells, in the order of what matters."""
    normal = isinstance(release.noise, Normal)
    value, sd = release.constant
    many = release.domain.dimension > 1
    found = list(
        fit_finding(
            value,
            reach(normal=normal) * sd,
            f"hold {'numbers' if many else 'a number'} in {' and '.join(release.domain.names)}",
            f"{'are the columns' if many else 'is the column'} text, or in another format?",
        )
    )
    if value < 0.2 and found:
        return tuple(found)
    if _flat(release):
        words = (
            "nothing can be told from the noise, only the bounds are left: the promise is too "
            "strong for so few records; use more of them or a larger epsilon"
        )
        return (*found, Finding("flat", words))
    for axis, waves in enumerate(_waves(release)):
        if waves is not None:
            found += _column(release, axis, waves, max(value, 0.2))
    return tuple(found)


def _moments(release: DensityRelease) -> tuple[Floats, Floats]:
    """Means of products of cosines and sines over the records, and the noise of each."""
    basis = release.basis
    assert isinstance(basis, SpectralBasis)
    size = np.sqrt(basis.eigenvalues)
    plain = basis.unmix(release.coordinates) / (size * basis.amplitude)
    spread = _deviations(release.noise, basis.size) * np.sqrt(basis.spread)
    return plain, spread / (size * basis.amplitude)


def _flat(release: DensityRelease) -> bool:
    """Whether noise explains all but the constant, and there is much of it."""
    if not isinstance(release.basis, SpectralBasis):
        plain = release.coordinates / _deviations(release.noise, release.basis.size)
        return hidden(plain)
    value, noise = _moments(release)
    order = np.argsort(noise[1:], kind="stable") + 1
    return bool(noise[order[0]] > _NOISE) and hidden(value[order] / noise[order])


def _waves(release: DensityRelease) -> list[Waves | None]:
    """The clear moments of each column."""
    basis = release.basis
    if not isinstance(basis, SpectralBasis):
        return []
    value, noise = _moments(release)
    noise = np.sqrt(noise**2 + 0.5 / release.privacy.n)
    normal = isinstance(release.noise, Normal)
    if isinstance(basis, Moments) and not basis.real:
        m = basis.degree
        parts = value[1 : m + 1], value[m + 1 :], noise[1 : m + 1]
        return [_clear(Waves(*parts, basis.period, normal))]
    if not basis.reflects:
        return []
    out: list[Waves | None] = []
    for axis in range(basis.dimension):
        others = np.delete(basis.frequencies, axis, axis=1)
        mine = basis.frequencies[:, axis]
        alone = np.flatnonzero((mine > 0) & np.all(others == 0, axis=1))
        alone = alone[np.argsort(mine[alone])]
        if np.array_equal(mine[alone], np.arange(1, len(alone) + 1)):
            out.append(_clear(Waves(value[alone], None, noise[alone], 2.0, normal)))
        else:
            out.append(None)
    return out


def _clear(waves: Waves) -> Waves:
    above = np.flatnonzero(waves.deviation > _USABLE)
    size = min(int(above[0]) if above.size else waves.size, _MOST)
    sines = None if waves.sines is None else waves.sines[:size]
    return Waves(waves.cosines[:size], sines, waves.deviation[:size], waves.period, waves.normal)


def _column(release: DensityRelease, axis: int, waves: Waves, fit: float) -> list[Finding]:
    name, bounds = release.domain.names[axis], release.domain.bounds[axis]
    found, step = [], lattice(waves, *bounds, fit=fit)
    if step is not None:
        found.append(lattice_finding(name, *step, release.privacy.unit))
    found += _spike(name, bounds, waves, fit, step)
    return found


def lattice(waves: Waves, low: float, high: float, *, fit: float = 1.0) -> tuple[float, float] | None:
    """The step of a lattice on which values lie, and the share of them, or None.

    Multiples of a step s give the frequency k = period (high - low) / s the moment of a repeated
    value, while its neighbours are like those of a density.
    """
    width, seen = high - low, []
    candidates = [
        (step, round(waves.period * width / step))
        for step in _STEPS
        if 0.5 < waves.period * width / step < waves.size + 0.5
    ]
    candidates = [
        (step, k)
        for step, k in candidates
        if 10 * waves.period <= k <= waves.size and abs(waves.period * width / step - k) <= 0.1
    ]
    far = reach(normal=waves.normal, among=max(len(candidates), 1))
    for step, k in candidates:
        u = np.array([(math.ceil(low / step) * step - low) / width])
        if waves.sines is None and abs(np.cos(2 * np.pi / waves.period * k * u[0])) < 0.5:
            continue
        value, sd = (float(part[0]) for part in waves.at(np.array([k]), u))
        near = np.array([j for j in range(max(k - 4, 1), k + 5) if j != k and j <= waves.size])
        size = waves.cosines[near - 1] ** 2
        if waves.sines is not None:
            size = size + waves.sines[near - 1] ** 2
        around = math.sqrt(float(np.mean(size)))
        if value - far * sd > _LATTICE * fit / 2 and value > max(_LATTICE * fit, 2 * around):
            seen.append((step, min(value / fit, 1.0)))
    if not seen:
        return None
    enough = min(_ALL, 0.85 * max(held for _, held in seen))  # of them the widest
    return max(part for part in seen if part[1] >= enough)


def lattice_finding(name: str, step: float, held: float, unit: str) -> Finding:
    """The finding that values are, or look rounded to, multiples of a step."""
    whole = "whole numbers" if step == 1 else f"multiples of {step:g}"
    if unit != "row" or held >= _ALL:
        words = f"values of {name} look like {whole}"
    else:
        words = f"about {share(held)} of the values of {name} look rounded to {whole}"
    return Finding(
        "lattice", f"{words}: a density smooths over that; a histogram with a cell for each shows it"
    )


def _spike(
    name: str, bounds: tuple[float, float], waves: Waves, fit: float, step: tuple[float, float] | None
) -> list[Finding]:
    """A value that many rows share, or values piled up at a bound."""
    size, width = waves.size, bounds[1] - bounds[0]
    if size < 8:
        return []
    top = np.arange(3 * size // 4 + 1, size + 1)
    middle = np.arange(size // 2 + 1, 3 * size // 4 + 1)
    if step is not None:  # its multiples speak for the lattice
        every = round(waves.period * width / step[0])
        top, middle = (part[part % every != 0] for part in (top, middle))
    places = np.linspace(0.0, 1.0, 4 * size + 1)
    if size < _LEAST or step is not None:
        places = np.array([0.0, 1.0])
    if not top.size or not middle.size:
        return []
    value, sd = waves.at(top, places)
    best = int(np.argmax(value / sd))  # where one value explains most
    for end in (0, -1):  # half a wave from a bound is at it
        if abs(places[best] - places[end]) <= 0.5 / size:
            best = end
    far = reach(normal=waves.normal, among=size) * sd[best]
    before = float(waves.at(middle, places[[best]])[0][0])
    sharp = 0.85 * before <= value[best] <= 1.5 * before  # a narrow peak of a density falls
    least = (_SPIKE if size >= _LEAST else 0.8) * fit
    if not sharp or value[best] < least or value[best] - far < 0.75 * least:
        return []
    amount, detail = about(float(value[best]), float(far)), width / size
    at = bounds[0] + places[best] * width
    side = min(at - bounds[0], bounds[1] - at)
    if side == 0:
        where = "lower" if at == bounds[0] else "upper"
        words = (
            f"{amount} are at the {where} bound of {name}, {at:g}, or within {detail:.2g} of "
            "it; values beyond the bounds are moved there: are the bounds in the column's unit, "
            "or does it have a code for missing values?"
        )
        return [Finding("bound", words)]
    words = (
        f"{amount} are within {detail:.2g} of one value of {name}, near {at:.4g}: a value that "
        "many share, or bounds much wider than the data"
    )
    return [Finding("spike", words)]


@lru_cache(maxsize=64)
def _deviations(law: Law, size: int) -> Floats:
    found = law.deviations(size)
    found.setflags(write=False)
    return found
