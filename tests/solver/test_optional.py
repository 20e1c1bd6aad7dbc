"""Who is worth a visit: changes worked out by hand, and never a worse or an illegal plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.readings import everybody_served, may_collect, pays_to_serve
from spacevrp.problems.referee import around, judge, with_best_vehicles
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver, optional
from spacevrp.solver.optional import weigh_visits

# On a line from the depot at 0: visiting the one at 10 costs 20 there and back.
LINE = [(0, 0), (1, 0), (2, 0), (10, 0)]


def on_a_line(*penalty: float, **features: Any) -> Problem:
    return Problem.from_coordinates(LINE, penalty=[0, *penalty], **features)


def stops_after(problem: Problem, *routes: list[int]) -> list[list[int]]:
    (terms,) = problem.fleet
    return [stops for stops, _ in weigh_visits(problem, [(route, terms) for route in routes])]


def test_whoever_costs_more_than_the_penalty_is_left_out() -> None:
    """Without the third customer the route is 4 long instead of 20."""
    assert stops_after(on_a_line(9, 9, 15.9), [1, 2, 3]) == [[1, 2]]
    assert stops_after(on_a_line(9, 9, 16.1), [1, 2, 3]) == [[1, 2, 3]]


def test_a_whole_route_may_go() -> None:
    """Both live at the same place: without one of them nothing is saved, without both 10."""
    near = Problem.from_coordinates([(0, 0), (5, 0), (5, 0)], penalty=[0, 4, 4])
    assert stops_after(near, [1, 2]) == []
    dear = near.replace(penalty=[0, 4, 6.1])
    assert stops_after(dear, [1, 2]) == [[1, 2]]


def test_whoever_costs_less_than_the_penalty_is_put_in() -> None:
    """The first two lie on the way to the third, who is worth 16 more where they are served."""
    (stops,) = stops_after(on_a_line(0.1, 0.1, 99), [3])
    assert sorted(stops) == [1, 2, 3]
    (stops,) = stops_after(on_a_line(9, 9, 16.1), [1, 2])
    assert sorted(stops) == [1, 2, 3]
    assert stops_after(on_a_line(9, 9, 15.9), [1, 2]) == [[1, 2]]


def test_limits_are_kept() -> None:
    """There is room for two only, and the two dearest to leave out are taken."""
    problem = on_a_line(5, 99, 99, demand=[0, 1, 1, 1], capacity=2, max_routes=1)
    assert stops_after(problem, [2, 3]) == [[2, 3]]
    compulsory = on_a_line(np.inf, 1, 1)
    assert stops_after(compulsory, [1, 2, 3]) == [[1]]


def test_required_prize_is_kept() -> None:
    problem = on_a_line(0.1, 0.1, 0.1, prize=[0, 1, 1, 1], min_prize=2.0)
    (stops,) = stops_after(problem, [1, 2, 3])
    assert sorted(stops) == [1, 2]


def test_pins_stay() -> None:
    problem = on_a_line(0.1, 0.1, 0.1, vehicles=[{"pinned": [3]}])
    (stops,) = stops_after(problem, [3, 2, 1])
    assert stops[0] == 3


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_plans_get_no_worse_and_stay_legal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    problem = Problem.from_coordinates(
        rng.random((size, 2)),
        demand=[0, *rng.integers(1, 5, size - 1)],
        penalty=np.where(rng.random(size) < 0.8, rng.uniform(0, 1, size), np.inf),
        vehicles=[{"capacity": 9, "fixed_cost": 0.3}, {"capacity": 5}],
    )
    compulsory = [n for n in problem.customers if np.isinf(problem.penalty[n])]
    visited = sorted({*compulsory, *rng.choice(problem.customers, 2).tolist()})
    routes = with_best_vehicles(problem, [[node] for node in visited])
    assert routes.vehicles is not None
    before = judge(problem, routes)
    assert before.feasible
    given = [
        ([route[1]], problem.fleet[k]) for route, k in zip(routes, routes.vehicles, strict=True)
    ]
    after = weigh_visits(problem, given)
    listed = [around(stops, terms) for stops, terms in after]
    verdict = judge(problem, listed, [terms.number for _, terms in after])
    assert verdict.feasible
    assert verdict.cost <= before.cost + 1e-9


@pytest.mark.parametrize("penalty", [0.05, 50.0])
def test_everybody_or_nobody_is_worth_it(solver: Solver, penalty: float) -> None:
    """Dear penalties mean the ordinary problem, whose cost a plan may not exceed by much."""
    rng = np.random.default_rng(2)
    points = rng.random((13, 2)) + 5.0
    points[0] = 0.0  # far away: every route takes more than 14
    problem = Problem.from_coordinates(
        points, demand=[0] + [2] * 12, capacity=8, penalty=np.full(13, penalty)
    )
    solution = solver.solve(problem, augment=2)
    assert len(solution.plan.skipped) == (0 if penalty > 1 else 12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_savings_are_differences_of_costs(seed: int) -> None:
    """All changes at once, against the costs of the routes that each of them makes."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 9))
    ends = [{"end": None}, {}][int(rng.integers(2))]
    problem = Problem.from_matrix(
        rng.random((size, size)) * (1 - np.eye(size)),
        demand=[0] + [1] * (size - 1),
        penalty=[0.0, *rng.uniform(0, 1, size - 1)],
        vehicles=[{"capacity": 99, "fixed_cost": 0.3, **ends}],
    )
    (terms,) = problem.fleet
    order = rng.permutation(np.arange(1, size)).tolist()
    inside = int(rng.integers(1, size))
    stops = order[: inside // 2], order[inside // 2 : inside]
    plan = optional._Plan(problem, [(some, terms) for some in stops])
    before = sum(plan._cost(*route) for route in plan.routes)
    out = float(problem.penalty[order[inside:]].sum())
    count = 0
    for change in [*plan._removals(), *plan._insertions()]:
        for at in np.ndindex(change.saved.shape):
            number, stops, vehicle = change.made(at)
            after = [*plan.routes, ([], terms)]
            after[number] = (stops, vehicle)
            served = {node for some, _ in after for node in some}
            left = [node for node in problem.customers if node not in served]
            cost = sum(plan._cost(*route) for route in after)
            saved = before + out - cost - float(problem.penalty[left].sum())
            assert change.saved[at] == pytest.approx(saved, abs=1e-12)
            count += 1
    assert count >= size - 1  # everybody may leave, or come in


# ----------------------------------------------------------------------- prize collecting


def test_when_it_pays_to_serve() -> None:
    """The nearest are 1, 1 and 8 away, 10 / 3 in the mean: one and a half times that is 5."""
    assert pays_to_serve(on_a_line(5.1, 5.1, 5.1))
    assert not pays_to_serve(on_a_line(4.9, 4.9, 4.9))
    assert not pays_to_serve(on_a_line(np.inf, np.inf, np.inf))  # nobody may be left out
    # Where only the way back is short, that counts.
    one_way = Problem.from_matrix([[0, 9, 9], [1, 0, 9], [9, 1, 0]], penalty=[0, 1.6, 1.6])
    assert pays_to_serve(one_way)
    assert not pays_to_serve(one_way.replace(penalty=[0, 1.4, 1.4]))


def test_the_recipe_has_low_penalties() -> None:
    assert not any(map(pays_to_serve, generate("PCTSP", 100, 8)))
    assert all(map(pays_to_serve, generate("APCTSP", 100, 8)))
    assert all(map(may_collect, generate("SPCTSP", 20, 2)))
    assert not any(map(may_collect, [*generate("OP", 20, 1), *generate("CVRP", 20, 1)]))


@pytest.mark.parametrize("name", ["PCTSP", "ASPCTSP"])
@pytest.mark.parametrize("improve", [False, True])
def test_high_penalties_are_not_paid(solver: Solver, name: str, improve: bool) -> None:
    """The required prize is half of all: whoever looks at nothing else goes home then."""
    problems = [one.replace(penalty=1000 * one.penalty) for one in generate(name, 20, 3)]
    for solution in solver.solve(problems, augment=2, improve=improve):
        assert solution.plan.skipped == ()
        assert solution.feasible


def test_plans_for_everybody_are_plans() -> None:
    (problem,) = generate("SPCTSP", 10, 1)
    reading = everybody_served(problem)
    whole = reading.problem
    assert not whole.features.prize_collecting
    assert not whole.features.stochastic_prizes
    tour = (3, 1, 2, 4, 0, *range(5, 11))
    served = Solution.judged(whole, [tour])
    assert served.feasible
    routes = reading.bring_back([tour])
    assert routes == ((0, *range(5, 11), 3, 1, 2, 4, 0),)
    assert Solution.judged(problem, routes).cost == pytest.approx(served.cost)


def test_nobody_looks_at_real_prizes() -> None:
    """By the expected prizes two customers are enough, by the real ones all three are needed."""
    prizes = {"prize": [0, 1, 1, 1], "revealed_prize": [0, 1, 0, 1], "min_prize": 2.0}
    problem = on_a_line(0.1, 0.1, 0.1, max_routes=1, **prizes)
    whole = Solution.judged(problem, [[0, 1, 2, 3, 0]])
    assert whole.feasible
    # Without the third the plan would be shorter, but it collects too little: the old one stays.
    assert optional.weighed(problem, whole) == whole
    lucky = problem.replace(revealed_prize=[0, 1, 1, 0])
    whole = Solution.judged(lucky, [[0, 1, 2, 3, 0]])
    assert optional.weighed(lucky, whole).routes == ((0, 1, 2, 0),)
