"""What the command line shows of mean curves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.common.checks import Floats, is_number
from mercer.releases.curve.release import CurveRelease
from mercer.show import terminal

__all__ = ["describe", "numbers_of_file", "show", "show_values", "summary"]


def describe(release: CurveRelease) -> str:
    """`mean curve of value over t in [0, 1]`."""
    kind = "mean curve" if release.domain.dimension == 1 else "mean surface"
    return f"{kind} of {release.value} over {release.domain.describe()}"


def summary(release: CurveRelease) -> dict[str, Any]:
    """What `--json` says of a mean curve."""
    accuracy, smoothing = release.accuracy, release.smoothing
    return {
        "kind": release.kind,
        "domain": release.domain.to_dict(),
        "value": release.value,
        "bound": release.bound,
        "order": release.order,
        "smoothing": smoothing.to_dict() | {"choice": release.choice},
        "privacy": release.privacy.to_dict(),
        "findings": terminal.told(release),
        "accuracy": {
            "integrated": accuracy.integrated,
            "root_mean_square": (accuracy.integrated / accuracy.width) ** 0.5,
            "pointwise": accuracy.pointwise,
            "coordinates": accuracy.coordinates,
            "freedom": accuracy.freedom,
        },
    }


def show(release: CurveRelease, heading: str, *, short: bool = False) -> None:
    """Promise, bound, smoothing and accuracy in words; short where it was all said before."""
    around = " around a public centre" if release.center.any() else ""
    rows = [("promise", str(release.privacy)), ("attack", release.privacy.attack)]
    if short:
        rows = [("promise", f"{release.privacy.short}; {release.privacy.n} records")]
    rows.append(("bound", f"root mean square of a curve at most {release.bound:g}{around}"))
    if release.order == "paper":
        rows.append(("order", "smoothing, then noise: it cannot be smoothed again"))
    rows.append(("accuracy", str(release.accuracy)))
    terminal.facts(heading, rows + terminal.notes(release))


def show_values(
    release: CurveRelease, points: Floats, level: float, order: int | tuple[int, ...], *, as_json: bool
) -> None:
    """`mercer eval` of a mean curve or a derivative of it, with its band."""
    value, band = release.derivative(points, order), release.band(points, level, order=order)
    spread = release.standard_error(points, order)
    orders = [order] if isinstance(order, int) else list(order)
    rows = zip(*(a.tolist() for a in (points, value, band.lower, band.upper, spread)), strict=True)
    if as_json:
        terminal.print_json(
            {
                "level": level,
                "value": release.value,
                "derivative": orders,
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
    head = f"{level:.0%} band for the noise, everywhere at once"
    table = terminal.table(*release.domain.names, what, head)
    for at, v, low, high, _ in rows:
        table.add_row(*(f"{x:g}" for x in at), f"{v:.6g}", f"{low:.6g} to {high:.6g}")
    terminal.console().print(table)


def numbers_of_file(path: Path) -> list[float]:
    """Public numbers, one a line."""
    words = path.read_text(encoding="utf-8", errors="replace").split()
    for line, word in enumerate(words, 1):
        if not is_number(word):
            raise ValueError(f"grid-file must hold numbers, one a line; number {line} is {word!r}")
    return [float(word) for word in words]
