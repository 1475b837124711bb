"""Orthonormal bases e_1..e_m of a kernel's space, chosen without data (M2).

`fourier`: Fourier functions (periodic, or open by padding) and cosines (reflecting), in closed form;
`moments`: the same functions unweighted; `expansions`: Hermite functions and wavelets;
`points`: landmarks and eigenfunctions for any kernel; `grid`: the Markov form.
"""

from mercer.spaces.bases.base import REGISTRY, Basis, Features, basis_from_dict
from mercer.spaces.bases.expansions import Hermite, Moments, Wavelet
from mercer.spaces.bases.fourier import Cosine, Fourier
from mercer.spaces.bases.grid import Grid
from mercer.spaces.bases.points import Eigenfunctions, Landmarks
from mercer.spaces.bases.spectral import SpectralBasis

__all__ = [
    "REGISTRY",
    "Basis",
    "Cosine",
    "Eigenfunctions",
    "Features",
    "Fourier",
    "Grid",
    "Hermite",
    "Landmarks",
    "Moments",
    "SpectralBasis",
    "Wavelet",
    "basis_from_dict",
]
