"""Features of a few points, and the distance of their weighted sum to a target.  M10.

phi(u) = P^-1/2 (cos W u, sin W u) for P public frequencies W: norm exactly one.  All numbers
here are public: points of a synthetic table, and coordinates that carry noise already.

In NumPy, or in PyTorch on the processor or on a GPU.  There points, weights and gradients are small
and go back and forth as NumPy arrays; the waves, which are large, stay on the device.  PyTorch is
loaded when it is asked for: `pip install mercer[torch]`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats

__all__ = ["NumpyWaves", "TorchWaves", "WaveEngine", "torch_waves"]

_CELLS = 2**20  # cosines at a time
_KEPT = 24 * 2**20  # cosines kept between the two passes over the points
_TORCH_CELLS = {"cpu": 2**20, "cuda": 2**26}  # cosines at a time


class WaveEngine(ABC):
    """What a search asks of the features, wherever they are computed."""

    @property
    @abstractmethod
    def pairs(self) -> int:
        """P, the number of frequencies."""

    @abstractmethod
    def rows(self, points: Floats) -> Floats:
        """One row for each point: cosines first, then sines."""

    def scores(self, points: Floats, vector: Floats) -> Floats:
        """phi(u)'vector at each point."""
        first, second = self._halves(vector)
        heights = np.empty(len(points))
        for part, cosines, sines in self._blocks(points):
            heights[part] = self._back(cosines @ first + sines @ second)
        return heights

    def slopes(self, points: Floats, vector: Floats) -> tuple[Floats, Floats]:
        """phi(u)'vector at each point, and its gradient in the point."""
        return self._slopes(self._blocks(points), points.shape, vector)

    def value(self, points: Floats, weights: Floats, target: Floats) -> tuple[float, Floats, Floats]:
        """F = |sum w phi(u) - target|^2 with its gradients in the points and in the weights."""
        kept = list(self._blocks(points)) if len(points) <= self._kept else None
        rest = self._rest(kept or self._blocks(points), weights, target)
        by_weight, by_point = self._slopes(kept or self._blocks(points), points.shape, rest)
        return float(rest @ rest), 2 * weights[:, None] * by_point, 2 * by_weight

    @abstractmethod
    def gram(self, points: Floats) -> Floats:
        """phi(u)'phi(v) of all points."""

    def residual(self, points: Floats, weights: Floats, target: Floats) -> Floats:
        """Sum w phi(u) - target."""
        out = -target
        step = max(1, _CELLS // self.pairs)
        for start in range(0, len(points), step):
            part = slice(start, start + step)
            out = out + weights[part] @ self.rows(points[part])
        return out

    def _slopes(self, blocks: Any, shape: tuple[int, ...], vector: Any) -> tuple[Floats, Floats]:
        """The same as `slopes`, from waves that are there already."""
        first, second = self._halves(vector)
        heights, gradient = np.empty(shape[0]), np.empty(shape)
        for part, cosines, sines in blocks:
            heights[part] = self._back(cosines @ first + sines @ second)
            gradient[part] = self._back(self._along(cosines, sines, first, second))
        return heights, gradient

    @property
    @abstractmethod
    def _kept(self) -> int:
        """How many points there may be, for their waves to be kept between two passes over them."""

    @abstractmethod
    def _blocks(self, points: Floats) -> Iterator[tuple[slice, Any, Any]]:
        """Cosines and sines of the angles W u, some points at a time."""

    @abstractmethod
    def _halves(self, vector: Any) -> tuple[Any, Any]:
        """The parts of a vector that belong to cosines and to sines, over the root of P."""

    @abstractmethod
    def _along(self, cosines: Any, sines: Any, first: Any, second: Any) -> Any:
        """The gradient of phi(u)'vector in u, the vector in halves."""

    @abstractmethod
    def _rest(self, blocks: Any, weights: Floats, target: Floats) -> Any:
        """Sum w phi(u) - target in double precision, from waves that are there already."""

    def _back(self, values: Any) -> Floats:
        """Numbers from where the waves are computed."""
        return np.asarray(values)


@dataclass(frozen=True, eq=False)
class NumpyWaves(WaveEngine):
    """In NumPy, in single precision where a search need not know more."""

    frequencies: Floats
    single: bool = False  # ten times faster cosines, good to 1e-7 of the norm

    @property
    def pairs(self) -> int:
        return len(self.frequencies)

    def rows(self, points: Floats) -> Floats:
        cosines, sines = self._waves(points)
        out = np.concatenate([cosines, sines], axis=1)
        out *= out.dtype.type(1 / math.sqrt(self.pairs))
        return out

    def gram(self, points: Floats) -> Floats:
        out = np.zeros((len(points), len(points)))
        step = max(1, 4 * _CELLS // max(1, len(points)))
        for start in range(0, self.pairs, step):
            angle = points @ self.frequencies[start : start + step].T
            wave = np.cos(angle)
            out += wave @ wave.T
            np.sin(angle, out=wave)
            out += wave @ wave.T
        return out / self.pairs

    @property
    def _type(self) -> type[np.floating]:
        return np.float32 if self.single else np.float64

    @property
    def _kept(self) -> int:
        return _KEPT // self.pairs

    def _rest(self, blocks: Any, weights: Floats, target: Floats) -> Floats:
        sums, light = np.zeros(2 * self.pairs), weights.astype(self._type)
        for part, cosines, sines in blocks:
            sums[: self.pairs] += light[part] @ cosines
            sums[self.pairs :] += light[part] @ sines
        return sums / math.sqrt(self.pairs) - target

    def _halves(self, vector: Floats) -> tuple[Floats, Floats]:
        scaled = (vector / math.sqrt(self.pairs)).astype(self._type)
        return scaled[: self.pairs], scaled[self.pairs :]

    def _waves(self, points: Floats) -> tuple[Floats, Floats]:
        angle = points @ self.frequencies.T
        if self.single:
            angle = angle.astype(np.float32)
        cosines = np.cos(angle)
        return cosines, np.sin(angle, out=angle)

    def _blocks(self, points: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        step = max(1, _CELLS // self.pairs)
        for start in range(0, len(points), step):
            part = slice(start, start + step)
            yield part, *self._waves(points[part])

    def _along(self, cosines: Floats, sines: Floats, first: Floats, second: Floats) -> Floats:
        turned = cosines * second
        turned -= sines * first
        return turned @ self.frequencies.astype(self._type)


def torch_waves(frequencies: Floats, device: str) -> tuple[WaveEngine, WaveEngine]:
    """Features in single and in double precision; `device` is "torch" or "cuda"."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            f"device={device!r} needs PyTorch, which is not installed; "
            "pip install 'mercer[torch]', or use device='numpy'"
        ) from None
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "device='cuda' needs a GPU that PyTorch can use, and there is none; "
            "use device='torch' or device='numpy'"
        )
    place = "cuda" if device == "cuda" else "cpu"
    waves = torch.as_tensor(frequencies, dtype=torch.float64, device=place)
    return TorchWaves(torch, waves, torch.float32), TorchWaves(torch, waves, torch.float64)


@dataclass(frozen=True, eq=False)
class TorchWaves(WaveEngine):
    """Cosines and sines as tensors: angles in double precision, the rest as `kind` says."""

    torch: Any  # the module, loaded late
    frequencies: Any
    kind: Any

    @property
    def pairs(self) -> int:
        return int(self.frequencies.shape[0])

    def rows(self, points: Floats) -> Floats:
        cosines, sines = self._waves(self._there(points))
        out = self.torch.cat([cosines, sines], dim=1) / math.sqrt(self.pairs)
        return self._back(out)

    def residual(self, points: Floats, weights: Floats, target: Floats) -> Floats:
        return self._back(self._rest(self._blocks(points), weights, target))

    def gram(self, points: Floats) -> Floats:
        there, count = self._there(points), len(points)
        out = self.torch.zeros((count, count), dtype=there.dtype, device=there.device)
        step = max(1, self._cells // max(1, count))
        for start in range(0, self.pairs, step):
            angle = there @ self.frequencies[start : start + step].T
            for wave in (self.torch.cos(angle), self.torch.sin(angle)):
                out += wave @ wave.T
        return self._back(out / self.pairs)

    @property
    def _cells(self) -> int:
        return _TORCH_CELLS[self.frequencies.device.type]

    @property
    def _kept(self) -> int:
        return max(1, self._cells // self.pairs)

    def _there(self, values: Floats) -> Any:
        here = np.ascontiguousarray(values, dtype=np.float64)
        return self.torch.as_tensor(here, device=self.frequencies.device)

    def _back(self, values: Any) -> Floats:
        out: Floats = values.detach().to("cpu", self.torch.float64).numpy()
        return out

    def _halves(self, vector: Any) -> tuple[Any, Any]:
        there = self._there(vector) if isinstance(vector, np.ndarray) else vector
        scaled = (there / math.sqrt(self.pairs)).to(self.kind)
        return scaled[: self.pairs], scaled[self.pairs :]

    def _waves(self, points: Any) -> tuple[Any, Any]:
        angle = (points @ self.frequencies.T).to(self.kind)
        return self.torch.cos(angle), self.torch.sin(angle)

    def _blocks(self, points: Floats) -> Iterator[tuple[slice, Any, Any]]:
        there = self._there(points)
        for start in range(0, len(points), self._kept):
            part = slice(start, start + self._kept)
            yield part, *self._waves(there[part])

    def _rest(self, blocks: Any, weights: Floats, target: Floats) -> Any:
        light = self._there(weights).to(self.kind)
        rest = -self._there(target)
        for part, cosines, sines in blocks:
            both = self.torch.cat([light[part] @ cosines, light[part] @ sines])
            rest = rest + both.to(self.torch.float64) / math.sqrt(self.pairs)
        return rest

    def _along(self, cosines: Any, sines: Any, first: Any, second: Any) -> Any:
        return (cosines * second - sines * first) @ self.frequencies.to(self.kind)
