"""How good any mechanism can be: the public path of `mercer.noise.optimal.bounds`."""

from mercer.noise.optimal.bounds import counting_bound, histogram_bound, margins_bound, sparse_bound

__all__ = ["counting_bound", "histogram_bound", "margins_bound", "sparse_bound"]
