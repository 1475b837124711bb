"""The calls as scikit-learn estimators."""

from __future__ import annotations

from mercer.estimators.curves import PrivateMeanCurve
from mercer.estimators.density import PrivateKernelDensity
from mercer.estimators.machines import PrivateKernelClassifier, PrivateKernelRegressor
from mercer.estimators.synthetic import PrivateSynthesizer

__all__ = [
    "PrivateKernelClassifier",
    "PrivateKernelDensity",
    "PrivateKernelRegressor",
    "PrivateMeanCurve",
    "PrivateSynthesizer",
]
