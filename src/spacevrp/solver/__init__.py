"""The inference door: problems in, refereed solutions out, cut to fit the memory there is."""

from spacevrp.solver.search import Seconds
from spacevrp.solver.solver import Attempt, NoPlanError, Solver, solve

__all__ = ["Attempt", "NoPlanError", "Seconds", "Solver", "solve"]
