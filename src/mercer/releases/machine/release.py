"""Released kernel machines: classifiers and regressions anyone may evaluate.  M8.

Right of the door: noisy weights of public features, the law of their noise, and what was promised.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mercer.columns.domain import MOST_COLUMNS, Box
from mercer.common.checks import Bools, Floats, check_choice
from mercer.common.files import Fields, numbers
from mercer.noise.laws import Normal, law_from_dict
from mercer.promise.statement import Statement
from mercer.releases.function import Band, FunctionRelease, Orders
from mercer.releases.machine.curvature import Curvature
from mercer.releases.machine.field import MachineAccuracy, MachineField
from mercer.releases.machine.moments import LeastSquares, NoisyMoments
from mercer.spaces.losses import Loss, loss_from_dict
from mercer.spaces.maps import FeatureMap, map_from_dict

__all__ = ["CHOICES", "METHODS", "MachineAccuracy", "MachineRelease", "shrinkage"]

METHODS = ("output", "objective", "moments")
CHOICES = ("rule", "given", "private")


@dataclass(frozen=True, eq=False, repr=False)
class MachineRelease(FunctionRelease):
    """One or more functions w'phi(x) of public features.

    Its coordinates are noisy penalty * weights, one function after the other; for noise in the
    objective the law is a bound, to first order.  By moments the coordinates are those of sum phi phi'
    and sum y phi, and the functions follow from them (M21).  Points outside the bounds are moved to
    them, as the records were.
    """

    features: FeatureMap
    losses: tuple[Loss, ...]  # one a function
    method: str
    penalty: float
    choice: str  # how the penalty was chosen: one of CHOICES
    gap: float
    shrink: bool  # weights are shrunk by the noise that everybody knows (M17)
    curvature: Curvature | None = field(default=None, kw_only=True)  # for the band of noise in the objective
    moments: NoisyMoments | None = field(default=None, kw_only=True)  # what coordinates are by that method

    routes = ("machine",)

    def __post_init__(self) -> None:
        if not self.losses:
            raise ValueError("a machine must have at least one function")
        self._check_moments()
        super().__post_init__()
        if self.features.dimension != self.domain.dimension:
            raise ValueError("features and domain differ in dimension")
        if not (self.penalty > 0 and (self.gap > 0 or self.moments is not None)):
            raise ValueError("penalty and gap of a machine must be above 0")
        check_choice("method", self.method, METHODS)
        check_choice("choice", self.choice, CHOICES)
        if self.curvature is not None:
            shape = (len(self.curvature.counts), len(self.curvature.mesh.cells))
            if self.method != "objective" or shape != (len(self.losses), self.domain.dimension):
                raise ValueError("curvature is for noise in the objective, of each function and column")

    def _check_moments(self) -> None:
        if (self.moments is not None) != (self.method == "moments"):
            raise ValueError("moments are what method='moments' releases, and nothing else does")
        if self.moments is None:
            return
        squared = len(self.losses) == 1 and self.losses[0].least_squares
        if not squared or self.shrink or self.curvature is not None or not isinstance(self.noise, Normal):
            raise ValueError("moments are for one function of squared loss, with normal noise alone")

    @abstractmethod
    def __call__(self, x: object) -> Floats:
        """The decision function or the response at each point."""

    @abstractmethod
    def predict(self, x: object) -> NDArray[Any]:
        """The class or the response of each point."""

    @property
    def size(self) -> int:
        if self.moments is not None:
            return self.moments.span(self.features).size
        return len(self.losses) * self.features.size

    @property
    @abstractmethod
    def scale(self) -> float:
        """Factor from the functions' own units to those of the caller."""

    @cached_property
    def weights(self) -> Floats:
        """Weights in use, one row a function: the noisy ones, shrunk if the release says so."""
        if self.moments is not None:
            return self._solved.weights[None]
        return self.coordinates.reshape(len(self.losses), -1) * self._factors / self.penalty

    @property
    def signals(self) -> Floats:
        """Coordinates in standard deviations of their noise, one row a function: noise where it is zero."""
        found = self.coordinates
        if self.moments is not None:
            found = self.moments.signals(self.features, found)
        return found.reshape(len(self.losses), -1) / self._deviation

    def shrunk(self, on: bool = True) -> Self:
        """The same release with its weights shrunk by their known noise, or as they were: free.

        James and Stein's shrinkage (M17), for noise on the weights.  It lowers the expected squared
        error of the weights; predictions gain where the penalty is small for the noise, and
        classifiers hardly ever (studies/accuracy/results/machine_rules.md), so a release comes without it.
        Its band covers the same shrinkage of the noiseless weights.
        """
        if self.moments is not None:
            raise ValueError("weights that follow from moments are smoothed by smooth(penalty=…), for free")
        if self.method != "output":
            raise ValueError(
                "shrinkage needs noise of known size on the weights, method='output'; noise in the "
                "objective is smaller already where the records determine the function"
            )
        return replace(self, shrink=bool(on))

    def band(self, x: object, level: float = 0.95, *, simultaneous: bool = True) -> Band:
        """A band that covers the same machine without noise, at a point or everywhere at once.

        It speaks of the noise alone: what another sample of records would give is not in it (M15).
        With noise in the objective it holds to first order in the noise: estimated where a share of
        the budget was spent on it (M21), a bound otherwise.
        """
        band = self._band(x, level, simultaneous=simultaneous)
        return Band(self._finished(band.lower), self._finished(band.upper), level)

    @property
    def accuracy(self) -> MachineAccuracy:
        """Expected error due to privacy, and what the features are."""
        if self.moments is not None:
            sd = float(np.linalg.norm(self._solved.root, 2))
        else:
            sd = self._deviation / self.penalty * float(self._factors.max())
        return MachineAccuracy(
            pointwise=sd * self.features.kappa * self.scale,
            unit=self._unit_words,
            coordinates=self.coordinates.size,
            features=self.features.words,
            penalty=self.penalty,
            method=self.method,
            gap=self.gap,
            typical=self._typical(),
        )

    def _typical(self) -> float | None:
        """Half of the records, by their curvature, stand where the noise is smaller; or their mean square."""
        if self.moments is not None:
            return self._solved.typical * self.scale
        if self.curvature is None:
            return None
        at = self.curvature.mesh.nodes()
        sd = self._field().deviation(at).T.reshape(-1)
        mass = np.concatenate([self.curvature.mass(k) for k in range(len(self.losses))])
        order = np.argsort(sd)
        total = np.cumsum(mass[order])
        if total[-1] <= 0:
            return float(np.median(sd))
        return float(sd[order][np.searchsorted(total, total[-1] / 2)])

    def decided(self, level: float = 0.95) -> tuple[Bools, Bools, Floats]:
        """Of each cell whose curvature was counted: the sign of the first function, if it is sure, how much.

        True is above 0; it is sure where the noise leaves the sign as it is, at this level.
        """
        if self.curvature is None:
            raise ValueError("no curvature was counted for this machine; make it with band=0.05")
        at = self.curvature.mesh.nodes()
        value, sd = self._at(at, (0,) * self.domain.dimension)[:, 0], self._field().deviation(at)[:, 0]
        return value > 0, np.abs(value) > float(ndtri((1 + level) / 2)) * sd, self.curvature.mass(0)

    def deviates(self) -> Floats:
        """The squared length of each function's weights, in standard deviations of their noise."""
        field, weights = self._field(), self.weights * self.scale
        roots = field.roots or [np.diag(factors * field.unit) for factors in self._factors]
        return np.array(
            [np.sum(np.linalg.solve(root, row) ** 2) for root, row in zip(roots, weights, strict=True)]
        )

    @property
    def _deviation(self) -> float:
        """Standard deviation of a coordinate."""
        return float(self.noise.deviations(self.coordinates.size)[0])

    def _finished(self, values: Floats) -> Floats:
        return values

    @property
    def _unit_words(self) -> str:
        """The unit of the functions' values, as words that follow a number."""
        return ""

    @cached_property
    def _factors(self) -> Floats:
        """What is left of each weight by shrinking, one row a function."""
        many, m = len(self.losses), self.features.size
        if not self.shrink:
            return np.ones((many, m))
        blocks = _blocks(m) if self.features.ordered else (m,)
        return np.stack(
            [shrinkage(row, blocks, self._deviation) for row in self.coordinates.reshape(many, m)]
        )

    def _field(self, orders: Orders = ()) -> MachineField:
        if any(orders):
            raise ValueError(f"order must be 0: {self.features.words} are not differentiated, got {orders}")
        return self._noise_field

    @cached_property
    def _noise_field(self) -> MachineField:
        """The noise of all functions, in the caller's units."""
        unit, found = self._deviation / self.penalty * self.scale, self.curvature
        roots: tuple[Floats, ...] = ()
        if self.moments is not None:
            roots = (self.scale * self._solved.root,)
        if found is not None:
            each = enumerate(self.losses)
            roots = tuple(self.scale * found.root(k, self.features, one, self.penalty) for k, one in each)
        size = len(self.losses) * self.features.size
        return MachineField(self.features, self.noise, size, self._factors, unit, roots)

    @cached_property
    def _solved(self) -> LeastSquares:
        """Least squares from the noisy moments."""
        assert self.moments is not None
        sd, n = self._deviation, self.privacy.n
        return self.moments.solve(self.features, self.coordinates, sd=sd, penalty=self.penalty, n=n)

    def _at(self, unit: Floats, orders: Orders) -> Floats:
        """All functions at the points, in the caller's units."""
        del orders
        step = max(1, (1 << 22) // self.features.size)
        parts = [
            self.features.features(unit[i : i + step]) @ self.weights.T for i in range(0, len(unit), step)
        ]
        value = np.concatenate(parts) if parts else np.zeros((0, len(self.losses)))
        return value * self.scale

    def _unit(self, x: object) -> Floats:
        return self.domain.to_unit(self._rows(x))

    def _rows(self, x: object) -> Floats:
        """Points as rows, moved to the bounds where they are outside; of a frame by name."""
        if hasattr(x, "columns") and hasattr(x, "to_numpy"):
            x = self._named(x)
        try:
            array = np.asarray(x, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(f"x must be numbers, got {type(x).__name__}") from None
        if not np.all(np.isfinite(array)):
            raise ValueError("x must be finite: a machine has no answer where a column is missing")
        d = self.domain.dimension
        if d == 1 and (array.ndim < 2 or array.shape[-1] != 1):
            array = array[..., None]
        if array.ndim == 0 or array.shape[-1] != d:
            raise ValueError(
                f"x must have {d} number(s) a point ({', '.join(self.domain.names)}), got an array "
                f"of shape {array.shape}"
            )
        return np.clip(array.reshape(-1, d), self.domain.lower, self.domain.upper)

    def _named(self, frame: Any) -> Any:
        names = list(self.domain.names)
        there = [str(name) for name in frame.columns]
        if all(name in there for name in names):
            return frame[names].to_numpy()
        if len(there) == len(names) and not any(name in there for name in names):
            return frame.to_numpy()  # a frame of other names, as an array
        raise ValueError(f"x must have the columns {', '.join(names)}; it has {', '.join(there[:30])}")

    def _shaped(self, value: Floats, x: object) -> Floats:
        """One axis of functions last, left out where there is but one."""
        shape = (len(value),) if hasattr(x, "columns") else self.domain.shape(x)
        if len(self.losses) == 1:
            return value[:, 0].reshape(shape)
        return value.reshape(*shape, len(self.losses))

    def _common(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": self.domain.to_dict(),
            "features": self.features.to_dict(),
            "losses": [loss.to_dict() for loss in self.losses],
            "coordinates": self.coordinates.tolist(),
            "noise": self.noise.to_dict(),
            "machine": {
                "method": self.method,
                "penalty": self.penalty,
                "choice": self.choice,
                "gap": self.gap,
                "shrink": self.shrink,
            },
            "privacy": self.privacy.to_dict(),
            **({} if self.curvature is None else {"curvature": self.curvature.to_dict()}),
            **({} if self.moments is None else {"moments": self.moments.to_dict()}),
        }

    @staticmethod
    def _common_fields(top: Fields) -> dict[str, Any]:
        """The arguments that `_common` wrote."""
        law, machine = law_from_dict(top.get("noise", dict)), top.part("machine")
        if law.moments:
            raise ValueError(f"the noise law {law.name!r} does not fit a machine")
        losses = tuple(loss_from_dict(loss) for loss in top.get("losses", list))
        return {
            "domain": Box.from_fields(top.part("domain"), most=MOST_COLUMNS),
            "privacy": Statement.from_fields(top.part("privacy")),
            "features": map_from_dict(top.get("features", dict)),
            "losses": losses,
            "coordinates": numbers(top.get("coordinates", list), "a coordinate"),
            "noise": law,
            "method": machine.get("method", str),
            "penalty": machine.positive("penalty"),
            "choice": machine.get("choice", str),
            "gap": 0.0 if top.has("moments") else machine.positive("gap"),
            "shrink": machine.get("shrink", bool),
            "curvature": Curvature.from_fields(top.part("curvature")) if top.has("curvature") else None,
            "moments": NoisyMoments.from_fields(top.part("moments")) if top.has("moments") else None,
        }


def shrinkage(weights: Floats, blocks: tuple[int, ...], sd: float) -> Floats:
    """Factor of each weight: James and Stein's, block by block, never below zero (M17).

    In a block of k weights with noise of standard deviation sd the factor is
    1 - (k - 2) sd^2 / |block|^2: less squared error than none, whatever the weights are.
    """
    factors, start = np.ones(len(weights)), 0
    for size in blocks:
        part = slice(start, start + size)
        square = float(np.sum(weights[part] ** 2))
        if size > 2:
            factors[part] = max(0.0, 1 - (size - 2) * sd**2 / max(square, 1e-300))
        start += size
    return factors


def _blocks(size: int) -> tuple[int, ...]:
    """3, 6, 12 … weights of falling importance."""
    sizes: list[int] = []
    left = size
    while left:
        sizes.append(min(left, 3 * 2 ** len(sizes)))
        left -= sizes[-1]
    return tuple(sizes)
