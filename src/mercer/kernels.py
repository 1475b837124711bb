"""Kernels: the public path of `mercer.spaces.kernels`."""

from mercer.spaces.kernels import (
    KERNELS,
    Exponential,
    Gaussian,
    Kernel,
    Matern32,
    Matern52,
    MaternKernel,
    Norms,
    norms,
)

__all__ = [
    "KERNELS",
    "Exponential",
    "Gaussian",
    "Kernel",
    "Matern32",
    "Matern52",
    "MaternKernel",
    "Norms",
    "norms",
]
