"""Which columns of a synthetic table stand where in its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mercer.columns.kinds import Column, labels_of
from mercer.releases.synthetic.release import TableRelease

__all__ = ["BOTTOM", "MOST_BARS", "SIDES", "TOP", "WIDE", "Panel", "Sheet"]

SIDES = {0: 0.0, 1: 3.3, 2: 2.7, 3: 2.25, 4: 2.0, 5: 1.8}  # inches of a cell of the pairs
WIDE, TOP, BOTTOM = 3.7, 0.72, 0.46  # inches of the other panels, and of the words
MOST_BARS = 14
_CORNER, _MOST_CORNER = 4, 5  # columns in the matrix of pairs: unless chosen, and at most
_ROW, _HEAD, _HISTOGRAM, _STACK = 0.235, 0.78, 2.0, 4.2  # inches
_MOST_PANELS, _MOST_PAIRS = 24, 20


@dataclass(frozen=True)
class Panel:
    """One column, or several of two levels each."""

    columns: tuple[Column, ...]

    @property
    def inches(self) -> float:
        """Height."""
        if len(self.columns) > 1:
            return _HEAD + _ROW * len(self.columns)
        levels = len(labels_of(self.columns[0]))
        return _HEAD + _ROW * min(levels, MOST_BARS) if levels else _HISTOGRAM


@dataclass(frozen=True)
class Sheet:
    """Which columns stand where."""

    corner: tuple[Column, ...]  # the matrix of pairs
    stacks: tuple[tuple[Panel, ...], ...]  # beside it, from left to right
    left_out: int

    @classmethod
    def of(cls, release: TableRelease, chosen: Sequence[str] | str | None) -> Sheet:
        """All columns, or those that were chosen, in their order."""
        names = release.domain.names if chosen is None else [chosen] if isinstance(chosen, str) else chosen
        columns = [release.domain.column(name) for name in dict.fromkeys(names)]
        if not columns:
            raise ValueError("columns must name one or more columns of the table")
        lines = [c for c in columns if not labels_of(c)]
        corner = lines[: _CORNER if chosen is None else _MOST_CORNER]
        beside = [c for c in columns if c not in corner]
        pairs = [c for c in beside if len(labels_of(c)) == 2]
        if len(pairs) < 3:  # each has a panel of its own
            pairs = []
        panels = [Panel(tuple(pairs[i : i + _MOST_PAIRS])) for i in range(0, len(pairs), _MOST_PAIRS)]
        panels += [Panel((c,)) for c in beside if c not in pairs]
        shown, left = panels[:_MOST_PANELS], panels[_MOST_PANELS:]
        side = SIDES[len(corner)] * len(corner)
        return cls(tuple(corner), _stacked(shown, side), sum(len(p.columns) for p in left))

    @property
    def side(self) -> float:
        """Inches of the matrix of pairs."""
        return SIDES[len(self.corner)] * len(self.corner)

    @property
    def height(self) -> float:
        """Inches of what is drawn, without the words."""
        return max([self.side, *(sum(p.inches for p in stack) for stack in self.stacks)])

    @property
    def size(self) -> tuple[float, float]:
        """Inches of the figure."""
        beside = WIDE * len(self.stacks)
        across = (self.side * (1.5 if len(self.corner) == 1 else 1.12)) + beside
        return max(across, 6.4), self.height + TOP + BOTTOM


def _stacked(panels: Sequence[Panel], side: float) -> tuple[tuple[Panel, ...], ...]:
    """Panels in stacks that are about as high as the matrix of pairs."""
    total, tallest = sum(p.inches for p in panels), max((p.inches for p in panels), default=0.0)
    most = max(side, tallest, min(total, _STACK), (total / 4) if total > 24 else 0.0)
    stacks: list[list[Panel]] = []
    for panel in panels:
        if not stacks or sum(p.inches for p in stacks[-1]) + panel.inches > most + 1e-9:
            stacks.append([])
        stacks[-1].append(panel)
    return tuple(map(tuple, stacks))
