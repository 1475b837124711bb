"""What a promise is made of: neighbours, sensitivities, events and statements.

Layer 0: imports nothing of Mercer but `checks`.  All values are frozen and public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["GaussianEvent", "Neighbours", "Sensitivity", "Statement"]

Neighbours = Literal["replace-one"]


@dataclass(frozen=True)
class Sensitivity:
    """How far one record (or one person) can move a summary, in a stated norm.

    `value` is an upper bound: it already holds what quantising, clipping and rounding add.
    """

    value: float
    norm: Literal["rkhs"]
    neighbours: Neighbours = "replace-one"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value > 0):
            raise ValueError(f"a sensitivity must be finite and above 0, got {self.value!r}")


@dataclass(frozen=True)
class GaussianEvent:
    """A Gaussian release: mu-GDP plus a slack in delta for the discrete lattice (M1, M3.5)."""

    mu: float
    slack: float


@dataclass(frozen=True)
class Statement:
    """What was promised, in numbers and (`str`) as a sentence."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    unit: str  # whose presence is hidden: "one row", or the column that names a person
    n: int  # rows or persons; public under replace-one
    mechanism: str
    calibration: str
    secure: bool  # False: the noise came from a seed and the release is not private
    version: str

    @property
    def sentence(self) -> str:
        """The promise in words."""
        who = "one row" if self.unit == "row" else f"all rows of one {self.unit!r}"
        count = f"{self.n} rows" if self.unit == "row" else f"{self.n} different {self.unit!r}"
        kind = "pure, no delta" if self.delta == 0 else f"delta = {self.delta:g}"
        promise = (
            f"Differentially private with epsilon = {self.epsilon:g} ({kind}): replacing {who} "
            f"by any other changes the probability of any outcome at most by the factor "
            f"exp({self.epsilon:g})"
            + ("" if self.delta == 0 else f", but for a probability of {self.delta:g}")
            + f". The number of records, {count}, and the bounds are public. "
            f"Noise: {self.mechanism} ({self.calibration} calibration)"
        )
        if self.secure:
            return promise + ", drawn from the operating system's entropy."
        return "NOT PRIVATE: the noise came from a seed. It would read: " + promise + "."

    @property
    def short(self) -> str:
        """The promise in one line, for pictures and tables."""
        unit = "row" if self.unit == "row" else self.unit
        delta = "pure" if self.delta == 0 else f"delta = {self.delta:g}"
        mark = "" if self.secure else "NOT PRIVATE (seeded): "
        return f"{mark}epsilon = {self.epsilon:g}, {delta}, one {unit}"

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "unit": self.unit,
            "n": self.n,
            "mechanism": self.mechanism,
            "calibration": self.calibration,
            "secure": self.secure,
            "version": self.version,
            "sentence": self.sentence,
        }
