"""The choice among candidates: for many instances at once as for each alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spacevrp.inference.construct import Candidate
from spacevrp.problems.judging import FEW
from spacevrp.problems.problem import Problem
from spacevrp.solver.selection import select, select_all


def test_many_are_selected_as_each_alone() -> None:
    """Legal, overloaded and stuck candidates in every order."""
    places = [(0, 0), (3, 0), (3, 4)]
    loaded = Problem.from_coordinates(places, demand=[0, 2, 2], capacity=3)
    free = Problem.from_coordinates(places, penalty=[0, 1, 1])
    overloaded = Candidate(11.0, 0, np.array([0, 1, 2, 0]))
    legal = Candidate(16.0, 1, np.array([0, 1, 0, 2, 0, 0]))
    stuck = Candidate(math.inf, 2, np.array([0, 1, 1]))
    cases = [
        (loaded, [overloaded, legal, stuck], loaded),
        (loaded, [legal], loaded),
        (loaded, [overloaded, stuck], loaded),
        (loaded, [stuck], loaded),
        (loaded, [], loaded),
        (free, [overloaded], free),
        (free, [], free),
    ] * 4
    assert len(cases) > FEW
    together = select_all(cases)
    assert together == [select(*case) for case in cases]
    costs = [None if plan is None else plan.cost for plan, _, _ in together[:7]]
    assert costs == [16.0, 16.0, None, None, None, 2.0, 2.0]
    assert [refused for _, _, refused in together[:7]] == [1, 0, 1, 0, 0, 0, 0]
    assert together[2][1].startswith("the best plan breaks a rule: route 1 leaves with a load of 4")
    assert select_all([]) == []


@pytest.mark.parametrize("cost", [1.0, math.inf])
def test_no_route_is_a_plan_where_all_are_optional(cost: float) -> None:
    """To visit the customer costs 20, to leave it out 5."""
    problem = Problem.from_coordinates([(0, 0), (10, 0)], penalty=[0, 5])
    candidate = Candidate(cost, 0, np.array([0, 1, 0]))
    solution, reason, refused = select(problem, [candidate], problem)
    assert solution is not None
    assert (solution.routes, solution.cost, reason, refused) == ((), 5.0, "", 0)
