"""The features of `reduced_waves` in PyTorch, on the processor or on a GPU.  M10.

Points, weights and gradients are small and go back and forth as NumPy arrays; the waves, which
are large, stay on the device.  PyTorch is loaded when it is asked for: `pip install mercer[torch]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.synthetic.reduced.waves import Waves

__all__ = ["TorchWaves", "torch_waves"]

_CELLS = {"cpu": 2**20, "cuda": 2**26}  # cosines at a time


def torch_waves(frequencies: Floats, device: str) -> tuple[Waves, Waves]:
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
class TorchWaves(Waves):
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

    def scores(self, points: Floats, vector: Floats) -> Floats:
        first, second = self._halves(self._there(vector))
        out = np.empty(len(points))
        for part, cosines, sines in self._blocks(points):
            out[part] = self._back(cosines @ first + sines @ second)
        return out

    def slopes(self, points: Floats, vector: Floats) -> tuple[Floats, Floats]:
        first, second = self._halves(self._there(vector))
        heights, gradient = np.empty(len(points)), np.empty(points.shape)
        for part, cosines, sines in self._blocks(points):
            heights[part] = self._back(cosines @ first + sines @ second)
            gradient[part] = self._back(self._along(cosines, sines, first, second))
        return heights, gradient

    def value(self, points: Floats, weights: Floats, target: Floats) -> tuple[float, Floats, Floats]:
        blocks = list(self._blocks(points)) if len(points) <= self._step else None
        rest = self._rest(blocks or self._blocks(points), weights, target)
        first, second = self._halves(rest)
        by_point, by_weight = np.empty(points.shape), np.empty(len(points))
        for part, cosines, sines in blocks or self._blocks(points):
            by_weight[part] = self._back(cosines @ first + sines @ second)
            by_point[part] = self._back(self._along(cosines, sines, first, second))
        return float(rest @ rest), 2 * weights[:, None] * by_point, 2 * by_weight

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
        return _CELLS[self.frequencies.device.type]

    @property
    def _step(self) -> int:
        return max(1, self._cells // self.pairs)

    def _there(self, values: Floats) -> Any:
        here = np.ascontiguousarray(values, dtype=np.float64)
        return self.torch.as_tensor(here, device=self.frequencies.device)

    def _back(self, values: Any) -> Floats:
        out: Floats = values.detach().to("cpu", self.torch.float64).numpy()
        return out

    def _halves(self, vector: Any) -> tuple[Any, Any]:
        scaled = (vector / math.sqrt(self.pairs)).to(self.kind)
        return scaled[: self.pairs], scaled[self.pairs :]

    def _waves(self, points: Any) -> tuple[Any, Any]:
        angle = (points @ self.frequencies.T).to(self.kind)
        return self.torch.cos(angle), self.torch.sin(angle)

    def _blocks(self, points: Floats) -> Iterator[tuple[slice, Any, Any]]:
        there = self._there(points)
        for start in range(0, len(points), self._step):
            part = slice(start, start + self._step)
            yield part, *self._waves(there[part])

    def _rest(self, blocks: Any, weights: Floats, target: Floats) -> Any:
        """Sum w phi - target, in double precision."""
        light = self._there(weights).to(self.kind)
        rest = -self._there(target)
        for part, cosines, sines in blocks:
            both = self.torch.cat([light[part] @ cosines, light[part] @ sines])
            rest = rest + both.to(self.torch.float64) / math.sqrt(self.pairs)
        return rest

    def _along(self, cosines: Any, sines: Any, first: Any, second: Any) -> Any:
        return (cosines * second - sines * first) @ self.frequencies.to(self.kind)
