"""The public choices of a density release, checked before any record is read.  Layer 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.bases import REGISTRY, Basis, Fourier
from mercer.bases.base import covariance_of
from mercer.checks import check_choice, check_count
from mercer.densities import unit_covariance
from mercer.domain import Domain
from mercer.kernels import KERNELS, Kernel, norms
from mercer.mechanisms import MECHANISMS, Mechanism
from mercer.rules import ExpectedError, noise_bandwidth, rule_bandwidth

__all__ = ["Recipe", "dimension_of"]

_SIZES = {
    "landmarks": {1: 64, 2: 144, 3: 343},
    "eigenfunctions": {1: 32, 2: 100, 3: 200},
    "grid": {1: 513, 2: 33**2, 3: 11**3},
}


@dataclass(frozen=True)
class Recipe:
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
    ) -> Recipe:
        noise = check_choice("kernel", kernel, tuple(KERNELS))
        shape = check_choice("smoother", smoother or "gaussian", tuple(KERNELS))
        if basis is not None:
            basis = check_choice("basis", basis, tuple(REGISTRY))
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
        if isinstance(bandwidth, str) and bandwidth not in ("auto", "rule"):
            raise ValueError(
                "bandwidth must be a number, one number for each column, a matrix, 'auto' or "
                f"'rule'; got {bandwidth!r}"
            )
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
        automatic = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        return automatic and self.basis in ("cosine", "fourier")

    def given(self, domain: Domain) -> tuple[Basis, Kernel] | None:
        """What follows from a given bandwidth, built and checked before any record is read."""
        if not isinstance(self.bandwidth, str):
            return self._kernels(unit_covariance(self.bandwidth, domain))
        any_width = covariance_of(np.eye(domain.dimension) * 0.01)
        norms(KERNELS[self.smoother](any_width), KERNELS[self.kernel](any_width))
        return None

    def rule(self, domain: Domain, *, n: int, epsilon: float, delta: float) -> ExpectedError:
        """The public rule's bandwidth and what error it expects."""
        multiplier = self.mechanism.multiplier(epsilon=epsilon, delta=delta)
        return rule_bandwidth(
            n=n, multiplier=multiplier, dimension=domain.dimension, boundary=self.boundary
        )

    def build(
        self, domain: Domain, *, n: int, epsilon: float, delta: float
    ) -> tuple[Basis, Kernel]:
        """The basis and the kernel of the estimate."""
        given = self.given(domain)
        if given is not None:
            return given
        if self.adaptive:
            multiplier = self.mechanism.multiplier(epsilon=epsilon, delta=delta)
            length = noise_bandwidth(
                n=n, multiplier=multiplier, dimension=domain.dimension, boundary=self.boundary
            )
        else:
            length = self.rule(domain, n=n, epsilon=epsilon, delta=delta).bandwidth
        return self._kernels(covariance_of(np.eye(domain.dimension) * length**2))

    def _kernels(self, covariance: tuple[tuple[float, ...], ...]) -> tuple[Basis, Kernel]:
        noise, shape = KERNELS[self.kernel](covariance), KERNELS[self.smoother](covariance)
        norms(shape, noise)  # raises where the estimate is not in the noise kernel's space
        if self.basis == "grid" and shape.smoothness < noise.smoothness:
            raise ValueError(
                f"smoother={self.smoother!r} must be at least as smooth as kernel={self.kernel!r} "
                "on a grid, whose points hold derivatives; use basis='landmarks'"
            )
        if self.basis == "fourier":
            return Fourier.spanning(noise, periodic=self.boundary == "periodic"), shape
        size = self.size or _SIZES.get(self.basis, {}).get(len(covariance), 0)
        return REGISTRY[self.basis].spanning(noise, size), shape


def dimension_of(bounds: object) -> int | None:
    """Columns that the bounds speak of, where that can be told."""
    try:
        shape = np.asarray(bounds, dtype=float).shape
    except (TypeError, ValueError):
        return None
    return {1: 1, 2: shape[0] if shape else 1}.get(len(shape))


def _check_fit(noise: str, wall: str, basis: str) -> None:
    if (basis == "cosine" and wall != "reflect") or (basis == "fourier" and wall == "reflect"):
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
