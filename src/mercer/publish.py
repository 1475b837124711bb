"""The one door.  Layer 5: the only place where a summary meets noise and becomes a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mercer.checks import Floats
from mercer.entropy import Entropy
from mercer.laws import Law
from mercer.mechanisms import Mechanism
from mercer.release import Release
from mercer.statements import Statement
from mercer.summaries import Summary
from mercer.version import __version__

__all__ = ["publish"]

R = TypeVar("R", bound=Release)


def publish(
    summary: Summary,
    mechanism: Mechanism,
    build: Callable[[Floats, Law, Statement], R],
    *,
    epsilon: float,
    delta: float,
    entropy: Entropy,
) -> R:
    """Calibrate to the summary's sensitivity, add noise, and hand out only what is public.

    `build` makes the release from noisy coordinates, the law of their noise and the statement;
    it is post-processing.
    """
    sensitivity = summary.sensitivity(mechanism.norm)
    noise = mechanism.calibrate(sensitivity, summary.basis.size, epsilon=epsilon, delta=delta)
    statement = Statement(
        epsilon=epsilon,
        delta=delta,
        neighbours=sensitivity.neighbours,
        unit=summary.unit,
        n=summary.n,
        mechanism=mechanism.words,
        calibration=mechanism.calibration,
        secure=entropy.secure,
        version=__version__,
        events=(noise.event,),
    )
    coordinates = summary.coordinates()
    entropy.witness("coordinates", coordinates, sensitivity)
    noisy = noise.add(coordinates, entropy)
    return build(noisy, noise.law, statement)
