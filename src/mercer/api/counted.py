"""How `mercer.density` releases a column of integers, or of steps: every value is counted.  M20, M16, M18."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mercer.api.calls import Terms
from mercer.api.recipes.counts import CountRequest, name_of
from mercer.columns.cells import Axes, Axis
from mercer.columns.domain import Box, day_of
from mercer.columns.kinds import Date, Integer, Numeric
from mercer.common.checks import Ints, check_count, check_delta, check_epsilon, check_positive
from mercer.door.publish import publish
from mercer.noise.count_laws import CountLaw
from mercer.noise.mechanisms.base import Promise, no_delta
from mercer.noise.mechanisms.counts import CountMechanism, count_mechanism
from mercer.promise.statement import Statement
from mercer.releases.column.release import ColumnAccuracy, ColumnRelease, lattice
from mercer.releases.findings import tell
from mercer.rules.columns import tree_rule
from mercer.sensitive.summaries.cell_counts import count_cells
from mercer.sensitive.summaries.tree_counts import TreeCounts
from mercer.spaces.trees import Tree

__all__ = ["ColumnPlan", "check_smooth", "column_plan", "counted_column", "counts_values", "expected_column"]


def counts_values(bounds: object, step: object) -> bool:
    """Whether the values of the column are to be counted: a step is public, or integers are listed."""
    held = next(iter(bounds.values()), None) if isinstance(bounds, Mapping) else bounds
    return step is not None or isinstance(held, range)


def check_smooth(bounds: object) -> None:
    """Refuse a range of integers where values cannot be counted."""
    if counts_values(bounds, None):
        raise ValueError(
            "bounds must be (lower, upper) here, got a range of integers: values are counted by "
            "mercer.density(..., step=1) alone"
        )


def counted_column(
    data: object,
    terms: Terms,
    bounds: object,
    step: object,
    columns: object,
    missing: str,
    na_values: object,
    outside: str,
    formats: object,
) -> ColumnRelease:
    """Count the records at each value and along a tree above them, charge, and add noise."""
    domain, size = _declared(data, bounds, step, columns)
    axes = Axes((_axis(domain, size, outside),))
    ask = CountRequest.of(axes, terms, na_values, formats, None, missing)
    purse = terms.purse(data)
    complete = missing == "drop"
    tree, mechanism, promise = _chosen(axes.cells + (not complete), ask.promise)
    tally = count_cells(ask.open(data), axes, most=1, lots=ask.lots(purse))

    def build(noisy: Ints, law: CountLaw, statement: Statement) -> ColumnRelease:
        return ColumnRelease(domain, statement, size, law, tree.levels, noisy, complete=complete)

    summary = TreeCounts(tally, tree, n=ask.n(tally), unit=ask.unit or "row")
    what = f"distribution of {domain.names[0]}"
    return tell(publish(summary, mechanism, build, purse, promise=promise, what=what))


@dataclass(frozen=True)
class ColumnPlan:
    """What a counted column would cost in accuracy: computed without any data."""

    n: int
    epsilon: float
    delta: float  # 0 where pure noise, which promises more, is the smaller one
    values: int
    levels: int  # of the tree of counts
    cdf: float  # root mean square of the noise of the share at or below a value
    value: float  # standard deviation of the share of a single value, at most
    mean: float  # standard deviation of the mean, in the units of the column


def column_plan(
    *, n: object, bounds: object, step: float | None = None, epsilon: float, delta: float | None = None
) -> ColumnPlan:
    """Accuracy of `density` with a `step` before anything is spent: no data are needed.

    Examples
    --------
    >>> import mercer
    >>> plan = mercer.column_plan(n=20_000, bounds=range(0, 101), epsilon=1)
    >>> plan.values, round(plan.n * plan.cdf), plan.mean < 0.03
    (101, 10, True)

    """
    count = check_count("n", n, least=1, most=10**15, hint="the public number of records")
    domain, size = _declared([0], bounds, step, None)
    asked = Promise(epsilon=check_epsilon(epsilon), delta=0.0 if no_delta(delta) else check_delta(delta))
    values = len(lattice(domain, size))
    tree, mechanism, promise = _chosen(values + 1, asked)
    law = mechanism.calibrate(TreeCounts.bound_of(tree, mechanism.norm), tree.size, **promise).law
    found = ColumnAccuracy.of(domain, size, tree, law, count)
    return ColumnPlan(count, promise["epsilon"], promise["delta"], values, tree.levels, *found.errors)


def _declared(data: object, bounds: object, step: object, columns: object) -> tuple[Box, float]:
    """The public domain of the column, and the step between its values."""
    if isinstance(bounds, Mapping):
        if len(bounds) != 1:
            raise ValueError(f"step is for one column, got bounds of {len(bounds)}; release them one by one")
        if columns is None:
            columns = next(iter(bounds))
        bounds = next(iter(bounds.values()))
    if isinstance(columns, (list, tuple)):
        if len(columns) != 1:
            raise ValueError(
                f"step is for one column, got {len(columns)} columns; release them one by one, or "
                "leave it out"
            )
        columns = columns[0]
    if isinstance(bounds, range):
        if len(bounds) < 2 or bounds.step < 1:
            raise ValueError(f"bounds must be a rising range of two integers or more, got {bounds!r}")
        if step is not None and step != bounds.step:
            raise ValueError(f"step must be that of the range or left out, got {step!r} and {bounds!r}")
        step = bounds.step
        bounds = bounds[0], bounds[-1]
    size = check_positive("step", step, "1 for integers, 0.01 for cents")
    domain = Box.of(bounds, [name_of(data, columns)])
    if domain.dates and size != 1:
        raise ValueError(f"step must be 1, a day, for dates, got {size:g}")
    lattice(domain, size)  # refuses what does not fit
    return domain, size


def _axis(domain: Box, step: float, outside: str) -> Axis:
    """The cells that are counted: one for each value, with what is nearest to it."""
    (low, high), name = domain.bounds[0], domain.names[0]
    if domain.dates:
        return Axis(Date(name, day_of(low), day_of(high)), None, outside)
    if step == 1 and low == round(low):
        return Axis(Integer(name, round(low), round(high)), None, outside)
    values = lattice(domain, step)
    edges = [*(values - step / 2).tolist(), float(values[-1] + step / 2)]
    return Axis(Numeric(name, edges[0], edges[-1]), tuple(edges), outside)


def _chosen(leaves: int, asked: Promise) -> tuple[Tree, CountMechanism, Promise]:
    """The tree and the noise by the public rule, and what is promised then: less delta where it can be."""
    levels, pure = tree_rule(leaves, **asked)
    promise = Promise(epsilon=asked["epsilon"], delta=0.0 if pure else asked["delta"])
    return Tree(leaves, levels), count_mechanism(promise["delta"]), promise


def expected_column(given: Mapping[str, Any], made: Statement) -> str:
    """The expected error of a counted column, in words, for a dry run."""
    bounds = given["bounds"]
    held = next(iter(bounds.values())) if isinstance(bounds, Mapping) else bounds
    plan = column_plan(
        n=made.n, bounds=held, step=given["step"], epsilon=made.epsilon, delta=made.delta or None
    )
    return str(ColumnAccuracy(plan.cdf, plan.value, plan.mean, plan.n))
