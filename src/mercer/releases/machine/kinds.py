"""Released classifiers and regressions.  Right of the door: never sees a record.  M8."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.common.checks import Floats, check_choice, check_positive
from mercer.common.files import Fields, numbers
from mercer.releases.machine.moments import check_smoothness
from mercer.releases.machine.release import MachineRelease

__all__ = ["ClassifierRelease", "RegressionRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierRelease(MachineRelease):
    """A private classifier: `release(x)` is the decision function, `predict(x)` the class."""

    classes: tuple[Any, ...]
    label: str  # name of what is predicted

    kind = "classifier"

    def __post_init__(self) -> None:
        super().__post_init__()
        many = len(self.classes)
        if many < 2 or len(self.losses) != (1 if many == 2 else many):
            raise ValueError("a classifier has one function for two classes, else one a class")

    @property
    def scale(self) -> float:
        return 1.0

    def __call__(self, x: object) -> Floats:
        """The decision function: above 0 is the second of two classes; of several, one a class."""
        return self._values(x)

    def predict(self, x: object) -> NDArray[Any]:
        """The class of each point."""
        value = self._values(x)
        place = value > 0 if len(self.classes) == 2 else np.argmax(value, axis=-1)
        names = np.empty(len(self.classes), dtype=object)
        names[:] = self.classes
        if not any(isinstance(name, str) for name in self.classes):
            names = np.array(self.classes)
        elif all(isinstance(name, str) for name in self.classes):
            names = names.astype(str)
        return names[np.asarray(place, dtype=int)]

    def probability(self, x: object) -> Floats:
        """Estimated probability of each class, in their order: by the exact link of the loss (M21)."""
        value = self._values(x)
        each = self.losses[0].probability(value, penalty=self.penalty)
        if len(self.classes) == 2:
            return np.stack([1 - each, each], axis=-1)
        total = each.sum(axis=-1, keepdims=True)
        return np.where(total > 0, each / np.where(total > 0, total, 1), 1 / len(self.classes))

    def to_dict(self) -> dict[str, Any]:
        return {**self._common(), "classes": list(self.classes), "label": self.label}

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        classes = top.get("classes", list)
        if not all(isinstance(c, (str, bool, int, float)) for c in classes):
            raise ValueError("classes must be text or numbers")
        fields = cls._common_fields(top)
        if not all(loss.classes for loss in fields["losses"]):
            raise ValueError("the losses are not a classifier's")
        return cls(**fields, classes=tuple(classes), label=top.get("label", str))


@dataclass(frozen=True, eq=False, repr=False)
class RegressionRelease(MachineRelease):
    """A private regression: `release(x)` is the mean, the middle or quantiles of the response.

    Which of them: `release.losses[0].estimates`.
    """

    response: str  # name of what is predicted
    y_bounds: tuple[float, float]

    kind = "regression"

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.y_bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError("y_bounds of a regression must be lower < upper")

    @property
    def scale(self) -> float:
        return (self.y_bounds[1] - self.y_bounds[0]) / 2

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the quantiles, where the loss is the pinball loss."""
        return tuple(getattr(loss, "level", math.nan) for loss in self.losses)

    def __call__(self, x: object, *, raw: bool = False) -> Floats:
        """The response at each point, within its bounds; several quantiles never cross.

        `raw=True` is the function as released.
        """
        value = self._values(x)
        return value + sum(self.y_bounds) / 2 if raw else self._finished(value)

    predict = __call__

    def smooth(self, *, penalty: object = "rule", smoothness: float = 0.0) -> RegressionRelease:
        """The same release with another penalty, free for anyone: of method="moments" (M21, M17).

        `penalty` is lambda in mean squared error + lambda |f|^2, or "rule".  With `smoothness` above
        0, up to 4, features that are small on the whole (the fine ones) are penalised more, by their
        mean square to minus this power; the public order of features decides, not the records.
        """
        if self.moments is None:
            raise ValueError(
                f"the penalty of a regression by method={self.method!r} is fixed when it is learnt; one by "
                "method='moments' with loss='squared' can be smoothed afterwards"
            )
        number = check_smoothness(smoothness)
        ruled = isinstance(penalty, str)
        if ruled:
            check_choice("penalty", penalty, ("rule",))
            chosen = self.moments.rule(self.features, self._deviation, self.privacy.n)
        else:
            chosen = check_positive("penalty", penalty, "or 'rule'")
        return replace(
            self,
            moments=replace(self.moments, smoothness=number),
            penalty=chosen,
            choice="rule" if ruled else "given",
        )

    def _finished(self, values: Floats) -> Floats:
        shifted = np.clip(values + sum(self.y_bounds) / 2, *self.y_bounds)
        return shifted if len(self.losses) == 1 else np.sort(shifted, axis=-1)

    @property
    def _unit_words(self) -> str:
        return f" in units of {self.response}"

    def to_dict(self) -> dict[str, Any]:
        return {**self._common(), "response": self.response, "y_bounds": list(self.y_bounds)}

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        pair = numbers(top.get("y_bounds", list), "y_bounds")
        fields = cls._common_fields(top)
        if len(pair) != 2 or any(loss.classes for loss in fields["losses"]):
            raise ValueError("y_bounds or losses are not a regression's")
        return cls(**fields, response=top.get("response", str), y_bounds=(pair[0], pair[1]))
