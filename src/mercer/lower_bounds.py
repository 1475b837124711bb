"""How good any mechanism can be: the public path of `mercer.noise.lower_bounds`."""

from mercer.noise.lower_bounds import counting_bound, histogram_bound, margins_bound, sparse_bound

__all__ = ["counting_bound", "histogram_bound", "margins_bound", "sparse_bound"]
