"""The public choices of a kernel machine, checked before any record is read."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.api.recipes.moments import check_features, check_moments
from mercer.columns.domain import Box
from mercer.common.checks import Floats, PrivacyWarning, check_choice, check_count, check_positive
from mercer.door.objective import FINISH, tilted_bounds, tilted_noise
from mercer.noise.mechanisms import L2, Gaussian, Mechanism
from mercer.noise.mechanisms.base import Promise
from mercer.releases.machine.release import METHODS
from mercer.rules.machines import band_rule, bandwidth_rule, cells_rule, feature_rule, machine_penalty
from mercer.sensitive.summaries.machine import FINE, MachineBounds, MachineSummary
from mercer.sensitive.summaries.risk import Machine
from mercer.spaces.kernels import KERNELS
from mercer.spaces.losses import Loss
from mercer.spaces.maps import FeatureMap, LandmarkMap, Linear, RandomFeatures, Taylor, TensorMap
from mercer.spaces.meshes import MOST_MESH

__all__ = ["FEATURES", "MachineRecipe"]

FEATURES = ("eigenfunctions", "landmarks", "random", "taylor")
_MOST_WEIGHTS = 1 << 15
_TRACE = 0.3  # of the slope's noise, at most, for what the solver leaves
_BANDED = 1024  # features, at most, of a machine with a band by default
_BOUND = ", by a bound which is many times too large where the records determine the function"
_USUAL = 128  # features of a kind that the rule would not choose
_FEW = 500  # records times epsilon
_QUIETER = 0.75  # of the noise that a delta allows: pure noise below it is taken


@dataclass(frozen=True)
class MachineRecipe:
    """Public choices of one or more machines that share features and penalty."""

    functions: tuple[tuple[Loss, int | None], ...]  # each with the class that counts as 1
    kernel: str
    bandwidth: object
    features: str | None
    size: int | None
    points: object
    constant: float | None
    method: str
    penalty: float | tuple[float, ...] | None  # None: by the rule; several: one is chosen
    band: float | None  # share of epsilon for the error band; None: by the rule
    pure: bool
    free: bool = False  # the public rule may take moments instead, once the columns are known

    @classmethod
    def of(
        cls,
        functions: Sequence[tuple[Loss, int | None]],
        kernel: object,
        bandwidth: object,
        features: object,
        size: object,
        points: object,
        constant: object,
        method: object,
        penalty: object,
        band: object = None,
        *,
        pure: bool,
        unit: object,
        squared: bool = False,
    ) -> MachineRecipe:
        """`squared`: whether what is learnt is a regression with squared loss."""
        shape = check_choice("kernel", kernel, (*KERNELS, "linear"))
        if features is not None:
            features = check_choice("features", features, FEATURES)
            if shape == "linear":
                raise ValueError("features have no meaning with kernel='linear'; leave them out")
            if features == "taylor" and shape != "gaussian":
                raise ValueError(f"features='taylor' needs kernel='gaussian', got {shape!r}")
        if points is not None and features not in (None, "landmarks"):
            raise ValueError(f"points are for features='landmarks', got features={features!r}")
        if points is not None:
            features = "landmarks"
        if size is not None:
            size = check_count("size", size, least=1, most=4096, hint="number of features")
        weight = _weight(constant)
        penalties, share = _penalty(penalty), _share_of("band", band)
        free = method is None and squared and not pure and not isinstance(penalties, tuple)
        if method is None:
            method = "objective" if unit is None else "moments" if free else "output"
        chosen = check_choice("method", method, METHODS)
        if chosen == "objective" and unit is not None:
            raise ValueError("method='objective' is for one row a person; use method='output' with unit")
        if chosen == "moments":
            check_moments(penalties, share, squared=squared, pure=pure)
        found = (shape, bandwidth, features, size, points, weight, chosen, penalties)
        return cls(tuple(functions), *found, share, pure, free and chosen == "objective")

    def settled(self, domain: Box) -> MachineRecipe:
        """With moments instead of noise in the objective where the public rule has them (M21).

        Least squares with a delta has less noise by moments, however many records there are.  A share of
        epsilon for a band is noise in the objective's own, up to three columns; in more a band is what
        moments are for.
        """
        if not self.free or (self.band and domain.dimension <= MOST_MESH):
            return self
        return replace(self, method="moments", band=None)

    def quieter(self, domain: Box, *, n: int, promise: Promise) -> tuple[MachineRecipe, Promise]:
        """With pure noise where it is smaller than what a delta allows, and what is then promised: public.

        Pure noise grows with the number of features, and few records have few; it promises more.  Above
        three columns its features are fewer by far, which only the fewest records do not mind.
        """
        same, many_columns = (self, promise), domain.dimension > 3
        given = any(part is not None for part in (self.bandwidth, self.features, self.size, self.points))
        if given or self.pure or self.method == "moments" or isinstance(self.penalty, tuple):
            return same
        if many_columns and n * promise["epsilon"] >= _FEW:
            return same
        other, stronger = replace(self, pure=True), Promise(epsilon=promise["epsilon"], delta=0.0)
        sizes = [way.map(domain, n=n, epsilon=promise["epsilon"]).size for way in (self, other)]
        many = len(self.losses)
        mine = self.mechanism.multiplier(sizes[0] * many, **promise)
        pure = other.mechanism.multiplier(sizes[1] * many, **stronger)
        return (other, stronger) if pure < _QUIETER * mine else same

    @property
    def mechanism(self) -> Mechanism:
        """Noise on the weights, for method='output'."""
        return L2() if self.pure else Gaussian()

    def map(self, domain: Box, *, n: int, epsilon: float) -> FeatureMap:
        """The features phi(x), chosen by public rules or as given."""
        d = domain.dimension
        if self.kernel == "linear":
            return self._fitting(Linear(self._constant(0.316), d))
        constant, pure = self._constant(0.0), self.pure
        apart = self.method == "moments"
        ruled = bandwidth_rule(n=n, epsilon=epsilon, dimension=d, pure=pure, moments=apart)
        lengths = self._lengths(domain, ruled)
        kind, most = feature_rule(n=n, epsilon=epsilon, dimension=d, pure=pure)
        if self.features is not None or self.points is not None:
            most = most if self.features == kind else _USUAL
            kind = self.features or "landmarks"
        elif kind == "taylor" and self.kernel != "gaussian":
            kind, most = "random", 2 * d
        size = self.size or most
        if kind == "eigenfunctions":
            level = self.pure and self.size is None
            return self._fitting(TensorMap.spanning(constant, self.kernel, lengths, size, level=level))
        if kind == "landmarks":
            points = size if self.points is None else domain.to_unit(domain.points(self.points))
            return self._fitting(LandmarkMap.spanning(constant, self.kernel, lengths, points))
        if kind == "taylor":
            return self._fitting(Taylor(constant, lengths, _degree(size, d)))
        return self._fitting(RandomFeatures.spanning(constant, self.kernel, lengths, size))

    def check(self, domain: Box) -> None:
        """Raise errors that follow from the columns, before any record is read."""
        d = domain.dimension
        if self.features in ("eigenfunctions", "landmarks") and self.points is None and d > 3:
            raise ValueError(
                f"features={self.features!r} on a grid are for up to three columns, got {d}; use "
                "'random', or landmarks at public points=…"
            )
        if self.points is not None:
            domain.points(self.points)
        self._lengths(domain, 1.0)
        if self.band and (d > MOST_MESH or self.method != "objective"):
            raise ValueError(
                f"band is a share of the budget for the error band of noise in the objective with up to "
                f"{MOST_MESH} columns, got {d} with method={self.method!r}; leave it out; a regression with "
                "loss='squared' and a delta has a band in any number of columns, by method='moments'"
            )

    def band_share(self, domain: Box, features: FeatureMap, *, n: int, epsilon: float) -> float:
        """Share of epsilon that pays for the error band: public."""
        if self.band is not None:
            return self.band
        share = band_rule(n=n, epsilon=epsilon)
        few = epsilon * (1 - share) < 2e-4 / FINISH  # for noise in the objective itself
        apt = self.method == "objective" and domain.dimension <= MOST_MESH
        return share if apt and not few and features.size <= _BANDED else 0.0

    def cells(self, domain: Box, *, n: int, epsilon: float, counts: float) -> tuple[int, ...]:
        """Cells along each column in which curvature is counted, with `counts` of epsilon."""
        d = domain.dimension
        ruled = bandwidth_rule(n=n, epsilon=epsilon, dimension=d, pure=self.pure)
        lengths = np.ones(d) if self.kernel == "linear" else self._lengths(domain, ruled)
        return cells_rule(lengths.tolist(), n=n, epsilon=counts)

    def _constant(self, usual: float) -> float:
        return usual if self.constant is None else self.constant

    def _fitting(self, features: FeatureMap) -> FeatureMap:
        weights = features.size * len(self.losses)
        if weights > _MOST_WEIGHTS:
            raise ValueError(
                f"size: {len(self.losses)} functions of {features.size} features are {weights} "
                f"weights, at most {_MOST_WEIGHTS} are possible; use fewer features"
            )
        if self.method == "moments":
            check_features(features)
        return features

    def _lengths(self, domain: Box, ruled: float) -> Floats:
        d = domain.dimension
        if self.bandwidth is None:
            return np.full(d, ruled)
        try:
            given = np.asarray(self.bandwidth, dtype=float)
        except (TypeError, ValueError):
            given = np.empty((0, 0))
        if given.shape not in ((), (d,)) or not (np.all(np.isfinite(given)) and np.all(given > 0)):
            raise ValueError(
                f"bandwidth must be a number above 0 or one for each of the {d} column(s), in the "
                "units of the data; or leave it out"
            )
        lengths = np.broadcast_to(given, (d,)) / domain.widths
        if np.any(lengths < 1e-3) or np.any(lengths > 100):
            raise ValueError(
                "bandwidth must be between 0.001 and 100 times the width of the bounds, got "
                f"{', '.join(f'{h:.3g}' for h in lengths)} times"
            )
        return np.array(lengths)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The loss of each function that is learnt."""
        return tuple(loss for loss, _ in self.functions)

    def candidates(self, features: FeatureMap, *, n: int, promise: Promise) -> tuple[float, ...]:
        """Penalties to learn with: more than one where one of them is to be chosen."""
        if isinstance(self.penalty, tuple):
            return self.penalty
        if self.penalty is not None:
            return (self.penalty,)
        many, kappa = len(self.losses), features.kappa
        multiplier = self.mechanism.multiplier(features.size * many, **promise) * math.sqrt(many)
        epsilon = promise["epsilon"] / many
        return (
            max(
                machine_penalty(
                    loss,
                    n=n,
                    multiplier=multiplier,
                    kappa=kappa,
                    epsilon=epsilon,
                    pure=self.pure,
                    inside=self.method == "objective",
                )
                for loss in self.losses
            ),
        )

    def sound(self, bounds: MachineBounds, promise: Promise) -> bool:
        """Whether rounding can be hidden at these penalties by a trace of the noise: public."""
        try:
            bounds.check()
            if self.method != "objective":
                return True
            noise = tilted_noise(bounds, **promise)
        except ValueError:
            return False
        trace = float(noise.finish.law.deviations(bounds.size)[0])
        return trace <= _TRACE * noise.tilt.scale / (2 * bounds.n)

    def bounds(
        self,
        features: FeatureMap,
        penalties: Sequence[float],
        n: int,
        promise: Promise,
        *,
        moves: bool,
        persons: bool,
    ) -> MachineBounds:
        """The machines, one after the other for each penalty, and the public bounds of their weights."""
        machines = tuple(
            Machine(loss, penalty, wanted) for penalty in penalties for loss, wanted in self.functions
        )
        if self.method == "output":
            return MachineBounds(machines, features, n, moves=moves, persons=persons)
        return tilted_bounds(MachineBounds(machines, features, n, FINE, moves=moves), **promise)

    def noise(self, bounds: MachineBounds, promise: Promise) -> float:
        """Standard deviation of penalty times the noise at a point, where it is largest: public."""
        if self.method == "objective":
            sd = tilted_noise(bounds, **promise).tilt.scale / (2 * bounds.n)
        else:
            sd = bounds.sensitivity() * self.mechanism.multiplier(bounds.size, **promise)
        return sd * bounds.features.kappa

    def calibrated(self, summary: MachineSummary, promise: Promise) -> None:
        """Raise errors of the noise itself: a lattice too fine, a bound that cannot be kept."""
        if self.method == "objective":
            tilted_noise(summary.bounds, **promise)
        else:
            self.mechanism.calibrate(summary.sensitivity("l2"), summary.size, **promise)

    def expected(self, bounds: MachineBounds, promise: Promise) -> str:
        """The expected noise of the function, in words: public."""
        noise = [self.noise(bounds, promise) / machine.penalty for machine in bounds.machines]
        most, by = ("at most ", _BOUND) if self.method == "objective" else ("about ", "")
        classes = any(place is not None for _, place in self.functions)
        unit = "half the distance between the classes" if classes else "half the width of y_bounds"
        return (
            f"{self.losses[0].words}; noise of the function: standard deviation {most}"
            f"{max(noise):.3g}, where 1 is {unit}{by}"
        )

    def warn(self, bounds: MachineBounds, promise: Promise) -> None:
        """Warn, before anything is spent, where the noise would be larger than the function.

        Noise in the objective is known by a bound only, which is several times too large where the
        records determine the function.
        """
        scaled, kappa = self.noise(bounds, promise), bounds.features.kappa
        slack = 4.0 if self.method == "objective" else 1.0
        for machine in bounds.machines:
            most = bounds.steepness(machine) * kappa / 2  # no function is larger, times its penalty
            penalty, noise = machine.penalty, scaled / machine.penalty
            reach = min(1.0, most / penalty)
            few = scaled > most / 8  # and so it is with any penalty
            if (noise <= slack * reach or self.penalty is None) and not few:
                continue
            words = (
                f"{bounds.n} records are few for this promise: whatever the penalty, the noise for "
                f"privacy has a standard deviation of up to {scaled / most:.0%} of the largest "
                "function there can be; use a larger epsilon"
                if few
                else f"penalty = {penalty:.3g}: the noise for privacy has standard deviation up to "
                f"{noise:.3g} where the function is about {reach:.3g}; a penalty of "
                f"{2 * scaled / slack:.2g} would do, or a larger epsilon"
            )
            warnings.warn(words, PrivacyWarning, stacklevel=5)  # the caller of `mercer.classifier`
            return


def _weight(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 100:
        raise ValueError(
            f"constant must be a number in [0, 100], got {value!r}: the kernel is K + constant^2, "
            "which stands for an intercept"
        )
    return float(value)


def _share_of(name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 0.5:
        raise ValueError(
            f"{name} must be a share of epsilon in [0, 0.5], got {value!r}; 0.05 is usual, 0 for none"
        )
    return float(value)


def _penalty(value: object) -> float | tuple[float, ...] | None:
    if isinstance(value, str):
        check_choice("penalty", value, ("rule",))
        return None
    if isinstance(value, (Sequence, np.ndarray)):
        given: list[Any] = list(value)
        if not 2 <= len(given) <= 16:
            raise ValueError(f"penalty must be 2 to 16 candidates, got {len(given)}")
        return tuple(check_positive("penalty", v, "each candidate") for v in given)
    return check_positive("penalty", value, "or 'rule', or a list of candidates to choose from")


def _degree(size: int, dimension: int) -> int:
    """The largest degree with at most so many Taylor features."""
    degree = 0
    while math.comb(dimension + degree + 1, degree + 1) <= size and degree < 8:
        degree += 1
    return degree
