"""SmartNoise's MST or AIM on rows of codes: a program for an environment of its own.

SmartNoise needs older versions of pandas and OpenDP than Mercer is tested with, and PyTorch.  So it
has its own environment, whose Python the variable MERCER_SMARTNOISE names:

    python3.11 -m venv ENV && ENV/bin/pip install smartnoise-synth==1.0.8

`peers/tables.py` calls `main` there, with a folder: task.json (kind, epsilon, delta, seed, sizes) and
codes.npy go in, drawn.npy comes out.  Nothing of Mercer is imported.

Two things are put right, in its favour, and nothing else.  mbi 1.1.0 draws the children of one
column in the same order, so that columns that the model has independent given that one come out
dependent: rows are drawn independently instead.  MST joins rare levels, and then scales their count
as if its query were scaled too: nothing is joined, as `peers/tables.py` has joined rare bins before.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["main"]


def main() -> None:
    import pandas as pd
    from mbi import MarkovRandomField
    from snsynth import Synthesizer
    from snsynth.transform import LabelTransformer, TableTransformer

    folder = Path(sys.argv[-1])
    task: dict[str, Any] = json.loads((folder / "task.json").read_text())
    np.random.seed(task["seed"])  # noqa: NPY002  its choices; its Gaussian noise takes no seed
    codes = np.load(folder / "codes.npy")
    columns = [f"c{j}" for j in range(codes.shape[1])]
    places = np.arange(max(task["sizes"]))
    every = {c: places % size for c, size in zip(columns, task["sizes"], strict=True)}
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in columns])
    transformer.fit(pd.DataFrame(every))  # all levels that are declared, not those that occur
    model = Synthesizer.create(task["kind"], epsilon=task["epsilon"], delta=task["delta"])
    order = [f"col{j}" for j in range(len(columns))]  # its own names
    model.compress_domain = lambda data, log: (data, log, lambda drawn: SimpleNamespace(df=drawn.df[order]))
    model.fit(pd.DataFrame(codes, columns=columns), transformer=transformer)
    draw = MarkovRandomField.synthetic_data
    MarkovRandomField.synthetic_data = partial(draw, model.synthesizer, method="sample")
    rows = model.sample(len(codes))
    np.save(folder / "drawn.npy", np.asarray(rows, dtype=np.int64))
