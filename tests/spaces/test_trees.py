"""Trees of sums: least squares against the dense system, and noise of ranges against its covariance."""

import numpy as np
import pytest

from mercer.rules.columns import tree_rule
from mercer.spaces.trees import Tree

SIZES = [(1, 1), (2, 2), (7, 1), (7, 2), (50, 3), (101, 2), (102, 5), (333, 4)]


def matrix(tree):
    """What each node adds up: (nodes, leaves)."""
    return np.stack([tree.sums(row) for row in np.eye(tree.leaves, dtype=int)], axis=1).astype(float)


@pytest.mark.parametrize(("leaves", "levels"), SIZES)
def test_every_level_adds_up_to_the_same(leaves, levels, rng):
    tree, counts = Tree(leaves, levels), rng.integers(0, 99, leaves)
    ends = np.cumsum([len(starts) - 1 for starts in tree.starts[1:]])
    parts = np.split(tree.sums(counts), ends[:-1])
    assert [part.sum() for part in parts] == [counts.sum()] * levels
    assert np.array_equal(parts[-1], counts)
    for starts in tree.starts[1:]:
        widths = np.diff(starts)
        assert widths.min() >= 1
        assert set(starts) <= set(range(leaves + 1))
    assert sum(len(part) for part in parts) == tree.size


@pytest.mark.parametrize(("leaves", "levels"), SIZES)
def test_estimates_are_least_squares_given_the_total(leaves, levels, rng):
    tree = Tree(leaves, levels)
    nodes, total = rng.normal(size=tree.size), float(rng.normal())
    design = matrix(tree)
    ones = np.ones((leaves, 1))
    system = np.block([[design.T @ design, ones], [ones.T, np.zeros((1, 1))]])
    exact = np.linalg.solve(system, np.append(design.T @ nodes, total))[:leaves]
    assert np.allclose(tree.fit(nodes, total), exact, atol=1e-12)


@pytest.mark.parametrize(("leaves", "levels"), SIZES)
def test_weights_of_nodes_are_the_estimate_transposed(leaves, levels, rng):
    tree = Tree(leaves, levels)
    fitted = np.stack([tree.fit(row, 0.0) for row in np.eye(tree.size)], axis=1)
    weights = rng.normal(size=(3, leaves))
    assert np.allclose(tree.node_weights(weights), weights @ fitted, atol=1e-12)


def test_counts_without_noise_come_back(rng):
    tree, counts = Tree(365, 3), rng.integers(0, 99, 365)
    assert np.allclose(tree.fit(tree.sums(counts), counts.sum()), counts)


@pytest.mark.parametrize(("leaves", "levels"), [(0, 1), (1, 2), (5, 4), (9, 0)])
def test_what_is_no_tree(leaves, levels):
    with pytest.raises(ValueError, match="a tree needs"):
        Tree(leaves, levels)


def test_the_rule_takes_more_levels_where_there_are_more_leaves():
    """M20: 1 to about 50 values, 2 to 1000, 3 to 4000, 4 at 100,000."""
    found = {k: tree_rule(k, epsilon=1, delta=0.0)[0] for k in (20, 45, 101, 1000, 3000, 100_001)}
    assert found == {20: 1, 45: 1, 101: 2, 1000: 2, 3000: 3, 100_001: 4}
    assert tree_rule(101, epsilon=10, delta=0.0)[0] == 1  # noise is hardly there


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_rule_is_near_the_least_noise_of_ranges(epsilon):
    """Against the exact variance of the share below each value, of every number of levels."""
    for leaves in (30, 101, 400):

        def noise(levels, leaves=leaves):
            tree = Tree(leaves, levels)
            below = np.tril(np.ones((leaves, leaves)))
            scale = 2 * levels / epsilon
            variance = 0.5 / np.sinh(0.5 / scale) ** 2
            return np.sqrt(variance * np.mean(np.sum(tree.node_weights(below) ** 2, axis=1)))

        best = min(noise(levels) for levels in range(1, 6))
        assert noise(tree_rule(leaves, epsilon=epsilon, delta=0.0)[0]) < 1.25 * best


def test_a_delta_pays_where_values_are_many():
    assert tree_rule(101, epsilon=1, delta=1e-6)[1]  # pure noise is less, and promises more
    assert not tree_rule(100_001, epsilon=0.1, delta=1e-6)[1]
