"""Released mean curves.  Right of the door: never sees a record.  M9, M15, M17, M22.

The release keeps its raw noisy coordinates and the law of their noise; smoothing acts on those,
is chosen from them, and can be chosen again by anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Floats, check_choice
from mercer.common.files import Fields, numbers
from mercer.noise.laws import Law, Normal, law_from_dict
from mercer.promise.statement import Statement
from mercer.releases.base import freeze
from mercer.releases.curve.accuracy import CHOICES, CurveAccuracy
from mercer.releases.curve.average import RUNS, Average, Averaged
from mercer.releases.curve.noisy import CurveNoise, NoisyCurve
from mercer.releases.curve.sampling import PopulationCurve, Sampling
from mercer.releases.curve.smoothing import (
    ETAS,
    SCALES,
    Again,
    Candidates,
    Mesh,
    check_eta,
    check_penalty,
    choose_again,
    choose_filter,
    spread,
    suprema,
    unit_scales,
)
from mercer.releases.function import FunctionRelease, Orders, order_statistic
from mercer.spaces.bases.base import matrix_of
from mercer.spaces.modes import CURVE_KERNELS, DUST, SpectralFilter, cameron_martin, gain_of
from mercer.spaces.polynomials import Polynomials

__all__ = ["CHOICES", "ORDERS", "CurveAccuracy", "CurveRelease", "check_eta", "check_penalty", "unit_scales"]

ORDERS = ("noise-first", "paper")
_AGAIN = 1000  # draws for which the choice of the smoothing is made again


@dataclass(frozen=True, eq=False, repr=False)
class CurveRelease(FunctionRelease, NoisyCurve):
    """A mean curve, or surface, that anyone may evaluate, differentiate, integrate and compare.

    Its noisy coordinates are in units of the bound (and of the map's norm, order="paper").
    """

    polynomials: Polynomials
    frame: Floats | None  # rows: the functions whose coordinates were released; None: all
    order: str
    noise_kernel: str  # of the noise, order="paper"
    smoothing: SpectralFilter | Average
    choice: str
    bound: float
    center: Floats
    value: str
    exact: Floats | None = None  # coefficients as a file has them: the same on every machine
    sampling: Sampling | None = None  # for bands about the population's mean, where they were paid for

    kind = "mean-curve"

    def __post_init__(self) -> None:
        check_choice("order", self.order, ORDERS)
        check_choice("choice", self.choice, tuple(CHOICES))
        check_choice("noise_kernel", self.noise_kernel, CURVE_KERNELS)
        freeze(self, "coordinates", "center", "frame", "exact")
        size, given = self.polynomials.size, self.coordinates.shape
        framed = self.frame is not None and self.frame.shape != (*given, size)
        if framed or len(given) != 1 or not 1 <= given[0] <= size:  # before any work with them
            raise ValueError(f"numbers of the curve must fit {size} functions, got shape {given}")
        super().__post_init__()
        shapes: list[tuple[Floats | None, tuple[int, ...]]] = [
            (self.center, (size,)),
            (self.frame, (self.size, size)),
            (self.exact, (size,)),
        ]
        for array, shape in shapes:
            if array is not None and (array.shape != shape or not np.all(np.isfinite(array))):
                raise ValueError(f"numbers of the curve must be finite, in shape {shape}")
        if self.polynomials.dimension != self.domain.dimension or self.noise.moments:
            raise ValueError("functions, domain and noise of the curve do not fit together")
        if isinstance(self.smoothing, Average):
            fits = self.domain.dimension == 1 and self.order == "noise-first" and self.choice == "auto"
        else:
            fits = len(self.smoothing.scales) == self.domain.dimension
        if self.sampling is not None:
            first = self.domain.dimension == 1 and self.order == "noise-first"
            fits = fits and first and self.sampling.directions <= size
        if not fits or not self.bound > 0:
            raise ValueError("smoothing and bound of the curve do not fit its domain")
        if self.exact is not None:
            spread = float(np.sqrt(np.sum(self._noise().factor ** 2)))
            if np.max(np.abs(self.exact - self._computed)) > 1e-6 * spread + 1e-9 * self.bound:
                raise ValueError("coefficients do not follow from coordinates and smoothing")

    @classmethod
    def smoothed(
        cls,
        *,
        kernel: str = "auto",
        scale: object = "auto",
        eta: object = "auto",
        penalty: object = "auto",
        **fields: Any,
    ) -> CurveRelease:
        """With what is "auto" chosen from the noisy coordinates (M17).

        A curve for which all is "auto" has an average of filters (M22).
        """
        domain: Box = fields["domain"]
        if domain.dimension == 1 and all(
            isinstance(value, str) and value == "auto" for value in (kernel, scale, eta, penalty)
        ):
            return cls(**fields, smoothing=Average(), choice="auto")
        every = [(h,) * domain.dimension for h in SCALES]
        chosen = choose_filter(
            np.asarray(fields["coordinates"]),
            float(fields["noise"].deviations(len(fields["coordinates"]))[0] ** 2),
            fields["polynomials"],
            fields["frame"],
            kernel=check_choice("kernel", "gaussian" if kernel == "auto" else kernel, CURVE_KERNELS),
            scales=every if _free("scale", scale) else [unit_scales(scale, domain)],
            etas=ETAS if _free("eta", eta) else (check_eta(eta),),
            penalty=None if _free("penalty", penalty) else check_penalty(penalty),
        )
        free = any(isinstance(value, str) for value in (scale, eta, penalty))
        return cls(**fields, smoothing=chosen, choice="auto" if free else "given")

    def smooth(
        self,
        *,
        kernel: str | None = None,
        scale: object = "auto",
        eta: object = "auto",
        penalty: object = "auto",
    ) -> CurveRelease:
        """The same release with another smoothing, free for anyone (M17).

        `scale` is in the units of the argument.  Without arguments it is the default, for curves an
        average of filters; otherwise what is left out is chosen from the noisy coordinates.
        """
        if self.order == "paper":
            raise ValueError(
                "order='paper' smooths before the noise, so the smoothing is fixed; "
                "order='noise-first' can be smoothed again"
            )
        some = [value for value in (scale, eta, penalty) if not isinstance(value, str) or value != "auto"]
        if kernel is None and (some or self.domain.dimension > 1):
            kernel = "auto" if isinstance(self.smoothing, Average) else self.smoothing.kernel
        return CurveRelease.smoothed(
            **self._but("smoothing", "choice", "exact"),
            kernel=kernel or "auto",
            scale=scale,
            eta=eta,
            penalty=penalty,
        )

    @property
    def size(self) -> int:
        if isinstance(self.smoothing, Average):
            return self.polynomials.size if self.frame is None else len(self.frame)
        return self._decode.shape[1]

    @property
    def raw(self) -> Floats:
        """Another name for the coordinates."""
        return self.coordinates

    @property
    def law(self) -> Law:
        """Another name for the law of their noise."""
        return self.noise

    @property
    def coefficients(self) -> Floats:
        if self.exact is not None:
            return self.exact
        return self._computed

    @property
    def kernels(self) -> tuple[str, ...]:
        if isinstance(self.smoothing, Average):
            return self.smoothing.kernels
        return (self.noise_kernel if self.order == "paper" else self.smoothing.kernel,)

    @property
    def origin(self) -> bytes:
        return self.coordinates.tobytes() + (b"average" if isinstance(self.smoothing, Average) else b"")

    @property
    def about(self) -> str:
        return "for the file's own mean, clipped" if isinstance(self.smoothing, Average) else super().about

    @property
    def grade(self) -> str:
        average = isinstance(self.smoothing, Average)
        return "credible: coverage measured, not a theorem" if average else super().grade

    def _of_population(self) -> NoisyCurve:
        if self.sampling is None:
            raise ValueError(
                "of='population' needs to know how the curves vary, and this release paid nothing for that; "
                "make it with population=0.05, a share of the budget, or take of='data', the file's own "
                "mean, clipped"
            )
        if not isinstance(self.smoothing, Average):
            raise ValueError(
                "of='population' is for the default smoothing, whose errors hold what smoothing takes away; "
                "take release.smooth(), which is free"
            )
        return PopulationCurve(self, self.sampling, self._average_again, self.bound)

    @cached_property
    def accuracy(self) -> CurveAccuracy:
        """Expected error due to privacy."""
        factor, volume = self._noise().factor, self.domain.volume
        mesh = Mesh(self.polynomials, (0,) * self.domain.dimension, 4)
        return CurveAccuracy(
            integrated=float(np.sum(factor**2)) * volume,
            pointwise=float(spread(factor, mesh).max()),
            coordinates=self.size,
            freedom=self._freedom,
            smoothing=self.smoothing,
            choice=self.choice,
            width=volume,
        )

    @property
    def _filter(self) -> SpectralFilter:
        """The one filter, of every smoothing but the average."""
        assert isinstance(self.smoothing, SpectralFilter)
        return self.smoothing

    @cached_property
    def _decode(self) -> Floats:
        """From raw coordinates to coefficients: (coefficients, coordinates)."""
        if self.order == "paper":
            encode, decode = cameron_martin(self._filter, self.noise_kernel, self.polynomials)
            decode = decode * gain_of(encode)
        else:
            seen = self._filter.seen(self.polynomials, self.frame)
            turned = seen.vectors * self._filter.factors(seen.values)
            decode = turned @ seen.vectors.T
            decode = decode if self.frame is None else self.frame.T @ decode
        lengths = np.linalg.norm(decode, axis=1)
        # rounding dust in high degrees would show in derivatives
        decode = decode * (lengths > DUST * lengths.max())[:, None]
        return decode * self.bound

    @property
    def _averaged(self) -> Averaged:
        """The average of filters for these coordinates, of that smoothing only: large, and made quickly."""
        assert isinstance(self.smoothing, Average)
        variance = float(self.noise.deviations(self.size)[0] ** 2)
        return self.smoothing.of(self.coordinates, variance, self.polynomials, self.frame)

    def _average_again(self) -> Averaged:
        """The same, for whoever keeps no more than this release."""
        return self._averaged

    @property
    def _freedom(self) -> float:
        if isinstance(self.smoothing, Average):
            return self._averaged.freedom
        found = self._filter.seen(self.polynomials, self.frame)
        return float(np.sum(self._filter.factors(found.values)))

    @cached_property
    def _computed(self) -> Floats:
        """Coefficients as this machine computes them, to the last bits."""
        if isinstance(self.smoothing, Average):
            return self._averaged.mean[0] * self.bound + self.center
        return self._decode @ self.coordinates + self.center

    def _noise(self, orders: Orders = ()) -> CurveNoise:
        average = isinstance(self.smoothing, Average)
        slopes = average and any(orders)
        if ("noise", slopes) not in self._memory:
            if average:
                averaged = self._averaged
                draws = (averaged.mean - averaged.draws(slopes=slopes)) * self.bound
                factor, normal = draws.T / len(draws) ** 0.5, False
            else:
                draws = self._draws() @ self._decode.T
                factor = self._decode * self.noise.deviations(self.size)[0]
                normal = isinstance(self.noise, Normal)
            self._memory["noise", slopes] = CurveNoise(draws, factor, normal)
        return self._memory["noise", slopes]

    @property
    def _selected(self) -> bool:
        """Whether the smoothing was chosen from the noisy coordinates."""
        average = isinstance(self.smoothing, Average)
        return self.choice == "auto" and self.order == "noise-first" and not average

    def _again(self, runs: int = 0) -> Again:
        """Public draws around this curve, with the choice made again for each (M17)."""
        size = self.size
        runs = max(runs, _AGAIN if size <= 512 else _AGAIN // 2)
        if ("again", runs) not in self._memory:
            seen = self._filter.seen(self.polynomials, self.frame)
            kept = self._filter.factors(seen.values)
            centre = seen.vectors @ (kept * (seen.vectors.T @ self.coordinates))
            every = Candidates.like(self._filter, self.polynomials, self.frame)
            noise = self._draws()[:runs]
            deviation = float(self.noise.deviations(size)[0])
            self._memory["again", runs] = choose_again(every, centre, noise, deviation)
        return self._memory["again", runs]

    def _errors(self, runs: int) -> Floats:
        if isinstance(self.smoothing, Average) and runs > RUNS:
            averaged = self._averaged
            return (averaged.mean - averaged.draws(runs)) * self.bound
        if not self._selected:
            return super()._errors(runs)
        return self._again(runs).errors()[:runs] * self.bound

    def _selection(self, level: float, orders: Orders, unit: Floats | None = None) -> Floats:
        """The quantile with the choice made again over the one without, of the same draws."""
        if isinstance(self.smoothing, Average):
            return np.asarray(self._averaged.stretch(orders))
        if not self._selected:
            return super()._selection(level, orders, unit)
        noise, again = self._noise(), self._again()
        if unit is not None:
            return again.wider(self._rows(unit, orders), noise.draws, noise.factor, level)
        if ("selection", orders) not in self._memory:  # for a ratio, the mesh may be coarse
            mesh = Mesh(self.polynomials, orders, 3, {1: 512, 2: 32}[self.domain.dimension])
            fixed = suprema(noise.draws[: again.runs], noise.factor, mesh)
            self._memory["selection", orders] = again.suprema(mesh), fixed
        chosen, fixed = (order_statistic(s, level) for s in self._memory["selection", orders])
        return np.maximum(chosen / np.maximum(fixed, 1e-300), 1.0)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": self.domain.to_dict(),
            "value": self.value,
            "bound": self.bound,
            "functions": self.polynomials.to_dict(),
            "frame": None if self.frame is None else self.frame.tolist(),
            "coordinates": self.coordinates.tolist(),
            "noise": self.noise.to_dict(),
            "order": self.order,
            "noise_kernel": self.noise_kernel,
            "filter": self.smoothing.to_dict() | {"choice": self.choice},
            "center": self.center.tolist(),
            "coefficients": self.coefficients.tolist(),
            "privacy": self.privacy.to_dict(),
            **({} if self.sampling is None else {"sampling": self.sampling.to_dict()}),
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        smoothing = top.part("filter")
        frame = top.optional("frame", list)
        raw, center, exact = (
            np.array(numbers(top.get(name, list), name)) for name in ("coordinates", "center", "coefficients")
        )
        made: SpectralFilter | Average
        if smoothing.has("average"):
            made = Average(smoothing.get("average", str))
        else:
            made = SpectralFilter.from_dict(top.get("filter", dict))
        return cls(
            domain=Box.from_fields(top.part("domain"), most=2),
            privacy=Statement.from_fields(top.part("privacy")),
            polynomials=Polynomials.from_dict(top.get("functions", dict)),
            frame=None if frame is None else matrix_of(frame, "frame"),
            coordinates=raw,
            noise=law_from_dict(top.get("noise", dict)),
            order=top.get("order", str),
            noise_kernel=top.get("noise_kernel", str),
            smoothing=made,
            choice=smoothing.get("choice", str),
            bound=top.positive("bound"),
            center=center,
            value=top.get("value", str),
            exact=exact,
            sampling=Sampling.from_fields(top.part("sampling")) if top.has("sampling") else None,
        )

    def __repr__(self) -> str:
        return f"<CurveRelease of {self.value} over {self.domain.describe()}: {self.privacy.short}>"


def _free(name: str, value: object) -> bool:
    return isinstance(value, str) and check_choice(name, value, ("auto",)) == "auto"
