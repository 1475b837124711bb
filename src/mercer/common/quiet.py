"""Silence where records are read: a warning is an output, and no noise is in it.  M18.

What NumPy says of a number (NaN, overflow, a cast) and what other libraries say of a cell depends
on records.  `quietly` keeps both from a call that is handed records, `threads` from the threads
that work for it, which do not inherit NumPy's settings.  Mercer's own warnings follow from public
arguments and pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import numpy as np

from mercer.common.checks import PrivacyWarning

__all__ = ["quiet", "quietly", "threads"]

P = ParamSpec("P")
R = TypeVar("R")


_READING: ContextVar[bool] = ContextVar("reading", default=False)  # in this thread


class _WhileReading(type):
    """Where records are being read, every category of warnings but `PrivacyWarning` is in it."""

    def __subclasscheck__(cls, category: type) -> bool:
        return _READING.get() and not issubclass(category, PrivacyWarning)


class _Foreign(Warning, metaclass=_WhileReading):
    """Warnings of NumPy, of other libraries and of a caller's own functions."""


class _Hush:
    """A filter of warnings for the threads that are reading records, and for no other.

    Filters belong to the process.  `warnings.catch_warnings` restores all of them when it ends, so
    two threads that use it side by side can leave the process with the filters of either.  This
    one is put in and taken out alone, and says nothing about threads that are not reading.
    """

    _filter: Any = ("ignore", None, _Foreign, None, 0)

    def __init__(self) -> None:
        self._lock, self._calls = Lock(), 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        before = _READING.set(True)
        with self._lock:
            self._calls += 1
            self._take_out()  # a filter that was set meanwhile may stand before it
            warnings.filters.insert(0, self._filter)  # type: ignore[attr-defined]
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                if self._calls == 0:
                    self._take_out()
            _READING.reset(before)

    def _take_out(self) -> None:
        while self._filter in warnings.filters:
            warnings.filters.remove(self._filter)  # type: ignore[attr-defined]


_HUSH = _Hush()


@contextmanager
def quiet() -> Iterator[None]:
    """A context in which only Mercer's own warnings pass and NumPy raises nothing for a number."""
    with np.errstate(all="ignore"), _HUSH():
        yield


def quietly(call: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function that is handed records, so that no warning tells of them.

    A caller's settings (`np.seterr`, `python -W error`) must not turn a value into an exception.
    """

    @wraps(call)
    def silent(*args: P.args, **kwargs: P.kwargs) -> R:
        with quiet():
            return call(*args, **kwargs)

    return silent


def threads(workers: int) -> ThreadPoolExecutor:
    """A pool of threads that work on records, as silent as a call of `quietly`."""
    return ThreadPoolExecutor(workers, initializer=_hushed)


def _hushed() -> None:
    np.seterr(all="ignore")  # each thread has settings of its own
    _READING.set(True)
