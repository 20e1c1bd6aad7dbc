"""Proven optima of tiny instances by plain enumeration; only the referee knows the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import cast

import pytest
from enumeration import best_plan
from patient import PatientOracle

from spacevrp.oracles import SolverOracle
from spacevrp.oracles.lkh import LkhOracle
from spacevrp.oracles.ortools import OrToolsIlsOracle, OrToolsOracle
from spacevrp.oracles.pyvrp import PyVrpOracle
from spacevrp.oracles.vroom import VroomOracle
from spacevrp.problems.problem import Problem

# Searches end by their own count, so that no test depends on the clock.
_MAKERS: dict[str, Callable[[], SolverOracle]] = {
    "pyvrp": lambda: PyVrpOracle(iterations=1000),
    "ortools": lambda: OrToolsOracle(solutions=400),
    "ortools-ils": lambda: OrToolsIlsOracle(solutions=100),
    "vroom": lambda: VroomOracle(),
    "lkh": lambda: LkhOracle(runs=2),
}


@pytest.fixture(scope="session")
def optimum() -> Callable[[Problem], float]:
    """The proven optimum of a tiny instance; those with a name are enumerated once."""
    known: dict[str, float] = {}

    def find(problem: Problem) -> float:
        if not problem.name or problem.name not in known:
            best = best_plan(problem)
            known[problem.name] = math.inf if best is None else best.cost
        return known[problem.name]

    return find


@pytest.fixture(scope="module")
def make_tiny_oracle() -> Iterator[Callable[[str], SolverOracle]]:
    """An oracle by name that takes its time by counting; skips where it is not installed.

    VROOM works in a process of its own: it holds the interpreter while it searches, so that nothing
    else could end a search that does not end by itself.
    """
    vroom = PatientOracle(_MAKERS["vroom"]())

    def make(name: str) -> SolverOracle:
        oracle = cast(SolverOracle, vroom) if name == "vroom" else _MAKERS[name]()
        if not oracle.is_installed():
            pytest.skip(f"{oracle.package} (extra {oracle.extra}) is not installed")
        return oracle

    yield make
    vroom.end()
