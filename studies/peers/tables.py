"""Ways to make a synthetic table, all called alike: what Mercer's is compared with.

    synthesise(frame, domain, *, epsilon, delta, seed) -> (frame, weights)

Neighbours replace one row; the number of rows is public.  Every method sees the same public domain.
Noise is seeded and in floating point, so nothing here is private.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.peers.merf import Settings, merf
from studies.peers.trees import Cut, independent, spanning_tree, zcdp_rho
from studies.shared.report import Floats
from studies.shared.tables import Domain

__all__ = ["METHODS", "Synthesise", "available", "ours", "resampled", "smartnoise"]

Synthesise = Callable[..., tuple[pd.DataFrame, Floats | None]]
PYTHON = "MERCER_SMARTNOISE"  # the Python of an environment that has smartnoise-synth
# Its neighbours add or remove a row, so a table moves by 1 in one cell.  Where one row is replaced,
# noise on tables costs 2 times the rho it says, a choice by an l1 distance 4 times.  MST spends a
# third on columns, choice and pairs each; AIM a tenth on choices.
DEARER = {"mst": (2 + 4 + 2) / 3, "aim": 0.9 * 2 + 0.1 * 4}
COLUMNS = 0.2  # of rho: noisy columns, from which its bins are chosen


def ours(
    frame: pd.DataFrame, domain: Domain, *, epsilon: float, delta: float, seed: int, size: int | None = None
) -> tuple[pd.DataFrame, Floats | None]:
    """Mercer's, with all choices as they are by default."""
    import mercer

    declared = {
        name: {"type": "categorical", "levels": column} if isinstance(column, list) else column
        for name, column in domain.items()
    }
    release = mercer.synthetic(
        frame, domain=mercer.Domain(declared), epsilon=epsilon, delta=delta, size=size, rng=seed
    )
    rows = release.to_frame()
    return rows, rows.pop("weight").to_numpy()


def resampled(
    frame: pd.DataFrame, domain: Domain, *, epsilon: float, delta: float, seed: int
) -> tuple[pd.DataFrame, Floats]:
    """The rows themselves, drawn again with replacement: not private, and as good as can be."""
    del domain, epsilon, delta
    n = len(frame)
    chosen = np.random.default_rng(seed).integers(n, size=n)
    return frame.iloc[chosen].reset_index(drop=True), np.full(n, 1 / n)


def smartnoise(
    frame: pd.DataFrame,
    domain: Domain,
    *,
    epsilon: float,
    delta: float,
    seed: int,
    kind: str = "mst",
    replaced: bool = True,
) -> tuple[pd.DataFrame, Floats]:
    """MST or AIM of SmartNoise, in its own environment.

    It knows categories alone.  As in `spanning_tree`, columns are measured on fine bins first, and
    their groups are its categories; drawn rows are spread in a group as the noisy column says.

    Its neighbours add or remove one row, a weaker promise than all others here give.  `replaced`
    asks it for so much less that the promise holds where one row is replaced.
    """
    python = os.environ.get(PYTHON)
    if not python:
        raise ValueError(f"{PYTHON} must name the Python of an environment with smartnoise-synth")
    rng = np.random.default_rng(seed)
    d, rho = len(domain), zcdp_rho(epsilon=epsilon, delta=delta)
    rest = (1 - COLUMNS) * rho / (DEARER[kind] if replaced else 1)
    sd_one = math.sqrt(d * (2 if replaced else 1) / (2 * COLUMNS * rho))
    cut, codes = Cut.of(frame, domain, sd_one, math.sqrt(3 * (d - 1) / (2 * rest)), rng)
    task = {"kind": kind, "epsilon": _epsilon(rest, delta), "delta": delta, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "task.json").write_text(json.dumps({**task, "sizes": cut.sizes}))
        np.save(place / "codes.npy", codes)
        program = "from studies.peers import smartnoise; smartnoise.main()"
        done = subprocess.run(
            [python, "-W", "ignore", "-c", program, folder],
            cwd=Path(__file__).parent.parent.parent,
            capture_output=True,
            text=True,
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        )
        if done.returncode:
            end = f"{done.returncode}: {done.stderr[-2000:]}"
            raise RuntimeError(f"smartnoise-synth ended with {end}")
        rows = np.load(place / "drawn.npy")
    return cut.frame(rows, domain, rng), np.full(len(rows), 1 / len(rows))


def _epsilon(rho: float, delta: float) -> float:
    """The epsilon whose rho this is."""
    from scipy.optimize import brentq

    def excess(log_epsilon: float) -> float:
        return zcdp_rho(epsilon=math.exp(log_epsilon), delta=delta) - rho

    return math.exp(float(brentq(excess, math.log(1e-3), math.log(100.0), xtol=1e-6)))


METHODS: dict[str, tuple[str, Synthesise]] = {
    "ours": ("Mercer", ours),
    "merf": ("DP-MERF, our version", merf),
    "tree": ("tree of pairs, our version of MST", spanning_tree),
    "mst": ("MST of SmartNoise", partial(smartnoise, kind="mst")),
    "aim": ("AIM of SmartNoise", partial(smartnoise, kind="aim")),
    "aim-own": ("the same, its own neighbours", partial(smartnoise, kind="aim", replaced=False)),
    "independent": ("independent columns", independent),
    "resampled": ("rows drawn again, not private", resampled),
}


def available(quick: bool = False) -> dict[str, tuple[str, Synthesise]]:
    """Methods that can run here; small sizes for a quick run."""
    found: dict[str, Any] = dict(METHODS)
    if not os.environ.get(PYTHON) or quick:
        found = {k: v for k, v in found.items() if not k.startswith(("mst", "aim"))}
        if not quick:
            print(f"{PYTHON} names no Python: without SmartNoise", file=sys.stderr)
    if quick:
        small = Settings(frequencies=50, batch=256, steps=100)
        found["ours"] = (found["ours"][0], partial(ours, size=50))
        found["merf"] = (found["merf"][0], partial(merf, settings=small))
    return found
