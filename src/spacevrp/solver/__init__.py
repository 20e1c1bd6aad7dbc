"""Solving: reduce, construct, improve, judge."""

from spacevrp.engines.settings import Seconds
from spacevrp.solver.params import SolveParams
from spacevrp.solver.protocol import PROTOCOLS, Protocol, protocol_named
from spacevrp.solver.result import NoPlanError, Outcome, Result, Stage
from spacevrp.solver.solver import Solver, solve

__all__ = [
    "PROTOCOLS",
    "NoPlanError",
    "Outcome",
    "Protocol",
    "Result",
    "Seconds",
    "SolveParams",
    "Solver",
    "Stage",
    "protocol_named",
    "solve",
]
