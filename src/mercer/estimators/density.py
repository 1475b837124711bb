"""The density as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from mercer.api.calls import made
from mercer.api.density.call import density
from mercer.common.checks import Floats
from mercer.estimators.base import PrivateEstimator, box_of, pairs_for, seed_of
from mercer.releases.density.release import DensityRelease

__all__ = ["PrivateKernelDensity"]


@dataclass(eq=False, repr=False)
class PrivateKernelDensity(DensityMixin, PrivateEstimator):  # type: ignore[misc]
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

    bounds: Any = None
    _: KW_ONLY
    bandwidth: Any = "auto"
    kernel: str = "gaussian"
    boundary: str | None = None
    missing: str = "zero"
    mechanism: Any = None
    release_: DensityRelease = field(init=False)

    def fit(self, X: Any, y: Any = None) -> PrivateKernelDensity:  # noqa: ARG002
        """Release the density of the rows of X; y is ignored."""
        rows = self._rows(X, width=pairs_for(self.bounds), least=(2, 1))
        bounds = box_of(self.bounds, rows.shape[1])
        self.release_ = made(density(rows, **self._given(bounds=bounds, columns=self._names())))
        return self

    def score_samples(self, X: Any) -> Floats:
        """Log density at the rows of X; minus infinity outside the bounds, where it is zero."""
        check_is_fitted(self)
        rows = self._rows(X)
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
