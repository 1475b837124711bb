"""What the command line shows of densities."""

from __future__ import annotations

import math
from typing import Any

from mercer.common.checks import Floats
from mercer.releases.density.release import DensityRelease
from mercer.releases.words import FunctionWords, Question, answer_shares
from mercer.show import terminal

__all__ = ["DensityWords"]

_HOW = {
    "auto": "chosen from the noisy result, free",
    "rule": "public rule",
    "given": "given",
    "private-scott": "Scott's rule from private quartiles, a part of the budget",
    "private-cv": "private cross-validation, a part of the budget",
}


class DensityWords(FunctionWords[DensityRelease]):
    """`density of age in [0, 100]`."""

    repaired = True

    def describe(self) -> str:
        return f"density of {self.release.domain.describe()}"

    def summary(self) -> dict[str, Any]:
        release, accuracy = self.release, self.release.accuracy
        return {
            "kind": release.kind,
            "domain": release.domain.to_dict(),
            "boundary": release.boundary,
            "bandwidth": release.bandwidth.tolist(),
            "finest_bandwidth": release.finest_bandwidth.tolist(),
            "bandwidth_choice": release.choice,
            "smoother": release.smoother,
            "basis": release.basis.name,
            "privacy": release.privacy.to_dict(),
            "findings": self.findings(),
            "accuracy": {
                "integrated": accuracy.integrated,
                "pointwise": accuracy.pointwise,
                "coordinates": accuracy.coordinates,
                "truncation": accuracy.truncation if math.isfinite(accuracy.truncation) else None,
                "resolution": accuracy.resolution,
            },
        }

    def show(self, heading: str) -> None:
        release = self.release
        width = ", ".join(f"{h:.4g}" for h in release.bandwidth)
        rows = [
            *self.promise(),
            ("domain", release.domain.describe() + f", boundary {release.boundary}"),
            ("bandwidth", f"{width} ({_HOW[release.choice]})"),
            ("accuracy", str(release.accuracy)),
        ]
        terminal.facts(heading, rows + self.notes())

    def smoothed(self, bandwidth: list[float]) -> DensityRelease:
        d = self.release.domain.dimension
        if len(bandwidth) == 1:
            return self.release.smooth(bandwidth[0])
        matrix = [bandwidth[i : i + d] for i in range(0, len(bandwidth), d)]
        return self.release.smooth(matrix if len(bandwidth) == d**2 else bandwidth)

    def answer(self, asked: Question, *, as_json: bool) -> None:
        if asked.where and asked.at is None and asked.grid is None:
            self.check_no_cells(asked)
            answer_shares(self.release, self.release.domain, asked, as_json=as_json)
            return
        super().answer(asked, as_json=as_json)

    def evaluate(self, points: Floats, asked: Question, *, as_json: bool) -> None:
        level, raw = asked.level, asked.raw
        release = self.release
        value, band = release(points, raw=raw), release.band(points, level, raw=raw)
        rows: list[dict[str, Any]] = [
            {
                "at": [x if isinstance(x, float) else str(x) for x in release.domain.shown(point.tolist())],
                "density": float(v),
                "lower": float(low),
                "upper": float(high),
            }
            for point, v, low, high in zip(points, value, band.lower, band.upper, strict=True)
        ]
        if as_json:
            terminal.print_json({"level": level, "raw": raw, "values": rows})
            return
        head = f"{level:.0%} band for the noise, everywhere at once"
        table = terminal.table(*release.domain.names, "density", head)
        for row in rows:
            table.add_row(
                *(f"{x:g}" if isinstance(x, float) else x for x in row["at"]),
                f"{row['density']:.6g}",
                f"{row['lower']:.6g} to {row['upper']:.6g}",
            )
        terminal.console().print(table)
