"""`mercer.curve_plan`: how accurate a mean curve will be, before anything is spent.  M9, M22."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.api.curve.recipe import CurveRecipe
from mercer.columns.domain import Box
from mercer.common.checks import check_count, check_positive
from mercer.noise.mechanisms.base import check_promise, no_delta

__all__ = ["CurvePlan", "curve_plan"]


@dataclass(frozen=True)
class CurvePlan:
    """What a mean curve would cost in accuracy: computed without any data.

    Where the smoothing follows the result ("average", the default, and "chosen"), the errors are
    distances to the mean of the file's own curves, noise and smoothing together: of public reference
    curves (a slope, a wave, two peaks) of a quarter of the bound.  Where it is fixed beforehand ("rule",
    "given"), they are of the noise alone, and smoothing adds what it takes away.
    """

    n: int
    epsilon: float
    delta: float
    bound: float
    smoothing: str  # "average", "chosen", "rule" or "given"
    kernel: str | None  # of the filter; None for an average
    scale: float | None  # of the kernel, in the units of the argument; None where the result decides
    eta: float | None
    penalty: float | None
    coordinates: int
    privacy_error: float  # expected root mean square, in the units of the curves
    least_error: float  # of the reference curves
    most_error: float
    sampling_error: float  # of the mean of n curves, privacy or not: at most

    @property
    def share(self) -> float:
        """Privacy's share of the variance, at least."""
        return self.privacy_error**2 / (self.privacy_error**2 + self.sampling_error**2)


def curve_plan(
    *,
    n: object,
    bound: object,
    epsilon: float,
    delta: float | None = None,
    bounds: object = (0.0, 1.0),
    kernel: object = "auto",
    scale: object = "auto",
    eta: object = "auto",
    penalty: object = "auto",
    order: str = "noise-first",
    size: object = None,
) -> CurvePlan:
    """Accuracy of `mean_curve` before anything is spent: no curves are needed.

    The arguments are those of `mean_curve`, with the same defaults; `bounds` are those of the
    argument, or of both of a surface.  A choice with budget, penalty="private-cv", is planned as the
    public rule's.
    """
    count = check_count("n", n, least=2, most=10**15, hint="the public number of curves")
    radius = check_positive("bound", bound, "a bound on the root mean square of a curve")
    if isinstance(penalty, str) and penalty == "private-cv":
        penalty = "rule"
    surface = np.ndim(bounds) == 2 and len(np.asarray(bounds)) == 2  # type: ignore[arg-type]
    domain = Box.of(bounds, ["t1", "t2"] if surface else ["t"])
    choices = {"kernel": kernel, "scale": scale, "eta": eta, "penalty": penalty, "order": order, "size": size}
    recipe = CurveRecipe.of(pure=no_delta(delta), **choices)
    promise = check_promise(recipe.mechanism, epsilon, delta)
    recipe.check(domain)
    sight = recipe.sight(recipe.polynomials(domain), n=count, promise=promise)
    follows = recipe.choice == "auto"
    average = recipe.average and not surface
    known = None if follows else recipe.ruled(domain, sight)
    scales, given = recipe.scales(domain), isinstance(recipe.penalty, (int, float))
    if known is None:
        errors = radius * recipe.reference_errors(domain, sight)
    else:
        errors = np.array([radius * np.sqrt(recipe.error(known, sight))])
        scales = known.scales
    return CurvePlan(
        n=count,
        **promise,
        bound=radius,
        smoothing=("average" if average else "chosen") if follows else ("given" if given else "rule"),
        kernel=None if average else recipe.kernel,
        scale=None if scales is None else float(scales[0] * domain.widths[0]),
        eta=known.eta if known else (recipe.etas()[0] if len(recipe.etas()) == 1 else None),
        penalty=known.penalty if known else (float(str(recipe.penalty)) if given else None),
        coordinates=sight.coordinates,
        privacy_error=float(np.sqrt(np.mean(errors**2))),
        least_error=float(errors.min()),
        most_error=float(errors.max()),
        sampling_error=float(radius / np.sqrt(count)),
    )
