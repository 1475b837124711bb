"""Live classifiers and regressions: predictions at any point, for ever.  M8, M2.

A machine is its released weights, so nothing is drawn and nothing grows: the store keeps the
release, and a question is answered from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.online.base import LiveRelease
from mercer.online.store import LiveError, LiveStore, Record
from mercer.releases.bands import Band
from mercer.releases.file import FORMAT, VERSION, from_dict
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.releases.machine.release import MachineAccuracy, MachineRelease

__all__ = ["MachineLive"]


class MachineLive(LiveRelease):
    """Stands on a released machine, which is kept whole in the store."""

    route = "machine"
    sensitive = False

    def __init__(
        self, store: LiveStore, record: Record, release: ClassifierRelease | RegressionRelease
    ) -> None:
        super().__init__(store, record)
        self.release, self.domain, self.privacy = release, release.domain, release.privacy

    @classmethod
    def start(cls, store: LiveStore, name: str, release: MachineRelease) -> MachineLive:
        """Keep a release: it is public, so nothing is charged."""
        fields = {"format": FORMAT, "version": VERSION, **release.to_dict()}
        record = Record(name, cls.route, {"release": fields})
        store.create(record)
        return cls.resume(store, record)

    @classmethod
    def resume(cls, store: LiveStore, record: Record) -> MachineLive:
        try:
            release = from_dict(record.fields["release"])
        except (KeyError, ValueError, TypeError):
            raise LiveError(f"live release {record.name!r} is damaged") from None
        if not isinstance(release, (ClassifierRelease, RegressionRelease)):
            raise LiveError(f"live release {record.name!r} does not stand on a machine")
        return cls(store, record, release)

    @property
    def kind(self) -> str:
        return self.release.kind

    @property
    def count(self) -> int:
        return 0

    @property
    def accuracy(self) -> MachineAccuracy:
        return self.release.accuracy

    def standard_error(self, points: object) -> Floats:
        return self.release.standard_error(points)

    def band(self, points: object, level: float = 0.95) -> Band:
        return self.release.band(points, level, simultaneous=False)

    def predict(self, points: object) -> Any:
        """The class, or the response, at these points."""
        return self.release.predict(points)

    def _answer(self, rows: Floats) -> Floats:
        return np.asarray(self.release(rows))
