"""What the terminal and JSON say of a release, and how `mercer eval` asks it: one class a kind.

Commands find it by `words_of(release)` and name no kind.  What a kind cannot answer it refuses here,
in words; a kind says more by filling in more.  No record is behind anything that is said.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from mercer.columns.conditions import Open, conditions, upper_counts
from mercer.columns.domain import Box
from mercer.columns.ends import range_words
from mercer.common.checks import Floats, is_number
from mercer.promise.statement import Statement
from mercer.promise.weaker import RandomStatement
from mercer.releases.base import KINDS, Release, found
from mercer.releases.cdf import Distributed
from mercer.releases.findings import HasFindings
from mercer.releases.function import FunctionRelease
from mercer.show import terminal

__all__ = ["LEVEL", "FunctionWords", "Question", "Words", "answer_shares", "notes", "words_of"]

LEVEL = 0.95  # of intervals that are shown unasked

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

R = TypeVar("R", bound=Release)
F = TypeVar("F", bound=FunctionRelease)


@dataclass(frozen=True)
class Question:
    """The options of `mercer eval`, as they were typed."""

    at: Sequence[str] | None = None
    grid: int | None = None
    level: float = LEVEL
    raw: bool = False
    derivative: Sequence[int] = ()
    expect: Sequence[str] = ()
    where: Sequence[str] = ()
    margin: Sequence[str] = ()
    smooth: bool = False
    of: str | None = None  # whose mean a band is about
    simultaneous: bool = False

    def points(self, domain: Box) -> Floats:
        """Where `--at` asks, as points of a domain."""
        at, d = list(self.at or ()), domain.dimension
        if not at or len(at) % d:
            raise ValueError(f"--at needs {d} numbers a point ({', '.join(domain.names)})")
        dates = [word for word in at if _DAY.fullmatch(word)]
        if dates and not domain.dates:
            raise ValueError(
                f"--at must be numbers: {', '.join(domain.names)} are no dates; got {dates[0]!r}"
            )
        numbers = [word if word in dates else _number(word) for word in at]
        return domain.points([numbers[i : i + d] for i in range(0, len(numbers), d)])

    def numbers(self) -> list[float]:
        """The numbers of `--at`, on a line."""
        return [_number(word) for word in self.at or ()]


class Words(ABC, Generic[R]):
    """What is said of one release."""

    penalised: ClassVar[bool] = False  # whether it is smoothed again in Python, by a penalty
    sampled: ClassVar[bool] = False  # whether a band may be about a population

    def __init__(self, release: R) -> None:
        self.release = release

    @abstractmethod
    def describe(self) -> str:
        """What it is, without an article: `density of age in [0, 100]`."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """The fields that commands print with `--json`: domain, promise, findings, accuracy."""

    @abstractmethod
    def show(self, heading: str) -> None:
        """Print the promise, what was released and how accurate it is."""

    @abstractmethod
    def answer(self, asked: Question, *, as_json: bool) -> None:
        """Print what `mercer eval` asked; ValueError says what this kind cannot answer."""

    def ask(self, asked: Question, *, as_json: bool) -> None:
        """The same, where this kind has all that is asked for."""
        if asked.of is not None and not self.sampled:
            raise ValueError(f"--of is for mean curves; this is a {self.release.kind}")
        self.answer(asked, as_json=as_json)

    def told(self, heading: str) -> None:
        """Print what is said when it has just been made."""
        self.show(heading)

    def hint(self, file: Path) -> str:
        """What to do next with the file; nothing where there is nothing to say."""
        del file
        return ""

    def smoothed(self, bandwidth: list[float]) -> Release:
        """The release smoothed more, by `--bandwidth`."""
        del bandwidth
        if self.penalised:
            raise ValueError(
                f"bandwidth is for densities; a {self.release.kind} is smoothed again in Python, by "
                "release.smooth(penalty=…)"
            )
        raise ValueError(
            f"bandwidth: a {self.release.kind} cannot be smoothed afterwards; its bandwidth was chosen "
            "when it was learnt"
        )

    def order(self, derivative: Sequence[int]) -> int | tuple[int, ...]:
        """The order of `--derivative`, none of a release that has no derivatives to show."""
        if derivative:
            raise ValueError(f"--derivative is for mean curves; this is a {self.release.kind}")
        return 0

    def notes(self) -> list[tuple[str, str]]:
        """Lines under the others: findings, and a promise that is too weak."""
        return notes(self.release, self.release.privacy)

    def findings(self) -> list[dict[str, str]]:
        """What the release itself tells, for `--json`."""
        return [found.to_dict() for found in self.release.findings()]

    def promise(self) -> list[tuple[str, str]]:
        """The first lines of a description."""
        privacy = self.release.privacy
        return [("promise", str(privacy)), ("attack", privacy.attack)]

    def check_no_cells(self, asked: Question) -> None:
        """Refuse questions for counts."""
        given = {"--margin": asked.margin, "--smooth": asked.smooth, "--simultaneous": asked.simultaneous}
        for option in (name for name, value in given.items() if value):
            raise ValueError(
                f"{option} is for histograms and tables of counts; this is a {self.release.kind}"
            )


class FunctionWords(Words[F]):
    """Of a release that is a function: it is evaluated at points, with a band."""

    repaired: ClassVar[bool] = False  # whether what is shown differs from the function as released

    def answer(self, asked: Question, *, as_json: bool) -> None:
        self.check_no_cells(asked)
        kind, domain = self.release.kind, self.release.domain
        if asked.expect or asked.where:
            raise ValueError(f"--expect and --where are for synthetic tables and counts; this is a {kind}")
        self.order(asked.derivative)
        if (asked.at is None) == (asked.grid is None):
            raise ValueError("give the points either with --at X… or with --grid N, not both or none")
        if asked.grid is None:
            points = asked.points(domain)
        elif domain.dimension != 1 or asked.grid < 2:
            raise ValueError("--grid needs a release of one column and at least 2 points")
        else:
            points = np.linspace(*domain.bounds[0], asked.grid)[:, None]
        if asked.raw and not self.repaired:
            raise ValueError(f"--raw is for densities; a {kind} is shown as released")
        self.evaluate(points, asked, as_json=as_json)

    @abstractmethod
    def evaluate(self, points: Floats, asked: Question, *, as_json: bool) -> None:
        """Print values at points with their band."""


def words_of(release: Release) -> Words[Release]:
    """What is said of a release, by its kind."""
    words: Words[Release] = found(KINDS[release.kind].words)(release)
    return words


def answer_shares(release: Distributed, domain: Box, asked: Question, *, as_json: bool) -> None:
    """Print the share of the records that `--where` asks for, of a release of one column."""
    if domain.dimension != 1:
        raise ValueError(f"--where is for releases of one column; this one is of {', '.join(domain.names)}")
    (name,), rules = domain.names, conditions(asked.where)
    if set(rules) != {name}:
        raise ValueError(f"--where: the release is of {name} alone, got {', '.join(map(repr, rules))}")
    rule, law = rules[name], release.law
    whole = law.steps or bool(domain.dates)  # both ends count
    if isinstance(rule, list) or (not isinstance(rule, tuple) and not law.steps):
        raise ValueError(f"--where must be a range of {name}, such as '{name}>=65' or '{name}=20..40'")
    low, high = rule if isinstance(rule, tuple) else (rule, rule)
    if isinstance(rule, Open):  # up to the end, or the last value below it
        code = float(domain.points([high])[0, 0])
        high = law.before(code) if law.steps else code
    found = release.share(low, high, asked.level)
    ends = (law.first if low is None else low), (float(law.edges[-1]) if high is None else high)
    shown = [end if isinstance(end, str) else domain.shown([float(end)])[0] for end in ends]
    top = float(domain.points([ends[1]])[0, 0]) >= law.edges[-1]
    closed = top or upper_counts(rule if isinstance(rule, tuple) else (low, high), whole=whole)
    words = range_words(name, *map(_shown, shown), closed=closed or law.steps)
    if as_json:
        terminal.print_json({"where": words, **found._asdict()})
        return
    print(
        f"share of {words}: {found.estimate:.4%}, {asked.level:.0%} interval {found.lower:.4%} to "
        f"{found.upper:.4%} (noise only)"
    )


def _shown(end: object) -> str:
    return f"{end:.12g}" if isinstance(end, float) else str(end)


def _number(word: str) -> float:
    if not is_number(word):
        raise ValueError(f"--at must be numbers, or dates such as 2024-12-31; got {word!r}")
    return float(word)


def notes(release: HasFindings, privacy: Statement | RandomStatement) -> list[tuple[str, str]]:
    """What a release itself tells of the records, and a promise that is too weak."""
    rows = [("note", f"{found.words} (told by the release itself)") for found in release.findings()]
    if privacy.delta > 1 / privacy.n:
        rows.append(("note", "delta is above 1/n, too weak a promise for most uses"))
    return rows
