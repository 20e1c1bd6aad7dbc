"""The inference door: problems in, refereed solutions out, cut to fit the memory there is."""

from spacevrp.solver.protocol import PROTOCOLS, Protocol, protocol_named
from spacevrp.solver.settings import Seconds
from spacevrp.solver.solver import Attempt, NoPlanError, Solver

__all__ = [
    "PROTOCOLS",
    "Attempt",
    "NoPlanError",
    "Protocol",
    "Seconds",
    "Solver",
    "protocol_named",
]
