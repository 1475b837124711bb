"""Pictures of mean curves: what they show, and what they refuse."""

import numpy as np
import pytest

import mercer

T = np.linspace(0, 2, 40)
PROMISE = {"epsilon": 1, "delta": 1e-6, "bound": 2}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng()
    curves = {
        name: np.sin(2 * T) + lift + 0.1 * rng.normal(size=(500, 1))
        for name, lift in (("cases", 0.0), ("controls", 0.8))
    }
    return mercer.mean_curves(curves, disjoint=True, grid=T, **PROMISE)


@pytest.fixture(scope="module")
def surfaces():
    u, v = np.linspace(0, 1, 12), np.linspace(-1, 1, 9)
    height = np.sin(2 * u)[:, None] * np.cos(2 * v)[None, :]
    return [
        mercer.mean_curve(np.tile(height * size, (800, 1, 1)), grid=(u, v), size=8, **PROMISE, rng=1)
        for size in (1.0, -1.0)
    ]


NOISE = "band for the noise alone, whole curve"
OWN = "band for the file's own mean, clipped, whole curve\n(credible: coverage measured, not a theorem)"


def words(figure):
    """All text of a picture."""
    found = [text.get_text() for text in figure.texts]
    found.append(figure.get_suptitle())
    for axes in figure.axes:
        found += [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="right")]
        legend = axes.get_legend()
        if legend:
            found += [text.get_text() for text in [*legend.get_texts(), legend.get_title()]]
    return [word for word in found if word]


def lines(figure):
    return [line.get_xydata() for line in figure.axes[0].get_lines()]


def test_a_mean_with_its_band(groups, tmp_path):
    one = groups["cases"]
    for kind in ("svg", "png"):
        figure = one.plot(tmp_path / f"mean.{kind}")
        assert (tmp_path / f"mean.{kind}").stat().st_size > 5000
    said = words(figure)
    assert "Private mean curve" in said
    assert "epsilon = 1, delta = 1e-06, one row; 500 records" in said
    assert {"t", "value", "released mean", f"95% {OWN}"} <= set(said)
    assert f"95% {NOISE}" in words(one.smooth(kernel="matern52").plot())
    (line,) = lines(figure)
    assert np.allclose(line[:, 1], one(line[:, 0]))
    (area,) = figure.axes[0].collections
    ends = area.get_paths()[0].vertices
    band = one.band(line[:, 0])
    assert np.isclose(ends[:, 1].max(), band.upper.max())
    assert np.isclose(ends[:, 1].min(), band.lower.min())
    assert not one.plot(band=False).axes[0].collections
    assert "Heights of boys" in words(one.plot(title="Heights of boys"))
    assert f"80% {OWN}" in words(one.plot(level=0.8))


def test_labels_and_size(groups, surfaces, tmp_path):
    figure = groups["cases"].plot(xlabel="age in years", ylabel="height in cm", size=(9, 6))
    assert {"age in years", "height in cm"} <= set(words(figure))
    assert not {"t", "value"} & set(words(figure))
    assert figure.get_size_inches().tolist() == [9, 6]
    assert "weeks" in words(mercer.plot_curves(groups, tmp_path / "both.svg", xlabel="weeks", size=(6, 4)))
    said = words(surfaces[0].plot(xlabel="east", ylabel="north"))
    assert (said.count("east"), said.count("north")) == (2, 2)  # of both maps, not of their scales
    for size in (3, (9,), ("a", 2)):
        with pytest.raises(TypeError, match=r"size must be \(width, height\) in inches"):
            groups["cases"].plot(size=size)
    with pytest.raises(ValueError, match="from 3 x 2 to 40 x 40 inches, got 1 x 4"):
        groups["cases"].plot(size=(1, 4))
    with pytest.raises(TypeError, match="xlabel must be text, got int"):
        groups["cases"].plot(xlabel=3)


def test_a_derivative(groups):
    one = groups["cases"]
    figure = one.plot(derivative=1)
    line, zero = lines(figure)
    assert np.allclose(line[:, 1], one.derivative(line[:, 0]))
    assert np.all(zero[:, 1] == 0)
    said = words(figure)
    assert {"Private mean curve: derivative", "d value / dt", "released derivative"} <= set(said)
    said = words(one.plot(derivative=2))
    assert {"Private mean curve: second derivative", "d^2 value / dt^2"} <= set(said)


def test_a_difference(groups):
    apart = groups["controls"] - groups["cases"]
    figure = apart.plot()
    line, zero = lines(figure)
    assert np.allclose(line[:, 1], apart(line[:, 0]))
    assert np.all(zero[:, 1] == 0)
    said = words(figure)
    assert "Difference of private mean curves" in said
    assert "each: epsilon = 1, delta = 1e-06, one row; 500, 500 records" in said
    assert {"difference in value", "released difference", "zero is outside the band"} <= set(said)
    assert "zero is outside the band" not in words(apart.plot(band=False))
    twice = (apart - groups["cases"]).plot()  # a release that is in it twice is named once
    assert "each: epsilon = 1, delta = 1e-06, one row; 500, 500 records" in words(twice)


def test_several_in_one_picture(groups, tmp_path):
    figure = mercer.plot_curves(groups, tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 5000
    said = words(figure)
    assert {"cases", "controls", "Private mean curves"} <= set(said)
    assert "each: epsilon = 1, delta = 1e-06, one row; 500, 500 records" in said
    assert f"shaded: 95% {OWN}" in said
    drawn = figure.axes[0].get_lines()
    styles = {line.get_label(): line.get_linestyle() for line in drawn if line.get_label()[0] != "_"}
    assert styles == {"cases": "-", "controls": "--"}  # told apart in grey
    pure = mercer.mean_curve(np.ones((300, 40)), grid=T, bound=2, epsilon=1)
    three = groups | {"pure": pure}
    said = words(mercer.plot_curves(three, title="All", band=False, derivative=1))
    assert "All" in said
    assert "d value / dt" in said
    assert (
        "each: epsilon = 1, delta = 1e-06, one row; 500, 500 records | epsilon = 1, pure, one row; "
        "300 records"
    ) in said
    assert "Private mean curve" in words(mercer.plot_curves({"one": pure}, band=False))


def test_surfaces(surfaces, tmp_path):
    one, other = surfaces
    figure = one.plot(tmp_path / "s.png")
    assert (tmp_path / "s.png").stat().st_size > 5000
    said = words(figure)
    assert {"Private mean surface", "t1", "t2", "value"} <= set(said)
    assert "standard deviation of the noise" in said
    seeded = "NOT PRIVATE (seeded): epsilon = 1, delta = 1e-06, one row; 800 records"
    assert seeded in said
    said = words((one - other).plot())
    assert "Difference of private mean surfaces" in said
    assert "dotted: zero is in the 95% band" in said
    assert "d^2 value / dt1 dt2" in words(one.plot(derivative=(1, 1), band=False))


def test_what_is_refused(groups, surfaces):
    one = groups["cases"]
    with pytest.raises(ValueError, match=r"path must end in"):
        one.plot("mean.jpg")
    with pytest.raises(ValueError, match=r"path must end in"):
        mercer.plot_curves(groups, "mean.jpg")
    with pytest.raises(TypeError, match="picture of a mean curve has no option 'columns'"):
        one.plot(columns=["t"])
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\)"):
        one.plot(level=2)
    with pytest.raises(ValueError, match="order must be a whole number"):
        one.plot(derivative=-1)
    with pytest.raises(ValueError, match="releases must be 1 to 8 mean curves by name"):
        mercer.plot_curves([one])
    with pytest.raises(ValueError, match="releases must be 1 to 8 mean curves by name"):
        mercer.plot_curves({})
    with pytest.raises(TypeError, match="'b' is a ndarray"):
        mercer.plot_curves({"a": one, "b": np.ones(40)})
    with pytest.raises(ValueError, match="curves of one argument over the same bounds"):
        mercer.plot_curves({"a": surfaces[0]})
    wider = mercer.mean_curve(np.ones((300, 40)), grid=T, bounds=(0, 3), **PROMISE)
    with pytest.raises(ValueError, match="over the same bounds"):
        mercer.plot_curves({"a": one, "b": wider})
