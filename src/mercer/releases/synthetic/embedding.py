"""Noisy coordinates of a mean embedding, and what follows from them alone.  M10, M17."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.noise.laws import Law
from mercer.releases.synthetic.smoothing import Shrink, choose_shrink
from mercer.spaces.record_kernels import LandmarkSpan, WaveSpan

__all__ = ["LandmarkEmbedding", "NoisyEmbedding", "WaveEmbedding"]

REPLICAS = 50  # public draws of the noise, for error bars


@dataclass(frozen=True, eq=False)
class NoisyEmbedding(ABC):
    """Coordinates with noise of a known law."""

    raw: Floats
    law: Law

    @property
    @abstractmethod
    def size(self) -> int:
        """Coordinates."""

    @property
    @abstractmethod
    def noisy(self) -> Floats:
        """Orthonormal coordinates, as they were released."""

    @property
    @abstractmethod
    def target(self) -> Floats:
        """Coordinates that the synthetic table is fitted to."""

    @property
    @abstractmethod
    def risk(self) -> float:
        """Expected squared distance of the target to the mean without noise, estimated."""

    @abstractmethod
    def redrawn(self) -> Floats:
        """Targets as they would be with other noise, one a row: public draws."""

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of a coordinate."""
        return float(self.law.deviations(self.size)[0])

    @property
    def raw_error(self) -> float:
        """Expected distance that the noise makes, before any shrinking."""
        return self.deviation * math.sqrt(self.size)

    def _check(self, size: int) -> None:
        fixed = np.array(self.raw, dtype=float)
        fixed.setflags(write=False)
        object.__setattr__(self, "raw", fixed)
        if fixed.shape != (size,) or not np.all(np.isfinite(fixed)):
            raise ValueError(f"coordinates must be {size} finite numbers, got shape {fixed.shape}")
        if self.law.moments:
            raise ValueError("the noise does not fit an embedding")


@dataclass(frozen=True, eq=False)
class LandmarkEmbedding(NoisyEmbedding):
    """Of kernel functions at landmarks; `raw` are the weights of the noisy function at them.

    Weights do not depend on how a machine turns the eigenvectors of a Gram matrix.
    """

    gram: Floats
    floor: float
    shrink: Shrink
    even: Floats | None = None  # values at the landmarks of all public points, equally weighted
    _memory: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.gram.ndim != 2 or len(self.gram) != self.gram.shape[1]:
            raise ValueError("the Gram matrix must be square")
        if self.even is not None and self.even.shape != (len(self.gram),):
            raise ValueError(f"even must be one number for each of {len(self.gram)} landmarks")
        self._check(len(self.gram))

    @classmethod
    def of(cls, coordinates: Floats, span: LandmarkSpan, law: Law) -> LandmarkEmbedding:
        """With the shrinkage chosen from the coordinates."""
        raw, plain = span.weights(coordinates), Shrink("nothing", 1.0, 0.0)
        found = cls(raw, law, span.gram, span.floor, plain, span.even)
        found.__dict__["span"] = span
        return found.shrunk()

    @classmethod
    def raw_only(cls, raw: Floats, law: Law, gram: Floats, floor: float) -> LandmarkEmbedding:
        """With the noise as it is."""
        return cls(raw, law, gram, floor, Shrink("nothing", 1.0, 0.0))

    def shrunk(self, shrink: Shrink | None = None) -> LandmarkEmbedding:
        """With another shrinkage: the one of least estimated risk, if none is given (M17)."""
        if shrink is None:
            shrink = choose_shrink(self.noisy, self.uniform, self.span.eigenvalues, self.deviation**2)
        found = replace(self, shrink=shrink)
        found.__dict__.update(span=self.span, noisy=self.noisy, uniform=self.uniform)
        return found

    @cached_property
    def span(self) -> LandmarkSpan:
        """The subspace."""
        return LandmarkSpan(self.gram, self.floor)

    @property
    def size(self) -> int:
        return self.span.size

    @cached_property
    def noisy(self) -> Floats:
        return self.span.coordinates(self.gram @ self.raw)

    @cached_property
    def uniform(self) -> Floats:
        """Of all public points with equal weights, also of those that are no landmarks."""
        return self.span.coordinates(self.gram.mean(axis=1) if self.even is None else self.even)

    @cached_property
    def target(self) -> Floats:
        return self.shrink.apply(self.noisy, self.uniform, self.span.eigenvalues)

    @property
    def risk(self) -> float:
        known = self.deviation**2 * float(np.sum(self.shrink.factors(self.span.eigenvalues) ** 2))
        estimated = self.shrink.risk(self.noisy, self.uniform, self.span.eigenvalues, self.deviation**2)
        return max(estimated, known)  # what is left of the noise is known, what was lost is not

    def redrawn(self) -> Floats:
        noise = self.law.draws(self.size, np.arange(self.size))[:REPLICAS]
        return self.target + noise * self.shrink.factors(self.span.eigenvalues)

    def values(self, coordinates: Floats) -> Floats:
        """Of functions at the landmarks: one a row, or alone."""
        return self.span.weights(coordinates.T).T @ self.gram


@dataclass(frozen=True, eq=False)
class WaveEmbedding(NoisyEmbedding):
    """Of random features in pairs."""

    frequencies: Floats

    def __post_init__(self) -> None:
        self._check(2 * len(self.frequencies))

    @cached_property
    def span(self) -> WaveSpan:
        """The features."""
        return WaveSpan(self.frequencies)

    @property
    def size(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def noisy(self) -> Floats:
        return self.raw

    @property
    def target(self) -> Floats:
        return self.raw

    @property
    def risk(self) -> float:
        return self.raw_error**2

    def redrawn(self) -> Floats:
        return self.target + self.law.draws(self.size, np.arange(self.size))[:REPLICAS]
