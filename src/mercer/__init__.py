"""Mercer: release functions with differential privacy.

>>> import mercer
>>> release = mercer.density([1.0, 2.5, 2.0, 4.0], bounds=(0, 5), epsilon=1.0, delta=1e-6)
>>> release.privacy.epsilon
1.0
"""

from typing import TYPE_CHECKING, Any

from mercer.version import __version__

if TYPE_CHECKING:
    from mercer.api import density
    from mercer.densities import DensityRelease
    from mercer.domain import Domain
    from mercer.estimators import PrivateKernelDensity
    from mercer.ledger import BudgetExceeded, Ledger, LedgerError, Receipt
    from mercer.planning import DensityPlan, density_plan
    from mercer.release import Release
    from mercer.storage import load

__all__ = [
    "BudgetExceeded",
    "DensityPlan",
    "DensityRelease",
    "Domain",
    "Ledger",
    "LedgerError",
    "PrivateKernelDensity",
    "Receipt",
    "Release",
    "__version__",
    "density",
    "density_plan",
    "load",
]

_HOMES = {
    "BudgetExceeded": "ledger",
    "DensityPlan": "planning",
    "DensityRelease": "densities",
    "Domain": "domain",
    "Ledger": "ledger",
    "LedgerError": "ledger",
    "PrivateKernelDensity": "estimators",
    "Receipt": "ledger",
    "Release": "release",
    "density": "api",
    "density_plan": "planning",
    "load": "storage",
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
