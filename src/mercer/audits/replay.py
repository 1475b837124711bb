"""The replay test: one release function on two neighbours with its noise frozen.

A promise rests on a bound for what one record can change.  A replay runs the function on D and
on D', shows every number that is about to get noise together with its declared bound, and checks
that

- each change, in the declared norm, is within the declared sensitivity;
- both runs ask for the same noise: same laws, same scales, same sizes;
- both runs end alike, with a release or with the same exception, and with the same warnings: what
  a record decides without noise is an output, whichever way it gets out;
- what they return has the same fields, of the same types, and the same statement of privacy;
- both runs go through the same lines of the code left of the door: lines that one neighbour alone goes
  through are a branch that follows the data, which another pair may turn into an output.

It finds what no audit can: a bound that holds on the pairs one thought of and fails on this one.

No module and no function is named here.  Watched are all folders of this library but what lies
to the right of the door (`releases/`), with whatever is called from there: it sees releases only,
so its paths and its warnings follow noisy numbers.  How often a line is run
is not compared: that shows in time only (docs/limits.md).  Nor are the lines of a function that
is handed one cell after another, equally often on both sides, where all it is given is that cell:
how one cell is read shows in time, and what comes of it in the numbers, warnings, exceptions and
in the path of whatever sees the cells together.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from mercer.audits.distances import measure
from mercer.noise.frozen import Frozen
from mercer.sensitive.base import Sensitive

__all__ = ["Change", "Replay", "replay"]

Line: TypeAlias = tuple[str, int]  # file and number
_ROOT = Path(__file__).parent.parent  # this library
_RIGHT = _ROOT / "releases"  # the folder right of the door
_STATEMENT = "privacy"  # field of a release
_REPEATED = 2  # calls from one line: one cell after another


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
    first, second = runs
    alike, lines = first.raised == second.raised, tuple(differing(first, second))
    ended = ["a release" if run.raised is None else run.raised[0] for run in runs]
    return Replay(
        tuple(changes),
        same,
        same_path=not lines,
        same_end=alike,
        same_warnings=first.warned == second.warned,
        same_file=first.file == second.file or not alike,  # not compared where they ended differently
        ended=(ended[0], ended[1]),
        lines=lines,
    )


@runtime_checkable
class _Saved(Protocol):
    """A release, or a part of it, that is saved as fields."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of its file by name."""


@dataclass
class _Cells:
    """Calls of a function for one cell after another, from one line."""

    calls: int = 0
    lines: set[Line] = field(default_factory=set)


@dataclass(frozen=True)
class Run:
    """What a run showed but noisy numbers, and the lines that it went through."""

    raised: tuple[str, str] | None  # type and text of an exception
    warned: tuple[tuple[str, str], ...]  # categories and texts, sorted
    file: Any  # names and types of the fields of what was returned
    lines: frozenset[Line]
    cells: Mapping[Any, _Cells]


def run_of(call: Callable[[], Any]) -> Run:
    """Run a function, and follow it in all its threads."""
    watch = _Watch()
    raised, result = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = watch.warned  # type: ignore[assignment]
        before, of_threads = sys.gettrace(), threading.gettrace()
        sys.settrace(watch.enter)
        threading.settrace(watch.enter)
        try:
            result = call()
        except Exception as error:
            raised = type(error).__qualname__, str(error)
        finally:
            sys.settrace(before)
            threading.settrace(of_threads)
    shape = None if raised else shape_of(result)
    return Run(raised, tuple(sorted(watch.told)), shape, frozenset(watch.lines), watch.cells)


def differing(one: Run, two: Run) -> list[str]:
    """The lines that only one of two runs went through, as `file.py:12`."""
    lines = [set(run.lines) for run in (one, two)]
    for key in one.cells.keys() | two.cells.keys():
        calls = [run.cells[key] if key in run.cells else _Cells() for run in (one, two)]
        if not calls[0].calls == calls[1].calls >= _REPEATED:
            for run, cells in zip(lines, calls, strict=True):
                run |= cells.lines
    return [f"{Path(file).name}:{number}" for file, number in sorted(lines[0] ^ lines[1])]


def shape_of(value: Any) -> Any:
    """Names and types of all fields, and the values of a statement of privacy.

    Lengths, texts and numbers of other fields may follow the noisy numbers: a smoothing chosen to
    suit them, cells above a threshold.
    """
    match value:
        case Mapping():
            return {
                str(name): _exactly(part) if name == _STATEMENT else shape_of(part)
                for name, part in value.items()
            }
        case str() | bool() | None:
            return type(value).__name__
        case int() | float() | np.number():
            return "number"
        case list() | tuple():
            return sorted({repr(shape_of(part)) for part in value})
        case np.ndarray():
            return str(value.dtype), value.ndim
        case _Saved():
            return shape_of(value.to_dict())
    return type(value).__name__


def _exactly(value: Any) -> Any:
    return value.to_dict() if isinstance(value, _Saved) else value


class _Watch:
    """A trace function of `sys.settrace` that follows the calls of all threads."""

    def __init__(self) -> None:
        self.lines: set[Line] = set()
        self.cells: dict[Any, _Cells] = {}
        self.told: list[tuple[str, str]] = []
        self._of = _Thread()
        self._places: dict[str, bool | None] = {}  # by file: right of the door; None outside

    def warned(self, message: Any, category: type[Warning], *_: Any) -> None:
        """Note a warning, unless it comes from the right of the door."""
        if not self._of.right:
            self.told.append((category.__name__, str(message)))

    def enter(self, frame: FrameType, event: str, _: Any) -> Any:
        """Decide how a call is followed."""
        of = self._of
        if event != "call" or of.right:
            return None
        right = self._right_of_the_door(frame)
        if right is None:
            return None
        if right:
            of.right = True
            frame.f_trace_lines = False
            return self._leave_right
        if of.cells is not None:
            return self._line_of_cell
        caller = frame.f_back
        key = frame.f_code, caller and (caller.f_code, caller.f_lineno)
        if key in self.cells or _of_one_cell(frame):  # a cell may be a list too
            of.cells = self.cells.setdefault(key, _Cells())
            of.cells.calls += 1
            return self._first_of_cell
        return self._line

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def _line_of_cell(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and self._of.cells is not None:
            self._of.cells.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line_of_cell

    def _first_of_cell(self, frame: FrameType, event: str, _: Any) -> Any:
        self._line_of_cell(frame, event, None)
        if event == "return":
            self._of.cells = None
        return self._first_of_cell

    def _leave_right(self, _frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            self._of.right = False
        return self._leave_right

    def _right_of_the_door(self, frame: FrameType) -> bool | None:
        name = frame.f_code.co_filename
        if name not in self._places:
            file = Path(name)
            inside = file.is_relative_to(_ROOT) and name != __file__
            self._places[name] = file.is_relative_to(_RIGHT) if inside else None
        return self._places[name]


class _Thread(threading.local):
    right = False  # inside a call of what lies right of the door
    cells: _Cells | None = None  # inside a call for one cell


def _of_one_cell(frame: FrameType) -> bool:
    """Whether all that a function is given can be one cell: no array, table, list or function."""
    code = frame.f_code
    many = code.co_argcount + code.co_kwonlyargcount
    given = [frame.f_locals[name] for name in code.co_varnames[:many] if name in frame.f_locals]
    varied = bool(code.co_flags & (CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR))
    return bool(given) and not varied and not any(map(_holds_more, given))


def _holds_more(value: Any) -> bool:
    if isinstance(value, (str, bytes)):
        return False
    if isinstance(value, (Sensitive, Iterator, CodeType)) or callable(value):
        return True
    return isinstance(value, Collection) or (isinstance(value, np.ndarray) and value.ndim > 0)
