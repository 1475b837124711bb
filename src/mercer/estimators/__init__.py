"""The public functions that make releases, as scikit-learn estimators."""

from __future__ import annotations

from mercer.estimators.machines import PrivateKernelClassifier, PrivateKernelRegressor
from mercer.estimators.unsupervised import PrivateKernelDensity, PrivateMeanCurve, PrivateSynthesizer

__all__ = [
    "PrivateKernelClassifier",
    "PrivateKernelDensity",
    "PrivateKernelRegressor",
    "PrivateMeanCurve",
    "PrivateSynthesizer",
]
