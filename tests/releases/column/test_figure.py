"""Pictures of counted columns, and how days are written beside an axis."""

from itertools import pairwise

import numpy as np
import pytest

import mercer
from mercer.releases.column.figure import draw, grouped


@pytest.mark.parametrize("most", [159, 160, 321, 399])
def test_bars_of_fewer_values_are_scaled(most):
    """Where every value holds as many records, all bars are of one height, and no two are far apart in width."""
    values = np.repeat(np.arange(most + 1), 3)
    made = mercer.density(values, bounds=(0, most), step=1, epsilon=400, insist=True, rng=None)
    _, widths, height, lower, upper = grouped(made, 0.95)
    assert np.ptp(widths) <= 1
    assert height == pytest.approx(np.full(len(height), max(widths) / (most + 1)), rel=1e-9)
    assert np.all((lower <= height) & (height <= upper))


@pytest.mark.parametrize(
    ("bounds", "step", "words"),
    [
        ((0, 100), 1, "per value, %"),
        ((0, 321), 1, "per 3 values, %"),
        ((0, 3000), 0.01, "per 18.76 units of x, %"),
        (("2023-01-01", "2023-12-31"), 1, "per 3 days, %"),
    ],
)
def test_a_bar_is_named_in_units(bounds, step, words):
    data = np.datetime64("2023-01-01") + np.arange(9) if isinstance(bounds[0], str) else [1.0, 2.0]
    made = mercer.density(data, bounds=bounds, step=step, epsilon=1)
    assert draw(made, level=None, title=None).axes[0].get_ylabel() == f"share of the records {words}"


def test_days_do_not_overlap():
    """Ticks of a year of days are a few, whether they were counted, smoothed or put into bins."""
    days = np.datetime64("2023-01-01") + np.arange(365)
    year = {"bounds": ("2023-01-01", "2023-12-31"), "epsilon": 1}
    made = (
        mercer.density(days, **year),
        mercer.density(days, step=1, **year),
        mercer.histogram(days, bins=9, **year),
    )
    for release in made:
        figure = release.plot()
        figure.canvas.draw()
        axes = figure.axes[0]
        boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        assert 2 <= len(boxes) <= 8
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
