"""Random numbers for work on public values: error bands, synthetic samples, public designs.

No promise rests on these floating-point generators, and they never touch records.  Noise comes
from `mercer.noise`, which nothing right of the door may import.
"""

from __future__ import annotations

import numpy as np

__all__ = ["fresh", "simulation"]


def simulation(label: int) -> np.random.Generator:
    """A fixed stream for simulating public laws, so that a band is the same at every call."""
    return np.random.default_rng([0x4D65_7263_6572, label])


def fresh(rng: int | np.random.Generator | None) -> np.random.Generator:
    """A generator for post-processing: new from the operating system unless a seed is given."""
    return np.random.default_rng(rng)
