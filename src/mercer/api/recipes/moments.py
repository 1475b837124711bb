"""The public choices of least squares from noisy moments, and what is expected of it.  M21."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from mercer.common.checks import PrivacyWarning
from mercer.noise.mechanisms import Gaussian
from mercer.noise.mechanisms.base import Promise
from mercer.rules.machines import moment_noise, moment_penalty
from mercer.sensitive.summaries.moments import moment_bound
from mercer.spaces.maps import FeatureMap
from mercer.spaces.moments import MomentSpan

__all__ = ["MomentPlan", "check_features", "check_moments"]

_MOST = 1024  # features, whose moments are half a million numbers
_LITTLE = 0.5  # half ranges of noise: more leaves little of the function
_DRAWN, _FURTHER = 1.5, 5.0  # times a feature's share of the records, in one column and in more, where
# records fill few features: more penalty than that leaves little of the function too


def check_moments(penalty: object, band: float | None, *, squared: bool, pure: bool) -> None:
    """What noise on moments needs, checked before any record is read."""
    if not squared:
        raise ValueError(
            "method='moments' is for mercer.regression with loss='squared': other losses do not follow from "
            "moments; use method='objective'"
        )
    if pure:
        raise ValueError(
            "method='moments' needs a delta: its noise is Gaussian; give one well below 1/n, for example "
            "delta=1e-6, or use method='objective', which can be pure"
        )
    if isinstance(penalty, tuple):
        raise ValueError(
            "penalty: with method='moments' it stays free after the release, so there is nothing to choose "
            "with a share of the budget; give one or 'rule', and compare release.smooth(penalty=…)"
        )
    if band:
        raise ValueError("band: with method='moments' the error band costs nothing; leave it out")


def check_features(features: FeatureMap) -> None:
    """Refuse more features than moments are released of."""
    m = features.size
    if m > _MOST:
        raise ValueError(
            f"size: moments of {m} features are {m * (m + 3) // 2} numbers; method='moments' takes at most "
            f"{_MOST} features"
        )


@dataclass(frozen=True)
class MomentPlan:
    """What is public of least squares from moments before anything is drawn."""

    features: FeatureMap
    n: int
    promise: Promise
    given: float | None  # the penalty; None: by the rule

    @property
    def span(self) -> MomentSpan:
        """How the moments are coordinates: responses weigh as much as features."""
        return MomentSpan(self.features.size, self.features.kappa)

    @property
    def _sd(self) -> float:
        """About the standard deviation of a moment's noise."""
        kappa = self.features.kappa
        return moment_bound(kappa, kappa) * Gaussian().multiplier(self.span.size, **self.promise)

    @property
    def penalty(self) -> float:
        """As given, or about that of the rule."""
        if self.given is not None:
            return self.given
        d, m = self.features.dimension, self.features.size
        return moment_penalty(sd=self._sd, n=self.n, size=m, dimension=d)

    @property
    def noise(self) -> float:
        """About the standard deviation of the function's noise at the records, in half ranges."""
        square = self.features.kappa**2
        return moment_noise(
            sd=self._sd / square, n=self.n, size=self.features.size, penalty=self.penalty / square
        )

    @property
    def expected(self) -> str:
        """The expected noise of the function, in words."""
        return (
            "noise of the function: standard deviation about "
            f"{self.noise:.2g} half widths of y_bounds at the records, if they are spread over the bounds; "
            "the error band follows from the release itself, and the penalty stays free"
        )

    def warn(self) -> None:
        """Warn, before anything is spent, where little of the function would be left."""
        drawn = self.features.size * self.penalty / self.features.kappa**2
        if self.given is None and drawn > (_DRAWN if self.features.dimension == 1 else _FURTHER):
            words = (
                f"{self.n} records are few for this promise: the penalty that the noise for privacy asks for "
                "draws the function to the middle of y_bounds; use a larger epsilon, fewer features "
                "(size=…), or loss='huber'"
            )
        elif self.noise > _LITTLE:
            words = (
                f"penalty = {self.penalty:.3g}: the noise for privacy has a standard deviation of about "
                f"{self.noise:.2g} half widths of y_bounds; a larger penalty is free afterwards: "
                "release.smooth(penalty=…)"
            )
        else:
            return
        warnings.warn(words, PrivacyWarning, stacklevel=6)  # the caller of `mercer.regression`
