"""The mean curve as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.api.calls import made
from mercer.api.curve.call import mean_curve
from mercer.common.checks import Floats
from mercer.estimators.base import PrivateEstimator
from mercer.releases.curve.release import CurveRelease

__all__ = ["PrivateMeanCurve"]


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
    kernel, scale, penalty, eta, center, order, missing, na_values, outside, ledger, dataset, insist
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
    kernel: Any = "gaussian"
    scale: Any = "auto"
    penalty: Any = "auto"
    eta: Any = "auto"
    center: Any = None
    order: str = "noise-first"
    missing: str = "fill"
    na_values: Any = None
    outside: str = "clip"
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
    """Points of the curve: a line of numbers, or a column of them.  None: X holds curves."""
    try:
        axes = np.shape(X)
        if len(axes) > 2 or (len(axes) == 2 and not axes[1] == 1 < columns):
            return None
        return np.asarray(X, dtype=np.float64).reshape(-1)
    except Exception:  # whatever a library says of a cell may show it
        pass
    raise ValueError("X must be a line of points, all numbers, or rows of curves on the grid")
