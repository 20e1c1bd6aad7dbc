"""The oracles by name, and the strongest one for a problem."""

from __future__ import annotations

from spacevrp.oracles.base import MissingSolverError, SolverOracle
from spacevrp.oracles.lkh import LkhOracle
from spacevrp.oracles.ortools import OrToolsIlsOracle, OrToolsOracle
from spacevrp.oracles.pyvrp import PrizeSearchOracle, PyVrpOracle
from spacevrp.oracles.vroom import VroomOracle
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem

AUTO = "auto"
# Each models exactly what it accepts.
ORACLES: dict[str, type[SolverOracle]] = {
    "pyvrp": PyVrpOracle,
    "ortools": OrToolsOracle,
    "ortools-ils": OrToolsIlsOracle,
    "vroom": VroomOracle,
    "lkh": LkhOracle,
}
# These do not, and are used only where they are asked for by name.
APPROXIMATE: dict[str, type[SolverOracle]] = {"pyvrp-approximate": PrizeSearchOracle}
# The first that models a problem exactly is the strongest at a given time; the last models all
# but vehicles that differ.
BY_STRENGTH = ("lkh", "pyvrp", "ortools-ils", "ortools")


def make_oracle(name: str) -> SolverOracle:
    """The oracle of that name."""
    known = ORACLES | APPROXIMATE
    if name not in known:
        raise UnsupportedError(f"solver: expected one of {', '.join(known)}, received {name!r}")
    return known[name]()


def strongest(problem: Problem) -> str:
    """Name of the strongest oracle that models the problem exactly, installed or not."""
    for name in BY_STRENGTH:
        if ORACLES[name]().refuses(problem) is None:
            return name
    reason = ORACLES[BY_STRENGTH[-1]]().refuses(problem)
    raise UnsupportedError(f"no solver can model {reason} exactly ({problem.variant_name})")


def choose_oracle(problem: Problem, solver: str = AUTO) -> SolverOracle:
    """The oracle to use, installed and able.

    Raises
    ------
    MissingSolverError
        It is not installed. A weaker one does not take its place, but is named.
    UnsupportedError
        Names the solver and the feature it cannot model exactly.
    """
    oracle = make_oracle(strongest(problem) if solver == AUTO else solver)
    try:
        oracle.require()
    except MissingSolverError as error:
        able = [
            name
            for name, kind in ORACLES.items()
            if kind.is_installed() and kind().refuses(problem) is None
        ]
        others = f", or name another: {', '.join(able)}" if able else ""
        raise MissingSolverError(f"{error}{others}") from None
    oracle.check(problem)
    return oracle
