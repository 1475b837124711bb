"""`mercer.density`: a density with differential privacy.  M4, M12, M16, M17, M18."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.api.calls import DryRun, Progress, Source, Split, Terms, call
from mercer.api.choose import draw_bandwidth, extremes
from mercer.api.counted import counted_column, counts_values, expected_column
from mercer.api.recipes.density import FOLLOWS, SPECTRAL, Recipe, density_plan
from mercer.columns.domain import Box, dimension_of
from mercer.common.checks import Floats
from mercer.door.publish import LedgerLike, Payer, publish
from mercer.noise.laws import Law
from mercer.noise.mechanisms import Mechanism
from mercer.promise.statement import Statement
from mercer.releases.column.release import ColumnRelease
from mercer.releases.density.release import DensityRelease
from mercer.releases.findings import tell
from mercer.sensitive.persons import n_of
from mercer.sensitive.summaries.density import DensitySummary, Tally, tally_rows

__all__ = ["counted_rows", "density", "expected_density"]


def expected_density(given: Mapping[str, Any], made: Statement) -> str:
    """The expected error of a density by noise and by sampling, in words."""
    if counts_values(given["bounds"], given.get("step")):
        return expected_column(given, made)
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
    whose = "the public rule's" if isinstance(width, str) else "as given"
    if private:
        whose += "; the release chooses its own, for a share of the budget"
    elif width == "auto" and kernel == "gaussian" and given.get("basis") in (None, *SPECTRAL):
        whose += f"; {FOLLOWS}"
    other = "" if kernel == "gaussian" else f" (with the Gaussian kernel; {kernel!r} is rougher)"
    return (
        f"root mean squared error {plan.privacy_error:.3g} by noise and {plan.sampling_error:.3g} "
        f"by sampling, integrated over the bounds, at bandwidth "
        f"{' x '.join(f'{h:.3g}' for h in plan.bandwidth)}, {whose}{other}"
    )


@call(expected_density)
def density(
    data: object,
    *,
    bounds: object = None,
    epsilon: float,
    delta: float | None = None,
    step: float | None = None,
    bandwidth: object = "auto",
    choice_share: float = 0.2,
    kernel: str = "gaussian",
    smoother: str | None = None,
    boundary: str | None = None,
    columns: object = None,
    unit: str | None = None,
    basis: str | None = None,
    size: int | None = None,
    missing: str = "zero",
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    mechanism: str | Mechanism | None = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> DensityRelease | ColumnRelease | DryRun:
    """Release the density of one to three columns with differential privacy.

    Without `delta` the promise is pure epsilon-DP: one column by the orbitope mechanism, which is
    also the more accurate one, two and three by the l2 mechanism.  With `delta` it is the Gaussian
    mechanism's.  A column of integers, or of amounts in steps, is better counted value by value:
    say so with `step`, and the release is a `ColumnRelease`.

    Parameters
    ----------
    data
        An array, a pandas or polars column or frame, an Arrow table, or the path of a CSV or
        Parquet file or of a folder of them.  Files are streamed.
    bounds
        Public (lower, upper), or one such pair for each column, or pairs by name,
        {"age": (0, 100)}.  Numbers, or dates such as ("2020-01-01", "2024-12-31").  A range of
        integers, range(0, 101), is `bounds=(0, 100), step=1`.
    epsilon, delta
        The promise.  Epsilon has no default; delta left out (or 0) is pure differential privacy.
    step
        The public distance between values that a column can have, both bounds among them: 1 for
        integers, 0.01 for cents, 1 for dates.  Then every value is counted: heaps and spikes stay
        what they are, and nothing between values is smoothed.  What is written otherwise counts
        for the nearest value.  Nothing below, but how cells are read, goes with it.
    bandwidth
        "auto" (default): noise for a small reference bandwidth, then the final one chosen from
        the noisy result, free (M17).  "rule": a public rule in n, epsilon and delta.
        "private-scott", "private-cv": chosen from the records for a share of the budget (M12).
        Or a number, one number for each column, or a matrix (the squared bandwidth H), in the
        units of the data.
    choice_share
        Share of epsilon for a private bandwidth; the statement says how both compose.
    kernel
        Kernel of the noise: "gaussian" (M4), or "exponential" (M6), "matern32", "matern52".
    smoother
        Kernel of the estimate; the Gaussian unless the noise is to have the same other kernel.
    boundary
        "reflect" (default; data on an interval), "periodic" (time of day), "open" (the papers;
        always with kernels other than the Gaussian).
    columns
        Names of the columns to release; needed where the data have more than the bounds.
    unit
        Column that names the person: then the promise is about persons, not rows (M16).
    basis, size
        Coordinates: "moments" (one column), "cosine", "fourier", "landmarks", "eigenfunctions" or
        "grid" (kernels other than the Gaussian), and how many points or functions there are.
    missing
        "zero" (default): rows without finite values count in n and add nothing (M18).  "drop":
        the caller knows that the number of complete rows is public, and only they count.
    na_values
        Values that stand for a missing cell, such as [999, "unknown"], or such a list by column.
    outside
        Values beyond the bounds: "clip" (default) moves them to the nearest bound; "drop" takes
        them for missing.
    formats
        How numbers or dates are written where they are text, by an example for each column:
        {"income": "$1,234.50", "share": "12 %", "weight": "1.234,5", "day": "31/12/2023"}.
    mechanism
        None (default): by delta, as above.  Or "orbitope" (one column), "l2", "laplace" (pure),
        "gaussian" (needs delta), or a `mercer.mechanisms.Gaussian(calibration="classic")` (E1).
    insist
        Release even with an epsilon above 20 or a delta above 1/n, which promise next to nothing.
    dry_run
        Return a `mercer.DryRun` instead: what would be counted, with which expected error, at what
        charge.  No cell is read but those of `unit`, nothing is spent.
    rng
        None: secure noise.  A seed or a NumPy generator: reproducible, and marked not private.
    ledger, dataset
        A `mercer.Ledger`, its path or its URL, and the dataset to charge: refused, with nothing
        drawn, if not that much is left.
    progress
        Called with the number of rows of each chunk as it is read; never with `unit`, where the
        number of persons is public and that of their rows is not.

    Examples
    --------
    >>> import mercer
    >>> ages = mercer.density([34.0, 51.5, 42.0, 67.0], bounds=(0, 100), epsilon=1)
    >>> round(ages.integral(0, 100), 6)
    1.0
    >>> whole = mercer.density([34, 51, 42, 67], bounds=(0, 100), step=1, epsilon=1)
    >>> whole.share(0, 100).estimate
    1.0

    """
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    source = Source.of(terms, data, bounds, columns, missing, na_values, outside, formats)
    if counts_values(bounds, step):
        smooth = {"bandwidth": bandwidth, "kernel": kernel, "smoother": smoother, "boundary": boundary}
        smooth |= {"basis": basis, "size": size, "mechanism": mechanism}
        for name, value in smooth.items():
            if value not in (None, "auto", "gaussian"):
                raise ValueError(
                    f"{name} does not go with step: values are counted, not smoothed; leave it out"
                )
        return counted_column(data, terms, bounds, step, columns, missing, na_values, outside, formats)
    dimension, purse = dimension_of(bounds), terms.purse(data)
    recipe = Recipe.of(
        kernel, smoother, boundary, basis, size, bandwidth, mechanism, delta=delta, dimension=dimension
    )
    promise = terms.promise(recipe.mechanism)
    split = None
    if recipe.private:
        if unit is not None and recipe.private == "private-cv":
            raise ValueError("bandwidth='private-cv' counts rows; use 'private-scott' with unit")
        split = Split.of(recipe.private, recipe.mechanism, promise, choice_share)
    tally, domain, n, protected = counted_rows(source, recipe)
    what = f"density of {' and '.join(domain.names)}"
    payer: Payer = purse
    alone = promise
    if split is not None:
        for widths in extremes(domain):  # what is wrong with any is found before the charge
            basis_of, shape = replace(recipe, bandwidth=np.array(widths)).build(domain, n=n, **split.noise)
            trial = DensitySummary(tally, basis_of, shape, n=n, unit=protected)
            moved = trial.sensitivity(recipe.mechanism.norm)
            recipe.mechanism.calibrate(moved, trial.size, **split.noise)
        payer = split.pay(recipe.mechanism, purse, n=n, unit=protected, what=what)
        alone = split.noise
        widths = draw_bandwidth(tally, domain, split, payer, n=n, unit=protected, boundary=recipe.boundary)
        recipe = replace(recipe, bandwidth=np.array(widths))
    chosen, smoothing = recipe.build(domain, n=n, **alone)
    summary = DensitySummary(tally, chosen, smoothing, n=n, unit=protected)

    def build(noisy: Floats, law: Law, statement: Statement) -> DensityRelease:
        fields: dict[str, Any] = {
            "domain": domain,
            "basis": chosen,
            "coordinates": noisy,
            "noise": law,
            "privacy": statement,
            "boundary": recipe.boundary,
        }
        if recipe.adaptive:
            return DensityRelease.smoothed(**fields)
        choice = split.method if split else "rule" if isinstance(recipe.bandwidth, str) else "given"
        return DensityRelease(**fields, covariance=smoothing.covariance, choice=choice)

    return tell(publish(summary, recipe.mechanism, build, payer, promise=alone, what=what))


def counted_rows(source: Source, recipe: Recipe) -> tuple[Tally, Box, int, str]:
    """Records counted on the fine grid, the domain of their columns, the public n, the unit of privacy."""
    rows = source.rows(dimension_of(source.bounds))
    domain = Box.of(source.bounds, rows.names)
    recipe.check(domain)
    rows.progress(source.terms.tick)
    tally = tally_rows(rows, domain)
    return tally, domain, n_of(tally, rows.unit, source.missing), rows.unit or "row"
