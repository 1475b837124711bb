"""The only source of randomness for noise.

There are two kinds, kept apart by type:

- `Secure`: noise that a promise rests on.  Exact discrete Gaussian and Laplace draws by OpenDP
  (M3.5), and uniform numbers with as many bits as anyone asks for (M3.6), from the operating
  system's entropy.
- `Seeded`: the same law from a seed the caller gave, for studies.  Whoever knows the seed can
  subtract the noise, so every release made with it says that it is not private.

Random generators for computations on public values are in `mercer.common.streams`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

__all__ = ["MAX_SCALE", "Entropy", "Secure", "Seeded", "Uniforms", "resolve"]

Y = TypeVar("Y")  # what was drawn

MAX_SCALE = 2.0**56  # a draw stays below 2^63 but for an event of probability e^(-2^12)


class Entropy(ABC):
    """A source of randomness from which the noise of releases is drawn."""

    secure: bool

    @abstractmethod
    def discrete_gaussian(self, scale: float, size: int) -> list[int]:
        """`size` independent draws k with P(k) proportional to exp(-k^2 / 2 scale^2)."""

    @abstractmethod
    def discrete_laplace(self, scale: float, size: int) -> list[int]:
        """`size` independent draws k with P(k) proportional to exp(-|k| / scale)."""

    @abstractmethod
    def octets(self, count: int) -> bytes:
        """`count` independent uniformly random bytes."""

    def witness(self, what: str, value: Callable[[], Any], sensitivity: Any) -> None:  # noqa: B027
        """Called by the door with the exact value, as a function, and its declared sensitivity.

        It does nothing here.  Only `mercer.replay`, run by somebody who holds the data anyway, reads
        the value.
        """

    def given(self, released: Y) -> Y:
        """Called by the door with what was drawn: later draws may follow from it.

        It is what goes on.  Only a replay goes on, in both of its runs, with what the first drew.
        """
        return released

    def parameters(self, *public: Any) -> None:  # noqa: B027
        """Called by the door with public parameters: a replay sees whether they depend on the records."""

    def uniforms(self, size: int) -> Uniforms:
        """`size` independent uniform numbers in [0, 1), known to as many bits as asked for."""
        return Uniforms(self.octets, size)


class Uniforms:
    """Uniform numbers in [0, 1), read bit by bit: more bits of the same numbers can be read later."""

    def __init__(
        self, octets: Callable[[int], bytes], size: int, *, heads: list[int] | None = None, bits: int = 0
    ) -> None:
        """`heads` are the first `bits` bits of each number, if they were read already."""
        self._octets, self._heads, self._bits = octets, heads or [0] * size, bits

    def __len__(self) -> int:
        return len(self._heads)

    def heads(self, bits: int) -> list[int]:
        """floor(2^bits U) for each number U; `bits` is a multiple of 8.  Later calls agree with earlier."""
        more = bits - self._bits
        if more > 0:
            width = more // 8
            fresh_bits = self._octets(width * len(self._heads))
            self._heads = [
                (head << more) | int.from_bytes(fresh_bits[i * width : (i + 1) * width], "big")
                for i, head in enumerate(self._heads)
            ]
            self._bits = bits
        shift = self._bits - bits
        return [head >> shift for head in self._heads] if shift else self._heads


@dataclass(frozen=True)
class Secure(Entropy):
    """Private noise: OpenDP's exact samplers on the operating system's entropy."""

    secure = True

    def discrete_gaussian(self, scale: float, size: int) -> list[int]:
        _check_scale(scale)
        return list(_opendp("make_gaussian", scale)(np.zeros(size, dtype=np.int64)))

    def discrete_laplace(self, scale: float, size: int) -> list[int]:
        _check_scale(scale)
        return list(_opendp("make_laplace", scale)(np.zeros(size, dtype=np.int64)))

    def octets(self, count: int) -> bytes:
        return os.urandom(count)


class Seeded(Entropy):
    """Reproducible noise from a seed, and therefore not private.

    Rounded normals stand for the discrete Gaussian: a law within total variation 1/(40 scale^2).
    """

    secure = False

    def __init__(self, seed: int | np.random.Generator) -> None:
        self._rng = np.random.default_rng(seed)

    def discrete_gaussian(self, scale: float, size: int) -> list[int]:
        _check_scale(scale)
        draws: list[int] = np.rint(self._rng.standard_normal(size) * scale).astype(int).tolist()
        return draws

    def discrete_laplace(self, scale: float, size: int) -> list[int]:
        _check_scale(scale)
        pair = self._rng.geometric(-np.expm1(-1 / scale), (2, size))  # two-sided: a difference
        draws: list[int] = (pair[0] - pair[1]).tolist()
        return draws

    def octets(self, count: int) -> bytes:
        return self._rng.bytes(count)


def resolve(rng: object) -> Entropy:
    """The source that `rng` names: None is secure; an integer or a NumPy generator is a seed."""
    if rng is None:
        return Secure()
    if isinstance(rng, Entropy):
        return rng
    if isinstance(rng, np.random.Generator):
        return Seeded(rng)
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return Seeded(int(rng))
    raise TypeError(
        "rng must be None (secure noise), a whole number >= 0 or a numpy Generator "
        f"(reproducible and not private); got {type(rng).__name__}"
    )


@lru_cache(maxsize=16)
def _opendp(maker: str, scale: float) -> Any:
    # loaded only when noise is drawn; the prelude would load scikit-learn and more
    from opendp import measurements
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    metric = l2_distance(T="f64") if maker == "make_gaussian" else l1_distance(T="i64")
    make = getattr(measurements, maker)
    return make(vector_domain(atom_domain(T="i64")), metric, scale=scale)


def _check_scale(scale: float) -> None:
    if not 0 < scale <= MAX_SCALE:
        raise ValueError(f"scale must be above 0 and at most 2^56 lattice steps, got {scale!r}")
