"""Released synthetic tables.  Right of the door: never sees a record.  M10, M17.

Weighted records whose embedding stands for that of the data; the noisy coordinates stay in the
release, so that anyone may weigh and smooth again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from mercer.columns.conditions import holds
from mercer.columns.table import Domain
from mercer.common.checks import Bools, Floats, check_choice, check_positive
from mercer.common.files import Fields, numbers
from mercer.promise.statement import Statement
from mercer.releases.base import Release, freeze
from mercer.releases.synthetic.accuracy import NoisyShares, TableAccuracy
from mercer.releases.synthetic.embedding import (
    LandmarkEmbedding,
    NoisyEmbedding,
    Shrink,
    WaveEmbedding,
    matrix_from,
)
from mercer.releases.synthetic.view import RecordColumns
from mercer.releases.synthetic.weighted import Pushed, TwoSample, Weighted, two_sample_test
from mercer.releases.synthetic.weights import ENOUGH, STYLES, fit_weights, nearest, placed, weights_from
from mercer.sources.arrays import own_codes
from mercer.spaces.record_kernels import MOST_LANDMARKS, RecordKernel

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["METHODS", "MOST_POINTS", "TableRelease", "write_csv", "write_parquet"]

MOST_POINTS = {"landmarks": MOST_LANDMARKS, "features": 5000, "exponential": 1000}  # by method
METHODS = tuple(MOST_POINTS)
_MOST_CELLS = 1 << 28  # coordinates of all embedded points of a file

E = TypeVar("E")  # a scikit-learn estimator


@dataclass(frozen=True, eq=False, repr=False)
class TableRelease(Weighted, Release):
    """A weighted synthetic table that anyone may analyse in place of the data."""

    domain: Domain
    kernel: RecordKernel
    method: str
    embedding: NoisyEmbedding | None  # None: a table drawn whole (method="exponential")
    landmarks: Floats | None  # codes; None where they are the points
    codes: Floats  # of the points
    weight: Floats
    style: str
    bound: float
    shares: NoisyShares | None = None  # of single columns, where they were counted first

    kind = "synthetic-table"

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("weights", self.style, STYLES)
        freeze(self, "codes", "weight", "landmarks")
        shape = (len(self.weight), self.domain.dimension)
        if self.codes.shape != shape or not np.all(np.isfinite(self.weight)) or not len(self.weight):
            raise ValueError(f"points and weights must be finite, in shape {shape}")
        if not np.array_equal(self.domain.snap(self.codes), self.codes):
            raise ValueError("points must lie in the domain")
        if isinstance(self.embedding, LandmarkEmbedding) and len(self.marks) != len(self.embedding.gram):
            raise ValueError("landmarks and coordinates differ in number")
        if self.kernel.domain != self.domain:
            raise ValueError("kernel and domain do not fit together")

    @property
    def marks(self) -> Floats:
        """Codes of the landmarks; `codes` itself where those are the records."""
        return self.codes if self.landmarks is None else self.landmarks

    @property
    def points(self) -> pyarrow.Table:
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

    def view(self) -> dict[str, Any]:
        """The synthetic records as arrays by name."""
        return RecordColumns.of(self.domain, self.codes)

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
            landmarks = self.marks
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
        values = self._values_at_points(embedding, embedding.target)
        weight = nearest(self.gram, values) if style == "free" else self._fitted(values, style, bound)
        return replace(self, embedding=embedding, weight=weight, style=style, bound=bound)

    def _fitted(self, values: Floats, style: str, bound: float) -> Floats:
        """Weights for a function with these values at the points, which may lie beyond them."""
        length = float(nearest(self.gram, values) @ values)
        enough = ENOUGH * (self.embedding.risk if self.embedding is not None else 0.0)
        return fit_weights(self.gram, values, style=style, bound=bound, enough=enough, length=length)

    def _values_at_points(self, embedding: NoisyEmbedding, coordinates: Floats) -> Floats:
        return embedding.values_at(self.kernel, self.codes, self.marks, coordinates)

    @cached_property
    def accuracy(self) -> TableAccuracy:
        """How far shares of rows are off, noise and smoothing together."""
        return TableAccuracy.of(self.shares, self.domain, self.codes, self.positive)

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
        own, synthetic = (
            self.embedding.seen(self.kernel, codes, self.marks)
            for codes in (self._other(rows)[0], self.codes)
        )
        return two_sample_test(self.embedding, own, synthetic, self.positive, n=self.privacy.n)

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
        return Pushed(values, self.weight, self.positive)

    def sample(self, size: int, rng: int | np.random.Generator | None = None) -> pyarrow.Table:
        """`size` ordinary rows without weights, drawn by the weights, as an Arrow table."""
        return self.domain.table(self.codes[self.chosen(size, rng)])

    def fit_weights(self, estimator: E, target: str, columns: Sequence[str] | None = None) -> E:
        """A copy of a scikit-learn estimator, trained on the synthetic records by their weights.

        One without sample weights is trained on drawn rows instead.
        """
        from sklearn.base import clone
        from sklearn.pipeline import Pipeline
        from sklearn.utils.validation import has_fit_parameter

        names = [name for name in self.domain.names if name != target] if columns is None else list(columns)
        for name in (target, *names):
            self.domain.column(name)
        if target in names:
            raise ValueError(f"target {target!r} is among the columns to learn from")
        used = self.positive > 0
        model = clone(estimator)
        step, last = model.steps[-1] if isinstance(model, Pipeline) else ("", model)
        if has_fit_parameter(last, "sample_weight"):
            frame = self.domain.table(self.codes[used]).to_pandas()
            share = self.positive[used] / self.positive[used].mean()
            key = f"{step}__sample_weight" if step else "sample_weight"
            return model.fit(frame[names], frame[target], **{key: share})
        drawn = self.sample(max(10 * int(used.sum()), 1000), rng=0).to_pandas()
        return model.fit(drawn[names], drawn[target])

    def with_weights(self) -> pyarrow.Table:
        """The synthetic records with a last column of weights, as an Arrow table."""
        import pyarrow as pa

        name = "weight"
        while name in self.domain.names:
            name += "_"
        return self.points.append_column(name, pa.array(self.weights))

    def to_frame(self) -> pandas.DataFrame:
        """The synthetic records with a column `weight`, as a pandas data frame."""
        return self.with_weights().to_pandas()

    def to_csv(self, path: str | Path) -> Path:
        """Write the records with a column `weight`."""
        return write_csv(self.with_weights(), Path(path))

    def to_parquet(self, path: str | Path) -> Path:
        """Write the records with a column `weight`."""
        return write_parquet(self.with_weights(), Path(path), self.privacy)

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "kind": self.kind,
            "domain": self.domain.to_dict(),
            "kernel": self.kernel.to_dict(),
            "method": self.method,
            "points": self.codes.tolist(),
            "weights": self.weight.tolist(),
            "style": self.style,
            "bound": self.bound,
            "landmarks": None if self.landmarks is None else self.landmarks.tolist(),
            "noise": None,
            "coordinates": None,
            "privacy": self.privacy.to_dict(),
        }
        if self.shares is not None:
            fields["shares"] = self.shares.to_dict()
        return fields if self.embedding is None else fields | self.embedding.to_dict()

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        """The release that `to_dict` wrote; ValueError says what is wrong.

        Nothing is executed, everything is checked: columns, kernel and law are rebuilt from tables
        of names, and points, weights and coordinates must fit together.
        """
        domain, about = Domain.from_dict(top.get("domain", dict)), top.part("kernel")
        scales = numbers(about.get("scales", list), "a scale")
        kernel = RecordKernel(domain, about.get("name", str), tuple(scales))
        method = top.get("method", str)
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}")
        codes = _records(top, "points", domain, method)
        given = top.optional("landmarks", list) is not None
        if given and method != "landmarks":
            raise ValueError(f"a table of method {method!r} has no landmarks")
        landmarks = _records(top, "landmarks", domain, method) if given else None
        embedding: NoisyEmbedding | None = None
        if method == "landmarks":
            marks = codes if landmarks is None else landmarks
            embedding = LandmarkEmbedding.from_fields(top, kernel, marks)
        elif method == "features":
            embedding = WaveEmbedding.from_fields(top, kernel)
        else:
            for name in ("noise", "coordinates"):
                if top.get(name, dict | list | None) is not None:
                    raise ValueError(f"a table drawn whole has no {name}")
        weight, style, bound = weights_from(top, len(codes))
        if method == "exponential" and style != "uniform":
            raise ValueError("a table drawn whole has equal weights")
        privacy = Statement.from_fields(top.part("privacy"))
        shares = NoisyShares.from_fields(top.part("shares"), domain) if top.has("shares") else None
        return cls(domain, privacy, kernel, method, embedding, landmarks, codes, weight, style, bound, shares)

    def _other(self, other: object) -> tuple[Floats, Floats]:
        """Codes and weights of another release, or of rows of one's own."""
        if isinstance(other, TableRelease):
            if other.domain != self.domain:
                raise ValueError("the other release must be of the same domain")
            return other.codes, other.weight
        codes = own_codes(other, self.domain)
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


def _records(top: Fields, name: str, domain: Domain, method: str) -> Floats:
    """Codes of records in the domain, from a field of a file."""
    most = min(MOST_POINTS[method], _MOST_CELLS // domain.width)
    codes = matrix_from(top.get(name, list), domain.dimension, most, name)
    if not np.array_equal(domain.snap(codes), codes):
        raise ValueError(f"{name} must lie in the domain")
    return codes


def write_csv(table: pyarrow.Table, path: Path) -> Path:
    """Write an Arrow table as text."""
    import pyarrow as pa
    import pyarrow.csv as csv

    plain = [  # categories as text
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    csv.write_csv(pa.table(plain, names=table.schema.names), path)
    return path


def write_parquet(table: pyarrow.Table, path: Path, privacy: Statement) -> Path:
    """Write an Arrow table, with the promise beside it."""
    import pyarrow.parquet as pq

    about = {b"mercer.privacy": str(privacy).encode()}
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **about}), path)
    return path
