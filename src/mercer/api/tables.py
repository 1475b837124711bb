"""`mercer.histogram` and `mercer.table`: counts of cells with differential privacy.

M13, M16, M18; Hall's thesis, Section 2.4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from mercer.api.calls import DryRun, Progress, Terms, call
from mercer.api.recipes.counts import CountRequest, check_worth, expected_cells, name_of
from mercer.columns.bins import axes_of, axis_of
from mercer.columns.cells import MOST_LISTED, Axes
from mercer.columns.table import domain_given
from mercer.common.checks import Ints, check_count
from mercer.door.publish import LedgerLike, Purse, publish
from mercer.noise.count_laws import CountLaw
from mercer.noise.mechanisms.counts import (
    CountMechanism,
    CountNoise,
    SparseCounts,
    count_mechanism,
    threshold_of,
)
from mercer.promise.events import Sensitivity
from mercer.promise.statement import Statement
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.margins import MarginsRelease
from mercer.releases.findings import tell
from mercer.sensitive.summaries.cell_counts import (
    CellCounts,
    CellTally,
    MarginCounts,
    OccupiedCounts,
    count_cells,
    count_margins,
    moved_counts,
    moves_of,
)

__all__ = ["expected_histogram", "histogram", "table"]

_MOST_MARGINS = 1 << 14


def expected_histogram(given: Mapping[str, Any], made: Statement) -> str:
    """The expected error of each cell of a histogram, in words."""
    names = ("bins", "bounds", "categories", "other", "outside")
    axis = axis_of("x", **{name: given[name] for name in names})
    return expected_cells(axis.size, given, made)


def _expected_table(given: Mapping[str, Any], made: Statement) -> str:
    """The expected error of each cell of a contingency table or of margins, in words."""
    axes = axes_of(domain_given(given["domain"]), given["columns"], given["bins"])
    if given["margins"] == "all":
        return expected_cells(axes.cells, given, made)
    sets = _sets_of(given["margins"], axes)
    mechanism = count_mechanism(made.delta)
    most = (given.get("rows_per_person") or 1) * 2.0 * len(sets)
    moved = most if mechanism.norm == "l1" else math.sqrt(2 * len(sets))
    noise = mechanism.calibrate(Sensitivity(moved, mechanism.norm), epsilon=made.epsilon, delta=made.delta)
    return (
        f"each count of {len(sets)} margins is off by {noise.law.mean_error:.3g} on average, "
        "before they are made consistent, which makes it less"
    )


@call(expected_histogram)
def histogram(
    values: object,
    *,
    bins: object = None,
    categories: object = None,
    epsilon: float,
    delta: float | None = None,
    bounds: object = None,
    other: str | None = None,
    outside: str = "clip",
    sparse: bool = False,
    occupied: int | None = None,
    columns: str | None = None,
    counts: str | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    missing: str = "zero",
    na_values: object = None,
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> HistogramRelease | DryRun:
    """Release the histogram of one column with differential privacy.

    Parameters
    ----------
    values
        An array or list, a pandas or polars column or frame, an Arrow table, or the path of a CSV
        or Parquet file or folder (streamed).
    bins
        Edges that rise; or a number of equal bins, with `bounds`; or a `range` of whole numbers,
        each a cell of its own.  A bin holds its lower edge, the last one its upper edge too.
    categories, other
        Values that are cells, for columns of words; `other` names one more cell for whatever is
        not among them.  Without it such a value is in no cell, and still counts in n.
    epsilon, delta
        The promise.  Delta left out (or 0) is pure differential privacy, by two-sided geometric
        noise; with a delta, Gaussian noise rounded to whole numbers.
    bounds
        Public (low, high) that a number of bins divides.
    outside
        Values beyond the edges: "clip" (default) into the nearest bin, "drop" into none.
    sparse, occupied
        Keep only cells above the public threshold (2 / epsilon) ln p, p the number of cells: far
        more accurate where most cells are empty.  `occupied`: a public number of cells that hold
        something, for the threshold (2 / epsilon) ln(p / occupied).
    columns
        The column to count, where the data have several.
    counts
        Column of whole numbers that says how many records each row stands for, where the data are
        counts already.
    unit, rows_per_person
        Column that names the person: then the promise is about persons (M16).  Each counts once,
        in one of their rows, drawn at random whatever the order of the file; in at most k of them
        with `rows_per_person=k`, and with k times the noise.
    missing
        "zero" (default): rows in no cell still count in n.  "drop": the caller knows that the
        number of the others is public, and only they count.
    insist
        Release even where noise must drown every count, or where the promise is next to none.
    na_values, formats, dry_run, rng, ledger, dataset, progress
        As in `mercer.density`.

    Examples
    --------
    >>> import mercer
    >>> ages = [34, 51, 42, 67, 29, 38, 55, 61, 47, 40] * 100
    >>> release = mercer.histogram(ages, bins=[0, 20, 40, 60, 80, 100], epsilon=1)
    >>> release.counts.shape
    (5,)
    >>> estimate, lower, upper, level = release.query(40, 60)

    """
    name = name_of(values, columns)
    axis = axis_of(name, bins=bins, bounds=bounds, categories=categories, other=other, outside=outside)
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    ask = CountRequest.of(Axes((axis,)), terms, na_values, formats, counts, missing, rows_per_person)
    return released(ask, values, terms.purse(values), sparse, occupied, f"histogram of {name}")


@call(_expected_table)
def table(
    rows: object,
    *,
    domain: object = None,
    columns: object = None,
    epsilon: float,
    delta: float | None = None,
    bins: object = None,
    margins: object = "all",
    outside: str = "clip",
    sparse: object = "auto",
    occupied: int | None = None,
    counts: str | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    missing: str = "zero",
    na_values: object = None,
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> HistogramRelease | MarginsRelease | DryRun:
    """Release a contingency table, or margins of it, with differential privacy.

    Parameters
    ----------
    rows
        A data frame, an Arrow table, the path of a CSV or Parquet file or folder (streamed), an
        array, or a list of rows.
    domain
        The public `mercer.Domain` of the columns, a mapping for it, or the path of a JSON or YAML
        file.
    columns
        Which of its columns, in which order; all by default.
    epsilon, delta
        The promise, for everything that is released together.
    bins
        Bins by column: a number, or edges.  Without them a column of at most 100 values has a
        cell for each, any other 10 equal bins.
    margins
        "all" (default): the table itself.  A number k: all margins of k columns.  A list of
        tuples of names: these margins.  Margins share epsilon, and are made consistent with each
        other and free of negative counts afterwards.
    outside
        Numbers and dates beyond their bounds: "clip" (default) into the nearest cell, "drop" into
        none.
    sparse, occupied
        As in `mercer.histogram`; "auto" (default): sparse where the number of rows and cells
        alone say that it is better, or where the table is too large to list.
    counts, unit, rows_per_person, missing, na_values, formats, insist, dry_run
        As in `mercer.histogram`.
    rng, ledger, dataset, progress
        As in `mercer.density`.

    Examples
    --------
    >>> import mercer
    >>> rows = [{"age": 30 + i % 40, "smoker": i % 3 == 0} for i in range(2000)]
    >>> domain = {"age": (0, 100), "smoker": bool}
    >>> release = mercer.table(rows, domain=domain, bins={"age": 5}, epsilon=1)
    >>> release.counts.shape
    (5, 2)
    >>> pairs = mercer.table(rows, domain=domain, margins=1, epsilon=1)

    """
    axes = axes_of(domain_given(domain), columns, bins, outside)
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    ask = CountRequest.of(axes, terms, na_values, formats, counts, missing, rows_per_person)
    what = f"table of {', '.join(axes.names)}"
    purse = terms.purse(rows)
    if not (isinstance(margins, str) and margins == "all"):
        if occupied is not None or sparse not in ("auto", False):
            raise ValueError("sparse is for the table itself: margins are not thresholded")
        return _released_margins(ask, rows, purse, margins, what)
    return released(ask, rows, purse, sparse, occupied, what)


def released(
    ask: CountRequest, data: object, purse: Purse, sparse: object, occupied: object, what: str
) -> HistogramRelease:
    """Count the cells, charge, and release the counts with noise: all cells, or the large ones."""
    if not isinstance(sparse, bool) and sparse != "auto":
        raise ValueError(f"sparse must be True, False or 'auto'; got {sparse!r}")
    cells, mechanism = ask.axes.cells, count_mechanism(ask.promise["delta"])
    if sparse is False and cells > MOST_LISTED:
        raise ValueError(
            f"the table has {cells} cells, too many to list (at most {MOST_LISTED}); use "
            "sparse=True, fewer columns or wider bins, or margins=2"
        )
    if occupied is not None:
        most = min(cells, MOST_LISTED)  # about half as many empty ones pass
        check_count("occupied", occupied, least=1, most=most, hint="cells known to hold something")
        if sparse is False:
            raise ValueError("occupied goes with sparse=True: it is for the threshold")
        sparse = True
    noise = mechanism.calibrate(moved_counts(2, ask.most, mechanism.norm), **ask.promise)
    tally = count_cells(ask.open(data), ask.axes, most=ask.most, counts=ask.counts, lots=ask.lots(purse))
    n = ask.n(tally)
    if sparse == "auto":
        sparse = cells > MOST_LISTED or sparser(noise, n * ask.most, cells)
    threshold = threshold_of(noise, cells, occupied) if sparse else None  # type: ignore[arg-type]
    check_worth(noise, n, threshold, insist=ask.terms.insist)
    return publish_cells(tally, mechanism, purse, ask, n=n, threshold=threshold, what=what)


def publish_cells(
    tally: CellTally,
    mechanism: CountMechanism,
    purse: Purse,
    ask: CountRequest,
    *,
    n: int,
    threshold: int | None,
    what: str,
) -> HistogramRelease:
    """Add noise to all cells; with a threshold, keep those above it, of which some are empty."""

    def release(keys: Ints | None, values: Ints, law: CountLaw, statement: Statement) -> HistogramRelease:
        given = ask.axes, statement, law, keys, values, threshold
        return tell(HistogramRelease(*given, complete=ask.missing == "drop", rows_each=ask.most))

    unit = ask.unit or "row"
    if threshold is None:
        counts = CellCounts(tally, n=n, unit=unit)
        return publish(counts, mechanism, partial(release, None), purse, promise=ask.promise, what=what)
    return publish(
        OccupiedCounts(tally, n=n, unit=unit),
        SparseCounts(mechanism, threshold),
        lambda noisy, *known: release(*noisy, *known),
        purse,
        promise=ask.promise,
        what=what,
    )


def sparser(noise: CountNoise, records: int, cells: int) -> bool:
    """Whether a sparse release has the smaller error, whatever the records: from public numbers.

    At most min(records, cells) cells are occupied; each errs by the threshold and one noise more
    at most, the empty ones together by half as much (thesis, Proposition 2.4.3).
    """
    each = noise.law.threshold(0.5 / cells) + noise.law.mean_error
    return (min(records, cells) + 0.5) * each < cells * noise.law.mean_error / 2


def _released_margins(
    ask: CountRequest, data: object, purse: Purse, margins: object, what: str
) -> MarginsRelease:
    """Count all margins, charge, add noise, and make them consistent with each other."""
    sets = _sets_of(margins, ask.axes)
    used = sorted(set().union(*sets))  # a value that is missing elsewhere does not matter
    axes = ask.axes.only(used)
    sets = tuple(tuple(used.index(place) for place in places) for places in sets)
    ask = replace(ask, axes=axes)
    sizes = [math.prod(axes.sizes[place] for place in places) for places in sets]
    if sum(sizes) > MOST_LISTED:
        raise ValueError(
            f"margins would have {sum(sizes)} cells together, too many to list (at most "
            f"{MOST_LISTED}); ask for fewer, or of fewer columns"
        )
    # where every record is in a cell and n is public, one count of two tells the other
    complete = ask.missing == "drop"
    single = tuple(complete and size == 2 for size in sizes)
    mechanism = count_mechanism(ask.promise["delta"])
    moved = moved_counts(moves_of(single), ask.most, mechanism.norm)
    noise = mechanism.calibrate(moved, **ask.promise)
    records, lots = ask.open(data), ask.lots(purse)
    tally = count_margins(records, axes, sets, most=ask.most, counts=ask.counts, lots=lots)
    n = ask.n(tally)
    check_worth(noise, n, None, insist=ask.terms.insist, fewer="fewer margins")
    named = f"{len(sets)} margins of the {what}"
    ends = np.cumsum([1 if alone else size for size, alone in zip(sizes, single, strict=True)])[:-1]

    def build(noisy: Ints, law: CountLaw, statement: Statement) -> MarginsRelease:
        parts = [
            np.array([n - part[0], part[0]]) if alone else part
            for part, alone in zip(np.split(noisy, ends), single, strict=True)
        ]
        shaped = tuple(
            part.reshape([axes.sizes[place] for place in places])
            for part, places in zip(parts, sets, strict=True)
        )
        return tell(
            MarginsRelease(axes, statement, sets, shaped, law, single, complete=complete, rows_each=ask.most)
        )

    counts = MarginCounts(tally, single, n=n, unit=ask.unit or "row")
    return publish(counts, mechanism, build, purse, promise=ask.promise, what=named)


def _sets_of(margins: object, axes: Axes) -> tuple[tuple[int, ...], ...]:
    """The columns of each margin, by their places among the axes."""
    if isinstance(margins, (int, np.integer)) and not isinstance(margins, bool):
        if not 1 <= margins <= axes.dimension:
            raise ValueError(
                f"margins must be from 1 to the number of columns, {axes.dimension}; got {margins}"
            )
        if math.comb(axes.dimension, int(margins)) > _MOST_MARGINS:
            raise ValueError(f"margins would be more than {_MOST_MARGINS}; list the ones you need")
        return tuple(combinations(range(axes.dimension), int(margins)))
    if isinstance(margins, str) or not isinstance(margins, (list, tuple)) or not margins:
        raise ValueError(
            "margins must be 'all', a number of columns, or a list of tuples of names such as "
            '[("age", "sex"), ("sex",)]'
        )
    sets = []
    for names in margins:
        group = (names,) if isinstance(names, str) else tuple(names)
        if not group or len(set(group)) < len(group):
            raise ValueError("margins: each must name one or more different columns")
        for name in group:
            if name not in axes.names:
                shown = ", ".join(map(repr, axes.names))
                raise ValueError(f"margins: there is no column {name!r}; there are {shown}")
        sets.append(tuple(sorted(axes.index(name) for name in group)))
    if len(set(sets)) < len(sets):
        raise ValueError("margins: one of them stands twice; ask for it once")
    if len(sets) > _MOST_MARGINS:
        raise ValueError(f"margins must be at most {_MOST_MARGINS}, got {len(sets)}")
    return tuple(sets)
