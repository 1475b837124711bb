"""Public landmarks: where nothing but the domain is known, evenly spread.  M10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.columns.table import TableDomain
from mercer.common import streams
from mercer.common.checks import Floats

__all__ = ["drawn", "spread"]


def spread(
    domain: TableDomain, size: int, label: int = 0, records: Callable[[Floats], Floats] | None = None
) -> Floats:
    """Codes of `size` records that fill the domain evenly: scrambled Sobol points.

    All records of a small discrete domain, if there are no more.  `records` makes records of
    points of the unit cube by another law than the even one.
    """
    if domain.size is not None and domain.size <= size:
        return everything(domain)
    from scipy.stats import qmc

    engine = qmc.Sobol(domain.dimension, scramble=True, rng=streams.simulation(31 + label))
    unit = engine.random(1 << max(size - 1, 1).bit_length())[:size]
    return domain.from_unit(unit) if records is None else records(unit)


def everything(domain: TableDomain) -> Floats:
    """Codes of all records of a discrete domain."""
    axes = [np.arange(column.levels_count or 0, dtype=float) for column in domain.columns]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, domain.dimension)
    counts = np.array([len(axis) for axis in axes])
    return domain.from_unit((grid + 0.5) / counts)


def drawn(domain: TableDomain, sampler: Callable[[int, Any], Any], size: int) -> Any:
    """`size` records of a public distribution: what `sampler(size, rng)` gives, a table."""
    try:
        return sampler(size, streams.simulation(37))
    except TypeError:
        raise TypeError(
            "public must be rows, or a function of (size, rng) that draws rows of a public "
            f"distribution with the columns {', '.join(domain.names)}"
        ) from None
