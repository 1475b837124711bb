"""Are faults in kernel machines found?  M8's and the papers' (E9), planted, and what catches them.

For every fault the same check is run on Mercer's own code, where it must find nothing.  Audits
are Clopper-Pearson lower bounds on epsilon at confidence 1 - 1e-9; replays are exact.

    python -m studies.faults.machine_faults
    python -m studies.faults.machine_faults --quick --out FOLDER
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import PropertyMock, patch

import numpy as np

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.door.objective import tilted_noise
from mercer.noise.entropy import Seeded
from mercer.promise.events import Sensitivity
from mercer.sensitive.data import open_rows
from mercer.sensitive.labels import Classes, Labels
from mercer.sensitive.summaries.curvature import CurvatureCells, curvature_bound
from mercer.sensitive.summaries.machine import MachineBounds, MachineSummary
from mercer.sensitive.summaries.risk import Examples, Machine, Risk
from mercer.spaces.losses import Hinge
from mercer.spaces.maps import Linear
from studies.faults.planted_faults import CONFIDENCE, Finding, replayed, table
from studies.shared.report import Floats

PROMISE = {"epsilon": 1.0, "delta": 1e-6}


def rows(n: int = 61) -> tuple[Floats, Floats]:
    """A narrow table of two classes, and its neighbour: the majority of the classes changes."""
    x = np.linspace(0.49, 0.51, n)
    one = np.column_stack([x, np.arange(n) % 2])
    other = one.copy()
    other[0, 1] = 1 - other[0, 1]
    return one, other


def learn(data: Floats, rng: Any, **options: Any) -> Any:
    return mercer.classifier(
        data[:, :1],
        data[:, 1],
        classes=(0, 1),
        bounds=(0, 1),
        method="output",
        penalty=0.05,
        width=0.05,
        kernel="linear",
        **PROMISE,
        rng=rng,
        **options,
    )


def free_intercept() -> Finding:
    """A constant so large that its weight is hardly penalised, and a bound that forgets it."""

    def faulty(data: Floats, rng: Any) -> Any:
        with patch.object(Linear, "kappa", new_callable=PropertyMock, return_value=1.0):
            return learn(data, rng, constant=30.0)

    return replayed("an intercept free of the penalty (E9)", faulty, learn, rows(2001))


def loose_solver() -> Finding:
    """Gradient steps until the objective falls by less than a tolerance that the pair straddles."""
    falls: list[float] = []
    tolerance = 0.0

    def stops(risk: Risk, aims: Floats) -> Floats:  # noqa: ARG001
        w, before = np.zeros((1, risk.size)), np.inf
        for step in range(40):
            here = risk.sweep(w, curve=False)
            if step == 8:
                falls.append(before - here.value[0])
            if before - here.value[0] < tolerance:
                break
            before, w = here.value[0], w - here.gradient / 6
        return w

    def faulty(data: Floats, rng: Any) -> Any:
        with patch("mercer.sensitive.summaries.machine.minimise", stops):
            return learn(data, rng)

    x = np.linspace(0.0, 1.0, 2001)
    one = np.column_stack([x, x > 0.5])
    other = one.copy()
    other[-1, 1] = 0
    for data in (one, other):
        faulty(data, 0)
    tolerance = float(np.mean(falls))
    return replayed("a solver with a loose tolerance (E9)", faulty, learn, (one, other))


def penalty_from_the_data() -> Finding:
    def faulty(data: Floats, rng: Any) -> Any:
        return mercer.classifier(
            data[:, :1],
            data[:, 1],
            classes=(0, 1),
            bounds=(0, 1),
            method="output",
            penalty=0.05 + 0.1 * float(data[:, 1].mean()),
            **PROMISE,
            rng=rng,
        )

    return replayed("a penalty read from the data", faulty, learn, rows())


def classes_from_the_data() -> Finding:
    one, other = rows()
    other[0, 1] = 7

    def faulty(data: Floats, rng: Any) -> Any:
        return mercer.classifier(
            data[:, :1],
            data[:, 1],
            classes=np.unique(data[:, 1]),
            bounds=(0, 1),
            method="output",
            penalty=0.05,
            **PROMISE,
            rng=rng,
        )

    return replayed("classes read from the data", faulty, learn, (one, other))


def banded(data: Floats, rng: Any) -> Any:
    """Noise in the objective, and curvature counted for its band."""
    options: dict[str, Any] = {"bounds": (0, 1), "y_bounds": (-1, 1), "loss": "squared", **PROMISE}
    return mercer.regression(data[:, :1], data[:, 1], **options, method="objective", rng=rng)


def counted() -> tuple[Floats, Floats]:
    """A row goes from one end of the column to the other, with another response."""
    x = np.linspace(0.0, 1.0, 401)
    one = np.column_stack([x, np.sin(6 * x)])
    other = one.copy()
    other[0] = (1.0, 1.0)
    return one, other


def little_curvature() -> Finding:
    """Counts of curvature whose bound forgets that a row that is replaced goes somewhere."""
    from mercer.sensitive.summaries import curvature

    def half(machines: Any) -> Sensitivity:
        return Sensitivity(curvature_bound(machines).value / 2, norm="l1")

    def faulty(data: Floats, rng: Any) -> Any:
        with patch.object(curvature, "curvature_bound", half):
            return banded(data, rng)

    return replayed("curvature counted with half its bound", faulty, banded, counted())


def curvature_of_the_records() -> Finding:
    """Cells of curvature that begin where the smallest response is."""
    coordinates = CurvatureCells.coordinates

    def moved(cells: Any) -> Any:
        shift = min(float(piece.target.min()) for piece in cells._examples.fold_points(lambda piece: piece))
        return np.roll(coordinates(cells), round(4 * shift))

    def faulty(data: Floats, rng: Any) -> Any:
        with patch.object(CurvatureCells, "coordinates", moved):
            return banded(data, rng)

    one, other = counted()
    low = np.array([one, other])
    low[:, :, 1] = np.clip(low[:, :, 1], -0.5, 1.0)
    low[1, 0, 1] = -1.0
    return replayed("cells of curvature placed by the records", faulty, banded, (low[0], low[1]))


@contextmanager
def weaker(share: float) -> Iterator[None]:
    """The random slope too small."""
    from mercer.door.objective import Tilt

    draw = Tilt.draw
    with patch.object(Tilt, "draw", lambda tilt, *a: share * draw(tilt, *a)):
        yield


def little_slope(runs: int, share: float = 0.8) -> Finding:
    """Many releases at once, as machines of one problem on three rows."""
    promise = {"epsilon": 1.0, "delta": 1e-2}

    def released(y: list[int], seed: int) -> Floats:
        x, features = np.array([[1.0], [0.3], [0.6]]), Linear(0.0, 1)
        answer = Labels(np.array(y), Classes((0, 1)))
        source = open_rows(x, columns=None, unit=None, dimension=1, labels=answer)
        examples = Examples(source, Box.of((0, 1), source.names))
        machine = Machine(Hinge(0.05), 60.0, 1)
        noise = tilted_noise(MachineBounds((machine,), features, 3), **promise)
        many = MachineSummary(examples, MachineBounds((machine,) * runs, features, 3), unit="row")
        entropy = Seeded(seed)
        weights = many.tilted(noise.tilt.draw(runs, entropy))
        return noise.finish.add(weights, entropy)

    def bound(seed: int) -> float:
        one, two = released([0, 1, 0], seed), released([1, 1, 0], seed + 1)
        return epsilon_lower_bound(two, one, delta=1e-2, confidence=CONFIDENCE)

    good = bound(11)
    with weaker(share):
        bad = bound(13)
    return Finding(
        f"noise in the objective x {share:g}",
        "audit",
        "epsilon 1, delta 0.01",
        f"epsilon >= {bad:.3f}",
        f"epsilon >= {good:.3f}",
        bad > 1 >= good,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    slope = little_slope(40_000, 0.5) if options.quick else little_slope(1_500_000)
    found = [free_intercept(), loose_solver(), penalty_from_the_data(), classes_from_the_data()]
    found += [slope, little_curvature(), curvature_of_the_records()]
    options.out.mkdir(parents=True, exist_ok=True)
    text = (
        "# Planted faults in kernel machines\n\nWays to break a machine's promise, planted on "
        "purpose, and what the checks of this library say\nof them and of Mercer's code. Audits: "
        "lower bounds on epsilon at confidence 1 - 1e-9.\n\n"
        + table(found)
        + f"\n\nmercer {mercer.__version__}, python {platform.python_version()}, "
        f"numpy {np.__version__}.\n"
    )
    (options.out / "machine_faults.md").write_text(text, encoding="utf-8")
    print(table(found))
    if not all(f.caught for f in found):
        raise SystemExit("a planted fault was not caught")


if __name__ == "__main__":
    main()
