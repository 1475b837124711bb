"""The replay test: one release function on two neighbours with its noise frozen.

A promise rests on a bound for what one record can change.  A replay runs the function on D and
on D', shows every number that is about to get noise together with its declared bound, and checks
that

- each change, in the declared norm, is within the declared sensitivity;
- both runs ask for the same noise: same laws, same scales, same sizes;
- both runs end alike, with a release or with the same exception, and with the same warnings: what
  a record decides without noise is an output, whichever way it gets out;
- what they return has the same fields, of the same types, and the same statement of privacy;
- both runs go through the same lines of the code left of the door (mercer/audits/runs.py says
  what that is): how often shows in time only (docs/limits.md).

It finds what no audit can: a bound that holds on the pairs one thought of and fails on this one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.audits.runs import Run, differing, run_of
from mercer.common.checks import Floats
from mercer.noise.frozen import Frozen

__all__ = ["Change", "Replay", "replay"]


@dataclass(frozen=True)
class Change:
    """How far one sensitive intermediate moved, and how far it may."""

    what: str
    norm: str
    measured: float
    declared: float

    @property
    def within(self) -> bool:
        """Whether the bound held on this pair; moments are measured by a program to 1e-6."""
        slack = 1e-6 if self.norm in ("cosines", "moments") else 0.0
        return self.measured <= self.declared * (1 + slack)


@dataclass(frozen=True)
class Replay:
    """In what two runs on neighbouring data with the same noise agree, and in what they differ."""

    changes: tuple[Change, ...]
    same_noise: bool  # both runs asked for the same draws
    same_path: bool  # and ran through the same lines
    same_end: bool = True  # both released, or both raised the same error with the same text
    same_warnings: bool = True
    same_file: bool = True  # what they returned has the same fields
    ended: tuple[str, str] = ("a release", "a release")  # or the type of the exception
    lines: tuple[str, ...] = ()  # that one run went through alone

    @property
    def kept(self) -> bool:
        """Whether something was shown, and the pair shows no fault in it.

        What leaves a function by another way than Mercer's door, an exception, a warning or what
        it returns is not seen.
        """
        seen = bool(self.changes) and all(c.within for c in self.changes)
        same = self.same_noise and self.same_path and self.same_end
        return seen and same and self.same_warnings and self.same_file

    def __str__(self) -> str:
        lines = [
            f"{c.what}: moved by {c.measured:.6g} of {c.declared:.6g} allowed ({c.norm})"
            + ("" if c.within else "  EXCEEDED")
            for c in self.changes
        ] or ["nothing sensitive was shown"]
        one, two = self.ended
        if not self.same_end and one == two:
            lines.append(f"both runs ended with {one}, with DIFFERENT texts: they follow the data")
        elif not self.same_end:
            lines.append(f"one run ended with {one}, the other with {two}: an exception follows the data")
        elif one != "a release":
            lines.append(f"both runs ended with the same {one}")
        if not self.same_warnings:
            lines.append("the two runs gave DIFFERENT warnings: a warning follows the data")
        if not self.same_file:
            lines.append("the two runs returned DIFFERENT fields: what is released follows the data")
        if not self.same_noise:
            lines.append("the two runs asked for DIFFERENT noise: a parameter follows the data")
        if not self.same_path:
            first = ", ".join(self.lines[:5]) + (", …" if len(self.lines) > 5 else "")
            lines.append(f"the two runs took DIFFERENT paths: a branch follows the data ({first})")
        return "\n".join(lines)


def replay(function: Callable[..., Any], neighbours: tuple[Any, Any]) -> Replay:
    """Run `function(data, rng=...)` on both neighbours with frozen noise and compare.

    `function` passes `rng` on to the release function.

    Examples
    --------
    >>> import mercer
    >>> def release(data, rng):
    ...     return mercer.density(data, bounds=(0, 1), epsilon=1, rng=rng)
    >>> mercer.replay(release, ([0.1, 0.5, 0.9], [0.1, 0.5, 0.2])).kept
    True

    """
    with suppress(Exception):  # once before: what is computed once is computed
        function(neighbours[0], rng=Frozen())
    noise = [Frozen()]
    noise.append(Frozen(noise[0]))
    runs = [
        run_of(lambda data=data, frozen=frozen: function(data, rng=frozen))  # type: ignore[misc]
        for data, frozen in zip(neighbours, noise, strict=True)
    ]
    one, two = noise
    same = one.asked == two.asked and len(one.shown) == len(two.shown)
    changes = []
    for (what, a, declared), (_, b, again) in zip(one.shown, two.shown, strict=False):
        same = same and declared == again and np.shape(a) == np.shape(b)
        if np.shape(a) == np.shape(b):
            moved = measure(np.asarray(a), np.asarray(b), declared.norm)
            changes.append(Change(what, declared.norm, moved, declared.value))
    return _found(changes, runs[0], runs[1], same_noise=same)


def _found(changes: list[Change], one: Run, two: Run, *, same_noise: bool) -> Replay:
    """Compare two runs; fields are not compared where the runs ended differently."""
    alike = one.raised == two.raised
    lines = tuple(differing(one, two))
    ended = ["a release" if run.raised is None else run.raised[0] for run in (one, two)]
    return Replay(
        tuple(changes),
        same_noise,
        same_path=not lines,
        same_end=alike,
        same_warnings=one.warned == two.warned,
        same_file=one.file == two.file or not alike,
        ended=(ended[0], ended[1]),
        lines=lines,
    )


def measure(one: Any, two: Any, norm: str) -> float:
    """The distance between two intermediates, in a norm of `Sensitivity`."""
    change = np.array([float(a - b) for a, b in zip(one.reshape(-1), two.reshape(-1), strict=True)])
    if norm == "l1":
        return float(np.sum(np.abs(change)))
    if norm == "l2":
        return float(np.sqrt(np.sum(change**2)))
    if norm == "score":
        return float(np.max(np.abs(change)))
    if norm in ("cosines", "moments"):
        return _split(change, real=norm == "cosines")
    raise ValueError(f"a change in the norm {norm!r} cannot be measured")


def _split(change: Floats, *, real: bool) -> float:
    """The least v for which the change of (c_0, c) is t - t' with both of mass at most v.

    A linear program over measures on a fine grid of the circle: an upper bound, since the grid is
    not all of it.
    """
    if not np.any(change):
        return 0.0
    m = change.size - 1 if real else (change.size - 1) // 2
    turn = np.pi if real else 2 * np.pi
    coarse = np.arange(0, 1025) / 1024 * turn
    scale = float(np.max(np.abs(change)))
    found, masses = _program(coarse, change / scale, m, real=real)
    if not np.isfinite(found):
        return np.inf
    points, step = coarse, turn / 1024
    for _ in range(2):  # then only around the points that matter
        near = points[masses >= 1e-9 * masses.max()]
        offsets = np.arange(-16, 17) / 16 * step
        points = np.unique(np.clip((near[:, None] + offsets).reshape(-1), 0.0, turn))
        less, masses = _program(points, change / scale, m, real=real)
        if not np.isfinite(less):
            break
        found, step = min(found, less), step / 16
    return found * scale


def _program(points: Floats, change: Floats, m: int, *, real: bool) -> tuple[float, Floats]:
    """The least v with measures on these points only, and the mass on each point."""
    from scipy.optimize import linprog

    rows = [np.cos(j * points) for j in range(m + 1)]
    if not real:
        rows += [np.sin(j * points) for j in range(1, m + 1)]
    table = np.array(rows)
    count = points.size
    equal = np.hstack([table, -table, np.zeros((len(rows), 1))])
    above = np.zeros((2, 2 * count + 1))
    above[0, :count] = above[1, count:-1] = 1.0
    above[:, -1] = -1.0
    cost = np.zeros(2 * count + 1)
    cost[-1] = 1.0
    found: Any = linprog(cost, A_ub=above, b_ub=[0, 0], A_eq=equal, b_eq=change, method="highs")
    if not found.success:
        return np.inf, np.zeros(count)
    return float(found.x[-1]), found.x[:count] + found.x[count:-1]
