"""Parts of diffprivlib, made to load and run with newer versions of what it needs."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from studies.shared.report import Floats

__all__ = ["peer_logistic", "peer_module"]


def peer_module(name: str) -> Any:
    """A module of diffprivlib.

    The package does not load with scikit-learn 1.9, because of its forests: they are left out.
    """
    forest: Any = types.ModuleType("diffprivlib.models.forest")
    forest.RandomForestClassifier = forest.DecisionTreeClassifier = None
    sys.modules.setdefault("diffprivlib.models.forest", forest)
    try:
        return import_module(f"diffprivlib.{name}")
    except ModuleNotFoundError:
        hint = "diffprivlib is missing: python -m pip install -e '.[peers]'"
        raise ModuleNotFoundError(hint) from None


@cache
def _path() -> Callable[..., Any]:
    """Diffprivlib's own solver of its logistic regression.

    The solver hands SciPy an option that newer versions have no more: that is put right here, and
    nothing else.
    """
    module = peer_module("models.logistic_regression")
    solve = module.optimize.fmin_l_bfgs_b

    def solver(*values: Any, iprint: int = -1, **named: Any) -> Any:
        del iprint
        return solve(*values, **named)

    module.optimize = types.SimpleNamespace(fmin_l_bfgs_b=solver)
    return module._logistic_regression_path


def peer_logistic(x: Floats, y: Floats, *, epsilon: float, norm: float, strength: float, seed: int) -> Floats:
    """Weights and, last, the intercept of diffprivlib's logistic regression; C = strength."""
    weights, _, _ = _path()(
        x,
        y,
        epsilon,
        norm,
        pos_class=1,
        Cs=[strength],
        check_input=False,
        random_state=np.random.RandomState(seed),
    )
    return np.asarray(weights[0])
