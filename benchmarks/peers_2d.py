"""How fast is a map of one million points beside a density estimate without privacy?

In memory, two columns, values on a grid of 512 x 512 points, bandwidth a fiftieth of the width.
The rival, KDEpy's FFTKDE, bins and convolves, and makes no promise.
"""  # noqa: D400

from __future__ import annotations

import numpy as np
from KDEpy import FFTKDE

import mercer
from common import options, race, report, table, verdict

H = 0.02
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
NOTE = """\
Times are the least of {repeats} after a warm-up; {rows:,} rows in the unit square, {side} x
{side} points.  Mercer's time is that of `mercer.density(..., bandwidth={h:g})` with secure noise
and of `release.grid(ticks, ticks)`."""


def places(n: int) -> np.ndarray:
    """Points strictly inside the unit square: KDEpy wants all of them inside its grid."""
    rng = np.random.default_rng(2)
    first, second = n // 2, n - n // 2
    left = np.column_stack([rng.beta(4, 9, first), rng.beta(5, 5, first)])
    right = np.column_stack([rng.beta(20, 8, second), rng.beta(9, 3, second)])
    return rng.permutation(np.clip(np.concatenate([left, right]), 1e-6, 1 - 1e-6))


def release(x: np.ndarray, ticks: np.ndarray, bandwidth: object) -> np.ndarray:
    bounds = ((0.0, 1.0), (0.0, 1.0))
    return mercer.density(x, bounds=bounds, bandwidth=bandwidth, **PROMISE).grid(ticks, ticks)


def kdepy(x: np.ndarray, mesh: np.ndarray, side: int) -> np.ndarray:
    return FFTKDE(kernel="gaussian", bw=H).fit(x).evaluate(mesh).reshape(side, side)


def main() -> None:
    args = options(__doc__)
    n, side, repeats = (10**4, 64, 1) if args.quick else (10**6, 512, 7)
    x, ticks = places(n), np.linspace(0.0, 1.0, side)
    mesh = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), -1).reshape(-1, 2)
    peer, own, auto = "KDEpy FFTKDE", "mercer", 'mercer, bandwidth "auto"'
    seconds = race(
        {
            peer: lambda: kdepy(x, mesh, side),
            own: lambda: release(x, ticks, H),
            auto: lambda: release(x, ticks, "auto"),
        },
        repeats,
    )
    gap = np.abs(release(x, ticks, H) - kdepy(x, mesh, side))
    inner = (ticks > 5 * H) & (ticks < 1 - 5 * H)
    lines = [[name, f"{1e3 * value:.1f}", f"{value / seconds[peer]:.3g}"] for name, value in seconds.items()]
    verdicts = [
        verdict("Mercer over KDEpy", seconds[own] / seconds[peer], 3),
        f'- Mercer with "auto", which also chooses the bandwidth: {seconds[auto] / seconds[peer]:.3g} times KDEpy.',  # noqa: E501
        f"- Largest distance to KDEpy, 5 bandwidths or more from the boundary, noise included: "
        f"{gap[np.ix_(inner, inner)].max():.2g}.",
    ]
    note = NOTE.format(repeats=repeats, rows=n, side=side, h=H)
    parts = [table(["method", "ms", "times KDEpy"], lines), "\n".join(verdicts), note]
    report("peers_2d", __doc__, parts, args)


if __name__ == "__main__":
    main()
