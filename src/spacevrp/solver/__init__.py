"""The inference door: problems in, refereed solutions out, cut to fit the memory there is."""

from spacevrp.solver.solver import NoPlanError, Solver, solve

__all__ = ["NoPlanError", "Solver", "solve"]
