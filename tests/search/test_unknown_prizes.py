"""Prizes that show on the visit: planned with expected prizes, carried out with the real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import expected_cost
from spacevrp.problems.solution import Solution
from spacevrp.search import Stop, improve

SHORT = Stop(iterations=60)


def two_ways(revealed: list[float], **changes: Any) -> Problem:
    """Customer 1 lies 1 to the east of the depot, customers 2 and 3 lie 1 and 2 to the west.

    By expected prizes, east and home cost 2 and penalties of 1 + 1; west and home 4 and 1; all
    three of them 6.
    """
    fields: dict[str, Any] = {
        "prize": [0, 1, 0.6, 0.6],
        "revealed_prize": revealed,
        "penalty": [0, 1, 1, 1],
        "min_prize": 1,
        "max_routes": 1,
    }
    places = [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (-2.0, 0.0)]
    return Problem.from_coordinates(places, **fields | changes)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_plan_meets_the_real_prizes(threads: int) -> None:
    """Customer 1 is enough by expectation. Where it yields nothing, the others are needed, too."""
    lucky, unlucky = two_ways([0, 1, 0, 0]), two_ways([0, 0, 0.6, 0.6])
    found = improve([lucky, unlucky], [None, None], stop=SHORT, threads=threads)
    assert found.expected == {0: 4, 1: 4}
    assert [run.routes for run in found.runs] == [[[1]], [[1]]]  # before the real prizes
    assert (found[0].routes, found[0].cost) == (((0, 1, 0),), 4)
    assert (found[1].routes[0][:2], found[1].cost) == ((0, 1), 6)
    assert [plan.problem for plan in found] == [lucky, unlucky]
    assert all(plan.feasible for plan in found)


def test_a_given_plan_is_compared_by_what_is_expected_of_it() -> None:
    """West costs 5 and is feasible; east was expected to cost 4, and costs 6 in the end."""
    problem = two_ways([0, 0, 0.6, 0.6])
    west = Solution.judged(problem, [[0, 3, 2, 0]])
    assert (west.feasible, west.cost) == (True, 5)
    found = improve([problem], [west], stop=SHORT)
    assert (found[0].cost, found.expected) == (6, {0: 4})
    # The best plan stays.
    problem = two_ways([0, 1, 0.6, 0.6])
    east = Solution.judged(problem, [[0, 1, 0]])
    found = improve([problem], [east], stop=SHORT)
    assert found[0] is east
    assert found.expected == {0: 4}
    # Customer 2 alone is enough in truth, at 2 + 1 + 1; by expectation 1 is needed, too: 4 + 1.
    problem = two_ways([0, 1, 1, 0.6])
    lucky = Solution.judged(problem, [[0, 2, 0]])
    assert (lucky.feasible, lucky.cost, expected_cost(problem, lucky)) == (True, 4, 5)
    assert improve([problem], [lucky], stop=Stop(iterations=0)).expected[0] <= 5
    found = improve([problem], [lucky], stop=SHORT)
    assert (found[0].routes, found.expected) == (((0, 1, 0),), {0: 4})


def test_every_better_plan_is_told_with_what_is_expected() -> None:
    (problem,) = generate("SPCTSP", 20, 1, seed=2)
    told: list[tuple[Solution, float | None]] = []
    found = improve(
        [problem],
        [None],
        stop=Stop(iterations=300),
        found=lambda number, plan, expected: told.append((plan, expected)),
    )
    assert told[-1] == (found[0], found.expected[0])
    costs = [expected for _, expected in told if expected is not None]
    assert len(costs) == len(told)
    assert costs == sorted(costs, reverse=True)
    assert all(plan.feasible and plan.problem is problem for plan, _ in told)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["SPCTSP", "ASPCTSP"]))
def test_the_choice_knows_no_real_prizes(seed: int, name: str) -> None:
    """Whatever the visits reveal, from no plan or from the same, the same is planned."""
    rng = np.random.default_rng(seed)
    (problem,) = generate(name, 10, 1, seed=seed % 5)
    other = problem.replace(revealed_prize=problem.prize * 2 * rng.random(problem.size))
    start = [(0, *rng.permutation(np.arange(1, 11))[: rng.integers(0, 11)].tolist(), 0)]
    for routes in (None, start):
        plans = [
            None if routes is None else Solution.judged(one, routes) for one in (problem, other)
        ]
        found = improve([problem, other], plans, stop=Stop(iterations=40), seed=seed)
        assert found.runs[0].routes == found.runs[1].routes
        assert found.expected[0] == found.expected[1]
        assert all(plan.feasible for plan in found)
        for one, plan, number in zip((problem, other), plans, (0, 1), strict=True):
            if plan is not None:
                known = expected_cost(one, plan)
                assert known is not None
                assert found.expected[number] <= known


def test_where_rules_limit_the_visits_plans_are_kept() -> None:
    problem = two_ways([0, 0, 0.6, 0.6], max_length=7)
    plan = Solution.judged(problem, [[0, 2, 3, 0]])
    found = improve([problem], [plan], stop=SHORT)
    assert found[0] is plan
    assert found.expected == {}
    with pytest.raises(SpacevrpError, match="number 0: expected a plan where only visits"):
        improve([problem], [None], stop=SHORT)
