"""Large plans, planned anew region by region: never worse, never illegal, alike wherever solved."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution
from spacevrp.solver import Solver, regions
from spacevrp.solver.regions import divide, is_divisible, put_together

# No local search: what planning anew gains by itself.
QUICK = {"augment": 1, "starts": 1, "improve": False}
# One of every kind of rule that routes can have.
DIVISIBLE = ("CVRP", "OCVRPBTW", "ACVRPL", "MDCVRPB", "AMDOCVRPBPLTW")
SIZE = 30


@pytest.fixture
def small_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if 12 customers were enough for two regions."""
    monkeypatch.setattr(regions, "_FEWEST", 6)


def in_two_towns() -> tuple[Problem, Solution]:
    """Two towns, 100 apart; in each two routes that zigzag. 220 customers, 55 a route."""
    places = [(50.0, 0.0)]
    routes = []
    for town in (0.0, 100.0):
        for half in (0, 1):
            first = len(places)
            places += [(town + 0.01 * k, 1.0 + (k + half) % 2) for k in range(55)]
            routes.append((0, *range(first, first + 55), 0))
    demand = [0] + [1] * (len(places) - 1)
    problem = Problem.from_coordinates(places, demand=demand, capacity=60)
    return problem, Solution.judged(problem, routes)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("as_matrix", [False, True])
def test_neighbours_belong_together(number: int, as_matrix: bool) -> None:
    problem, plan = in_two_towns()
    if as_matrix:
        matrix = problem.distances.matrix()
        problem = Problem.from_matrix(matrix, demand=problem.demand, capacity=60)
        plan = Solution.judged(problem, plan.routes)
    for seed in range(5):
        found = divide(problem, plan, number, seed)
        # Two routes have 110 customers, more than a region has otherwise, and are one all the same.
        assert sorted(tuple(sorted(region.routes)) for region in found) == [(0, 1), (2, 3)]
        for region in found:
            served = {node for n in region.routes for node in plan.routes[n]}
            assert list(region.nodes) == sorted(served)
            parts = [Solution.judged(problem, [plan.routes[n]]).cost for n in region.routes]
            assert region.old.feasible
            assert region.old.cost == pytest.approx(sum(parts))
            before = problem.distances.matrix()[np.ix_(region.nodes, region.nodes)]
            assert np.array_equal(region.problem.distances.matrix(), before)


def test_only_better_routes_take_the_place_of_others() -> None:
    problem, plan = in_two_towns()
    parts = divide(problem, plan, 0, 0)
    west = next(n for n, region in enumerate(parts) if 0 in region.routes)
    part = parts[west].problem

    def by_height(low: float) -> tuple[int, ...]:
        height = part.distances.coordinates[:, 1]
        chosen = [node for node in range(1, part.size) if height[node] == low]
        return (0, *sorted(chosen, key=lambda n: part.distances.coordinates[n, 0]), 0)

    straight = Solution.judged(part, [by_height(1.0), by_height(2.0)])
    assert straight.feasible
    assert straight.cost < parts[west].old.cost - 50
    new: list[Solution | None] = [None, None]
    assert put_together(problem, plan, parts, new) is plan
    new[west] = parts[west].old
    assert put_together(problem, plan, parts, new) is plan
    new[west] = straight
    found = put_together(problem, plan, parts, new)
    assert judge(problem, found.routes).violations == ()
    assert plan.cost - found.cost == pytest.approx(parts[west].old.cost - straight.cost)
    assert set(plan.routes[2:]) < set(found.routes)  # the other town is as it was


@pytest.mark.parametrize(
    "name",
    [*DIVISIBLE[:3], *(pytest.param(name, marks=pytest.mark.slow) for name in DIVISIBLE[3:])],
)
@pytest.mark.usefixtures("small_regions")
def test_plans_become_better_and_stay_legal(solver: Solver, name: str) -> None:
    (problem,) = generate(name, SIZE, 1, seed=2)
    assert is_divisible(problem)
    before = solver.solve(problem, replan=0, **QUICK)
    after = solver.solve(problem, replan=2, **QUICK)
    verdict = judge(problem, after.routes)
    assert verdict.violations == ()
    assert after.cost == verdict.cost
    assert after.cost < before.cost  # plans of a random network are easily bettered


def test_a_part_that_is_no_problem_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, plan = in_two_towns()
    one, other = divide(problem, plan, 0, 0)
    real = regions.restricted

    def refuse(whole: Problem, stay: list[int]) -> tuple[Problem, list[int]]:
        if stay == list(one.nodes):
            raise ProblemError("demand", expected="at most 60", received="a hair more")
        return real(whole, stay)

    monkeypatch.setattr(regions, "restricted", refuse)
    assert [part.routes for part in divide(problem, plan, 0, 0)] == [other.routes]


@pytest.mark.usefixtures("small_regions")
def test_missing_arcs_are_far(solver: Solver) -> None:
    (problem,) = generate("ACVRP", SIZE, 1, seed=6)
    matrix = np.array(problem.distances.matrix())
    matrix[1:10, 20:] = np.inf
    holed = problem.replace(distances=Distances(matrix=matrix))
    found = solver.solve(holed, replan=2, **QUICK)
    assert judge(holed, found.routes).violations == ()
    assert found.cost <= solver.solve(holed, replan=0, **QUICK).cost


@pytest.mark.usefixtures("small_regions")
def test_pairs_stay_together() -> None:
    (problem,) = generate("PDCVRP", SIZE, 1)
    plan = Solution.judged(problem, [(0, *pair, 0) for pair in problem.pairs])
    parts = divide(problem, plan, 0, 0)
    assert parts
    for part in parts:
        pairs = {(part.nodes[a], part.nodes[b]) for a, b in part.problem.pairs}
        assert pairs == {plan.routes[number][1:3] for number in part.routes}


@pytest.mark.usefixtures("small_regions")
def test_a_fleet_stays_as_large_as_it_is(solver: Solver) -> None:
    (problem,) = generate("CVRP", SIZE, 1, seed=3)
    fewest = len(solver.solve(problem, replan=0, **QUICK).routes)
    small = problem.replace(max_routes=fewest)
    found = solver.solve(small, replan=2, **QUICK)
    assert judge(small, found.routes).violations == ()
    for number in range(4):
        for region in divide(small, found, number, 0):
            assert region.problem.max_routes == len(region.routes)


@pytest.mark.slow
@pytest.mark.usefixtures("small_regions")
def test_more_rounds_are_never_worse_and_alone_is_as_among_others(solver: Solver) -> None:
    problems = generate("CVRP", SIZE, 2, seed=4)
    costs = [solver.solve(problems[0], replan=rounds, **QUICK).cost for rounds in range(4)]
    assert costs == sorted(costs, reverse=True)
    assert costs[3] < costs[0]
    among_others = solver.solve(problems, replan=3, **QUICK)
    assert among_others[0].cost == costs[3]
    assert among_others[0] == solver.solve(problems[0], replan=3, **QUICK)


@pytest.mark.usefixtures("small_regions")
def test_going_on_is_as_doing_it_at_once(solver: Solver) -> None:
    problems = generate("OCVRP", SIZE, 1, seed=5)
    at_once = solver.solve(problems, replan=2, **QUICK)
    found = solver.solve(problems, replan=0, **QUICK)
    for number in range(2):
        found = solver.plan_anew(problems, found, first=number).best
    assert found == at_once


@pytest.mark.parametrize("name", ["TSP", "OP", "PCTSP"])
@pytest.mark.usefixtures("small_regions")
def test_what_cannot_be_divided_stays_as_it_is(solver: Solver, name: str) -> None:
    (problem,) = generate(name, SIZE, 1)
    assert not is_divisible(problem)
    assert solver.solve(problem, **QUICK) == solver.solve(problem, replan=0, **QUICK)


@pytest.mark.parametrize(("customers", "divided"), [(38, False), (40, True)])
def test_small_instances_are_left_alone(customers: int, divided: bool) -> None:
    (problem,) = generate("CVRP", customers, 1)
    assert is_divisible(problem) is divided


def test_rounds_are_a_number(solver: Solver) -> None:
    (problem,) = generate("CVRP", 10, 1)
    with pytest.raises(SpacevrpError, match="replan: expected a whole number of at least 0"):
        solver.solve(problem, replan=-1)
