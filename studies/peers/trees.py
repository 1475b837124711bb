"""Synthesis from marginals, in a small version of our own: a tree of pairs of columns.

MST's idea (McKenna, Miklau and Sheldon 2021): measure every column, choose the pairs of a spanning
tree by how far they are from independent, measure those, fit the graphical model of the tree to all
measurements, and draw rows from it.  Columns are cut into public bins; pairs are measured on groups
of those bins, which are chosen from the noisy columns, at no cost.

Replace-one, in counts: a table falls by 1 in one cell and rises by 1 in another.  So k tables
together have an l2 sensitivity of sqrt(2 k), and Gaussian noise of standard deviation sigma on all
of them costs rho = k / sigma^2 (zCDP).  The score of a pair is an l1 distance to a public table: it
moves by at most 2, and an exponential mechanism, exp(e score / (2 * 2)), costs rho = e^2 / 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

from mercer.promise.events import gaussian_multiplier
from studies.shared.bins import Bins, Ints, coded, drawn, rounded, simplex
from studies.shared.report import Floats
from studies.shared.tables import Domain

__all__ = ["Cut", "Tree", "budget", "independent", "spanning_tree", "zcdp_rho"]

SHARES = (0.25, 0.15, 0.6)  # of rho: columns, choice, pairs
FINE = (32, 128)  # bins of numbers, least and most; integers have a bin each, up to the most
GROUPS = (4, 32)  # least and most of a column in a pair
PART = 0.25  # cells of a table are so many that their noise is about this part of the rows
STEPS = 1000

Edge = tuple[int, int]


def independent(
    frame: pd.DataFrame, domain: Domain, *, epsilon: float, delta: float, seed: int
) -> tuple[pd.DataFrame, Floats]:
    """Every column by itself; sensitivity sqrt(2 k) for k columns, Gaussian noise by M1."""
    rng = np.random.default_rng(seed)
    n = len(frame)
    sd = math.sqrt(2 * len(domain)) * gaussian_multiplier(epsilon=epsilon, delta=delta)
    bins, codes = coded(frame, domain, int(np.clip(PART * n / sd, *FINE)), FINE[1])
    columns = []
    for j, b in enumerate(bins):
        noisy = np.bincount(codes[:, j], minlength=b.size) + sd * rng.normal(size=b.size)
        counts = rounded(n, simplex(noisy, n), rng)
        columns.append(rng.permutation(np.repeat(np.arange(b.size), counts)))
    return drawn(np.stack(columns, axis=1), bins, domain, rng), np.full(n, 1 / n)


def zcdp_rho(*, epsilon: float, delta: float) -> float:
    """The largest rho for which rho-zCDP gives (epsilon, delta)-DP by the bound below.

    Canonne, Kamath and Steinke 2020, Corollary 13: delta = min over a > 1 of
    exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).
    """

    def log_delta(rho: float) -> float:
        def at(log_order: float) -> float:
            a = 1 + math.exp(log_order)
            return (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - log_order

        return float(minimize_scalar(at, bounds=(-7, 12), method="bounded").fun)

    target = math.log(delta)
    found = brentq(lambda r: log_delta(math.exp(r)) - target, -40, math.log(epsilon + 1))
    return math.exp(float(found)) * (1 - 1e-9)


def budget(columns: int, *, epsilon: float, delta: float) -> tuple[float, float, float]:
    """Noise of all columns, epsilon of each choice, noise of all pairs; replace-one."""
    one, choice, two = (share * zcdp_rho(epsilon=epsilon, delta=delta) for share in SHARES)
    pairs = columns - 1
    return math.sqrt(columns / one), math.sqrt(8 * choice / pairs), math.sqrt(pairs / two)


def spanning_tree(
    frame: pd.DataFrame, domain: Domain, *, epsilon: float, delta: float, seed: int
) -> tuple[pd.DataFrame, Floats]:
    """As many rows as there are, and equal weights."""
    rng = np.random.default_rng(seed)
    n, d = len(frame), len(domain)
    sd_one, reach, sd_two = budget(d, epsilon=epsilon, delta=delta)
    cut, rows = Cut.of(frame, domain, sd_one, sd_two, rng)
    sizes = cut.sizes
    columns = [
        Measured((j,), np.bincount(g, y), sd_one**2 * np.bincount(g))
        for j, (g, y) in enumerate(zip(cut.groups, cut.noisy, strict=True))
    ]
    edges = _chosen(rows, sizes, columns, reach, sd_two, rng)
    pairs = []
    for edge in edges:
        table = _pair(rows, sizes, edge)
        variance = np.full(table.shape, sd_two**2)
        pairs.append(Measured(edge, table + sd_two * rng.normal(size=table.shape), variance))
    tree = Tree.fitted(sizes, edges, [*columns, *pairs], n)
    return cut.frame(tree.sample(n, rng), domain, rng), np.full(n, 1 / n)


@dataclass(frozen=True)
class Cut:
    """Noisy columns on fine bins, and groups of bins for pairs: all from noisy counts."""

    bins: list[Bins]
    noisy: list[Floats]  # counts
    groups: list[Ints]  # of each bin

    @classmethod
    def of(
        cls, frame: pd.DataFrame, domain: Domain, sd_one: float, sd_two: float, rng: np.random.Generator
    ) -> tuple[Cut, Ints]:
        """With noise of `sd_one` on columns; `sd_two`, that of pairs, says how many groups.

        The second is the private rows, in groups.
        """
        n = len(frame)
        bins, codes = coded(frame, domain, int(np.clip(PART * n / sd_one, *FINE)), FINE[1])
        noisy = [
            np.bincount(codes[:, j], minlength=b.size) + sd_one * rng.normal(size=b.size)
            for j, b in enumerate(bins)
        ]
        most = int(np.clip(math.sqrt(PART * n / sd_two), *GROUPS))
        groups = [_groups(simplex(y, n) / n, most) for y in noisy]
        return cls(bins, noisy, groups), np.stack([g[codes[:, j]] for j, g in enumerate(groups)], 1)

    @property
    def sizes(self) -> list[int]:
        """How many groups each column has."""
        return [int(g[-1]) + 1 for g in self.groups]

    def frame(self, rows: Ints, domain: Domain, rng: np.random.Generator) -> pd.DataFrame:
        """Values for rows of groups: in a group as the noisy columns have them."""
        n = len(rows)
        fine = [
            _within(rows[:, j], g, simplex(y, n), rng)
            for j, (g, y) in enumerate(zip(self.groups, self.noisy, strict=True))
        ]
        return drawn(np.stack(fine, axis=1), self.bins, domain, rng)


@dataclass(frozen=True)
class Measured:
    """A noisy table of one or two columns, and the variance of each cell."""

    columns: tuple[int, ...]
    counts: Floats
    variance: Floats


def _groups(shares: Floats, most: int) -> Ints:
    """Neighbouring bins together, so that width and noisy mass are spread evenly over groups."""
    if len(shares) <= most:
        return np.arange(len(shares))
    weight = (shares + 1 / len(shares)) / 2
    middle = np.cumsum(weight) - weight / 2
    return np.unique((middle * most).astype(np.int64), return_inverse=True)[1].ravel()


def _pair(codes: Ints, sizes: list[int], edge: Edge) -> Floats:
    i, j = edge
    flat = codes[:, i] * sizes[j] + codes[:, j]
    counts = np.bincount(flat, minlength=sizes[i] * sizes[j])
    return counts.reshape(sizes[i], sizes[j]).astype(float)


def _chosen(
    codes: Ints, sizes: list[int], columns: list[Measured], reach: float, sd: float, rng: np.random.Generator
) -> list[Edge]:
    """Pairs of a spanning tree, an exponential mechanism of epsilon `reach` for each.

    The score is the l1 distance to independent columns, less what noise of this size would make of
    it in a table of as many cells.
    """
    n = len(codes)
    shares = [simplex(c.counts, n) / n for c in columns]
    score = {}
    for i, j in combinations(range(len(sizes)), 2):
        far = np.abs(_pair(codes, sizes, (i, j)) - n * np.outer(shares[i], shares[j])).sum()
        score[i, j] = far - math.sqrt(2 / math.pi) * sd * sizes[i] * sizes[j]
    part = list(range(len(sizes)))  # which tree of the forest a column is in
    found: list[Edge] = []
    while len(found) < len(sizes) - 1:
        open_pairs = [e for e in score if part[e[0]] != part[e[1]]]
        values = np.array([score[e] for e in open_pairs]) * reach / 4
        i, j = open_pairs[int(np.argmax(values + rng.gumbel(size=len(values))))]
        part = [part[i] if p == part[j] else p for p in part]
        found.append((i, j))
    return found


def _within(rows: Ints, groups: Ints, counts: Floats, rng: np.random.Generator) -> Ints:
    """Bins of rows from their groups, as the noisy columns have them."""
    found = np.empty_like(rows)
    for g in range(int(groups[-1]) + 1):
        here, inside = np.flatnonzero(rows == g), np.flatnonzero(groups == g)
        share = counts[inside] if counts[inside].sum() > 0 else np.ones(len(inside))
        found[here] = rng.permutation(np.repeat(inside, rounded(len(here), share, rng)))
    return found


# --- the model of a tree -------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """Log potentials of columns and of pairs (parent, child), parents before their children."""

    nodes: list[Floats]
    links: dict[Edge, Floats]

    @classmethod
    def fitted(cls, sizes: list[int], edges: list[Edge], measured: list[Measured], n: int) -> Tree:
        """Least squares over all laws of the tree: mirror descent with a step that is searched.

        Measurements are weighted by their variances.  A step moves the potentials against the
        slope in the marginals; it is taken when the loss falls by half of what the slope promises.
        """
        order = _downwards(edges)
        tree = cls([np.zeros(s) for s in sizes], {(i, j): np.zeros((sizes[i], sizes[j])) for i, j in order})
        goals = {}
        for m in measured:
            turn = len(m.columns) == 2 and m.columns not in tree.links
            key = m.columns[::-1] if turn else m.columns
            counts, variance = (m.counts.T, m.variance.T) if turn else (m.counts, m.variance)
            goals[key] = counts / n, n**2 / variance
        scale = max(float(w.max()) for _, w in goals.values())
        step, tables = 1.0 / scale, tree.tables()
        loss = _loss(tables, goals)
        for _ in range(STEPS):
            slopes = {k: (tables[k] - y) * w for k, (y, w) in goals.items()}
            for _ in range(30):
                moved = tree._moved(slopes, step)
                new = moved.tables()
                promised = sum(float(np.sum(s * (tables[k] - new[k]))) for k, s in slopes.items())
                less = _loss(new, goals)
                if less <= loss - promised / 2:
                    break
                step /= 2
            else:
                return tree
            tree, tables, loss, gain = moved, new, less, loss - less
            step *= 1.5
            if gain < 1e-7 * loss:
                break
        return tree

    def _moved(self, slopes: dict[Any, Floats], step: float) -> Tree:
        nodes = [v - step * slopes[j,] for j, v in enumerate(self.nodes)]
        return Tree(nodes, {e: v - step * slopes[e] for e, v in self.links.items()})

    def conditionals(self) -> tuple[int, Floats, dict[Edge, Floats]]:
        """The first column, its law, and of every other column its law for each parent's value."""
        heights = [v.copy() for v in self.nodes]
        laws = {}
        for (i, j), link in reversed(self.links.items()):
            joint = link + heights[j]
            message = logsumexp(joint, axis=1)
            laws[i, j] = np.exp(joint - message[:, None])
            heights[i] += message
        root = next(iter(self.links))[0] if self.links else 0
        return root, np.exp(heights[root] - logsumexp(heights[root])), laws

    def tables(self) -> dict[Any, Floats]:
        """Marginals of all columns, by (column,), and of all pairs."""
        root, law, laws = self.conditionals()
        found: dict[Any, Floats] = {(root,): law}
        for i, j in self.links:
            found[i, j] = found[i,][:, None] * laws[i, j]
            found[j,] = found[i, j].sum(axis=0)
        return found

    def sample(self, n: int, rng: np.random.Generator) -> Ints:
        """Rows: as many of each value, for each value of the parent, as rounding allows."""
        root, law, laws = self.conditionals()
        rows = np.zeros((n, len(self.nodes)), dtype=np.int64)
        rows[:, root] = rng.permutation(np.repeat(np.arange(len(law)), rounded(n, law, rng)))
        for i, j in self.links:
            for value, chances in enumerate(laws[i, j]):
                here = np.flatnonzero(rows[:, i] == value)
                counts = rounded(len(here), chances, rng)
                rows[here, j] = rng.permutation(np.repeat(np.arange(len(chances)), counts))
        return rows


def _downwards(edges: list[Edge]) -> list[Edge]:
    """(parent, child), from the first column of the first pair on."""
    reached, found, left = {edges[0][0]}, [], list(edges)
    while left:
        i, j = next(e for e in left if e[0] in reached or e[1] in reached)
        left.remove((i, j))
        found.append((i, j) if i in reached else (j, i))
        reached |= {i, j}
    return found


def _loss(tables: dict[Any, Floats], goals: dict[Any, tuple[Floats, Floats]]) -> float:
    return sum(float(np.sum((tables[k] - y) ** 2 * w)) for k, (y, w) in goals.items()) / 2
