"""`mercer.synthetic`: a weighted synthetic table with differential privacy.

M10, M12, M16, M17; Balog, Tolstikhin and Schoelkopf 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.api.calls import DryRun, Progress, Terms, call
from mercer.api.recipes.synthetic import TableRecipe, plan_table
from mercer.api.table_request import TableRequest, draw_table
from mercer.columns.domain import InWords
from mercer.common.checks import Floats, check_choice, check_count, check_positive
from mercer.door.publish import LedgerLike, publish
from mercer.noise.laws import Law
from mercer.noise.mechanisms import L2, Gaussian, Mechanism
from mercer.noise.mechanisms.base import no_delta
from mercer.promise.statement import Statement
from mercer.releases.findings import tell
from mercer.releases.synthetic.embedding import LandmarkEmbedding
from mercer.releases.synthetic.records import RecordsRelease
from mercer.releases.synthetic.reduced.search import DEVICES
from mercer.releases.synthetic.release import TableRelease
from mercer.releases.synthetic.weights import weigh
from mercer.sensitive.data import open_records
from mercer.sensitive.persons import public_n
from mercer.sensitive.summaries.embedding import EmbeddingSummary, OwnFeatures, tally_own
from mercer.spaces.record_kernels import LandmarkSpan, OwnKernel

__all__ = ["synthetic"]

_ERROR = 1e-9  # of a caller's kernel values, for the choice of directions alone
_MOST_OWN = 2000


def _expected_table(given: Mapping[str, Any], made: Statement) -> str:
    """How far shares of a synthetic table will be off, in words."""
    if isinstance(given["kernel"], OwnKernel):
        return "it depends on the kernel: try public records like them, with a seed"
    names = ("domain", "method", "kernel", "scale", "size", "features", "weights", "bound", "public")
    chosen = {name: given[name] for name in (*names, "public")} | {"pure": not made.delta}
    plan = plan_table(
        chosen, epsilon=made.epsilon, delta=made.delta or None, choice_share=given["choice_share"]
    )
    if not plan.coordinates:
        return "one of all tables is drawn; see docs/tables.md"
    return f"{plan.accuracy(made.n)}; {plan.coordinates} coordinates, at most {plan.size} synthetic records"


@call(_expected_table)
def synthetic(
    table: object,
    *,
    domain: object = None,
    epsilon: float,
    delta: float | None = None,
    method: str = "landmarks",
    public: object = None,
    size: int | None = None,
    kernel: object = "gaussian",
    scale: object = "auto",
    weights: str = "positive",
    bound: float = 1.0,
    features: int | None = None,
    unit: str | None = None,
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    restarts: int = 1,
    device: str = "numpy",
    choice_share: float = 0.2,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
    searching: Progress | None = None,
) -> TableRelease | RecordsRelease | DryRun:
    """Release a weighted synthetic table with differential privacy.

    The mean embedding of the records in a kernel's space gets noise, and synthetic records with
    weights stand for it in every later analysis.

    Parameters
    ----------
    table
        A data frame, an Arrow table, the path of a CSV or Parquet file or folder (streamed), an
        array, or a list of rows.  A category that is not declared counts as the column's `other`;
        where there is none, the row contributes nothing, and so does one with a missing value.
    domain
        The public `mercer.Domain` of the columns, a mapping for it, or the path of a JSON or YAML
        file.  Numbers outside their bounds are clipped.
    epsilon, delta
        The promise.  Delta left out (or 0) is pure differential privacy.
    method
        "landmarks" (default): the embedding is seen through kernel functions at public records,
        which become the synthetic ones (Balog et al., Algorithm 1).  "features": through random
        features, and records and weights are searched for afterwards (Algorithm 2).
        "exponential": one of all tables of `size` records of a tiny domain (Section 3.4).
    public
        Landmarks: public rows like those of the table, or a function of (size, rng) that draws
        rows of a public distribution.  By default they follow private laws of the columns (see
        `scale`; "laws" asks for that with scales of your own), or fill the domain evenly.
    size
        Number of synthetic records: by default 1000 landmarks, or up to 200 with "features".
    kernel, scale
        "gaussian", "matern52", "matern32" or "exponential", times exp(-scale) for two different
        categories; or a `mercer.OwnKernel` on records of any kind, with `public` landmarks and
        `table` a list.  `scale`: "private" (the laws of the single columns are released for
        `choice_share` of epsilon, and tell how long scales are and where landmarks belong),
        "public" (a rule for evenly spread records, or for the public rows), "auto" (default:
        "public" where there are public rows, else "private"), a number (share of the width of
        every numeric column), or numbers by column, in its units.
    weights, bound
        "positive" (default): a distribution.  "l1": absolute values of sum at most `bound`
        (Theorem 11).  "free": nearest in the kernel's space, any sign.  "uniform": equal.
    features, restarts, device
        For method="features": the number of random features, how often the search starts, and
        where it runs ("numpy", or PyTorch on "torch" or "cuda").
    unit
        Column that names the person: then the promise is about persons, not rows (M16).
    choice_share, na_values, outside, formats, insist, dry_run, rng, ledger, dataset, progress
        As in `mercer.density`.
    searching
        Called with 1 after each evaluation of the search of method="features".

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> rows = np.column_stack([np.linspace(20, 80, 5000), np.tile([0, 1, 1, 1], 1250)])
    >>> domain = mercer.Domain({"age": (0, 100), "ill": bool})
    >>> release = mercer.synthetic(rows, domain=domain, epsilon=1, delta=1e-6, size=100, rng=0)
    >>> 45 < release.expect("age") < 55
    True
    >>> 0.65 < release.probability({"ill": True}) < 0.85
    True

    """
    check_choice("device", device, DEVICES)
    check_count("restarts", restarts, least=1, most=100, hint="starts of the search")
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    if isinstance(kernel, OwnKernel):
        return _synthetic_own(table, kernel, terms, domain, public, method, weights, bound)
    chosen = (domain, method, kernel, scale, size, features, weights, bound, public)
    recipe = TableRecipe.of(*chosen, pure=no_delta(delta))
    ask = TableRequest.of(recipe, terms.promise(recipe.mechanism), choice_share)
    reading, purse = terms.reading(na_values, formats, outside), terms.purse(table)
    records = open_records(table, domain=recipe.domain, unit=unit, reading=reading)
    if recipe.method == "exponential":
        return draw_table(recipe, records, purse, epsilon=ask.promise["epsilon"])
    polish = {"restarts": restarts, "device": device, "progress": searching}
    records.progress(terms.tick)
    return ask.release(records, purse, polish)


def _synthetic_own(
    records: object,
    kernel: OwnKernel,
    terms: Terms,
    domain: object,
    public: object,
    method: str,
    weights: str,
    bound: float,
) -> RecordsRelease:
    """Release weighted public landmarks that stand for records of any kind."""
    if method != "landmarks" or terms.unit is not None or domain is not None:
        raise ValueError(
            "a kernel of your own goes with method='landmarks', without domain and unit: it sees "
            "records of any kind"
        )
    style = check_choice("weights", weights, ("positive", "l1", "free"))
    if check_positive("bound", bound, "1 or more") < 1:
        raise ValueError(f"bound must be at least 1 (Balog et al., Theorem 11), got {bound:g}")
    mechanism: Mechanism = L2() if no_delta(terms.delta) else Gaussian()
    promise = terms.promise(mechanism)
    points = _landmarks(public)
    how, used = _span(kernel, points)
    purse = terms.purse(records)
    if isinstance(records, (str, bytes, dict)) or not isinstance(records, Sequence | np.ndarray):
        raise TypeError(
            f"table must be a list of records for a kernel of your own, got {type(records).__name__}"
        )
    public_n(len(records), of="records")
    read = [points[0]] * len(records) if terms.dry_run else list(records)  # a dry run looks at none
    tally = tally_own(read, how, terms.progress)
    summary = EmbeddingSummary(tally, n=tally.rows, unit="row")

    def build(noisy: Floats, law: Law, statement: Statement) -> RecordsRelease:
        embedding = LandmarkEmbedding.of(noisy, how.span, law)
        return RecordsRelease(
            InWords(f"records under {kernel.words}"),
            statement,
            tuple(points[i] for i in used),
            weigh(embedding, style, bound),
            embedding.coordinates,
            law,
            how.span.floor,
            style,
            bound,
            kernel,
        )

    what = f"synthetic records under {kernel.words}"
    return tell(publish(summary, mechanism, build, purse, promise=promise, what=what))


def _landmarks(public: object) -> list[Any]:
    """The public records that a kernel of the caller's is seen through."""
    if isinstance(public, (str, bytes, dict)) or not isinstance(public, Sequence | np.ndarray):
        raise ValueError(
            "public must be a list of public records: a kernel of your own says where landmarks "
            "are near, but not where there are any"
        )
    points = list(public)
    if not 1 <= len(points) <= _MOST_OWN:
        raise ValueError(f"public must be 1 to {_MOST_OWN} records, got {len(points)}")
    return points


def _span(kernel: OwnKernel, points: list[Any]) -> tuple[OwnFeatures, list[int]]:
    """The span of the landmarks, which are public: an error may say what is wrong with them."""
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
