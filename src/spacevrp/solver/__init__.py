"""Solving: reduce, construct, improve, judge."""

from spacevrp.inference.settings import Seconds as Seconds
from spacevrp.solver.params import SolveParams as SolveParams
from spacevrp.solver.protocol import PROTOCOLS as PROTOCOLS
from spacevrp.solver.protocol import Protocol as Protocol
from spacevrp.solver.protocol import protocol_named as protocol_named
from spacevrp.solver.result import NoPlanError as NoPlanError
from spacevrp.solver.result import Outcome as Outcome
from spacevrp.solver.result import Result as Result
from spacevrp.solver.result import Stage as Stage
from spacevrp.solver.solver import Solver as Solver
from spacevrp.solver.solver import solve as solve
