"""Noisy coordinates of a mean embedding, and what follows from them alone.  M10, M17.

Shrinking: in the eigenbasis of the landmarks' Gram matrix, coordinate i is moved towards that of a
public guess by the factor s_i = e_i^eta / (e_i^eta + penalty e_1^eta); the guess is nothing, or the
landmarks with equal weights.  Guess, eta and penalty are those of least estimated risk (Stein).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.common.checks import Floats
from mercer.common.files import Fields, finite, numbers
from mercer.noise.laws import Law, law_from_dict
from mercer.releases.base import freeze
from mercer.spaces.record_kernels import MOST_WAVES, LandmarkSpan, RecordKernel, WaveSpan

__all__ = [
    "GUESSES",
    "LandmarkEmbedding",
    "NoisyEmbedding",
    "Shrink",
    "WaveEmbedding",
    "choose_shrink",
    "floor_from",
    "law_from",
    "matrix_from",
]

GUESSES = ("nothing", "uniform")
_ETAS = (0.5, 1.0, 1.5, 2.0)
_PENALTIES = np.append(0.0, np.logspace(-10, 4, 57))
_MOST_PRODUCTS = 1 << 36  # of coordinates of landmarks, for the Gram matrix of a file


@dataclass(frozen=True)
class Shrink:
    """How coordinates are shrunk; penalty 0 leaves them as they are."""

    guess: str
    eta: float
    penalty: float

    def __post_init__(self) -> None:
        if self.guess not in GUESSES:
            raise ValueError(f"guess must be one of {', '.join(map(repr, GUESSES))}")
        if not 0.1 <= self.eta <= 10 or not 0 <= self.penalty <= 1e15:
            raise ValueError("eta must be in [0.1, 10] and penalty in [0, 1e15]")

    def factors(self, eigenvalues: Floats) -> Floats:
        """What is left of each coordinate's distance to the guess: from 0 to 1."""
        powers = (eigenvalues / eigenvalues[0]) ** self.eta
        return powers / (powers + self.penalty)

    def apply(self, noisy: Floats, uniform: Floats, eigenvalues: Floats) -> Floats:
        """Coordinates moved towards those of the guess."""
        guess = uniform if self.guess == "uniform" else np.zeros_like(uniform)
        return guess + self.factors(eigenvalues) * (noisy - guess)

    def risk(self, noisy: Floats, uniform: Floats, eigenvalues: Floats, variance: float) -> float:
        """Stein's unbiased estimate of the expected squared distance to the mean without noise."""
        guess = uniform if self.guess == "uniform" else np.zeros_like(uniform)
        s = self.factors(eigenvalues)
        return float(np.sum((1 - s) ** 2 * ((noisy - guess) ** 2 - variance) + s**2 * variance))

    def to_dict(self) -> dict[str, Any]:
        """The fields of `shrink` in a file."""
        return {"guess": self.guess, "eta": self.eta, "penalty": self.penalty}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The shrinkage that `to_dict` wrote; ValueError says what is wrong."""
        values = {key: finite(fields.get(key, int | float), f"{key} of shrink") for key in ("eta", "penalty")}
        return cls(fields.get("guess", str), **values)


def choose_shrink(noisy: Floats, uniform: Floats, eigenvalues: Floats, variance: float) -> Shrink:
    """The one of least estimated risk: post-processing, hence free (M17)."""
    best, least = Shrink("nothing", 1.0, 0.0), math.inf
    for guess in GUESSES:
        square = (noisy - (uniform if guess == "uniform" else 0.0)) ** 2 - variance
        for eta in _ETAS:
            powers = (eigenvalues / eigenvalues[0]) ** eta
            s = powers / (powers + _PENALTIES[:, None])
            risks = (1 - s) ** 2 @ square + variance * np.sum(s**2, axis=1)
            place = int(np.argmin(risks))
            if risks[place] < least:
                best, least = Shrink(guess, eta, float(_PENALTIES[place])), float(risks[place])
    return best


@dataclass(frozen=True, eq=False)
class NoisyEmbedding(ABC):
    """Coordinates with noise of a known law."""

    coordinates: Floats
    noise: Law

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coordinates."""

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
    def seen(self, kernel: RecordKernel, codes: Floats, marks: Floats) -> Floats:
        """Coordinates of records, one a row; `marks` are the codes of the landmarks."""

    @abstractmethod
    def values_at(self, kernel: RecordKernel, codes: Floats, marks: Floats, coordinates: Floats) -> Floats:
        """Values at records of functions given by coordinates: (records,) or (records, functions)."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of the embedding in a file."""
        return {"noise": self.noise.to_dict(), "coordinates": self.coordinates.tolist()}

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of a coordinate."""
        return float(self.noise.deviations(self.size)[0])

    def _check(self, size: int) -> None:
        freeze(self, "coordinates")
        shape = self.coordinates.shape
        if shape != (size,) or not np.all(np.isfinite(self.coordinates)):
            raise ValueError(f"coordinates must be {size} finite numbers, got shape {shape}")
        if self.noise.moments:
            raise ValueError("the noise does not fit an embedding")


@dataclass(frozen=True, eq=False)
class LandmarkEmbedding(NoisyEmbedding):
    """Noisy coordinates in the span of kernel functions at landmarks (Algorithm 1).

    `coordinates` are the weights of the noisy function at the landmarks.

    They do not depend on how a machine turns the eigenvectors of a Gram matrix.
    """

    gram: Floats
    floor: float
    shrink: Shrink
    even: Floats | None = None  # values at the landmarks of all public points, equally weighted

    def __post_init__(self) -> None:
        if self.gram.ndim != 2 or len(self.gram) != self.gram.shape[1]:
            raise ValueError("the Gram matrix must be square")
        if self.even is not None and self.even.shape != (len(self.gram),):
            raise ValueError(f"even must be one number for each of {len(self.gram)} landmarks")
        self._check(len(self.gram))

    @classmethod
    def of(cls, coordinates: Floats, span: LandmarkSpan, law: Law) -> LandmarkEmbedding:
        """The embedding whose shrinkage is chosen from its coordinates."""
        raw, plain = span.weights(coordinates), Shrink("nothing", 1.0, 0.0)
        found = cls(raw, law, span.gram, span.floor, plain, span.even)
        found.__dict__["span"] = span
        return found.shrunk()

    @classmethod
    def unshrunk(cls, coordinates: Floats, noise: Law, gram: Floats, floor: float) -> LandmarkEmbedding:
        """An embedding that is not shrunk."""
        return cls(coordinates, noise, gram, floor, Shrink("nothing", 1.0, 0.0))

    def shrunk(self, shrink: Shrink | None = None) -> LandmarkEmbedding:
        """The embedding with another shrinkage: that of least estimated risk, if none is given (M17)."""
        if shrink is None:
            shrink = choose_shrink(self.noisy, self.uniform, self.span.eigenvalues, self.deviation**2)
        found = replace(self, shrink=shrink)
        found.__dict__.update(span=self.span, noisy=self.noisy, uniform=self.uniform)
        return found

    @cached_property
    def span(self) -> LandmarkSpan:
        """The span of the kernel functions at the landmarks."""
        return LandmarkSpan(self.gram, self.floor)

    @property
    def size(self) -> int:
        return self.span.size

    @cached_property
    def noisy(self) -> Floats:
        return self.span.coordinates(self.gram @ self.coordinates)

    @cached_property
    def uniform(self) -> Floats:
        """Coordinates of all public points with equal weights, also of those that are no landmarks."""
        return self.span.coordinates(self.gram.mean(axis=1) if self.even is None else self.even)

    @cached_property
    def target(self) -> Floats:
        return self.shrink.apply(self.noisy, self.uniform, self.span.eigenvalues)

    @property
    def risk(self) -> float:
        known = self.deviation**2 * float(np.sum(self.shrink.factors(self.span.eigenvalues) ** 2))
        estimated = self.shrink.risk(self.noisy, self.uniform, self.span.eigenvalues, self.deviation**2)
        return max(estimated, known)  # what is left of the noise is known, what was lost is not

    def values(self, coordinates: Floats) -> Floats:
        """Values at the landmarks of functions given by coordinates: one a row, or alone."""
        return self.span.weights(coordinates.T).T @ self.gram

    def seen(self, kernel: RecordKernel, codes: Floats, marks: Floats) -> Floats:
        return self.span.coordinates(kernel(codes, marks))

    def values_at(self, kernel: RecordKernel, codes: Floats, marks: Floats, coordinates: Floats) -> Floats:
        if codes is marks:
            return self.values(coordinates).T
        return kernel(codes, marks) @ self.span.weights(coordinates.T)

    def to_dict(self) -> dict[str, Any]:
        fields = super().to_dict() | {"floor": self.floor, "shrink": self.shrink.to_dict(), "rank": self.size}
        return fields if self.even is None else fields | {"even": self.even.tolist()}

    @classmethod
    def from_fields(cls, top: Fields, kernel: RecordKernel, marks: Floats) -> Self:
        """The embedding that `to_dict` wrote, of landmarks with these codes."""
        raw, law = np.array(numbers(top.get("coordinates", list), "a coordinate")), law_from(top)
        if raw.shape != (len(marks),):
            raise ValueError(f"coordinates must be one for each of the {len(marks)} landmarks")
        if len(marks) ** 2 * kernel.domain.width > _MOST_PRODUCTS:
            raise ValueError("landmarks and categories are too many for any release")
        even = np.array(numbers(top.get("even", list), "even")) if top.has("even") else None
        shrink = Shrink.from_fields(top.part("shrink"))
        found = cls(raw, law, kernel(marks, marks), floor_from(top, len(marks)), shrink, even)
        if top.has("rank") and top.get("rank", int) != found.size:
            raise ValueError("rank does not follow from landmarks, kernel and floor")
        return found


@dataclass(frozen=True, eq=False)
class WaveEmbedding(NoisyEmbedding):
    """Noisy means of random features, in pairs of cosine and sine (Algorithm 2)."""

    frequencies: Floats

    def __post_init__(self) -> None:
        self._check(2 * len(self.frequencies))

    @cached_property
    def span(self) -> WaveSpan:
        """The span of the random features."""
        return WaveSpan(self.frequencies)

    @property
    def size(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def noisy(self) -> Floats:
        return self.coordinates

    @property
    def target(self) -> Floats:
        return self.coordinates

    @property
    def risk(self) -> float:
        return self.deviation**2 * self.size

    def seen(self, kernel: RecordKernel, codes: Floats, marks: Floats) -> Floats:  # noqa: ARG002
        return self.span.coordinates(kernel.embed(codes))

    def values_at(self, kernel: RecordKernel, codes: Floats, marks: Floats, coordinates: Floats) -> Floats:
        return self.seen(kernel, codes, marks) @ coordinates.T

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"frequencies": np.asarray(self.frequencies).tolist()}

    @classmethod
    def from_fields(cls, top: Fields, kernel: RecordKernel) -> Self:
        """The embedding that `to_dict` wrote."""
        raw, law = np.array(numbers(top.get("coordinates", list), "a coordinate")), law_from(top)
        waves = matrix_from(top.get("frequencies", list), kernel.domain.width, MOST_WAVES // 2, "frequencies")
        if np.max(np.abs(waves)) > 1e6:
            raise ValueError("frequencies must be at most 1e6")
        return cls(raw, law, waves)


def law_from(top: Fields) -> Law:
    """The law of the noise of an embedding, from the fields of a release."""
    law = law_from_dict(top.get("noise", dict))
    if law.moments:
        raise ValueError(f"the noise law {law.name!r} does not fit an embedding")
    return law


def floor_from(top: Fields, landmarks: int) -> float:
    """The least eigenvalue that is used; none is above the number of landmarks."""
    floor = top.positive("floor")
    if floor > landmarks:
        raise ValueError(f"floor must be at most the number of landmarks, {landmarks}")
    return floor


def matrix_from(rows: list[Any], width: int, most: int, what: str) -> Floats:
    """Finite numbers in at most so many rows of one length."""
    if not 1 <= len(rows) <= most:
        raise ValueError(f"{what} must be 1 to {most}, got {len(rows)}")
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise ValueError(f"{what} must be lists of {width} numbers")
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in row):
            raise ValueError(f"{what} must be numbers")
    matrix = np.array([[float(value) for value in row] for row in rows])
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"{what} must be finite")
    return matrix
