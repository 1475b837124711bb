"""What is said of synthetic tables and of records of any kind, and what they tell of the data.  M10, M18.

A mean of feature vectors of norm at most one has a norm that the noisy coordinates tell.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from datetime import date
from typing import Any, NoReturn, TypeVar

import numpy as np

from mercer.columns.conditions import conditions, words_of
from mercer.columns.kinds import Categorical, Column, Date, labels_of
from mercer.common import streams
from mercer.common.checks import Floats, check_level
from mercer.noise.laws import Normal
from mercer.releases.findings import Finding, about, fit_finding, hidden, reach
from mercer.releases.synthetic.embedding import LandmarkEmbedding, NoisyEmbedding
from mercer.releases.synthetic.marginals import estimate, marginal
from mercer.releases.synthetic.records import RecordsRelease
from mercer.releases.synthetic.release import TableRelease
from mercer.releases.words import Question, Words
from mercer.show import terminal

__all__ = ["RecordsWords", "TableWords", "record_findings", "table_findings"]

NO_INTERVAL = (
    "no interval is known: what smoothing takes away is not bounded, and mostly larger than the noise; "
    "mercer inspect says how far shares of one column are off"
)
_EPOCH = date(1970, 1, 1).toordinal()
_SHOWN = 6  # columns, or levels, in a line

S = TypeVar("S", TableRelease, RecordsRelease)
_PLACES = 512  # points of a domain that stand for all
_PART = 0.2  # of one: a function that falls below this somewhere counts records badly
_EDGE = 0.05  # of a column's width, next to a bound
_UNFIT = (
    "the promise is too strong for so few records, or they do not fit the domain: are the columns "
    "in its format and unit, and their levels written as in the data?"
)


class SyntheticWords(Words[S]):
    """What is said of weighted records, be they rows of a table or objects of any kind."""

    def summary(self) -> dict[str, Any]:
        release = self.release
        return {
            "kind": release.kind,
            "records": release.points_count,
            "weights": release.style,
            "privacy": release.privacy.to_dict(),
            "findings": self.findings(),
        }

    def show(self, heading: str) -> None:
        release = self.release
        weights = {
            "positive": "weights of sum 1, none negative",
            "uniform": "equal weights",
            "free": "weights of any sign",
            "l1": f"weights of any sign, absolute values of sum at most {release.bound:g}",
        }[release.style]
        records = ("records", f"{release.points_count} synthetic ones, {weights}")
        terminal.facts(heading, [*self.promise(), records, *self.accuracy(), *self.notes()])

    def accuracy(self) -> list[tuple[str, str]]:
        """How near the records are to the data, in words."""
        return []

    def answer(self, asked: Question, *, as_json: bool) -> None:
        self.check_no_cells(asked)
        if asked.at or asked.grid is not None or asked.raw or asked.derivative:
            raise ValueError(
                f"a {self.release.kind} has no points to evaluate at; ask with --expect COLUMN… and "
                "--where COLUMN=VALUE…"
            )
        if not asked.expect and not asked.where:
            raise ValueError("say what to ask: --expect COLUMN…, --where COLUMN=VALUE…, or both")
        self.expected(asked, as_json=as_json)

    @abstractmethod
    def expected(self, asked: Question, *, as_json: bool) -> None:
        """Print means of columns, or the probability of a condition."""


class RecordsWords(SyntheticWords[RecordsRelease]):
    """`synthetic set of words`."""

    def describe(self) -> str:
        return f"synthetic set of {self.release.domain.describe()}"

    def summary(self) -> dict[str, Any]:
        return super().summary() | {"domain": {"words": self.release.domain.words}}

    def expected(self, asked: Question, *, as_json: bool) -> NoReturn:
        del asked, as_json
        raise ValueError("records of any kind are asked in Python: release.expect(h)")


class TableWords(SyntheticWords[TableRelease]):
    """`synthetic table of age in [0, 100], sex in {f, m}`."""

    penalised = True

    def describe(self) -> str:
        return f"synthetic table of {self.release.domain.describe(_SHOWN)}"

    def summary(self) -> dict[str, Any]:
        release, accuracy = self.release, self.release.accuracy
        parts = {name: getattr(accuracy, name) for name in ("error", "most", "difference", "noise")}
        return super().summary() | {
            "domain": release.domain.to_dict(),
            "method": release.method,
            "kernel": release.kernel.to_dict(),
            "accuracy": {"words": str(accuracy)} | {name: _known(value) for name, value in parts.items()},
            "columns": [_told(release, column) for column in release.domain.columns],
        }

    def show(self, heading: str) -> None:
        """A line a column besides: its mean, or the shares of its levels."""
        super().show(heading)
        release = self.release
        table = terminal.table("column", "mean or shares")
        for part in table.columns:
            part.justify = "left"
        for column in release.domain.columns:
            table.add_row(column.name, _line(release, column))
        terminal.show(table)

    def accuracy(self) -> list[tuple[str, str]]:
        release = self.release
        how = "drawn whole, the likelier the nearer: " if release.embedding is None else ""
        return [("kernel", release.kernel.words), ("accuracy", f"{how}{release.accuracy}")]

    def expected(self, asked: Question, *, as_json: bool) -> None:
        release, level, where = self.release, asked.level, list(asked.where)
        check_level(level)
        rules = conditions(where, release.domain.column)
        names: list[str | None] = list(asked.expect) if asked.expect else [None]
        found = [estimate(release, name, rules if where else None) for name in names]
        columns = [None if name is None else release.domain.column(name) for name in names]
        if as_json:
            terminal.print_json(
                {
                    "level": level,
                    "where": where,
                    "interval": NO_INTERVAL,
                    "findings": self.findings(),
                    "values": [
                        {"expect": name} | _ends(column, value)
                        for name, column, value in zip(names, columns, found, strict=True)
                    ],
                }
            )
            return
        condition = f" where {words_of(rules, release.domain.column)}" if where else ""
        table = terminal.table("of", "value")
        table.columns[0].justify = "left"
        for name, column, value in zip(names, columns, found, strict=True):
            what = f"mean of {name}{condition}" if name else f"probability{condition}"
            table.add_row(what, _value(column, value))
        terminal.show(table)
        print(f"{NO_INTERVAL[0].upper()}{NO_INTERVAL[1:]}.")
        for told in release.findings():
            print(f"Note: {told.words}")


def _line(release: TableRelease, column: Column) -> str:
    if not labels_of(column):
        return f"mean {_value(column, estimate(release, column.name, None))}"
    one = marginal(release, column.name)
    named = list(zip(one.shares, one.labels, strict=True))
    if isinstance(column, Categorical):  # the largest first
        named.sort(key=lambda part: -part[0])
    shown = [f"{name} {100 * share:.3g} %" for share, name in named[:_SHOWN]]
    more = len(named) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _told(release: TableRelease, column: Column) -> dict[str, Any]:
    about: dict[str, Any] = {"name": column.name, "type": column.kind}
    if not labels_of(column):
        return about | {"mean": _ends(column, estimate(release, column.name, None))}
    one = marginal(release, column.name)
    levels = [
        {"level": name, "share": float(share), "plus_minus": None}
        for name, share in zip(one.labels, one.shares, strict=True)
    ]
    return about | {"levels": levels}


def _value(column: Column | None, code: float) -> str:
    if code != code:
        return "not known"
    if isinstance(column, Date):
        return date.fromordinal(round(code) + _EPOCH).isoformat()
    return f"{code:.4g}"


def _ends(column: Column | None, found: float) -> dict[str, Any]:
    """An estimate and the ends of its interval, for JSON; dates as text, None for what is not known."""
    days = isinstance(column, Date)
    return {
        "value": None if found != found else _value(column, found) if days else float(found),
        "lower": None,
        "upper": None,
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def record_findings(release: RecordsRelease) -> tuple[Finding, ...]:
    """Of records under a kernel of the caller's: whether anything is left of them."""
    if release.kernel is None:
        return ()
    return _nothing(release.embedding)


def table_findings(release: TableRelease) -> tuple[Finding, ...]:
    """Whether records fit the domain, whether anything is left of them, and piles at bounds."""
    embedding = release.embedding
    if embedding is None:
        return ()
    if isinstance(embedding, LandmarkEmbedding):
        found = _fit(release, embedding)
        if found:
            return found
    return _nothing(embedding) or _piles(release)


def _fit(release: TableRelease, embedding: LandmarkEmbedding) -> tuple[Finding, ...]:
    """The share of records that fit: the mean of a function that is nearly one in the domain."""
    landmarks = release.codes if release.landmarks is None else release.landmarks
    between = release.kernel(_places(release), landmarks)
    normal = isinstance(embedding.noise, Normal)
    ones = embedding.span.coordinates(np.ones(len(embedding.gram)))
    values = embedding.span.eigenvalues
    best = None
    for penalty in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):  # the less noise, the less nearly one
        function = ones * values / (values + penalty * values[0])
        least = float(np.min(between @ embedding.span.weights(function)))
        far = reach(normal=normal) * embedding.deviation * float(np.linalg.norm(function))
        if least > _PART and (best is None or far / least < best[1] / best[2]):
            best = float(function @ embedding.noisy), far, least
    if best is None:
        return ()
    value, far, least = best  # records that fit have this height or more, the others none
    width = (value + far) / least - value
    return fit_finding(
        value,
        width,
        "fit the domain",
        "are the columns in the domain's format and unit, and their levels written as in the data?",
        otherwise="the others miss a value, or hold one that is not in the domain",
    )


def _places(release: TableRelease) -> Floats:
    """Public points of the domain: its corners, its faces and its inside."""
    draws = streams.simulation(3).random((_PLACES, 2, release.domain.dimension))
    share = np.where(draws[:, 0] < 0.5, np.rint(draws[:, 1]), draws[:, 1])
    ends = np.array([column.ends for column in release.domain.columns])
    inside = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    return np.concatenate([release.domain.snap(inside), release.codes])


def _nothing(embedding: NoisyEmbedding) -> tuple[Finding, ...]:
    if not hidden(embedding.noisy / embedding.deviation):
        return ()
    return (Finding("flat", f"the table cannot be told from none at all: {_UNFIT}"),)


def _piles(release: TableRelease) -> tuple[Finding, ...]:
    """Columns of numbers of which most of the table's weight lies next to a bound."""
    found = []
    for place, column in enumerate(release.domain.columns):
        if not column.numeric or (column.levels_count or 100) < 50:
            continue
        low, high = column.ends
        unit = (release.codes[:, place] - low) / (high - low)
        for name, near in (("lower", unit), ("upper", 1 - unit)):
            held = float(release.positive[near <= _EDGE].sum())
            if held > 0.8:
                found.append(
                    Finding(
                        "bound",
                        f"{column.name}: {about(held, 0.2)} are next to the {name} bound; values "
                        "beyond the bounds are moved there: are the bounds in the column's unit?",
                    )
                )
    return tuple(found)
