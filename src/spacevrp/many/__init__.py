"""Many instances at once: in parts, over processes or a Ray cluster, resumable after any kill."""

from spacevrp.many.run import ManyResult, solve_many

__all__ = ["ManyResult", "solve_many"]
