"""Released synthetic records under a kernel of the caller's.  Right of the door.  M10.

The points are the public landmarks; the kernel itself is not saved, and is given again after
loading by whoever wants distances.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from mercer.columns.domain import InWords
from mercer.common.checks import Floats, check_choice
from mercer.common.files import Fields, numbers
from mercer.noise.laws import Law
from mercer.promise.statement import Statement
from mercer.releases.base import Release, freeze
from mercer.releases.synthetic.embedding import LandmarkEmbedding, floor_from, law_from
from mercer.releases.synthetic.weighted import Pushed, TwoSample, Weighted, two_sample_test
from mercer.releases.synthetic.weights import STYLES, weigh, weights_from
from mercer.spaces.record_kernels import MOST_LANDMARKS, OwnKernel

__all__ = ["InWords", "RecordsRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class RecordsRelease(Weighted, Release):
    """Weighted public records whose embedding stands for that of the data."""

    domain: InWords
    points: tuple[Any, ...]
    weight: Floats
    coordinates: Floats
    noise: Law
    floor: float
    style: str
    bound: float
    kernel: OwnKernel | None = None

    kind = "synthetic-records"

    def __post_init__(self) -> None:
        check_choice("weights", self.style, STYLES)
        freeze(self, "weight", "coordinates")
        shape = (len(self.points),)
        if self.weight.shape != shape or self.coordinates.shape != shape or not self.points:
            raise ValueError("points, weights and coordinates differ in number")
        if not np.all(np.isfinite(self.weight)):
            raise ValueError("weights must be finite")

    def with_kernel(self, kernel: OwnKernel) -> RecordsRelease:
        """The same release after loading, with its kernel given again."""
        return replace(self, kernel=kernel)

    @cached_property
    def embedding(self) -> LandmarkEmbedding:
        """The noisy coordinates; they need the kernel."""
        if self.kernel is None:
            raise ValueError("this needs the kernel, which is not saved; give it with release.with_kernel(…)")
        gram = self.kernel.matrix(self.points, self.points)
        if not np.all(np.isfinite(gram)):
            raise ValueError("the kernel must give finite numbers at the points")
        plain = LandmarkEmbedding.unshrunk(self.coordinates, self.noise, (gram + gram.T) / 2, self.floor)
        return plain.shrunk()

    @property
    def points_count(self) -> int:
        return len(self.points)

    @property
    def weights(self) -> Floats:
        return self.weight

    @cached_property
    def positive(self) -> Floats:
        if self.style in ("positive", "uniform"):
            return self.weight
        return weigh(self.embedding, "positive", 1.0)

    def view(self) -> list[Any]:
        """The points: functions are called with the list of them."""
        return list(self.points)

    def reweight(self, style: str, bound: float = 1.0) -> RecordsRelease:
        """The same release with weights of another style, free for anyone."""
        check_choice("style", style, ("positive", "l1", "free"))
        return replace(self, weight=weigh(self.embedding, style, bound), style=style, bound=bound)

    def mmd(self, other: RecordsRelease | Sequence[Any]) -> float:
        """Distance in the kernel's space to another release, or to records of one's own."""
        one = self.embedding  # that the kernel is there
        assert self.kernel is not None
        if isinstance(other, RecordsRelease):
            records, weights = list(other.points), other.weight
        else:
            records = list(other)
            if not records:
                raise ValueError("other must be one record or more")
            weights = np.full(len(records), 1 / len(records))
        square = (
            self.weight @ one.gram @ self.weight
            - 2 * self.weight @ self.kernel.matrix(self.points, records) @ weights
            + weights @ self.kernel.matrix(records, records) @ weights
        )
        return max(float(square), 0.0) ** 0.5

    def two_sample_test(self, rows: Sequence[Any]) -> TwoSample:
        """Whether records of one's own come from the distribution of the data."""
        one = self.embedding
        assert self.kernel is not None
        phi = one.span.coordinates(self.kernel.matrix(rows, self.points))
        if not np.all(np.isfinite(phi)):
            raise ValueError("the kernel must give finite numbers for rows")
        synthetic = one.span.coordinates(one.gram)
        return two_sample_test(one, phi, synthetic, self.positive, n=self.privacy.n)

    def push(self, g: Any) -> Pushed:
        """The distribution of g(X), g continuous, called once with the list of points."""
        if self.kernel is not None and not self.kernel.universal:
            raise ValueError(
                "push needs a kernel whose space is dense in the continuous functions (Balog et "
                "al., Theorem 11); if yours is, say so: OwnKernel(…, universal=True)"
            )
        if self.style == "free":
            raise ValueError("push needs bounded weights; use release.reweight('l1') first")
        values = list(g(self.view()))
        if len(values) != self.points_count:
            raise ValueError(f"g must give one value a record, {self.points_count} of them")
        return Pushed(values, self.weight, self.positive)

    def sample(self, size: int, rng: int | np.random.Generator | None = None) -> list[Any]:
        """`size` records without weights, drawn by the weights."""
        return [self.points[i] for i in self.chosen(size, rng)]

    def save(self, path: str | Path) -> Path:
        """Write the release as JSON; records must be text, numbers, or lists of such."""
        try:
            json.dumps(self.points, allow_nan=False)
        except (TypeError, ValueError):
            raise TypeError(
                "points must be text, numbers, or lists of such to be saved as JSON; keep them by "
                "your own means, with release.weights"
            ) from None
        return super().save(path)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": {"words": self.domain.words},
            "points": list(self.points),
            "weights": self.weight.tolist(),
            "coordinates": self.coordinates.tolist(),
            "noise": self.noise.to_dict(),
            "floor": self.floor,
            "style": self.style,
            "bound": self.bound,
            "privacy": self.privacy.to_dict(),
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        """The release that `to_dict` wrote; whoever loads it gives the kernel again."""
        points = top.get("points", list)
        if not 1 <= len(points) <= MOST_LANDMARKS:
            raise ValueError(f"points must be 1 to {MOST_LANDMARKS} records")
        weight, style, bound = weights_from(top, len(points))
        raw = np.array(numbers(top.get("coordinates", list), "a coordinate"))
        if raw.shape != (len(points),):
            raise ValueError("points and coordinates differ in number")
        return cls(
            InWords(top.part("domain").get("words", str)),
            Statement.from_fields(top.part("privacy")),
            tuple(points),
            weight,
            raw,
            law_from(top),
            floor_from(top, len(points)),
            style,
            bound,
        )
