"""`mercer.curve_plan`: how accurate a mean curve will be, before anything is spent.  M9, M22."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.api.recipes.curve import CurveRecipe, Sight
from mercer.columns.domain import Box
from mercer.common import streams
from mercer.common.checks import Floats, check_count, check_positive
from mercer.noise.mechanisms.base import check_promise, no_delta
from mercer.promise.statement import Statement
from mercer.releases.curve.average import Average
from mercer.releases.curve.smoothing import SCALES, Candidates, check_penalty, choose_again
from mercer.spaces.polynomials import Polynomials

__all__ = ["REFERENCES", "CurvePlan", "curve_plan", "expected_curve", "reference_errors"]

_STREAM = 23  # a public one
_DRAWS = 40  # of noise, for each reference curve
_PLANNED = ("eta", "penalty", "order", "size", "population")  # arguments of calls that go into a plan


@dataclass(frozen=True)
class CurvePlan:
    """What a mean curve would cost in accuracy: computed without any data.

    Where the smoothing follows the result ("average", the default, and "chosen"), the errors are
    distances to the mean of the file's own curves, clipped to the bound, noise and smoothing together: of
    public reference curves (a slope, a wave, two peaks) of a quarter of the bound.  Where it is fixed
    beforehand ("rule", "given"), they are of the noise alone, and smoothing adds what it takes away.
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
    population: object = 0.0,
) -> CurvePlan:
    """Accuracy of `mean_curve` before anything is spent: no curves are needed.

    The arguments are those of `mean_curve`, with the same defaults; with `population` the mean has what that
    share leaves of the budget.  `bounds` are those of the
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
    choices["population"] = population
    recipe = CurveRecipe.of(pure=no_delta(delta), **choices)
    promise = check_promise(recipe.mechanism, epsilon, delta)
    recipe.check(domain)
    _, alone = recipe.parts(promise)[0]
    sight = recipe.sight(recipe.polynomials(domain), n=count, promise=alone)
    follows = recipe.choice == "auto"
    average = recipe.average and not surface
    known = None if follows else recipe.ruled(domain, sight)
    scales, given = recipe.scales(domain), isinstance(recipe.penalty, (int, float))
    if known is None:
        errors = radius * _errors(recipe, domain, sight)
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


def _errors(recipe: CurveRecipe, domain: Box, sight: Sight) -> Floats:
    """Of a smoothing that follows the result, on the reference curves."""
    polynomials, frame, deviation = sight.polynomials, sight.frame, recipe.deviation(sight)
    if recipe.average and domain.dimension == 1:

        def estimate(noisy: Floats) -> Floats:
            return Average().of(noisy, deviation**2, polynomials, frame).mean

    else:
        scales = recipe.scales(domain)
        lengths = [(h,) * domain.dimension for h in SCALES] if scales is None else [scales]
        penalty = None if isinstance(recipe.penalty, str) else check_penalty(recipe.penalty)
        every = Candidates(polynomials, frame, recipe.kernel, lengths, recipe.etas(), penalty)
        centre = np.zeros(sight.coordinates)

        def estimate(noisy: Floats) -> Floats:
            return choose_again(every, centre, noisy, deviation).errors()

    return reference_errors(estimate, deviation, polynomials, frame)


def _slope(t: Floats) -> Floats:
    return 0.25 * math.sqrt(12) * (t[:, 0] - 0.5)


def _wave(t: Floats) -> Floats:
    return 0.25 * math.sqrt(2) * np.sin(2 * np.pi * t[:, 0])


def _peaks(t: Floats) -> Floats:
    up, down = ((t[:, 0] - 0.3) / 0.05) ** 2, ((t[:, 0] - 0.7) / 0.08) ** 2
    return 0.625 * (np.exp(-up) - np.exp(-down))


REFERENCES = (_slope, _wave, _peaks)


def reference_errors(
    estimate: Callable[[Floats], Floats], deviation: float, polynomials: Polynomials, frame: Floats | None
) -> Floats:
    """Root mean square error of an estimate on each reference curve, in units of the bound.

    `estimate` makes rows of coefficients of rows of noisy coordinates; the noise is a public draw with
    this standard deviation.
    """
    size = polynomials.size if frame is None else len(frame)
    white = streams.simulation(_STREAM).standard_normal((_DRAWS, size)) * deviation
    curves = np.array([polynomials.inner(curve) for curve in REFERENCES])
    seen = curves if frame is None else curves @ frame.T
    made = estimate((seen[:, None, :] + white).reshape(-1, size)).reshape(len(curves), _DRAWS, -1)
    return np.asarray(np.sqrt(np.mean(np.sum((made - curves[:, None, :]) ** 2, axis=2), axis=1)))


def expected_curve(given: Mapping[str, Any], made: Statement) -> str:
    """The expected error of a mean curve, in words and in the units of the curves."""
    chosen = {**given, **given.get("options", {})}
    groups = given.get("groups") or given["curves"]
    many = len(groups) if "disjoint" in given else 1
    epsilon = made.epsilon
    if many > 1 and not given["disjoint"]:  # who may be in all of them pays for all
        epsilon /= many if not made.delta else math.sqrt(many)
    public = {name: chosen[name] for name in _PLANNED if name in chosen}
    bounds = _bounds_of(given)
    if bounds is not None:  # lengths are in the units of the argument
        public |= {
            "bounds": bounds,
            "kernel": chosen.get("kernel", "auto"),
            "scale": chosen.get("scale", "auto"),
        }
    plan = curve_plan(
        n=max(made.n // many, 2), bound=given["bound"], epsilon=epsilon, delta=made.delta or None, **public
    )
    share, words = chosen.get("population", 0.0), _words(plan)
    if share:
        words += f"; how the curves vary, for bands about the population's mean, has {share:g} of the budget"
    return words + (", for each of the groups, if all are of one size" if many > 1 else "")


def _words(plan: CurvePlan) -> str:
    """Of a plan, in one line."""
    sampling = f"at most {plan.sampling_error:.3g} by sampling, in the units of the curves"
    if plan.smoothing in ("rule", "given"):
        noise = f"root mean square {plan.privacy_error:.3g} by noise, in the mean of the file's own curves"
        return f"{noise}, clipped to the bound, beside what smoothing takes away, and {sampling}"
    return (
        f"root mean square {plan.privacy_error:.3g} by noise and smoothing, to the mean of the file's own "
        f"curves, clipped to the bound ({plan.least_error:.3g} to {plan.most_error:.3g} on public reference "
        f"curves) and {sampling}"
    )


def _bounds_of(given: Mapping[str, Any]) -> list[tuple[float, float]] | None:
    """Public bounds of the argument, or of both of a surface, where the arguments alone say them."""
    ends = given["grid"] if given["bounds"] is None else given["bounds"]
    several = isinstance(ends, (tuple, list)) and len(ends) == 2 and all(np.ndim(end) == 1 for end in ends)
    try:
        lines = [np.asarray(line, dtype=float) for line in (ends if several else [ends])]
    except (TypeError, ValueError):
        return None
    if any(line.ndim != 1 or line.size < 2 for line in lines):
        return None
    return [(float(line[0]), float(line[-1])) for line in lines]
