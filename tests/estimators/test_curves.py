"""scikit-learn's own checks on the private mean curve, and what the estimator adds."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import PrivateMeanCurve

NOT_APPLICABLE = {
    # an exception that depends on a record is an output (M18)
    "check_dtype_object": "a cell that is no number is a gap, not an error",
    # `predict` on a grid is what such an estimator is for
    "check_fit2d_predict1d": "a line of numbers is points of the curve, not a row",
    "check_n_features_in_after_fitting": "a column of numbers is points of the curve, not rows",
}
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
QUICK = {"epsilon": 20, "delta": 1e-6}  # means nothing: the checks have a dozen curves
T = np.linspace(0, 1, 25)


@pytest.fixture
def curves(rng):
    return np.sin(3 * T) + 0.1 * rng.normal(size=(600, 1))


@parametrize_with_checks(
    [PrivateMeanCurve(bound=5, random_state=0, **QUICK)],
    expected_failed_checks=lambda _estimator: NOT_APPLICABLE,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_it_is_the_release(curves):
    model = PrivateMeanCurve(bound=1.2, grid=T, random_state=3, **PROMISE).fit(curves)
    assert np.array_equal(model.mean_, model.release_(T))
    assert np.array_equal(model.grid_, T)
    assert np.array_equal(model.predict([0.3, 0.4]), model.release_([0.3, 0.4]))
    assert np.array_equal(model.predict(T, 1), model.release_.derivative(T))
    assert np.array_equal(model.predict(T[:, None]), model.mean_)
    assert np.array_equal(model.predict(curves[:4]), np.tile(model.mean_, (4, 1)))
    assert model.n_features_in_ == 25
    with pytest.raises(ValueError, match="x must lie in the domain"):
        model.predict([1.5])
    seed = int(np.random.RandomState(3).randint(2**31))
    there = mercer.mean_curve(curves, grid=T, bound=1.2, rng=seed, **PROMISE)
    assert there.to_dict() == model.release_.to_dict()
    assert not model.release_.privacy.secure
    assert PrivateMeanCurve(bound=1.2, **PROMISE).fit(curves).release_.privacy.secure


def test_every_option_is_handed_on(curves, tmp_path):
    book = mercer.Ledger(tmp_path / "b.db")
    book.register("curves", epsilon=2, delta=1e-5)
    model = PrivateMeanCurve(
        bound=1.0,
        grid=2 * T,
        kernel="matern52",
        scale=0.5,
        penalty=0.01,
        eta=2.0,
        center=np.sin(3 * T),
        order="paper",
        missing="zero",
        ledger=book,
        dataset="curves",
        **PROMISE,
    ).fit(curves)
    release = model.release_
    assert release.domain.bounds == ((0, 2),)
    assert (release.smoothing.kernel, release.smoothing.eta, release.smoothing.penalty) == (
        "matern52",
        2,
        0.01,
    )
    assert release.smoothing.scales == (0.25,)
    assert release.order == "paper"
    assert release.center.any()
    assert len(book.history("curves")) == 1


def test_gaps_objects_and_names(curves):
    holes = curves.copy()
    holes[::3, 4] = np.nan
    model = PrivateMeanCurve(bound=1.2, random_state=0, **PROMISE)
    assert model.fit(holes).release_.privacy.n == 600
    words = holes.astype(object)
    words[0, 0] = "secret-diagnosis"
    assert model.fit(words).release_.privacy.n == 600
    frame = pd.DataFrame(curves, columns=[f"h{i}" for i in range(25)])
    assert model.fit(frame).feature_names_in_[0] == "h0"
    frame["h3"] = "secret-diagnosis"
    with pytest.raises(ValueError, match="X must hold numbers") as caught:
        model.fit(frame)
    assert "secret" not in str(caught.value)


def test_clones_pickles_and_pipelines(curves):
    model = PrivateMeanCurve(bound=1.2, grid=T, random_state=4, **PROMISE)
    first, second = model.fit(curves), clone(model).fit(curves)
    assert np.array_equal(first.mean_, second.mean_)
    again = pickle.loads(pickle.dumps(first))
    assert np.array_equal(again.predict(T), first.mean_)
    pipe = make_pipeline(FunctionTransformer(np.tanh), model).fit(curves)
    assert pipe[-1].mean_.shape == (25,)


def test_privacy_has_no_default_and_unfitted_models_say_so(curves):
    with pytest.raises(ValueError, match="epsilon is missing"):
        PrivateMeanCurve(bound=1).fit(curves)
    with pytest.raises(ValueError, match="bound is missing"):
        PrivateMeanCurve(**PROMISE).fit(curves)
    with pytest.raises(ValueError, match=r"curves must have shape \(curves, 3\)"):
        PrivateMeanCurve(bound=1, grid=[0, 1, 2], **PROMISE).fit(curves)
    with pytest.raises(NotFittedError):
        PrivateMeanCurve(bound=1, **PROMISE).predict([0.5])


def test_defaults_are_those_of_the_function():
    here, there = (inspect.signature(f).parameters for f in (PrivateMeanCurve, mercer.mean_curve))
    assert there["epsilon"].default is inspect.Parameter.empty  # scikit-learn wants a default: None
    for name in set(here) & set(there) - {"epsilon"}:
        assert here[name].default == there[name].default, name
