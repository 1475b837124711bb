"""The one door: what fails does so before the charge, the charge comes before any draw, and what was
paid for once is not drawn on twice.
"""

import numpy as np
import pytest

import mercer
from mercer.door.publish import Paid, Purse, Rehearsed, Tap, open_tap, publish
from mercer.noise.entropy import Secure
from mercer.noise.mechanisms.additive import Gaussian, Laplace
from mercer.noise.mechanisms.base import Randomiser
from mercer.noise.mechanisms.counts import RareCounts
from mercer.promise.composition import delta_of
from mercer.promise.events import ApproximateEvent, GaussianEvent, PureEvent, Sensitivity
from mercer.promise.statement import Statement
from mercer.sensitive.base import Count, Summary

HALF = {"epsilon": 0.5, "delta": 0.0}
COST = PureEvent(0.5)
BOUND = Sensitivity(0.2, norm="l1")


class Steps(list):
    """What happened, in its order."""


class Numbers(Summary):
    """Three numbers of ten records, which say when they are computed."""

    n, unit = 10, "row"

    def __init__(self, steps, bound=BOUND, broken=False):
        self.steps, self.bound, self.broken = steps, bound, broken

    @property
    def size(self):
        return 3

    def sensitivity(self, norm):  # noqa: ARG002
        return self.bound

    def coordinates(self):
        self.steps.append("computed")
        if self.broken:
            raise ArithmeticError("no numbers")
        return np.array([0.25, 0.5, 0.75])


class Drawing(Randomiser):
    """Adds nothing, and says when it is asked."""

    law = "none"

    def __init__(self, steps, event):
        self.steps, self.event = steps, event

    def randomise(self, exact, entropy):  # noqa: ARG002
        self.steps.append("drawn")
        return exact


class Told:
    """A mechanism of one event."""

    norm, words, calibration = "l1", "told", "exact"

    def __init__(self, steps, event=COST):
        self.steps, self.event = steps, event

    def calibrate(self, sensitivity, size, *, epsilon, delta):  # noqa: ARG002
        return Drawing(self.steps, self.event)


@pytest.fixture
def book(tmp_path):
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    ledger.register("visits", epsilon=1)
    return ledger


def purse_of(ledger, **options):
    return Purse(Secure(), ledger, "visits", **options)


def left(ledger):
    return ledger.remaining("visits").epsilon


def through(steps, payer, event=COST, **summary):
    def build(noisy, law, statement):
        steps.append("built")
        return statement

    return publish(Numbers(steps, **summary), Told(steps, event), build, payer, promise=HALF, what="numbers")


def test_checked_computed_charged_drawn_built(book, monkeypatch):
    steps = Steps()
    charge = mercer.Ledger.charge
    monkeypatch.setattr(mercer.Ledger, "charge", lambda *a, **k: (steps.append("charged"), charge(*a, **k)))
    statement = through(steps, purse_of(book))
    assert steps == ["computed", "charged", "drawn", "built"]
    assert (statement.epsilon, statement.n, statement.mechanism) == (0.5, 10, "told")
    assert left(book) == pytest.approx(0.5)


def test_what_fails_before_the_door_costs_nothing_and_draws_nothing(book):
    steps = Steps()
    with pytest.raises(ArithmeticError):
        through(steps, purse_of(book), broken=True)
    with pytest.raises(ValueError, match="no bound cannot keep differential privacy; nothing was drawn"):
        through(steps, purse_of(book), bound=None)
    with pytest.raises(Rehearsed):
        through(steps, purse_of(book, dry=True))
    assert "drawn" not in steps
    assert left(book) == pytest.approx(1.0)


def test_without_budget_nothing_is_drawn(book):
    steps = Steps()
    for _ in range(2):
        through(steps, purse_of(book))
    steps.clear()
    with pytest.raises(mercer.BudgetExceeded):
        through(steps, purse_of(book))
    assert steps == ["computed"]


def test_a_crash_after_the_charge_leaves_it(book):
    """The other order would let whoever can stop the program draw for nothing."""
    steps = Steps()

    def build(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(Numbers(steps), Told(steps), build, purse_of(book), promise=HALF, what="numbers")
    assert left(book) == pytest.approx(0.5)


def statement_of(**fields):
    given = {"epsilon": 1.0, "delta": 1e-6, "neighbours": "replace-one", "unit": "row", "n": 10}
    given |= {"mechanism": "told", "calibration": "exact", "secure": True, "version": "1", "events": ()}
    return Statement(**given | fields)


def paid_for(*events, **fields):
    return Paid(statement_of(**fields), events, Secure())


GAUSS = GaussianEvent(1.0, 1e-9)
FOR_GAUSS = ApproximateEvent(1.0, delta_of((GAUSS,), epsilon=1.0) * (1 + 1e-9))
ENOUGH = {  # what was paid for, and what is drawn on it, all of which it covers
    "pure": ((PureEvent(1.0),), (PureEvent(1.0),)),
    "pure in parts": ((PureEvent(0.75),), (PureEvent(0.5), PureEvent(0.25))),
    "pure of a delta": ((ApproximateEvent(1.0, 1e-6),), (PureEvent(0.5), PureEvent(0.5))),
    "approximate": ((ApproximateEvent(1.0, 1e-6),), (ApproximateEvent(1.0, 1e-6),)),
    "gaussian": ((GAUSS,), (GaussianEvent(0.9, 1e-9),)),
    "gaussian of a delta": ((FOR_GAUSS,), (GAUSS,)),
    "two": ((PureEvent(0.5), GAUSS), (GAUSS, PureEvent(0.5))),
}


@pytest.mark.parametrize(("paid", "drawn"), ENOUGH.values(), ids=ENOUGH)
def test_what_was_paid_for_covers_its_draws_and_no_more(paid, drawn):
    payer, steps = paid_for(*paid), Steps()
    for event in drawn:
        through(steps, payer, event)
    assert steps.count("drawn") == len(drawn)
    for event in drawn:
        with pytest.raises(ValueError, match="what was paid does not cover this noise; nothing was drawn"):
            through(steps, payer, event)
    assert steps.count("drawn") == len(drawn)


TOO_MUCH = {
    "more epsilon": ((PureEvent(0.5),), PureEvent(np.nextafter(0.5, 1))),
    "approximate for pure": ((PureEvent(1.0),), ApproximateEvent(0.5, 1e-12)),
    "gaussian for pure": ((PureEvent(9.0),), GaussianEvent(0.01, 0.0)),
    "more delta": ((ApproximateEvent(1.0, 1e-6),), ApproximateEvent(1.0, 1.1e-6)),
    "more mu": ((GAUSS,), GaussianEvent(np.nextafter(1.0, 2), 1e-9)),
    "farther from a normal": ((GAUSS,), GaussianEvent(1.0, 1.1e-9)),
    "gaussian beyond a delta": ((FOR_GAUSS,), GaussianEvent(1.001, 1e-9)),
    "pure for gaussian": ((GAUSS,), PureEvent(0.001)),
}


@pytest.mark.parametrize(("paid", "event"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_was_not_paid_for_is_not_drawn(paid, event):
    steps = Steps()
    with pytest.raises(ValueError, match="nothing was drawn"):
        through(steps, paid_for(*paid), event)
    assert "drawn" not in steps


def test_a_pure_part_leaves_nothing_for_noise_that_is_not_pure():
    """Half of epsilon is gone: the other event would need all of it, and its delta."""
    payer, steps = paid_for(ApproximateEvent(1.0, 1e-6)), Steps()
    through(steps, payer, PureEvent(0.1))
    for event in (ApproximateEvent(0.5, 1e-7), GaussianEvent(0.01, 0.0)):
        with pytest.raises(ValueError, match="nothing was drawn"):
            through(steps, payer, event)


def test_many_small_draws_are_added_without_rounding():
    """Ten times 0.1 is above 1 in the numbers that 0.1 and 1 really are, and 1.0 by rounding up."""
    payer, steps = paid_for(PureEvent(1.0)), Steps()
    for _ in range(9):
        through(steps, payer, PureEvent(0.1))
    with pytest.raises(ValueError, match="nothing was drawn"):
        through(steps, payer, PureEvent(0.1))


@pytest.mark.parametrize("fields", [{"n": 9}, {"unit": "patient"}], ids=str)
def test_other_records_than_those_paid_for(fields):
    with pytest.raises(ValueError, match="nothing was drawn"):
        through(Steps(), paid_for(PureEvent(0.5), **fields))


def test_a_tap_pays_once_for_all_its_draws(book):
    bound = Sensitivity(0.1, norm="l2")
    book.register("path", epsilon=1, delta=1e-5)
    promise = {"epsilon": 1.0, "delta": 1e-6}
    payer = Purse(Secure(), book, "path")
    tap, statement = open_tap(bound, 8, payer, promise=promise, n=50, unit="row", what="a path")
    assert len(book.history("path")) == 1
    assert statement.events == (tap.noise.event,)
    again = Tap.resume(tap.to_fields())
    assert (again.noise.law, again.noise.event) == (tap.noise.law, tap.noise.event)
    assert np.isfinite([tap.draw(0.5), again.draw(0.25)]).all()
    assert len(book.history("path")) == 1
    made = Laplace().calibrate(Sensitivity(0.1, norm="l1"), 8, **HALF)
    fields = tap.to_fields() | {"event": {"kind": "pure", "epsilon": made.event.epsilon}}
    with pytest.raises(ValueError, match="must be a Gaussian one"):
        Tap.resume(fields)
    assert tap.noise == Gaussian().calibrate(bound, 8, **promise)


def test_a_tap_draws_on_what_was_paid_and_no_more():
    bound, promise = Sensitivity(0.1, norm="l2"), {"epsilon": 1.0, "delta": 1e-6}
    event = Gaussian().calibrate(bound, 8, **promise).event
    payer = paid_for(event, n=50)
    open_tap(bound, 8, payer, promise=promise, n=50, unit="row", what="a path")
    for larger in (promise, {"epsilon": 20.0, "delta": 1e-6}):
        with pytest.raises(ValueError, match="nothing was drawn"):
            open_tap(bound, 8, payer, promise=larger, n=50, unit="row", what="a path")


class Raised(Numbers):
    """Numbers whose sensitivity is raised, since other draws share the event."""

    def __init__(self, steps, stretch):
        super().__init__(steps)
        self.stretch = stretch


def drawn_from(payer, *, n=5, stretch=1.0, event=COST):
    summary = Raised(Steps(), stretch)
    summary.n = n
    return publish(summary, Told(Steps(), event), lambda *made: made[-1], payer, promise=HALF, what="numbers")


def test_parts_of_the_records_have_all_that_was_paid_each_once():
    paid = paid_for(COST)
    one, two = paid.parts([6, 4], notes=["; one", "; two"])
    assert (drawn_from(one, n=6).n, drawn_from(two, n=4).mechanism) == (6, "told; two")
    for payer in (one, two, paid):
        with pytest.raises(ValueError, match="nothing was drawn"):
            drawn_from(payer, n=1)
    with pytest.raises(ValueError, match="does not cover these parts"):
        paid.parts([6, 4])


def test_parts_are_no_more_records_than_were_paid_for():
    with pytest.raises(ValueError, match="does not cover these parts"):
        paid_for(COST).parts([6, 5])
    small, _ = paid_for(COST).parts([4, 6])
    with pytest.raises(ValueError, match="does not cover this noise"):
        drawn_from(small, n=5)
    half = paid_for(COST)
    drawn_from(half, event=PureEvent(0.25))
    with pytest.raises(ValueError, match="does not cover these parts"):
        half.parts([5, 5])


@pytest.mark.parametrize(("event", "least"), [(COST, 4.0), (GAUSS, 2.0)], ids=["pure", "gaussian"])
def test_draws_that_share_an_event_have_larger_noise(event, least):
    def parts():
        return paid_for(event, n=40).parts([10] * 4, disjoint=False)

    for payer in parts():
        drawn_from(payer, stretch=least, event=event)
    with pytest.raises(ValueError, match="must be at least .* times as large"):
        drawn_from(parts()[0], stretch=np.nextafter(least, 0), event=event)


def test_the_weaker_promise_is_not_charged_as_another(book):
    """Rare counts go out as they are: a ledger that took them for pure would be wrong."""
    count = Count(3, n=1000, unit="row")
    for payer in (purse_of(book), Purse(Secure())):
        with pytest.raises(ValueError, match="weaker promise is no differential privacy; nothing was drawn"):
            publish(count, RareCounts(24, "rare", 0.05), lambda *made: made, payer, promise=HALF)
    assert left(book) == 1
