"""The releases as scikit-learn estimators.  Layer 6."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.api import density
from mercer.checks import Floats
from mercer.densities import DensityRelease
from mercer.tables import numbers_among

__all__ = ["PrivateKernelDensity", "numeric_rows", "seed_of"]


class PrivateKernelDensity(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel density estimation with differential privacy.

    The names are those of `sklearn.neighbors.KernelDensity`; the fitted function is the public
    `release_`.  Fitting spends the budget: two fits on the same data are two releases.

    Parameters
    ----------
    epsilon, delta, bounds
        As for `mercer.density`: no default but for delta, which left out means pure differential
        privacy.  One (lower, upper) pair stands for every column.
    bandwidth, kernel, boundary, missing, mechanism, ledger, dataset
        As for `mercer.density`.
    random_state
        None: secure noise.  A seed: reproducible and not private.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrivateKernelDensity
    >>> X = np.linspace(0.2, 0.8, 500)[:, None]
    >>> model = PrivateKernelDensity(epsilon=1.0, delta=1e-6, bounds=(0, 1)).fit(X)
    >>> model.score_samples([[0.5]]).shape
    (1,)

    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds: Any = None,
        *,
        bandwidth: Any = "auto",
        kernel: str = "gaussian",
        boundary: str | None = None,
        missing: str = "zero",
        mechanism: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.boundary = boundary
        self.missing = missing
        self.mechanism = mechanism
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    release_: DensityRelease

    def fit(self, X: Any, y: Any = None) -> PrivateKernelDensity:  # noqa: ARG002
        """Release the density of the rows of X; y is ignored."""
        rows = numeric_rows(self, X, ensure_all_finite=False, ensure_min_samples=2)
        bounds = self.bounds
        if bounds is not None and np.shape(bounds) == (2,):
            bounds = [tuple(bounds)] * rows.shape[1]
        names = getattr(self, "feature_names_in_", None)
        self.release_ = density(
            rows,
            bounds=bounds,
            epsilon=self.epsilon,
            delta=self.delta,
            bandwidth=self.bandwidth,
            kernel=self.kernel,
            boundary=self.boundary,
            columns=None if names is None else [str(name) for name in names],
            missing=self.missing,
            mechanism=self.mechanism,
            ledger=self.ledger,
            dataset=self.dataset,
            rng=seed_of(self.random_state),
        )
        return self

    def score_samples(self, X: Any) -> Floats:
        """Log density at the rows of X; minus infinity outside the bounds, where it is zero."""
        check_is_fitted(self)
        rows = numeric_rows(self, X, reset=False)
        domain = self.release_.domain
        inside = np.all((rows >= domain.lower) & (rows <= domain.lower + domain.widths), axis=1)
        value = np.zeros(len(rows))
        value[inside] = self.release_(rows[inside])
        with np.errstate(divide="ignore"):
            return np.log(value)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Total log density of the rows of X."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Synthetic rows drawn from the released density."""
        check_is_fitted(self)
        return self.release_.sample(n_samples, rng=seed_of(random_state)).reshape(n_samples, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # rows with missing values follow a public rule (M18)
        tags.non_deterministic = self.random_state is None
        return tags


def numeric_rows(estimator: BaseEstimator, X: Any, **options: Any) -> Floats:
    """X as doubles; what scikit-learn says of a cell that is no number would show it."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        X = numbers_among(X)  # among objects, what is no number is missing
    try:
        return validate_data(estimator, X, dtype=np.float64, **options)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
    raise ValueError("X must hold numbers in every column; convert or drop columns of text")


def seed_of(random_state: Any) -> int | None:
    """scikit-learn's random_state as a seed; None stays None, which is secure."""
    return None if random_state is None else int(check_random_state(random_state).randint(2**31))
