"""Kernels: the public path of `mercer.spaces.kernels`."""

from mercer.spaces.kernels import KERNELS, Kernel, Matern32, Matern52, MaternKernel, Norms, norms
from mercer.spaces.kernels import ExponentialKernel as Exponential
from mercer.spaces.kernels import GaussianKernel as Gaussian

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
