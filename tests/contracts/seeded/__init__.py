"""One small seeded release of every kind, by every route that the public interface has.

The records follow from formulas, the noise from a seed, and so every number of every release is the
same whenever it is made.
"""

from tests.contracts.seeded import around, functions, tables  # noqa: F401  (they add their cases)
from tests.contracts.seeded.register import CASES, made

__all__ = ["CASES", "made"]
