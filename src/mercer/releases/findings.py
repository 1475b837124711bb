"""What a release itself tells of its records, without a further look at them.  M17, M18.

Rows that hold no number, values piled up at a bound, values of a lattice, a release in which only
noise is left: all of it shows in the noisy numbers, whose noise has a known law.  A finding is
post-processing, so it costs nothing and may be told to anybody.  It is made only where noise
explains what was seen at most once in 1000 releases (`ALPHA`, shared by the rules of a release);
"flat" and "majority" alone say the opposite, that noise explains everything, or one class enough.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.special import ndtri

from mercer.common.checks import FindingWarning, Floats

__all__ = [
    "ALPHA",
    "DRY",
    "FIT",
    "Finding",
    "HasFindings",
    "about",
    "fit_finding",
    "hidden",
    "reach",
    "share",
    "tell",
]

ALPHA = 1e-3  # how often noise alone may make a finding of a release, all rules together
FIT = 0.95  # of a share of rows above this, nothing is said
_EACH = ALPHA / 4  # a release is looked at by at most four rules
DRY = "the promise is too strong for so few records, or they hold no numbers"
_HIDDEN = 0.99  # level of the test whether anything can be told from the noise


@dataclass(frozen=True)
class Finding:
    """Something that a release tells: a word for programs and a sentence for people."""

    kind: str  # "fit", "bound", "spike", "lattice", "flat", "majority", "categories" or "clipped"
    words: str

    def to_dict(self) -> dict[str, str]:
        """The word and the sentence, for JSON."""
        return {"kind": self.kind, "words": self.words}


class HasFindings(Protocol):
    """A release, or another result of a budget."""

    def findings(self) -> tuple[Finding, ...]:
        """What the release itself tells."""


R = TypeVar("R", bound=HasFindings)


def tell(release: R) -> R:
    """Warn of each finding, with the caller's line, and return the release.

    What was paid for always comes back: where a filter turns warnings into exceptions, a finding
    is shown, not raised; one that cannot be computed is left out.
    """
    try:
        found = release.findings()
    except Exception:  # of arithmetic: what was paid for comes back all the same
        found = ()
    for finding in found:
        name, line, level = _caller()
        try:
            warnings.warn(finding.words, FindingWarning, stacklevel=level)
        except FindingWarning as raised:
            warnings.showwarning(raised, FindingWarning, name, line)
    return release


def reach(*, normal: bool, among: int = 1, alpha: float = _EACH) -> float:
    """Noise is above so many standard deviations, in any of `among` places, with chance `alpha`.

    For normal noise, or for any other here: one number made of it has a density without a second
    peak (log-concave), and a tail that is at most Laplace's (tests/releases/test_findings.py).
    """
    chance = alpha / among
    return float(-ndtri(chance)) if normal else -math.log(2 * chance) / math.sqrt(2)


def hidden(ratios: Floats) -> bool:
    """Whether noise explains these numbers, which are in its standard deviations.

    Together, and the first few of them by themselves: what is left shows there first.
    """
    from scipy.stats import chi2

    if not ratios.size:
        return True
    squares = np.cumsum(ratios**2)
    sizes = sorted({min(ratios.size, size) for size in (1, 4, 16, 64, ratios.size)})
    return all(squares[size - 1] <= chi2.ppf(_HIDDEN, size) for size in sizes)


def share(value: float) -> str:
    """A share in whole per cent."""
    return f"{100 * min(max(value, 0.0), 1.0):.0f} %"


def about(value: float, width: float) -> str:
    """`about 43 % of the records (40 to 46 %)`: with the ends that the noise allows."""
    low, high = (100 * min(max(value + side, 0.0), 1.0) for side in (-width, width))
    ends = f"at most {high:.0f} %" if low < 0.5 else f"{low:.0f} to {high:.0f} %"
    if high - low < 1 or width < 0.005:
        return f"about {share(value)} of the records"
    return f"about {share(value)} of the records ({ends})"


def fit_finding(
    value: float, width: float, what: str, ask: str, *, otherwise: str = ""
) -> tuple[Finding, ...]:
    """The share of records that hold a value, where it is clearly below one.

    `width` is how far the noise reaches.  `ask` is what to check where most do not.
    """
    if value >= FIT or value + width >= 1:
        return ()
    doubt = ask if value < 0.8 else otherwise
    return (Finding("fit", f"{about(value, width)} {what}{doubt and ': '}{doubt}"),)


def _caller() -> tuple[str, int, int]:
    """File and line outside this package that called it, and how far up that is."""
    frame: Any = sys._getframe(1)  # of `tell`
    level = 1
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _OURS:
            return frame.f_code.co_filename, frame.f_lineno, level
        frame, level = frame.f_back, level + 1
    return str(Path(__file__)), 0, 1


_OURS = ("mercer", "contextlib", "numpy", "sklearn", "typer", "click")
