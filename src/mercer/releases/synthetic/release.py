"""Released synthetic tables.  Right of the door: never sees a record.  M10, M15, M17.

Weighted records whose embedding stands for that of the data; the noisy coordinates stay in the
release, so that anyone may weigh and smooth again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mercer.columns.conditions import holds
from mercer.columns.table import TableDomain
from mercer.common.checks import Bools, Floats, check_choice, check_positive
from mercer.releases.base import Release
from mercer.releases.findings import Finding
from mercer.releases.function_findings import table_findings
from mercer.releases.synthetic.accuracy import TableAccuracy, accuracy_of
from mercer.releases.synthetic.embedding import LandmarkEmbedding, NoisyEmbedding, WaveEmbedding
from mercer.releases.synthetic.smoothing import Shrink
from mercer.releases.synthetic.two_samples import TwoSample, two_sample_test
from mercer.releases.synthetic.weightings import STYLES, fit_weights, refit
from mercer.releases.synthetic.weights import ENOUGH, placed
from mercer.releases.weighted import Pushed, Weighted
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["METHODS", "TableRelease"]

METHODS = ("landmarks", "features", "exponential")


@dataclass(frozen=True, eq=False, repr=False)
class TableRelease(Weighted, Release):
    """A weighted synthetic table that anyone may analyse in place of the data."""

    domain: TableDomain  # type: ignore[assignment]
    kernel: RecordKernel
    method: str
    embedding: NoisyEmbedding | None  # None: a table drawn whole (method="exponential")
    landmarks: Floats | None  # codes; None where they are the points
    codes: Floats  # of the points
    weight: Floats
    style: str
    bound: float
    _memory: dict[Any, Any] = field(default_factory=dict, init=False)

    kind = "synthetic-table"

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("weights", self.style, STYLES)
        for name in ("codes", "weight", "landmarks"):
            value = getattr(self, name)
            if value is not None:
                fixed = np.array(value, dtype=float)
                fixed.setflags(write=False)
                object.__setattr__(self, name, fixed)
        shape = (len(self.weight), self.domain.dimension)
        if self.codes.shape != shape or not np.all(np.isfinite(self.weight)) or not len(self.weight):
            raise ValueError(f"points and weights must be finite, in shape {shape}")
        if not np.array_equal(self.domain.snap(self.codes), self.codes):
            raise ValueError("points must lie in the domain")
        given = self.landmarks if self.landmarks is not None else self.codes
        if isinstance(self.embedding, LandmarkEmbedding) and len(given) != len(self.embedding.gram):
            raise ValueError("landmarks and coordinates differ in number")
        if self.kernel.domain != self.domain:
            raise ValueError("kernel and domain do not fit together")

    @property
    def points(self) -> Any:
        """The synthetic records, as an Arrow table."""
        return self.domain.table(self.codes)

    @property
    def points_count(self) -> int:
        return len(self.codes)

    @property
    def weights(self) -> Floats:
        """One number a record; of sum one, unless style is "free" or "l1"."""
        return self.weight

    @cached_property
    def positive(self) -> Floats:
        if self.style in ("positive", "uniform"):
            return self.weight
        return self._fitted(self.gram @ self.weight, "positive", 1.0)

    @cached_property
    def gram(self) -> Floats:
        """Kernel values between the synthetic records."""
        return self.kernel(self.codes, self.codes)

    @cached_property
    def replicas(self) -> Floats:
        if self.embedding is None:
            return np.full((2, len(self.weight)), np.nan)  # no noise of a known law
        values = self._values_at_points(self.embedding.redrawn())
        if self.style == "free":
            return _nearest(self.gram, values).T
        style = "positive" if self.style == "uniform" else self.style
        return refit(self.gram, values, self.weight, style=style, bound=self.bound).T

    def view(self) -> dict[str, Any]:
        """The synthetic records as arrays by name."""
        if "view" not in self._memory:
            self._memory["view"] = {
                column.name: np.asarray(column.values(self.codes[:, j]))
                for j, column in enumerate(self.domain.columns)
            }
        return dict(self._memory["view"])

    def matching(self, condition: Mapping[str, Any]) -> Bools:
        """Which records a condition by columns holds for."""
        return holds(self.domain, self.codes, condition)

    def smooth(self, *, guess: str | None = None, eta: object = None, penalty: object = None) -> TableRelease:
        """The same release with another shrinkage of the noise, free for anyone (M17).

        Without arguments: the one of least estimated risk.  penalty=0 leaves the noise as it is.
        """
        if not isinstance(self.embedding, LandmarkEmbedding):
            raise ValueError(f"method={self.method!r} has nothing to shrink; 'landmarks' has")
        if guess is None and eta is None and penalty is None:
            shrink = None
        else:
            old = self.embedding.shrink
            shrink = Shrink(
                old.guess if guess is None else guess,
                old.eta if eta is None else check_positive("eta", eta, "1 is usual"),
                old.penalty if penalty is None else float(penalty),  # type: ignore[arg-type]
            )
        return self._again(self.embedding.shrunk(shrink), self.style, self.bound)

    def reweight(self, style: str, bound: float = 1.0) -> TableRelease:
        """The same release with weights of another style, free for anyone.

        "positive": a distribution; "l1": absolute values of sum at most `bound` (Balog et al.,
        Theorem 11); "free": nearest in the kernel's space; "uniform": records with equal weights.
        """
        if self.embedding is None:
            raise ValueError("a table drawn whole has equal weights and no others")
        radius = check_positive("bound", bound, "1 or more")
        if not 1 <= radius <= 1e6:
            raise ValueError(f"bound must be in [1, 1e6] (Balog et al., Theorem 11), got {bound:g}")
        return self._again(self.embedding, check_choice("style", style, STYLES), radius)

    def _again(self, embedding: NoisyEmbedding, style: str, bound: float) -> TableRelease:
        if isinstance(embedding, LandmarkEmbedding):
            landmarks = self.codes if self.landmarks is None else self.landmarks
            points = landmarks if self.style == "uniform" else self.codes
            codes, weight = placed(embedding, self.kernel, landmarks, points, style, bound, size=len(points))
            kept = None if codes is landmarks else landmarks
            return replace(
                self,
                embedding=embedding,
                landmarks=kept,
                codes=codes,
                weight=weight,
                style=style,
                bound=bound,
            )
        if style == "uniform" or self.style == "uniform":
            raise ValueError("equal weights of random features are chosen when the table is made")
        values = self._values_at_points(embedding.target)
        weight = _nearest(self.gram, values) if style == "free" else self._fitted(values, style, bound)
        return replace(self, embedding=embedding, weight=weight, style=style, bound=bound)

    def _fitted(self, values: Floats, style: str, bound: float) -> Floats:
        """Weights for a function with these values at the points, which may lie beyond them."""
        nearest = _nearest(self.gram, values)
        enough = ENOUGH * (self.embedding.risk if self.embedding is not None else 0.0)
        return fit_weights(
            self.gram, values, style=style, bound=bound, enough=enough, length=float(nearest @ values)
        )

    def _values_at_points(self, coordinates: Floats) -> Floats:
        """Values of functions at the synthetic records: (points,) or (points, functions)."""
        if isinstance(self.embedding, LandmarkEmbedding):
            if self.landmarks is None:
                return self.embedding.values(coordinates).T
            weights = self.embedding.span.weights(coordinates.T)
            return self.kernel(self.codes, self.landmarks) @ weights
        assert isinstance(self.embedding, WaveEmbedding)
        return self.embedding.span.coordinates(self.kernel.embed(self.codes)) @ coordinates.T

    @property
    def accuracy(self) -> TableAccuracy:
        """The error's parts: sampling, projection, privacy, reduced set."""
        if "accuracy" not in self._memory:
            self._memory["accuracy"] = accuracy_of(
                self.embedding, self.kernel, self.landmarks, self.codes, self.weight, n=self.privacy.n
            )
        return self._memory["accuracy"]

    def mmd(self, other: object) -> float:
        """Distance in the kernel's space to another release, or to rows of one's own."""
        codes, weights = self._other(other)
        square = (
            self._inner(self.codes, self.weight, self.codes, self.weight)
            - 2 * self._inner(self.codes, self.weight, codes, weights)
            + self._inner(codes, weights, codes, weights)
        )
        return max(square, 0.0) ** 0.5

    def two_sample_test(self, rows: object) -> TwoSample:
        """Whether rows of one's own come from the distribution of the data.

        They are used as they are: a test on sensitive rows is an output about them.
        """
        if self.embedding is None:
            raise ValueError("a table drawn whole has no noise of a known law to test with")
        own, synthetic = (self._seen(codes) for codes in (self._other(rows)[0], self.codes))
        return two_sample_test(self.embedding, own, synthetic, self.positive, n=self.privacy.n)

    def _seen(self, codes: Floats) -> Floats:
        """Coordinates of records, one a row."""
        u = self.kernel.embed(codes)
        if isinstance(self.embedding, LandmarkEmbedding):
            marks = self.codes if self.landmarks is None else self.landmarks
            return self.embedding.span.coordinates(self.kernel.between(u, self.kernel.embed(marks)))
        assert isinstance(self.embedding, WaveEmbedding)
        return self.embedding.span.coordinates(u)

    def push(self, g: Any) -> Pushed:
        """The distribution of g(X), g continuous, called once with the whole table.

        Balog et al., Theorem 11 and Corollary 15: needs weights of bounded absolute sum.
        """
        if self.style == "free":
            raise ValueError(
                "push needs weights whose absolute values are bounded (Balog et al., Theorem 11), "
                "and these are free; use release.reweight('l1') or reweight('positive') first"
            )
        if not callable(g):
            raise TypeError(f"g must be a function of the table, got {type(g).__name__}")
        values = np.asarray(g(self.view()))
        if values.ndim < 1 or len(values) != self.points_count:
            raise ValueError(f"g must give one value a row, {self.points_count} of them")
        return Pushed(values, self.weight, self.replicas, self.positive)

    def sample(self, n: int, rng: int | np.random.Generator | None = None) -> Any:
        """N ordinary rows without weights, as an Arrow table."""
        return self.domain.table(self.codes[self.chosen(n, rng)])

    def fit_weights(self, estimator: Any, target: str, columns: Sequence[str] | None = None) -> Any:
        """A copy of a scikit-learn estimator, trained on the synthetic records by their weights."""
        from mercer.releases.synthetic.export import trained

        return trained(self, estimator, target, columns)

    def to_frame(self) -> Any:
        """The synthetic records with a column `weight`, as a pandas data frame."""
        from mercer.releases.synthetic.export import with_weights

        return with_weights(self).to_pandas()

    def to_csv(self, path: str | Path) -> Path:
        """Write the records with a column `weight`."""
        from mercer.releases.synthetic.export import with_weights, write_csv

        return write_csv(with_weights(self), Path(path))

    def to_parquet(self, path: str | Path) -> Path:
        """Write the records with a column `weight`."""
        from mercer.releases.synthetic.export import with_weights, write_parquet

        return write_parquet(with_weights(self), Path(path), self.privacy)

    def findings(self) -> tuple[Finding, ...]:
        return table_findings(self)

    def to_dict(self) -> dict[str, Any]:
        from mercer.releases.synthetic.export import to_dict

        return to_dict(self)

    def _other(self, other: object) -> tuple[Floats, Floats]:
        from mercer.releases.synthetic.export import codes_of

        if isinstance(other, TableRelease):
            if other.domain != self.domain:
                raise ValueError("the other release must be of the same domain")
            return other.codes, other.weight
        codes = codes_of(other, self.domain)
        return codes, np.full(len(codes), 1 / len(codes))

    def _inner(self, x: Floats, w: Floats, y: Floats, v: Floats) -> float:
        """Inner product of two embeddings, a block at a time."""
        total, step = 0.0, max(1, (1 << 24) // len(y))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            total += float(w[part] @ (self.kernel(x[part], y) @ v))
        return total

    def __repr__(self) -> str:
        return (
            f"<TableRelease of {len(self.codes)} weighted records, {self.domain.describe()}: "
            f"{self.privacy.short}>"
        )


def _nearest(gram: Floats, values: Floats) -> Floats:
    """Weights of any sign for functions with these values at the points."""
    return np.asarray(np.linalg.lstsq(gram, values, rcond=1e-9)[0], dtype=np.float64)
