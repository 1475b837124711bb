"""Classifiers and regressions as scikit-learn estimators.  Layer 6."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.answers import cells_of
from mercer.checks import Floats
from mercer.estimators import numeric_rows, seed_of
from mercer.learning import classifier, regression
from mercer.predictors import ClassifierRelease, RegressionRelease

__all__ = ["PrivateKernelClassifier", "PrivateKernelRegressor"]

_SHARED = (
    "epsilon", "delta", "bounds", "loss", "penalty", "kernel", "bandwidth", "features", "size",
    "constant", "method", "width", "missing", "ledger", "dataset",
)  # fmt: skip


class _Machine(BaseEstimator):  # type: ignore[misc]
    """What both estimators do alike."""

    release_: Any
    random_state: Any

    def _learn(self, make: Any, X: Any, y: Any, **own: Any) -> Any:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        rows = numeric_rows(self, X, ensure_all_finite=False, ensure_min_samples=2)
        answers = column_or_1d(cells_of(y), warn=True)
        check_consistent_length(rows, answers)
        named = isinstance(getattr(y, "name", None), str) and np.ndim(y) == 1
        names = getattr(self, "feature_names_in_", None)
        self.release_ = make(
            rows,
            y if named else answers,  # a series has a name
            columns=None if names is None else [str(name) for name in names],
            rng=seed_of(self.random_state),
            **{name: getattr(self, name) for name in _SHARED},
            **own,
        )
        return self

    def _fitted(self, X: Any) -> tuple[Any, Floats]:
        """The release, and points to ask it at."""
        check_is_fitted(self, "release_")
        return self.release_, numeric_rows(self, X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


class PrivateKernelClassifier(ClassifierMixin, _Machine):  # type: ignore[misc]
    """A kernel classifier with differential privacy: `mercer.classifier` as an estimator.

    The fitted decision function is the public `release_`.  Fitting spends the budget: every fit on
    private data is one more release, those of a grid search or a cross-validation too; search on
    public data.  What a step before this one learns from the records is not private either: a
    fitted `StandardScaler` in a pipeline gives away their means.  Bounds do the scaling here; for
    a fixed change of variables use `FunctionTransformer`.

    Parameters
    ----------
    epsilon, delta, bounds, classes
        As for `mercer.classifier`.  Classes are public and must be declared; `classes_` has them
        sorted.  One (lower, upper) pair stands for every column.
    loss, penalty, kernel, bandwidth, features, size, constant, method, width, missing, ledger, dataset
        As for `mercer.classifier`.
    random_state
        None: secure noise.  A seed: reproducible and not private.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrivateKernelClassifier
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> model = PrivateKernelClassifier(1.0, 1e-6, (0, 1), ("low", "high"), random_state=0)
    >>> model.fit(X, np.where(X[:, 0] > 0.5, "high", "low")).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']

    """  # noqa: E501

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds: Any = None,
        classes: Any = None,
        *,
        loss: str = "hinge",
        penalty: Any = "rule",
        kernel: str = "gaussian",
        bandwidth: Any = None,
        features: str | None = None,
        size: int | None = None,
        constant: float | None = None,
        method: str | None = None,
        width: float = 0.5,
        missing: str = "zero",
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.loss = loss
        self.penalty = penalty
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.features = features
        self.size = size
        self.constant = constant
        self.method = method
        self.width = width
        self.missing = missing
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    release_: ClassifierRelease
    classes_: Any

    def fit(self, X: Any, y: Any) -> PrivateKernelClassifier:
        """Release a classifier of the rows of X; rows of undeclared classes add nothing."""
        self._learn(classifier, X, y, classes=_sorted(self.classes))
        self.classes_ = np.array(self.release_.classes)
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        release, points = self._fitted(X)
        return release.predict(points)

    def decision_function(self, X: Any) -> Floats:
        """Above 0 is the second of two classes; of several, one value a class."""
        release, points = self._fitted(X)
        return release(points)

    @available_if(lambda self: self.loss == "logistic")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, in the order of `classes_`; with loss="logistic"."""
        release, points = self._fitted(X)
        return release.probability(points)


class PrivateKernelRegressor(RegressorMixin, _Machine):  # type: ignore[misc]
    """Kernel regression with differential privacy: `mercer.regression` as an estimator.

    The fitted function is the public `release_`.  What `PrivateKernelClassifier` says of budgets,
    searches and scalers holds here too.

    Parameters
    ----------
    epsilon, delta, bounds, y_bounds
        As for `mercer.regression`.
    loss, quantiles, threshold, tube, penalty, kernel, bandwidth, features, size, constant, method, width, missing, ledger, dataset
        As for `mercer.regression`.
    random_state
        None: secure noise.  A seed: reproducible and not private.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrivateKernelRegressor
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> model = PrivateKernelRegressor(1.0, 1e-6, (0, 1), (0, 1), random_state=0)
    >>> model.fit(X, X[:, 0]).predict([[0.5]]).shape
    (1,)

    """  # noqa: E501

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds: Any = None,
        y_bounds: Any = None,
        *,
        loss: str = "huber",
        quantiles: Any = None,
        threshold: float | None = None,
        tube: float | None = None,
        penalty: Any = "rule",
        kernel: str = "gaussian",
        bandwidth: Any = None,
        features: str | None = None,
        size: int | None = None,
        constant: float | None = None,
        method: str | None = None,
        width: float = 0.05,
        missing: str = "zero",
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.loss = loss
        self.quantiles = quantiles
        self.threshold = threshold
        self.tube = tube
        self.penalty = penalty
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.features = features
        self.size = size
        self.constant = constant
        self.method = method
        self.width = width
        self.missing = missing
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    release_: RegressionRelease

    def fit(self, X: Any, y: Any) -> PrivateKernelRegressor:
        """Release a regression of y on the rows of X; y outside its bounds is clipped."""
        return self._learn(
            regression, X, y, y_bounds=self.y_bounds, quantiles=self.quantiles,
            threshold=self.threshold, tube=self.tube,
        )  # fmt: skip

    def predict(self, X: Any) -> Floats:
        """The response at each row; with several quantiles, one column for each."""
        release, points = self._fitted(X)
        return release(points)


def _sorted(classes: Any) -> Any:
    """Declared classes in order, where they have one."""
    if not isinstance(classes, (list, tuple, np.ndarray)):
        return classes
    try:
        return sorted(np.asarray(classes, dtype=object).tolist())
    except TypeError:
        return classes
