"""The ledger as the service sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, final

from mercer.ledger.claims import claim_on
from mercer.ledger.ledger import Ledger
from mercer.server.guard import Refusal

__all__ = ["Budgets"]


@final
class Budgets:
    """The datasets of one ledger.

    All of it blocks.  The ledger is opened anew for each use: one that was gone may be back.
    """

    def __init__(self, place: str | None) -> None:
        self._place = place

    def view(self, name: str) -> dict[str, Any]:
        """A dataset's total, charges and what is left: public."""
        ledger = self._opened()
        if ledger is None or name not in ledger.datasets:
            raise _unknown(name)
        dataset, left = ledger.dataset(name), ledger.remaining(name)
        return {
            "name": name,
            "epsilon": dataset.epsilon,
            "delta": dataset.delta,
            "unit": dataset.unit,
            "charges": [
                {
                    "number": charge.number,
                    "time": charge.time,
                    "what": charge.what,
                    "epsilon": charge.epsilon,
                    "delta": charge.delta,
                }
                for charge in ledger.history(name)
            ],
            "left": {
                "epsilon": left.epsilon,
                "delta": left.delta,
                "share_used": left.share,
                "spent_epsilon": left.spent_epsilon,
                "spent_delta": left.spent_delta,
                "pure": left.epsilon,
                "gaussian": left.gaussian,
                "at_delta": left.at_delta,
            },
            "words": str(left),
        }

    def register(self, name: str, *, epsilon: float, delta: float, unit: str, data: Path | None) -> None:
        """A new dataset; the ledger is made if there is none."""
        assert self._place is not None
        ledger = Ledger(self._place)
        if name in ledger.datasets:
            raise Refusal(
                409, "taken", f"dataset {name!r} exists; totals are never changed, choose another name"
            )
        _check_claim(data, ledger, name)
        ledger.register(name, epsilon=epsilon, delta=delta, unit=unit, data=data)

    def to_charge(self, dataset: str, unit: str | None, data: Path) -> Ledger:
        """The ledger, where a release of these data may be charged to this dataset."""
        ledger = self._opened()
        known = {} if ledger is None else ledger.datasets
        if ledger is None or dataset not in known:
            raise _unknown(dataset)
        own = known[dataset].unit
        if own != (unit or "row"):
            raise Refusal(
                422,
                "unit",
                f"'unit' must be {own!r}, as dataset {dataset!r} was registered: "
                "promises about different things do not add up",
            )
        _check_claim(data, ledger, dataset)
        return ledger

    def _opened(self) -> Ledger | None:
        if self._place is None:
            return None
        if "://" not in self._place and not Path(self._place).exists():
            return None
        return Ledger.open(self._place)


def _check_claim(data: Path | None, ledger: Ledger, dataset: str) -> None:
    """A refusal if another dataset, or another ledger, counts the releases of a file."""
    if (found := claim_on(data)) is None:
        return
    claim = found[1]
    if claim.ledger != ledger.id:
        words = "another ledger counts the releases of these data; use that one"
    elif claim.dataset != dataset:
        words = f"releases of these data are counted as {claim.dataset!r}; give that dataset"
    else:
        return
    raise Refusal(409, "counted", words)


def _unknown(name: str) -> Refusal:
    return Refusal(404, "no_dataset", f"there is no dataset {name[:80]!r} in the ledger of this service")
