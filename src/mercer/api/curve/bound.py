"""`mercer.curve_bound`: a private bound on the root mean square of curves.  M9, M12, M16."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.api.calls import DryRun, Terms, call, made
from mercer.api.curve.make import center_of
from mercer.api.curve.recipe import CurveRecipe
from mercer.api.ranks import expected_quantiles, quantiles
from mercer.common.checks import Floats, check_choice, check_positive
from mercer.door.publish import LedgerLike
from mercer.releases.choice import QuantileRelease
from mercer.sensitive.curves.source import Curves, open_curves, protected
from mercer.sensitive.summaries.curves import OUTSIDE, curve_norms
from mercer.sources.values import identities

__all__ = ["curve_bound"]

_NAME = "root mean square"
_DECADES, _STEPS = 6, 100  # candidates down to a millionth of `most`, 2.3 % apart


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
    opened = open_curves(
        curves,
        grid=grid,
        bounds=bounds,
        columns=columns,
        long=long,
        unit=unit,
        na_values=na_values,
        dry_run=dry_run,
    )
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
