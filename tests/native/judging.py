"""The compiled referee against the plain one: python tests/native/judging.py PLANS [SEED].

Problems of every kind and plans for them, legal ones and such that something was done to. As a
program it judges that many plans by both; exit code 1 where they differ.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from random_problems import FEATURES, build, random_plan

from spacevrp import native
from spacevrp.generators import generate
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import unlearned_terms
from spacevrp.problems.judging import compiled_costs, judge_all
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS
from spacevrp.search.model import native_model

Routes = list[list[int]]


def with_depots(problem: Problem, routes: Routes, types: list[int]) -> tuple[Routes, list[int]]:
    """Routes of customers as they are written down, and their types; empty ones stay."""
    if not problem.depots:
        return [[0, *route] for route in routes], types
    return [
        list(around(route, problem.fleet[number]))
        for route, number in zip(routes, types, strict=True)
    ], types


def legal_plan(problem: Problem, rng: np.random.Generator) -> tuple[Routes, list[int]]:
    """What the search constructs; mostly it keeps the rules."""
    known = problem.as_expected()
    method = "savings" if rng.random() < 0.5 else "insertion"
    return with_depots(problem, *native_model(known).model.construct(method, int(rng.integers(99))))


def mutated(
    problem: Problem, routes: Routes, types: list[int], rng: np.random.Generator
) -> tuple[Routes, list[int]]:
    """The plan with something done to it, once or several times."""
    routes, types = [list(route) for route in routes], list(types)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
        filled = [row for row, route in enumerate(routes) if route]
        kind = int(rng.integers(10))
        if not filled or kind == 9:
            routes.append([] if rng.random() < 0.5 else rng.integers(0, problem.size, 2).tolist())
            types.append(int(rng.integers(max(len(problem.fleet), 1))))
            continue
        route, other = (routes[int(rng.choice(filled))] for _ in range(2))
        at, there = int(rng.integers(len(route))), int(rng.integers(len(other)))
        if kind <= 1:
            route[at], other[there] = other[there], route[at]
        elif kind == 2:
            other.insert(there, route.pop(at))
        elif kind == 3:
            route.pop(at)
        elif kind == 4:
            route.insert(at, int(rng.integers(problem.size)))
        elif kind == 5:
            first = int(rng.integers(len(route)))
            first, last = min(first, at), max(first, at)
            route[first:last] = route[first:last][::-1]
        elif kind == 6:
            types[int(rng.choice(filled))] = int(rng.integers(max(len(problem.fleet), 1)))
        elif kind == 7:
            row = int(rng.integers(len(routes)))
            routes.pop(row)
            types.pop(row)
        else:
            routes[:], types[:] = routes[::-1], types[::-1]
    return routes, types


def at_its_limits(problem: Problem, plan: Any, rng: np.random.Generator) -> Problem:
    """The problem with a limit that lies at what the plan needs, or a little away from it."""
    share = float(rng.choice([-1.0, 0.0, 0.5, 0.99, 1.01, 2.0]))
    solution = Solution.judged(problem, plan)
    if not (solution.feasible and problem.depots and any(map(len, solution.routes))):
        return problem
    trips = [trip for trip in solution.plan.routes if len(trip.stops) > 1]
    trip = trips[int(rng.integers(len(trips)))] if trips else None
    if trip is None:
        return problem
    changes: dict[str, Any] = {}
    if rng.random() < 0.5:
        length = sum(stop.leg_cost for stop in trip.stops)
        changes["max_length"] = max(length - share * problem.length_tolerance, 0.0)
    else:
        stop = trip.stops[int(rng.integers(1, len(trip.stops)))]
        windows = np.array(problem.windows)
        latest = stop.reached + stop.waiting - share * problem.time_tolerance
        windows[stop.node, 1] = max(latest, windows[stop.node, 0])
        changes["windows"] = windows
    try:
        return problem.replace(**changes, variant=None, allow_unservable=True)
    except ProblemError:
        return problem


def plan_as_given(problem: Problem, routes: Routes, types: list[int]) -> Any:
    """What the referee is handed: types where vehicles have some."""
    return routes if problem.vehicles is None else FleetRoutes(routes, types)


def some_plans(problem: Problem, rng: np.random.Generator, count: int) -> list[Any]:
    """Constructed, mutated and random plans."""
    base = legal_plan(problem, rng)
    plans = [base]
    for _ in range(count - 1):
        routes, types = base
        if rng.random() < 0.3:
            routes, types = with_depots(problem, *random_plan(problem, rng))
        plans.append(mutated(problem, routes, types, rng))
    return [
        routes if rng.random() < 0.05 else plan_as_given(problem, routes, types)
        for routes, types in plans
    ]


def random_problem(rng: np.random.Generator) -> Problem:
    """Any mixture of features, or any variant, small."""
    if rng.random() < 0.3:
        name = str(rng.choice(list(VARIANTS)))
        (problem,) = generate(name, int(rng.choice([4, 6, 10])), 1, seed=int(rng.integers(10**6)))
        return problem
    count = int(rng.integers(0, 13))
    features = rng.choice(FEATURES, count, replace=False).tolist()
    return build(features, int(rng.integers(10**6)), int(rng.integers(1, 12)))


def is_known(problem: Problem, plan: Any) -> bool:
    """Whether the compiled referee judges the plan, and does not leave it to the plain one."""
    measured = (problem.distances.metric.geometry, problem.durations.metric.geometry)
    resolved = problem.vehicles is None or len(problem.vehicles) == 1 or hasattr(plan, "vehicles")
    return resolved and "geo" not in measured and unlearned_terms(problem.fleet) is None


def compare(problem: Problem, plans: list[Any]) -> Counter[str]:
    """Check that both referees say the same of all plans; how many were feasible."""
    costs = compiled_costs([problem] * len(plans), plans)
    plain = [Solution.judged(problem, plan) for plan in plans]
    passed = []
    for plan, cost, solution in zip(plans, costs, plain, strict=True):
        context = (problem, plan, cost, solution)
        expected = solution.feasible and is_known(problem, plan)
        assert (not math.isnan(cost)) == expected, context
        if expected:
            assert math.isclose(cost, solution.cost, rel_tol=1e-12), context
            passed.append((plan, solution))
    many = judge_all([problem] * len(passed), [plan for plan, _ in passed], few=0)
    for (plan, solution), judged in zip(passed, many, strict=True):
        context = (problem, plan, judged, solution)
        assert (judged.routes, judged.vehicles) == (solution.routes, solution.vehicles), context
        assert type(judged.routes) is type(solution.routes), context
        assert judged.problem is problem, context
    feasible = sum(solution.feasible for solution in plain)
    return Counter({"feasible": feasible, "not feasible": len(plans) - feasible})


def campaign(count: int, seed: int = 0) -> Counter[str]:
    """Judge so many plans by both; the first difference is an AssertionError."""
    rng = np.random.default_rng(seed)
    told: Counter[str] = Counter()
    while sum(told.values()) < count:
        problem = random_problem(rng)
        plans = some_plans(problem, rng, 60)
        told += compare(problem, plans)
        tight = at_its_limits(problem, plans[0], rng)
        if tight is not problem:
            told["at a limit"] += sum(compare(tight, plans[:20]).values())
    return told


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    assert native.judge is not None
    print(dict(campaign(*map(int, sys.argv[1:]))))
