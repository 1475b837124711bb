"""The one pass over the data: exact, independent of order and chunks, blind to bad rows."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.columns.domain import Box
from mercer.sensitive.summaries.density import Tally

LINE = Box(("x",), ((-1.0, 3.0),))
PLANE = Box(("x", "y"), ((0.0, 1.0), (-5.0, 5.0)))
SPACE = Box(("x", "y", "z"), ((0.0, 1.0), (0.0, 2.0), (0.0, 3.0)))
ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)


def counted(domain, rows, weights=None):
    return Tally(domain).add(np.asarray(rows, dtype=float), weights)


def slow_linear_binning(domain, rows, nodes):
    """Fractions all the way: nearest fine node, then shares between coarse neighbours."""
    fine = {1: 1 << 15, 2: 1 << 11, 3: 1 << 8}[domain.dimension]
    out = np.zeros((nodes,) * domain.dimension, dtype=object)
    for row in rows:
        if not np.all(np.isfinite(row)):
            continue
        ends = []
        for value, (low, high) in zip(row, domain.bounds, strict=True):
            place = Fraction(value) - Fraction(low)
            spot = round(min(max(float(place) / (high - low), 0), 1) * fine)
            left, share = divmod(spot * (nodes - 1), fine)
            ends.append([(left, fine - share), (left + 1, share)])
        for corner in np.ndindex(*[2] * domain.dimension):
            picked = [ends[axis][side] for axis, side in enumerate(corner)]
            weight = 1
            for _, share in picked:
                weight *= share
            if weight:
                out[tuple(place for place, _ in picked)] += weight
    return out, (fine // 1) ** domain.dimension


@pytest.mark.parametrize(("domain", "nodes"), [(LINE, 65), (PLANE, 33), (SPACE, 9)])
def test_linear_binning_against_fractions(domain, nodes, rng):
    rows = rng.normal(0.5, 2.0, (60, domain.dimension))
    rows[3, 0], rows[5, -1], rows[7, 0] = np.nan, np.inf, -np.inf
    counts, factor = counted(domain, rows).on((nodes,) * domain.dimension)
    slow, slow_factor = slow_linear_binning(domain, rows, nodes)
    assert np.array_equal(counts.astype(object) * (slow_factor // factor), slow)
    assert counts.sum() == 57 * factor


@pytest.mark.parametrize("domain", [LINE, PLANE, SPACE])
def test_order_chunks_and_workers_do_not_matter(domain, rng):
    rows = rng.normal(size=(500, domain.dimension))
    whole = counted(domain, rows)
    parts = Tally(domain)
    for part in np.array_split(rng.permutation(rows), 7):
        parts.merge(counted(domain, part))
    assert np.array_equal(whole._counts, parts._counts)
    assert whole.rows == parts.rows == 500


@given(st.lists(ANY, min_size=1, max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_value_is_counted_without_complaint(values):
    tally = counted(LINE, np.array(values)[:, None])
    assert tally.rows == len(values)
    assert tally.complete == sum(np.isfinite(v) for v in values)
    assert tally._counts.sum() == len(values)


def test_outside_values_are_clipped_to_the_bounds():
    inside = counted(LINE, [[-1.0], [3.0]])
    outside = counted(LINE, [[-1e300], [1e300]])
    assert np.array_equal(inside._counts, outside._counts)


def test_weights_are_whole_numbers(rng):
    rows, weights = rng.random((100, 1)), rng.integers(0, 1000, 100)
    weighted = counted(LINE, rows, weights)
    repeated = counted(LINE, np.repeat(rows, weights, axis=0))
    assert np.array_equal(weighted._counts, repeated._counts)


def test_sensitive_objects_are_not_shown_pickled_or_copied():
    tally = counted(LINE, [[0.123456789]])
    assert "0.123" not in repr(tally) + str(tally) + f"{tally}"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="sensitive"):
            leave(tally)


def test_merging_needs_the_same_domain():
    with pytest.raises(ValueError, match="share domain"):
        Tally(LINE).merge(Tally(Box(("x",), ((0.0, 1.0),))))
