"""Lots that decide which rows of a person count: a function of one key and of that person's rows."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

__all__ = ["Lots"]


class Lots:
    """Uniform numbers of 64 bits for the rows of named persons, whoever else there is.

    The lot of a row follows from the key, the person's name and the place of the row among the
    person's own: no other person's rows have a say in it (docs/proofs/counts.md, 1).
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seeds(self, names: Sequence[bytes]) -> npt.NDArray[np.uint64]:
        """One number for each name."""
        digests = [blake2b(name, digest_size=8, key=self._key).digest() for name in names]
        return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)

    @staticmethod
    def tickets(seeds: npt.NDArray[np.uint64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """The lot of each row: SplitMix64, which gives no two rows of a person the same.

        [Steele, Lea, Flood, OOPSLA 2014], Figure 19.
        """
        with np.errstate(over="ignore"):
            z = seeds + (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
