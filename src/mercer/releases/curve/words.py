"""What is said of mean curves: on the command line, and what they tell of the curves by themselves.  M9, M18.

A mean of curves of norm at most one has a norm that the noisy coordinates tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.noise.laws import Normal
from mercer.releases.curve.release import CurveRelease
from mercer.releases.findings import DRY, Finding, hidden, reach
from mercer.releases.words import FunctionWords, Question
from mercer.show import terminal

__all__ = ["CurveWords", "curve_findings"]

_FULL = 0.95  # norm of a mean, in bounds: its curves have that much or more on average
_NOISE = 0.05  # of a coordinate, in bounds, without which "flat" is no fault of the noise


class CurveWords(FunctionWords[CurveRelease]):
    """`mean curve of value over t in [0, 1]`."""

    penalised = True
    sampled = True

    def describe(self) -> str:
        kind = "mean curve" if self.release.domain.dimension == 1 else "mean surface"
        return f"{kind} of {self.release.value} over {self.release.domain.describe()}"

    def summary(self) -> dict[str, Any]:
        release, accuracy, sampling = self.release, self.release.accuracy, self.release.sampling
        found = {}
        if sampling is not None:
            error = sampling.error * release.bound
            found["population"] = {"share": sampling.share, "sampling_error": error}
        return {
            "kind": release.kind,
            "domain": release.domain.to_dict(),
            "value": release.value,
            "bound": release.bound,
            "order": release.order,
            "smoothing": release.smoothing.to_dict() | {"choice": release.choice},
            "privacy": release.privacy.to_dict(),
            "findings": self.findings(),
            "accuracy": {
                "about": ", ".join(filter(None, [release.about, release.grade])),
                "integrated": accuracy.integrated,
                "root_mean_square": (accuracy.integrated / accuracy.width) ** 0.5,
                "pointwise": accuracy.pointwise,
                "coordinates": accuracy.coordinates,
                "freedom": accuracy.freedom,
            },
            **found,
        }

    def show(self, heading: str, *, short: bool = False) -> None:
        """Promise, bound, smoothing and accuracy in words; short where it was all said before."""
        release = self.release
        around = " around a public centre" if release.center.any() else ""
        rows = self.promise()
        if short:
            rows = [("promise", f"{release.privacy.short}; {release.privacy.n} records")]
        rows.append(("bound", f"root mean square of a curve at most {release.bound:g}{around}"))
        if release.order == "paper":
            rows.append(("order", "smoothing, then noise: it cannot be smoothed again"))
        rows.append(("accuracy", str(release.accuracy)))
        if release.sampling is not None:
            error = release.sampling.error * release.bound
            rows.append(
                (
                    "population",
                    f"sampling alone puts its mean a root mean square of about {error:.3g} further away; "
                    "--of population: bands about it",
                )
            )
        terminal.facts(heading, rows + self.notes())

    def order(self, derivative: Sequence[int]) -> int | tuple[int, ...]:
        """`--derivative 1` of a curve, or one order for each argument of a surface."""
        if not derivative:
            return 0
        return derivative[0] if len(derivative) == 1 else tuple(derivative)

    def evaluate(self, points: Floats, asked: Question, *, as_json: bool) -> None:
        level, order = asked.level, self.order(asked.derivative)
        release = self.release
        seen = release.whose(asked.of or "data")
        value, band = seen.derivative(points, order), seen.band(points, level, order=order)
        spread = seen.standard_error(points, order)
        orders = [order] if isinstance(order, int) else list(order)
        rows = zip(*(a.tolist() for a in (points, value, band.lower, band.upper, spread)), strict=True)
        if as_json:
            terminal.print_json(
                {
                    "level": level,
                    "value": release.value,
                    "derivative": orders,
                    "band": ", ".join(filter(None, [seen.about, seen.grade])),
                    "values": [
                        {"at": at, "value": v, "lower": low, "upper": high, "standard_error": sd}
                        for at, v, low, high, sd in rows
                    ],
                }
            )
            return
        what = release.value
        if any(orders):
            what = f"derivative {', '.join(map(str, orders))} of {what}"
        head = f"{level:.0%} band {seen.about}, everywhere at once"
        table = terminal.table(*release.domain.names, what, head)
        for at, v, low, high, _ in rows:
            table.add_row(*(f"{x:g}" for x in at), f"{v:.6g}", f"{low:.6g} to {high:.6g}")
        terminal.show(table)
        if seen.grade:
            print(f"The band is of curves as clipped to the bound {release.bound:g}; it is {seen.grade}.")


def curve_findings(release: CurveRelease) -> tuple[Finding, ...]:
    """Whether the mean is as large as the bound lets it be, or nothing but noise."""
    if release.order == "paper":
        return ()  # its coordinates are those of the smoothed curve
    sd = float(release.law.deviations(release.raw.size)[0])
    around = "the public centre" if release.center.any() else "zero"
    if hidden(release.raw / sd):
        if sd <= _NOISE:
            return ()
        return (Finding("flat", f"the mean of {release.value} cannot be told from {around}: {DRY}"),)
    square, noise = _squared_norm(release.raw, sd)
    least = square - reach(normal=isinstance(release.law, Normal)) * noise
    if least < _FULL**2 or square > 1.5:
        return ()
    size = min(math.sqrt(square), 1.0) * release.bound
    apart = " around the centre" if release.center.any() else ""
    return (
        Finding(
            "clipped",
            f"the mean of {release.value} has a root mean square{apart} of about {size:.3g}, and "
            f"no curve can have more than the bound, {release.bound:g}, to which larger ones are "
            "scaled down: so are most, it seems; is the bound in the unit of the values?",
        ),
    )


def _squared_norm(raw: Floats, sd: float) -> tuple[float, float]:
    """Of the mean without noise: an unbiased estimate, and its standard deviation."""
    square = max(float(np.sum(raw**2)) - raw.size * sd**2, 0.0)
    return square, math.sqrt(2 * raw.size * sd**4 + 4 * max(square, sd**2) * sd**2)
