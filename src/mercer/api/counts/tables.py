"""Values or rows and a budget in, counts of cells out: histograms and tables.

M13, M16, M18; Hall's thesis, Section 2.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.api.calls import call
from mercer.api.counts.asked import CountRequest, check_worth, name_of
from mercer.api.expected import of_histogram, of_table
from mercer.api.synthetic.recipe import domain_given
from mercer.columns.bins import axes_of, axis_of
from mercer.columns.cells import MOST_LISTED, Axes
from mercer.columns.reading import Reading
from mercer.common.checks import check_count
from mercer.door.publish import LedgerLike, Purse, publish
from mercer.noise.count_laws import CountLaw
from mercer.noise.mechanisms.counts import (
    CountMechanism,
    CountNoise,
    SparseCounts,
    count_mechanism,
    threshold_of,
)
from mercer.promise.statement import Statement
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.findings import tell
from mercer.sensitive.summaries.cell_counts import CellCounts, count_cells, moved_counts

__all__ = ["histogram", "table"]


@call(of_histogram)
def histogram(
    values: object,
    *,
    bins: object = None,
    categories: object = None,
    epsilon: object = None,
    delta: object = None,
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
    progress: Callable[[int], None] | None = None,
) -> HistogramRelease:
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
    reading = Reading.of(na_values=na_values, formats=formats, dry_run=dry_run and missing != "drop")
    ask = CountRequest.of(
        Axes((axis,)),
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        rows_per_person=rows_per_person,
        counts=counts,
        missing=missing,
        insist=insist,
        reading=reading,
    )
    purse = Purse.of(rng, ledger, dataset, data=values, unit=unit, insist=insist, dry_run=dry_run)
    return released(ask, values, purse, sparse, occupied, f"histogram of {name}", progress)


@call(of_table)
def table(
    rows: object,
    *,
    domain: object = None,
    columns: object = None,
    epsilon: object = None,
    delta: object = None,
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
    progress: Callable[[int], None] | None = None,
) -> Any:
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
    reading = Reading.of(na_values=na_values, formats=formats, dry_run=dry_run and missing != "drop")
    ask = CountRequest.of(
        axes,
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        rows_per_person=rows_per_person,
        counts=counts,
        missing=missing,
        insist=insist,
        reading=reading,
    )
    what = f"table of {', '.join(axes.names)}"
    purse = Purse.of(rng, ledger, dataset, data=rows, unit=unit, insist=insist, dry_run=dry_run)
    if not (isinstance(margins, str) and margins == "all"):
        from mercer.api.counts.margins import released_margins

        if occupied is not None or sparse not in ("auto", False):
            raise ValueError("sparse is for the table itself: margins are not thresholded")
        return released_margins(ask, rows, purse, margins, what, progress)
    return released(ask, rows, purse, sparse, occupied, what, progress)


def released(
    ask: CountRequest,
    data: object,
    purse: Purse,
    sparse: object,
    occupied: object,
    what: str,
    progress: Callable[[int], None] | None,
) -> HistogramRelease:
    """Read, charge, add noise."""
    if not isinstance(sparse, bool) and sparse != "auto":
        raise ValueError(f"sparse must be True, False or 'auto'; got {sparse!r}")
    cells, mechanism = ask.axes.cells, count_mechanism(ask.delta)
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
    tally = count_cells(
        ask.open(data, progress), ask.axes, most=ask.most, counts=ask.counts, lots=ask.lots(purse)
    )
    n = ask.n(tally)
    if sparse == "auto":
        sparse = cells > MOST_LISTED or sparser(noise, n * ask.most, cells)
    threshold = threshold_of(noise, cells, occupied) if sparse else None  # type: ignore[arg-type]
    check_worth(noise, n, threshold, insist=ask.insist)
    return publish_cells(
        CellCounts(tally, n=n, unit=ask.unit or "row", sparse=threshold is not None),
        mechanism,
        purse,
        ask,
        threshold=threshold,
        what=what,
    )


def publish_cells(
    counts: CellCounts,
    mechanism: CountMechanism,
    purse: Purse,
    ask: CountRequest,
    *,
    threshold: int | None,
    what: str,
) -> HistogramRelease:
    """Noise on all cells, or (with a threshold) on the occupied ones and what noise alone lets pass."""

    def build(noisy: Any, law: CountLaw, statement: Statement) -> HistogramRelease:
        keys, values = (None, noisy) if threshold is None else noisy
        complete = ask.missing == "drop"
        return tell(
            HistogramRelease(ask.axes, statement, law, keys, values, threshold, complete, rows_each=ask.most)
        )

    how = mechanism if threshold is None else SparseCounts(mechanism, threshold)
    return publish(counts, how, build, purse, promise=ask.promise, what=what)


def sparser(noise: CountNoise, records: int, cells: int) -> bool:
    """Whether a sparse release has the smaller error, whatever the records: from public numbers.

    At most min(records, cells) cells are occupied; each errs by the threshold and one noise more
    at most, the empty ones together by half as much (thesis, Proposition 2.4.3).
    """
    each = noise.law.threshold(0.5 / cells) + noise.law.mean_error
    return (min(records, cells) + 0.5) * each < cells * noise.law.mean_error / 2
