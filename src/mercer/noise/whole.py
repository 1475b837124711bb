"""Whole-number noise drawn exactly, many at a time.  M3.6, M13.

A draw is a function of a uniform number U with endless bits.  Its first 64 bits are put through
the function in doubles; where the result is so near a step that an error of 256 units in the last
place (of NumPy's logarithm and SciPy's normal quantile, which are right to a few) or the bits not
yet read could decide, and only there, more bits of the same U are read and the function is
computed in balls until it is certain (`exact`).  So every draw is that of the real law.
docs/proofs/counts.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from mercer.common.checks import Floats, Ints
from mercer.noise.entropy import Entropy, Uniforms
from mercer.noise.exact import balls, settle, working

__all__ = ["above_geometric", "above_normal", "geometric", "passing", "rounded_normal"]

_FEW = 1 << 20  # first bits below this number leave too much open
_PART = 1 << 18  # draws at once
_LARGE = 2.0**36  # scales above are OpenDP's: doubles would decide little


def geometric(scale: float, size: int, entropy: Entropy) -> Ints:
    """P(k) proportional to exp(-|k| / scale): the difference of two one-sided ones."""
    if scale > _LARGE:
        return np.array(entropy.discrete_laplace(scale, size), dtype=np.int64)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _PART):
        part = out[start : start + _PART]
        both = _one_sided(scale, 2 * len(part), entropy)
        np.subtract(both[: len(part)], both[len(part) :], out=part)
    return out


def above_geometric(scale: float, threshold: int, size: int, entropy: Entropy) -> Ints:
    """Two-sided geometric noise given that it is above a threshold >= 0: no memory."""
    return threshold + 1 + _one_sided(scale, size, entropy)


def rounded_normal(sigma: float, size: int, entropy: Entropy) -> Ints:
    """The nearest whole number to sigma Z, Z standard normal."""
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _PART):
        part = out[start : start + _PART]
        part[:] = _normal_tail(sigma, None, len(part), entropy)
        signs = np.frombuffer(entropy.octets(len(part)), dtype=np.uint8) & 1
        np.negative(part, where=signs.astype(bool), out=part)
    return out


def above_normal(sigma: float, threshold: int, size: int, entropy: Entropy) -> Ints:
    """A rounded normal given that it is above a threshold >= 0."""
    return _normal_tail(sigma, threshold, size, entropy)


def passing(cells: int, most: int, chance: float, exact: Callable[[], Any], entropy: Entropy) -> list[int]:
    """Which of `cells` independent trials succeed, in rising order: gaps are geometric.

    `chance` is the probability in doubles, `exact` computes it as a ball; `most` >= cells is
    public and says how many gaps are drawn at once.
    """
    from flint import arb

    rate = -math.log1p(-chance)

    def gap(uniform: Any) -> Any:
        length = uniform.log() / arb.log1p(-exact()) - 0.5
        return arb(most) if length > most else length  # beyond the end: how far does not matter

    found: list[int] = []
    block, last = int(most * chance + 8 * math.sqrt(most * chance)) + 16, -1
    while True:
        heads = _heads(block, entropy)
        value = -np.log(_middles(heads)) / rate
        margin = (1 / (heads + 1.0) + 2.0**-48) / rate + np.abs(value) * 2.0**-44
        gaps = _floors(value, margin, heads, entropy, gap)
        for place in accumulate(gaps, lambda a, b: a + 1 + b, initial=last):
            last = place
            if place >= cells:
                return found
            if place >= 0 and (not found or place > found[-1]):
                found.append(place)


def _one_sided(scale: float, size: int, entropy: Entropy) -> Ints:
    """P(k) proportional to exp(-k / scale), k >= 0: the whole part of -scale log U."""
    heads = _heads(size, entropy)
    value = -scale * np.log(_middles(heads))
    margin = scale * (1 / (heads + 1.0) + 2.0**-48) + value * 2.0**-44
    return np.array(_floors(value, margin, heads, entropy, lambda u: -u.log() * scale - 0.5), dtype=np.int64)


def _normal_tail(sigma: float, threshold: int | None, size: int, entropy: Entropy) -> Ints:
    """|sigma Z| rounded; or sigma Z rounded, given that it rounds to more than a threshold.

    Both have the tail Q((k - 1/2) / sigma) / Q(c) at k, with Q that of the normal law, c = 0 or
    (threshold + 1/2) / sigma: so k is where U Q(c) falls.
    """
    from flint import arb

    cut = 0.0 if threshold is None else (threshold + 0.5) / sigma
    heads = _heads(size, entropy)
    share = _middles(heads) * float(ndtr(-cut))
    value = -sigma * ndtri(share) + 0.5
    margin = sigma * (1.3 / (heads + 1.0) + 2.0**-46) + np.abs(value) * 2.0**-42 + 2.0**-42

    def edge(k: int) -> Any:
        return (arb(2 * k - 1) / (2 * arb(sigma) * arb(2).sqrt())).erfc()

    def beyond(uniform: Any, k: int) -> bool | None:
        """Whether the draw is k at least, if that is certain."""
        whole = arb(1) if threshold is None else edge(threshold + 1)
        left, right = uniform * whole, edge(k)
        return True if left <= right else False if left > right else None

    least = 0 if threshold is None else threshold + 1
    whole = np.floor(value)
    near = value - whole
    out = np.maximum(whole, least).astype(np.int64)
    for i in np.flatnonzero((heads < _FEW) | (near < margin) | (near > 1 - margin)):
        out[i] = _search(
            int(out[i]), least, Uniforms(entropy.octets, 1, heads=[int(heads[i])], bits=64), beyond
        )
    return out


def _search(start: int, least: int, uniform: Uniforms, beyond: Callable[[Any, int], bool | None]) -> int:
    """The largest k >= least at which `beyond` holds, from a guess; more bits until certain."""
    bits, k = 192, max(start, least)
    while True:
        with working(bits):
            (ball,) = balls(uniform, bits)
            here = True if k == least else beyond(ball, k)
            after = beyond(ball, k + 1)
        if here is None or after is None:
            bits *= 2
        elif not here:
            k -= 1
        elif after:
            k += 1
        else:
            return k


def _heads(size: int, entropy: Entropy) -> Any:
    return np.frombuffer(entropy.octets(8 * size), dtype=">u8").astype(np.uint64)


def _continued(head: Any, entropy: Entropy) -> Uniforms:
    """The uniform number of which these 64 bits are known; more are read when asked for."""
    return Uniforms(entropy.octets, 1, heads=[int(head)], bits=64)


def _middles(heads: Any) -> Floats:
    """U in doubles: the middle of what the first bits leave open."""
    return (heads.astype(np.float64) + 0.5) * 2.0**-64


def _floors(
    value: Floats, margin: Floats, heads: Any, entropy: Entropy, exact: Callable[[Any], Any]
) -> list[int]:
    """Whole parts; by balls where the margin holds a step.  `exact` gives the value less a half."""
    whole = np.floor(value)
    near = value - whole
    open_ = (heads < _FEW) | (near < margin) | (near > 1 - margin) | ~np.isfinite(value)
    found: list[int] = np.where(open_, 0.0, whole).astype(np.int64).tolist()
    for i in np.flatnonzero(open_):
        uniform = _continued(heads[i], entropy)
        found[i] = settle(lambda bits, u=uniform: [exact(*balls(u, bits))])[0]  # type: ignore[misc]
    return found
