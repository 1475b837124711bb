"""A released density: evaluate, integrate, sample, smooth again.  Right of the door."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.columns.domain import Box
from mercer.common import streams
from mercer.common.checks import Floats, check_choice, check_count
from mercer.common.files import Fields, numbers
from mercer.noise.laws import BinnedLaplace, Law, OrbitopeLaw, law_from_dict
from mercer.promise.statement import Statement
from mercer.releases.cdf import Distributed
from mercer.releases.density.cdf import BasisCdf
from mercer.releases.density.smoothing import (
    BasisAccuracy,
    BasisField,
    choose_bandwidth,
    density_level,
    released_mass,
    unit_covariance,
    without_constant,
)
from mercer.releases.function import Band, FunctionRelease, Orders
from mercer.spaces.bases import Basis, Moments, SpectralBasis, basis_from_dict
from mercer.spaces.bases.base import covariance_of

__all__ = ["CHOICES", "DensityRelease"]

CHOICES = ("auto", "rule", "given", "private-scott", "private-cv")

_SIDES = {1: (512, 16384), 2: (128, 512), 3: (32, 96)}  # cells along each coordinate


@dataclass(frozen=True, eq=False, repr=False)
class DensityRelease(FunctionRelease, Distributed):
    """A private density on a box.  `release(x)` is non-negative with integral one.

    Shares, quantiles, means and draws of one column are those of its distribution function, which
    is made of the coordinates before they are smoothed: `law`.
    """

    basis: Basis
    covariance: tuple[tuple[float, ...], ...]  # of the smoothing, in unit coordinates
    choice: str  # how the bandwidth was chosen: one of CHOICES
    boundary: str
    smoother: str = "gaussian"  # or "quartic": a kernel of order four, for moments

    kind = "density"
    routes = ("coordinates", "markov")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("choice", self.choice, CHOICES)
        check_choice("boundary", self.boundary, ("reflect", "periodic", "open"))
        self._check_smoothing()

    @classmethod
    def smoothed(cls, **fields: Any) -> DensityRelease:
        """A release whose bandwidth is chosen from its own noisy coordinates (M17)."""
        basis, noise, privacy = fields["basis"], fields["noise"], fields["privacy"]
        lengths, smoother = choose_bandwidth(
            basis, fields["coordinates"], sd=noise.deviations(basis.size), n=privacy.n
        )
        covariance = covariance_of(np.diag(np.square(lengths)))
        return cls(**fields, covariance=covariance, choice="auto", smoother=smoother)

    def __call__(self, x: object, *, raw: bool = False) -> Floats:
        """The density at points of the domain.

        By default projected to a density: non-negative and of integral one, which can only bring
        it nearer (in mean square) to any density.  `raw=True` is the function as released.
        """
        value = self.raw(x)
        return value if raw else np.maximum(value - self._level, 0.0)

    def raw(self, x: object, *, order: int | Orders = 0) -> Floats:
        """The released function itself, before any repair, or a derivative of it."""
        return self._values(x, self._orders(order))

    def derivative(self, x: object, order: int | Orders = 1) -> Floats:
        """A derivative of the density (zero where the projection is zero).

        In several columns `order` has one number for each: (1, 0) is the slope in the first.
        """
        value = self.raw(x, order=order)
        return np.where(self.raw(x) > self._level, value, 0.0)

    def integral(self, lower: Any, upper: Any, *, raw: bool = False) -> float:
        """Probability of the box from `lower` to `upper`; of one column, `share` has its interval.

        `raw=True`: of the function as it is smoothed, before any repair.
        """
        if self.domain.dimension == 1 and not raw:
            return self.law.between(*self._range(lower, upper))
        ends = self.domain.points(np.stack(np.broadcast_arrays(lower, upper)))
        unit = self.domain.to_unit(ends)
        if ends.shape[0] != 2 or np.any(unit[0] > unit[1]):
            raise ValueError("lower must not be above upper, in any column; exchange them")
        value = self._cells if raw else np.maximum(self._cells - self._unit_level, 0.0)
        for side, (a, b) in zip(self._sides, unit.T, strict=True):
            edges = np.arange(side + 1) / side
            share = np.clip(np.minimum(edges[1:], b) - np.maximum(edges[:-1], a), 0.0, None)
            value = np.tensordot(share, value, axes=(0, 0))
        return float(value)

    def sample(
        self, size: int, *, rng: int | np.random.Generator | None = None, independent: bool = False
    ) -> Floats:
        """Synthetic records drawn from the density: free, and as private as the release.

        Of one column they are spread evenly over its law, in random order, so that any share of
        them is the law's to one in `size`; `independent=True` draws each by itself, which adds
        an error of its own.  Of several columns they are independent.
        """
        if self.domain.dimension == 1:
            return self.law.draws(size, rng, independent=independent)
        size = check_count("size", size, least=0, most=10**9, hint="how many records to draw")
        generator = streams.fresh(rng)
        weights = np.maximum(self._cells - self._unit_level, 0.0).reshape(-1)
        edges = np.cumsum(weights)
        place = np.searchsorted(edges, generator.random(size) * edges[-1], side="right")
        cells = np.stack(np.unravel_index(np.minimum(place, weights.size - 1), self._sides), -1)
        unit = (cells + generator.random((size, self.domain.dimension))) / np.array(self._sides)
        return self.domain.from_unit(unit)

    def grid(self, *ticks: object, raw: bool = False) -> Floats:
        """Values on a tensor grid, one array of points for each column: fast for maps."""
        if len(ticks) != self.domain.dimension:
            raise ValueError(
                f"grid needs one array of points for each of the {self.domain.dimension} columns"
            )
        unit = []
        for name, pair, tick in zip(self.domain.names, self.domain.bounds, ticks, strict=True):
            axis = Box((name,), (pair,), tuple(d for d in self.domain.dates if d == name))
            unit.append(axis.to_unit(axis.points(tick))[:, 0])
        value = self.basis.on_grid(unit, self._filtered) * self.scale
        return value if raw else np.maximum(value - self._level, 0.0)

    def cell_values(self) -> Floats:
        """The density at the middles of equal cells of the domain: what `integral` adds up."""
        return np.maximum(self._cells - self._unit_level, 0.0) / self.domain.volume

    def smooth(self, bandwidth: object = "auto") -> DensityRelease:
        """The same release with another smoothing, free for anyone (M17).

        `bandwidth` is in the units of the data: a number, one for each column, a matrix (the
        squared bandwidth H), or "auto".  It cannot be below `finest_bandwidth`.
        """
        if not isinstance(self.basis, SpectralBasis):
            raise ValueError(
                f"bandwidth is fixed in a release on the basis {self.basis.name!r}; releases with "
                "kernel='gaussian' on cosine or Fourier coordinates can be smoothed afterwards"
            )
        fields = self._but("covariance", "choice", "smoother")
        if isinstance(bandwidth, str):
            check_choice("bandwidth", bandwidth, ("auto",))
            return DensityRelease.smoothed(**fields)
        covariance = unit_covariance(bandwidth, self.domain)
        return DensityRelease(**fields, covariance=covariance, choice="given")

    def _check_smoothing(self) -> None:
        """Smoothing only adds to the basis' own, and keeps its boundary."""
        covariance = np.array(self.covariance)
        if not isinstance(self.basis, SpectralBasis):
            return
        check_choice("smoother", self.smoother, self.basis.smoothers)
        if (self.boundary == "reflect") != self.basis.reflects:
            raise ValueError(f"boundary {self.boundary!r} does not fit basis {self.basis.name!r}")
        if covariance.shape != self.basis.own.shape:
            raise ValueError("smoothing and basis differ in dimension")
        extra = covariance - self.basis.own
        if np.linalg.eigvalsh(extra)[0] < -1e-12 * np.trace(covariance):
            finest = ", ".join(f"{h:.4g}" for h in self.finest_bandwidth)
            raise ValueError(
                f"bandwidth must be at least the release's own, {finest}: the noise hides anything "
                "finer, and only more smoothing is free"
            )
        if self.boundary == "reflect" and not _is_diagonal(self.covariance):
            raise ValueError(
                "bandwidth must be a number or one number a column with boundary='reflect': a "
                "slanted kernel does not reflect at a wall"
            )
        wider = np.maximum(self.basis.widest * (1 + 1e-9), self.basis.lengths)
        if np.any(np.sqrt(np.diag(covariance)) > wider):
            widest = ", ".join(f"{h:.4g}" for h in self.basis.widest * self.domain.widths)
            raise ValueError(f"bandwidth must be at most {widest} for this release")

    @property
    def law(self) -> BasisCdf:
        """The distribution function of the one column: shares, quantiles, means, and their noise."""
        if self.domain.dimension > 1:
            raise ValueError(
                f"this is about one column, and the release is of {self.domain.dimension}; ask "
                "release.integral(lower, upper) for the probability of a box"
            )
        if "law" not in self._memory:
            given = self.domain, self.basis, self._plain(), released_mass(*self.constant), self.noise
            self._memory["law"] = BasisCdf(*given, n=self.privacy.n * self.share_of_values)
        return self._memory["law"]

    def _codes(self, x: object) -> tuple[Floats, tuple[int, ...]]:
        return self.domain.points(x)[:, 0], self.domain.shape(x)

    @property
    def share_of_values(self) -> float:
        """Estimated share of records that hold values, one unless the noise cannot explain it."""
        value, sd = self.constant
        return 1.0 if value >= 1 - 3 * sd else max(value, 0.0)

    @property
    def bandwidth(self) -> Floats:
        """Standard deviation of the smoothing in each column, in the units of the data."""
        return np.sqrt(np.diag(np.array(self.covariance))) * self.domain.widths

    @property
    def finest_bandwidth(self) -> Floats:
        """The bandwidth at which the noise was added; `smooth` can go up from here."""
        return self.basis.lengths * self.domain.widths

    def band(self, x: object, level: float = 0.95, *, simultaneous: bool = True, raw: bool = False) -> Band:
        """Lower and upper ends of an error band for the noise, at points of the domain.

        It covers the same estimate without noise: with `simultaneous=True` (default) at all points
        of the domain at once with probability `level`, otherwise at each single point.  It belongs
        to the density as `release(x)` gives it, projected by the same shift and never below zero;
        `raw=True` to the function as released.  Sampling error is not in it.
        """
        band = self._band(x, level, simultaneous=simultaneous)
        if raw:
            return band
        lower, upper = (np.maximum(end - self._level, 0.0) for end in (band.lower, band.upper))
        return Band(lower, upper, level)

    @property
    def size(self) -> int:
        return self.basis.size

    @cached_property
    def accuracy(self) -> BasisAccuracy:
        """Expected error due to privacy."""
        return self._field().accuracy(volume=self.domain.volume, tail=self._tail)

    @property
    def filter(self) -> Floats:
        """Factor of every coordinate: the smoothing applied after the noise."""
        if not isinstance(self.basis, SpectralBasis):
            return np.ones(self.basis.size)
        return self.basis.filter(self.covariance, self.smoother)

    @cached_property
    def scale(self) -> float:
        """One over the volume of the domain and the mass of the released function (M18)."""
        return 1 / (self.domain.volume * released_mass(*self.constant))

    @cached_property
    def constant(self) -> tuple[float, float]:
        """The noisy share of records that hold values, and the standard deviation of its noise."""
        if isinstance(self.basis, SpectralBasis):
            norm = self.basis.amplitude[0]  # the constant function's coordinate is norm * mass
            plain = self.basis.unmix(self.coordinates)[0]
            sd = self.noise.deviations(self.basis.size)[0] * math.sqrt(self.basis.spread[0])
            return float(plain / norm), float(sd / norm)
        most = {1: 1 << 14, 2: 256, 3: 40}[self.domain.dimension]
        side = min(max(64, math.ceil(8 / self._finest)), most)
        ticks = [(np.arange(side) + 0.5) / side] * self.domain.dimension
        # less than one too where the estimate leaks out
        total = float(np.mean(self.basis.on_grid(ticks, self._filtered)))
        sd = self.noise.deviations(self.basis.size)[0] * self.basis.mean_deviation()
        return total, float(sd)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": self.domain.to_dict(),
            "boundary": self.boundary,
            "basis": self.basis.to_dict(),
            "coordinates": self.coordinates.tolist(),
            "noise": self.noise.to_dict(),
            "smoothing": {
                "choice": self.choice,
                "kernel": self.smoother,
                "covariance": [list(row) for row in self.covariance],
            },
            "privacy": self.privacy.to_dict(),
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        domain = Box.from_fields(top.part("domain"))
        basis = basis_from_dict(top.get("basis", dict))
        if basis.dimension != domain.dimension:
            raise ValueError("basis and domain differ in dimension")
        smoothing = top.part("smoothing")
        coordinates = top.get("coordinates", list)
        if len(coordinates) != basis.size:
            raise ValueError(f"coordinates have length {len(coordinates)}, the basis has {basis.size}")
        covariance = covariance_of(smoothing.get("covariance", list))
        if len(covariance) != domain.dimension:
            raise ValueError("smoothing and domain differ in dimension")
        law = law_from_dict(top.get("noise", dict))
        if law.moments and not (isinstance(basis, Moments) and _fits(law, basis)):
            raise ValueError(f"the noise law {law.name!r} does not fit the basis {basis.name!r}")
        return cls(
            domain=domain,
            basis=basis,
            coordinates=np.array(numbers(coordinates, "a coordinate")),
            noise=law,
            privacy=Statement.from_fields(top.part("privacy")),
            covariance=covariance,
            choice=smoothing.get("choice", str),
            smoother=smoothing.get("kernel", str) if smoothing.has("kernel") else "gaussian",
            boundary=top.get("boundary", str),
        )

    def _at(self, unit: Floats, orders: Orders) -> Floats:
        value = self.basis.evaluate(unit, self._filtered, orders) if any(orders) else self._function(unit)
        return value * (self.scale / self._chain(orders))

    def _field(self, orders: Orders = ()) -> BasisField:
        if ("field", orders) not in self._memory:
            scale = self.scale / self._chain(orders) if any(orders) else self.scale
            noisy = without_constant(self.basis, self.filter)
            self._memory["field", orders] = BasisField(
                self.basis, self.noise, noisy, scale, self._finest, orders
            )
        return self._memory["field", orders]

    @cached_property
    def _filtered(self) -> Floats:
        """Plain coordinates after smoothing; the constant is one, and its noise is dropped."""
        return self._plain() * self.filter

    def _plain(self) -> Floats:
        """Plain coordinates before smoothing."""
        value = np.array(self.basis.unmix(self.coordinates))
        if isinstance(self.basis, SpectralBasis):
            value[0] = self.basis.amplitude[0] * released_mass(*self.constant)
        return value

    @cached_property
    def _function(self) -> Callable[[Floats], Floats]:
        return self.basis.function(self._filtered)

    @property
    def _tail(self) -> float:
        """Integrated squared error of leaving out the functions beyond the basis, at most."""
        if isinstance(self.basis, SpectralBasis):
            return self.basis.tail(self.covariance, self.smoother)
        return self.basis.deficit

    @property
    def _finest(self) -> float:
        return float(np.sqrt(np.min(np.diag(np.array(self.covariance)))))

    @property
    def _sides(self) -> tuple[int, ...]:
        least, most = _SIDES[self.domain.dimension]
        return tuple(
            min(most, max(least, 1 << math.ceil(math.log2(8 / h))))
            for h in np.sqrt(np.diag(np.array(self.covariance)))
        )

    @cached_property
    def _cells(self) -> Floats:
        """Raw values per unit of the unit cube at the middles of equal cells."""
        ticks = [(np.arange(side) + 0.5) / side for side in self._sides]
        return self.basis.on_grid(ticks, self._filtered) * (self.scale * self.domain.volume)

    @cached_property
    def _unit_level(self) -> float:
        """What is subtracted from them before negative values become zero."""
        return density_level(self._cells)

    @property
    def _level(self) -> float:
        return self._unit_level / self.domain.volume


def _fits(law: Law, basis: Moments) -> bool:
    """Whether noise of moments is that of these moments."""
    if isinstance(law, BinnedLaplace):
        return basis.real and basis.size <= law.cells
    return isinstance(law, OrbitopeLaw) and basis.real == law.real


def _is_diagonal(covariance: tuple[tuple[float, ...], ...]) -> bool:
    matrix = np.array(covariance)
    return bool(np.all(matrix == np.diag(np.diag(matrix))))
