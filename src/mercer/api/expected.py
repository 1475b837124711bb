"""The error that a call is to expect, in words, from public arguments alone.

What a dry run says of each kind of release.  Nothing here sees a record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = [
    "of_bound",
    "of_count",
    "of_curve",
    "of_density",
    "of_histogram",
    "of_machine",
    "of_statistic",
    "of_synthetic",
    "of_table",
]

Arguments = Mapping[str, Any]


def of_density(given: Arguments, made: Any) -> str:
    """Of a density: root of the mean integrated squared error, by noise and by sampling."""
    from mercer.api.density.plan import density_plan

    bounds = given["bounds"]
    plain = list(bounds.values()) if isinstance(bounds, Mapping) else bounds
    if isinstance(plain, list) and len(plain) == 1:
        plain = plain[0]
    width = given["bandwidth"]
    private = isinstance(width, str) and width.startswith("private")
    plan = density_plan(
        n=made.n,
        bounds=plain,
        epsilon=made.epsilon,
        delta=made.delta or None,
        boundary=given.get("boundary") or "reflect",
        bandwidth="rule" if private else width,
    )
    kernel = given.get("kernel", "gaussian")
    other = "" if kernel == "gaussian" else f" (with the Gaussian kernel; {kernel!r} is rougher)"
    return (
        f"root mean squared error {plan.privacy_error:.3g} by noise and {plan.sampling_error:.3g} "
        f"by sampling, integrated over the bounds, at bandwidth "
        f"{' x '.join(f'{h:.3g}' for h in plan.bandwidth)}{other}"
    )


def of_count(given: Arguments, made: Any) -> str:
    """Of one count or proportion: mean absolute error."""
    from mercer.noise.mechanisms.counts import count_mechanism
    from mercer.promise.events import Sensitivity

    if given.get("mechanism", "geometric") != "geometric":
        return "the least risk there is for this n: see mercer.optimal_count"
    mechanism = count_mechanism(made.delta)
    one = Sensitivity(1.0, mechanism.norm)
    noise = mechanism.calibrate(one, epsilon=made.epsilon, delta=made.delta)
    width = noise.law.half_width(1, 0.95)
    return (
        f"a count is off by {noise.law.mean_error:.3g} on average, and by at most {width:g} in 95 "
        f"% of the cases, of n = {made.n}"
    )


def of_histogram(given: Arguments, made: Any) -> str:
    """Of a histogram: error of each cell."""
    from mercer.columns.bins import axis_of

    names = ("bins", "bounds", "categories", "other", "outside")
    axis = axis_of("x", **{name: given[name] for name in names})
    return _of_cells(axis.size, given, made)


def of_table(given: Arguments, made: Any) -> str:
    """Of a contingency table or of margins."""
    from mercer.api.counts.margins import sets_of
    from mercer.api.synthetic.recipe import domain_given
    from mercer.columns.bins import axes_of
    from mercer.noise.mechanisms.counts import count_mechanism
    from mercer.promise.events import Sensitivity

    axes = axes_of(domain_given(given["domain"]), given["columns"], given["bins"])
    if given["margins"] == "all":
        return _of_cells(axes.cells, given, made)
    sets = sets_of(given["margins"], axes)
    mechanism = count_mechanism(made.delta)
    most = (given.get("rows_per_person") or 1) * 2.0 * len(sets)
    moved = most if mechanism.norm == "l1" else math.sqrt(2 * len(sets))
    noise = mechanism.calibrate(Sensitivity(moved, mechanism.norm), epsilon=made.epsilon, delta=made.delta)
    return (
        f"each count of {len(sets)} margins is off by {noise.law.mean_error:.3g} on average, "
        "before they are made consistent, which makes it less"
    )


def _of_cells(cells: int, given: Arguments, made: Any) -> str:
    from mercer.api.counts.plan import histogram_plan

    plan = histogram_plan(
        made.n,
        cells,
        epsilon=made.epsilon,
        delta=made.delta or None,
        occupied=given.get("occupied"),
        rows_per_person=given.get("rows_per_person") or 1,
    )
    return (
        f"each of {cells} counts is off by {plan.law.mean_error:.3g} on average, and by at most "
        f"{plan.half_width:g} in 95 % of the cases, of n = {made.n}"
    )


def of_synthetic(given: Arguments, made: Any) -> str:
    """Of a synthetic table: expected distance of the embedding by noise."""
    from mercer.api.synthetic.recipe import plan_table
    from mercer.spaces.record_kernels import OwnKernel

    if isinstance(given["kernel"], OwnKernel):
        return "it depends on the kernel: see release.accuracy of a release with a seed"
    names = ("domain", "method", "kernel", "scale", "size", "features", "weights", "bound", "public")
    chosen = {name: given[name] for name in (*names, "public")} | {"pure": not made.delta}
    plan = plan_table(
        chosen, epsilon=made.epsilon, delta=made.delta or None, choice_share=given["choice_share"]
    )
    if not plan.coordinates:
        return "one of all tables is drawn; see docs/tables.md"
    return (
        f"noise moves the embedding by {plan.distance(made.n):.3g} before shrinking, where a "
        f"record has length one; {plan.coordinates} coordinates, at most {plan.size} records"
    )


def of_curve(given: Arguments, made: Any) -> str:
    """Of a mean curve: root mean square of the noise, in the units of the curves."""
    from mercer.api.density.plan import curve_plan

    penalty = given.get("penalty", given.get("options", {}).get("penalty", "rule"))
    groups = given.get("groups") or given["curves"]
    many = len(groups) if "disjoint" in given else 1
    epsilon = made.epsilon
    if many > 1 and not given["disjoint"]:  # who may be in all of them pays for all
        epsilon /= many if not made.delta else math.sqrt(many)
    plan = curve_plan(
        n=max(made.n // many, 2),
        bound=given["bound"],
        epsilon=epsilon,
        delta=made.delta or None,
        penalty="rule" if isinstance(penalty, str) else penalty,
    )
    return (
        f"root mean square {plan.privacy_error:.3g} by noise and at most {plan.sampling_error:.3g} "
        "by sampling, in the units of the curves; smoothing that follows the result makes it less"
        + (", for each of the groups, if all are of one size" if many > 1 else "")
    )


def of_machine(_given: Arguments, _made: Any) -> str:
    """Of a classifier or regression whose own words are missing: it is learnt for them."""
    return "see mercer.classifier on made-up records of this kind, with a seed"


def of_statistic(_given: Arguments, _made: Any) -> str:
    """Of a statistic under random DP: its noise follows the records."""
    return "noise for a quantile of what exchanging two records moves: known after it is released"


def of_bound(_given: Arguments, made: Any) -> str:
    """Of a bound for curves: how far its rank is off."""
    from mercer.api.expected_choices import of_quantiles

    return of_quantiles({"q": 0.5, "grid": range(600)}, made)
