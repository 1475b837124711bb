"""Densities, mean curves and synthetic tables as scikit-learn estimators: fitted without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from mercer.api.calls import made
from mercer.api.counted import check_smooth
from mercer.api.curve import mean_curve
from mercer.api.density import density
from mercer.api.synthetic import synthetic
from mercer.columns.domain import Box
from mercer.columns.kinds import Numeric
from mercer.columns.table import MOST_TABLE_COLUMNS, Domain
from mercer.common.checks import Floats
from mercer.estimators.base import PrivateEstimator, box_of, pairs_for, seed_of
from mercer.releases.curve.release import CurveRelease
from mercer.releases.density.release import DensityRelease
from mercer.releases.synthetic.release import TableRelease

if TYPE_CHECKING:
    import pandas
    import pyarrow

    Rows: TypeAlias = Floats | pyarrow.Table | pandas.DataFrame

__all__ = ["PrivateKernelDensity", "PrivateMeanCurve", "PrivateSynthesizer"]


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
        check_smooth(self.bounds)
        rows = self._rows(X, width=pairs_for(self.bounds), least=(2, 1))
        bounds = box_of(self.bounds, rows.shape[1])
        made_of = density(rows, **self._given(bounds=bounds, columns=self._names()))
        self.release_ = cast(DensityRelease, made(made_of))  # without a step it is one
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


@dataclass(eq=False, repr=False)
class PrivateMeanCurve(PrivateEstimator):
    """The mean of curves with differential privacy: `mercer.mean_curve` as an estimator.

    The fitted curve is the public `release_`; `mean_` has its values on `grid_`.  Fitting spends
    the budget: two fits on the same curves are two releases.

    Parameters
    ----------
    epsilon, delta, bound
        As for `mercer.mean_curve`: no default but for delta, which left out means pure differential
        privacy.
    grid
        The public points at which the curves were seen, one for each column of X; None stands for
        even points of [0, 1], where X is an array or a data frame.
    kernel, scale, penalty, eta, center, order, missing, na_values, outside, population
        As for `mercer.mean_curve`.
    ledger, dataset, insist
        As for `mercer.mean_curve`.
    random_state
        None: secure noise.  A seed: reproducible and not private.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PrivateMeanCurve
    >>> t = np.linspace(0, 1, 50)
    >>> X = np.sin(3 * t) + 0.1 * np.linspace(-1, 1, 500)[:, None]
    >>> model = PrivateMeanCurve(epsilon=1.0, delta=1e-6, bound=1.0, grid=t).fit(X)
    >>> model.mean_.shape, model.predict([0.25, 0.5]).shape, model.predict(X[:3]).shape
    ((50,), (2,), (3, 50))

    """

    bound: float | None = None
    grid: Any = None
    _: KW_ONLY
    kernel: Any = "auto"
    scale: Any = "auto"
    penalty: Any = "auto"
    eta: Any = "auto"
    center: Any = None
    order: str = "noise-first"
    missing: str = "fill"
    na_values: Any = None
    outside: str = "clip"
    population: float = 0.0
    release_: CurveRelease = field(init=False)

    def fit(self, X: Any, y: Any = None) -> PrivateMeanCurve:  # noqa: ARG002
        """Release the mean of the rows of X, a curve each; y is ignored."""
        width = len(self.grid) if isinstance(self.grid, (Sequence, np.ndarray)) else None
        hint = "grid must have one number for each column"
        rows = self._rows(X, width=width, hint=hint, least=(2, 2))
        grid = np.linspace(0.0, 1.0, rows.shape[1]) if self.grid is None else self.grid
        self.release_ = made(mean_curve(rows, **self._given(grid=grid)))
        self.grid_ = np.array(grid, dtype=np.float64)
        self.mean_ = self.release_(self.grid_)
        return self

    def predict(self, X: Any, derivative: int = 0) -> Floats:
        """The mean, or a derivative of it, at points, or in place of curves.

        Points are a line of numbers, or a column of them; rows with as many columns as the fit's
        are curves, and the best guess of each is the mean on the grid.
        """
        check_is_fitted(self)
        points = _points(X, self.n_features_in_)
        if points is not None:
            return self.release_.derivative(points, derivative)
        rows = self._rows(X, finite=False)
        return np.tile(self.release_.derivative(self.grid_, derivative), (len(rows), 1))


def _points(X: Any, columns: int) -> Floats | None:
    """Points at which the mean is asked for: a line or a column of numbers.  None: X holds curves."""
    try:
        axes = np.shape(X)
        if len(axes) > 2 or (len(axes) == 2 and not axes[1] == 1 < columns):
            return None
        return np.asarray(X, dtype=np.float64).reshape(-1)
    except Exception:  # whatever a library says of a cell may show it
        pass
    raise ValueError("X must be a line of points, all numbers, or rows of curves on the grid")


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

    def _numbers(self, columns: int) -> Domain:
        """Numeric columns with the names of X, or x1, x2 and so on."""
        names = self._names() or [f"x{i + 1}" for i in range(columns)]
        box = Box.of(box_of(self.bounds, columns), names, most=max(columns, MOST_TABLE_COLUMNS))
        pairs = zip(names, box.bounds, strict=True)
        return Domain([Numeric(name, low, high) for name, (low, high) in pairs])

    def _table(self, table: pyarrow.Table) -> Rows:
        """Synthetic records as an array, an Arrow table or a data frame, like X."""
        if self.domain is None:
            return np.stack([column.to_numpy() for column in table.columns], axis=1)
        return table.to_pandas() if self._frame else table
