"""Data and a budget in, a release out: one function for each kind.  Layer 6."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import entropy
from mercer.bases import Basis, Cosine, Eigenfunctions, Fourier, Grid, Landmarks
from mercer.bases.base import covariance_of
from mercer.checks import Floats, check_choice, check_count, check_delta, check_epsilon
from mercer.data import Rows, open_rows
from mercer.densities import DensityRelease, unit_covariance
from mercer.domain import Domain
from mercer.kernels import KERNELS, Gaussian, Kernel, MaternKernel, norms
from mercer.mechanisms import MECHANISMS, Mechanism
from mercer.privacy import Statement
from mercer.publish import publish
from mercer.release import NoiseLaw
from mercer.rules import noise_bandwidth, rule_bandwidth
from mercer.summaries import DensitySummary, Tally, tally_rows

__all__ = ["DensityPlan", "density", "density_plan"]

_BASES = ("cosine", "fourier", "landmarks", "eigenfunctions", "grid")
_SIZES = {"landmarks": {1: 64, 2: 144, 3: 343}, "eigenfunctions": {1: 32, 2: 100, 3: 200},
          "grid": {1: 513, 2: 33**2, 3: 11**3}}  # fmt: skip


def density(
    data: object,
    *,
    bounds: object = None,
    epsilon: object = None,
    delta: object = None,
    bandwidth: object = "auto",
    kernel: str = "gaussian",
    smoother: str | None = None,
    boundary: str | None = None,
    columns: object = None,
    unit: str | None = None,
    basis: str | None = None,
    size: int | None = None,
    missing: str = "zero",
    mechanism: str | Mechanism = "gaussian",
    rng: object = None,
    progress: Callable[[int], None] | None = None,
) -> DensityRelease:
    """Release the density of one to three columns with (epsilon, delta)-differential privacy.

    Parameters
    ----------
    data
        An array, a pandas or polars column or frame, an Arrow table, or the path of a CSV or
        Parquet file or of a folder of them.  Files are streamed.
    bounds
        Public (lower, upper), or one such pair for each column.  Values outside are clipped.
    epsilon, delta
        The promise.  No defaults.
    bandwidth
        "auto" (default): noise for a small reference bandwidth, then the final one chosen from
        the noisy result, free (M17).  "rule": a public rule in n, epsilon and delta.  Or a
        number, one number for each column, or a matrix (the squared bandwidth H), in the units of
        the data.
    kernel
        Kernel of the noise: "gaussian" (M4), or "exponential" (M6), "matern32", "matern52".
    smoother
        Kernel of the estimate; the Gaussian unless the noise is to have the same other kernel.
    boundary
        "reflect" (default; data on an interval), "periodic" (time of day), "open" (the papers;
        always with kernels other than the Gaussian).
    columns
        Names of the columns to release; needed where the data have more than the bounds.
    unit
        Column that names the person: then the promise is about persons, not rows (M16).
    basis, size
        Coordinates: "cosine", "fourier", "landmarks", "eigenfunctions" or "grid" (kernels other
        than the Gaussian), and how many points or functions the last three have.
    missing
        "zero" (default): rows without finite values count in n and add nothing (M18).  "drop":
        the caller knows that the number of complete rows is public, and only they count.
    mechanism
        "gaussian", or a `mercer.mechanisms.Gaussian(calibration="classic")` (E1).
    rng
        None: secure noise.  A seed or a NumPy generator: reproducible, and marked not private.
    progress
        Called with the number of rows of each chunk as it is read.

    Examples
    --------
    >>> import mercer
    >>> ages = mercer.density([34.0, 51.5, 42.0, 67.0], bounds=(0, 100), epsilon=1, delta=1e-6)
    >>> float(ages.integral(0, 100))
    1.0
    """
    promise = {"epsilon": check_epsilon(epsilon), "delta": check_delta(delta)}
    check_choice("missing", missing, ("zero", "drop"))
    source = entropy.resolve(rng)
    plan = _Plan.of(kernel, smoother, boundary, basis, size, bandwidth, mechanism)
    dimension = _dimension(bounds)
    rows = open_rows(data, columns=columns, unit=unit, dimension=dimension)
    domain = Domain.of(bounds, rows.names)
    plan.check(domain)
    tally = _tally(rows, domain, progress)
    n = _count(tally, rows, missing)
    chosen, smoothing = plan.build(domain, n=n, **promise)
    summary = DensitySummary(tally, chosen, smoothing, n=n, unit=rows.unit or "row")

    def build(noisy: Floats, law: NoiseLaw, statement: Statement) -> DensityRelease:
        fields: dict[str, Any] = {
            "domain": domain, "basis": chosen, "coordinates": noisy, "noise": law,
            "privacy": statement, "boundary": plan.boundary,
        }  # fmt: skip
        if plan.adaptive:
            return DensityRelease.smoothed(**fields)
        choice = "rule" if isinstance(plan.bandwidth, str) else "given"
        return DensityRelease(**fields, covariance=smoothing.covariance, choice=choice)

    return publish(summary, plan.mechanism, build, entropy=source, **promise)


@dataclass(frozen=True)
class DensityPlan:
    """What a density release would cost in accuracy: computed without any data."""

    n: int
    epsilon: float
    delta: float
    bandwidth: float  # the rule's, as a share of the width of the bounds
    finest: float  # bandwidth at which "auto" adds its noise, likewise
    coordinates: int
    privacy_error: float  # root expected integrated squared error due to noise, at `bandwidth`
    sampling_error: float  # the same due to sampling, for the reference density
    pointwise: float  # largest standard deviation of the noise at a point, density per unit

    @property
    def share(self) -> float:
        """Privacy's share of the variance."""
        return self.privacy_error**2 / (self.privacy_error**2 + self.sampling_error**2)


def density_plan(
    *,
    n: object,
    bounds: object,
    epsilon: object,
    delta: object,
    boundary: str = "reflect",
    bandwidth: object = "auto",
    mechanism: str | Mechanism = "gaussian",
) -> DensityPlan:
    """Accuracy of `density` before anything is spent: no data are needed."""
    promise = {"epsilon": check_epsilon(epsilon), "delta": check_delta(delta)}
    count = check_count("n", n, least=2, most=10**15, hint="the public number of records")
    dimension = _dimension(bounds) or 1
    domain = Domain.of(bounds, ["x"] if dimension == 1 else [f"x{i + 1}" for i in range(dimension)])
    plan = _Plan.of("gaussian", None, boundary, None, None, bandwidth, mechanism)
    chosen, smoothing = plan.build(domain, n=count, **promise)
    assert isinstance(chosen, (Cosine, Fourier))
    multiplier = plan.mechanism.multiplier(**promise)
    noise = plan.mechanism.calibrate(
        DensitySummary(Tally(domain), chosen, smoothing, n=count, unit="row").sensitivity,
        chosen.size, **promise,
    )  # fmt: skip
    if plan.adaptive:
        rule = rule_bandwidth(
            n=count, multiplier=multiplier, dimension=domain.dimension, boundary=plan.boundary
        )
        final = covariance_of(np.eye(domain.dimension) * max(rule.bandwidth, float(smoothing.lengths[0])) ** 2)  # fmt: skip  # noqa: E501
    else:
        final = smoothing.covariance
    preview = DensityRelease(
        domain=domain, basis=chosen, coordinates=chosen.features(np.full((1, domain.dimension), 0.5))[0],
        noise=NoiseLaw("discrete-gaussian", noise.sd, noise.step), boundary=plan.boundary,
        privacy=Statement(**promise, neighbours="replace-one", unit="row", n=count,
                          mechanism=plan.mechanism.words, calibration=plan.mechanism.calibration,
                          secure=True, version="plan"),
        covariance=final, choice="rule",
    )  # fmt: skip  # a stand-in that holds no data: only its noise is read
    accuracy = preview.accuracy
    sampling = float(np.sum((chosen.multiplier(final) * chosen.amplitude) ** 2)) / count
    return DensityPlan(
        n=count,
        **promise,
        bandwidth=float(np.sqrt(final[0][0])),
        finest=float(smoothing.lengths[0]),
        coordinates=chosen.size,
        privacy_error=float(np.sqrt(accuracy.integrated)),
        sampling_error=float(np.sqrt(sampling / domain.volume)),
        pointwise=accuracy.pointwise,
    )


@dataclass(frozen=True)
class _Plan:
    """Public choices, checked before any record is read."""

    kernel: str
    smoother: str
    boundary: str
    basis: str
    size: int | None
    bandwidth: object
    mechanism: Mechanism

    @classmethod
    def of(
        cls,
        kernel: object,
        smoother: object,
        boundary: object,
        basis: object,
        size: object,
        bandwidth: object,
        mechanism: object,
    ) -> _Plan:
        noise = check_choice("kernel", kernel, tuple(KERNELS))
        shape = check_choice("smoother", smoother or "gaussian", tuple(KERNELS))
        if basis is not None:
            basis = check_choice("basis", basis, _BASES)
        opened = noise != "gaussian" or shape != "gaussian" or basis not in (None, "cosine")
        if boundary is None:
            boundary = "open" if opened else "reflect"
        wall = check_choice("boundary", boundary, ("reflect", "periodic", "open"))
        if basis is None:
            basis = "grid" if noise != "gaussian" else "cosine" if wall == "reflect" else "fourier"
        _check_fit(noise, wall, basis)
        if size is not None:
            if basis in ("cosine", "fourier"):
                raise ValueError(
                    f"size cannot be set for the basis {basis!r}: the bandwidth sets it; choose "
                    "basis='landmarks', 'eigenfunctions' or 'grid'"
                )
            size = check_count("size", size, least=2, most=4096, hint="points or functions")
        if isinstance(bandwidth, str):
            check_choice("bandwidth", bandwidth, ("auto", "rule"))
        if isinstance(mechanism, str):
            mechanism = MECHANISMS[check_choice("mechanism", mechanism, tuple(MECHANISMS))]()
        if not isinstance(mechanism, Mechanism):
            raise TypeError(
                f"mechanism must be a name or a Mechanism, got {type(mechanism).__name__}"
            )
        return cls(noise, shape, wall, basis, size, bandwidth, mechanism)

    @property
    def adaptive(self) -> bool:
        """Whether the bandwidth is chosen after the noise: only spectral coordinates can."""
        return self.bandwidth == "auto" and self.basis in ("cosine", "fourier")

    def check(self, domain: Domain) -> None:
        """What depends on the domain, still before any record is read."""
        if not isinstance(self.bandwidth, str):
            self._kernels(unit_covariance(self.bandwidth, domain))

    def build(
        self, domain: Domain, *, n: int, epsilon: float, delta: float
    ) -> tuple[Basis, Kernel]:
        """The basis and the kernel of the estimate."""
        if isinstance(self.bandwidth, str):
            public = {
                "n": n,
                "multiplier": self.mechanism.multiplier(epsilon=epsilon, delta=delta),
                "dimension": domain.dimension,
                "boundary": self.boundary,
            }
            if self.adaptive:
                length = noise_bandwidth(**public)  # type: ignore[arg-type]
            else:
                length = rule_bandwidth(**public).bandwidth  # type: ignore[arg-type]
            covariance = covariance_of(np.eye(domain.dimension) * length**2)
        else:
            covariance = unit_covariance(self.bandwidth, domain)
        return self._kernels(covariance)

    def _kernels(self, covariance: tuple[tuple[float, ...], ...]) -> tuple[Basis, Kernel]:
        noise, shape = KERNELS[self.kernel](covariance), KERNELS[self.smoother](covariance)
        norms(shape, noise)  # raises where the estimate is not in the noise kernel's space
        if self.basis == "cosine" and isinstance(noise, Gaussian):
            return Cosine.for_kernel(noise), shape
        if self.basis == "fourier" and isinstance(noise, Gaussian):
            return Fourier.for_kernel(noise, periodic=self.boundary == "periodic"), shape
        size = self.size or _SIZES[self.basis][len(covariance)]
        if self.basis == "grid" and isinstance(noise, MaternKernel):
            if not noise.diagonal:
                raise ValueError(
                    f"bandwidth must be a number or one number a column with kernel={self.kernel!r}"
                )
            return Grid.even(noise, size), shape
        if self.basis == "landmarks":
            return Landmarks.lattice(noise, size), shape
        return Eigenfunctions.leading(noise, size), shape


def _check_fit(noise: str, wall: str, basis: str) -> None:
    if basis == "cosine" and wall != "reflect" or basis == "fourier" and wall == "reflect":
        raise ValueError(f"basis={basis!r} does not fit boundary={wall!r}; leave basis out")
    if basis in ("cosine", "fourier") and noise != "gaussian":
        raise ValueError(f"basis={basis!r} needs kernel='gaussian', got kernel={noise!r}")
    if basis not in ("cosine", "fourier") and wall != "open":
        raise ValueError(
            f"boundary={wall!r} needs kernel='gaussian' on cosine or Fourier coordinates; use "
            f"boundary='open' with kernel={noise!r} and basis={basis!r}"
        )
    if basis == "grid" and noise == "gaussian":
        raise ValueError(
            "basis='grid' needs kernel='exponential', 'matern32' or 'matern52': the Gaussian "
            "kernel has no Markov form"
        )


def _dimension(bounds: object) -> int | None:
    """Columns that the bounds speak of, where that can be told."""
    try:
        shape = np.asarray(bounds, dtype=float).shape
    except (TypeError, ValueError):
        return None
    return {1: 1, 2: shape[0] if shape else 1}.get(len(shape))


def _tally(rows: Rows, domain: Domain, progress: Callable[[int], None] | None) -> Tally:
    if progress is not None:
        rows.progress(progress)
    return tally_rows(rows, domain)


def _count(tally: Tally, rows: Rows, missing: str) -> int:
    """n: public.  The number of rows, of persons, or of complete rows if that is public."""
    if rows.unit is not None:
        if missing == "drop":
            raise ValueError("missing='drop' cannot be combined with unit; drop the rows first")
        n, what = tally.persons, f"different {rows.unit!r}"
    else:
        n, what = (tally.complete if missing == "drop" else tally.rows), "rows"
    if n < 2:
        raise ValueError(f"data must have at least 2 {what}, got {n}; nothing was spent")
    return n
