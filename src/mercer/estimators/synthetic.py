"""The synthetic table as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.api.synthetic.call import synthetic
from mercer.columns.domain import Domain
from mercer.columns.kinds import Numeric
from mercer.columns.table import MOST_TABLE_COLUMNS, TableDomain
from mercer.common.checks import Floats
from mercer.estimators.base import PrivateEstimator, box_of, pairs_for, seed_of
from mercer.releases.synthetic.release import TableRelease

if TYPE_CHECKING:
    import pandas
    import pyarrow

    Rows: TypeAlias = Floats | pyarrow.Table | pandas.DataFrame

__all__ = ["PrivateSynthesizer"]


@dataclass(eq=False, repr=False)
class PrivateSynthesizer(PrivateEstimator):
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

    domain: Any = None
    _: KW_ONLY
    bounds: Any = None
    method: str = "landmarks"
    size: int | None = None
    kernel: Any = "gaussian"
    scale: Any = "auto"
    weights: str = "positive"
    bound: float = 1.0
    public: Any = None
    features: int | None = None
    restarts: int = 1
    device: str = "numpy"
    choice_share: float = 0.2
    unit: str | None = None
    release_: TableRelease = field(init=False)

    def fit(self, X: Any, y: Any = None) -> PrivateSynthesizer:  # noqa: ARG002
        """Release a synthetic table of the rows of X; y is ignored."""
        domain, rows = self.domain, X
        if domain is None:
            rows = self._rows(X, width=pairs_for(self.bounds), least=(2, 1))
            domain = self._numbers(rows.shape[1])
        elif self.bounds is not None:
            raise ValueError("bounds are in the domain already; give domain or bounds, not both")
        given = self._given(domain=domain)
        del given["bounds"]
        self.release_ = cast(TableRelease, synthetic(rows, **given))  # records have no domain
        if self.domain is not None:
            self.n_features_in_ = self.release_.domain.dimension
            self.feature_names_in_ = np.array(self.release_.domain.names, dtype=object)
        self._frame = type(X).__module__.startswith("pandas")
        self.points_ = self._table(self.release_.points)
        self.weights_ = self.release_.weights
        return self

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Rows:
        """Synthetic rows without weights.

        An array where X was numbers within bounds; an Arrow table, or a data frame where X was one
        of pandas, of the columns of a domain.
        """
        check_is_fitted(self)
        return self._table(self.release_.sample(n_samples, rng=seed_of(random_state)))

    def _numbers(self, columns: int) -> TableDomain:
        """Numeric columns with the names of X, or x1, x2 and so on."""
        names = self._names() or [f"x{i + 1}" for i in range(columns)]
        box = Domain.of(box_of(self.bounds, columns), names, most=max(columns, MOST_TABLE_COLUMNS))
        pairs = zip(names, box.bounds, strict=True)
        return TableDomain([Numeric(name, low, high) for name, (low, high) in pairs])

    def _table(self, table: pyarrow.Table) -> Rows:
        """Records in the shape that X had."""
        if self.domain is None:
            return np.stack([column.to_numpy() for column in table.columns], axis=1)
        return table.to_pandas() if self._frame else table
