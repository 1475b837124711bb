"""Integer sums: exact at sizes where doubles are not."""

from fractions import Fraction

import numpy as np
import pytest

from mercer.exact import BITS, Exact, contract, quantise


@pytest.mark.parametrize("total_bits", [10, 34, 48, 60])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_contract_equals_python_integers(total_bits, dimension, rng):
    shape = (9, 7, 5)[:dimension]
    counts = rng.integers(0, 2 ** min(total_bits, 50), size=shape)
    if total_bits == 60:  # larger than a double can hold is never counted: 2^53 rows
        counts = np.minimum(counts, 2**45)
    tables = [rng.integers(-(2**BITS), 2**BITS + 1, size=(4, nodes)) for nodes in shape]
    total = int(counts.sum())
    result = contract(counts, tables, total)
    letters = "abc"[:dimension]
    spec = letters + "," + ",".join(f"{x.upper()}{x}" for x in letters) + "->" + letters.upper()
    slow = np.einsum(spec, counts.astype(object), *(t.astype(object) for t in tables))
    assert np.array_equal(result, slow)


def test_a_floating_sum_would_not_do():
    """M3.3: the same sum in doubles loses the row that the integer sum keeps."""
    counts = np.array([2**45, 1, 2**45])
    table = np.array([[2**BITS, 1, -(2**BITS)]])
    assert contract(counts, [table], int(counts.sum()))[0] == 1
    assert (counts.astype(float) * table[0] * 1.7).sum() != 1.7


def test_rounding_to_a_lattice_is_exact():
    value = Exact([1, 2, 3, -1, -2, -3, 10**30], Fraction(1, 2))
    assert value.rounded(Fraction(1)) == [1, 1, 2, 0, -1, -1, 5 * 10**29]
    assert Exact([10**40 + 1], Fraction(1, 3)).rounded(Fraction(1, 3)) == [10**40 + 1]


def test_quantise_goes_towards_zero():
    assert quantise(np.array([0.9, -0.9, 1.0, -1.6]), 0.5).tolist() == [1, -1, 2, -3]
