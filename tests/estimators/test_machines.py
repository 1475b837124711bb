"""scikit-learn's own checks on the private machines, and what the estimators add."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks as checks

import mercer
from mercer import PrivateKernelClassifier, PrivateKernelRegressor

# Checks that cannot hold: an exception that depends on a record is an output without noise (M18).
NO_ERROR = "records that do not fit count and add nothing; an error would tell of them"
NOT_ANY = {
    "check_estimators_nan_inf": NO_ERROR,  # in X, by fit; predict does raise
    "check_supervised_y_no_nan": NO_ERROR,
    "check_dtype_object": NO_ERROR,  # a cell that is no number
}
DECLARED = "reads the classes off y; they are public here and declared: (0, 1, 2)"
ONE_PAIR = "fits a list of rows, whose width no record may decide; bounds must have a pair for each"
NOT_RESPONSES = NOT_ANY | {"check_regressors_train": ONE_PAIR}  # test_checks_that_fit_a_list
NOT_CLASSES = NOT_ANY | {
    "check_classifiers_regression_target": NO_ERROR,  # a label that is no class
    "check_classifiers_classes": DECLARED,  # the next three: test_checks_that_read_the_classes
    "check_classifiers_train": DECLARED,
    "check_decision_proba_consistency": DECLARED,
}
# A promise that means nothing, for checks of the accuracy on a few dozen rows.
QUICK = {"epsilon": 20, "delta": 1e-6, "bounds": (-4, 4), "random_state": 0, "features": "random", "band": 0}
PROMISE = {"epsilon": 1.0, "delta": 1e-6}


@checks.parametrize_with_checks(
    [
        PrivateKernelClassifier(classes=(0, 1, 2), loss="logistic", size=24, **QUICK),
        PrivateKernelRegressor(y_bounds=(-4, 4), size=64, **QUICK),
    ],
    expected_failed_checks=lambda estimator: (
        NOT_CLASSES if isinstance(estimator, PrivateKernelClassifier) else NOT_RESPONSES
    ),
)
def test_sklearn_checks(estimator, check):
    check(estimator)


class Declaring(PrivateKernelClassifier):
    """Declares the classes that are in y: right where y is public."""

    def fit(self, X, y):
        self.classes = np.unique(y)
        super().fit(X, y)
        self.classes = None
        return self


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_checks_that_read_the_classes(loss):
    model = Declaring(**QUICK | {"bounds": [(-4, 4)] * 2}, size=24, loss=loss)  # of two columns
    checks.check_classifiers_classes("Declaring", model)
    checks.check_classifiers_train("Declaring", model)
    if loss == "logistic":
        checks.check_decision_proba_consistency("Declaring", model)


def test_checks_that_fit_a_list():
    declared = QUICK | {"bounds": [(-4, 4)] * 10}
    model = PrivateKernelRegressor(y_bounds=(-4, 4), size=64, **declared)
    checks.check_regressors_train("PrivateKernelRegressor", model)
    checks.check_regressors_train("PrivateKernelRegressor", model, readonly_memmap=True)


@pytest.fixture
def blobs(rng):
    """Rows of three classes, in [0, 1]^2."""
    place = rng.integers(0, 3, 600)
    centres = np.array([[0.2, 0.2], [0.8, 0.3], [0.4, 0.8]])
    return np.clip(centres[place] + rng.normal(0, 0.07, (600, 2)), 0, 1), place


UNIT = {"epsilon": 20.0, "delta": 1e-6, "bounds": (0, 1), "random_state": 0, "size": 30, "features": "random"}


def test_the_classifier_is_its_release(blobs):
    X, place = blobs
    y = np.array(["oak", "ash", "elm"])[place]
    model = PrivateKernelClassifier(classes=["oak", "ash", "elm"], loss="logistic", **UNIT).fit(X, y)
    release = model.release_
    assert isinstance(release, mercer.ClassifierRelease)
    assert model.classes_.tolist() == list(release.classes) == ["ash", "elm", "oak"]  # sorted
    assert np.array_equal(model.decision_function(X), release(X))
    assert np.array_equal(model.predict(X), release.predict(X))
    assert np.array_equal(model.predict_proba(X), release.probability(X))
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))
    best = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert np.array_equal(best, model.predict(X))
    assert model.n_features_in_ == 2
    assert not release.privacy.secure
    assert release.privacy.n == len(X)
    # guessing is right in a third of 600 rows, 0.6 by chance once in 10^38
    assert model.score(X, y) > 0.6


def test_both_losses_have_probabilities(blobs):
    X, place = blobs
    for loss in ("hinge", "logistic"):
        model = PrivateKernelClassifier(classes=(0, 1), loss=loss, **UNIT).fit(X, place == 1)
        assert model.decision_function(X).shape == (600,)
        chance = model.predict_proba(X)
        assert chance.shape == (600, 2)
        assert np.array_equal(chance[:, 1] > 0.5, model.decision_function(X) > 0)


def test_classes_must_be_declared(blobs):
    X, y = blobs
    model = PrivateKernelClassifier(**UNIT)
    with pytest.raises(ValueError, match="classes is missing: .* public .* declare them"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="requires y to be passed"):
        PrivateKernelClassifier(classes=(0, 1), **UNIT).fit(X, None)
    with pytest.raises(ValueError, match="y_bounds is missing"):
        PrivateKernelRegressor(**UNIT).fit(X, y)
    with pytest.raises(ValueError, match="epsilon is missing"):
        PrivateKernelRegressor(bounds=(0, 1), y_bounds=(0, 1)).fit(X, y)


def test_what_cannot_raise_in_fit_adds_nothing(blobs):
    """What the checks in NOT_CLASSES ask for, the other way round."""
    X, y = blobs
    model = PrivateKernelClassifier(classes=(0, 1, 2), **UNIT)
    without = X.copy()
    without[:50] = np.nan
    odd = y.astype(float)
    odd[:50] = 0.37
    cells = X.astype(object)
    cells[:50, 0] = {"not": "a number"}
    fits = [clone(model).fit(*pair).release_ for pair in [(without, y), (X, odd), (cells, y)]]
    for fit in fits:
        assert fit.privacy.n == 600
        assert np.array_equal(fit.coordinates, fits[0].coordinates)
    with pytest.raises(ValueError, match="contains NaN"):
        clone(model).fit(X, y).predict(without)
    words = pd.DataFrame({"a": X[:, 0], "b": "secret-diagnosis"})
    with pytest.raises(ValueError, match="X must hold numbers") as caught:
        model.fit(words, y)
    assert "secret" not in str(caught.value)


def test_the_regressor_is_its_release(blobs):
    X, _ = blobs
    y = X[:, 0] + X[:, 1]
    model = PrivateKernelRegressor(y_bounds=(0, 2), **UNIT).fit(X, y)
    assert np.array_equal(model.predict(X), model.release_(X))
    assert model.predict(X).shape == (600,)
    curves = PrivateKernelRegressor(y_bounds=(0, 2), loss="pinball", quantiles=(0.1, 0.5, 0.9), **UNIT).fit(
        X, y
    )
    assert curves.predict(X).shape == (600, 3)
    assert np.all(np.diff(curves.predict(X), axis=1) >= 0)


def test_frames_clones_seeds_and_pickles(blobs):
    X, place = blobs
    frame = pd.DataFrame(X, columns=["age", "dose"])
    label = pd.Series(np.where(place == 1, "ill", "well"), name="outcome")
    model = PrivateKernelClassifier(classes=("well", "ill"), loss="logistic", **UNIT).fit(frame, label)
    assert model.feature_names_in_.tolist() == ["age", "dose"]
    assert model.release_.domain.names == ("age", "dose")
    assert model.release_.label == "outcome"
    again = clone(model)
    assert again.get_params() == model.get_params()
    again.fit(frame, label.to_numpy())
    assert np.array_equal(again.release_.coordinates, model.release_.coordinates)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["dose", "age"]])
    with pytest.raises(ValueError, match="1 features, but .* 2"):
        again.fit(X, label).predict(X[:, :1])


def test_in_a_pipeline_and_a_search(blobs):
    X, y = blobs
    halves = FunctionTransformer(np.sqrt)  # fixed: it learns nothing from the records
    pipe = make_pipeline(halves, PrivateKernelClassifier(classes=(0, 1, 2), loss="logistic", **UNIT))
    grid = {"privatekernelclassifier__penalty": [0.1, 1.0]}
    search = GridSearchCV(pipe, grid, cv=2, scoring="neg_log_loss").fit(X, y)  # y is made up
    assert search.best_params_ in [{"privatekernelclassifier__penalty": p} for p in (0.1, 1.0)]
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.predict(X).shape == (600,)


@pytest.mark.parametrize(
    ("model", "function"),
    [(PrivateKernelClassifier, mercer.classifier), (PrivateKernelRegressor, mercer.regression)],
)
def test_defaults_are_those_of_the_functions(model, function):
    defaults = inspect.signature(function).parameters
    for name, value in model().get_params().items():
        if name == "epsilon":  # scikit-learn wants a default
            assert value is None
            assert defaults[name].default is inspect.Parameter.empty
        elif name != "random_state":
            assert value == defaults[name].default, name


def test_a_ledger_is_charged(blobs, tmp_path):
    X, y = blobs
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    ledger.register("trees", epsilon=2, delta=1e-5)
    model = PrivateKernelClassifier(
        classes=(0, 1, 2), bounds=(0, 1), size=8, ledger=ledger, dataset="trees", **PROMISE
    ).fit(X, y)
    assert model.release_.privacy.secure
    assert len(ledger.history("trees")) == 1
