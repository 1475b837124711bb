"""Mercer: release functions with differential privacy.

>>> import mercer
>>> release = mercer.density([1.0, 2.5, 2.0, 4.0], bounds=(0, 5), epsilon=1.0)
>>> release.privacy.epsilon
1.0
"""

from typing import TYPE_CHECKING, Any

from mercer.common import __version__

if TYPE_CHECKING:
    from mercer.api.choose import select, select_function
    from mercer.api.counted import ColumnPlan, column_plan
    from mercer.api.counts import count, proportion
    from mercer.api.curve import curve_bound, mean_curve, mean_curves
    from mercer.api.density import density
    from mercer.api.live import live, live_names, open_live
    from mercer.api.machine import classifier, regression
    from mercer.api.ranks import iqr, quantiles
    from mercer.api.recipes.counts import HistogramPlan, histogram_plan
    from mercer.api.recipes.curve_plan import CurvePlan, curve_plan
    from mercer.api.recipes.density import DensityPlan, density_plan
    from mercer.api.synthetic import synthetic
    from mercer.api.tables import histogram, table
    from mercer.api.weaker import random_histogram, random_proportion, random_statistic
    from mercer.audits.audit import Audit, audit
    from mercer.audits.replay import Replay, replay
    from mercer.columns.table import Domain
    from mercer.common.checks import PrivacyWarning
    from mercer.estimators.machines import PrivateKernelClassifier, PrivateKernelRegressor
    from mercer.estimators.unsupervised import PrivateKernelDensity, PrivateMeanCurve, PrivateSynthesizer
    from mercer.ledger.ledger import BudgetExceeded, Ledger, LedgerError, Receipt
    from mercer.noise.optimal import OptimalCount
    from mercer.noise.programs import optimal_count, risk_body
    from mercer.online.base import LiveRelease, LiveUnkept
    from mercer.online.store import LiveError, LiveFull, LiveUnavailable
    from mercer.promise.weaker import RandomStatement
    from mercer.releases.base import Release, load
    from mercer.releases.column.release import ColumnRelease
    from mercer.releases.counts.histogram import HistogramRelease
    from mercer.releases.counts.margins import MarginsRelease
    from mercer.releases.counts.number import CountRelease, StatisticRelease
    from mercer.releases.curve.figure import plot_curves
    from mercer.releases.curve.release import CurveRelease
    from mercer.releases.density.release import DensityRelease
    from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
    from mercer.releases.synthetic.release import TableRelease
    from mercer.spaces.record_kernels import OwnKernel

__all__ = [
    "Audit",
    "BudgetExceeded",
    "ClassifierRelease",
    "ColumnPlan",
    "ColumnRelease",
    "CountRelease",
    "CurvePlan",
    "CurveRelease",
    "DensityPlan",
    "DensityRelease",
    "Domain",
    "DryRun",
    "HistogramPlan",
    "HistogramRelease",
    "Ledger",
    "LedgerError",
    "LiveError",
    "LiveFull",
    "LiveRelease",
    "LiveUnavailable",
    "LiveUnkept",
    "MarginsRelease",
    "OptimalCount",
    "OwnKernel",
    "PrivacyWarning",
    "PrivateKernelClassifier",
    "PrivateKernelDensity",
    "PrivateKernelRegressor",
    "PrivateMeanCurve",
    "PrivateSynthesizer",
    "RandomStatement",
    "Receipt",
    "RegressionRelease",
    "Release",
    "Replay",
    "StatisticRelease",
    "TableRelease",
    "__version__",
    "audit",
    "classifier",
    "column_plan",
    "count",
    "curve_bound",
    "curve_plan",
    "density",
    "density_plan",
    "histogram",
    "histogram_plan",
    "iqr",
    "live",
    "live_names",
    "load",
    "mean_curve",
    "mean_curves",
    "open_live",
    "optimal_count",
    "plot_curves",
    "proportion",
    "quantiles",
    "random_histogram",
    "random_proportion",
    "random_statistic",
    "regression",
    "replay",
    "risk_body",
    "select",
    "select_function",
    "synthetic",
    "table",
]

_NAMES = {  # module: the public names it holds
    "api.calls": ("DryRun",),
    "api.choose": ("select", "select_function"),
    "api.counts": ("count", "proportion"),
    "api.curve": ("curve_bound", "mean_curve", "mean_curves"),
    "api.density": ("density",),
    "api.live": ("live", "live_names", "open_live"),
    "api.machine": ("classifier", "regression"),
    "api.ranks": ("iqr", "quantiles"),
    "api.recipes.counts": ("HistogramPlan", "histogram_plan"),
    "api.recipes.curve_plan": ("CurvePlan", "curve_plan"),
    "api.counted": ("ColumnPlan", "column_plan"),
    "api.recipes.density": ("DensityPlan", "density_plan"),
    "api.synthetic": ("synthetic",),
    "api.tables": ("histogram", "table"),
    "api.weaker": ("random_histogram", "random_proportion", "random_statistic"),
    "audits.audit": ("Audit", "audit"),
    "audits.replay": ("Replay", "replay"),
    "columns.table": ("Domain",),
    "common.checks": ("PrivacyWarning",),
    "estimators.machines": ("PrivateKernelClassifier", "PrivateKernelRegressor"),
    "estimators.unsupervised": ("PrivateKernelDensity", "PrivateMeanCurve", "PrivateSynthesizer"),
    "ledger.ledger": ("BudgetExceeded", "Ledger", "LedgerError", "Receipt"),
    "noise.optimal": ("OptimalCount",),
    "noise.programs": ("optimal_count", "risk_body"),
    "online.base": ("LiveRelease", "LiveUnkept"),
    "online.store": ("LiveError", "LiveFull", "LiveUnavailable"),
    "promise.weaker": ("RandomStatement",),
    "releases.base": ("Release", "load"),
    "releases.counts.histogram": ("HistogramRelease",),
    "releases.counts.margins": ("MarginsRelease",),
    "releases.counts.number": ("CountRelease", "StatisticRelease"),
    "releases.curve.figure": ("plot_curves",),
    "releases.curve.release": ("CurveRelease",),
    "releases.column.release": ("ColumnRelease",),
    "releases.density.release": ("DensityRelease",),
    "releases.machine.kinds": ("ClassifierRelease", "RegressionRelease"),
    "releases.synthetic.release": ("TableRelease",),
    "spaces.record_kernels": ("OwnKernel",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used, so that `import mercer` is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"mercer.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
