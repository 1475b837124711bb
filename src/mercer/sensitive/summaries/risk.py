"""Penalised empirical risks of rows with labels, and their minima to a stated gradient.  Left of the door.

P(w) = (1/n) sum_i weight_i loss(y_i, w'phi(x_i)) + penalty |w|^2 + tilt'w / n is strongly convex:
|w - w*| <= |grad P(w)| / (2 penalty), so a small gradient is a certificate (M8, with gap
|grad P|^2 / (4 penalty)).  Newton's steps, from a start that a part of the rows gives, need a few
passes.  They may not arrive; then Nesterov's method takes over, whose gradient is below any target
after a number of passes that is public (`most_passes`, docs/proofs/machines.md).  So there is no
failure, whatever the records are.

Each pass reads the rows in the same pieces.  A piece is a fixed number of rows at a fixed place, so
neighbours differ in one row of one piece and in nothing else; small data are kept as features, large
ones are read and mapped anew, so that memory does not grow with the rows.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Bools, Floats, Ints
from mercer.common.quiet import threads
from mercer.sensitive.base import Sensitive
from mercer.sensitive.persons import person_weights
from mercer.sensitive.rows import Rows
from mercer.sensitive.summaries.density import PERSON
from mercer.spaces.losses import Loss
from mercer.spaces.maps import FeatureMap

__all__ = ["PIECE", "ExampleBatch", "Examples", "Machine", "Risk", "minimise", "most_passes"]

PIECE = 1 << 12  # rows of a piece
_KEPT = 1 << 28  # bytes of features that are kept between passes
_HELD = 5  # of so many rows one is held out, where a choice needs it
_NEWTON = 120  # passes that Newton's method may take
_HEAVY = 1 << 22  # numbers of a Hessian
_ROOT_STEPS = 30  # Newton steps on a part of the rows

Part: TypeAlias = Literal["all", "learnt", "held"]

S = TypeVar("S")
T = TypeVar("T")


class ExampleBatch(NamedTuple):
    """Features (or points), targets and weights of some rows; those that do not fit weigh zero (M18)."""

    phi: Floats
    target: Floats
    weight: Floats


class Examples(Sensitive):
    """Rows with labels, the targets in the last column, as features in fixed pieces."""

    def __init__(self, rows: Rows, domain: Box, part: Part = "all") -> None:
        self.domain, self._rows, self._part = domain, rows, part
        self.rows = 0  # rows read
        self.complete = 0  # of them with values.  Sensitive, unless its number is public
        self._map: FeatureMap | None = None
        self._pieces: list[ExampleBatch] | None = None
        self._people: Callable[[], Iterator[Floats]] | None = None
        self.persons = 0
        if rows.unit is not None:
            self.persons, people = person_weights(rows, PERSON)
            self._people = lambda: (chunk / PERSON for chunk in people())
        self._count()

    def _count(self) -> None:
        for chunk, _ in self._chunks():
            self.rows += len(chunk)
            self.complete += int(np.isfinite(chunk).all(axis=1).sum())
        self._rows.progress(lambda _rows: None)  # how many passes follow is the records' business

    def on(self, features: FeatureMap) -> None:
        """Use the features of this map in the passes that follow."""
        if features is not self._map:
            self._map, self._pieces = features, None

    def fold(self, work: Callable[[ExampleBatch], T], stride: int = 1, *, heavy: bool = False) -> Iterator[T]:
        """`work` of every piece, in order; of every `stride`-th row of each, if that is given.

        Results that are `heavy` are made one at a time.
        """
        assert self._map is not None
        keep = self._map.size * 8 * self.rows <= _KEPT
        workers = 1 if heavy else _workers()
        if self._pieces is None and keep:
            self._pieces = list(_ordered(self._raw(1), self._piece, workers))
        if self._pieces is not None:
            kept = iter(self._pieces)
            some = kept if stride == 1 else (_thin(piece, stride) for piece in kept)
            if len(self._pieces) == 1:  # threads would cost more than they bring
                return map(work, some)
            return _ordered(some, work, workers)
        return _ordered(self._raw(stride), lambda raw: work(self._piece(raw)), workers)

    def fold_points(self, work: Callable[[ExampleBatch], T]) -> Iterator[T]:
        """`work` of every piece, in order, with points of the unit cube in the place of features."""
        return _ordered(self._raw(1), lambda raw: work(self._points(raw)), _workers())

    def _raw(self, stride: int) -> Iterator[tuple[Floats, Floats]]:
        """Pieces of the same length however the source is cut, but for the last."""
        length = PIECE * stride
        rest: list[tuple[Floats, Floats]] = []
        held = 0
        for chunk, weight in self._chunks():
            start = 0
            while held + len(chunk) - start >= length:
                stop = start + length - held
                yield _joined([*rest, (chunk[start:stop], weight[start:stop])], stride)
                rest, held, start = [], 0, stop
            rest.append((chunk[start:], weight[start:]))
            held += len(chunk) - start
        if held:
            yield _joined(rest, stride)

    def _chunks(self) -> Iterator[tuple[Floats, Floats]]:
        """Rows of this part and their weights: every fifth row, by its place, is held out."""
        people, seen = None if self._people is None else self._people(), 0
        for chunk in self._rows.chunks():
            weight = np.ones(len(chunk)) if people is None else next(people)
            if self._part == "all":
                yield chunk, weight
            else:
                place = np.arange(seen, seen + len(chunk), dtype=np.int64) % _HELD
                mine: Bools = place == _HELD - 1
                if self._part == "learnt":
                    mine = ~mine
                yield chunk[mine], weight[mine]
            seen += len(chunk)

    def _piece(self, raw: tuple[Floats, Floats]) -> ExampleBatch:
        assert self._map is not None
        points = self._points(raw)
        return points._replace(phi=self._map.features(points.phi))

    def _points(self, raw: tuple[Floats, Floats]) -> ExampleBatch:
        chunk, weight = raw
        x, target = chunk[:, :-1], chunk[:, -1]
        whole: Bools = np.all(np.isfinite(chunk), axis=1)
        with np.errstate(all="ignore"):
            unit = self.domain.to_unit(np.where(whole[:, None], x, self.domain.lower))
        unit = np.ascontiguousarray(unit)  # the same bits however the source lays out its columns
        return ExampleBatch(unit, np.where(whole, target, 0.0), weight * whole)


@dataclass(frozen=True)
class Machine:
    """What is public of one function to be learnt: its loss, its penalty and its class."""

    loss: Loss
    penalty: float
    wanted: int | None = None  # the class that counts as 1, the others as -1; None: the response

    def target(self, values: Floats) -> Floats:
        """The value that the function is fitted to at each row, from the target that was read."""
        return values if self.wanted is None else np.where(values == self.wanted, 1.0, -1.0)


@dataclass(frozen=True, repr=False)
class Risk(Sensitive):
    """The objectives P of K machines on the same features."""

    examples: Examples
    machines: tuple[Machine, ...]
    size: int  # features
    n: int
    kappa: float
    tilt: Floats  # K x size; zero but for noise in the objective

    @cached_property
    def penalties(self) -> Floats:
        """The penalties of the machines, shape (K, 1)."""
        return np.array([machine.penalty for machine in self.machines])[:, None]

    @cached_property
    def _alike(self) -> list[tuple[Machine, Ints]]:
        """Machines of the same loss and target are worked on together."""
        kinds: dict[tuple[Loss, int | None], list[int]] = {}
        for place, machine in enumerate(self.machines):
            kinds.setdefault((machine.loss, machine.wanted), []).append(place)
        return [(self.machines[places[0]], np.array(places)) for places in kinds.values()]

    def sweep(self, w: Floats, *, curve: bool, stride: int = 1) -> Sums:
        """Value, gradient and, if asked for, Hessian of all K objectives: one pass."""
        many, alike = len(self.machines), self._alike

        def work(piece: ExampleBatch) -> tuple[Floats, Floats, Floats | None]:
            f = piece.phi @ w.T
            value, slope, curves = (np.empty(many), np.empty((many, len(f))), np.empty((many, len(f))))
            for machine, places in alike:
                target = machine.target(piece.target)[:, None]
                jet = machine.loss.jet(f[:, places], target)
                value[places] = piece.weight @ jet.value
                slope[places] = (piece.weight[:, None] * jet.slope).T
                curves[places] = (piece.weight[:, None] * jet.curve).T
            return value, slope @ piece.phi, _hessians(piece.phi, curves) if curve else None

        value, gradient = np.zeros(many), np.zeros(w.shape)
        hessian = np.zeros((many, self.size, self.size)) if curve else None
        heavy = curve and many * self.size**2 > _HEAVY
        for values, slopes, bends in self.examples.fold(work, stride, heavy=heavy):
            value += values
            gradient += slopes
            if hessian is not None and bends is not None:
                hessian += bends
        rows = self.n / stride
        value = value / rows + self.penalties[:, 0] * np.sum(w**2, axis=1)
        value += np.sum(self.tilt * w, axis=1) / self.n
        gradient = gradient / rows + 2 * self.penalties * w + self.tilt / self.n
        if hessian is not None:
            hessian /= rows
            hessian += 2 * self.penalties[:, :, None] * np.eye(self.size)
        return Sums(value, gradient, hessian)


class Sums(NamedTuple):
    """Values, gradients and Hessians of the objectives after a pass over the rows."""

    value: Floats
    gradient: Floats
    hessian: Floats | None

    @property
    def norms(self) -> Floats:
        """Euclidean norm of each machine's gradient."""
        return np.asarray(np.linalg.norm(self.gradient, axis=1))


def minimise(risk: Risk, aims: Floats) -> Floats:
    """Weights of all machines, each with |gradient| at most its aim."""
    w = np.zeros((len(risk.machines), risk.size))
    hessian: Floats | None = None
    for stride in (64, 8):
        if risk.n // stride >= 32 * risk.size and risk.n > 4 * PIECE:
            root = 0.02 * risk.kappa * math.sqrt(stride / risk.n)  # the part itself says no more
            w, hessian, _ = _newton(risk, w, None, np.maximum(root, aims), _ROOT_STEPS, stride)
    w, _, done = _newton(risk, w, hessian, aims, _NEWTON, 1)
    return w if done else _nesterov(risk, w, aims)


def _newton(
    risk: Risk, w: Floats, hessian: Floats | None, aims: Floats, most: int, stride: int
) -> tuple[Floats, Floats | None, bool]:
    """Damped Newton steps; a Hessian serves as long as gradients fall to a third.

    One from a part of the rows serves for the first step only, where the next is found.
    """
    borrowed = hessian is not None
    here = risk.sweep(w, curve=not borrowed, stride=stride)
    hessian = here.hessian if hessian is None else hessian
    length, fresh = np.ones(len(w)), not borrowed  # whether the Hessian is that of w
    for _ in range(most):
        if np.all(here.norms <= aims):
            return w, hessian, True
        assert hessian is not None
        step = np.asarray(np.linalg.solve(hessian, here.gradient[..., None])[..., 0])
        trial = w - length[:, None] * step
        there = risk.sweep(trial, curve=borrowed, stride=stride)
        slope = np.sum(step * here.gradient, axis=1)
        falls = there.value <= here.value - 1e-4 * length * slope
        good = falls | (there.norms <= here.norms / 2)
        poor = ~(there.norms <= np.maximum(here.norms / 3, aims))
        w = np.where(good[:, None], trial, w)
        here = Sums(
            np.where(good, there.value, here.value),
            np.where(good[:, None], there.gradient, here.gradient),
            None,
        )
        if borrowed:
            hessian, borrowed, fresh = there.hessian, False, bool(np.all(good))
            continue
        if fresh:  # shorter steps only where the Hessian is not to blame
            length = np.where(good, np.minimum(1.0, 4 * length), length / 4)
        fresh = fresh and not np.any(good)
        if np.any(poor) and not fresh:
            here = risk.sweep(w, curve=True, stride=stride)
            hessian, fresh = here.hessian, True
    return w, hessian, bool(np.all(here.norms <= aims))


def _hessians(phi: Floats, curves: Floats) -> Floats:
    """sum_i curve_ki phi_i phi_i' for each machine k."""
    if phi.shape[1] <= 8:
        return np.einsum("kn,ni,nj->kij", curves, phi, phi, optimize=True)
    halves = (phi * np.sqrt(curve)[:, None] for curve in curves)
    return np.stack([half.T @ half for half in halves])


def _smoothness(risk: Risk) -> Floats:
    """L of each machine, as a column: no second derivative of its objective is above."""
    curvature = np.array([[machine.loss.curvature] for machine in risk.machines])
    return curvature * risk.kappa**2 + 2 * risk.penalties


def most_passes(risk: Risk, aims: Floats) -> int:
    """Passes after which every gradient is below its aim: public.

    With t = sqrt(2 penalty / L), Nesterov's method from a point of value at most P(0) (or 0 itself)
    has |grad|^2 <= 2 L (P - P*) <= 4 L P(0) (1 - t)^k after k passes, P(0) - P* <= at_zero + tilt's
    part.
    """
    top, penalty = _smoothness(risk)[:, 0], risk.penalties[:, 0]
    rate = -np.log1p(-np.minimum(np.sqrt(2 * penalty / top), 1 - 2.0**-40))
    start = np.array([machine.loss.at_zero for machine in risk.machines])
    start = start + np.sum(risk.tilt**2, axis=1) / (4 * penalty * risk.n**2)
    steps = np.log(4 * top * start / np.square(aims)) / rate
    newton = 2 * (_NEWTON + 2 * _ROOT_STEPS) + 3  # on all rows, and on two parts of them
    return newton + 2 + 2 * max(1, math.ceil(float(steps.max())) + 1)


def _nesterov(risk: Risk, w: Floats, aims: Floats) -> Floats:
    """Gradient steps with momentum; every one a pass over the rows."""
    zero = np.zeros_like(w)
    there, here = risk.sweep(zero, curve=False), risk.sweep(w, curve=False)
    lower = (here.value <= there.value)[:, None]
    w = np.where(lower, w, zero)
    here = Sums(here.value, np.where(lower, here.gradient, there.gradient), None)
    top = _smoothness(risk)
    t = np.sqrt(2 * risk.penalties / top)
    ahead = w
    while not np.all(here.norms <= aims):
        there = risk.sweep(ahead, curve=False)
        after = ahead - there.gradient / top
        ahead = after + (1 - t) / (1 + t) * (after - w)
        w, here = after, risk.sweep(after, curve=False)
    return w


def _joined(parts: list[tuple[Floats, Floats]], stride: int) -> tuple[Floats, Floats]:
    if len(parts) == 1:
        return parts[0][0][::stride], parts[0][1][::stride]
    chunk, weight = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return chunk[::stride], weight[::stride]


def _thin(piece: ExampleBatch, stride: int) -> ExampleBatch:
    return ExampleBatch(*(np.ascontiguousarray(part[::stride]) for part in piece))


@cache
def _libraries() -> Any:
    """Linear algebra's own threads; to look for them takes as long as a small pass."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _workers() -> int:
    return min(os.cpu_count() or 1, 8)


def _ordered(items: Iterator[S], work: Callable[[S], T], workers: int) -> Iterator[T]:
    """`work` on several threads, results in order, few items at a time."""
    with _libraries().limit(limits=1), threads(workers) as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
