"""Whoever pays for the weaker promise: nobody, since no ledger counts it.  M14.

What gets noise is not shown to a replay: its test is of differential privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from mercer.common import __version__
from mercer.common.checks import check_worthwhile
from mercer.door.publish import Paid, Payer, Rehearsed
from mercer.ledger.claims import claim_on
from mercer.ledger.ledger import LedgerError
from mercer.noise.entropy import Entropy, resolve
from mercer.noise.mechanisms.base import Promise
from mercer.promise.events import Event
from mercer.promise.weaker import RandomStatement

__all__ = ["Weaker"]


@dataclass(frozen=True)
class Weaker(Payer):
    """What is promised, and where noise comes from."""

    entropy: Entropy
    gamma: Fraction
    insist: bool = False
    dry: bool = False  # say what would be released, and stop there
    unprotected: str = ""  # whom the promise leaves out, in words
    asymptotic: bool = False

    shows: ClassVar[bool] = False

    @classmethod
    def of(cls, rng: object, gamma: Fraction, *, data: object, insist: bool, dry_run: bool) -> Weaker:
        """LedgerError for a file whose releases a ledger counts: it cannot count this one."""
        entropy, found = resolve(rng), claim_on(data)
        if found is not None and entropy.secure:
            raise LedgerError(
                f"releases of these data are counted in the ledger {found[1].where!r}; random "
                "differential privacy fails for a share gamma of data sets, so the ledger cannot count "
                "it and its total would no longer hold; nothing was released; use mercer.histogram, "
                "mercer.proportion or mercer.density with ledger="
            )
        return cls(entropy, gamma, insist, dry_run)

    def pay(
        self,
        events: Sequence[Event],
        *,
        promise: Promise,
        n: int,
        unit: str,
        words: str,
        calibration: str,  # noqa: ARG002
        what: str,
    ) -> Paid:
        """The statement; a promise that protects next to nobody is refused before anything is drawn."""
        check_worthwhile(promise["epsilon"], promise["delta"], n, insist=self.insist)
        made: Any = RandomStatement(
            **promise,
            gamma=float(self.gamma),
            asymptotic=self.asymptotic,
            unit=unit,
            n=n,
            mechanism=words,
            unprotected=self.unprotected,
            secure=self.entropy.secure,
            version=__version__,
        )
        if self.dry:
            raise Rehearsed(made, what, "no ledger can count a weaker promise")
        return Paid(made, events, self.entropy, shows=self.shows)
