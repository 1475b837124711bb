"""DP-MERF's idea in a small version of our own: one noisy mean of random waves, then a generator.

Harder, Adamczewski and Park 2021.  Every row becomes a vector: pairs of cosines and sines of random
waves of its columns, of length one together, times the one-hot cell of its categories, and that
one-hot vector itself.  The mean over the rows is released once, with Gaussian noise (M1, M10
Algorithm 2).  A small network learns to draw rows whose mean vector is the released one; that is
post-processing.

Replace-one sensitivity of the mean: two rows of one cell differ in the waves alone, by at most 2;
two rows of different cells by sqrt(1 + 1) in either part, so by 2.  Hence 2 / n.

Unlike the paper's: scales of the waves are public (the paper takes the median distance of the
private rows); the shares of the cells come out of the same release; a half of each batch has its
error measured by the other half, so that few rows a batch do not pull the rows together; categories
of many cells go through the waves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from mercer.promise.events import gaussian_multiplier
from studies.shared.bins import Bins, Ints, rounded, simplex
from studies.shared.report import Floats
from studies.shared.tables import Domain, span

__all__ = ["Settings", "merf"]

CORNER = 0.2  # length of a level's coordinate, where numbers reach from 0 to 1
Singles = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Settings:
    """Sizes; all public."""

    frequencies: int = 500  # waves of all columns: twice as many coordinates in each cell
    lengths: tuple[float, float] = (0.03, 0.3)  # of waves, for columns in [0, 1]; log-uniform
    most_cells: int = 64  # of categories; with more, all categories go through the waves
    hidden: tuple[int, ...] = (128, 128)
    noise: int = 8  # inputs of the generator
    batch: int = 1024
    steps: int = 2000
    rates: tuple[float, float] = (1e-2, 3e-3)  # of Adam, for numbers, and where there are levels


def merf(
    frame: pd.DataFrame,
    domain: Domain,
    *,
    epsilon: float,
    delta: float,
    seed: int,
    settings: Settings | None = None,
) -> tuple[pd.DataFrame, Floats]:
    """As many rows as there are, and equal weights."""
    settings = settings or Settings()
    rng = np.random.default_rng(seed)
    layout = Layout(domain, settings.most_cells)
    waves = _frequencies(layout.width, settings, rng)
    noisy, shares = _released(frame, layout, waves, rng, epsilon=epsilon, delta=delta)
    shares = simplex(shares)
    generator = Generator.start(layout, settings, rng)
    generator.learn(noisy, shares, waves, settings, rng)
    cells = rng.permutation(np.repeat(np.arange(layout.cells), rounded(len(frame), shares, rng)))
    points = np.concatenate([generator.rows(part, rng) for part in _blocks(cells)])
    return layout.frame(points, cells), np.full(len(frame), 1 / len(frame))


def _blocks(cells: Ints) -> Iterator[Ints]:
    for start in range(0, len(cells), 4096):
        yield cells[start : start + 4096]


# --- rows as points and back ---------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Which columns are points of the waves, and which are cells."""

    domain: Domain
    most_cells: int

    @cached_property
    def levels(self) -> dict[str, int]:
        """Categories and how many levels they have."""
        return {k: len(v) for k, v in self.domain.items() if isinstance(v, list)}

    @cached_property
    def joint(self) -> list[str]:
        """Categories whose joint level is the cell: all, or none where there are too many."""
        few = np.prod(list(self.levels.values()), dtype=float) <= self.most_cells
        return list(self.levels) if few else []

    @property
    def cells(self) -> int:
        """Of the joint categories; one where there are none."""
        return int(np.prod([self.levels[k] for k in self.joint]))

    @cached_property
    def numbers(self) -> list[str]:
        """Columns of numbers and integers."""
        return [k for k in self.domain if k not in self.levels]

    @cached_property
    def loose(self) -> list[tuple[str, slice]]:
        """Categories that are corners of a simplex, and their coordinates."""
        names = [k for k in self.levels if k not in self.joint]
        ends = np.cumsum([len(self.numbers), *(self.levels[k] for k in names)]).tolist()
        return [(k, slice(a, b)) for k, (a, b) in zip(names, pairwise(ends), strict=True)]

    @property
    def width(self) -> int:
        """Coordinates of a point."""
        return self.loose[-1][1].stop if self.loose else len(self.numbers)

    def points(self, frame: pd.DataFrame) -> tuple[Floats, Ints]:
        """Points with coordinates in [0, 1], and cells."""
        points = np.zeros((len(frame), self.width))
        for j, name in enumerate(self.numbers):
            low, high = span(self.domain[name])
            values = np.nan_to_num(frame[name].to_numpy(dtype=float), nan=low)
            points[:, j] = (np.clip(values, low, high) - low) / (high - low)
        for name, where in self.loose:
            points[:, where] = np.eye(self.levels[name])[self._code(frame, name)] * CORNER
        cells = np.zeros(len(frame), dtype=np.int64)
        for name in self.joint:
            cells = cells * self.levels[name] + self._code(frame, name)
        return points, cells

    def _code(self, frame: pd.DataFrame, name: str) -> Ints:
        return Bins(self.domain[name], 0).code(frame[name])

    def frame(self, points: Any, cells: Ints) -> pd.DataFrame:
        """Rows from points and cells."""
        columns: dict[str, Any] = {}
        for j, name in enumerate(self.numbers):
            column, (low, high) = self.domain[name], span(self.domain[name])
            columns[name] = low + points[:, j].astype(float) * (high - low)
            if isinstance(column, range):
                places = np.rint((columns[name] - low) / column.step).astype(np.int64)
                columns[name] = np.array(column)[places]
        for name, where in self.loose:
            columns[name] = np.array(self.domain[name])[points[:, where].argmax(axis=1)]
        for name in reversed(self.joint):
            cells, code = np.divmod(cells, self.levels[name])
            columns[name] = np.array(self.domain[name])[code]
        return pd.DataFrame(columns)[list(self.domain)]


def _frequencies(width: int, settings: Settings, rng: np.random.Generator) -> Singles:
    """Normal directions, lengths log-uniform: a mixture of Gaussian kernels of several scales."""
    low, high = np.log(settings.lengths)
    lengths = np.exp(rng.uniform(low, high, settings.frequencies)) * np.sqrt(width)
    return (rng.normal(size=(width, settings.frequencies)) / lengths).astype(np.float32)


def _features(points: Any, waves: Singles) -> tuple[Singles, Singles]:
    """Cosines and sines; together of length one."""
    angles = points.astype(np.float32) @ waves
    root = np.float32(1 / np.sqrt(waves.shape[1]))
    return np.cos(angles) * root, np.sin(angles) * root


def _released(
    frame: pd.DataFrame,
    layout: Layout,
    waves: Singles,
    rng: np.random.Generator,
    *,
    epsilon: float,
    delta: float,
) -> tuple[Floats, Floats]:
    """The mean vector with its noise: all that is seen of the rows."""
    sd = 2 / len(frame) * gaussian_multiplier(epsilon=epsilon, delta=delta)
    mean, shares = _embedding(frame, layout, waves)
    return mean + sd * rng.normal(size=mean.shape), shares + sd * rng.normal(size=shares.shape)


def _embedding(frame: pd.DataFrame, layout: Layout, waves: Singles) -> tuple[Floats, Floats]:
    """Mean over the rows of waves times one-hot cells, (cells, 2 F), and shares of the cells."""
    points, cells = layout.points(frame)
    total = np.zeros((layout.cells, 2 * waves.shape[1]))
    for start in range(0, len(points), 4096):
        here = slice(start, start + 4096)
        found = np.concatenate(_features(points[here], waves), axis=1).astype(float)
        total += np.eye(layout.cells)[cells[here]].T @ found
    return total / len(frame), np.bincount(cells, minlength=layout.cells) / len(frame)


# --- the generator -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Generator:
    """Normal numbers and a one-hot cell in, a point out: layers of rectified sums."""

    layout: Layout
    noise: int
    weights: list[Singles]
    offsets: list[Singles]

    @classmethod
    def start(cls, layout: Layout, settings: Settings, rng: np.random.Generator) -> Generator:
        """Normal weights of the size that keeps the variance from layer to layer."""
        sizes = [settings.noise + layout.cells, *settings.hidden, layout.width]
        shapes = list(pairwise(sizes))
        weights = [(rng.normal(size=s) * np.sqrt(2 / s[0])).astype(np.float32) for s in shapes]
        return cls(layout, settings.noise, weights, [np.zeros(s[1], np.float32) for s in shapes])

    def forward(self, cells: Ints, rng: np.random.Generator) -> tuple[Singles, list[Singles]]:
        """Points, and what went into each layer, last the points before their hard levels."""
        noise = rng.standard_normal((len(cells), self.noise), dtype=np.float32)
        one_hot = np.eye(self.layout.cells, dtype=np.float32)[cells]
        inputs: list[Singles] = [np.concatenate([noise, one_hot], axis=1)]
        for w, b in zip(self.weights[:-1], self.offsets[:-1], strict=True):
            inputs.append(np.maximum(inputs[-1] @ w + b, 0))
        raw = inputs[-1] @ self.weights[-1] + self.offsets[-1]
        k = len(self.layout.numbers)
        soft = np.empty_like(raw)
        soft[:, :k] = raw[:, :k] + np.float32(0.5)
        points = np.clip(soft, 0, 1)
        for _, where in self.layout.loose:
            top = raw[:, where] - raw[:, where].max(axis=1, keepdims=True)
            soft[:, where] = np.exp(top) / np.exp(top).sum(axis=1, keepdims=True)
            top += rng.gumbel(size=top.shape).astype(np.float32)  # a level drawn with these chances
            best = top.argmax(axis=1)
            points[:, where] = np.eye(top.shape[1], dtype=np.float32)[best] * np.float32(CORNER)
        return points, [*inputs, soft]

    def rows(self, cells: Ints, rng: np.random.Generator) -> Singles:
        """Points alone."""
        return self.forward(cells, rng)[0]

    def gradients(self, slope: Singles, inputs: list[Singles]) -> list[Singles]:
        """Of a loss with this slope in the points; through levels as if they were soft."""
        *inputs, soft = inputs
        back = slope.copy()
        k = len(self.layout.numbers)
        back[:, :k] *= ((soft[:, :k] > 0) | (back[:, :k] < 0)) & ((soft[:, :k] < 1) | (back[:, :k] > 0))
        for _, where in self.layout.loose:
            part = slope[:, where] * np.float32(CORNER)
            inner = (part * soft[:, where]).sum(axis=1, keepdims=True)
            back[:, where] = soft[:, where] * (part - inner)
        found: list[Singles] = []
        for x, w in zip(reversed(inputs), reversed(self.weights), strict=True):
            found += [x.T @ back, back.sum(axis=0)]
            back = (back @ w.T) * (x > 0)
        return found

    def learn(
        self, mean: Floats, shares: Floats, waves: Singles, settings: Settings, rng: np.random.Generator
    ) -> None:
        """Adam on the squared distance between the generator's mean vector and `mean`.

        Its rate falls to zero as a cosine.
        """
        fastest = settings.rates[bool(self.layout.loose)]
        each = max(8, settings.batch // (2 * len(shares)))  # rows of a cell in half a batch
        cells = np.tile(np.repeat(np.arange(len(shares)), each), 2)
        goal, size = mean.astype(np.float32), shares.astype(np.float32)[:, None]
        layers = zip(reversed(self.weights), reversed(self.offsets), strict=True)
        values = [v for pair in layers for v in pair]
        first, second = ([np.zeros_like(v) for v in values] for _ in range(2))
        for step in range(settings.steps):
            points, inputs = self.forward(cells, rng)
            slope = _slope(points, goal, size, waves)
            rate = fastest * (1 + np.cos(np.pi * step / settings.steps)) / 2
            rate *= np.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
            slopes = self.gradients(slope, inputs)
            for v, g, a, b in zip(values, slopes, first, second, strict=True):
                a += 0.1 * (g - a)
                b += 0.001 * (g * g - b)
                v -= rate * a / (np.sqrt(b) + 1e-8)


def _slope(points: Singles, goal: Singles, size: Singles, waves: Singles) -> Singles:
    """Slope in the points of |size * mean of features - goal|^2, summed over the cells.

    Two halves of the batch: the error of one, times the slope of the other, is unbiased.
    """
    cells, f = goal.shape[0], waves.shape[1]
    cosines, sines = (v.reshape(2, cells, -1, f) for v in _features(points, waves))
    each = cosines.shape[2]
    errors = [size * v.mean(axis=2) - part for v, part in ((cosines, goal[:, :f]), (sines, goal[:, f:]))]
    other = [(e[::-1] * (size / each))[:, :, None, :] for e in errors]
    slope = sines * -other[0] + cosines * other[1]
    return slope.reshape(-1, f) @ waves.T
