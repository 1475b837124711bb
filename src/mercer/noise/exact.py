"""Exact draws: noise computed until its rounding to an integer is certain.  M3.6, M13.

A draw of a continuous law is a function of uniform numbers with endlessly many bits.  Computed
from their first bits in ball arithmetic (FLINT's Arb: every operation returns a ball that holds
the true result), it is known to within a ball.  If the ball does not decide how the number rounds
to the lattice, more bits of the same numbers are read and the same function is computed again.
So what is released is the rounding of the real draw itself, not of an approximation to it.

Integer noise for counts is drawn in bulk.  The first 64 bits of each uniform number are put through
the function in double precision.  Only where the result is so near a step that an error of 256 units
in the last place (NumPy's logarithm and SciPy's normal quantile are right to a few), or the bits not
yet read, could decide, are more bits of the same number read and the function computed in balls.
docs/proofs/counts.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import ndtr, ndtri

from mercer.common.checks import Floats, Ints
from mercer.noise.entropy import Entropy, Uniforms

if TYPE_CHECKING:
    from flint import arb

__all__ = [
    "above_geometric",
    "above_normal",
    "balls",
    "gamma",
    "geometric",
    "passing",
    "phases",
    "powered",
    "rounded_normal",
    "settle",
    "settled_index",
    "working",
]

_FIRST, _MOST = 192, 1 << 16  # bits
_FEW = 1 << 20  # first bits below this number leave too much open
_PART = 1 << 18  # draws at once
_LARGE = 2.0**36  # scales above are OpenDP's: doubles would decide little


def working(bits: int) -> AbstractContextManager[object]:
    """A context in which balls are computed with this many bits."""
    from flint import ctx

    return cast("AbstractContextManager[object]", ctx.workprec(bits))


def balls(uniforms: Uniforms, bits: int) -> list[arb]:
    """Each uniform number as a ball that holds it: [k, k + 1] / 2^bits."""
    from flint import arb

    half = arb(0.5)  # k + 1/2 has bits + 1 binary digits: exact at two digits more
    scale = arb(2) ** -bits
    with working(bits + 2):
        return [(arb(head) + arb(half, half)) * scale for head in uniforms.heads(bits)]


def gamma(uniforms: Sequence[arb]) -> arb:
    """A Gamma(k) number from k uniform ones: the sum of their exponentials -log U."""
    product = uniforms[0]
    for uniform in uniforms[1:]:
        product = product * uniform
    return -product.log()


def powered(uniform: arb, power: arb) -> arb:
    """The power U^power of a positive ball, by its logarithm."""
    return (uniform.log() * power).exp()


def phases(uniforms: Sequence[arb]) -> list[tuple[arb, arb]]:
    """Cosine and sine of 2 pi U for each."""
    return [((2 * uniform).cos_pi(), (2 * uniform).sin_pi()) for uniform in uniforms]


def settle(compute: Callable[[int], Sequence[arb]]) -> list[int]:
    """The nearest integer of each ball of `compute(bits)`, with bits added until certain.

    A number halfway between two is rounded up; it has probability zero.
    """
    from flint import arb

    bits = _FIRST
    while True:
        with working(bits):
            rounded = [(value + arb(0.5)).floor().unique_fmpz() for value in compute(bits)]
        if all(value is not None for value in rounded):
            return [int(value) for value in rounded]
        bits = _more(bits)


def settled_index(compute: Callable[[int], tuple[arb, Sequence[arb]]]) -> int:
    """Index i of the first edge above the point, for (point, rising edges) of `compute(bits)`."""
    bits = _FIRST
    while True:
        with working(bits):
            point, edges = compute(bits)
            # edges[:place] are certainly at or below the point
            place = next((i for i, edge in enumerate(edges) if not edge <= point), len(edges))
            if place < len(edges) and edges[place] > point:
                return place
        bits = _more(bits)


def _more(bits: int) -> int:
    if bits >= _MOST:  # probability below 2^-60000 for every law here: a law that is broken
        raise ArithmeticError("a draw could not be rounded with certainty; nothing was released")
    return 2 * bits


def geometric(scale: float, size: int, entropy: Entropy) -> Ints:
    """Two-sided geometric noise, P(k) proportional to exp(-|k| / scale).

    It is the difference of two one-sided draws.
    """
    if scale > _LARGE:
        return np.array(entropy.discrete_laplace(scale, size), dtype=np.int64)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _PART):
        part = out[start : start + _PART]
        both = _one_sided(scale, 2 * len(part), entropy)
        np.subtract(both[: len(part)], both[len(part) :], out=part)
    return out


def above_geometric(scale: float, threshold: int, size: int, entropy: Entropy) -> Ints:
    """Two-sided geometric noise given that it is above a threshold >= 0.  The law has no memory."""
    return threshold + 1 + _one_sided(scale, size, entropy)


def rounded_normal(sigma: float, size: int, entropy: Entropy) -> Ints:
    """The nearest integer to sigma Z, Z standard normal."""
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
    """Indices of the successes among `cells` independent trials, increasing.  Gaps are geometric.

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
    """One-sided geometric draws, P(k) proportional to exp(-k / scale): floor(-scale log U)."""
    heads = _heads(size, entropy)
    value = -scale * np.log(_middles(heads))
    margin = scale * (1 / (heads + 1.0) + 2.0**-48) + value * 2.0**-44
    return np.array(_floors(value, margin, heads, entropy, lambda u: -u.log() * scale - 0.5), dtype=np.int64)


def _normal_tail(sigma: float, threshold: int | None, size: int, entropy: Entropy) -> Ints:
    """Draws of |sigma Z| rounded, or of sigma Z rounded given that it is above a threshold.

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
        out[i] = _search(int(out[i]), least, _continued(heads[i], entropy), beyond)
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
    """The uniform number whose first 64 bits are known; more bits are read when asked for."""
    return Uniforms(entropy.octets, 1, heads=[int(head)], bits=64)


def _middles(heads: Any) -> Floats:
    """The uniform numbers in doubles: the midpoint of what the first bits leave open."""
    return (heads.astype(np.float64) + 0.5) * 2.0**-64


def _floors(
    value: Floats, margin: Floats, heads: Any, entropy: Entropy, exact: Callable[[Any], Any]
) -> list[int]:
    """floor(value), computed in balls where the margin contains a step.

    `exact` gives the ball of the value less one half.
    """
    whole = np.floor(value)
    near = value - whole
    open_ = (heads < _FEW) | (near < margin) | (near > 1 - margin) | ~np.isfinite(value)
    found: list[int] = np.where(open_, 0.0, whole).astype(np.int64).tolist()
    for i in np.flatnonzero(open_):
        uniform = _continued(heads[i], entropy)
        found[i] = settle(lambda bits, u=uniform: [exact(*balls(u, bits))])[0]  # type: ignore[misc]
    return found
