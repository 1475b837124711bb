"""Random features: waves at public frequencies.  M8, E11."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.spaces.bases.base import matrix_of
from mercer.spaces.kernels import KERNELS, MaternKernel
from mercer.spaces.maps.base import MOST_FEATURES, FeatureMap, shown

__all__ = ["RandomFeatures"]


@dataclass(frozen=True, eq=False)
class RandomFeatures(FeatureMap):
    """cos(w x), sin(w x) at public random frequencies w, in pairs: norm exactly one (E11)."""

    frequencies: Floats  # one row a pair, in radians over the unit cube
    origin: str  # of which kernel

    name = "random"

    @classmethod
    def spanning(cls, constant: float, kernel: str, lengths: Floats, size: int) -> RandomFeatures:
        """`size` features for a kernel that is a product over the columns.

        Frequencies have the kernel's spectral law, and are orthogonal in blocks for the Gaussian
        kernel, which makes the average converge faster; drawn from a fixed public stream.
        """
        d, pairs = len(lengths), (size + 1) // 2
        rng = streams.simulation(17)
        shape = KERNELS[kernel]
        if issubclass(shape, MaternKernel):
            nu = shape.states - 0.5
            w = stdtrit(2 * nu, rng.random((pairs, d)))
        else:
            blocks = []
            for _ in range(math.ceil(pairs / d)):
                q, r = np.linalg.qr(rng.standard_normal((d, d)))
                lengths_of = np.sqrt(rng.chisquare(d, d))
                blocks.append(lengths_of[:, None] * (q * np.sign(np.diag(r))))
            w = np.concatenate(blocks)[:pairs]
        words = f"{kernel} kernel, bandwidth {shown(lengths)}"
        return cls(constant, np.ldexp(np.rint(np.ldexp(w / lengths, 24)), -24), words)

    @property
    def dimension(self) -> int:
        return int(self.frequencies.shape[1])

    @property
    def inner(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def words(self) -> str:
        return f"{self.inner} random features (cosines and sines) of the {self.origin}"

    @property
    def amplification(self) -> float:
        sums = 1 + np.abs(self.frequencies).sum(axis=1)
        return float(np.sqrt(np.mean(sums**2) / (self.inner / 2)))

    def rows(self, unit: Floats) -> Floats:
        angle = unit @ self.frequencies.T
        pairs = len(self.frequencies)
        out = np.empty((len(unit), 2 * pairs))
        np.cos(angle, out=out[:, :pairs])
        np.sin(angle, out=out[:, pairs:])
        out *= 1 / math.sqrt(pairs)
        return out

    def fields(self) -> dict[str, Any]:
        return {"frequencies": self.frequencies.tolist(), "origin": self.origin}

    @classmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> RandomFeatures:
        w = matrix_of(fields.get("frequencies"), "frequencies")
        origin = fields.get("origin")
        if len(w) > MOST_FEATURES or not isinstance(origin, str) or len(origin) > 200:
            raise ValueError("frequencies of features must be a matrix of a stated kernel")
        return cls(constant, w, origin)
