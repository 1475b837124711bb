"""Real numbers known to within a ball: noise refined until its rounding is certain.

M3.6.  A draw of a continuous law is a function of uniform numbers with endless bits.  Computed
from their first bits in ball arithmetic (FLINT's Arb: every operation returns a ball that holds
the true result), it is known to within a ball; if the ball does not tell how the number rounds
to the lattice, more bits of the same numbers are read and the same function is computed again.
So what is printed is the rounding of the real draw itself, not of an approximation to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Digits", "balls", "gamma", "phases", "powered", "settle", "settled_index", "working"]

_FIRST, _MOST = 192, 1 << 16  # bits


class Digits(Protocol):
    """Numbers in [0, 1) whose binary digits never end: `entropy.Uniforms` for draws."""

    def heads(self, bits: int) -> list[int]:
        """The first bits of each: floor(2^bits U)."""


def working(bits: int) -> AbstractContextManager[object]:
    """A context in which balls are computed with this many bits."""
    from flint import ctx

    return cast("AbstractContextManager[object]", ctx.workprec(bits))


def balls(uniforms: Digits, bits: int) -> list[arb]:
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
    """The nearest whole number of each ball of `compute(bits)`, with bits added until certain.

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
