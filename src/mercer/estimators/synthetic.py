"""The synthetic table as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.api.synthetic.call import synthetic
from mercer.columns.domain import Domain
from mercer.columns.kinds import Numeric
from mercer.columns.table import MOST_TABLE_COLUMNS, TableDomain
from mercer.estimators.density import numeric_rows, pairs_for, seed_of
from mercer.releases.synthetic.release import TableRelease

__all__ = ["PrivateSynthesizer"]


class PrivateSynthesizer(BaseEstimator):  # type: ignore[misc]
    """A weighted synthetic table with differential privacy: `mercer.synthetic` as an estimator.

    The fitted table is the public `release_`, with its records `points_` and their `weights_`.
    Fitting spends the budget: two fits on the same data are two releases.

    Parameters
    ----------
    epsilon, delta
        As for `mercer.synthetic`: no default but for delta, which left out means pure differential
        privacy.
    domain
        The public domain of a table of mixed columns, as for `mercer.synthetic`.  None: all columns
        of X are numbers within `bounds`.
    bounds
        Without a domain: a (lower, upper) pair for each column, or one for all of an array or a
        data frame.
    method, size, kernel, scale, weights, bound, public, features, restarts, device, choice_share
        As for `mercer.synthetic`.
    unit, ledger, dataset, insist
        As for `mercer.synthetic`.
    random_state
        None: secure noise.  A seed: reproducible and not private.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrivateSynthesizer
    >>> X = np.column_stack([np.linspace(0.3, 0.7, 2000), np.linspace(0, 1, 2000) ** 2])
    >>> model = PrivateSynthesizer(epsilon=1.0, delta=1e-6, bounds=(0, 1), size=100).fit(X)
    >>> model.sample(5).shape, bool(abs(model.release_.expect("x1") - 0.5) < 0.1)
    ((5, 2), True)

    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        domain: Any = None,
        *,
        bounds: Any = None,
        method: str = "landmarks",
        size: int | None = None,
        kernel: Any = "gaussian",
        scale: Any = "auto",
        weights: str = "positive",
        bound: float = 1.0,
        public: Any = None,
        features: int | None = None,
        restarts: int = 1,
        device: str = "numpy",
        choice_share: float = 0.2,
        unit: str | None = None,
        ledger: Any = None,
        dataset: str | None = None,
        insist: bool = False,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.bounds = bounds
        self.method = method
        self.size = size
        self.kernel = kernel
        self.scale = scale
        self.weights = weights
        self.bound = bound
        self.public = public
        self.features = features
        self.restarts = restarts
        self.device = device
        self.choice_share = choice_share
        self.unit = unit
        self.ledger = ledger
        self.dataset = dataset
        self.insist = insist
        self.random_state = random_state

    release_: TableRelease

    def fit(self, X: Any, y: Any = None) -> PrivateSynthesizer:  # noqa: ARG002
        """Release a synthetic table of the rows of X; y is ignored."""
        domain, rows = self.domain, X
        if domain is None:
            rows = numeric_rows(self, X, width=pairs_for(self.bounds), least=(2, 1))
            domain = self._numbers(rows.shape[1])
        elif self.bounds is not None:
            raise ValueError("bounds are in the domain already; give domain or bounds, not both")
        self.release_ = synthetic(
            rows,
            domain=domain,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            public=self.public,
            size=self.size,
            kernel=self.kernel,
            scale=self.scale,
            weights=self.weights,
            bound=self.bound,
            features=self.features,
            restarts=self.restarts,
            device=self.device,
            choice_share=self.choice_share,
            unit=self.unit,
            rng=seed_of(self.random_state),
            ledger=self.ledger,
            dataset=self.dataset,
            insist=self.insist,
        )
        if self.domain is not None:
            self.n_features_in_ = self.release_.domain.dimension
            self.feature_names_in_ = np.array(self.release_.domain.names, dtype=object)
        self._frame = type(X).__module__.startswith("pandas")
        self.points_ = self._table(self.release_.points)
        self.weights_ = self.release_.weights
        return self

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Synthetic rows without weights.

        An array where X was numbers within bounds; an Arrow table, or a data frame where X was one
        of pandas, of the columns of a domain.
        """
        check_is_fitted(self)
        return self._table(self.release_.sample(n_samples, rng=seed_of(random_state)))

    def _numbers(self, columns: int) -> TableDomain:
        """Numeric columns with the names of X, or x1, x2 and so on."""
        given = getattr(self, "feature_names_in_", None)
        names = [f"x{i + 1}" for i in range(columns)] if given is None else [str(n) for n in given]
        bounds = self.bounds
        if bounds is not None and np.shape(bounds) == (2,):
            bounds = [tuple(bounds)] * columns
        box = Domain.of(bounds, names, most=max(columns, MOST_TABLE_COLUMNS))
        pairs = zip(names, box.bounds, strict=True)
        return TableDomain([Numeric(name, low, high) for name, (low, high) in pairs])

    def _table(self, table: Any) -> Any:
        """Records in the shape that X had."""
        if self.domain is None:
            return np.stack([column.to_numpy() for column in table.columns], axis=1)
        return table.to_pandas() if self._frame else table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # rows that do not fit follow a public rule (M18)
        tags.non_deterministic = self.random_state is None
        return tags
