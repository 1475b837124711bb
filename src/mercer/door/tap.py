"""Noise for numbers that come one at a time, all of it paid for at once.  M7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.door.publish import Payer
from mercer.noise.entropy import Entropy, Secure
from mercer.noise.laws import Normal
from mercer.noise.mechanisms.base import Promise
from mercer.noise.mechanisms.gaussian import Gaussian, GaussianNoise
from mercer.promise.accountants import replace_one
from mercer.promise.events import GaussianEvent, Sensitivity, event_from_dict, event_to_dict
from mercer.promise.statement import Statement

__all__ = ["Tap", "open_tap"]


class Tap:
    """Gives noise to one coordinate after another: together they move no further than was said."""

    def __init__(self, noise: GaussianNoise, entropy: Entropy) -> None:
        self.noise, self._entropy = noise, entropy
        self._bound = replace_one(noise.law.scale * noise.event.mu)

    @property
    def law(self) -> Normal:
        """Of the noise: public."""
        return self.noise.law

    def draw(self, value: float) -> float:
        """The coordinate with noise."""
        exact = np.array([value])
        self._entropy.witness("coordinates", lambda: exact, self._bound)
        return float(self.noise.add(exact, self._entropy)[0])

    def to_fields(self) -> dict[str, Any]:
        """For the store: what was paid for."""
        return {
            "noise": {"law": self.noise.law.to_dict(), "scale": self.noise.scale},
            "event": event_to_dict(self.noise.event),
        }

    @classmethod
    def resume(cls, fields: Mapping[str, Any]) -> Tap:
        """What `to_fields` wrote, with secure noise; ValueError if it is no such event."""
        event, noise = event_from_dict(fields["event"]), fields["noise"]
        if not isinstance(event, GaussianEvent):
            raise ValueError("the event of a live release must be a Gaussian one")
        law = Normal(noise["law"]["scale"], noise["law"]["step"])
        return cls(GaussianNoise(law, noise["scale"], event), Secure())


def open_tap(
    sensitivity: Sensitivity, size: int, payer: Payer, *, promise: Promise, n: int, unit: str, what: str
) -> tuple[Tap, Statement]:
    """Calibrate and charge for `size` coordinates that will come one at a time."""
    mechanism = Gaussian()
    noise = mechanism.calibrate(sensitivity, size, **promise)
    paid = payer.pay(
        (noise.event,),
        promise=promise,
        n=n,
        unit=unit,
        words=mechanism.words,
        calibration=mechanism.calibration,
        what=what,
    )
    return Tap(noise, paid.entropy), paid.statement
