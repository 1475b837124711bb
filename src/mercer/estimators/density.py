"""The releases as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.api.density.call import density
from mercer.common.checks import Floats
from mercer.releases.density.release import DensityRelease
from mercer.sources.matrices import is_frame, matrix_of, tabled, width_of

__all__ = ["PrivateKernelDensity", "numeric_rows", "pairs_for", "seed_of"]


class PrivateKernelDensity(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel density estimation with differential privacy.

    The names are those of `sklearn.neighbors.KernelDensity`; the fitted function is the public
    `release_`.  Fitting spends the budget: two fits on the same data are two releases.

    Parameters
    ----------
    epsilon, delta, bounds
        As for `mercer.density`: no default but for delta, which left out means pure differential
        privacy.  One (lower, upper) pair stands for every column; a list of rows needs a pair for
        each, since it does not say how many columns it has.
    bandwidth, kernel, boundary, missing, mechanism, ledger, dataset, insist
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
        insist: bool = False,
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
        self.insist = insist
        self.random_state = random_state

    release_: DensityRelease

    def fit(self, X: Any, y: Any = None) -> PrivateKernelDensity:  # noqa: ARG002
        """Release the density of the rows of X; y is ignored."""
        rows = numeric_rows(self, X, width=pairs_for(self.bounds), least=(2, 1))
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
            insist=self.insist,
            rng=seed_of(self.random_state),
        )
        return self

    def score_samples(self, X: Any) -> Floats:
        """Log density at the rows of X; minus infinity outside the bounds, where it is zero."""
        check_is_fitted(self)
        rows = numeric_rows(self, X)
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


def numeric_rows(
    estimator: BaseEstimator,
    X: Any,
    *,
    width: int | None = None,
    hint: str = "bounds must have one pair for each column",
    least: tuple[int, int] | None = None,
    finite: bool = True,
) -> Floats:
    """X as doubles, its names and its width noted by scikit-learn, which never sees another cell.

    `least` rows and columns are those of a fit, where `width` is what public arguments say of the
    columns of a list.  Without it the rows are a recipient's, `finite` or not.
    """
    X = tabled(X)
    if least is None and isinstance(X, (list, tuple)):
        width = width_of(X)
    rows = matrix_of(X, width, hint)
    few, narrow = least or (1, 1)
    check_array(
        rows,
        dtype=np.float64,
        ensure_all_finite=finite and least is None,
        ensure_min_samples=few,
        ensure_min_features=narrow,
        estimator=estimator,
        input_name="X",
    )
    named = X if is_frame(X) else rows
    validate_data(estimator, named, reset=least is not None, skip_check_array=True)
    return rows


def pairs_for(bounds: Any) -> int | None:
    """How many columns `bounds` speak of; None where one pair stands for every column."""
    try:
        shape = np.shape(bounds)
    except ValueError:  # not of pairs, which is an error of whoever reads them
        return None
    return shape[0] if len(shape) == 2 else None


def seed_of(random_state: Any) -> int | None:
    """scikit-learn's random_state as a seed; None stays None, which is secure."""
    return None if random_state is None else int(check_random_state(random_state).randint(2**31))
