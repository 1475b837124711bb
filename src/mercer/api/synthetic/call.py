"""A table and a budget in, a weighted synthetic table out.

M10, M12, M16, M17; Balog, Tolstikhin and Schoelkopf 2018.
"""

from __future__ import annotations

from collections.abc import Callable

from mercer.api.calls import call
from mercer.api.expected import of_synthetic
from mercer.api.synthetic.make import TableRequest, draw_table
from mercer.api.synthetic.recipe import TableRecipe
from mercer.api.synthetic.records import synthetic_own
from mercer.columns.reading import Reading
from mercer.common.checks import check_choice, check_count
from mercer.door.publish import LedgerLike, Purse
from mercer.noise.mechanisms.base import no_delta
from mercer.releases.synthetic.records import RecordsRelease
from mercer.releases.synthetic.reduced.search import DEVICES
from mercer.releases.synthetic.release import TableRelease
from mercer.sensitive.records import open_records
from mercer.spaces.record_kernels import OwnKernel

__all__ = ["synthetic"]


@call(of_synthetic)
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
    progress: Callable[[int], None] | None = None,
    searching: Callable[[int], None] | None = None,
) -> TableRelease | RecordsRelease:
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
    if isinstance(kernel, OwnKernel):
        return synthetic_own(
            table,
            kernel,
            domain=domain,
            epsilon=epsilon,
            delta=delta,
            public=public,
            method=method,
            weights=weights,
            bound=bound,
            unit=unit,
            rng=rng,
            ledger=ledger,
            dataset=dataset,
            progress=progress,
            insist=insist,
            dry_run=dry_run,
        )
    recipe = TableRecipe.of(
        domain=domain,
        method=method,
        kernel=kernel,
        scale=scale,
        size=size,
        features=features,
        weights=weights,
        bound=bound,
        public=public,
        pure=no_delta(delta),
    )
    ask = TableRequest.of(recipe, epsilon=epsilon, delta=delta, choice_share=choice_share)
    reading = Reading.of(na_values=na_values, outside=outside, formats=formats, dry_run=dry_run)
    purse = Purse.of(rng, ledger, dataset, data=table, unit=unit, insist=insist, dry_run=dry_run)
    records = open_records(table, domain=recipe.domain, unit=unit, reading=reading)
    if recipe.method == "exponential":
        return draw_table(recipe, records, purse, epsilon=ask.promise["epsilon"])
    polish = {"restarts": restarts, "device": device, "progress": searching}
    return ask.release(records, purse, progress, polish)
