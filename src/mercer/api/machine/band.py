"""The share of a budget that pays for a machine's error band, and how it is spent.  M21."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np

from mercer.api.machine.recipe import MachineRecipe
from mercer.api.shares import beside, check_share, pure
from mercer.columns.domain import Box
from mercer.common.checks import Ints
from mercer.door.objective import tilted_noise
from mercer.door.publish import Payer, publish
from mercer.noise.count_laws import CountLaw
from mercer.noise.mechanisms.base import Promise
from mercer.noise.mechanisms.counts import GeometricCounts
from mercer.promise.events import PureEvent
from mercer.releases.machine.curvature import Curvature
from mercer.releases.machine.release import MachineRelease
from mercer.sensitive.summaries import CurvatureCells, Examples, Machine, MachineBounds, curvature_bound
from mercer.spaces.maps import FeatureMap
from mercer.spaces.meshes import Mesh

__all__ = ["BandPlan"]

_FINE = {1: 64, 2: 16, 3: 5}  # nodes along a side of a cell, at which the function is looked up
_PART = 1 << 12  # nodes at a time

M = TypeVar("M", bound=MachineRelease)


@dataclass(frozen=True)
class BandPlan:
    """What is public of the band: its epsilon beside the machine's, and where curvature is counted."""

    epsilon: float  # of the counts; 0 where there is no band
    learning: Promise  # of the machine alone
    mesh: Mesh | None = None

    @classmethod
    def of(
        cls, recipe: MachineRecipe, domain: Box, features: FeatureMap, promise: Promise, *, n: int
    ) -> Self:
        """By the caller's share of the budget, or by the public rule."""
        whole = promise["epsilon"]
        share = recipe.band_share(domain, features, n=n, epsilon=whole)
        if not share:
            return cls(0.0, promise)
        counts = whole * share
        check_share(counts, 1)
        cells = recipe.cells(domain, n=n, epsilon=whole, counts=counts)
        alone = Promise(epsilon=beside(counts, whole), delta=promise["delta"])
        return cls(counts, alone, Mesh(cells, _FINE[len(cells)]))

    def __bool__(self) -> bool:
        return self.mesh is not None

    @property
    def events(self) -> tuple[PureEvent, ...]:
        """What the counts cost."""
        return (PureEvent(self.epsilon),) if self else ()

    @property
    def words(self) -> str:
        """A description for the statement."""
        if self.mesh is None:
            return ""
        return (
            f"; second derivatives of the loss in {self.mesh.count} cells, for the error band, by "
            f"{GeometricCounts.words}, epsilon = {self.epsilon:g} of it"
        )

    @property
    def expected(self) -> str:
        """What a dry run says of it."""
        if not self:
            return ""
        return f"; the error band is estimated with epsilon = {self.epsilon:g} of the promise"

    def check(self, machines: Sequence[Machine]) -> None:
        """Raise the errors of the counts' noise, before anything is charged."""
        if self:
            GeometricCounts().calibrate(curvature_bound(machines), epsilon=self.epsilon)

    def spend(
        self,
        release: M,
        examples: Examples,
        machines: Sequence[Machine],
        limits: MachineBounds,
        payer: Payer,
        *,
        unit: str,
        what: str,
    ) -> M:
        """The release with its curvature, counted on the rows that it was learnt from."""
        if self.mesh is None:
            return release
        mesh, nodes = self.mesh, self.mesh.nodes()
        values = np.concatenate(
            [
                release.features.features(nodes[start : start + _PART]) @ release.weights.T
                for start in range(0, len(nodes), _PART)
            ]
        ).T
        noise = tilted_noise(limits, **self.learning)
        source = CurvatureCells(examples, machines, mesh, values, n=limits.n, unit=unit)

        def build(noisy: Ints, law: CountLaw, _statement: object) -> M:
            found = Curvature(
                mesh.finer(1),
                np.reshape(noisy, (len(machines), mesh.count)),
                machines[0].loss.steps,
                law,
                noise.tilt.scale,
                float(noise.finish.law.deviations(limits.size)[0]),
                limits.n,
            )
            return replace(release, curvature=found)

        return publish(source, GeometricCounts(), build, payer, promise=pure(self.epsilon), what=what)
