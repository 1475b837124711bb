"""scikit-learn's own checks on the synthesizer, and what the estimator adds."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import PrivateSynthesizer

NOT_APPLICABLE = {
    # an exception that depends on a record is an output (M18)
    "check_dtype_object": "a cell that is no number is missing, not an error"
}
PROMISE = {"epsilon": 2.0, "delta": 1e-6}
DOMAIN = mercer.Domain({"age": (0, 100), "sex": ["f", "m"], "ill": bool})


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "age": rng.normal(50, 15, 400),
            "sex": rng.choice(["f", "m"], 400),
            "ill": rng.random(400) < 0.3,
            "person": np.arange(400) // 2,
        }
    )


@parametrize_with_checks(
    [PrivateSynthesizer(bounds=(-10, 10), size=20, random_state=0, **PROMISE)],
    expected_failed_checks=lambda _estimator: NOT_APPLICABLE,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_numbers_within_bounds(rng):
    X = rng.normal(0.5, 0.1, (300, 2))
    model = PrivateSynthesizer(bounds=[(0, 1), (0, 2)], size=40, random_state=3, **PROMISE).fit(X)
    assert model.points_.shape == (len(model.weights_), 2)
    assert np.array_equal(model.points_, model.release_.codes)
    assert np.array_equal(model.weights_, model.release_.weights)
    assert model.release_.domain.names == ("x1", "x2")
    assert [c.ends for c in model.release_.domain.columns] == [(0, 1), (0, 2)]
    assert model.sample(7).shape == (7, 2)
    assert np.array_equal(model.sample(3, random_state=1), model.sample(3, random_state=1))
    seed = int(np.random.RandomState(3).randint(2**31))
    there = mercer.synthetic(X, domain=model.release_.domain, size=40, rng=seed, **PROMISE)
    assert there.to_dict() == model.release_.to_dict()
    named = pd.DataFrame(X, columns=["a", "b"])
    assert model.fit(named).release_.domain.names == ("a", "b")
    assert model.sample(2).shape == (2, 2)
    assert PrivateSynthesizer(bounds=(0, 1), size=9, **PROMISE).fit(X).release_.privacy.secure


def test_a_domain_of_mixed_columns(frame):
    model = PrivateSynthesizer(domain=DOMAIN, size=30, **PROMISE).fit(frame)
    assert isinstance(model.points_, pd.DataFrame)
    assert list(model.points_.columns) == ["age", "sex", "ill"]
    assert list(model.feature_names_in_) == ["age", "sex", "ill"]
    assert model.n_features_in_ == 3
    assert set(model.sample(20)["sex"]) <= {"f", "m"}
    assert isinstance(model.fit(pa.Table.from_pandas(frame)).sample(3), pa.Table)
    rows = frame.drop(columns="person").to_dict("records")
    assert model.fit(rows).sample(3).num_rows == 3
    declared = {"age": (0, 100), "sex": ["f", "m"]}
    assert PrivateSynthesizer(domain=declared, size=9, **PROMISE).fit(frame).n_features_in_ == 2


def test_every_option_is_handed_on(frame, tmp_path):
    book = mercer.Ledger(tmp_path / "b.db")
    book.register("people", epsilon=3, delta=1e-5, unit="person")
    model = PrivateSynthesizer(
        domain=DOMAIN,
        size=15,
        kernel="matern32",
        scale=0.3,
        weights="l1",
        bound=1.5,
        public=frame[:100],
        unit="person",
        ledger=book,
        dataset="people",
        **PROMISE,
    ).fit(frame)
    release = model.release_
    assert (release.kernel.name, release.kernel.scales[0]) == ("matern32", 0.3)
    assert (release.style, release.bound) == ("l1", 1.5)
    assert (release.privacy.unit, release.privacy.n) == ("person", 200)
    assert np.allclose(release.codes[:, 0], np.clip(frame["age"][:15], 0, 100))
    assert len(book.history("people")) == 1
    waves = PrivateSynthesizer(
        domain=DOMAIN, method="features", features=20, size=5, restarts=2, choice_share=0.5, **PROMISE
    ).fit(frame)
    assert 1 <= len(waves.points_) <= 5  # records without weight are left out
    assert waves.release_.embedding.size == 20
    assert waves.release_.privacy.mechanism.endswith("epsilon = 1 of it")
    whole = PrivateSynthesizer(1.0, domain={"ill": bool}, method="exponential", size=2).fit(frame)
    assert whole.release_.method == "exponential"


def test_clones_pickles_pipelines_and_rows_that_do_not_fit(rng):
    X = rng.normal(0.5, 0.1, (200, 2))
    model = PrivateSynthesizer(bounds=(0, 1), size=20, random_state=4, **PROMISE)
    first, second = model.fit(X), clone(model).fit(X)
    assert np.array_equal(first.weights_, second.weights_)
    again = pickle.loads(pickle.dumps(first))
    assert np.array_equal(again.points_, first.points_)
    assert again.release_.expect("x1") == first.release_.expect("x1")
    pipe = make_pipeline(FunctionTransformer(np.tanh), model).fit(X)
    assert pipe[-1].points_.shape[1] == 2
    X[0, 0] = np.nan
    assert model.fit(X).release_.privacy.n == 200
    words = X.astype(object)
    words[0, 0] = "secret-diagnosis"
    assert model.fit(words).release_.privacy.n == 200


def test_privacy_has_no_default_and_mistakes_are_named(frame, rng):
    X = rng.random((50, 2))
    for options, message in [
        ({"bounds": (0, 1)}, "epsilon is missing"),
        (PROMISE, "bounds is missing"),
        ({"bounds": [(0, 1)] * 3, **PROMISE}, r"got shape \(3, 2\)"),
        ({"bounds": (0, 1), "domain": DOMAIN, **PROMISE}, "give domain or bounds, not both"),
        ({"bounds": (0, 1), "weights": "best", **PROMISE}, "weights must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            PrivateSynthesizer(**options).fit(X)
    with pytest.raises(ValueError, match="1 to 64 columns, got 70"):
        PrivateSynthesizer(bounds=(0, 1), **PROMISE).fit(rng.random((50, 70)))
    with pytest.raises(NotFittedError):
        PrivateSynthesizer(bounds=(0, 1), **PROMISE).sample(3)
    with pytest.raises(ValueError, match="X must hold numbers") as caught:
        PrivateSynthesizer(bounds=(0, 1), **PROMISE).fit(frame)
    assert "f" not in str(caught.value).split()


def test_defaults_are_those_of_the_function():
    here, there = (inspect.signature(f).parameters for f in (PrivateSynthesizer, mercer.synthetic))
    shared = set(here) & set(there) - {"epsilon"}
    assert len(shared) > 12
    assert there["epsilon"].default is inspect.Parameter.empty  # scikit-learn wants a default: None
    assert here["epsilon"].default is None
    for name in shared:
        assert here[name].default == there[name].default, name
