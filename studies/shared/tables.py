"""Three real tables with public domains, and drawn stand-ins: what the studies of tables share.

The files lie in the folder that MERCER_DATA names, or that is given.  A domain is a plain dict,
column -> (lower, upper) for numbers, a range for integers, a list of levels for categories: what
`mercer.Domain` takes.  Bounds and levels come from general knowledge of the columns, not from the
rows.  Training and test rows are told apart by a fixed public rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from studies.shared.report import data_file

__all__ = ["SPECS", "Column", "Domain", "Spec", "Table", "span", "stand_in", "table"]

Column = tuple[float, float] | range | list[Any]
Domain = dict[str, Column]


@dataclass(frozen=True)
class Spec:
    """What is public about a table: its domain, and what a classifier shall say of a row."""

    title: str
    file: str
    domain: Domain
    target: str  # a column, left out of the classifier's inputs
    above: float  # the class is whether the target exceeds this

    def label(self, frame: pd.DataFrame) -> Any:
        """Classes of rows, True or False."""
        return (frame[self.target].to_numpy(dtype=float) > self.above).astype(bool)


@dataclass(frozen=True)
class Table:
    """Rows to learn from, rows to test on."""

    name: str
    train: pd.DataFrame
    test: pd.DataFrame

    @property
    def spec(self) -> Spec:
        """What is public."""
        return SPECS[self.name]


YES = [0, 1]
ACTIVITIES = (  # probable meaning of the sixteen positions, in the order of the file
    "eating",
    "bed",
    "inside",
    "dressing",
    "bathing",
    "toilet",
    "heavy_housework",
    "light_housework",
    "laundry",
    "cooking",
    "shopping",
    "outside",
    "travelling",
    "money",
    "medicine",
    "telephone",
)

SPECS = {
    "california": Spec(
        "California housing",
        "california_housing_xy.csv",
        {
            "longitude": (-125.0, -114.0),
            "latitude": (32.0, 42.0),
            "median_income": (0.0, 15.0),  # in 10,000 dollars
            "median_house_value": (0.0, 500_001.0),  # the census' own cap
        },
        "median_house_value",
        200_000.0,
    ),
    "adult": Spec(
        "Adult",
        "adult_numeric.csv.gz",
        {
            "age": range(17, 91),
            "education_num": range(1, 17),
            "log_capital_gain": (0.0, math.log1p(100_000)),  # log(1 + dollars)
            "log_capital_loss": (0.0, math.log1p(5_000)),
            "hours_per_week": range(1, 100),
            "sex_male": YES,
            "married": YES,
            "income_gt_50k": YES,
        },
        "income_gt_50k",
        0.5,
    ),
    "nltcs": Spec("NLTCS", "nltcs_2x16_counts.csv", dict.fromkeys(ACTIVITIES, YES), "bathing", 0.5),
}


def span(column: Column) -> tuple[float, float]:
    """The bounds of numbers, or the least and the largest of integers."""
    if isinstance(column, list):
        raise TypeError(f"column must be (lower, upper) or a range, got {len(column)} levels")
    if isinstance(column, range):
        return float(column[0]), float(column[-1])
    return column


@lru_cache(maxsize=8)
def table(name: str, folder: str | None = None) -> Table:
    """A table from its file in `folder`, by default the folder that MERCER_DATA names."""
    if name not in SPECS:
        raise ValueError(f"name must be one of {', '.join(SPECS)}, got {name!r}")
    path = data_file(SPECS[name].file, folder)
    if name == "nltcs":
        counts = pd.read_csv(path, dtype={"pattern": str})
        digits = np.array([list(p) for p in counts["pattern"]]).astype(int)
        rows = np.repeat(digits, counts["count"].to_numpy(), axis=0)
        return _split(name, pd.DataFrame(rows, columns=list(ACTIVITIES)))
    frame = pd.read_csv(path)
    if name == "california":
        return _split(name, frame)
    for part in ("gain", "loss"):  # a public transform: nine rows in ten are 0, the others large
        frame[f"log_capital_{part}"] = np.log1p(frame[f"capital_{part}"])
    columns = list(SPECS["adult"].domain)
    train = frame["split"] == "train"
    parts = (frame.loc[mask, columns].reset_index(drop=True) for mask in (train, ~train))
    return Table(name, *parts)


def stand_in(name: str, rows: int = 2000, seed: int = 0) -> Table:
    """Drawn rows on the same domain, for runs without files: one hidden number moves all columns.

    Four rows in five are to learn from.
    """
    rng = np.random.default_rng([seed, list(SPECS).index(name)])
    spec = SPECS[name]
    hidden = rng.normal(size=rows)
    columns: dict[str, Any] = {}
    for column, values in spec.domain.items():
        unit = 1 / (1 + np.exp(-(1.5 * hidden + rng.normal(size=rows))))
        if isinstance(values, list):
            columns[column] = np.array(values)[np.minimum(unit * len(values), len(values) - 1e-9).astype(int)]
        elif isinstance(values, range):
            columns[column] = np.array(values)[(unit * (len(values) - 1)).round().astype(int)]
        else:
            columns[column] = values[0] + unit * (values[1] - values[0])
    return _split(name, pd.DataFrame(columns))


def _split(name: str, frame: pd.DataFrame) -> Table:
    """The last fifth of a fixed shuffle is to test on."""
    order = np.random.default_rng(20_240_101).permutation(len(frame))
    k = len(frame) - len(frame) // 5
    parts = (frame.iloc[order[a:b]].reset_index(drop=True) for a, b in ((0, k), (k, len(frame))))
    return Table(name, *parts)
