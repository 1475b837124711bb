"""The one door.  Layer 5: the only place where a summary meets noise and becomes a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mercer.checks import Floats
from mercer.entropy import Entropy
from mercer.ledger import Ledger
from mercer.mechanisms import Mechanism
from mercer.release import NoiseLaw, Release
from mercer.statements import Statement
from mercer.summaries import Summary
from mercer.version import __version__

__all__ = ["publish"]

R = TypeVar("R", bound=Release)


def publish(
    summary: Summary,
    mechanism: Mechanism,
    build: Callable[[Floats, NoiseLaw, Statement], R],
    *,
    epsilon: float,
    delta: float,
    entropy: Entropy,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    what: str = "a release",
) -> R:
    """Calibrate to the summary's sensitivity, add noise, and hand out only what is public.

    With a ledger the release is charged to `dataset` as `what`, durably, when all is ready but
    before noise is drawn: a crash may cost a charge, but never leaves a release unpaid.

    `build` makes the release from noisy coordinates, the law of their noise and the statement;
    it is post-processing.
    """
    if (ledger is None) != (dataset is None):
        raise ValueError("ledger and dataset go together: give both, or neither")
    noise = mechanism.calibrate(
        summary.sensitivity, summary.basis.size, epsilon=epsilon, delta=delta
    )
    statement = Statement(
        epsilon=epsilon,
        delta=delta,
        neighbours=summary.sensitivity.neighbours,
        unit=summary.unit,
        n=summary.n,
        mechanism=mechanism.words,
        calibration=mechanism.calibration,
        secure=entropy.secure,
        version=__version__,
        events=(noise.event,),
    )
    coordinates = summary.coordinates()
    if ledger is not None and dataset is not None:
        ledger.charge(
            dataset, statement.events, epsilon=epsilon, delta=delta, what=what,
            unit=statement.unit, secure=statement.secure,
        )  # fmt: skip
    noisy = noise.add(coordinates, entropy)
    return build(noisy, NoiseLaw("discrete-gaussian", noise.sd, noise.step), statement)
