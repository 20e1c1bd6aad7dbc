"""Mutation tests: one number of a problem is changed so that a good plan breaks one rule.

The referee names the rule. The compiled model must refuse the plan, too; and no search from it may
return a plan that the referee refuses.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from agreement import compare, faults
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import build, problems

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.search import native_model
from spacevrp.search.model import Plan

Build = Callable[..., Problem]
# (the rule that is broken, the changed problem)
Mutation = tuple[str, Problem]


def good_plan(problem: Problem) -> Plan | None:
    """What the search makes of a problem, if it keeps the rules and serves someone."""
    native = native_model(problem)
    found = native.model.search(*native.model.construct("insertion", 1), seed=1, iterations=50)
    if faults(native.solution(found.routes, found.types)) or not found.routes:
        return None
    return found.routes, found.types


def mutations(problem: Problem, plan: Plan, rng: np.random.Generator) -> Iterator[Mutation]:
    """The problem with one number changed, so that the plan breaks a rule."""
    routes, _ = plan
    row = int(rng.integers(len(routes)))
    route = routes[row]
    node = int(rng.choice(route))
    changes: list[tuple[str, dict[str, Any]]] = []
    if problem.depots:
        changes += _of_times(problem, plan, row, node)
        changes += _of_loads(problem, plan, row)
        changes += _of_vehicles(problem, plan, row, node, rng)
        length = _length(problem, plan, row)
        if length > 0 and problem.vehicles is None:
            changes.append(("length", {"max_length": 0.99 * length}))
        if len(routes) > 1:
            changes.append(("fleet", {"max_routes": len(routes) - 1}))
    if problem.pairs:
        pair = next((p for p in problem.pairs if p[0] in route), None)
        if pair is not None:
            turned = [(d, p) if (p, d) == pair else (p, d) for p, d in problem.pairs]
            loads = problem.loads.copy()
            loads[list(pair)] *= -1
            changes.append(("precedence", {"pairs": turned, "demand": loads}))
    if problem.depots and problem.prize.any():
        visited = {node for one in routes for node in one}
        lacking = set(problem.customers) - visited
        collected = float(problem.prize[sorted(visited)].sum())
        if lacking and collected * 1.01 < float(problem.prize[list(problem.customers)].sum()):
            changes.append(("prize", {"min_prize": collected * 1.01}))
    for rule, change in changes:
        kinds = problem.kinds_of_load
        if "demand" in change and kinds == 1:
            change["demand"] = change["demand"][:, 0]
        if "demand" in change:
            capacity = problem.capacities
            change.setdefault("capacity", capacity[0] if kinds == 1 else capacity)
        try:
            yield rule, problem.replace(variant=None, **change)
        except ProblemError:
            continue  # a contradiction in itself, such as a pin that cannot be reached
    yield from _of_arcs(problem, plan, row, rng)


def _stops(problem: Problem, plan: Plan, row: int) -> list[int]:
    if not problem.depots:
        return [0, *plan[0][row], 0]
    terms = problem.fleet[plan[1][row]]
    return [terms.start, *plan[0][row], *([] if terms.end is None else [terms.end])]


def _length(problem: Problem, plan: Plan, row: int) -> float:
    stops = _stops(problem, plan, row)
    return sum(problem.distances.between(a, b) for a, b in pairwise(stops))


def _duration(problem: Problem, plan: Plan, row: int) -> float:
    """How long a route takes that leaves as late as it may, by trying out: no formula."""
    stops, terms = _stops(problem, plan, row), problem.fleet[plan[1][row]]
    earliest = max(float(problem.windows[stops[0], 0]), terms.leaves_from)

    def end_of(clock: float) -> float:
        for before, after in pairwise(stops):
            clock += problem.durations.between(before, after)
            closing = problem.windows[after, 1]
            if clock > closing + problem.time_tolerance:
                return np.inf
            if after not in problem.depots:
                clock = max(clock, problem.windows[after, 0]) + float(problem.service[after])
        return clock if clock <= terms.back_by + problem.time_tolerance else np.inf

    starts = earliest + np.linspace(0.0, 60.0, 601)
    return min(end_of(float(start)) - float(start) for start in starts)


def _of_times(
    problem: Problem, plan: Plan, row: int, node: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A window that closes before the arrival; a departure too late for it."""
    terms = problem.fleet[plan[1][row]]
    windows = problem.windows.copy()
    clock = max(windows[terms.start, 0], terms.leaves_from)
    for before, after in pairwise(_stops(problem, plan, row)):
        clock += problem.durations.between(before, after)
        if after == node:
            break
        clock = max(clock, windows[after, 0]) + problem.service[after]
    early = 0.999 * clock - 0.01
    if windows[node, 0] <= early < clock - 10 * problem.time_tolerance:
        closing = windows.copy()
        closing[node, 1] = early
        yield "window", {"windows": closing}
    if np.isfinite(windows[node, 1]):
        opening = windows.copy()
        late = windows[node, 1] + 1.0
        if late <= opening[terms.start, 1]:
            opening[terms.start, 0] = late
            yield "window", {"windows": opening}


def _of_loads(problem: Problem, plan: Plan, row: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Capacities below what the largest stop of the route needs."""
    needs = np.abs(problem.loads[plan[0][row]]).max(axis=0)  # (D,)
    kind = int(needs.argmax())
    if needs[kind] > 0 and problem.vehicles is None:
        capacities = list(problem.capacities)
        capacities[kind] = 0.9 * float(needs[kind])
        yield "capacity", {"capacity": capacities if len(capacities) > 1 else capacities[0]}


def _of_vehicles(
    problem: Problem, plan: Plan, row: int, node: int, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A skill, a pin, a number, a limit or a shift of the type that drives the route."""
    if problem.vehicles is None:
        return
    routes, types = plan
    number = types[row]
    mine = problem.vehicles[number]

    def with_type(**changes: Any) -> dict[str, Any]:
        fields = {**vars(mine), **changes}
        vehicles = list(problem.vehicles or ())
        vehicles[number] = type(mine)(**fields)
        return {"vehicles": vehicles}

    if not mine.pinned:
        allowed = None if mine.allowed is None else [n for n in mine.allowed if n != node]
        if allowed is None:
            yield "vehicle", with_type(forbidden=[*mine.forbidden, node])
        elif allowed:
            yield "vehicle", with_type(allowed=allowed)
    used = types.count(number)
    if used > 1:
        yield "vehicle", with_type(count=used - 1)
    elif len(routes[row]) > 1 and not mine.pinned:
        yield "pin", with_type(pinned=[routes[row][-1]], count=1)
    length = _length(problem, plan, row)
    if length > 0:
        yield "length", with_type(max_length=0.99 * length)
    taken = _duration(problem, plan, row)
    if taken > 0:
        yield "duration", with_type(max_duration=0.99 * taken)
    spent = sum(
        problem.durations.between(a, b) for a, b in pairwise(_stops(problem, plan, row))
    ) + float(problem.service[routes[row]].sum())
    begin = max(float(problem.windows[problem.fleet[number].start, 0]), 0.0)
    if spent > 0:
        yield "window", with_type(window=(begin, begin + 0.9 * spent))
    needs = np.abs(problem.loads[routes[row]]).max(axis=0)
    kind = int(needs.argmax())
    if needs[kind] > 0:
        capacities = list(problem.fleet[number].capacities)
        capacities[kind] = 0.9 * float(needs[kind])
        yield "capacity", with_type(capacity=capacities)


def _of_arcs(
    problem: Problem, plan: Plan, row: int, rng: np.random.Generator
) -> Iterator[Mutation]:
    """One arc that the plan travels does not exist, in the distances or in the durations."""
    legs = list(pairwise(_stops(problem, plan, row)))
    origin, target = legs[int(rng.integers(len(legs)))]
    if origin == target:
        return
    matrix = problem.distances.matrix().copy()
    durations = problem.durations.matrix().copy()
    missing = matrix.copy()
    missing[origin, target] = np.inf
    fields = {name: getattr(problem, name) for name in _FIELDS}
    fields |= {"demand": problem.loads, "capacity": problem.capacities}
    cut = durations.copy()
    cut[origin, target] = np.inf
    for lengths, times in ((missing, durations), (matrix, cut)):
        with contextlib.suppress(ProblemError):  # an arc to a pinned customer must exist
            yield "arc", Problem.from_matrix(lengths, durations=times, **fields)


_FIELDS = (
    *("depots", "load_rule", "windows", "service", "max_length", "open_routes", "backhaul_last"),
    *("prize", "penalty", "min_prize", "maximise_prize", "pairs", "max_routes", "vehicles"),
    "allow_unservable",
)


def check_mutations(problem: Problem, seed: int) -> set[str]:
    """The rules that were broken: the model agrees with the referee on each of them."""
    plan = good_plan(problem)
    broken: set[str] = set()
    if plan is None:
        return broken
    for rule, changed in mutations(problem, plan, np.random.default_rng(seed)):
        native = native_model(changed)
        solution = compare(native, plan)
        if rule not in faults(solution):
            continue  # the change was not enough, and both say so
        broken.add(rule)
        again = native.model.search(*plan, seed=seed, iterations=20)
        found = native.solution(again.routes, again.types)
        assert set(faults(found)) <= {"prize", "pin"}, (changed, plan, found.violations)
        assert native.model.evaluate(again.routes, again.types)["feasible"] == (not faults(found))
    return broken


@settings(max_examples=60)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_a_changed_number_is_noticed(problem: Problem, seed: int) -> None:
    check_mutations(problem, seed)


@pytest.mark.slow
@settings(max_examples=800)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_changed_numbers_of_many_problems_are_noticed(problem: Problem, seed: int) -> None:
    check_mutations(problem, seed)


@pytest.mark.parametrize(
    ("features", "rules"),
    [
        ({"capacity", "length", "windows", "service"}, {"capacity", "length", "window", "arc"}),
        ({"vehicles", "skills", "fixed", "capacity"}, {"vehicle", "pin", "length", "window"}),
        ({"vehicles", "windows", "service", "unit_costs"}, {"duration", "window"}),
        ({"vehicles", "max_durations", "pairs"}, {"duration", "length"}),
        ({"pairs", "capacity", "max_routes"}, {"precedence", "capacity", "arc"}),
        ({"prize", "optional", "depots"}, {"prize", "arc"}),
        ({"depots", "capacity", "open"}, {"fleet", "capacity", "length"}),
        ({"no_depot"}, {"arc"}),
    ],
)
def test_each_rule_is_broken_by_some_change(features: set[str], rules: set[str]) -> None:
    """Otherwise the tests above would test nothing."""
    broken: set[str] = set()
    for seed in range(12):
        broken |= check_mutations(build(features, seed), seed)
    assert rules <= broken


@pytest.mark.parametrize(
    ("rule", "legal"), [("single", True), ("paper", True), ("separate", False)]
)
def test_load_rules_differ(four_customers: Build, rule: Any, legal: bool) -> None:
    """Out with 5, 6 on board after the first pickup; separate: 10 to deliver at the start."""
    problem = four_customers(demand=[0, 5, -6, 5, 1], capacity=6, load_rule=rule)
    assert compare(native_model(problem), ([[1, 2, 3, 4]], [0])).is_legal == legal


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_a_pair_half_served_is_refused(seed: int) -> None:
    problem = build({"pairs", "capacity", "optional"}, seed)
    native = native_model(problem)
    pickup, delivery = problem.pairs[0]
    for routes in ([[pickup]], [[delivery]], [[delivery, pickup]], [[pickup], [delivery]]):
        assert faults(compare(native, (routes, [0] * len(routes))))
    assert not {"pair", "precedence"} & set(faults(compare(native, ([[pickup, delivery]], [0]))))
