"""How the search goes: places remembered, stages, several plans to begin with, and regret."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_problems import build, problems

from spacevrp import Solution
from spacevrp import native as compiled
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.search import Stop, improve, native_model
from spacevrp.search.improve import rank
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


# ------------------------------------------------------------ stages, and several plans at once

ITERATIONS = 300
# Stages of a few iterations each, so that there are dozens of children.
STAGED = {"staged": 1.0, "check": 1.0}
NO_PLAN = ([[10**6, -3], [1, 1]], [0, 99])


def check_stages(problem: Problem, seed: int, more: int) -> None:
    """Never worse than the first plan, and the same by its seed, whatever is begun with beside."""
    native = native_model(problem.as_expected())
    first, *others = (native.model.construct("insertion", seed + n) for n in range(1 + more))
    others += [NO_PLAN] * min(more, 1)
    runs = [
        native.model.search(*first, seed=seed, iterations=ITERATIONS, tuning=STAGED, others=others)
        for _ in range(2)
    ]
    found = runs[0]
    plan = native.solution(found.routes, found.types)
    assert found.iterations in (0, ITERATIONS)  # none where no customer may be moved
    assert rank(plan) <= rank(native.solution(*first))
    assert plan.cost == pytest.approx(found.cost) or not plan.is_legal
    assert (runs[1].routes, runs[1].types) == (found.routes, found.types)


@pytest.mark.parametrize("name", VARIANTS)
def test_stages_of_every_variant(name: str) -> None:
    (problem,) = generate(name, 20, 1, seed=8)
    check_stages(problem, 3, 0)


# One route cannot collect what is asked for: less prize is lacking in the dearer plan.
SHORT = build(frozenset({"prize", "max_routes", "metric", "capacities"}), 261, 4)


@settings(max_examples=80)
@example(problem=SHORT, seed=0, more=0)
@given(problem=problems, seed=st.integers(0, 10**6), more=st.integers(0, 2))
def test_stages_of_random_problems(problem: Problem, seed: int, more: int) -> None:
    check_stages(problem, seed, more)


def test_every_plan_told_is_better_than_the_one_before() -> None:
    (problem,) = generate("CVRP", 40, 1, seed=8)
    model = native_model(problem).model
    told: list[float] = []
    begin = model.construct("savings", 0)
    found = model.search(
        *begin,
        iterations=100_000,
        tuning={"staged": 10.0},
        callback=lambda routes, types, cost: told.append(cost),
    )
    noted = [cost for _, _, cost, _ in found.trace]
    for costs in (told, noted):
        assert costs == sorted(costs, reverse=True)
        assert costs[-1] == pytest.approx(found.cost)


def test_few_iterations_are_annealed_once() -> None:
    (problem,) = generate("CVRP", 40, 1, seed=8)
    model = native_model(problem).model
    begin = model.construct("savings", 0)
    one, other = (
        model.search(*begin, iterations=8_000, tuning=tuning).routes
        for tuning in ({}, {"staged": 1e9})
    )
    assert one == other


def test_plans_for_each_of_many() -> None:
    assert compiled.core is not None
    models = [native_model(problem).model for problem in generate("CVRP", 30, 2, seed=4)]
    starts = [model.construct("savings", 0) for model in models]
    others = [[model.construct("insertion", seed) for seed in range(3)] for model in models]
    limits = {"iterations": 3_000, "tuning": {"staged": 10.0}}
    alone = [
        model.search(*start, seed=1, others=more, **limits).routes
        for model, start, more in zip(models, starts, others, strict=True)
    ]
    together = compiled.core.search_many(
        models, starts, seeds=[1, 1], threads=2, others=others, **limits
    )
    assert [run.routes for run in together] == alone
    assert alone[0] != models[0].search(*starts[0], seed=1, **limits).routes
    with pytest.raises(ValueError, match="others: expected plans for each of the models"):
        compiled.core.search_many(models, starts, seeds=[1, 1], others=others[:1], **limits)


def test_of_several_plans_the_best_is_improved() -> None:
    (problem,) = generate("CVRP", 12, 1, seed=5)
    (good,) = improve([problem], [None], stop=Stop(iterations=500))
    bad = Solution.judged(problem, [[0, customer, 0] for customer in range(1, 13)])
    (same,) = improve([problem], [[bad, good]], stop=Stop(iterations=0))
    assert same.routes == good.routes


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
    "name",
    ["CVRP", "ACVRP", "CVRPTW", "OCVRPTW", "CVRPB", "CVRPL", "MDCVRP", "PDCVRP", "APDCVRP"],
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
