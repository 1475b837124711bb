"""Orthonormal systems e_1..e_m of a kernel's space, chosen without data (M2).  Layer 1.

`spectral`: cosines (reflecting boundary) and Fourier (periodic, or open by padding);
`points`: landmarks and eigenfunctions for any kernel; `grid`: the Markov form.
"""

from mercer.bases.base import Basis, Features, basis_from_dict
from mercer.bases.grid import Grid
from mercer.bases.points import Eigenfunctions, Landmarks
from mercer.bases.spectral import Cosine, Fourier, SpectralBasis

__all__ = [
    "Basis",
    "Cosine",
    "Eigenfunctions",
    "Features",
    "Fourier",
    "Grid",
    "Landmarks",
    "SpectralBasis",
    "basis_from_dict",
]
