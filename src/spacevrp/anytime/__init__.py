"""Solving within a time: the model, and classical solvers that search on from its plans."""

from spacevrp.anytime.improving import Improvement, improve
from spacevrp.anytime.solver import Solver, solve
from spacevrp.anytime.solving import TimedAttempt, load_engines, solve_for

__all__ = [
    "Improvement",
    "Solver",
    "TimedAttempt",
    "improve",
    "load_engines",
    "solve",
    "solve_for",
]
