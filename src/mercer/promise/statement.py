"""The statement of a release: its promise as numbers, as a sentence and in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mercer.common.files import Fields, finite
from mercer.promise.events import ApproximateEvent, Event, Neighbours, event_from_dict, event_to_dict, power

__all__ = ["Statement", "rows_words"]


def rows_words(unit: str, most: int) -> str:
    """A clause that says how many rows of a person count; empty if the unit is a row."""
    if unit == "row":
        return ""
    if most == 1:
        return f"each {unit!r} counts once, in one of their rows, drawn at random"
    return f"each {unit!r} counts in at most {most} of their rows, drawn at random"


@dataclass(frozen=True)
class Statement:
    """What a release promises, in numbers and (by `str`) as a sentence."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    unit: str  # whose presence is hidden: "one row", or the column that names a person
    n: int  # rows or persons; public under replace-one
    mechanism: str
    calibration: str
    secure: bool  # False: the noise came from a seed and the release is not private
    version: str
    events: tuple[Event, ...]  # what the release is made of, for accounting

    @property
    def sentence(self) -> str:
        """The promise as a sentence for people."""
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

    def power(self, alpha: float = 0.05) -> float:
        """The largest power of a test of level alpha that sees the release.

        See `mercer.promise.events.power`.
        """
        if not self.secure:
            return 1.0  # whoever knows the seed subtracts the noise
        return min(power(self.events, alpha), power((ApproximateEvent(self.epsilon, self.delta),), alpha))

    @property
    def attack(self) -> str:
        """What an attacker can infer who knows everybody else's records, as a sentence."""
        if not self.secure:
            return "Whoever knows or guesses the seed can subtract the noise and see everything."
        whose = "row" if self.unit == "row" else self.unit
        return (
            f"Somebody who knows every other {whose} and tests whether the last is A or B, wrongly "
            f"saying B in 5 % of the cases of A, says B rightly in at most "
            f"{100 * self.power():.1f} % of the cases of B (without the release: 5 %)."
        )

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
        """The statement as fields of a file: numbers, and the sentences."""
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
            "events": [event_to_dict(event) for event in self.events],
            "sentence": self.sentence,
            "attack": self.attack,
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The statement that `to_dict` wrote; ValueError says what is wrong."""
        if fields.has("promise"):
            raise ValueError("a release of this kind cannot be under a weaker promise")
        delta = finite(fields.get("delta", float | int), "delta")
        if not 0 <= delta < 1:
            raise ValueError("delta must be in [0, 1)")
        n = fields.get("n", int)
        if n < 1 or fields.get("neighbours", str) != "replace-one":
            raise ValueError("n must be at least 1 and neighbours 'replace-one'")
        return cls(
            epsilon=fields.positive("epsilon"),
            delta=delta,
            neighbours="replace-one",
            unit=fields.get("unit", str),
            n=n,
            mechanism=fields.get("mechanism", str),
            calibration=fields.get("calibration", str),
            secure=fields.get("secure", bool),
            version=fields.get("version", str),
            events=_events(fields, delta),
        )


def _events(fields: Fields, delta: float) -> tuple[Event, ...]:
    """The privacy events of the release.  Files of format 1 do not list them."""
    if not fields.has("events"):
        return (ApproximateEvent(fields.positive("epsilon"), delta),)
    return tuple(event_from_dict(event) for event in fields.get("events", list))
