"""What one odd record, a damaged file or another machine could do to mean curves, and may not."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pytest

import mercer
from mercer.sensitive.curves.source import open_curves
from mercer.sensitive.summaries import curve_pieces as summaries
from mercer.spaces import modes
from mercer.spaces.polynomials import Polynomials
from tests.privacy.test_curves import PROMISE, moved, summary_of

T = np.linspace(0, 1, 10)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("places", [0.501, 1.55, 2.51])
def test_a_share_below_the_normal_numbers_is_not_rounded_up(ragged, places):
    """bound / norm is subnormal: rounded to a whole number of 2^-1074, up to twice too large."""
    bound = 1e-50
    height = float(np.ldexp(bound / places, 1074))

    def sample(sign):
        rows = np.zeros((3, 10))
        rows[0] = sign * height
        return [(T, row) for row in rows] if ragged else rows

    more = {"bounds": (0, 1)} if ragged else {}
    with np.errstate(all="ignore"):
        pair = [summary_of(sample(s), None if ragged else T, bound=bound, **more) for s in (1, -1)]
        assert moved(*pair) <= 1


def test_ids_that_several_persons_use_do_not_hand_a_person_all_curves():
    """M16: visits 1..4 of every person; the last person's points are in everybody's curves."""

    def table(last):
        rows = [
            (f"p{p}", f"v{v}", t, last if p == 5 else 0.0)
            for v in range(4)
            for p in [*range(v, 6), *range(v)]
            for t in (0.0, 0.5, 1.0)
        ]
        who, visit, time, height = zip(*rows, strict=True)
        return pa.table({"who": who, "visit": visit, "t": time, "x": height})

    options = {"long": ("visit", "t", "x"), "bounds": (0, 1), "unit": "who", "bound": 1.0}
    one, two = (summary_of(table(last), None, **options) for last in (1e6, -1e6))
    assert one.n == 6
    assert moved(one, two) <= 1


def test_one_record_does_not_decide_how_the_others_masks_are_read():
    """np.asarray drops the masks of a list; one odd record takes the way that keeps them."""

    def sample(last):
        heights = np.array([5.0] * 9 + [-5.0])
        mask = [True] * 9 + [False]
        return [*(np.ma.array(heights, mask=mask) for _ in range(19)), last]

    one, two = (summary_of(sample(last), T, bound=1.0) for last in (np.zeros(10), None))
    assert moved(one, two) <= 1


def test_one_record_does_not_decide_whether_there_is_an_error():
    def outcome(last):
        try:
            summary_of([[0.0] * 9, [0.0] * 9, last], T)
        except ValueError:
            return "error"
        return "release"

    assert outcome([0.0] * 9) == outcome([0.0] * 8)


def test_numbers_of_a_ragged_curve_do_not_follow_its_place(rng):
    """The last curve of a chunk is summed with one zero more: other pairs, other rounding."""
    how = summaries.Scattered(Polynomials((16,)), np.zeros(16))
    for _ in range(40):
        curve = (rng.random(232), rng.standard_normal(232))
        found = [
            next(how.pieces(next(open_curves(c, bounds=(0, 1)).chunks()))).numbers[0]
            for c in ([curve], [curve, ([0.5], [1.0])])
        ]
        assert np.array_equal(*found)


def test_near_points_do_not_coarsen_everybodys_heights():
    """Weights count as 2^-22 at least, so heights of the ball are below 2^11 of the bound."""
    grid = np.array([0, 1.5e-9, 0.5, 1])
    ones = summary_of(np.full((5, 4), 0.7), grid, bound=2.0)
    assert 2 * ones.coordinates()[0] == pytest.approx(0.7, abs=1e-5)


def release(**options):
    options = PROMISE | {"grid": T, "penalty": 0.01, "scale": 0.2, "size": 8, "rng": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.PrivacyWarning)
        return mercer.mean_curve(np.zeros((50, 10)), **options)


def test_a_frame_of_too_many_rows_is_refused_before_it_is_used(tmp_path, monkeypatch):
    path = tmp_path / "curve.json"
    release(delta=None).save(path)
    fields = json.loads(path.read_text())
    fields["frame"] = [[0.5] * 8] * 500  # 50 000 of them: MemoryError, or hours in eigh
    path.write_text(json.dumps(fields))
    monkeypatch.setattr(modes.Modes, "within", lambda *_: pytest.fail("used"))
    with pytest.raises(ValueError, match="not a valid release"):
        mercer.load(path)


def test_order_paper_loads_where_eigenvectors_have_other_signs(tmp_path, monkeypatch):
    path = tmp_path / "curve.json"
    made = release(order="paper")
    made.save(path)
    eigh = np.linalg.eigh

    def elsewhere(matrix):
        values, vectors = eigh(matrix)
        return values, vectors * np.where(np.arange(len(values)) % 2, -1.0, 1.0)

    monkeypatch.setattr(np.linalg, "eigh", elsewhere)
    for cached in (modes.modes, modes._line):
        cached.cache_clear()
    try:
        assert mercer.load(path)(0.5) == pytest.approx(made(0.5))
    finally:
        monkeypatch.undo()
        for cached in (modes.modes, modes._line):
            cached.cache_clear()


def test_bands_of_very_high_level_are_wider_or_refused():
    made = release(delta=None)
    widths = []
    for level in (0.9999, 0.999999):
        try:
            band = made.band([0.5], level)
        except ValueError:
            return
        widths.append(float(band.upper[0] - band.lower[0]))
    assert widths[1] > widths[0] * 1.01


def test_the_rule_knows_that_groups_share_the_budget(monkeypatch):
    """disjoint=False stretches the noise by the number of groups (pure); the rule must see it."""
    from mercer.api.recipes.curve import CurveRecipe

    seen = []
    original = CurveRecipe.error

    def watched(self, *args, **kwargs):
        value = original(self, *args, **kwargs)
        seen.append(value)
        return value

    monkeypatch.setattr(CurveRecipe, "error", watched)
    two = {"a": np.zeros((500, 10)), "b": np.zeros((500, 10))}
    totals = []
    for disjoint in (True, False):
        seen.clear()
        mercer.mean_curves(
            two,
            disjoint=disjoint,
            grid=T,
            bound=1,
            epsilon=1,
            size=8,
            penalty=0.01,
            scale=0.2,
            eta=1.0,
            rng=0,
        )
        totals.append(seen[0])
    assert totals[1] > 2 * totals[0]
