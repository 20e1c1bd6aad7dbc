"""Which plan is kept, of candidates and of all so far; and why where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.inference.construct import Candidate
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.judging import FEW
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import NoPlanError, Solver
from spacevrp.solver.pool import Pool
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


# Three customers on a line: 1, 2 and 3 from the depot.
LINE = Problem.from_coordinates([(0, 0), (1, 0), (2, 0), (3, 0)], demand=[0, 1, 1, 1], capacity=3)


def judged(*routes: list[int]) -> Solution:
    return Solution.judged(LINE, routes)


def test_fewest_left_out_first_then_cheapest() -> None:
    told: list[Solution] = []
    plans = Pool([LINE], Deadline(), told.append)
    dear, cheap = judged([0, 1, 0], [0, 2, 3, 0]), judged([0, 1, 2, 3, 0])  # 2 + 6, and 6
    some = judged([0, 1, 2, 0])  # 4, and customer 3 is left out
    assert plans.offer(0, some)
    assert plans.offer(0, dear)
    assert not plans.offer(0, some)
    assert plans.offer(0, cheap)
    assert not plans.offer(0, dear)
    assert plans.of(0) is cheap
    assert plans.complete(0)
    assert told == [some, dear, cheap]


def test_plans_that_reveal_prizes_are_compared_by_what_was_expected() -> None:
    """The cheaper plan in hindsight was the dearer one when it was chosen."""
    plans = Pool([LINE], Deadline())
    dear, cheap = judged([0, 1, 0], [0, 2, 3, 0]), judged([0, 1, 2, 3, 0])  # 8 and 6
    assert plans.offer(0, dear, 5.0)
    assert not plans.offer(0, cheap, 5.5)
    assert not plans.offer(0, cheap)
    assert plans.offer(0, cheap, 4.5)
    assert not plans.offer(0, dear, 4.6)


def test_every_problem_has_a_plan_in_the_end() -> None:
    """At the worst the empty one."""
    plans = Pool([LINE, LINE], Deadline())
    assert not plans.any
    plans.offer(1, judged([0, 1, 2, 0]))
    assert plans.any
    assert plans.cost(range(2)) is None  # neither is complete
    assert [plan.routes for plan in plans.finish()] == [(), ((0, 1, 2, 0),)]


def test_a_plan_that_breaks_a_rule_is_never_kept() -> None:
    plans = Pool([LINE], Deadline())
    assert not plans.offer(0, judged([0, 1, 1, 2, 3, 0]))
    assert plans.of(0) is None


def test_time_is_kept_for_the_reasons_of_few_customers() -> None:
    """A first reason takes longer than others; of a short time reasons take 15% at the most."""
    for given, working in ((10.0, 9.7), (1.0, 0.85)):
        plans = Pool([LINE], Deadline(given))
        assert plans.working.seconds == given
        plans.offer(0, judged([0, 1, 2, 0]))  # customer 3 is left out
        assert plans.working.seconds == pytest.approx(working)
        plans.offer(0, judged([0, 1, 2, 3, 0]))
        assert plans.working.seconds == given


def test_others_are_the_cheapest_that_differ_in_cost() -> None:
    plans = Pool([LINE], Deadline())
    cheap = judged([0, 1, 2, 3, 0])  # 6
    plans.keep(0, [judged([0, 1, 0], [0, 2, 3, 0]), cheap])  # 8
    plans.keep(0, [judged([0, 1, 2, 0], [0, 3, 0]), judged([0, 1, 1, 2, 3, 0])])  # 10, infeasible
    plans.keep(0, [judged([0, 3, 2, 0], [0, 1, 0])])  # 8 again
    plans.offer(0, cheap)
    assert [plan.cost for plan in plans.others(0)] == [8.0, 10.0]


INF = np.inf


def test_a_fleet_that_is_too_small(solver: Solver) -> None:
    problem = generate("CVRP", 10)[0]
    demand = [0, *[3] * 10]
    small = Problem.from_coordinates(
        problem.distances.coordinates, demand=demand, capacity=6, max_routes=4, name="small"
    )
    with pytest.raises(InfeasibleError) as caught:
        solver.solve([problem, small, problem])
    assert str(caught.value) == (
        "instance 1: no complete plan found: 'small', 2 of 10 customers left out: the fleet is too "
        "small: deliveries amount to 30, 4 vehicles of capacity 6 carry 24"
    )
    assert isinstance(caught.value, NoPlanError)
    first, none, last = caught.value.solutions
    assert none is None
    assert first == last == solver.solve(problem)
    (partial,) = caught.value.partial.values()
    assert partial.partial
    assert [one.code for one in partial.unserved] == ["fleet", "fleet"]
    assert solver.solve([small], partial=True) == [partial]
    assert solver.solve(small, partial=True) == partial


@pytest.mark.parametrize(
    ("demand", "capacity", "routes", "expected"),
    [
        ([0, 1, -3, -3], 4, 1, "pickups amount to 6, 1 vehicle of capacity 4"),
        # Three loads of 2 fit two vehicles of 3 by volume, but only one fits each.
        (
            *([0, 2, 2, 2], 3, 2),
            r"1 of 3 customers left out: all 2 routes that are allowed are in use, and customer "
            r"[123] fits into none: in route [12], after .*, the load would be 4, a vehicle "
            "carries 3$",
        ),
    ],
)
def test_why_customers_are_left_over(solver, demand, capacity, routes, expected):
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    problem = Problem.from_coordinates(places, demand=demand, capacity=capacity, max_routes=routes)
    with pytest.raises(InfeasibleError, match=expected):
        solver.solve(problem)


def test_many_failures_stay_one_short_message(solver: Solver) -> None:
    matrix = np.ones((12, 12))
    matrix[2:, 0] = INF
    problem = Problem.from_matrix(matrix, demand=[0, *[1] * 11], capacity=1)
    with pytest.raises(NoPlanError) as caught:
        solver.solve([problem] * 5)
    message = str(caught.value)
    assert "and so on for 5 more" in message
    assert message.endswith("and 2 more instances")
    assert list(caught.value.reasons) == [0, 1, 2, 3, 4]
