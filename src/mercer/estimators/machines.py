"""Classifiers and regressions as scikit-learn estimators."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from mercer.api.machine import classifier, regression
from mercer.columns.reading import PLAIN
from mercer.common.checks import Floats
from mercer.estimators.base import PrivateEstimator, pairs_for
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.sensitive.labels import Classes, Labels, targets_of
from mercer.sources.arrays import labels_of

__all__ = ["PrivateKernelClassifier", "PrivateKernelRegressor"]


class _Named(np.ndarray):
    """An array of labels or responses that keeps the name of the series it was made from."""

    name: str


@dataclass(eq=False, repr=False)
class MachineEstimator(PrivateEstimator):
    """The parameters and checks that the classifier and the regression share."""

    bounds: Any = None
    _: KW_ONLY
    loss: str
    penalty: Any = "rule"
    kernel: str = "gaussian"
    bandwidth: Any = None
    features: str | None = None
    size: int | None = None
    constant: float | None = None
    method: str | None = None
    band: float | None = None
    width: float
    missing: str = "zero"
    release_: Any = field(init=False)

    _numeric: ClassVar[bool]  # whether answers are numbers
    _gaps = False

    def _learn(self, make: Any, X: Any, y: Any, **changed: Any) -> Self:
        rows = self._rows(X, width=pairs_for(self.bounds), least=(2, 1))
        answers = self._answers(y, len(rows))
        self.release_ = make(rows, answers, columns=self._names(), **self._given(**changed))
        return self

    def _answers(self, y: Any, rows: int) -> Any:
        """One label or response for each row, with the name of its series; no error shows a value."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        answers = labels_of(y, numeric=self._numeric)
        if answers.ndim == 2 and answers.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; y.ravel() is one",
                DataConversionWarning,
                stacklevel=3,
            )
            answers = answers[:, 0]
        if answers.shape != (rows,):
            raise ValueError(
                f"y must be one answer for each of the {rows} rows of X, got shape {answers.shape}"
            )
        given = getattr(y, "name", None)
        if not isinstance(given, str):
            return answers
        named = answers.view(_Named)
        named.name = given
        return named

    def _fitted(self, X: Any) -> tuple[Any, Floats]:
        """The release, and the rows of X as points at which it is evaluated."""
        check_is_fitted(self, "release_")
        return self.release_, self._rows(X)

    def _weights(self, given: Any, rows: int) -> Floats | None:
        """One weight for each row."""
        if given is None:
            return None
        weights = labels_of(given, numeric=True, name="sample_weight")
        if weights.shape != (rows,):
            raise ValueError(
                f"sample_weight must be one number for each of the {rows} rows of X, got shape "
                f"{weights.shape}"
            )
        return np.asarray(weights, dtype=np.float64)


@dataclass(eq=False, repr=False)
class PrivateKernelClassifier(ClassifierMixin, MachineEstimator):  # type: ignore[misc]
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
        sorted.  One (lower, upper) pair stands for every column; a list of rows needs a pair for
        each, since it does not say how many columns it has.
    loss, penalty, kernel, bandwidth, features, size, constant, method, band, width, missing, ledger, dataset, insist
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

    classes: Any = None
    _: KW_ONLY
    loss: str = "hinge"
    width: float = 0.5
    release_: ClassifierRelease = field(init=False)
    classes_: Any = field(init=False)

    _numeric = False

    def fit(self, X: Any, y: Any) -> PrivateKernelClassifier:
        """Release a classifier of the rows of X; rows of undeclared classes add nothing."""
        self._learn(classifier, X, y, classes=_sorted(self.classes))
        self.classes_ = np.array(self.release_.classes)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        release, points = self._fitted(X)
        return release.predict(points)

    def decision_function(self, X: Any) -> Floats:
        """The decision function: above 0 for the second of two classes; of several, one column each."""
        release, points = self._fitted(X)
        return release(points)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, in the order of `classes_`."""
        release, points = self._fitted(X)
        return release.probability(points)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted; a label of no declared class never is."""
        release, points = self._fitted(X)
        declared, rows = Classes.declared(release.classes), len(points)
        given, guessed = (
            targets_of(Labels(answers, declared), rows, PLAIN)
            for answers in (self._answers(y, rows), np.asarray(release.predict(points)))
        )
        return float(np.average(given == guessed, weights=self._weights(sample_weight, rows)))


@dataclass(eq=False, repr=False)
class PrivateKernelRegressor(RegressorMixin, MachineEstimator):  # type: ignore[misc]
    """Kernel regression with differential privacy: `mercer.regression` as an estimator.

    The fitted function is the public `release_`.  What `PrivateKernelClassifier` says of budgets,
    searches and scalers holds here too.

    Parameters
    ----------
    epsilon, delta, bounds, y_bounds
        As for `mercer.regression`; bounds as for `PrivateKernelClassifier`.
    loss, quantiles, threshold, tube, penalty, kernel, bandwidth, features, size, constant, method, band, width, missing, ledger, dataset, insist
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

    y_bounds: Any = None
    _: KW_ONLY
    loss: str = "huber"
    quantiles: Any = None
    threshold: float | None = None
    tube: float | None = None
    width: float = 0.05
    release_: RegressionRelease = field(init=False)

    _numeric = True

    def fit(self, X: Any, y: Any) -> PrivateKernelRegressor:
        """Release a regression of y on the rows of X; y outside its bounds is clipped."""
        return self._learn(regression, X, y)

    def predict(self, X: Any) -> Floats:
        """The response at each row; with several quantiles, one column for each."""
        release, points = self._fitted(X)
        return release(points)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R^2 on the rows of X, which are not private."""
        guesses = self.predict(X)
        answers = self._answers(y, len(guesses))
        weights = self._weights(sample_weight, len(guesses))
        return float(r2_score(answers, guesses, sample_weight=weights))


def _sorted(classes: Any) -> Any:
    """Declared classes, sorted if they can be."""
    if not isinstance(classes, (list, tuple, np.ndarray)):
        return classes
    try:
        return sorted(np.asarray(classes, dtype=object).tolist())
    except TypeError:
        return classes
