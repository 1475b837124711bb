"""The replay test: one release function on two neighbours with its noise frozen.  Layer 6.

A promise rests on a bound for what one record can change.  A replay runs the function on D and
on D', shows every number that is about to get noise together with its declared bound, and checks
that

- each change, in the declared norm, is within the declared sensitivity;
- both runs ask for the same noise: same laws, same scales, same sizes;
- both runs go through the same lines of the code left of the door, each equally often.  Loops
  over different scores, over distances to a bin and passes of a solver are exempt: their length
  shows in time only
  (docs/limits.md).

It sees what no audit can: a bound that holds on the pairs one thought of and fails on this one.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from mercer.checks import Floats
from mercer.entropy import Entropy
from mercer.privacy import Sensitivity

__all__ = ["Change", "Replay", "replay"]

_ROOT = Path(__file__).parent
# what may see records: no branch of these may depend on a value
_LEFT = ("answers", "api", "averager", "averaging", "axes", "bandwidths", "cell_draws",
         "cell_sorts", "cells", "centers", "column_law_draws", "count_asked", "counting",
         "curve_bounds", "curve_chunks", "curve_data", "curve_fda", "curve_grids",
         "curve_groups", "curve_points", "curve_recipes", "data", "domain", "draws",
         "entropy", "files", "folding", "histograms", "learner", "learning",
         "live_cholesky", "lives", "machine_recipes", "margin_tables", "mechanisms", "names",
         "optimal_draws", "own_synthesis", "persons", "publish", "random_draws",
         "recipes", "record_data", "rules", "rules_curves", "rules_machines",
         "rules_pure", "selection", "small_databases", "summaries", "synthesis",
         "table_maker", "table_recipes", "tables", "targets", "weaker")  # fmt: skip

_EXEMPT = {
    "exponential.py": ("compute", "_distinct", "_exact", "<genexpr>"),
    "ranks.py": ("_first", "_leaves"),
    # cells that are no numbers are converted one by one: that shows in time only
    "curve_points.py": ("numbers_in", "_cells"),
    "cell_sorts.py": ("by_sort", "_sorted"),
    # draws near a step are settled one by one, cells that pass are few or many: time only
    "whole_draws.py": ("_floors", "_search", "passing", "<lambda>", "ball", "beyond", "edge"),
    # persons are numbered as they come up: their number in a chunk shows in time only, and so
    # does how many of their rows are sorted at once
    "persons.py": ("<listcomp>", "numbers", "_gather", "rows"),
    "names.py": ("person_name", "_told", "_whole", "_moment"),  # cell by cell: time only
    "table_maker.py": ("<lambda>",),  # a search in the released numbers
    "record_data.py": ("_cells_of", "<genexpr>", "<listcomp>"),
    # passes of a solver: how many there are shows in time only (docs/proofs/machines.md, 2)
    "newton.py": (
        "minimise",
        "_newton",
        "_nesterov",
        "_steps",
        "_hessians",
        "_smoothness",
        "sweep",
        "work",
        "norms",
        "penalties",
        "target",
        "_alike",
        "<listcomp>",
    ),
    "examples.py": ("fold", "_ordered", "_raw", "_chunks", "_piece", "_thin", "<genexpr>"),
}


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
    """What a replay found."""

    changes: tuple[Change, ...]
    same_noise: bool  # both runs asked for the same draws
    same_path: bool  # and ran through the same lines

    @property
    def kept(self) -> bool:
        """Whether something was shown, and the pair shows no fault in it.

        What leaves a function by another way than Mercer's door is not seen.
        """
        seen = bool(self.changes) and all(c.within for c in self.changes)
        return seen and self.same_noise and self.same_path

    def __str__(self) -> str:
        lines = [
            f"{c.what}: moved by {c.measured:.6g} of {c.declared:.6g} allowed ({c.norm})"
            + ("" if c.within else "  EXCEEDED")
            for c in self.changes
        ]
        if not self.same_noise:
            lines.append("the two runs asked for DIFFERENT noise: a parameter follows the data")
        if not self.same_path:
            lines.append("the two runs took DIFFERENT paths: a branch follows the data")
        return "\n".join(lines or ["nothing sensitive was shown"])


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
    function(neighbours[0], rng=_Frozen())  # once before: what is computed once is computed
    runs, paths = [], []
    for data in neighbours:
        frozen = _Frozen()
        paths.append(_path(lambda data=data, frozen=frozen: function(data, rng=frozen)))  # type: ignore[misc]
        runs.append(frozen)
    one, two = runs
    same = one.asked == two.asked and len(one.shown) == len(two.shown)
    changes = []
    for (what, a, declared), (_, b, again) in zip(one.shown, two.shown, strict=False):
        same = same and declared == again and np.shape(a) == np.shape(b)
        if np.shape(a) == np.shape(b):
            moved = measure(np.asarray(a), np.asarray(b), declared.norm)
            changes.append(Change(what, declared.norm, moved, declared.value))
    return Replay(tuple(changes), same, paths[0] == paths[1])


def measure(one: Any, two: Any, norm: str) -> float:
    """The change from one to the other in a norm of `Sensitivity`."""
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


class _Frozen(Entropy):
    """Noise that is always the same; writes down what was asked for and what was shown."""

    secure = False

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.shown: list[tuple[str, Any, Sensitivity]] = []

    def discrete_gaussian(self, scale: float, size: int) -> list[int]:
        self.asked.append(("gaussian", scale, size))
        return [0] * size

    def discrete_laplace(self, scale: float, size: int) -> list[int]:
        self.asked.append(("laplace", scale, size))
        return [0] * size

    def octets(self, count: int) -> bytes:
        self.asked.append(("bytes", count))
        turn = bytes(1 + (7 * i) % 255 for i in range(255))
        return (turn * (count // 255 + 1))[:count]

    def parameters(self, *public: Any) -> None:
        self.asked.append(("parameters", *public))

    def witness(self, what: str, value: Any, sensitivity: Any) -> None:
        self.shown.append((what, value() if callable(value) else value, sensitivity))


def _path(call: Callable[[], Any]) -> Counter[tuple[str, int]]:
    """How often a call runs through each line of the modules left of the door, in all threads."""
    seen: Counter[tuple[str, int]] = Counter()

    @cache  # asked at every call, of few functions
    def watched(code: str, name: str) -> bool:
        path = Path(code)
        if _ROOT not in path.parents or name in _EXEMPT.get(path.name, ()):
            return False
        return path.relative_to(_ROOT).with_suffix("").parts[0] in _LEFT

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        return (
            line
            if event == "call" and watched(frame.f_code.co_filename, frame.f_code.co_name)
            else None
        )

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen[frame.f_code.co_filename, frame.f_lineno] += 1
        return line

    before = sys.gettrace()
    sys.settrace(enter)
    threading.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
        threading.settrace(None)
    return seen
