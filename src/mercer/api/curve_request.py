"""How a mean curve is made: curves are read, charged for, given noise and smoothed.  M9, M12, M17."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.api.calls import Split, Terms, pure
from mercer.api.recipes.curve import CurveRecipe, Sight, center_of
from mercer.common.checks import Floats, check_choice, check_positive
from mercer.door.publish import Paid, Payer, Purse, publish
from mercer.noise.laws import Law
from mercer.noise.mechanisms import Exponential, Mechanism
from mercer.noise.mechanisms.base import Promise, no_delta
from mercer.promise.events import Event, GaussianEvent, PureEvent
from mercer.promise.statement import Statement
from mercer.releases.curve.release import CurveRelease
from mercer.releases.curve.sampling import DIRECTIONS, Sampling, radius_of
from mercer.releases.findings import tell
from mercer.sensitive.base import Scores
from mercer.sensitive.curves.source import Curves
from mercer.sensitive.persons import n_of
from mercer.sensitive.summaries.curve_pieces import MOST_BITS
from mercer.sensitive.summaries.curves import (
    FOLDS,
    MISSING,
    OUTSIDE,
    CurveBall,
    CurveSummary,
    CurveTally,
    fold_scores,
    tally_curves,
)
from mercer.sensitive.summaries.residuals import (
    ResidualSummary,
    residual_bound,
    residual_size,
    tally_residuals,
)
from mercer.sources.values import identities
from mercer.spaces.modes import SpectralFilter, cameron_martin
from mercer.spaces.polynomials import Polynomials

__all__ = ["CurveRequest", "Gathered", "check_disjoint"]


@dataclass(frozen=True)
class Gathered:
    """Curves that were read, and what is public of them."""

    curves: Curves
    tally: CurveTally
    polynomials: Polynomials
    center: Floats
    n: int
    share: int = 1  # groups that one person may be in
    note: str = ""

    @property
    def unit(self) -> str:
        """The unit of privacy: "row", or the column that names the person."""
        return self.curves.unit or "row"

    @property
    def ball(self) -> CurveBall:
        """How these curves were clipped."""
        return self.tally.ball

    def alone(self, promise: Promise, draws: int = 1) -> Promise:
        """The promise that is left for this group's noise: lattices of several draws add up (M3.5)."""
        draws *= self.share
        less = 1 - 0.002 * draws if draws > 1 else 1.0
        return Promise(epsilon=promise["epsilon"], delta=promise["delta"] * less)


@dataclass(frozen=True)
class CurveRequest:
    """The arguments of a mean curve, checked before any curve is read."""

    recipe: CurveRecipe
    terms: Terms
    promise: Promise
    bound: float
    missing: str
    outside: str
    split: Split | None

    @classmethod
    def of(
        cls,
        terms: Terms,
        *,
        bound: object,
        missing: object = "fill",
        outside: object = "clip",
        choice_share: object = 0.2,
        **choices: object,
    ) -> CurveRequest:
        """Check all arguments; `choices` are those of `CurveRecipe.of`."""
        if bound is None:
            raise ValueError(
                "bound is missing: how high curves can be is public and cannot be read from them; "
                "give a bound on their root mean square, or choose one with mercer.curve_bound"
            )
        radius = check_positive("bound", bound, "a bound on the root mean square of a curve")
        if not 1e-100 <= radius <= 1e100:
            raise ValueError(f"bound must be in [1e-100, 1e100], got {radius:g}; rescale")
        recipe = CurveRecipe.of(pure=no_delta(terms.delta), **choices)
        promise = terms.promise(recipe.mechanism)
        rule = check_choice("missing", missing, MISSING)
        beyond = check_choice("outside", outside, OUTSIDE)
        split = None
        if recipe.private:
            if terms.unit is not None or rule == "drop":
                raise ValueError(
                    "penalty='private-cv' makes folds by the curves' places; it goes neither with "
                    "unit nor with missing='drop'; use 'auto', which is free"
                )
            split = Split.of("private-cv", recipe.mechanism, promise, choice_share)
        return cls(recipe, terms, promise, radius, rule, beyond, split)

    def read(self, curves: Curves, center: object) -> Gathered:
        """Read and clip the curves and sum up their coordinates; count them, where that is public."""
        self.recipe.check(curves.domain)
        polynomials = self.recipe.polynomials(curves.domain)
        middle = center_of(center, polynomials, curves.domain, curves.grid)
        if self.recipe.private and not curves.fixed:
            raise ValueError(
                "penalty='private-cv' makes folds by the curves' places, which a damaged line of a "
                "CSV file would move; use a Parquet file or a data frame, or penalty='auto'"
            )
        curves.progress(self.terms.tick)
        tally = tally_curves(
            curves,
            polynomials,
            center=middle,
            bound=self.bound,
            missing=self.missing,
            outside=self.outside,
            folds=FOLDS if self.recipe.private else 1,
        )
        least = 2 * FOLDS if self.recipe.private else 2
        n = n_of(tally, curves.unit, self.missing, of="curves", least=least)
        if tally.rows > 1 << MOST_BITS:
            raise ValueError(f"curves must be at most 2^{MOST_BITS}, got {tally.rows}")
        return Gathered(curves, tally, polynomials, middle, n)

    def shared(self, groups: int) -> CurveRequest:
        """For groups of which anybody may be in all: each has the noise for that many of them.

        It is a trifle more, since coordinates are snapped to a lattice in each group.
        """
        if groups == 1:
            return self
        pure = self.recipe.mechanism.pure
        stretch = groups if pure else math.sqrt(groups) * (1 + 1e-3)
        return replace(self, recipe=replace(self.recipe, stretch=stretch))

    def pay(self, groups: Sequence[Gathered], purse: Purse) -> Paid:
        """Charge for all groups together, before anything is drawn.

        Noise of groups that share their persons is stretched, so that all of it together is one
        event of the whole promise: Gaussian noise by the root of their number, pure by the number.
        """
        known = [self._known(one, self._parts(one)[0][1]) for one in groups]
        return self._charge(groups, known, purse, f"mean curves of {len(groups)} groups")

    def _charge(
        self, groups: Sequence[Gathered], known: Sequence[SpectralFilter | None], payer: Payer, what: str
    ) -> Paid:
        """The same with the smoothing of each group, where it is known: an event for each draw of a group."""
        every = [self._events(one, smoothing) for one, smoothing in zip(groups, known, strict=True)]
        whole: list[Event] = []
        for place, (mechanism, promise) in enumerate(self.recipe.parts(self.promise)):
            if mechanism.pure:
                whole.append(PureEvent(promise["epsilon"]))
                continue
            draws = [found for one in every if isinstance(found := one[place], GaussianEvent)]
            apart = [event.distance for event in draws]
            distance = max(apart) if groups[0].share == 1 else sum(apart)
            whole.append(GaussianEvent(max(event.mu for event in draws), distance))
        return payer.pay(
            whole,
            promise=self.promise,
            n=sum(one.n for one in groups),
            unit=groups[0].unit,
            words=self.recipe.mechanism.words + self._words,
            calibration=self.recipe.mechanism.calibration,
            what=what,
        )

    @property
    def _words(self) -> str:
        """What the statement says of the part for the population's mean."""
        share = self.recipe.population
        if not share:
            return ""
        return (
            "; second moments of the curves about the released mean, for bands about the population's mean, "
            f"with {share:g} of the budget"
        )

    def _parts(self, one: Gathered) -> list[tuple[Mechanism, Promise]]:
        """Mechanisms and promises of a group's draws."""
        return self.recipe.parts(one.alone(self.promise, 3 if self.recipe.population else 1))

    def _events(self, one: Gathered, known: SpectralFilter | None) -> list[Event]:
        """Of all draws of a group: errors of their noise come before the charge."""
        parts, found = self._parts(one), []
        summary, _ = self._summary(one, known, parts[0][1])
        bounds = [(summary.sensitivity("l2"), summary.size)]
        for directions in (None, self._directions(one)):
            bound = residual_bound(one.n, directions, self.recipe.stretch)
            bounds.append((bound, residual_size(directions)))
        for (mechanism, promise), (bound, size) in zip(parts, bounds, strict=False):
            found.append(mechanism.calibrate(bound, size, **promise).event)
        return found

    def release(self, read: Gathered, payer: Payer, *, charged: bool = False) -> CurveRelease:
        """Charge for the noise, add it to the mean's coordinates, and smooth what comes out.

        `charged`: a payer for groups, which were charged for together.
        """
        recipe, parts = self.recipe, self._parts(read)
        mechanism, promise = parts[0]
        what = f"mean curve of {read.curves.value}"
        if self.split is not None:
            plain = CurveSummary(read.tally, n=read.n, unit=read.unit, size=read.polynomials.size)
            sensitivity = plain.sensitivity(recipe.mechanism.norm)  # errors before the charge
            recipe.mechanism.calibrate(sensitivity, plain.size, **self.split.noise)
            payer = self.split.pay(
                recipe.mechanism, payer, n=read.n, unit=read.unit, what=what, chosen="smoothing"
            )
            promise = self.split.noise
            known: SpectralFilter | None = self._chosen(read, self.split, payer, promise)
        else:
            known = self._known(read, promise)
        if recipe.population and not charged:
            payer = self._charge([read], [known], payer, what)
        summary, frame = self._summary(read, known, promise)

        def build(noisy: Floats, law: Law, statement: Statement) -> CurveRelease:
            fields: dict[str, Any] = {
                "domain": read.curves.domain,
                "privacy": statement,
                "coordinates": noisy,
                "noise": law,
                "polynomials": read.polynomials,
                "frame": frame,
                "order": recipe.order,
                "noise_kernel": recipe.noise_kernel,
                "bound": self.bound,
                "center": read.center,
                "value": read.curves.value,
            }
            if known is not None:
                return CurveRelease(**fields, smoothing=known, choice=recipe.choice)
            scales = recipe.scales(read.curves.domain)
            scale = "auto" if scales is None else np.array(scales) * read.curves.domain.widths
            return CurveRelease.smoothed(
                **fields,
                kernel="auto" if recipe.average else recipe.kernel,
                scale=scale,
                eta=recipe.eta,
                penalty=recipe.penalty,
            )

        made = publish(summary, mechanism, build, payer, promise=promise, what=what)
        return tell(self._sampled(made, read, payer, what) if recipe.population else made)

    def _sampled(self, made: CurveRelease, read: Gathered, payer: Payer, what: str) -> CurveRelease:
        """With how the curves vary about the mean that was released, which was paid for with it (M22)."""
        mean = (made.coefficients - made.center) / made.bound
        (_, (first, one), (second, other)) = self._parts(read)

        def residuals(radius: float, directions: int | None) -> ResidualSummary:
            return ResidualSummary(
                tally_residuals(
                    read.curves,
                    read.polynomials,
                    center=read.center,
                    ball=read.ball,
                    mean=mean,
                    radius=radius,
                    directions=directions,
                ),
                n=read.n,
                unit=read.unit,
                stretch=self.recipe.stretch,
                parameters=(self.bound, radius, directions, mean.tobytes()),
            )

        def total(noisy: Floats, law: Law, _statement: object) -> tuple[float, Law]:
            return float(noisy[0]), law

        found, law = publish(residuals(1.0, None), first, total, payer, promise=one, what=what)
        radius = radius_of(found, law)

        def build(noisy: Floats, noise: Law, _statement: object) -> CurveRelease:
            sampling = Sampling(found, law, radius, noisy, noise, read.n, self.recipe.population)
            return replace(made, sampling=sampling)

        moments = residuals(radius, self._directions(read))
        return publish(moments, second, build, payer, promise=other, what=what)

    def _directions(self, read: Gathered) -> int:
        """Polynomials in which residuals have moments: public."""
        return min(DIRECTIONS, read.polynomials.size)

    def _known(self, read: Gathered, promise: Promise) -> SpectralFilter | None:
        """The smoothing, unless it is chosen from the noisy mean; with a warning if there is need."""
        recipe, sight = self.recipe, self._sight(read, promise)
        if recipe.choice == "auto":
            recipe.warn_few(sight)
            return None
        smoothing = recipe.ruled(read.curves.domain, sight)
        recipe.warn(smoothing, sight)
        return smoothing

    def _chosen(self, read: Gathered, split: Split, paid: Paid, promise: Promise) -> SpectralFilter:
        """A smoothing by private cross-validation, for a share of the budget that is paid already."""
        filters = self.recipe.candidates(read.curves.domain, read.polynomials)
        sight = self._sight(read, promise)
        errors = [self.recipe.error(f, sight) for f in filters]
        scores, moved = fold_scores(read.tally, read.polynomials, filters, errors, n=read.n)
        held = Scores(scores, moved, n=read.n, unit=read.unit)
        chosen = pure(split.choice)
        return publish(held, Exponential(), lambda place, *_: filters[place], paid, promise=chosen)

    def _sight(self, read: Gathered, promise: Promise) -> Sight:
        return self.recipe.sight(read.polynomials, n=read.n, promise=promise)

    def _summary(
        self, read: Gathered, known: SpectralFilter | None, promise: Promise
    ) -> tuple[CurveSummary, Floats | None]:
        """What gets noise, and the functions whose coordinates are released."""
        recipe = self.recipe
        encode = frame = self._sight(read, promise).frame
        if recipe.order == "paper":
            assert known is not None
            encode, _ = cameron_martin(known, recipe.noise_kernel, read.polynomials)
        summary = CurveSummary(
            read.tally,
            n=read.n,
            unit=read.unit,
            size=read.polynomials.size,
            encode=encode,
            note=read.note,
            stretch=recipe.stretch,
        )
        return summary, frame


def check_disjoint(sources: Mapping[Any, Curves], unit: str) -> None:
    """Refuse persons that are in several groups: which group a person is in is public."""
    seen: set[bytes | None] = set()
    for source in sources.values():
        own = {name for part in source.persons() for name in _spelt(part)}
        own.discard(None)
        if seen & own:
            raise ValueError(
                f"disjoint must be False: some {unit!r} is in more than one group, so the groups "
                "cannot each have the whole budget"
            )
        seen |= own


def _spelt(people: Any) -> list[bytes | None]:
    """The bytes of the names of persons, of which not all are UTF-8."""
    import pyarrow as pa

    names: list[bytes | None] = identities(people).cast(pa.large_binary()).to_pylist()
    return names
