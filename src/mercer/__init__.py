"""Mercer: release functions with differential privacy.

>>> import mercer
>>> release = mercer.density([1.0, 2.5, 2.0, 4.0], bounds=(0, 5), epsilon=1.0)
>>> release.privacy.epsilon
1.0
"""

from typing import TYPE_CHECKING, Any

from mercer.version import __version__

if TYPE_CHECKING:
    from mercer.api import density
    from mercer.audits import Audit, audit
    from mercer.averaging import mean_curve, mean_curves
    from mercer.cell_releases import HistogramRelease
    from mercer.checks import PrivacyWarning
    from mercer.count_releases import CountRelease
    from mercer.counting import count, proportion
    from mercer.counting_programs import OptimalCount, optimal_count, risk_body
    from mercer.curve_bounds import curve_bound
    from mercer.curve_estimators import PrivateMeanCurve
    from mercer.curves import CurveRelease
    from mercer.densities import DensityRelease
    from mercer.estimators import PrivateKernelDensity
    from mercer.histogram_plans import HistogramPlan, histogram_plan
    from mercer.histograms import histogram, table
    from mercer.learners import PrivateKernelClassifier, PrivateKernelRegressor
    from mercer.learning import classifier, regression
    from mercer.ledger import BudgetExceeded, Ledger, LedgerError, Receipt
    from mercer.live_releases import LiveRelease, LiveUnkept
    from mercer.live_store import LiveError, LiveFull, LiveUnavailable
    from mercer.lives import live, live_names, open_live
    from mercer.margin_releases import MarginsRelease
    from mercer.planning import CurvePlan, DensityPlan, curve_plan, density_plan
    from mercer.plotting import plot_curves
    from mercer.predictors import ClassifierRelease, RegressionRelease
    from mercer.random_statements import RandomStatement
    from mercer.record_kernels import OwnKernel
    from mercer.release import Release
    from mercer.replays import Replay, replay
    from mercer.selection import iqr, quantiles, select, select_function
    from mercer.statistic_releases import StatisticRelease
    from mercer.storage import load
    from mercer.synthesis import synthetic
    from mercer.synthesizers import PrivateSynthesizer
    from mercer.table_domain import Domain
    from mercer.table_releases import TableRelease
    from mercer.weaker import random_histogram, random_proportion, random_statistic

__all__ = [
    "Audit",
    "BudgetExceeded",
    "ClassifierRelease",
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

_HOMES = {
    "Audit": "audits",
    "BudgetExceeded": "ledger",
    "ClassifierRelease": "predictors",
    "PrivacyWarning": "checks",
    "RegressionRelease": "predictors",
    "classifier": "learning",
    "regression": "learning",
    "CurvePlan": "planning",
    "CurveRelease": "curves",
    "DensityPlan": "planning",
    "DensityRelease": "densities",
    "Domain": "table_domain",
    "DryRun": "calls",
    "Ledger": "ledger",
    "LedgerError": "ledger",
    "LiveError": "live_store",
    "LiveFull": "live_store",
    "LiveRelease": "live_releases",
    "LiveUnavailable": "live_store",
    "LiveUnkept": "live_releases",
    "PrivateKernelClassifier": "learners",
    "PrivateKernelDensity": "estimators",
    "PrivateKernelRegressor": "learners",
    "PrivateMeanCurve": "curve_estimators",
    "PrivateSynthesizer": "synthesizers",
    "Receipt": "ledger",
    "Release": "release",
    "Replay": "replays",
    "audit": "audits",
    "replay": "replays",
    "curve_bound": "curve_bounds",
    "curve_plan": "planning",
    "density": "api",
    "density_plan": "planning",
    "iqr": "selection",
    "live": "lives",
    "live_names": "lives",
    "load": "storage",
    "mean_curve": "averaging",
    "mean_curves": "averaging",
    "open_live": "lives",
    "plot_curves": "plotting",
    "quantiles": "selection",
    "select": "selection",
    "select_function": "selection",
    "MarginsRelease": "margin_releases",
    "OptimalCount": "counting_programs",
    "optimal_count": "counting_programs",
    "risk_body": "counting_programs",
    "OwnKernel": "record_kernels",
    "TableRelease": "table_releases",
    "synthetic": "synthesis",
    "CountRelease": "count_releases",
    "HistogramPlan": "histogram_plans",
    "HistogramRelease": "cell_releases",
    "count": "counting",
    "histogram": "histograms",
    "histogram_plan": "histogram_plans",
    "proportion": "counting",
    "table": "histograms",
    "RandomStatement": "random_statements",
    "StatisticRelease": "statistic_releases",
    "random_histogram": "weaker",
    "random_proportion": "weaker",
    "random_statistic": "weaker",
}


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
