"""Classical solvers behind one interface; each is an extra and imported when it is used.

Every plan they find is judged by the referee, and its cost is the referee's.
"""

from spacevrp.oracles.base import MissingSolverError, OracleDisagreement, OracleResult, SolverOracle
from spacevrp.oracles.choice import (
    APPROXIMATE,
    AUTO,
    BY_STRENGTH,
    ORACLES,
    choose_oracle,
    make_oracle,
    strongest,
)
from spacevrp.oracles.pool import Failure, solve_many

__all__ = [
    "APPROXIMATE",
    "AUTO",
    "BY_STRENGTH",
    "ORACLES",
    "Failure",
    "MissingSolverError",
    "OracleDisagreement",
    "OracleResult",
    "SolverOracle",
    "choose_oracle",
    "make_oracle",
    "solve_many",
    "strongest",
]
