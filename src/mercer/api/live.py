"""`mercer.live` and `mercer.open_live`: a density, or a released machine, that answers as it is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, cast, overload

from mercer.api.calls import DryRun, Progress, Source, Terms, call, made
from mercer.api.counted import check_smooth
from mercer.api.density import counted_rows, density, expected_density
from mercer.api.recipes.density import Recipe
from mercer.columns.domain import dimension_of
from mercer.common.checks import check_choice, check_epsilon
from mercer.door.publish import LedgerLike, open_tap, public_seed
from mercer.noise.mechanisms.base import no_delta
from mercer.online.base import CoordinatesLive, LiveRelease, MachineLive, reopened, store_of
from mercer.online.cholesky import LIMIT, CholeskyLive, point_sensitivity
from mercer.online.markov import MarkovLive
from mercer.online.store import LiveError, LiveStore, check_name, is_name, taken
from mercer.releases.base import Release, released
from mercer.releases.density.release import DensityRelease
from mercer.sensitive.summaries.density import PointValues
from mercer.spaces.bases import Grid
from mercer.spaces.kernels import KERNELS, MaternKernel

__all__ = ["live", "live_names", "open_live"]

Store: TypeAlias = str | os.PathLike[str] | LiveStore
_ROUTES = ("auto", "coordinates", "markov", "cholesky")


@overload
def live(data: Release, *, store: Store | None = None, name: str | None = None) -> MachineLive: ...


@overload
def live(
    data: object,
    *,
    bounds: object = None,
    epsilon: float,
    delta: float | None = None,
    bandwidth: object = "auto",
    kernel: str = "gaussian",
    smoother: str | None = None,
    boundary: str | None = None,
    columns: object = None,
    unit: str | None = None,
    missing: str = "zero",
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    route: str = "auto",
    store: Store | None = None,
    name: str | None = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> LiveRelease | DryRun: ...


@call(expected_density, always_pays=False)  # type: ignore[misc]  # None for an epsilon that is missing
def live(
    data: object,
    *,
    bounds: object = None,
    epsilon: float | None,
    delta: float | None = None,
    bandwidth: object = "auto",
    kernel: str = "gaussian",
    smoother: str | None = None,
    boundary: str | None = None,
    columns: object = None,
    unit: str | None = None,
    missing: str = "zero",
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    route: str = "auto",
    store: Store | None = None,
    name: str | None = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> LiveRelease | DryRun:
    """Release a density that answers at any point, any time, the same for ever (M7).

    All of the path is paid for once, here; questions are free.

    Parameters
    ----------
    data, bounds, epsilon, delta, bandwidth, smoother, boundary, columns, unit, missing
        As in `mercer.density`.  Or a released classifier or regression alone, which is public: the
        store keeps it and answers from it.
    kernel
        Kernel of the noise.  "gaussian" (default): answers come from released coordinates, with
        or without delta.  "exponential", "matern32", "matern52" (with delta): rougher paths that
        are drawn where they are asked for.
    route
        "auto" (default): "coordinates" for the Gaussian kernel, "markov" for the others on one
        column, "cholesky" on two and three.  "cholesky" works for every kernel with
        boundary="open", up to 8192 points; question number i takes time i^2, and its store holds
        counts of the records.
    store
        A file (SQLite) or a postgresql:// URL; answers are on the disk before they are returned.
        None: this process's memory, for trying things out.  A file is readable by its owner alone.
    name
        Of this live release in the store; that of the file where it is left out, or "live".
    na_values, outside, formats, insist, dry_run, rng, ledger, dataset, progress
        As in `mercer.density`.

    Examples
    --------
    >>> import mercer
    >>> path = mercer.live([34.0, 51.5, 42.0, 67.0], bounds=(0, 100), epsilon=1, delta=1e-6,
    ...                    bandwidth=10, kernel="matern32")
    >>> bool(path.ask(42.0) == path.ask([10.0, 42.0])[1])
    True

    """
    public = released(data)
    if public is not None and MachineLive.route in public.routes:
        if not (bounds is None and epsilon is None and delta is None and ledger is None):
            raise ValueError(
                "a released machine is public already: give store and name, no bounds, epsilon, "
                "delta or ledger"
            )
        name = check_name(_default_name(store) if name is None else name)
        with _opened(store) as keeper:
            keeper.prepare()
            if name in keeper.names():
                raise LiveError(taken(name, keeper.where))
            return MachineLive.start(keeper, name, public)
    check_smooth(bounds)
    way = _route(route, kernel, dimension_of(bounds), delta)
    check_epsilon(epsilon)
    name = check_name(_default_name(store) if name is None else name)
    with _opened(None if dry_run else store) as keeper:
        keeper.prepare()
        if name in keeper.names():
            raise LiveError(taken(name, keeper.where))
        terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
        if way == "cholesky":
            if boundary not in (None, "open"):
                raise ValueError(f"boundary must be 'open' with route='cholesky', got {boundary!r}")
            source = Source.of(terms, data, bounds, columns, missing, na_values, outside, formats)
            return _cholesky(source, keeper, name, bandwidth, kernel, smoother)
        found = made(
            density(
                data,
                **vars(terms),
                bounds=bounds,
                bandwidth=bandwidth,
                kernel=kernel,
                smoother=smoother,
                boundary=boundary,
                basis="grid" if way == "markov" else None,
                columns=columns,
                missing=missing,
                na_values=na_values,
                outside=outside,
                formats=formats,
            )
        )
        release = cast(DensityRelease, found)  # without a step it is one
        if way == "coordinates":
            return CoordinatesLive.start(keeper, name, release)
        assert isinstance(release.basis, Grid)
        error = release.basis.interpolation(KERNELS[smoother or "gaussian"](release.covariance))
        path = MarkovLive.start(keeper, name, release, error=error)
        if rng is not None:
            path.follow(public_seed(rng))
        return path


def _cholesky(
    source: Source, store: LiveStore, name: str, bandwidth: object, kernel: str, smoother: str | None
) -> CholeskyLive:
    """Keep f_D as counts, and pay for the noise at all points that will ever be asked."""
    if isinstance(bandwidth, str) and bandwidth not in ("auto", "rule"):
        raise ValueError(
            "bandwidth must be a number, one number a column, 'auto' or 'rule' with "
            f"route='cholesky', got {bandwidth!r}"
        )
    terms, dimension = source.terms, dimension_of(source.bounds)
    purse = terms.purse(source.data)
    word = "rule" if isinstance(bandwidth, str) else bandwidth
    recipe = Recipe.of(
        kernel, smoother, "open", "landmarks", None, word, "gaussian", delta=terms.delta, dimension=dimension
    )
    promise = terms.promise(recipe.mechanism)
    tally, domain, n, unit = counted_rows(source, recipe)
    basis, shape = recipe.build(domain, n=n, **promise)
    values = PointValues.of(tally, shape, n=n)
    sensitivity = point_sensitivity(values, shape, basis.kernel, n)
    what = f"live density of {' and '.join(domain.names)}"
    tap, statement = open_tap(sensitivity, LIMIT, purse, promise=promise, n=n, unit=unit, what=what)
    return CholeskyLive.start(
        store,
        name,
        domain=domain,
        kernel=basis.kernel,
        smoother=shape,
        values=values,
        tap=tap,
        statement=statement,
    )


def _default_name(store: object) -> str:
    """The name of the store's file without its ending: `ages` for ages.db."""
    if isinstance(store, (str, os.PathLike)) and "://" not in os.fspath(store):
        stem = Path(os.fspath(store)).stem
        return stem if is_name(stem) else "live"
    return "live"


def _route(route: object, kernel: object, dimension: int | None, delta: object) -> str:
    """The way in which questions are answered: public, and checked before any record is read."""
    way = check_choice("route", route, _ROUTES)
    shape = check_choice("kernel", kernel, tuple(KERNELS))
    markov = issubclass(KERNELS[shape], MaternKernel)
    if way == "auto":
        way = "coordinates" if not markov else "markov" if dimension in (None, 1) else "cholesky"
    if way == "markov" and not (markov and dimension in (None, 1)):
        raise ValueError(
            "route='markov' needs one column and kernel='exponential', 'matern32' or 'matern52'; "
            "leave route out"
        )
    if way == "coordinates" and markov:
        raise ValueError(
            f"route='coordinates' needs kernel='gaussian', got {shape!r}: a rough path has more to "
            "it than any coordinates; leave route out"
        )
    if way != "coordinates" and no_delta(delta):
        raise ValueError(
            f"delta is missing: live answers by {way!r} have Gaussian noise, which needs a delta, "
            "for example 1e-6; for pure differential privacy use kernel='gaussian' without route"
        )
    return way


def open_live(store: Store, name: str | None = None) -> LiveRelease:
    """Continue a live release, in this process or another.

    `name` may be left out where the store has one live release.
    """
    with _opened(store) as keeper:
        if name is None:
            names = keeper.names()
            if not names:
                raise LiveError(
                    f"store {keeper.where!r} holds no live release yet; make one with mercer.live, "
                    "or on the command line with mercer live"
                )
            if len(names) > 1:
                have = ", ".join(map(repr, names))
                raise LiveError(
                    f"name must say which live release of {keeper.where!r} to open; it has {have}"
                )
            name = names[0]
        return reopened(keeper, check_name(name))


def live_names(store: Store) -> tuple[str, ...]:
    """Names of the live releases in a store."""
    with _opened(store) as keeper:
        names = keeper.names()
    if keeper is not store:
        keeper.close()
    return names


@contextmanager
def _opened(store: Store | None) -> Iterator[LiveStore]:
    """Open a store unless it is open; one that was opened here is closed if there is an error."""
    keeper = store_of(store)
    try:
        yield keeper
    except BaseException:
        if keeper is not store:
            keeper.close()
        raise
