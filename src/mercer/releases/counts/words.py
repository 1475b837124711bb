"""What the command line shows of counts, histograms, tables and margins."""

from __future__ import annotations

import shlex
from abc import abstractmethod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mercer.columns.conditions import conditions
from mercer.releases.base import Release
from mercer.releases.counts.asked import CountAnswer
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.lines import cells_of, lines_of, show_answer
from mercer.releases.counts.margins import MarginsRelease
from mercer.releases.counts.number import CountRelease, StatisticRelease
from mercer.releases.words import LEVEL, Question, Words, words_of
from mercer.show import terminal
from mercer.show.cells import counted, number, show_lines, told

__all__ = ["CountWords", "HistogramWords", "MarginsWords", "StatisticWords"]

_SHOWN = 25  # cells of a table on a screen
_TOLD = 10_000  # cells in JSON
_COLUMNS = 6  # in a heading
_SETS = 12  # margins by name

C = TypeVar("C", CountRelease, StatisticRelease, HistogramRelease, MarginsRelease)
N = TypeVar("N", CountRelease, StatisticRelease)
T = TypeVar("T", HistogramRelease, MarginsRelease)


class CountsWords(Words[C]):
    """What is asked of all of them: neither points nor derivatives."""

    def smoothed(self, bandwidth: list[float]) -> Release:
        del bandwidth
        raise ValueError(f"bandwidth is for densities and histograms; this is a {self.release.kind}")

    def answer(self, asked: Question, *, as_json: bool) -> None:
        if asked.grid is not None or asked.raw or asked.derivative or asked.expect:
            raise ValueError(
                f"a {self.release.kind} is asked with --where COLUMN=FROM..TO, --margin COLUMN… or --at "
                "X…; it has no --grid, --raw, --derivative or --expect"
            )
        at = asked.numbers()
        options = {"--at": at, "--where": asked.where, "--margin": asked.margin}
        self.asked(asked, at, [name for name, given in options.items() if given], as_json=as_json)

    @abstractmethod
    def asked(self, asked: Question, at: list[float], options: list[str], *, as_json: bool) -> None:
        """Print what these options ask for."""

    @abstractmethod
    def accuracy(self) -> list[tuple[str, str]]:
        """How large the noise is, in words."""

    def about(self) -> dict[str, Any]:
        """The first fields for `--json`."""
        release = self.release
        return {"kind": release.kind, "privacy": release.privacy.to_dict(), "findings": self.findings()}


class NumberWords(CountsWords[N]):
    """One number with its interval."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The word for the number: count, proportion or value."""

    def show(self, heading: str) -> None:
        rows = [(self.name, self.value(LEVEL)), *self.promise(), *self.accuracy()]
        terminal.facts(heading, rows + self.notes())

    def asked(self, asked: Question, at: list[float], options: list[str], *, as_json: bool) -> None:
        del at
        if options:
            raise ValueError(f"{options[0]}: a {self.release.kind} is one number and answers nothing else")
        if as_json:
            terminal.print_json(self.ends(asked.level))
        else:
            print(f"{self.name}: {self.value(asked.level)}")

    def value(self, level: float) -> str:
        """The number and its interval in words."""
        found, words = self.ends(level), number(self.release.value)
        if found["lower"] is not None:
            words += f", {level:.0%} interval {number(found['lower'])} to {number(found['upper'])}"
        return words

    def ends(self, level: float) -> dict[str, Any]:
        """The number and the ends of its interval, for JSON."""
        found = self.release.interval(level)
        return {"value": self.release.value, "level": level, "lower": found.lower, "upper": found.upper}


class CountWords(NumberWords[CountRelease]):
    """`proportion of age>=60`."""

    @property
    def name(self) -> str:
        return "proportion" if self.release.share else "count"

    def describe(self) -> str:
        return f"{self.name} of {self.release.domain.words}"

    def summary(self) -> dict[str, Any]:
        release = self.release
        return self.about() | {
            "noise": None if release.noise is None else release.noise.to_dict(),
            "accuracy": release.accuracy.to_dict(),
            "of": release.domain.words,
            "count": release.count,
            "proportion": release.proportion,
            "raw": release.raw,
            **self.ends(LEVEL),
        }

    def told(self, heading: str) -> None:
        """The number alone on a line, then its interval, then all else."""
        found = self.ends(LEVEL)
        print(number(self.release.value))
        ends = f"{number(found['lower'])} to {number(found['upper'])}"
        print(f"{LEVEL:.0%} interval {ends}, for the noise; {self.of}")
        self.show(heading)

    def value(self, level: float) -> str:
        return f"{super().value(level)} ({self.of})"

    @property
    def of(self) -> str:
        """Of how many records the count is, in words."""
        release = self.release
        return f"{release.count} of {release.n}" if release.share else f"of {release.n} in all"

    def accuracy(self) -> list[tuple[str, str]]:
        return [("accuracy", str(self.release.accuracy))]


class StatisticWords(NumberWords[StatisticRelease]):
    """`mean of income`."""

    name = "value"

    def describe(self) -> str:
        return self.release.domain.words

    def summary(self) -> dict[str, Any]:
        return self.about() | {"of": self.release.domain.words, **self.ends(LEVEL)}

    def ends(self, level: float) -> dict[str, Any]:
        if self.release.scale is None:
            return {"value": self.release.value, "level": level, "lower": None, "upper": None}
        return super().ends(level)

    def accuracy(self) -> list[tuple[str, str]]:
        scale = self.release.scale
        told = "noise of an untold scale" if scale is None else f"Laplace noise of scale {scale:.3g}"
        return [("accuracy", told)]


class CellsWords(CountsWords[T]):
    """What is said of counts of cells: of histograms, tables and margins."""

    @abstractmethod
    def what(self) -> str:
        """What the cells are: a table, or so many margins."""

    def describe(self) -> str:
        domain = self.release.domain
        more = domain.dimension - _COLUMNS
        columns = ", ".join(axis.describe() for axis in domain.columns[:_COLUMNS])
        columns += f" and {more} more column{'s' * (more > 1)}" if more > 0 else ""
        return f"{self.what()} of {columns}"

    def about(self) -> dict[str, Any]:
        release = self.release
        return super().about() | {
            "noise": release.noise.to_dict(),
            "accuracy": release.accuracy.to_dict(),
            "domain": release.domain.to_dict(),
            "level": LEVEL,
            "rows_each": release.rows_each,
            "rows": release.rows or None,
        }

    def show(self, heading: str) -> None:
        terminal.facts(heading, [*self.promise(), *self.accuracy(), *self.notes()])
        self.show_cells()

    @abstractmethod
    def show_cells(self) -> None:
        """The cells with a bar each, as far as there is room."""

    def accuracy(self) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        if self.release.rows:
            more = "; --rows-per-person K counts K of them, with K times the noise"
            rows.append(("persons", self.release.rows + more * (self.release.rows_each == 1)))
        return [*rows, *self.each(), ("accuracy", str(self.release.accuracy))]

    def each(self) -> list[tuple[str, str]]:
        """How large the noise of a count is, in words."""
        return []

    def hint(self, file: Path) -> str:
        axis = self.release.domain.columns[0]
        first = axis.labels()[0]
        if axis.edges is not None and axis.column.continuous:
            first = "..".join(map(axis.end, axis.edges[:2]))
        column = shlex.quote(f"{axis.name}={first}")
        return f" Look at it: mercer plot {file}, or\nmercer eval {file} --where {column}"

    def asked(self, asked: Question, at: list[float], options: list[str], *, as_json: bool) -> None:
        release, level = self.release, asked.level
        if len(options) != 1:
            raise ValueError(
                "say what to ask, in one way: --where 'COLUMN>=VALUE' … for a count of records, "
                "--margin COLUMN… for the counts of some columns, or --at X… for a density"
            )
        if asked.simultaneous and not asked.margin:
            raise ValueError("--simultaneous goes with --margin: one number has one interval")
        if asked.margin:
            found = release.margin(*asked.margin, level=level, simultaneous=asked.simultaneous)
            some, more = lines_of(found, _TOLD if as_json else _SHOWN)
            if as_json:
                about = {"level": level, "simultaneous": asked.simultaneous}
                terminal.print_json(about | {"counts": told(found.axes, some), "counts_left_out": more})
            else:
                show_lines(found.axes, some, more, level, simultaneous=asked.simultaneous)
        elif asked.where:
            domain = release.domain
            rules = conditions(asked.where, lambda name: domain.columns[domain.index(name)].column)
            show_answer(self.counted(rules, level, smooth=asked.smooth), release.n, as_json)
        else:
            self.heights(at, as_json=as_json)

    @abstractmethod
    def counted(self, rules: dict[str, Any], level: float, *, smooth: bool) -> CountAnswer:
        """How many records a condition holds for."""

    @abstractmethod
    def heights(self, at: list[float], *, as_json: bool) -> None:
        """Print the density at points of the only column."""


class HistogramWords(CellsWords[HistogramRelease]):
    """`sparse table of age in 20 bins of [0, 100], sex in {f, m}`."""

    def what(self) -> str:
        what = "histogram" if self.release.domain.dimension == 1 else "table"
        return f"{'sparse ' * self.release.sparse}{what}"

    def summary(self) -> dict[str, Any]:
        release = self.release
        some, more = cells_of(release, LEVEL, _TOLD)
        return self.about() | {
            "cells": release.domain.cells,
            "held": len(release.values),
            "threshold": release.threshold,
            "counts": told(release.domain, some),
            "counts_left_out": more,
        }

    def show_cells(self) -> None:
        show_lines(self.release.domain, *cells_of(self.release, LEVEL, _SHOWN), LEVEL)

    def each(self) -> list[tuple[str, str]]:
        release = self.release
        wide, cells = release.width(LEVEL), release.domain.cells
        words = f"± {wide:g} ({LEVEL:.0%}), standard deviation {release.noise.deviation:.3g}"
        if cells > 1:
            words += f"; all {cells} at once ± {release.width(LEVEL, simultaneous=True):g}"
        rows = [("each count", words + (", of the rows that were drawn" if release.rows else ""))]
        if release.exact is not None:
            some = f"{int(release.exact.sum())} of {len(release.values)}"
            rows.append(("no noise", f"in {some} counts, under the weaker promise"))
        if release.threshold is not None:
            rows.append(
                (
                    "cells",
                    f"{len(release.values)} of {release.domain.cells} are above the public "
                    f"threshold {release.threshold}; the others count as 0 and may hold up to "
                    f"{release.threshold + wide:g}",
                )
            )
        return rows

    def smoothed(self, bandwidth: list[float]) -> Release:
        """Smoothed, it is a density."""
        return words_of(self.release.density()).smoothed(bandwidth)

    def counted(self, rules: dict[str, Any], level: float, *, smooth: bool) -> CountAnswer:
        return self.release.query(rules, level=level, smooth=smooth)

    def heights(self, at: list[float], *, as_json: bool) -> None:
        heights = np.atleast_1d(self.release(np.array(at)))
        if as_json:
            rows = [{"at": x, "density": float(h)} for x, h in zip(at, heights, strict=True)]
            terminal.print_json({"values": rows})
            return
        table = terminal.table(self.release.domain.names[0], "density")
        for x, height in zip(at, heights, strict=True):
            table.add_row(f"{x:g}", f"{height:.6g}")
        terminal.show(table)


class MarginsWords(CellsWords[MarginsRelease]):
    """`3 margins of age in 20 bins of [0, 100], sex in {f, m}`."""

    def what(self) -> str:
        return f"{len(self.release.sets)} margins"

    def summary(self) -> dict[str, Any]:
        left, margins = _TOLD, []
        for chosen in self.release.margins:
            found = self.release.margin(*chosen, level=LEVEL)
            some, more = lines_of(found, left)
            left -= len(some)
            margins.append(
                {"columns": list(chosen), "counts": told(found.axes, some), "counts_left_out": more}
            )
        return self.about() | {"margins": margins}

    def show_cells(self) -> None:
        """Every column by itself, as far as there is room."""
        from rich.markup import escape

        release = self.release
        table = terminal.table("column", "cell", "count", f"{LEVEL:.0%} interval", "")
        for place in (0, 1, 4):
            table.columns[place].justify = "left"
        room, left = _SHOWN, 0
        for name, margin in release.one_way(level=LEVEL).items():
            some, more = lines_of(margin, room)
            room, left = room - len(some), left + more
            for k, line in enumerate(some):
                shown = map(escape, (name if k == 0 else "", *line.labels))
                table.add_row(*shown, *counted(line, release.n))
        terminal.show(table)
        if left:
            print(f"… and {left} more cells of single columns.")
        sets = [" x ".join(names) or "the total" for names in release.margins]
        others = f" and {len(sets) - _SETS} more" if len(sets) > _SETS else ""
        print(f"Released together: {', '.join(sets[:_SETS])}{others}.")

    def counted(self, rules: dict[str, Any], level: float, *, smooth: bool) -> CountAnswer:
        if smooth:
            raise ValueError("--smooth is for histograms of one column; this is margins")
        return self.release.query(rules, level=level)

    def heights(self, at: list[float], *, as_json: bool) -> None:
        del at, as_json
        raise ValueError("--at is for histograms of one column; ask with --where or --margin")
