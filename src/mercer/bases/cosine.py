"""Cosines: the circle of length two folded onto [0, 1], a reflecting boundary.  Layer 1.  M11."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.bases.base import kernel_to_dict
from mercer.bases.spectral import (
    SpectralBasis,
    checked_size,
    gaussian_of,
    kept,
    orders_above_cut,
    theta_sum,
    wrapped_least,
)
from mercer.checks import Floats, Ints
from mercer.kernels import Gaussian, Kernel
from mercer.series import Axis

__all__ = ["Cosine"]


@dataclass(frozen=True)
class Cosine(SpectralBasis):
    """Reflecting boundary: products of 1 and sqrt2 cos(pi j u_i); the bandwidth is diagonal."""

    kernel: Gaussian
    orders: tuple[int, ...]  # highest frequency along each coordinate

    name = "cosine"

    @classmethod
    def spanning(cls, kernel: Kernel, size: int = 0) -> Cosine:  # noqa: ARG003
        """As many frequencies as the kernel has eigenvalues above the cut."""
        if not isinstance(kernel, Gaussian):
            raise ValueError(f"the cosine basis needs kernel='gaussian', got {kernel.name!r}")
        if not kernel.diagonal:
            raise ValueError(
                "bandwidth must be a number or one number a column with boundary='reflect': a "
                "slanted kernel does not reflect at a wall; use boundary='open' or 'periodic'"
            )
        return cls(kernel, orders_above_cut(kernel, [1.0] * kernel.dimension))

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(Axis(order, 1.0, sines=False) for order in self.orders)

    @cached_property
    def frequencies(self) -> Ints:
        box = np.stack(np.meshgrid(*(np.arange(o + 1) for o in self.orders), indexing="ij"), -1)
        return kept(box.reshape(-1, len(self.orders)), self.kernel, [1.0] * len(self.orders))

    @cached_property
    def terms(self) -> tuple[tuple[Ints, Ints], ...]:
        shape = tuple(axis.size for axis in self.axes)
        index = np.ravel_multi_index(tuple(self.frequencies.T), shape)
        return ((np.asarray(index, dtype=np.int64), np.ones(self.size, dtype=np.int64)),)

    @cached_property
    def amplitude(self) -> Floats:
        return np.sqrt(2.0 ** np.count_nonzero(self.frequencies, axis=1))

    @cached_property
    def kappa(self) -> float:
        square = 1.0  # the supremum is in a corner: prod (1 + 2 sum_j lambda_j)
        for h in self.kernel.lengths:
            square *= 1 + 2 * theta_sum(h, 1.0)
        return math.sqrt(square)

    @cached_property
    def overlap(self) -> float:
        # one factor is (v(x - y) + v(x + y)) / 2, v the wrapped normal density of the circle of
        # length two, which falls up to distance one: least at opposite ends
        return math.prod(wrapped_least(float(h), 1.0, 1.0) for h in self.kernel.lengths)

    def sampling_variance(self, theta: Floats, n: int) -> Floats:
        shape = [2 * order + 1 for order in self.orders]
        dense = np.zeros(shape)
        dense[tuple(self.frequencies.T)] = theta
        second = np.zeros(self.size)
        for chosen in itertools.product((0, 1), repeat=len(self.orders)):
            doubled = 2 * self.frequencies * np.array(chosen)
            counts = np.all((self.frequencies > 0) | (np.array(chosen) == 0), axis=1)
            second += counts * dense[tuple(doubled.T)] / math.sqrt(2.0) ** sum(chosen)
        return np.maximum(second - theta**2, 0.0) / n

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "kernel": kernel_to_dict(self.kernel), "size": self.size}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Cosine:
        return checked_size(cls.spanning(gaussian_of(fields)), fields)
