"""What does a draw of orbitope noise cost, and what would the thesis' Markov chain?

Uniform points of the body of moments: Mercer's recursion, vectorised in doubles (for studies,
audits and error bands) and exact in balls (for releases), beside hit-and-run (thesis, Sec. 4.4.4),
which needs many steps a draw and is right only in the limit.
"""  # noqa: D400

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, toeplitz

from common import options, race, report, table, verdict
from mercer.noise import entropy
from mercer.noise.laws import uniform_moments
from mercer.noise.mechanisms import Orbitope
from mercer.promise.events import Sensitivity

NOTE = """\
Milliseconds are the least of {repeats} after a warm-up.  *Doubles*: {runs:,} draws at once.
*Exact*: one release's noise, two draws and their rounding included.  *Hit-and-run*: one step from
the middle, a generalised eigenvalue problem; a chain forgets where it began after some multiple
of the squared dimension of steps, and never quite, so the column "chain" multiplies by that."""


def step(point: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One step of hit-and-run in the real body: uniform on a random chord."""
    direction = rng.standard_normal(point.size)
    here = toeplitz(np.concatenate([[1.0], point]))
    there = toeplitz(np.concatenate([[0.0], direction]))
    slopes = eigh(there, here, eigvals_only=True)  # the chord ends where 1 + t slope = 0
    low, high = -1 / slopes[-1], -1 / slopes[0]
    return point + direction * rng.uniform(low, high)


def main() -> None:
    args = options(__doc__)
    runs, repeats, degrees = (500, 2, (8,)) if args.quick else (10_000, 5, (8, 16, 32, 64, 128))
    rng = np.random.default_rng()
    source = entropy.Secure()
    rows, seconds = [], {}
    for m in degrees:
        noise = {
            real: Orbitope(real).calibrate(
                Sensitivity(1e-4, "cosines" if real else "moments"), (1 if real else 2) * m + 1, epsilon=1.0
            )
            for real in (True, False)
        }
        seconds = race(
            {
                "real": lambda m=m: uniform_moments(m, runs, rng, real=True),
                "complex": lambda m=m: uniform_moments(m, runs, rng, real=False),
                "exact real": lambda m=m, n=noise: n[True].add(np.zeros(m + 1), source),
                "exact complex": lambda m=m, n=noise: n[False].add(np.zeros(2 * m + 1), source),
                "step": lambda m=m: step(np.zeros(m), rng),
            },
            repeats,
        )
        ms = {name: 1e3 * value for name, value in seconds.items()}
        rows.append(
            [
                str(m),
                *(f"{ms[name]:.3g}" for name in ("real", "complex", "exact real", "exact complex", "step")),
                f"{ms['step'] * m**2:.3g}",
            ]
        )
        if m == 64:
            at_64 = seconds
    head = [
        "m",
        f"doubles, real ({runs:,})",
        f"doubles, complex ({runs:,})",
        "exact, real",
        "exact, complex",
        "hit-and-run step",
        "chain, one draw",
    ]
    parts = [NOTE.format(repeats=repeats, runs=runs), table(head, rows)]
    if not args.quick:
        parts.append(verdict("seconds for 10,000 real draws, m = 64", at_64["real"], 1.0))
        parts.append(verdict("seconds for 10,000 complex draws, m = 64", at_64["complex"], 1.0))
    report("orbitope", __doc__, parts, args)


if __name__ == "__main__":
    main()
