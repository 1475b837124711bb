"""Released mean curves.  Layer 4, right of the door: never sees a record.  M9, M15, M17.

The release keeps its raw noisy coordinates and the law of their noise; smoothing acts on those,
is chosen from them, and can be chosen again by anybody.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.checks import Floats, check_choice, check_positive
from mercer.curve_smoothing import ETAS, SCALES, choose_filter
from mercer.domain import Domain
from mercer.laws import Law, Normal, OrbitopeLaw
from mercer.modes import CURVE_KERNELS, LEAST_SCALE, MOST_SCALE, Filter
from mercer.noisy_curves import CurveNoise, NoisyCurve
from mercer.polynomials import Polynomials
from mercer.release import Release
from mercer.rules_curves import cameron_martin, gain_of

__all__ = ["CHOICES", "ORDERS", "CurveAccuracy", "CurveRelease", "check_eta", "unit_scales"]

ORDERS = ("noise-first", "paper")
_DUST = 2.0**-40
CHOICES = ("auto", "rule", "given", "private-cv")


@dataclass(frozen=True)
class CurveAccuracy:
    """Error due to privacy: the distance to the same smoothing of the mean without noise."""

    integrated: float  # expected integrated squared error
    pointwise: float  # largest standard deviation at a point
    coordinates: int
    freedom: float  # sum of the filter's factors: how many coordinates are left, in effect
    smoothing: Filter
    choice: str
    width: float  # size of the domain

    def __str__(self) -> str:
        how = {
            "auto": "chosen from the noisy curve, free",
            "rule": "by a public rule",
            "given": "given",
            "private-cv": "chosen with a share of the budget",
        }[self.choice]
        f = self.smoothing
        scales = " x ".join(f"{scale:.3g}" for scale in f.scales)
        return (
            f"Noise for privacy: standard deviation at most {self.pointwise:.3g} at a point, "
            f"{(self.integrated / self.width) ** 0.5:.3g} in the root mean square. "
            f"{self.coordinates} coordinates, {self.freedom:.1f} left in effect by smoothing "
            f"({f.kernel} kernel, scale {scales} of the width, eta {f.eta:g}, penalty "
            f"{f.penalty:.2g}; {how})."
        )


@dataclass(frozen=True, eq=False, repr=False)
class CurveRelease(Release, NoisyCurve):
    """A mean curve, or surface, that anyone may evaluate, differentiate, integrate and compare."""

    polynomials: Polynomials
    frame: Floats | None  # rows: the functions whose coordinates were released; None: all
    raw: Floats  # noisy coordinates, in units of the bound (and of the map's norm, order="paper")
    law: Law
    order: str
    noise_kernel: str  # of the noise, order="paper"
    smoothing: Filter
    choice: str
    bound: float
    center: Floats
    value: str
    exact: Floats | None = None  # coefficients as a file has them: the same on every machine
    _memory: dict[Any, Any] = field(default_factory=dict, init=False)

    kind = "mean-curve"

    def __post_init__(self) -> None:
        check_choice("order", self.order, ORDERS)
        check_choice("choice", self.choice, CHOICES)
        for name in ("raw", "center", "frame", "exact"):
            value = getattr(self, name)
            if value is not None:
                fixed = np.array(value, dtype=float)
                fixed.setflags(write=False)
                object.__setattr__(self, name, fixed)
        size, many = self.polynomials.size, self._decode.shape[1]
        shapes: list[tuple[Floats | None, tuple[int, ...]]] = [
            (self.raw, (many,)), (self.center, (size,)), (self.frame, (many, size)),
            (self.exact, (size,)),
        ]  # fmt: skip
        for array, shape in shapes:
            if array is not None and (array.shape != shape or not np.all(np.isfinite(array))):
                raise ValueError(f"numbers of the curve must be finite, in shape {shape}")
        if self.polynomials.dimension != self.domain.dimension or isinstance(self.law, OrbitopeLaw):
            raise ValueError("functions, domain and noise of the curve do not fit together")
        if len(self.smoothing.scales) != self.domain.dimension or not self.bound > 0:
            raise ValueError("smoothing and bound of the curve do not fit its domain")
        if self.exact is not None:
            spread = float(np.sqrt(np.sum(self._noise().factor ** 2)))
            if np.max(np.abs(self.exact - self._computed)) > 1e-6 * spread + 1e-9 * self.bound:
                raise ValueError("coefficients do not follow from coordinates and smoothing")

    @classmethod
    def smoothed(cls, *, kernel: str, scale: object = "auto", eta: object = "auto",
                 penalty: object = "auto", **fields: Any) -> CurveRelease:  # fmt: skip
        """With what is "auto" chosen from the noisy coordinates (M17)."""
        domain: Domain = fields["domain"]
        every = [(h,) * domain.dimension for h in SCALES]
        chosen = choose_filter(
            np.asarray(fields["raw"]),
            float(fields["law"].deviations(len(fields["raw"]))[0] ** 2),
            fields["polynomials"],
            fields["frame"],
            kernel=check_choice("kernel", kernel, CURVE_KERNELS),
            scales=every if _free("scale", scale) else [unit_scales(scale, domain)],
            etas=ETAS if _free("eta", eta) else (check_eta(eta),),
            penalty=None if _free("penalty", penalty) else check_penalty(penalty),
        )
        free = any(isinstance(value, str) for value in (scale, eta, penalty))
        return cls(**fields, smoothing=chosen, choice="auto" if free else "given")

    def smooth(self, *, kernel: str | None = None, scale: object = "auto", eta: object = "auto",
               penalty: object = "auto") -> CurveRelease:  # fmt: skip
        """The same release with another smoothing, free for anyone (M17).

        `scale` is in the units of the argument.  What is left out is chosen from the noisy
        coordinates.
        """
        if self.order == "paper":
            raise ValueError(
                "order='paper' smooths before the noise, so the smoothing is fixed; "
                "order='noise-first' can be smoothed again"
            )
        fields = {
            name: getattr(self, name)
            for name in ("domain", "privacy", "polynomials", "frame", "raw", "law", "order",
                         "noise_kernel", "bound", "center", "value")
        }  # fmt: skip
        return CurveRelease.smoothed(
            **fields, kernel=kernel or self.smoothing.kernel, scale=scale, eta=eta, penalty=penalty
        )

    @property
    def coefficients(self) -> Floats:
        if self.exact is not None:
            return self.exact
        return self._computed

    @property
    def kernels(self) -> tuple[str, ...]:
        return (self.noise_kernel if self.order == "paper" else self.smoothing.kernel,)

    @property
    def noise(self) -> Law:
        """The law of the raw coordinates' noise."""
        return self.law

    @property
    def accuracy(self) -> CurveAccuracy:
        """Expected error due to privacy."""
        if "accuracy" not in self._memory:
            factor, volume = self._noise().factor, self.domain.volume
            spread = np.linalg.norm(self.polynomials.rows(self._mesh()) @ factor, axis=1)
            self._memory["accuracy"] = CurveAccuracy(
                integrated=float(np.sum(factor**2)) * volume,
                pointwise=float(spread.max()),
                coordinates=self.raw.size,
                freedom=self._freedom,
                smoothing=self.smoothing,
                choice=self.choice,
                width=volume,
            )
        return self._memory["accuracy"]

    @property
    def _decode(self) -> Floats:
        """From raw coordinates to coefficients: (coefficients, coordinates)."""
        if "decode" not in self._memory:
            if self.order == "paper":
                encode, decode = cameron_martin(self.smoothing, self.noise_kernel, self.polynomials)
                decode = decode * gain_of(encode)
            else:
                seen = self.smoothing.modes(self.polynomials).within(self.frame)
                turned = seen.vectors * self.smoothing.factors(seen.values)
                decode = turned @ seen.vectors.T
                decode = decode if self.frame is None else self.frame.T @ decode
            lengths = np.linalg.norm(decode, axis=1)
            # rounding dust in high degrees would show in derivatives
            decode = decode * (lengths > _DUST * lengths.max())[:, None]
            self._memory["decode"] = decode * self.bound
        return self._memory["decode"]

    @property
    def _freedom(self) -> float:
        found = self.smoothing.modes(self.polynomials).within(self.frame)
        return float(np.sum(self.smoothing.factors(found.values)))

    @property
    def _computed(self) -> Floats:
        if "coefficients" not in self._memory:
            self._memory["coefficients"] = self._decode @ self.raw + self.center
        return self._memory["coefficients"]

    def _noise(self) -> CurveNoise:
        if "noise" not in self._memory:
            size = len(self.raw)
            draws = self.law.draws(size, np.arange(size)) @ self._decode.T
            factor = self._decode * self.law.deviations(size)[0]
            self._memory["noise"] = CurveNoise(draws, factor, isinstance(self.law, Normal))
        return self._memory["noise"]

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": self.domain.to_dict(),
            "value": self.value,
            "bound": self.bound,
            "functions": self.polynomials.to_dict(),
            "frame": None if self.frame is None else self.frame.tolist(),
            "coordinates": self.raw.tolist(),
            "noise": self.law.to_dict(),
            "order": self.order,
            "noise_kernel": self.noise_kernel,
            "filter": self.smoothing.to_dict() | {"choice": self.choice},
            "center": self.center.tolist(),
            "coefficients": self.coefficients.tolist(),
            "privacy": self.privacy.to_dict(),
        }

    def __repr__(self) -> str:
        return f"<CurveRelease of {self.value} over {self.domain.describe()}: {self.privacy.short}>"


def _free(name: str, value: object) -> bool:
    return isinstance(value, str) and check_choice(name, value, ("auto",)) == "auto"


def check_eta(eta: object) -> float:
    """At least one: below, the estimate may leave the noise's space."""
    number = check_positive("eta", eta, "1 or more; 'auto' chooses it from the noisy curve")
    if not 1 <= number <= 16:
        raise ValueError(
            f"eta must be in [1, 16], got {number:g}: below 1 the penalty no longer keeps the "
            "estimate in the Cameron-Martin space of the noise (Mirshani et al., Theorem 3.1)"
        )
    return number


def check_penalty(penalty: object) -> float:
    """Above zero: the raw mean is not compatible with the noise."""
    if isinstance(penalty, (int, float)) and not isinstance(penalty, bool) and penalty == 0:
        raise ValueError(
            "penalty must be above 0, got 0: the raw mean need not lie in the Cameron-Martin space "
            "of the noise, and then no amount of noise makes it private (Mirshani et al., Theorem "
            "3.1); give a small penalty, or leave it out"
        )
    number = check_positive("penalty", penalty, "or 'auto'")
    if number >= 1e12:
        raise ValueError(f"penalty must be below 1e12, got {number:g}; eigenvalues are below 1")
    return number


def unit_scales(scale: object, domain: Domain) -> tuple[float, ...]:
    """The kernel's length in each argument, as shares of the widths."""
    try:
        given = np.asarray(scale, dtype=float)
    except (TypeError, ValueError):
        given = np.empty((0, 0))
    d = domain.dimension
    if given.shape not in ((), (d,)) or not (np.all(np.isfinite(given)) and np.all(given > 0)):
        raise ValueError(
            f"scale must be a number above 0 or one for each of the {d} argument(s), in the units "
            "of the argument, or 'auto'"
        )
    with np.errstate(over="ignore", under="ignore"):
        shares = np.broadcast_to(given, (d,)) / domain.widths
    if np.any(shares < LEAST_SCALE) or np.any(shares > MOST_SCALE):
        raise ValueError(
            f"scale must be between {LEAST_SCALE:g} and {MOST_SCALE:g} times the width of the "
            f"bounds, got {', '.join(f'{s:.3g}' for s in shares)} times"
        )
    return tuple(float(s) for s in shares)
