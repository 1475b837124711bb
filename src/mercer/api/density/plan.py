"""Accuracy before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.api.curve.recipe import CurveRecipe
from mercer.api.density.recipe import Recipe
from mercer.columns.domain import Domain, dimension_of
from mercer.common.checks import check_count, check_positive
from mercer.noise.mechanisms import Mechanism
from mercer.noise.mechanisms.base import check_promise, no_delta
from mercer.releases.base import noise_accuracy
from mercer.releases.density.smoothing import without_constant
from mercer.sensitive.summaries import row_sensitivity
from mercer.spaces.bases import SpectralBasis
from mercer.spaces.bases.base import covariance_of

__all__ = ["CurvePlan", "DensityPlan", "curve_plan", "density_plan"]


@dataclass(frozen=True)
class DensityPlan:
    """What a density release would cost in accuracy: computed without any data."""

    n: int
    epsilon: float
    delta: float
    bandwidth: tuple[float, ...]  # given or the public rule's, in the units of the data
    finest: tuple[float, ...]  # bandwidth at which the noise is added, likewise
    coordinates: int
    privacy_error: float  # root expected integrated squared error due to noise, at `bandwidth`
    sampling_error: float  # the same due to sampling, privacy or not
    pointwise: float  # largest standard deviation of the noise at a point, density per unit

    @property
    def share(self) -> float:
        """Privacy's share of the variance."""
        return self.privacy_error**2 / (self.privacy_error**2 + self.sampling_error**2)


def density_plan(
    *,
    n: object,
    bounds: object,
    epsilon: object,
    delta: object = None,
    boundary: str = "reflect",
    bandwidth: object = "auto",
    mechanism: str | Mechanism | None = None,
) -> DensityPlan:
    """Accuracy of `density` before anything is spent: no data are needed."""
    count = check_count("n", n, least=2, most=10**15, hint="the public number of records")
    dimension = dimension_of(bounds) or 1
    domain = Domain.of(bounds, ["x"] if dimension == 1 else [f"x{i + 1}" for i in range(dimension)])
    recipe = Recipe.of(
        "gaussian", None, boundary, None, None, bandwidth, mechanism, delta=delta, dimension=dimension
    )
    promise = check_promise(recipe.mechanism, epsilon, delta)
    chosen, smoothing = recipe.build(domain, n=count, **promise)
    assert isinstance(chosen, SpectralBasis)
    features = chosen.row_features(smoothing)
    sensitivity = row_sensitivity(features, count, chosen.size, recipe.mechanism.norm)
    noise = recipe.mechanism.calibrate(sensitivity, chosen.size, **promise)
    if recipe.adaptive:
        rule = recipe.rule(domain, n=count, **promise)
        final = covariance_of(np.eye(domain.dimension) * rule.bandwidth**2)
    else:
        final = smoothing.covariance
    finest = float(np.sqrt(np.min(np.diag(np.array(final)))))
    keep, volume = chosen.multiplier(final), domain.volume
    factors = without_constant(chosen, chosen.filter(final, "gaussian"))
    accuracy = noise_accuracy(
        chosen,
        factors,
        noise.law,
        scale=1 / volume,
        finest=finest,
        volume=volume,
        tail=chosen.tail(final, "gaussian"),
    )
    # without privacy a coefficient has variance about 1/n
    sampling = float(np.sum(keep**2)) * chosen.amplitude[0] ** 2 / (count * volume)
    return DensityPlan(
        n=count,
        **promise,
        bandwidth=_in_data_units(final, domain),
        finest=_in_data_units(smoothing.covariance, domain),
        coordinates=chosen.size,
        privacy_error=float(np.sqrt(accuracy.integrated)),
        sampling_error=float(np.sqrt(sampling)),
        pointwise=accuracy.pointwise,
    )


@dataclass(frozen=True)
class CurvePlan:
    """What a mean curve would cost in accuracy: computed without any data."""

    n: int
    epsilon: float
    delta: float
    bound: float
    kernel: str
    scale: float  # of the kernel, in the units of the argument
    eta: float
    penalty: float  # given or the public rule's
    coordinates: int
    privacy_error: float  # expected root mean square of the noise, in the units of the curves
    sampling_error: float  # of the mean of n curves, privacy or not: at most

    @property
    def share(self) -> float:
        """Privacy's share of the variance, at least."""
        return self.privacy_error**2 / (self.privacy_error**2 + self.sampling_error**2)


def curve_plan(
    *,
    n: object,
    bound: object,
    epsilon: object,
    delta: object = None,
    bounds: object = (0.0, 1.0),
    kernel: object = "gaussian",
    scale: object = "auto",
    eta: object = "auto",
    penalty: object = "rule",
    order: str = "noise-first",
    size: object = None,
) -> CurvePlan:
    """Accuracy of `mean_curve` before anything is spent: no curves are needed.

    `bounds` are those of the argument.  The smoothing is as given, or the public rule's: chosen
    from the noisy curve (penalty="auto", the default of `mean_curve`) it is mostly better.
    """
    count = check_count("n", n, least=2, most=10**15, hint="the public number of curves")
    radius = check_positive("bound", bound, "a bound on the root mean square of a curve")
    if isinstance(penalty, str) and penalty in ("auto", "private-cv"):
        penalty = "rule"
    domain = Domain.of(bounds, ["t"])
    recipe = CurveRecipe.of(
        kernel,
        noise_kernel=None,
        scale=scale,
        eta=eta,
        penalty=penalty,
        order=order,
        size=size,
        pure=no_delta(delta),
    )
    promise = check_promise(recipe.mechanism, epsilon, delta)
    recipe.check(domain)
    polynomials = recipe.polynomials(domain)
    frame = recipe.frame(polynomials, n=count, epsilon=promise["epsilon"])
    chosen = recipe.ruled(domain, polynomials, frame, n=count, promise=promise)
    error = recipe.error(chosen, polynomials, frame, n=count, promise=promise)
    return CurvePlan(
        n=count,
        **promise,
        bound=radius,
        kernel=chosen.kernel,
        scale=float(chosen.scales[0] * domain.widths[0]),
        eta=chosen.eta,
        penalty=chosen.penalty,
        coordinates=polynomials.size if frame is None else len(frame),
        privacy_error=float(radius * np.sqrt(error)),
        sampling_error=float(radius / np.sqrt(count)),
    )


def _in_data_units(covariance: object, domain: Domain) -> tuple[float, ...]:
    lengths = np.sqrt(np.diag(np.array(covariance, dtype=float))) * domain.widths
    return tuple(float(length) for length in lengths)
