"""Public rules for a column whose values are counted: how many levels its tree has, and which noise.  M20."""

from __future__ import annotations

from mercer.noise.count_laws import GeometricLaw, RoundedNormalLaw
from mercer.promise.events import gaussian_multiplier
from mercer.spaces.trees import MOST_LEVELS

__all__ = ["tree_rule"]


def tree_rule(leaves: int, *, epsilon: float, delta: float) -> tuple[int, bool]:
    """Levels of the tree, and whether its noise is pure: those of least noise in ranges of values.

    A replaced record changes two counts of each level.  A range takes about as many nodes of each
    level as a node has children, so the noise of a range has about the variance of one count times
    the levels times the children.  A promise with a delta is kept by pure noise where that is less.
    """
    best = None
    for levels in range(1, MOST_LEVELS + 1):
        if 2 ** (levels - 1) > leaves:
            break
        nodes = levels * leaves ** (1 / levels)
        choices = [(GeometricLaw(2 * levels / epsilon).variance * nodes, levels, True)]
        if delta:
            multiplier = gaussian_multiplier(epsilon=epsilon, delta=delta)
            law = RoundedNormalLaw(multiplier * (2 * levels) ** 0.5)
            choices.append((law.variance * nodes, levels, False))
        found = min(choices)
        if best is None or found[0] < best[0]:
            best = found
    assert best is not None
    return best[1], best[2]
