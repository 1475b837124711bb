"""`mercer.mean_curve`, `mercer.mean_curves` and `mercer.curve_bound`: means of curves, and their bound.

M9, M12, M16, M17; Mirshani, Reimherr and Slavkovic 2019, Sec. 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.api.calls import DryRun, Progress, Terms, call, made
from mercer.api.curve_request import CurveRequest, check_disjoint
from mercer.api.ranks import expected_quantiles, quantiles
from mercer.api.recipes.curve import CurveRecipe, center_of
from mercer.api.recipes.curve_plan import expected_curve
from mercer.common.checks import Floats, check_choice, check_positive
from mercer.door.publish import LedgerLike
from mercer.releases.choice import QuantileRelease
from mercer.releases.curve.release import CurveRelease
from mercer.sensitive.curves.groups import split_by
from mercer.sensitive.curves.source import Curves, open_curves, protected
from mercer.sensitive.summaries.curves import OUTSIDE, curve_norms
from mercer.sources.values import identities

__all__ = ["curve_bound", "mean_curve", "mean_curves"]

_OPTIONS = (
    "kernel",
    "scale",
    "eta",
    "penalty",
    "order",
    "noise_kernel",
    "size",
    "missing",
    "outside",
    "population",
)
_NAME = "root mean square"
_DECADES, _STEPS = 6, 100  # candidates down to a millionth of `most`, 2.3 % apart


@call(expected_curve)
def mean_curve(
    curves: object,
    *,
    grid: object = None,
    bound: object = None,
    epsilon: float,
    delta: float | None = None,
    kernel: object = "auto",
    scale: object = "auto",
    penalty: object = "auto",
    eta: object = "auto",
    center: object = None,
    bounds: object = None,
    columns: object = None,
    long: object = None,
    unit: str | None = None,
    order: str = "noise-first",
    noise_kernel: str | None = None,
    size: object = None,
    missing: str = "fill",
    na_values: object = None,
    outside: str = "clip",
    population: float = 0.0,
    choice_share: float = 0.2,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> CurveRelease | DryRun:
    """Release the mean of curves with differential privacy: the function itself.

    Parameters
    ----------
    curves
        A matrix with one curve a row (surfaces: a stack of matrices) and its `grid`; a list of
        (t, x) pairs on grids of their own, without a `grid` (in a list, a curve of another shape
        has no heights); a scikit-fda `FDataGrid` or `FDataBasis`; a data
        frame, an Arrow table, or the path of a CSV or Parquet file, wide (`columns`) or `long`.
        Wide files are streamed.
    grid
        The public points at which the rows of a matrix were seen, increasing and not necessarily
        even; for surfaces a pair of such.  It may not contradict numbers in the names of columns,
        as age_1.25.
    bound
        Public bound on the root mean square of a curve over its domain (the L2 norm where the
        domain is rescaled to have length one).  Curves beyond it are scaled down to it; how many
        those are is not shown.  `mercer.curve_bound` chooses one with budget.
    epsilon, delta
        The promise.  Delta left out (or 0) is pure differential privacy.
    kernel, scale, eta, penalty
        How the mean is smoothed.  Left out, all four, the mean of curves is an average of many
        filters, weighted by what the noisy result says for each; its band is about the mean of the
        file's own curves.  Otherwise factors lambda^eta / (lambda^eta + penalty) of the
        eigenfunctions of one kernel: "gaussian" (also of surfaces, where it is left out),
        "matern52", "matern32" or "exponential", or a `mercer.kernels.Kernel`, with its length
        `scale` in the units of the argument; what is "auto" is chosen from the noisy result.  Both
        are free, and can be done again by `release.smooth`.  penalty="rule": by a public rule for
        curves in the kernel's space; "private-cv": by cross-validation for `choice_share` of
        epsilon.
    center
        A public curve around which the ball is: values on the grid, or a function.  Curves near it
        need only a small bound.
    bounds
        Public (lower, upper) of the argument; by default the grid's ends.
    columns, long
        Columns of a wide table in the order of the grid ("cca_*" for all that start so), or the
        three columns (id, t, value) of a long one.
    unit
        Column that names the person: then the promise is about persons, not curves (M16).  In a
        long table it is the column of the curve unless another is given.
    order
        "noise-first" (default): noise on the coordinates of the clipped mean, smoothing after.
        "paper": smoothing, then noise of the kernel's process, as Mirshani et al. do it.
    noise_kernel
        With order="paper", a rougher kernel for the noise than for the smoothing.
    size
        Polynomials along each argument that curves are seen through: 128 for curves.
    missing
        Gaps in a curve: "fill" (default): a straight line between the points seen, level beyond
        them; a curve without any point counts as the centre.  "zero": a curve with a gap counts
        as the centre.  "drop": the number of complete curves is public, and only they count.
    na_values
        Numbers that stand for a missing height, for example [-999, 999].  Text that is no number
        is missing without being named.
    outside
        Curves beyond the bound: "clip" (default) scales them down to it.  "drop": they count as
        the centre, and still in the number of curves.  Norms are rounded up, by less than a
        thousandth, so a curve that close to the bound may be beyond it.
    population
        Share of the budget for bands and intervals about the mean of the population that the curves
        are a sample of: `release.band(x, of="population")`.  0 (default): none; 0.05 is enough, and
        makes the mean's noise 2.6 % larger with a delta, 5.3 % larger without.  It pays for noisy
        second moments of the curves about the released mean.  For curves with the default smoothing.
    choice_share, insist, dry_run, rng, ledger, dataset, progress
        As in `mercer.density`.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 50)
    >>> heights = np.sin(3 * t) + 0.1 * np.linspace(-1, 1, 500)[:, None]
    >>> mean = mercer.mean_curve(heights, grid=t, bound=1, epsilon=1, delta=1e-6, rng=0)
    >>> bool(abs(mean(0.5) - np.sin(1.5)) < 0.1)
    True

    """
    unit = protected(unit, long)
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    choices = {"kernel": kernel, "scale": scale, "penalty": penalty, "eta": eta, "order": order, "size": size}
    choices |= {"noise_kernel": noise_kernel, "missing": missing, "outside": outside}
    choices |= {"population": population}
    ask = CurveRequest.of(terms, bound=bound, choice_share=choice_share, **choices)
    purse = terms.purse(curves)
    seen = {"grid": grid, "bounds": bounds, "columns": columns, "long": long, "na_values": na_values}
    opened = open_curves(curves, **seen, unit=unit, dry_run=dry_run and missing != "drop")
    return ask.release(ask.read(opened, center), purse)


@call(expected_curve)
def mean_curves(
    curves: object,
    *,
    disjoint: bool | None = None,
    by: str | None = None,
    groups: object = None,
    grid: object = None,
    bound: object = None,
    epsilon: float,
    delta: float | None = None,
    center: object = None,
    bounds: object = None,
    columns: object = None,
    long: object = None,
    unit: str | None = None,
    na_values: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[Any, CurveRelease] | DryRun:
    """The mean curve of each of several groups, with one promise for all of them together.

    Parameters
    ----------
    curves
        Name and curves of each group, as `mercer.mean_curve` takes them: a dictionary.  Or a table
        or file of all curves with a column that says which group each is in.  Which group a curve
        is in, and how many there are, is public.
    disjoint
        True: nobody is in more than one group.  Then each group's mean has the whole budget
        (parallel composition).  False: anybody may have curves in all of them, and the budget is
        shared.
    by, groups
        For a table or file: the column, and the values in it that are groups.  Rows with another
        value are in no group.  The table is read into memory; a curve of a long table is in the
        group of its first row.
    grid, bound, epsilon, delta, center, bounds, columns, long, unit, na_values
        As in `mercer.mean_curve`, for all groups.
    insist, dry_run, rng, ledger, dataset, progress
        As in `mercer.mean_curve`.
    options
        kernel, scale, eta, penalty, order, noise_kernel, size, missing, outside and population.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 20)
    >>> two = {"low": np.ones((300, 20)), "high": 2 * np.ones((200, 20))}
    >>> means = mercer.mean_curves(two, disjoint=True, grid=t, bound=3, epsilon=1, delta=1e-6)
    >>> float(np.round((means["high"] - means["low"]).mean()))
    1.0

    """
    apart = isinstance(curves, Mapping)
    if apart and (by is not None or groups is not None):
        raise ValueError("by and groups are for a table of all curves; a dictionary names groups")
    if not apart and (by is None or groups is None):
        raise ValueError(
            "groups must be 2 to 64 sets of curves by name, as a dictionary; or give a table of "
            "all curves with by='column' and groups=('a', 'b'), values of that column"
        )
    if isinstance(curves, Mapping) and not 2 <= len(curves) <= 64:
        raise ValueError(f"groups must be 2 to 64 sets of curves by name, got {len(curves)}")
    if not isinstance(disjoint, bool):
        raise TypeError(
            "disjoint must be True (nobody is in two groups: each mean has the whole budget) or "
            f"False (anybody may be in all: they share it), got {disjoint!r}"
        )
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"mean_curves has no option {name!r}; there are {', '.join(_OPTIONS)}")
    unit = protected(unit, long)
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    ask = CurveRequest.of(terms, bound=bound, **options)
    if ask.recipe.private:
        raise ValueError("penalty='private-cv' is for one group at a time; leave it out")
    purse = terms.purse(curves)
    if isinstance(curves, Mapping):
        parts: Mapping[Any, object] = curves
        for data in parts.values():  # each may be a file with a note of its ledger
            purse.check(data=data, unit=unit)
    else:
        parts = split_by(curves, by, groups, columns=columns, long=long, unit=unit)
        columns = None
    seen = {"grid": grid, "bounds": bounds, "columns": columns, "long": long, "na_values": na_values}
    dry = dry_run and ask.missing != "drop"
    sources = {name: open_curves(data, **seen, unit=unit, dry_run=dry) for name, data in parts.items()}
    if len({source.domain.bounds for source in sources.values()}) > 1:
        raise ValueError("bounds must be the same for all groups; give bounds=(lower, upper)")
    if disjoint and unit is not None:
        check_disjoint(sources, unit)
    read = {name: ask.read(source, center) for name, source in sources.items()}
    many = 1 if disjoint else len(read)
    whose = "nobody is in two of them" if disjoint else "anybody may be in all of them"
    note = f"one of {len(read)} groups released together ({whose}): which group is public"
    shared = {
        name: replace(one, share=many, note=f"; group {str(name)!r}, {note}") for name, one in read.items()
    }
    ask = ask.shared(many)
    groups_read = list(shared.values())
    parts_paid = ask.pay(groups_read, purse).parts(
        [one.n for one in groups_read], notes=[one.note for one in groups_read], disjoint=disjoint
    )
    return {
        name: ask.release(shared[name], paid, charged=True)
        for name, paid in zip(shared, parts_paid, strict=True)
    }


@call(lambda _given, made: expected_quantiles({"q": 0.5, "grid": range(_DECADES * _STEPS)}, made))
def curve_bound(
    curves: object,
    *,
    share: float = 0.95,
    most: object = None,
    epsilon: float,
    grid: object = None,
    center: object = None,
    bounds: object = None,
    columns: object = None,
    long: object = None,
    unit: str | None = None,
    size: object = None,
    na_values: object = None,
    outside: str = "clip",
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
) -> QuantileRelease | DryRun:
    """A bound for `mercer.mean_curve` that about this share of the curves keep: epsilon-DP.

    A private quantile of the curves' root mean squares, as `mean_curve` compares them with its
    bound, chosen by the exponential mechanism among public candidates from a millionth of `most`
    to `most`, 2.3 % apart.  It is a release of its own: its epsilon adds to that of the mean.

    Parameters
    ----------
    curves, grid, center, bounds, columns, long, unit, size, na_values
        As in `mercer.mean_curve`, and the same as there.
    insist, dry_run, rng, ledger, dataset
        As in `mercer.mean_curve`, and the same as there.
    share
        Of the curves within the bound (of persons, with `unit`).  What is clipped biases the mean,
        what is not is paid for in noise: 0.9 to 0.95 is a fair middle.
    most
        Public: no bound above it is considered.
    epsilon
        For this choice alone; pure.
    outside
        Curves beyond `most`: "clip" (default) counts them as curves that reach it, "drop" leaves
        them out, so that the bound is for about this share of the others.

    Returns
    -------
    A release with the bound as its only value.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 50)
    >>> curves = np.sin(3 * t) * np.linspace(0.5, 1.5, 2000)[:, None]
    >>> found = mercer.curve_bound(curves, grid=t, most=100, epsilon=0.5)
    >>> bound = found.values[0]
    >>> bool(0.8 < bound < 1.4)
    True
    >>> mean = mercer.mean_curve(curves, grid=t, bound=bound, epsilon=1, delta=1e-6)

    """
    if most is None:
        raise ValueError(
            "most is missing: give a public number that no bound shall exceed; it may be generous"
        )
    top = check_positive("most", most, "the largest bound that is considered")
    if not 1e-97 <= top <= 1e100:
        raise ValueError(f"most must be in [1e-97, 1e100], got {top:g}; rescale")
    level = check_positive("share", share, "of the curves within the bound")
    if level > 1:
        raise ValueError(f"share must be in (0, 1], got {level:g}; 0.95 is usual")
    beyond = check_choice("outside", outside, OUTSIDE)
    unit = protected(unit, long)
    purse = Terms(epsilon, None, unit, insist, dry_run, rng, ledger, dataset).purse(curves)
    seen = {"grid": grid, "bounds": bounds, "columns": columns, "long": long, "na_values": na_values}
    opened = open_curves(curves, **seen, unit=unit, dry_run=dry_run)
    polynomials = CurveRecipe.of(pure=True, size=size).polynomials(opened.domain)
    middle = center_of(center, polynomials, opened.domain, opened.grid)
    candidates = top * 10.0 ** (np.arange(-_DECADES * _STEPS, 1) / _STEPS)
    last = len(candidates) - 1
    norms = curve_norms(opened, polynomials, center=middle)
    # the least candidate that is a bound of each: by comparisons, so of that curve alone (M3.3)
    places = np.minimum(np.searchsorted(candidates, norms), last).astype(np.float64)
    if beyond == "drop":
        places[~(norms <= top)] = np.nan  # a row without a value (M18)
    name = _NAME if unit != _NAME else f"{_NAME} of a curve"
    found = made(
        quantiles(
            places if unit is None else _beside(opened, places, name),
            level,
            bounds=(0, last),
            epsilon=epsilon,
            grid=range(last + 1),
            level=None,
            columns=name,
            unit=unit,
            ledger=purse.ledger,
            dataset=dataset,
            rng=rng,
            insist=insist,
            dry_run=dry_run,
        )
    )
    bound = float(candidates[round(found.values[0])])
    return replace(found, bounds=(float(candidates[0]), top), values=(bound,))


def _beside(curves: Curves, places: Floats, name: str) -> object:
    """A table of the curves' places among the candidates, with the persons they belong to."""
    import pyarrow as pa

    people = [pa.array([], pa.large_string()), *map(identities, curves.persons())]
    return pa.table({name: places, str(curves.unit): pa.concat_arrays(people)})
