"""How fast is a release of one million numbers beside density estimates without privacy?

In memory, 1,000 points of evaluation, bandwidth a hundredth of the width.  The rivals make no
promise: sklearn's KernelDensity sums over all rows, KDEpy's FFTKDE bins and convolves.
"""  # noqa: D400

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from KDEpy import FFTKDE
from sklearn.neighbors import KernelDensity

import mercer
from common import options, race, report, table, verdict
from mercer.noise.entropy import Entropy

WIDTH = 100.0
H = 0.01 * WIDTH
POINTS = np.linspace(0.0, WIDTH, 1000)
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
NOTE = """\
Times are the least of {repeats} after a warm-up, for KernelDensity the least of {slow} (and its
time at `rtol=1e-4` is what its own approximation buys).  All estimates have bandwidth {h:g} on
(0, {width:g}) but "auto", which chooses its own.  Mercer's time is that of `mercer.density` with
secure noise and of the 1,000 values.  {rows:,} rows{scaled}."""


class Silent(Entropy):
    """No noise at all: to compare estimates, never to release one."""

    secure = False

    def discrete_gaussian(self, scale: float, size: int) -> list[int]:  # noqa: ARG002
        return [0] * size

    def discrete_laplace(self, scale: float, size: int) -> list[int]:  # noqa: ARG002
        return [0] * size

    def octets(self, count: int) -> bytes:  # noqa: ARG002
        raise TypeError("only noise on a lattice can be silenced")


def ages(n: int) -> np.ndarray:
    """Numbers strictly inside (0, 100): KDEpy wants all of them inside its grid."""
    rng = np.random.default_rng(1)
    x = WIDTH * np.concatenate([rng.beta(4, 9, n - n // 3), rng.beta(20, 8, n // 3)])
    return rng.permutation(np.clip(x, 1e-6, WIDTH - 1e-6))


def release(x: np.ndarray, bandwidth: object, rng: Entropy | None = None) -> mercer.DensityRelease:
    return mercer.density(x, bounds=(0.0, WIDTH), bandwidth=bandwidth, rng=rng, **PROMISE)


def kdepy(x: np.ndarray) -> np.ndarray:
    return FFTKDE(kernel="gaussian", bw=H).fit(x).evaluate(POINTS)


def sklearn(x: np.ndarray, rtol: float) -> np.ndarray:
    kde = KernelDensity(kernel="gaussian", bandwidth=H, rtol=rtol).fit(x[:, None])
    return np.exp(kde.score_samples(POINTS[:, None]))


def agreement(x: np.ndarray) -> tuple[float, float, float]:
    """Noise sd, and the largest distance to KDEpy without and with noise, in these sds.

    Five bandwidths or more away from the boundary, where Mercer reflects and KDEpy does not.
    """
    inner = (POINTS > 5 * H) & (POINTS < WIDTH - 5 * H)
    noisy, still, peer = release(x, H), release(x, H, Silent()), kdepy(x)[inner]
    sd = float(noisy.standard_error(POINTS[inner]).max())
    gaps = [np.abs(f.raw(POINTS[inner]) - peer).max() / sd for f in (still, noisy)]
    return sd, float(gaps[0]), float(gaps[1])


def main() -> None:
    args = options(__doc__)
    n, slow_n, repeats, slow = (10**4, 10**4, 1, 1) if args.quick else (10**6, 10**5, 25, 3)
    x = ages(n)
    part, scale = x[:slow_n], n / slow_n
    exact, loose = "sklearn KernelDensity", "sklearn KernelDensity, rtol=1e-4"
    peer, own, auto = "KDEpy FFTKDE", "mercer", 'mercer, bandwidth "auto"'
    fast: dict[str, Callable[[], object]] = {
        peer: lambda: kdepy(x),
        own: lambda: release(x, H)(POINTS),
        auto: lambda: release(x, "auto")(POINTS),
    }
    seconds = race({exact: lambda: sklearn(part, 0.0), loose: lambda: sklearn(part, 1e-4)}, slow)
    seconds = {name: scale * value for name, value in seconds.items()} | race(fast, repeats)
    base = seconds[own]
    lines = [[name, f"{1e3 * value:.1f}", f"{value / base:.3g}"] for name, value in seconds.items()]
    sd, still, noisy = agreement(x)
    verdicts = [
        verdict("Mercer over KernelDensity", base / seconds[exact], 1 / 500),
        verdict("Mercer over KDEpy", base / seconds[peer], 1.5),
        f'- Mercer with "auto", which also chooses the bandwidth: {seconds[auto] / seconds[peer]:.3g} times KDEpy.',  # noqa: E501
        f"- Largest distance to KDEpy, 5 bandwidths or more from the boundary: {still:.2g} noise "
        f"sds for Mercer's estimate without noise, {noisy:.2g} for the release (sd {sd:.2e}).",
    ]
    scaled = f"; KernelDensity ran on {slow_n:,} of them and its time is scaled by {scale:g}"
    note = NOTE.format(
        repeats=repeats, slow=slow, h=H, width=WIDTH, rows=n, scaled=scaled if scale > 1 else ""
    )
    parts = [table(["method", "ms", "times mercer"], lines), "\n".join(verdicts), note]
    report("peers_1d", __doc__, parts, args)


if __name__ == "__main__":
    main()
