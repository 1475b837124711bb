"""Weights of synthetic records: bounded, positive or equal, and where the records lie.  M10, Theorem 11.

All weights minimise the distance in the kernel's space to a function with values g at the points,
given their Gram matrix K: w'Kw - 2 w'g.  Landmarks fill the whole domain, and most lie where nobody
is: so records are drawn by their weights, moved a little, and weighed again, a few times.
Post-processing: it costs nothing, and no solver's failure touches the promise.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from mercer.common import streams
from mercer.common.checks import Floats, Ints, check_positive
from mercer.common.files import Fields, numbers
from mercer.releases.synthetic.embedding import LandmarkEmbedding
from mercer.releases.synthetic.weighted import resample
from mercer.spaces.record_kernels import RecordKernel

__all__ = [
    "ENOUGH",
    "STYLES",
    "fit_weights",
    "herd",
    "moved",
    "nearest",
    "onto_ball",
    "onto_simplex",
    "placed",
    "weigh",
    "weights_from",
]

STYLES = ("positive", "l1", "free", "uniform")
ENOUGH = 0.1  # share of the squared error of privacy that fitting weights may add
_ROUNDS = 600
_WORSE = 3.0  # times `enough`: how much more than the least distance even weights may cost
_MOST_EXACT = 2500  # points
_FAR = 1e6  # values that only noise makes: beside much larger ones, weights of one are lost
_NEAR = 1e-6  # how far weights of a file may be from what their style says
_MOVES = 2  # times that all records are drawn and moved
_STEP = 0.5  # of the kernel's lengths: how far a number moves
_TURNS = 4  # trials to move it
_CHANCE = 0.1  # that a category is drawn anew


def weigh(embedding: LandmarkEmbedding, style: str, bound: float) -> Floats:
    """Weights of the landmarks: free, bounded or positive."""
    bound = check_positive("bound", bound, "1 or more")
    if style == "l1" and bound < 1:
        raise ValueError(f"bound must be at least 1 (Balog et al., Theorem 11), got {bound:g}")
    if style == "free":
        return embedding.span.weights(embedding.target)
    return _fitted(embedding, embedding.gram, embedding.values(embedding.target), style, bound)


def _fitted(embedding: LandmarkEmbedding, gram: Floats, values: Floats, style: str, bound: float) -> Floats:
    """Weights of points whose mean is near the target of an embedding, whose values there are given."""
    return fit_weights(
        gram,
        values,
        style=style,
        bound=bound,
        enough=ENOUGH * embedding.risk,
        length=float(np.dot(embedding.target, embedding.target)),
    )


def placed(
    embedding: LandmarkEmbedding,
    kernel: RecordKernel,
    landmarks: Floats,
    points: Floats,
    style: str,
    bound: float,
    *,
    size: int,
) -> tuple[Floats, Floats]:
    """Synthetic records and their weights.

    Free weights are those of the landmarks.  Bounded and positive ones may lie on any `points`:
    more of them than landmarks are better spread.  Equal weights choose `size` of the points.
    """
    if style == "free" or (style != "uniform" and points is landmarks):
        return landmarks, weigh(embedding, style, bound)
    gram = kernel(points, points)
    values = kernel(points, landmarks) @ embedding.span.weights(embedding.target)
    if style == "uniform":
        return points[herd(gram, values, size)], np.full(size, 1 / size)
    return points, _fitted(embedding, gram, values, style, bound)


def moved(
    embedding: LandmarkEmbedding,
    kernel: RecordKernel,
    landmarks: Floats,
    points: Floats,
    weight: Floats,
    *,
    style: str,
    bound: float,
) -> tuple[Floats, Floats]:
    """As many records as `points`, moved to where the weights are, with weights of their own.

    A cell moves to that of another of the `points` nearby, so that columns keep their laws.
    """
    domain, rng = kernel.domain, streams.simulation(43)
    size, raw = len(points), embedding.span.weights(embedding.target)
    best = points, weight
    for _ in range(_MOVES):
        codes = best[0][resample(np.maximum(best[1], 0.0), size, rng)].copy()
        for j, (column, scale) in enumerate(zip(domain.columns, kernel.scales, strict=True)):
            reach = _STEP * scale * (column.ends[1] - column.ends[0])
            for _ in range(_TURNS if column.numeric else 1):
                other = points[rng.integers(size, size=size), j]
                moves = np.abs(other - codes[:, j]) <= reach if column.numeric else rng.random(size) < _CHANCE
                codes[:, j] = np.where(moves, other, codes[:, j])
        values = kernel(codes, landmarks) @ raw
        best = codes, _fitted(embedding, kernel(codes, codes), values, style, bound)
    return best


def onto_simplex(v: Floats) -> Floats:
    """Nearest weights that are not negative and add up to one; one set a column."""
    v = _near(v)
    ordered = -np.sort(-v, axis=0)
    tops = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, len(v) + 1)[:, None]
    last = len(v) - 1 - np.argmax((ordered > tops)[::-1], axis=0)
    return np.maximum(v - np.take_along_axis(tops, last[None, :], axis=0), 0.0)


def _near(v: Floats) -> Floats:
    """The same but for a shift, which no projection on a simplex sees, where one is lost in v."""
    top = np.max(v, axis=0, initial=-np.inf)
    return np.where(np.abs(top) > _FAR, v - top, v)


def onto_ball(v: Floats, bound: float) -> Floats:
    """Nearest weights whose absolute values add up to at most `bound`; one set a column."""
    size = np.abs(v)
    inside = size.sum(axis=0) <= bound
    return np.where(inside, v, np.sign(v) * onto_simplex(size / bound) * bound)


def fit_weights(
    gram: Floats, values: Floats, *, style: str, bound: float = 1.0, enough: float, length: float
) -> Floats:
    """Weights of a style for a function with these values at the points.

    Its squared norm is `length`.  Starts from equal weights and stops once the squared distance is
    `enough`: nearer is noise, and even weights are better than few large ones.  Where that is not
    reached the exact solution is mixed in, as little of it as is needed.
    """

    def distance(w: Floats) -> float:
        return float(w @ gram @ w - 2 * (w @ values)) + length

    w = _descend(gram, values[:, None], style, bound, _ROUNDS, enough - length)[:, 0]
    if distance(w) <= enough or len(gram) > _MOST_EXACT:
        return w
    exact = _exact(gram, values, style, bound)
    if distance(exact) >= distance(w):
        return w
    goal, low, high = max(enough, distance(exact) + _WORSE * enough), 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        near = distance(w + middle * (exact - w)) <= goal
        low, high = (low, middle) if near else (middle, high)
    return _tidy(w + high * (exact - w), style, bound)


def _descend(gram: Floats, g: Floats, style: str, bound: float, rounds: int, enough: float) -> Floats:
    """Accelerated projected gradient with restarts (O'Donoghue and Candes 2015)."""
    m = len(gram)
    step = 1 / _norm(gram)

    def project(v: Floats) -> Floats:
        return onto_simplex(v) if style == "positive" else onto_ball(v, bound)

    w = project(np.full((m, g.shape[1]), 1 / m))
    z, momentum = w, np.ones(g.shape[1])
    for _ in range(rounds):
        fresh = project(z - step * (gram @ z - g))
        back = np.sum((z - fresh) * (fresh - w), axis=0) > 0  # going uphill: start afresh
        later = np.where(back, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        z = np.where(back, fresh, fresh + (momentum - 1) / later * (fresh - w))
        w, momentum = fresh, later
        if enough > -np.inf and np.all(np.sum(w * (gram @ w - 2 * g), axis=0) <= enough):
            break
    return w


def _exact(gram: Floats, values: Floats, style: str, bound: float) -> Floats:
    """The nearest weights, by active sets (Lawson and Hanson 1974)."""
    eigen, vectors = np.linalg.eigh(gram)
    kept = eigen > 1e-12 * eigen[-1]
    root = np.sqrt(eigen[kept])
    factor, aim = root[:, None] * vectors[:, kept].T, vectors[:, kept].T @ values / root
    if style == "positive":
        columns, total = factor, 1.0
    else:  # the last column is what is left of the bound
        columns, total = np.column_stack([factor, -factor, np.zeros(len(factor))]), bound
    heavy = 100.0 * max(1.0, float(np.max(np.abs(aim), initial=0.0)) / _FAR)
    rows = np.vstack([columns, np.full(columns.shape[1], heavy)])
    try:
        found, _ = nnls(rows, np.append(aim, heavy * total), maxiter=20 * columns.shape[1])
    except RuntimeError:  # no solution in so many turns
        return np.full(len(gram), 1 / len(gram))
    m = len(gram)
    return _tidy(found if style == "positive" else found[:m] - found[m : 2 * m], style, bound)


def _tidy(w: Floats, style: str, bound: float) -> Floats:
    """Inside the constraint to the last bit but one."""
    if style == "positive":
        w = np.maximum(w, 0.0)
        return w / w.sum() if w.sum() > 0 else np.full(len(w), 1 / len(w))
    return w * min(1.0, bound / max(float(np.abs(w).sum()), 1e-300))


def _norm(gram: Floats) -> float:
    """Bound on the largest eigenvalue: by the largest sum of a row, or a few steps of power."""
    v = np.ones(len(gram)) / np.sqrt(len(gram))
    top = 0.0
    for _ in range(30):
        v = gram @ v
        top = float(np.linalg.norm(v))
        v /= max(top, 1e-300)
    return max(min(top * 1.05, float(np.abs(gram).sum(axis=1).max())), 1e-300)


def herd(gram: Floats, values: Floats, size: int) -> Ints:
    """Places of `size` points, with repetition, whose plain mean comes near (kernel herding)."""
    picked = np.zeros(size, dtype=np.int64)
    running = np.zeros(len(gram))
    for turn in range(size):
        picked[turn] = int(np.argmax((turn + 1) * values - running - 0.5 * np.diag(gram)))
        running += gram[:, picked[turn]]
    return picked


def nearest(gram: Floats, values: Floats) -> Floats:
    """Weights of any sign for functions with these values at the points."""
    return np.asarray(np.linalg.lstsq(gram, values, rcond=1e-9)[0], dtype=np.float64)


def weights_from(top: Fields, size: int) -> tuple[Floats, str, float]:
    """Weights in the fields of a release, of the style that they say, and its bound."""
    bound = top.positive("bound")
    if bound < 1:
        raise ValueError("bound must be at least 1")
    style = top.get("style", str)  # the release knows which styles there are
    weight = np.array(numbers(top.get("weights", list), "a weight"))
    if weight.shape != (size,):
        raise ValueError(f"weights must be one for each of the {size} points")
    total, absolute = float(weight.sum()), float(np.abs(weight).sum())
    fits = True
    if style == "positive":
        fits = bool(np.all(weight >= 0)) and abs(total - 1) <= _NEAR
    elif style == "uniform":
        fits = bool(np.all(np.abs(weight * size - 1) <= _NEAR))
    elif style == "l1":
        fits = absolute <= bound * (1 + _NEAR)
    if not fits:
        raise ValueError(f"weights are not of the style {style!r}")
    return weight, style, bound
