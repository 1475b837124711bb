"""Bad arguments: a clear error before anything is read or spent, and never a data value."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer.noise.mechanisms import Gaussian, Geometric, KNorm, Orbitope, cube

GOOD = {"bounds": (0, 1), "epsilon": 1.0, "delta": 1e-6}
SECRET = 0.123456789


class Untouchable:
    """Data that must not be read before the arguments are known to be right."""

    def __array__(self, *_args, **_kwargs):
        raise AssertionError("the data were read")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "epsilon is missing"),
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
        ({"epsilon": -1}, "epsilon must be a finite number above 0"),
        ({"epsilon": math.nan}, "epsilon must be a finite number above 0"),
        ({"epsilon": math.inf}, "epsilon must be a finite number above 0"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        (
            {"delta": None, "mechanism": "gaussian"},
            "delta is missing.*'orbitope', 'l2' and 'laplace' need no delta",
        ),
        (
            {"delta": 0, "mechanism": "gaussian"},
            r"delta must be in \(0, 1\).*'orbitope', 'l2' and 'laplace' have",
        ),
        ({"delta": False}, "delta must be a number"),
        ({"delta": -1}, r"delta must be in \(0, 1\)"),
        ({"delta": 1.0}, r"delta must be in \(0, 1\)"),
        ({"delta": math.nan}, r"delta must be in \(0, 1\)"),
        ({"bandwidth": "best"}, "bandwidth must be a number.*'best'"),
        ({"kernel": "box"}, "kernel must be one of"),
        ({"smoother": "box"}, "smoother must be one of"),
        ({"boundary": "wall"}, "boundary must be one of"),
        ({"basis": "splines"}, "basis must be one of"),
        ({"missing": "ignore"}, "missing must be one of"),
        ({"mechanism": "student"}, "mechanism must be one of"),
        ({"mechanism": "geometric"}, "mechanism must be one of"),
        ({"mechanism": Geometric()}, "does not fit a density"),
        ({"mechanism": KNorm(cube(3))}, "does not fit a density"),
        ({"mechanism": Orbitope(real=False)}, "does not fit boundary"),
        ({"mechanism": "orbitope", "basis": "cosine"}, "is for moments of one column"),
        ({"mechanism": "orbitope", "kernel": "matern32"}, "is for moments of one column"),
        ({"basis": "moments", "kernel": "matern32"}, "needs kernel='gaussian'"),
        ({"basis": "moments", "smoother": "matern32"}, "needs smoother='gaussian'"),
        ({"basis": "moments", "size": 1}, r"size must be in \[2, 1025\]"),
        ({"mechanism": 3}, "mechanism must be a name or a Mechanism"),
        ({"rng": "seed"}, "rng must be None"),
        ({"basis": "grid"}, "basis='grid' needs kernel"),
        ({"kernel": "exponential", "boundary": "reflect"}, "use boundary='open'"),
        ({"basis": "fourier", "boundary": "reflect"}, "does not fit boundary"),
        ({"size": 7}, "size cannot be set"),
        ({"basis": "landmarks", "size": 1}, r"size must be in \[2, 4096\]"),
        ({"basis": "landmarks", "size": 1.5}, "size must be a whole number"),
        ({"kernel": "exponential", "basis": "cosine", "boundary": "reflect"}, "needs kernel='gaussian'"),
    ],
)
def test_choices_are_checked_before_data_are_read(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mercer.density(Untouchable(), **(GOOD | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": None}, "bounds is missing"),
        ({"bounds": (1, 0)}, "lower < upper"),
        ({"bounds": (0, 0)}, "lower < upper"),
        ({"bounds": (0, math.inf)}, "bounds must be finite"),
        ({"bounds": (0, math.nan)}, "bounds must be finite"),
        ({"bounds": [(0, 1), (0, 1)]}, "bounds must be one .* pair for each of the 1 column"),
        ({"bounds": "0 1"}, "bounds must be"),
        ({"bounds": 5}, "bounds must be"),
        ({"bandwidth": 0}, "bandwidth must be finite and above 0"),
        ({"bandwidth": -2}, "bandwidth must be finite and above 0"),
        ({"bandwidth": math.nan}, "bandwidth must be finite and above 0"),
        ({"bandwidth": [1, 2]}, "bandwidth must be a number, 1 number"),
        ({"bandwidth": 1e-9}, "between 1e-5 and 4 times the width"),
        ({"bandwidth": [[-1.0]]}, "positive definite"),
        ({"smoother": "exponential", "kernel": "matern32", "bandwidth": 0.1}, "too rough"),
        ({"columns": ["a", "b"]}, "columns must be 1 name"),
    ],
)
def test_domain_and_bandwidth(options, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        mercer.density(np.full(50, SECRET), **(GOOD | options))
    assert str(SECRET) not in str(caught.value)


def test_matrices_must_be_positive_definite_and_reflecting_ones_diagonal(rng):
    data, bounds = rng.random((50, 2)), [(0, 1)] * 2
    for matrix, message in [
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite"),
        ([[1.0, 0.5], [0.0, 1.0]], "symmetric"),
        ([[0.02, 0.01], [0.01, 0.02]], "slanted"),
    ]:
        with pytest.raises(ValueError, match=message):
            mercer.density(data, **(GOOD | {"bounds": bounds, "bandwidth": matrix}))
    with pytest.raises(ValueError, match="one number a column"):
        mercer.density(
            data,
            **(GOOD | {"bounds": bounds, "kernel": "exponential", "bandwidth": [[0.02, 0.01], [0.01, 0.02]]}),
        )


def test_more_than_three_dimensions_says_what_to_do(rng):
    with pytest.raises(ValueError, match="at most 3, got 4.*two or three at a time"):
        mercer.density(rng.random((50, 4)), **(GOOD | {"bounds": [(0, 1)] * 4}))


@pytest.mark.parametrize("data", [object(), np.zeros((2, 2, 2)), {"x": 1}, 5.0, 1 + 2j])
def test_what_is_not_data(data):
    with pytest.raises((TypeError, ValueError), match="data must"):
        mercer.density(data, **GOOD)


def test_classic_calibration_is_refused_above_one():
    with pytest.raises(ValueError, match="classic calibration"):
        mercer.density(np.zeros(50), **(GOOD | {"epsilon": 2.0, "mechanism": Gaussian("classic")}))


NUMBERS = st.one_of(st.floats(), st.integers(-3, 3), st.none(), st.text(max_size=3), st.booleans())


@given(
    epsilon=NUMBERS,
    delta=NUMBERS,
    bandwidth=st.one_of(NUMBERS, st.lists(NUMBERS, max_size=3)),
    bounds=st.one_of(NUMBERS, st.tuples(NUMBERS, NUMBERS), st.lists(NUMBERS, max_size=3)),
    boundary=st.sampled_from(["reflect", "periodic", "open", "x", None, 3]),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_arguments_give_a_release_or_a_kind_error(epsilon, delta, bandwidth, bounds, boundary):
    data = np.full(20, SECRET)
    try:
        release = mercer.density(
            data, bounds=bounds, epsilon=epsilon, delta=delta, bandwidth=bandwidth, boundary=boundary, rng=1
        )
    except (ValueError, TypeError) as error:
        assert str(SECRET) not in str(error)
        assert len(str(error)) > 10
    else:
        assert math.isfinite(float(release(np.mean(release.domain.bounds[0]))))
