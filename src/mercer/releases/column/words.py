"""What is said of counted columns: on the command line, and what they tell of the records.  M18, M20."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.column.release import ColumnRelease
from mercer.releases.findings import Finding, about, fit_finding, reach
from mercer.releases.words import LEVEL, Question, Words, answer_shares
from mercer.show import terminal

__all__ = ["ColumnWords", "column_findings"]

_QUARTERS = np.array([0.25, 0.5, 0.75])
_PILED = 0.2  # share of the records at a bound that is worth a word


class ColumnWords(Words[ColumnRelease]):
    """`distribution of age in [0, 100], 101 values`."""

    def describe(self) -> str:
        release = self.release
        step = "" if release.step == 1 else f", {release.step:g} apart"
        return f"distribution of {release.domain.describe()}, {len(release.values)} values{step}"

    def summary(self) -> dict[str, Any]:
        release, accuracy = self.release, self.release.accuracy
        mean, band = release.mean(), release.quantile_band(_QUARTERS)
        return {
            "kind": release.kind,
            "domain": release.domain.to_dict(),
            "step": release.step,
            "values": len(release.values),
            "levels": release.levels,
            "share_of_values": release.share_of_values,
            "mean": mean._asdict(),
            "quartiles": {
                "values": release.quantile(_QUARTERS).tolist(),
                "lower": band.lower.tolist(),
                "upper": band.upper.tolist(),
                "level": band.level,
            },
            "privacy": release.privacy.to_dict(),
            "findings": self.findings(),
            "accuracy": {"cdf": accuracy.cdf, "value": accuracy.value, "mean": accuracy.mean},
        }

    def show(self, heading: str) -> None:
        release, mean = self.release, self.release.mean()
        quarters = ", ".join(self._word(q) for q in release.quantile(_QUARTERS))
        ends = f"{LEVEL:.0%} interval {self._word(mean.lower, 4)} to {self._word(mean.upper, 4)}"
        rows = [
            *self.promise(),
            ("column", self.describe().removeprefix("distribution of ")),
            ("mean", f"{self._word(mean.estimate, 4)}, {ends} (noise only)"),
            ("quartiles", quarters),
            ("accuracy", str(release.accuracy)),
        ]
        terminal.facts(heading, rows + self.notes())

    def answer(self, asked: Question, *, as_json: bool) -> None:
        self.check_no_cells(asked)
        if asked.grid is not None or asked.raw or asked.derivative or asked.expect:
            raise ValueError(
                "a column is asked with --at X… for single values, or --where 'COLUMN=FROM..TO' for a share; "
                "it has no --grid, --raw, --derivative or --expect"
            )
        if (asked.at is None) == (not asked.where):
            raise ValueError("say what to ask, in one way: --at X… or --where 'COLUMN=FROM..TO'")
        if asked.where:
            answer_shares(self.release, self.release.domain, asked, as_json=as_json)
            return
        points = asked.points(self.release.domain)[:, 0]
        self._values(points, asked.level, as_json=as_json)

    def _values(self, points: Floats, level: float, *, as_json: bool) -> None:
        """Print the share of single values, and of all up to them."""
        release = self.release
        alone = [release.share(x, x, level) for x in points]
        below = release.cdf(points)
        rows = [
            {
                "at": self._word(x) if release.domain.dates else float(x),
                "share": one.estimate,
                "lower": one.lower,
                "upper": one.upper,
                "at_or_below": float(up_to),
            }
            for x, one, up_to in zip(points, alone, below, strict=True)
        ]
        if as_json:
            terminal.print_json({"level": level, "values": rows})
            return
        head = f"{level:.0%} interval for the noise, each by itself"
        table = terminal.table(release.domain.names[0], "share", head, "at or below")
        for row in rows:
            table.add_row(
                row["at"] if isinstance(row["at"], str) else f"{row['at']:g}",
                f"{row['share']:.4%}",
                f"{row['lower']:.4%} to {row['upper']:.4%}",
                f"{row['at_or_below']:.4%}",
            )
        terminal.show(table)

    def _word(self, value: float, digits: int = 6) -> str:
        """A value of the column as people write it: a date, or a number."""
        if self.release.domain.dates:
            return str(self.release.domain.shown([float(value)])[0])
        return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


def column_findings(release: ColumnRelease) -> tuple[Finding, ...]:
    """Records without a value, values piled up at a bound, or nothing but noise."""
    law, name = release.law, release.domain.names[0]
    found: list[Finding] = []
    if not law.complete:
        leaf = np.zeros((1, law.tree.leaves))
        leaf[0, -1] = 1.0
        spread = (
            release.noise.deviation * float(np.linalg.norm(law.tree.node_weights(leaf))) / release.privacy.n
        )
        value = 1 - float(law.leaves[-1]) / release.privacy.n
        found += fit_finding(
            value,
            reach(normal=False) * spread,
            f"hold a number in {name}",
            "is the column text, or in another format?",
        )
        if value < _PILED and found:
            return tuple(found)
    return (*found, *_piled(release))


def _piled(release: ColumnRelease) -> list[Finding]:
    """Values at a bound, where values beyond it are counted too."""
    law = release.law
    found = []
    raw = np.diff(law.raw)
    deviations: Mapping[int, float] = dict(
        zip((0, -1), law.value_deviations(np.array([0, len(law.values) - 1])), strict=True)
    )
    for place, side in ((0, "lower"), (-1, "upper")):
        value, far = float(raw[place]), reach(normal=False, among=2) * deviations[place]
        if value - far > _PILED:
            at = release.domain.shown([float(law.values[place])])[0]
            shown = at if release.domain.dates else f"{at:g}"
            words = (
                f"{about(value, far)} are at the {side} bound of {release.domain.names[0]}, {shown}; values "
                "beyond the bounds are counted there: are the bounds in the column's unit, or does it have "
                "a code for missing values?"
            )
            found.append(Finding("bound", words))
    return found
