"""Orthonormal systems e_1..e_m of a kernel's space, chosen without data (M2).  Layer 1.

`cosine` (reflecting boundary) and `fourier` (periodic, or open by padding): closed forms;
`moments`: the same functions unweighted; `expansions`: Hermite functions and wavelets;
`points`: landmarks and eigenfunctions for any kernel; `grid`: the Markov form.
"""

from mercer.bases.base import REGISTRY, Basis, Features, basis_from_dict
from mercer.bases.cosine import Cosine
from mercer.bases.expansions import Hermite, Wavelet
from mercer.bases.fourier import Fourier
from mercer.bases.grid import Grid
from mercer.bases.moments import Moments
from mercer.bases.points import Eigenfunctions, Landmarks
from mercer.bases.spectral import SpectralBasis

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
