"""Synthetic records under a kernel of the caller's.  M10; Balog et al., Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.common.checks import Floats, check_choice, check_positive
from mercer.door.publish import LedgerLike, Purse, publish
from mercer.noise.laws import Law
from mercer.noise.mechanisms import L2, Gaussian, Mechanism
from mercer.noise.mechanisms.base import check_promise, no_delta
from mercer.promise.statement import Statement
from mercer.releases.findings import tell
from mercer.releases.synthetic.embedding import LandmarkEmbedding
from mercer.releases.synthetic.records import OpenDomain, RecordsRelease
from mercer.releases.synthetic.weights import weigh
from mercer.sensitive.summaries.embedding import EmbeddingSummary, OwnFeatures, tally_own
from mercer.spaces.record_kernels import LandmarkSpan, OwnKernel

__all__ = ["synthetic_own"]

_ERROR = 1e-9  # of a caller's kernel values, for the choice of directions alone
MOST_OWN = 2000


def synthetic_own(
    records: object,
    kernel: OwnKernel,
    *,
    domain: object,
    epsilon: object,
    delta: object,
    public: object,
    method: str,
    weights: str,
    bound: float,
    unit: str | None,
    rng: object,
    ledger: LedgerLike,
    dataset: str | None,
    progress: Callable[[int], None] | None,
    insist: bool = False,
    dry_run: bool = False,
) -> RecordsRelease:
    """Weighted public landmarks that stand for records of any kind."""
    if method != "landmarks" or unit is not None or domain is not None:
        raise ValueError(
            "a kernel of your own goes with method='landmarks', without domain and unit: it sees "
            "records of any kind"
        )
    style = check_choice("weights", weights, ("positive", "l1", "free"))
    if check_positive("bound", bound, "1 or more") < 1:
        raise ValueError(f"bound must be at least 1 (Balog et al., Theorem 11), got {bound:g}")
    mechanism: Mechanism = L2() if no_delta(delta) else Gaussian()
    promise = check_promise(mechanism, epsilon, delta)
    points = _landmarks(public)
    how, used = _span(kernel, points)
    purse = Purse.of(rng, ledger, dataset, data=records, unit=None, insist=insist, dry_run=dry_run)
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Sequence | np.ndarray):
        raise TypeError(
            f"table must be a list of records for a kernel of your own, got {type(records).__name__}"
        )
    if len(records) < 2:
        raise ValueError(f"table must have at least 2 records, got {len(records)}")
    read = [points[0]] * len(records) if dry_run else list(records)  # a dry run looks at none
    tally = tally_own(read, how, progress)
    summary = EmbeddingSummary(tally, n=tally.rows, unit="row")

    def build(noisy: Floats, law: Law, statement: Statement) -> RecordsRelease:
        embedding = LandmarkEmbedding.of(noisy, how.span, law)
        return RecordsRelease(
            OpenDomain(f"records under {kernel.words}"),
            statement,
            tuple(points[i] for i in used),
            weigh(embedding, style, bound),
            embedding.raw,
            law,
            how.span.floor,
            style,
            bound,
            kernel,
        )

    what = f"synthetic records under {kernel.words}"
    return tell(publish(summary, mechanism, build, purse, promise=promise, what=what))


def _landmarks(public: object) -> list[Any]:
    if isinstance(public, (str, bytes, dict)) or not isinstance(public, Sequence | np.ndarray):
        raise ValueError(
            "public must be a list of public records: a kernel of your own says where landmarks "
            "are near, but not where there are any"
        )
    points = list(public)
    if not 1 <= len(points) <= MOST_OWN:
        raise ValueError(f"public must be 1 to {MOST_OWN} records, got {len(points)}")
    return points


def _span(kernel: OwnKernel, points: list[Any]) -> tuple[OwnFeatures, list[int]]:
    """The subspace of the landmarks, which are public: what is wrong with them may be said."""
    gram = kernel.matrix(points, points)
    if not np.all(np.isfinite(gram)):
        raise ValueError("kernel must give a finite number for any two of the public records")
    if np.max(np.abs(gram - gram.T)) > 1e-6:
        raise ValueError("kernel must be symmetric: k(x, z) = k(z, x) for the public records")
    if np.max(np.diag(gram)) > 1 + 1e-9:
        raise ValueError(
            f"supremum must be at least {np.max(np.diag(gram)) * kernel.supremum:g}, the largest "
            f"k(x, x) of the public records, got {kernel.supremum:g}"
        )
    gram = (gram + gram.T) / 2
    least = float(np.linalg.eigvalsh(gram)[0])
    if least < -1e-6 * len(gram):
        raise ValueError(
            "kernel must be positive definite: its matrix of the public records has the eigenvalue "
            f"{least:.3g}"
        )
    found, used = LandmarkSpan.of(gram, _ERROR)
    span = LandmarkSpan(found.gram, found.floor)  # a loaded release knows those that are used alone
    return OwnFeatures(kernel, [points[i] for i in used], span), [int(i) for i in used]
