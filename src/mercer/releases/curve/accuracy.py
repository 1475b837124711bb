"""How accurate a released mean curve is expected to be, in numbers and in words.  M15, M22."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.releases.curve.average import Average
from mercer.releases.function import NOTHING_LEFT
from mercer.spaces.modes import SpectralFilter

__all__ = ["CHOICES", "CurveAccuracy"]

CHOICES = {  # how a smoothing came about, and in words
    "auto": "chosen from the noisy curve, free",
    "rule": "by a public rule",
    "given": "given",
    "private-cv": "chosen with a share of the budget",
}


@dataclass(frozen=True)
class CurveAccuracy:
    """Expected error of a mean curve.

    Of the default smoothing, the distance to the mean of the file's own curves, clipped to the bound, noise
    and smoothing both in it (M22); of another, the distance to the same smoothing of the mean without noise.
    """

    integrated: float  # expected integrated squared error
    pointwise: float  # largest standard deviation at a point
    coordinates: int
    freedom: float  # sum of the filter's factors: how many coordinates are left, in effect
    smoothing: SpectralFilter | Average
    choice: str
    width: float  # size of the domain

    def __str__(self) -> str:
        if self.freedom < NOTHING_LEFT:
            return (
                "Nothing of the curves is left: for so few of them and so small an epsilon the "
                "noise hides all, and smoothing keeps the centre alone."
            )
        f = self.smoothing
        left = f"{self.coordinates} coordinates, {self.freedom:.1f} left in effect by smoothing"
        size = f"{self.pointwise:.3g} at a point, {(self.integrated / self.width) ** 0.5:.3g} in the"
        if isinstance(f, Average):
            return (
                "Expected error, to the mean of the file's own curves, clipped to the bound: standard "
                f"deviation at most {size} root mean square, noise and smoothing together. {left} (filters "
                "averaged by evidence from the noisy curve, free)."
            )
        scales = " x ".join(f"{scale:.3g}" for scale in f.scales)
        return (
            f"Noise for privacy: standard deviation at most {size} root mean square. {left} "
            f"({f.kernel} kernel, scale {scales} of the width, eta {f.eta:g}, penalty "
            f"{f.penalty:.2g}; {CHOICES[self.choice]})."
        )
