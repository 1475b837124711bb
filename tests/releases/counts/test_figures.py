"""Pictures of counts: what is drawn is what was released, and nothing else."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.image import imread
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Text

import mercer
from mercer.releases.counts.figure import MOST_STAIRS, CountPage

WARD = "general surgery and traumatology, second floor, left of the stairs"


def texts(figure):
    """All words of a picture."""
    return [" ".join(text.get_text().split()) for text in figure.findobj(Text) if text.get_text()]


def heights(figure, place=0):
    """Of standing bars, or lengths of lying ones."""
    patches = [p for p in figure.axes[place].patches if isinstance(p, Rectangle)]
    lying = len({round(p.get_height(), 9) for p in patches}) == 1 and patches[0].get_x() == 0
    return [p.get_width() if lying else p.get_height() for p in patches]


def error_bars(figure, place=0):
    """Lower and upper ends."""
    found = [c for c in figure.axes[place].collections if isinstance(c, LineCollection)]
    ends = [np.ptp(segment, axis=0).max() for c in found for segment in c.get_segments() if len(segment)]
    return np.array(ends)


@pytest.fixture(scope="module")
def ages():
    rng = np.random.default_rng()
    return mercer.histogram(rng.normal(50, 20, 2000), columns="age", bins=10, bounds=(0, 100), epsilon=0.1)


def people(many=1000):
    rng = np.random.default_rng()
    return [
        {"age": float(a), "sex": s, "ill": bool(i), "stage": g, "day": f"2020-{m:02d}-15"}
        for a, s, i, g, m in zip(
            rng.uniform(0, 100, many),
            rng.choice(["f", "m"], many),
            rng.random(many) < 0.3,
            rng.choice(["I", "II", "III"], many),
            rng.integers(1, 13, many),
            strict=True,
        )
    ]


DOMAIN = {
    "age": (0, 100),
    "sex": ["f", "m"],
    "ill": bool,
    "stage": {"ordered": ["I", "II", "III"]},
    "day": ("2020-01-01", "2020-12-31"),
}


def test_bins_have_bars_error_bars_and_the_promise(ages, tmp_path):
    figure = ages.plot(tmp_path / "a.png")
    assert imread(tmp_path / "a.png").shape[0] > 500
    assert heights(figure) == ages.counts.tolist()
    low, high = ages.interval(0.95)
    assert np.allclose(error_bars(figure), high - low)
    words = texts(figure)
    assert "Private histogram of age" in words
    assert f"{ages.privacy.short}; 2000 records" in words
    assert {"age", "count in each bin of 10"} <= set(words)
    assert any("95% intervals for the noise of privacy" in word for word in words)
    narrow = ages.plot(level=0.5, title="Ages")
    assert np.all(error_bars(narrow) < error_bars(figure))
    assert "Ages" in texts(narrow)
    plain = ages.plot(band=False)
    assert not len(error_bars(plain))
    assert not any("interval" in word for word in texts(plain))


def test_unequal_bins_are_drawn_by_area():
    values = [5] * 100 + [50] * 300
    release = mercer.histogram(values, columns="x", bins=[0, 10, 100], epsilon=400, insist=True)
    figure = release.plot()
    assert heights(figure) == [10, pytest.approx(300 / 90)]
    assert "count per unit of x" in texts(figure)


def test_many_bins_are_put_together_without_bias():
    """Noise of 4096 empty bins, rounded up to 0 one by one, would look like records."""
    release = mercer.histogram([0.5] * 1000, bins=4096, bounds=(0, 1), epsilon=1)
    figure = release.plot()
    (line,) = [p for p in figure.axes[0].patches if isinstance(p, StepPatch) and not p.get_fill()]
    values, edges, _ = line.get_data()
    assert len(values) <= MOST_STAIRS
    assert (edges[0], edges[-1]) == (0, 1)
    step = 4096 // len(values)
    sums = release.raw.reshape(-1, step).sum(axis=1)
    assert np.array_equal(values, np.maximum(sums, 0))
    assert values.sum() < release.counts.sum()
    kept = release.plot(band=False).axes[0].patches
    assert len(kept) == 1


def test_levels_stand_or_lie():
    few = mercer.histogram(
        ["a"] * 30 + ["b"] * 70, columns="kind", categories=["a", "b"], other="c", epsilon=400, insist=True
    )
    figure = few.plot()
    assert heights(figure) == [30, 70, 0]
    assert {"a", "b", "c", "kind", "count"} <= set(texts(figure))
    names = [f"{WARD} {i:02d}" for i in range(40)]
    many = mercer.histogram(
        names[:3] * 10 + names[20:21] * 5, columns="ward", categories=names, epsilon=400, insist=True
    )
    page = CountPage.of(many, None)
    assert page.size[1] > 8
    figure = many.plot()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == len(set(labels)) == 30
    assert labels[0] == "general surgery and traumato… the stairs 00"
    words = texts(figure)
    assert any("10 smaller ones are not shown" in word for word in words)
    whole = mercer.histogram([1, 2, 2, 5], columns="visits", bins=range(7), epsilon=400, insist=True)
    assert heights(whole.plot()) == [0, 1, 2, 0, 0, 1, 0]


def test_sparse_releases_show_their_threshold():
    values = [100] * 500 + [3000] * 300
    release = mercer.histogram(values, columns="x", bins=range(4096), epsilon=1, sparse=True)
    figure = release.plot()
    assert any(f"public threshold {release.threshold} are left out" in w for w in texts(figure))
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert lines[0].get_ydata()[0] == release.threshold
    few = mercer.histogram(values, columns="x", bins=20, bounds=(0, 4000), epsilon=1, sparse=True)
    shown = error_bars(few.plot())
    assert np.isfinite(shown).sum() == len(few.values)


def test_two_columns_are_a_map_with_numbers():
    rows = people()
    release = mercer.table(rows, domain=DOMAIN, columns=["age", "sex"], bins={"age": 4}, epsilon=1)
    figure = release.plot()
    (mesh,) = [c for c in figure.axes[0].collections if isinstance(c, QuadMesh)]
    assert np.array_equal(np.asarray(mesh.get_array()).reshape(2, 4), release.counts.T)
    words = texts(figure)
    assert all(f"{count}" in words for count in release.counts.reshape(-1))
    assert {"0", "25", "100", "f", "m", "age", "sex", "count"} <= set(words)
    assert "each count ± 6: 95% intervals for the noise of privacy, each for itself" in words
    turned = release.plot(columns=["sex", "age"])
    (mesh,) = [c for c in turned.axes[0].collections if isinstance(c, QuadMesh)]
    assert np.array_equal(np.asarray(mesh.get_array()).reshape(4, 2), release.counts)
    fine = mercer.table(
        rows, domain=DOMAIN, columns=["age", "day"], bins={"age": 40, "day": 12}, epsilon=1, sparse=True
    )
    figure = fine.plot()
    assert any("grey: cells at or below the public threshold" in word for word in texts(figure))
    (mesh,) = [c for c in figure.axes[0].collections if isinstance(c, QuadMesh)]
    assert int((~np.ma.getmaskarray(mesh.get_array())).sum()) == len(fine.values)


def test_more_columns_and_margins_are_a_page():
    rows = people()
    release = mercer.table(rows, domain=DOMAIN, bins={"age": 4, "day": 12}, epsilon=400, insist=True)
    figure = release.plot()
    assert len(figure.axes) == 5
    assert heights(figure, 2) == [sum(not row["ill"] for row in rows), sum(row["ill"] for row in rows)]
    words = texts(figure)
    assert {"age", "sex", "ill", "stage", "day", "false", "true", "III"} <= set(words)
    assert any(word.startswith("each column by itself; error bars: 95%") for word in words)
    pairs = mercer.table(rows, domain=DOMAIN, bins={"age": 4, "day": 12}, epsilon=1, margins=2)
    figure = pairs.plot()
    assert "Private margins of age, sex, ill, stage and day" in texts(figure)
    assert heights(figure, 1) == pytest.approx(pairs.margin("sex").counts)
    two = pairs.plot(columns=["sex", "stage"])
    assert any(word.startswith("each count ±") for word in texts(two))
    apart = mercer.table(rows, domain=DOMAIN, bins={"age": 4}, epsilon=1, columns=["age", "sex"], margins=1)
    assert len(apart.plot().axes) == 2
    with pytest.raises(ValueError, match="not together in any released margin"):
        apart.plot(columns=["age", "sex"])


def test_tables_too_large_to_list_show_their_largest_cells():
    domain = {f"q{i}": bool for i in range(40)}
    rows = [{name: i % 2 == 0 and k < 3 for k, name in enumerate(domain)} for i in range(600)]
    release = mercer.table(rows, domain=domain, epsilon=1)
    figure = release.plot()
    words = texts(figure)
    assert {"q0, q1, q2", "all false"} <= set(words)
    assert sorted(heights(figure))[-2:] == sorted(release.values.tolist())[-2:]
    assert any(word.startswith("Private table of q0") for word in words)
    with pytest.raises(ValueError, match="margins of a sparse release would miss"):
        release.plot(columns="q0")
    empty = mercer.table(rows[:60], domain=domain, epsilon=0.9, insist=True)
    assert texts(empty.plot())


def test_one_number_has_its_interval():
    truths = [True] * 300 + [False] * 700
    count = mercer.count(truths, columns="ill", epsilon=0.1)
    figure = count.plot()
    words = texts(figure)
    assert f"{count.count} of 1000" in words
    assert "Private count of ill" in words
    found = count.interval()
    line = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == 2)
    assert tuple(line.get_xdata()) == (found.lower, found.upper)
    share = mercer.proportion(truths, epsilon=0.1)
    assert "share of all records" in texts(share.plot(band=False))
    mean = mercer.random_statistic(
        [float(i % 9) for i in range(500)], epsilon=1, gamma=0.2, weaker_promise=True
    )
    assert any("WEAKER PROMISE" in word for word in texts(mean.plot()))


def test_what_cannot_be_drawn(ages, tmp_path):
    for options, kind, message in [
        ({"columns": ["size"]}, ValueError, "no column 'size'"),
        ({"columns": []}, ValueError, "one or more columns"),
        ({"columns": ["age", "age"]}, ValueError, "different ones"),
        ({"level": 1.5}, ValueError, r"level must be in \(0, 1\)"),
        ({"at": {"age": 3}}, TypeError, "has no option 'at'"),
    ]:
        with pytest.raises(kind, match=message):
            ages.plot(**options)
    with pytest.raises(ValueError, match="must end in"):
        ages.plot(tmp_path / "a.gif")
    with pytest.raises(ValueError, match="has none to choose from"):
        mercer.count([True, False] * 50, epsilon=1).plot(columns="x")
