"""scikit-learn's own checks, and what the estimator adds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PrivateKernelDensity

# Checks that cannot apply.  All four fit data with more than three columns, where a private
# density is refused on purpose; `test_what_those_checks_look_at` does the same on fewer columns.
TOO_WIDE = "fits more than three columns"
NOT_APPLICABLE = {
    "check_n_features_in_after_fitting": TOO_WIDE,
    "check_positive_only_tag_during_fit": TOO_WIDE,
    "check_estimators_dtypes": TOO_WIDE,
    "check_dtype_object": TOO_WIDE,
}
PROMISE = {"epsilon": 1.0, "delta": 1e-6}


@parametrize_with_checks(
    [PrivateKernelDensity(bounds=(-10, 10), random_state=0, **PROMISE)],
    expected_failed_checks=lambda _estimator: NOT_APPLICABLE,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_what_those_checks_look_at(rng):
    model = PrivateKernelDensity(bounds=(-10, 10), random_state=0, **PROMISE)
    X = rng.normal(size=(40, 2))
    for dtype in (np.float32, np.float64, np.int32, np.int64, object):
        assert model.fit(X.astype(dtype)).score_samples(X[:3].astype(dtype)).shape == (3,)
    assert model.fit(X).n_features_in_ == 2
    with pytest.raises(ValueError, match="1 features, but .* 2"):
        model.score_samples(X[:, :1])
    with pytest.raises(ValueError, match="at most 3, got 4.*two or three at a time"):
        model.fit(rng.normal(size=(40, 4)))
    named = pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": ["secret-diagnosis", "x", "y"]})
    with pytest.raises(ValueError, match="X must hold numbers") as caught:
        model.fit(named)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    words = X.astype(object)
    words[0, 0] = {"not": "a number"}
    assert model.fit(words).release_.privacy.n == 40  # a cell that is no number is missing


def test_it_is_the_release(rng):
    X = rng.beta(2, 3, (500, 1))
    model = PrivateKernelDensity(bounds=(0, 1), **PROMISE).fit(X)
    assert np.allclose(np.exp(model.score_samples(X)), model.release_(X))
    assert model.score(X) == pytest.approx(model.score_samples(X).sum())
    assert model.sample(7).shape == (7, 1)
    assert np.array_equal(model.sample(3, random_state=1), model.sample(3, random_state=1))
    assert model.release_.privacy.secure
    assert model.score_samples([[2.0]])[0] == -np.inf  # the density outside the bounds is zero


def test_names_seeds_and_clones(rng):
    frame = pd.DataFrame(rng.random((100, 2)), columns=["age", "dose"])
    model = PrivateKernelDensity(bounds=[(0, 1), (0, 1)], random_state=4, **PROMISE)
    first, second = model.fit(frame).release_, clone(model).fit(frame).release_
    assert first.domain.names == ("age", "dose")
    assert np.array_equal(first.coordinates, second.coordinates)
    assert not first.privacy.secure


def test_in_a_pipeline(rng):
    pipe = make_pipeline(FunctionTransformer(np.log1p), PrivateKernelDensity(bounds=(0, 5), **PROMISE))
    X = rng.exponential(5, (200, 1))
    assert np.isfinite(pipe.fit(X).score_samples(X)).any()


def test_privacy_has_no_default_and_unfitted_models_say_so(rng):
    with pytest.raises(ValueError, match="epsilon is missing"):
        PrivateKernelDensity(bounds=(0, 1)).fit(rng.random((10, 1)))
    with pytest.raises(ValueError, match="bounds is missing"):
        PrivateKernelDensity(**PROMISE).fit(rng.random((10, 1)))
    with pytest.raises(NotFittedError):
        PrivateKernelDensity(**PROMISE, bounds=(0, 1)).sample()
