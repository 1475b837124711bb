"""Live releases for tests: small, of every kind, in every store."""

import numpy as np

import mercer
from tests.helpers.children import in_a_child

AGES = np.linspace(1.0, 99.0, 60)
PAIRS = np.column_stack([AGES, AGES[::-1] / 2])
KINDS = {
    "coordinates": {"kernel": "gaussian", "bandwidth": 10},
    "exponential": {"kernel": "exponential", "bandwidth": 10},
    "matern32": {"kernel": "matern32", "bandwidth": 10},
    "matern52": {"kernel": "matern52", "bandwidth": 10},
    "cholesky": {"kernel": "exponential", "bandwidth": (10, 5), "bounds": [(0, 100), (0, 50)]},
    "cholesky line": {"kernel": "gaussian", "bandwidth": 10, "route": "cholesky"},
}


def make(store, kind="exponential", name="live", **more):
    """A live release of sixty made-up people."""
    data = PAIRS if "bounds" in KINDS[kind] else AGES
    options = {"bounds": (0, 100), "epsilon": 1, "delta": 1e-6, "store": store, "name": name}
    return mercer.live(data, **(options | KINDS[kind] | more))


def points_for(live, count, rng):
    """Random points, as rows where there are two columns."""
    d = live.domain.dimension
    unit = rng.random((count, d))
    rows = live.domain.lower + unit * live.domain.widths
    return rows[:, 0] if d == 1 else rows


def asked_elsewhere(place, name, points):
    """The answers that another process gets, to the last bit."""
    said = in_a_child(f"""
import mercer
live = mercer.open_live({place!r}, {name!r})
print(*[float(v).hex() for v in live.ask({np.asarray(points).tolist()!r})])
live.close()
""")
    return np.array([float.fromhex(v) for v in said.split()])
