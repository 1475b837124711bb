"""One run of a release function, and all it shows but noisy numbers.

An exception, a warning and the fields of a file are outputs, and so they are written down like
the release itself.  Which lines a run goes through is no output, but lines that one neighbour
alone goes through are a branch that follows the data, which another pair may turn into an output.

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
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from mercer.sensitive.base import Sensitive

__all__ = ["Run", "differing", "run_of"]

Line: TypeAlias = tuple[str, int]  # file and number
_ROOT = Path(__file__).parent.parent  # this library
_RIGHT = _ROOT / "releases"  # the folder right of the door
_STATEMENT = "privacy"  # field of a release
_REPEATED = 2  # calls from one line: one cell after another


@runtime_checkable
class _Saved(Protocol):
    """A release, or a part of it, that is saved as fields."""

    def to_dict(self) -> dict[str, Any]:
        """All its fields by name."""


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
    varied = bool(code.co_flags & (_VARARGS | _KEYWORDS | _GENERATOR))
    return bool(given) and not varied and not any(map(_holds_more, given))


_VARARGS, _KEYWORDS, _GENERATOR = 0x04, 0x08, 0x20  # flags of inspect


def _holds_more(value: Any) -> bool:
    if isinstance(value, (str, bytes)):
        return False
    if isinstance(value, (Sensitive, Iterator, CodeType)) or callable(value):
        return True
    return isinstance(value, Collection) or (isinstance(value, np.ndarray) and value.ndim > 0)
