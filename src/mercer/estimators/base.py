"""What all estimators share: the promise, and a check of rows that shows scikit-learn no cell."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from mercer.common.checks import Floats
from mercer.ledger.ledger import Ledger
from mercer.sources.arrays import matrix_of, width_of
from mercer.sources.frames import is_frame, tabled

__all__ = ["PrivateEstimator", "box_of", "pairs_for", "seed_of"]


@dataclass(eq=False, repr=False)
class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose `fit` makes a private release; its parameters are the fields."""

    epsilon: float | None = None
    delta: float | None = None
    _: KW_ONLY
    ledger: Ledger | str | None = None
    dataset: str | None = None
    insist: bool = False
    random_state: Any = None

    _gaps: ClassVar[bool] = True  # rows with missing values follow a public rule (M18)

    def _given(self, **changed: Any) -> dict[str, Any]:
        """Arguments of the call that makes the release: the parameters, but for those changed."""
        given = self.get_params(deep=False)
        return given | {"rng": seed_of(given.pop("random_state"))} | changed

    def _rows(
        self,
        X: Any,
        *,
        width: int | None = None,
        hint: str = "bounds must have one pair for each column",
        least: tuple[int, int] | None = None,
        finite: bool = True,
    ) -> Floats:
        """X as doubles; scikit-learn notes the names and the number of its columns.

        `least` rows and columns are those of a fit, where `width` is what public arguments say of
        the columns of a list.  Without it the rows are a recipient's, `finite` or not.
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
            estimator=self,
            input_name="X",
        )
        named = X if is_frame(X) else rows
        validate_data(self, named, reset=least is not None, skip_check_array=True)
        return rows

    def _names(self) -> list[str] | None:
        """Names of the columns of X, where it had any."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._gaps
        tags.non_deterministic = self.random_state is None
        return tags


def pairs_for(bounds: Any) -> int | None:
    """The number of columns that `bounds` are given for; None where one pair is for every column."""
    try:
        shape = np.shape(bounds)
    except ValueError:  # not of pairs, which is an error of whoever reads them
        return None
    return shape[0] if len(shape) == 2 else None


def box_of(bounds: Any, columns: int) -> object:
    """A pair for each of so many columns, where `bounds` are one pair for all."""
    return [tuple(bounds)] * columns if bounds is not None and np.shape(bounds) == (2,) else bounds


def seed_of(random_state: Any) -> int | None:
    """scikit-learn's random_state as a seed; None stays None, which is secure."""
    return None if random_state is None else int(check_random_state(random_state).randint(2**31))
