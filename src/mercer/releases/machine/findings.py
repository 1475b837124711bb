"""What a classifier or a regression tells of the records: see `mercer.releases.findings`.  M8, M18."""

from __future__ import annotations

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.findings import DRY, Finding, hidden
from mercer.releases.machine.release import MachineRelease

__all__ = ["machine_findings"]

_QUIET = 0.2  # of the bound on a weight's variance: less noise is a sign of records


def machine_findings(release: MachineRelease) -> tuple[Finding, ...]:
    """Whether the functions can be told from zero."""
    sd = float(release.noise.deviations(release.coordinates.size)[0])
    parts = release.coordinates.reshape(len(release.losses), -1) / sd
    blind = hidden if release.method == "output" else _even
    if not all(blind(part) for part in parts):
        return ()
    what = "function" if len(parts) == 1 else "functions"
    return (Finding("flat", f"the {what} learnt cannot be told from zero: {DRY}"),)


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
