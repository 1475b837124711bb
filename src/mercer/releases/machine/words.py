"""What the command line shows of classifiers and regressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.releases.machine.release import MachineRelease
from mercer.show import terminal

__all__ = ["answers", "describe", "functions", "is_machine", "show", "show_values", "summary"]

_HOW = {"rule": "public rule", "given": "given", "private": "chosen on held-out rows"}


def is_machine(release: object) -> bool:
    """Whether a release is a classifier or a regression."""
    return isinstance(release, MachineRelease)


def describe(release: MachineRelease) -> str:
    """`classifier of outcome from age in [0, 100], bmi in [10, 60]`."""
    return f"{release.kind} of {name_of(release)} from {release.domain.describe(6)}"


def name_of(release: MachineRelease) -> str:
    """What is predicted."""
    if isinstance(release, ClassifierRelease):
        return release.label
    assert isinstance(release, RegressionRelease)
    return release.response


def functions(release: MachineRelease) -> list[str]:
    """A name for each function of the release, where it has several."""
    if len(release.losses) == 1:
        return [""]
    if isinstance(release, ClassifierRelease):
        return [str(name) for name in release.classes]
    assert isinstance(release, RegressionRelease)
    return [f"{level:g}" for level in release.levels]


def summary(release: MachineRelease) -> dict[str, Any]:
    """What `--json` says of a machine."""
    accuracy = release.accuracy
    out: dict[str, Any] = {
        "kind": release.kind,
        "domain": release.domain.to_dict(),
        "label": name_of(release),
    }
    if isinstance(release, ClassifierRelease):
        out["classes"] = list(release.classes)
    elif isinstance(release, RegressionRelease):
        out["y_bounds"] = list(release.y_bounds)
    return out | {
        "losses": [loss.to_dict() for loss in release.losses],
        "features": {
            "name": release.features.name,
            "size": release.features.size,
            "words": release.features.words,
        },
        "penalty": release.penalty,
        "penalty_choice": release.choice,
        "method": release.method,
        "privacy": release.privacy.to_dict(),
        "findings": terminal.told(release),
        "accuracy": {
            "pointwise": accuracy.pointwise,
            "coordinates": accuracy.coordinates,
            "gap": accuracy.gap,
        },
    }


def show(release: MachineRelease, heading: str) -> None:
    """Promise, classes or bounds, features, penalty and accuracy in words."""
    rows = [("promise", str(release.privacy)), ("attack", release.privacy.attack)]
    if isinstance(release, ClassifierRelease):
        rows.append(("classes", ", ".join(map(str, release.classes))))
    elif isinstance(release, RegressionRelease):
        low, high = release.y_bounds
        rows.append(("response", f"{release.response} in [{low:g}, {high:g}]"))
    loss = release.losses[0].name
    if isinstance(release, RegressionRelease) and loss == "pinball":
        loss += ": quantiles " + ", ".join(f"{level:g}" for level in release.levels)
    rows += [
        ("loss", loss),
        ("features", release.features.words),
        ("penalty", f"{release.penalty:.4g} ({_HOW[release.choice]})"),
        ("accuracy", str(release.accuracy)),
    ]
    terminal.facts(heading, rows + terminal.notes(release))


def answers(
    release: MachineRelease, rows: Floats, *, probability: bool, level: float | None
) -> dict[str, list[Any]]:
    """Predictions by name, one for each row; None where a row lacks a number."""
    whole = np.all(np.isfinite(rows), axis=1)
    points, out = rows[whole], {}

    def put(name: str, values: Any) -> None:
        found = iter(np.asarray(values).tolist())
        out[name] = [next(found) if there else None for there in whole]

    value = np.reshape(release(points), (len(points), len(release.losses)))
    kept = [f"_{name}" if name else "" for name in functions(release)]
    if isinstance(release, ClassifierRelease):
        put("prediction", release.predict(points))
        if probability:
            each = release.probability(points)
            for k, name in enumerate(release.classes):
                put(f"probability_{name}", each[:, k])
    else:
        if probability:
            raise ValueError("--probability is for classifiers; a regression has a --band")
        for k, name in enumerate(kept):
            put(f"quantile{name}" if name else "prediction", value[:, k])
    if level is not None:
        band = release.band(points, level)
        lower, upper = (np.reshape(end, value.shape) for end in (band.lower, band.upper))
        for k, name in enumerate(kept):
            if isinstance(release, ClassifierRelease):
                put(f"decision{name}", value[:, k])
            put(f"lower{name}", lower[:, k])
            put(f"upper{name}", upper[:, k])
    return out


def show_values(release: MachineRelease, points: Floats, level: float, *, as_json: bool) -> None:
    """`mercer eval` of a machine: its function or functions with their band."""
    shape = (len(points), len(release.losses))
    value = np.reshape(release(points), shape)
    band = release.band(points, level)
    ends = [np.reshape(end, shape) for end in (band.lower, band.upper)]
    what = "decision function" if isinstance(release, ClassifierRelease) else name_of(release)
    names = functions(release)
    if as_json:
        each = [array.tolist() for array in (value, *ends)]
        single = len(names) == 1
        terminal.print_json(
            {
                "level": level,
                "function": what,
                "functions": [] if single else names,
                "values": [
                    {
                        "at": point.tolist(),
                        "value": v[0] if single else v,
                        "lower": low[0] if single else low,
                        "upper": high[0] if single else high,
                    }
                    for point, v, low, high in zip(points, *each, strict=True)
                ],
            }
        )
        return
    which = [] if len(names) == 1 else ["class" if what == "decision function" else "quantile"]
    head = f"{level:.0%} band for the noise, everywhere at once"
    table = terminal.table(*release.domain.names, *which, what, head)
    for place, point in enumerate(points):
        for k, name in enumerate(names):
            cells = [f"{x:g}" for x in point] + ([name] if which else [])
            low, high = ends[0][place, k], ends[1][place, k]
            table.add_row(*cells, f"{value[place, k]:.6g}", f"{low:.6g} to {high:.6g}")
    terminal.console().print(table)
    if isinstance(release, ClassifierRelease) and len(release.classes) == 2:
        print(f"Above 0 is {release.classes[1]}, below {release.classes[0]}.")
