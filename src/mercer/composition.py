"""What promises add up to: the public path of `mercer.promise.composition`."""

from mercer.promise.composition import (
    decimal,
    delta_of,
    epsilon_of,
    gaussian_above,
    gaussian_beside,
    power_of,
)

__all__ = ["decimal", "delta_of", "epsilon_of", "gaussian_above", "gaussian_beside", "power_of"]
