"""What is said of classifiers and regressions: predictions, and findings on the records.  M8, M18."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Floats
from mercer.releases.findings import DRY, Finding, hidden
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.releases.machine.release import MachineRelease
from mercer.releases.words import FunctionWords, Question
from mercer.show import terminal

__all__ = ["ClassifierWords", "RegressionWords", "machine_findings"]

_HOW = {"rule": "public rule", "given": "given", "private": "chosen on held-out rows"}
_MOST = 6  # columns in a heading
_COUNTED = 2.0  # standard deviations of the noise in the sum of all counts of curvature
_SURE = 0.5  # of what decides for the rarer class: less is a sign that the other alone might do as well

M = TypeVar("M", ClassifierRelease, RegressionRelease)
_QUIET = 0.2  # of the bound on a weight's variance: less noise is a sign of records


class MachineWords(FunctionWords[M]):
    """`classifier of outcome from age in [0, 100], bmi in [10, 60]`."""

    which: ClassVar[str]  # what there may be several functions for
    decides: ClassVar[bool]  # whether a function decides between classes, or is the prediction itself

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of the label or of the response."""

    @abstractmethod
    def named(self) -> list[str]:
        """A name for each of several functions."""

    @abstractmethod
    def facts(self) -> list[tuple[str, str]]:
        """What is predicted, and by which loss."""

    @abstractmethod
    def shape(self) -> dict[str, Any]:
        """Classes or bounds, for `--json`."""

    @property
    def functions(self) -> list[str]:
        """A name for each function; an empty one where there is but one."""
        return [""] if len(self.release.losses) == 1 else self.named()

    def describe(self) -> str:
        domain = self.release.domain
        shown = Box(domain.names[:_MOST], domain.bounds[:_MOST]).describe()
        more = f" and {domain.dimension - _MOST} more columns" if domain.dimension > _MOST else ""
        return f"{self.release.kind} of {self.label} from {shown}{more}"

    def summary(self) -> dict[str, Any]:
        release, accuracy = self.release, self.release.accuracy
        return {
            "kind": release.kind,
            "domain": release.domain.to_dict(),
            "label": self.label,
            **self.shape(),
            "losses": [loss.to_dict() for loss in release.losses],
            "estimates": release.losses[0].estimates,
            "features": {
                "name": release.features.name,
                "size": release.features.size,
                "words": release.features.words,
            },
            "penalty": release.penalty,
            "penalty_choice": release.choice,
            "method": release.method,
            "privacy": release.privacy.to_dict(),
            "findings": self.findings(),
            "accuracy": {
                "pointwise": accuracy.pointwise,
                "typical": accuracy.typical,
                "coordinates": accuracy.coordinates,
                "gap": accuracy.gap,
            },
        }

    def show(self, heading: str) -> None:
        release = self.release
        rows = [
            *self.promise(),
            *self.facts(),
            ("features", release.features.words),
            ("penalty", f"{release.penalty:.4g} ({_HOW[release.choice]})"),
            ("accuracy", str(release.accuracy)),
        ]
        terminal.facts(heading, rows + self.notes())

    @abstractmethod
    def answers(self, points: Floats, value: Floats, *, probability: bool) -> dict[str, Any]:
        """Predictions at points by name; `value` are the functions there."""

    def predicted(self, rows: Floats, *, probability: bool, level: float | None) -> dict[str, list[Any]]:
        """Predictions by name, one for each row; None where a row lacks a number."""
        release, whole = self.release, np.all(np.isfinite(rows), axis=1)
        points = rows[whole]
        value = np.reshape(release(points), (len(points), len(release.losses)))
        named = self.answers(points, value, probability=probability)
        if level is not None:
            band = release.band(points, level)
            lower, upper = (np.reshape(end, value.shape) for end in (band.lower, band.upper))
            for k, name in enumerate(self.functions):
                kept = f"_{name}" if name else ""
                if self.decides:
                    named[f"decision{kept}"] = value[:, k]
                named[f"lower{kept}"] = lower[:, k]
                named[f"upper{kept}"] = upper[:, k]
        out = {}
        for name, values in named.items():
            found = iter(np.asarray(values).tolist())
            out[name] = [next(found) if there else None for there in whole]
        return out

    def evaluate(self, points: Floats, asked: Question, *, as_json: bool) -> None:
        level = asked.level
        release, names = self.release, self.functions
        shape = (len(points), len(names))
        value, band = np.reshape(release(points), shape), release.band(points, level)
        ends: list[Floats] = [np.reshape(end, shape) for end in (band.lower, band.upper)]
        what = "decision function" if self.decides else self.label
        if as_json:
            single = len(names) == 1
            each = [array.tolist() for array in (value, *ends)]
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
        which = [] if len(names) == 1 else [self.which]
        head = f"{level:.0%} band for the noise, everywhere at once"
        table = terminal.table(*release.domain.names, *which, what, head)
        for place, point in enumerate(points):
            for k, name in enumerate(names):
                cells = [f"{x:g}" for x in point] + ([name] if which else [])
                low, high = ends[0][place, k], ends[1][place, k]
                table.add_row(*cells, f"{value[place, k]:.6g}", f"{low:.6g} to {high:.6g}")
        terminal.show(table)


class ClassifierWords(MachineWords[ClassifierRelease]):
    """Its functions decide between classes."""

    which, decides = "class", True

    @property
    def label(self) -> str:
        return self.release.label

    def named(self) -> list[str]:
        return [str(name) for name in self.release.classes]

    def facts(self) -> list[tuple[str, str]]:
        return [("classes", ", ".join(self.named())), ("loss", self.release.losses[0].name)]

    def shape(self) -> dict[str, Any]:
        return {"classes": list(self.release.classes)}

    def answers(self, points: Floats, value: Floats, *, probability: bool) -> dict[str, Any]:
        del value
        found = {"prediction": self.release.predict(points)}
        if probability:
            each = self.release.probability(points)
            found |= {f"probability_{name}": each[:, k] for k, name in enumerate(self.release.classes)}
        return found

    def evaluate(self, points: Floats, asked: Question, *, as_json: bool) -> None:
        super().evaluate(points, asked, as_json=as_json)
        if len(self.release.classes) == 2 and not as_json:
            below, above = self.release.classes
            print(f"Above 0 is {above}, below {below}.")


class RegressionWords(MachineWords[RegressionRelease]):
    """Its functions are the mean, the median or quantiles of a response."""

    which, decides = "quantile", False

    @property
    def label(self) -> str:
        return self.release.response

    def named(self) -> list[str]:
        return [f"{level:g}" for level in self.release.levels]

    def facts(self) -> list[tuple[str, str]]:
        low, high = self.release.y_bounds
        loss = self.release.losses[0].words
        if not np.isnan(self.release.levels[0]):
            loss = f"{self.release.losses[0].name}: quantiles {', '.join(self.named())}"
        return [("response", f"{self.release.response} in [{low:g}, {high:g}]"), ("loss", loss)]

    def shape(self) -> dict[str, Any]:
        return {"y_bounds": list(self.release.y_bounds)}

    def answers(self, points: Floats, value: Floats, *, probability: bool) -> dict[str, Any]:
        del points
        if probability:
            raise ValueError("--probability is for classifiers; a regression has a --band")
        return {
            f"quantile_{name}" if name else "prediction": value[:, k] for k, name in enumerate(self.functions)
        }


def machine_findings(release: MachineRelease) -> tuple[Finding, ...]:
    """Whether the functions can be told from zero, and a classifier from one class everywhere."""
    parts = release.signals
    inside = release.method == "objective"
    # of features that are alike, or few in many columns, nothing tells the records from the noise
    alike = inside and (not release.features.ordered or release.domain.dimension > 3)
    blind = _even if inside else hidden
    if alike or _told(release) or not all(blind(part) for part in parts):
        return _one_class(release) if isinstance(release, ClassifierRelease) else ()
    what = "function" if len(parts) == 1 else "functions"
    return (Finding("flat", f"the {what} learnt cannot be told from zero: {DRY}"),)


def _told(release: MachineRelease) -> bool:
    """Whether curvature was counted, and a function is more than the noise that follows from it."""
    from scipy.stats import chi2

    found = release.curvature
    if found is None:
        return False
    least = _COUNTED * found.law.deviation * np.sqrt(found.mesh.count)
    lengths = release.deviates()
    most = chi2.ppf(0.999, release.features.size)
    return any(
        count > least and length > most
        for count, length in zip(found.counts.sum(axis=1), lengths, strict=True)
    )


def _one_class(release: ClassifierRelease) -> tuple[Finding, ...]:
    """Whether what decides for the rarer of two classes may be noise.

    The counts of curvature say where the records are; there is no telling without them.
    """
    if len(release.classes) != 2 or release.curvature is None:
        return ()
    above, sure, mass = release.decided()
    below = ~above & (mass > 0)
    rare, often = (above, 0) if mass[above].sum() < mass[below].sum() else (below, 1)
    if mass[rare & sure].sum() >= _SURE * mass[rare].sum() > 0:
        return ()
    words = (
        f"where the records are, what decides for {release.classes[1 - often]} may be noise: deciding for "
        f"{release.classes[often]} everywhere may be as accurate; a larger epsilon or more records would tell"
    )
    return (Finding("majority", words),)


def _even(ratios: Floats) -> bool:
    """Whether the weights look like those of noise in an objective that records do not enter.

    Its size in the weights is known as a bound alone.  Without records all weights are alike and
    as large as the bound; records raise the first, and lower the noise of all.
    """
    from scipy.stats import f

    half = ratios.size // 2
    if half < 2:
        return hidden(ratios)
    noise = float(np.mean(ratios[half:] ** 2))
    sizes = sorted({min(4, half), min(16, half)})
    alike = all(
        float(np.mean(ratios[:size] ** 2)) <= noise * f.ppf(0.99, size, ratios.size - half) for size in sizes
    )
    return alike and noise > _QUIET
