"""The oracles by name, and the strongest one for a problem."""

from __future__ import annotations

from spacevrp.oracles.base import SolverOracle
from spacevrp.oracles.lkh import LkhOracle
from spacevrp.oracles.ortools import OrToolsOracle
from spacevrp.oracles.pyvrp import PyVrpOracle
from spacevrp.oracles.vroom import VroomOracle
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem

AUTO = "auto"
ORACLES: dict[str, type[SolverOracle]] = {
    "pyvrp": PyVrpOracle,
    "ortools": OrToolsOracle,
    "vroom": VroomOracle,
    "lkh": LkhOracle,
}
# The first that models a problem exactly is the strongest at a given time; the last models all.
_BY_STRENGTH = ("lkh", "pyvrp", "ortools")


def make_oracle(name: str) -> SolverOracle:
    """The oracle of that name."""
    if name not in ORACLES:
        raise UnsupportedError(f"solver: expected one of {', '.join(ORACLES)}, received {name!r}")
    return ORACLES[name]()


def strongest(problem: Problem) -> str:
    """Name of the strongest oracle that models the problem exactly, installed or not."""
    return next(name for name in _BY_STRENGTH if ORACLES[name]().supports(problem) is None)


def choose_oracle(problem: Problem, solver: str = AUTO) -> SolverOracle:
    """The oracle to use, installed and able.

    Raises
    ------
    MissingSolverError
        It is not installed. A weaker one does not take its place.
    UnsupportedError
        Names the solver and the feature it cannot model exactly.
    """
    oracle = make_oracle(strongest(problem) if solver == AUTO else solver)
    oracle.require()
    oracle.check(problem)
    return oracle
