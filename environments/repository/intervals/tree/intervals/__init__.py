"""Sets of half-open intervals."""

from .parse import parse
from .sets import IntervalSet

__all__ = ["IntervalSet", "parse"]
