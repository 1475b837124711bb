"""Noise that is always the same, for replays of a release on two neighbouring data sets.

A module of its own: audits may import it, and must not import the entropy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mercer.noise.entropy import Entropy
from mercer.promise.events import Sensitivity

__all__ = ["Frozen"]


Y = TypeVar("Y")  # what was drawn


class Frozen(Entropy):
    """Noise that is always the same.  It records what was asked for and what the door offered."""

    secure = False

    def __init__(self, earlier: Frozen | None = None) -> None:
        """`earlier` is the noise of the other run, whose draws this one goes on with.

        Draws that follow from earlier ones are private given those (adaptive composition), so both
        runs must go on with the same.
        """
        self._earlier = earlier
        self.drawn: list[Any] = []
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

    def given(self, released: Y) -> Y:
        place = len(self.drawn)
        self.drawn.append(released)
        first = [] if self._earlier is None else self._earlier.drawn
        return first[place] if place < len(first) else released

    def parameters(self, *public: Any) -> None:
        self.asked.append(("parameters", *public))

    def witness(self, what: str, value: Callable[[], Any], sensitivity: Any) -> None:
        self.shown.append((what, value(), sensitivity))
