"""The compiled search: problems as it takes them, and plans improved by it."""

from spacevrp.search.improve import Given, Improved, Stop, improve
from spacevrp.search.model import Native, native_model

__all__ = ["Given", "Improved", "Native", "Stop", "improve", "native_model"]
