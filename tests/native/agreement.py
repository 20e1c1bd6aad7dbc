"""The search beside the referee: what both must say of the same plan."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.search.model import Native, Plan, solution_of

# What may be said of customers without a visit.
LEFT_OUT = ("visit", "group")


def left_out(solution: Solution) -> set[int]:
    """Compulsory customers without a visit, as the referee sees it; of a group, its first."""
    return {
        one.node
        for one in solution.violations
        if one.code in LEFT_OUT and one.route is None and one.node is not None
    }


def faults(solution: Solution) -> list[str]:
    """Codes of all rules that are broken, other than that a customer is left out."""
    return [
        one.code for one in solution.violations if not (one.code in LEFT_OUT and one.route is None)
    ]


def scale_of(problem: Problem) -> float:
    """What costs are compared against: a plan may cost 0."""
    finite = problem.penalty[[math.isfinite(one) for one in problem.penalty]]
    return float(
        problem.distances.extent
        + finite.sum()
        + problem.prize.sum()
        + max((terms.fixed_cost for terms in problem.fleet), default=0.0)
    )


def close(problem: Problem, expected: float) -> Any:
    """The number, but for rounding errors."""
    return pytest.approx(expected, rel=1e-9, abs=1e-9 * scale_of(problem))


def compare(native: Native, plan: Plan) -> Solution:
    """Check that the search and the referee agree on a plan, and return the verdict."""
    problem = native.problem
    routes, types = plan
    solution = solution_of(problem, routes, types, native.model)
    told = native.model.evaluate(routes, types)
    context = (problem, routes, types, [one.message for one in solution.violations], told)
    assert told["feasible"] == (not faults(solution)), context
    assert (told["violations"] == 0) == told["feasible"], context
    assert sorted(told["unserved"]) == sorted(left_out(solution)), context
    visited = {node for route in routes for node in route}
    collected = sum(float(problem.prize[node]) for node in visited)
    assert told["collected"] == close(problem, collected), context
    missing = "arc" in faults(solution)
    # What a route costs that breaks a rule of whole routes does not matter.
    known = told["feasible"] or not problem.has_route_rules
    if known and not missing and math.isfinite(solution.cost):
        assert told["cost"] == close(problem, solution.cost), context
    return solution


def check_moves(native: Native, plan: Plan, seed: int, count: int) -> set[str]:
    """Check every sampled move against the referee; the names of the moves there were."""
    problem = native.problem
    before = solution_of(problem, *plan, native.model)
    assert not faults(before)
    names = set()
    for name, predicted, routes, types in native.model.sample_moves(*plan, seed, count):
        after = solution_of(problem, routes, types, native.model)
        context = (problem, name, plan, (routes, types), [v.message for v in after.violations])
        assert not [code for code in faults(after) if code != "prize"], context
        assert after.cost - before.cost == close(problem, predicted), context
        names.add(name)
    return names
