"""Places that the search remembers, and the order of insertion by regret: each has a slow twin."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import build, problems

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.search import native_model
from spacevrp.search.model import Native, Plan

CHECK = {"check": 1.0}  # every remembered place is compared with a new look at its route


def searched(native: Native, seed: int, tuning: dict[str, float]) -> Plan:
    begin = native.model.construct("insertion", seed)
    found = native.model.search(*begin, seed=seed, iterations=200, tuning=tuning)
    return found.routes, found.types


@pytest.mark.parametrize("name", VARIANTS)
def test_remembered_places_are_those_of_a_new_look(name: str) -> None:
    (problem,) = generate(name, 20, 1, seed=6)
    native = native_model(problem.as_expected())
    assert searched(native, 2, CHECK) == searched(native, 2, {})


@settings(max_examples=60)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_remembered_places_of_random_problems(problem: Problem, seed: int) -> None:
    native = native_model(problem)
    assert searched(native, seed, CHECK) == searched(native, seed, {})


# ------------------------------------------------------------------------------------------ regret


def slow_regret(native: Native, depth: int = 2) -> float:
    """Cost of the plan by regret: every place of every unit tried by evaluating whole plans."""
    problem, model = native.problem, native.model

    def cost(plan: Plan) -> float:
        told = model.evaluate(*plan)
        return told["cost"] if told["feasible"] else math.inf

    def with_unit(route: list[int], unit: tuple[int, ...]) -> list[list[int]]:
        """The route with the unit at all places."""
        longer = []
        for first in range(len(route) + 1):
            one = [*route[:first], unit[0], *route[first:]]
            if len(unit) == 1:
                longer.append(one)
            else:
                places = range(first + 1, len(one) + 1)
                longer += [[*one[:second], unit[1], *one[second:]] for second in places]
        return longer

    plan: Plan = ([], [])
    pairs = [tuple(map(int, pair)) for pair in problem.pairs]
    paired = {node for pair in pairs for node in pair}
    waiting = sorted([*pairs, *((int(one),) for one in problem.customers if one not in paired)])
    types = range(len(problem.fleet) or len(problem.depots) or 1)
    while waiting:
        now, best = cost(plan), None
        for unit in waiting:
            ways: list[tuple[float, Plan]] = []
            routes, kinds = plan
            for number in range(len(routes)):
                tries = [
                    ([*routes[:number], route, *routes[number + 1 :]], kinds)
                    for route in with_unit(routes[number], unit)
                ]
                ways.append(min(((cost(one) - now, one) for one in tries), key=lambda way: way[0]))
            opened = [([*routes, list(unit)], [*kinds, kind]) for kind in types]
            ways.append(min(((cost(one) - now, one) for one in opened), key=lambda way: way[0]))
            ways = sorted((way for way in ways if way[0] < math.inf), key=lambda way: way[0])
            if ways:
                loss = sum(way[0] - ways[0][0] for way in ways[:depth])
                key = (depth - len(ways[:depth]), round(loss, 9), ways[0][0])
                if best is None or key > best[0]:
                    best = key, unit, ways[0][1]
        if best is None:
            break
        waiting.remove(best[1])
        plan = best[2]
    return cost(plan)


@pytest.mark.parametrize(
    "name", ["CVRP", "ACVRP", "CVRPTW", "OCVRPTW", "CVRPB", "CVRPL", "MDCVRP", "PDCVRP"]
)
def test_regret_inserts_whom_its_slow_twin_inserts(name: str) -> None:
    for problem in generate(name, 8, 3, seed=11):
        native = native_model(problem)
        told = native.model.evaluate(*native.model.construct("regret", 0))
        assert told["feasible"]
        assert told["cost"] == pytest.approx(slow_regret(native), rel=1e-9)


@pytest.mark.parametrize(
    "features",
    [{"vehicles", "capacities", "capacity", "counts", "fixed"}, {"vehicles", "skills", "windows"}],
    ids=["counts", "skills"],
)
def test_regret_with_vehicles_that_differ(features: set[str]) -> None:
    native = native_model(build(features, 3, 8))
    told = native.model.evaluate(*native.model.construct("regret", 0))
    assert told["cost"] == pytest.approx(slow_regret(native), rel=1e-9)
