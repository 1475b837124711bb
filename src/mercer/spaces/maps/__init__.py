"""Feature maps of kernel machines: x -> phi(x) with |phi(x)| <= kappa, public.  M8.

A machine lives in the span of finitely many features, and its weights there are what is
released.  The kernel is phi(x)'phi(y) = K_m(x, y) + constant^2: the constant stands for the
intercept, which has no bound of its own (M8).  K_m is the kernel projected on landmarks or
eigenfunctions, its average over random frequencies, or the linear kernel; K_m(x, x) <= 1, and
rows are scaled to that where rounding would exceed it, so that kappa holds by construction.
"""

from mercer.spaces.maps.base import MAPS, FeatureMap, Linear, RandomFeatures, Taylor, map_from_dict
from mercer.spaces.maps.spans import LandmarkMap, TensorMap

__all__ = [
    "MAPS",
    "FeatureMap",
    "LandmarkMap",
    "Linear",
    "RandomFeatures",
    "Taylor",
    "TensorMap",
    "map_from_dict",
]
