"""Reductions in both directions: no plan is lost on the way to the form, none is made up on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.reductions import Reduction, decompose, other_reductions, plain_reduction
from spacevrp.problems.referee import around, judge, judge_route
from spacevrp.problems.variants import VARIANTS

Routes = list[tuple[int, ...]]

# Variants of which there is another form, but for those where plans are judged as they are.
NAMES = [name for name in VARIANTS if other_reductions(generate(name, 8, 1, 3)[0])]


def random_plan(problem: Problem, rng: np.random.Generator) -> Routes | None:
    """Customers, or pairs, in a random order, each behind the last if the rules allow it."""
    if not problem.depots:
        return [tuple(int(node) for node in rng.permutation(problem.size))]
    units = [list(pair) for pair in problem.pairs] or [[node] for node in problem.customers]
    rng.shuffle(units)
    made: list[tuple[list[int], int]] = []  # stops, and which of the fleet drives them
    for unit in units:
        if made and (problem.max_routes == 1 or rng.random() < 0.9):
            stops, number = made[-1]
            longer = [*stops, *unit]
            if problem.backhaul_last:
                longer.sort(key=lambda node: problem.demand[node] < 0)
            if _is_legal(problem, longer, number):
                made[-1] = (longer, number)
                continue
        able = [n for n in range(len(problem.fleet)) if _is_legal(problem, unit, n)]
        if not able:
            return None
        made.append((unit, int(rng.choice(able))))
    routes = [around(stops, problem.fleet[number]) for stops, number in made]
    return routes if judge(problem, routes).feasible else None


def _is_legal(problem: Problem, stops: Sequence[int], number: int) -> bool:
    terms = problem.fleet[number]
    return not judge_route(problem, 1, around(stops, terms), terms)[1]


def as_form(problem: Problem, form: Problem, routes: Routes) -> Routes:
    """Routes of a problem as routes of its form, whose depots may be one, or there to return to."""
    if not form.depots:
        return [(routes[0][0], *(node for route in routes for node in route[1:-1]))]
    merged = len(problem.depots) > 1 and len(form.depots) == 1
    place = {node: node for node in range(problem.size)}
    if merged:
        place = {node: 1 + number for number, node in enumerate(problem.customers)}
    depots = set(problem.depots)
    mapped = []
    for route in routes:
        stops = [place[node] for node in route if node not in depots]
        first = 0 if merged else route[0]
        mapped.append((first, *stops) if form.open_routes else (first, *stops, first))
    return mapped


def compare(problem: Problem, reduction: Reduction, rng: np.random.Generator, times: int) -> int:
    """Random plans of both, each as a plan of the other; how many there were."""
    form, found = reduction.problem, 0
    for _ in range(times):
        plan = random_plan(problem, rng)
        if plan is not None:
            found += 1
            here, there = judge(problem, plan), judge(form, as_form(problem, form, plan))
            assert there.feasible, (plan, there.violations)
            if reduction.exact:
                # From another depot than the best it may cost more.
                assert there.cost <= here.cost + 1e-9
                again = judge(problem, reduction.map_back(as_form(problem, form, plan)))
                assert again.feasible
                assert again.cost == pytest.approx(there.cost)
        plan = random_plan(form, rng)
        if plan is not None and reduction.exact:
            found += 1
            there, here = judge(form, plan), judge(problem, reduction.map_back(plan))
            assert here.feasible, (plan, here.violations)
            assert here.cost == pytest.approx(there.cost)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_named_variants(name: str) -> None:
    found = 0
    for seed in range(1, 4):
        (problem,) = generate(name, 8, 1, seed)
        rng = np.random.default_rng(seed)
        found += sum(compare(problem, one, rng, 4) for one in other_reductions(problem))
    assert found > 0


def own_problem(rng: np.random.Generator) -> Problem:
    """A user's: a matrix, and any of open routes, windows, limits, service, linehauls first."""
    size, depots = 8, int(rng.integers(1, 4))
    at_depot = np.arange(size) < depots
    matrix = rng.integers(1, 30, (size, size)).astype(float)
    if rng.random() < 0.3:
        matrix = matrix + matrix.T
    np.fill_diagonal(matrix, 0.0)
    options: dict[str, object] = {"open_routes": bool(rng.random() < 0.7)}
    if rng.random() < 0.8:
        opens = rng.integers(0, 40, size)
        windows = np.stack([opens, opens + rng.integers(5, 80, size)], axis=1).astype(float)
        windows[at_depot] = [0.0, float(rng.integers(20, 120))]
        options["windows"] = windows
    if rng.random() < 0.5:
        options["max_length"] = float(rng.integers(40, 120))
    if rng.random() < 0.5:
        options["service"] = np.where(at_depot, 0.0, rng.integers(0, 9, size))
    demand = np.where(at_depot, 0, rng.integers(1, 4, size))
    options["backhaul_last"] = bool(rng.random() < 0.3)
    if options["backhaul_last"]:
        demand = np.where(rng.random(size) < 0.4, -demand, demand)
    if rng.random() < 0.6 or options["backhaul_last"]:
        options |= {"demand": demand, "capacity": float(rng.integers(5, 12))}
    if rng.random() < 0.2:
        options["max_routes"] = int(rng.integers(1, 5))
    return Problem.from_matrix(
        matrix, depots=tuple(range(depots)), allow_unservable=True, **options
    )


def test_problems_of_users() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(150):
        problem = own_problem(rng)
        for reduction in (plain_reduction(problem), *other_reductions(problem)):
            found += compare(problem, reduction, rng, 2)
    assert found > 100


def test_a_tour_passes_home_where_that_is_shorter() -> None:
    """From 1 to 2 it is 9 directly and 2 over the depot: two routes of 2 and 3."""
    matrix = [[0, 1, 1, 9], [1, 0, 9, 9], [1, 9, 0, 1], [1, 9, 9, 0]]
    rng = np.random.default_rng(0)
    problem = Problem.from_matrix(matrix)
    reduction = plain_reduction(problem)
    assert reduction.problem.variant_name == "ATSP"
    routes = reduction.map_back([(1, 2, 3, 0)])
    assert routes == ((0, 1, 0), (0, 2, 3, 0))
    assert judge(problem, routes).cost == judge(reduction.problem, [(1, 2, 3, 0)]).cost == 5
    assert compare(problem, reduction, rng, 5) == 10
    single = problem.replace(max_routes=1)
    assert plain_reduction(single).map_back([(1, 2, 3, 0)]) == ((0, 1, 2, 3, 0),)
    two = problem.replace(max_routes=2)  # which no tour can count
    assert plain_reduction(two).problem.variant_name == "ACVRP"
    for limited in (single, two):
        assert compare(limited, plain_reduction(limited), rng, 5) > 0


@pytest.mark.parametrize("name", ["MDCVRP", "MDCVRPBLTW", "MDOCVRPBP"])
def test_plans_of_parts_are_plans_of_the_whole(name: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(1, 6):
        (problem,) = generate(name, 9, 1, seed)
        apart = decompose(problem)
        if apart is None:
            continue
        plans = [random_plan(one, rng) for one in apart.problems]
        if all(plan is not None for plan in plans):
            whole = judge(problem, apart.together([plan for plan in plans if plan is not None]))
            assert whole.feasible
            costs = [
                judge(one, plan).cost
                for one, plan in zip(apart.problems, plans, strict=True)
                if plan is not None
            ]
            assert whole.cost == pytest.approx(sum(costs))
