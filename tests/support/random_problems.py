"""Small problems with every mixture of features, and random plans for them, legal or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from spacevrp.problems.distances import GEOMETRIES, ROUNDINGS, Metric
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around
from spacevrp.search.model import Plan

# What a problem may have; any set of them makes one (what contradicts another is left out).
FEATURES = (
    *("whole", "metric", "matrix", "missing", "durations", "missing_durations", "no_depot"),
    *("depots", "open", "capacity", "kinds", "backhaul", "backhaul_last", "separate", "windows"),
    *("service", "length", "pairs", "optional", "prize", "maximise", "max_routes", "vehicles"),
    *("counts", "ends", "shifts", "skills", "pins", "fixed", "capacities", "lengths"),
    *("unit_costs", "max_durations"),
)
# Rules of whole routes; most are terms of vehicles.
RULES = (
    *("stops", "latest_start", "overtime", "duration_cost", "speed", "own_service", "breaks"),
    *("reloads", "on_board", "gaps", "release", "setup", "travel_times"),
)


def build(features: Iterable[str], seed: int, customers: int = 6) -> Problem:
    """A problem with these features; whatever no vehicle can serve is allowed to be there."""
    has, rng = set(features), np.random.default_rng(seed)
    if "no_depot" in has:
        has &= {"whole", "metric", "matrix", "missing", "durations", "missing_durations"}
        depots: list[int] = []
    else:
        depots = list(range(int(rng.integers(2, 4)) if "depots" in has else 1))
    if "pairs" in has:
        customers += customers % 2
        has -= {"backhaul", "backhaul_last"}
    size = len(depots) + customers
    # Depots anywhere in the numbering.
    depots = sorted(rng.permutation(size)[: len(depots)].tolist())
    nodes = [node for node in range(size) if node not in depots]
    fields: dict[str, Any] = {"depots": depots, "allow_unservable": True}
    if depots:
        rule = "separate" if "separate" in has else rng.choice(["single", "paper"])
        fields |= {"open_routes": "open" in has, "load_rule": str(rule)}
    _add_loads(fields, has, rng, nodes, size)
    _add_times(fields, has, rng, nodes, size, depots)
    _add_prizes(fields, has, rng, nodes, size)
    if "length" in has or "maximise" in has:
        fields["max_length"] = _number(has, rng, 12.0, 40.0)
    if "max_routes" in has:
        fields["max_routes"] = int(rng.integers(1, 4))
    if "vehicles" in has:
        fields["vehicles"] = _vehicles(has, rng, nodes, depots, fields)
    if has & set(RULES):
        _add_rules(fields, has, rng, nodes, size)
    try:
        return _with_roads(fields, has, rng, size)
    except ProblemError:
        if "vehicles" not in has:
            raise
        for one in ("on_board", "pins"):
            if one in has:
                return build(has - {one}, seed, customers)
        return build(has - {"vehicles"}, seed, customers)


def _number(has: set[str], rng: np.random.Generator, low: float, high: float) -> float:
    return float(_numbers(has, rng, low, high, (1,))[0])


def _numbers(has: set[str], rng: np.random.Generator, low: float, high: float, shape: Any) -> Any:
    if "whole" in has:
        return rng.integers(int(low), int(high) + 1, shape).astype(float)
    return rng.uniform(low, high, shape)


def _add_loads(
    fields: dict[str, Any], has: set[str], rng: np.random.Generator, nodes: list[int], size: int
) -> None:
    kinds = 2 if "kinds" in has else 1
    loads = np.zeros((size, kinds))
    if has & {"capacity", "kinds", "capacities"}:
        loads[nodes] = _numbers(has, rng, 0, 5, (len(nodes), kinds))
        fields["capacity"] = _numbers(has, rng, 5, 12, kinds).tolist()
    if "pairs" in has:
        order = rng.permutation(nodes)
        pickups, deliveries = order[::2], order[1::2]
        loads[pickups] *= -1
        loads[deliveries] = -loads[pickups]
        fields["pairs"] = list(zip(pickups.tolist(), deliveries.tolist(), strict=True))
    elif "backhaul" in has:
        loads[rng.choice(nodes, len(nodes) // 2, replace=False)] *= -1
        fields["backhaul_last"] = "backhaul_last" in has
    if fields.get("capacity") is not None:
        fields["demand"] = loads if kinds > 1 else loads[:, 0]
        if kinds == 1:
            (fields["capacity"],) = fields["capacity"]


def _add_times(
    fields: dict[str, Any],
    has: set[str],
    rng: np.random.Generator,
    nodes: list[int],
    size: int,
    depots: list[int],
) -> None:
    if "service" in has:
        service = np.zeros(size)
        service[nodes] = _numbers(has, rng, 0, 3, len(nodes))
        fields["service"] = service
    if "windows" in has:
        opening = _numbers(has, rng, 0, 15, size)
        closing = opening + _numbers(has, rng, 4, 30, size)
        closing[rng.random(size) < 0.3] = np.inf
        opening[depots] = _numbers(has, rng, 0, 3, len(depots))
        closing[depots] = _numbers(has, rng, 30, 60, len(depots))
        if rng.random() < 0.3:
            closing[depots] = np.inf
        fields["windows"] = np.stack([opening, closing], axis=1)


def _add_prizes(
    fields: dict[str, Any], has: set[str], rng: np.random.Generator, nodes: list[int], size: int
) -> None:
    if "optional" in has:
        penalty = np.full(size, np.inf)
        some = rng.random(len(nodes)) < 0.6
        penalty[np.array(nodes)[some]] = _numbers(has, rng, 0, 12, int(some.sum()))
        fields["penalty"] = penalty
    if has & {"prize", "maximise"}:
        prize = np.zeros(size)
        prize[nodes] = _numbers(has, rng, 1, 9, len(nodes))
        fields["prize"] = prize
    if "prize" in has:
        fields["min_prize"] = float(rng.uniform(0.2, 1.2)) * prize.sum()
    if "maximise" in has:
        fields["maximise_prize"] = True


def _vehicles(
    has: set[str],
    rng: np.random.Generator,
    nodes: list[int],
    depots: list[int],
    fields: dict[str, Any],
) -> list[dict[str, Any]]:
    free = rng.permutation(nodes).tolist()
    types = []
    for number in range(int(rng.integers(1, 4))):
        one: dict[str, Any] = {"name": f"type{number}", "start": int(rng.choice(depots))}
        if "counts" in has and rng.random() < 0.7:
            one["count"] = int(rng.integers(1, 4))
        if "ends" in has:
            end = rng.random()
            if end < 0.4:
                one["end"] = int(rng.choice(depots))
            elif end < 0.7:
                one["open_route"] = True
        if "fixed" in has:
            one["fixed_cost"] = _number(has, rng, 0, 20)
        if "capacities" in has:
            kinds = 2 if "kinds" in has else 1
            one["capacity"] = _numbers(has, rng, 4, 15, kinds).tolist()
        if "unit_costs" in has:
            one["unit_distance_cost"] = float(rng.choice([0.0, 0.5, 1.0, 3.0]))
        if "max_durations" in has and rng.random() < 0.8:
            one["max_duration"] = _number(has, rng, 8, 40)
        if "lengths" in has and rng.random() < 0.6:
            one["max_length"] = _number(has, rng, 10, 50)
        if "shifts" in has and rng.random() < 0.7:
            begin = _number(has, rng, 0, 6)
            one["window"] = (begin, begin + _number(has, rng, 15, 50))
        if "skills" in has and rng.random() < 0.7:
            some = rng.choice(nodes, int(rng.integers(1, len(nodes) + 1)), replace=False).tolist()
            one["allowed" if rng.random() < 0.5 else "forbidden"] = some
        if "pins" in has and rng.random() < 0.6:
            pinned = [free.pop() for _ in range(min(int(rng.integers(1, 3)), len(free)))]
            one |= {"pinned": pinned, "count": 1}
            one.pop("forbidden", None)
            one.pop("allowed", None)
        if has & set(RULES):
            one |= _rules_of_type(has, rng, nodes, depots, one)
        types.append(one)
    if "on_board" in has and "pairs" not in has:
        some = [node for node in free if rng.random() < 0.3]
        types[0] |= {"on_board": some, "count": 1}
        types[0].pop("allowed", None)
        types[0].pop("forbidden", None)
        fields["load_rule"] = "separate"
    return types


def _rules_of_type(
    has: set[str],
    rng: np.random.Generator,
    nodes: list[int],
    depots: list[int],
    one: dict[str, Any],
) -> dict[str, Any]:
    """Terms that only an evaluation of whole routes can see."""
    rules: dict[str, Any] = {}
    if "stops" in has and rng.random() < 0.7:
        rules["max_stops"] = int(rng.integers(1, 6))
    if "latest_start" in has and rng.random() < 0.8:
        rules["latest_start"] = one.get("window", (4, 0))[0] + _number(has, rng, 0, 12)
    if "overtime" in has and rng.random() < 0.9:
        rules["max_duration"] = _number(has, rng, 3, 20)
        rules["max_overtime"] = _number(has, rng, 0, 20)
        rules["overtime_cost"] = float(rng.choice([0.0, 0.5, 2.0]))
    if "duration_cost" in has and rng.random() < 0.8:
        rules["unit_duration_cost"] = float(rng.choice([0.25, 1.0, 3.0]))
    if "speed" in has and rng.random() < 0.8:
        rules["speed_factor"] = float(rng.choice([0.5, 0.8, 1.0, 2.0]))
    if "own_service" in has and rng.random() < 0.8:
        some = rng.choice([*nodes, *depots], len(nodes) // 2 + 1, replace=False).tolist()
        rules["service"] = dict(zip(some, _numbers(has, rng, 0, 4, len(some)), strict=True))
    if "breaks" in has and rng.random() < 0.9:
        rules["breaks"] = [_break(has, rng) for _ in range(int(rng.integers(1, 3)))]
    if "reloads" in has and rng.random() < 0.9:
        some = rng.choice(depots, int(rng.integers(1, len(depots) + 1)), replace=False)
        rules["reload_depots"] = some.tolist()
        if rng.random() < 0.5:
            rules["max_reloads"] = int(rng.integers(0, 3))
    return rules


def _break(has: set[str], rng: np.random.Generator) -> dict[str, Any]:
    opening = _number(has, rng, 0, 15)
    until = opening + _number(has, rng, 0, 12)
    windows = [(opening, until)]
    if rng.random() < 0.3:
        later = until + _number(has, rng, 1, 8)
        windows.append((later, later + _number(has, rng, 0, 8)))
    return {"duration": _number(has, rng, 0, 4), "windows": windows}


def _add_rules(
    fields: dict[str, Any], has: set[str], rng: np.random.Generator, nodes: list[int], size: int
) -> None:
    """Rules of nodes; some need no vehicles."""
    if "reloads" in has:  # depots where a reload takes time
        service = fields.get("service", np.zeros(size))
        fields["service"] = np.where(np.isin(np.arange(size), nodes), service, rng.integers(0, 2))
    if "gaps" in has:
        windows = fields.get("windows")
        given: list[Any] = [(0, None)] * size if windows is None else windows.tolist()
        for node in nodes:
            if rng.random() < 0.6:
                opening = given[node][0]
                shut = opening + _number(has, rng, 0, 6)
                again = shut + _number(has, rng, 1, 8)
                closing = again + _number(has, rng, 1, 20)
                given[node] = [(opening, shut), (again, closing)]
        fields["windows"] = given
    if "release" in has and "pairs" not in has:
        release = np.full(size, -np.inf)
        demand = fields.get("demand", np.ones(size))
        for node in nodes:
            if rng.random() < 0.5 and (demand[node] >= 0).all():
                release[node] = _number(has, rng, 0, 10)
        fields["release"] = release
    if "setup" in has:
        setup = np.zeros(size)
        setup[nodes] = _numbers(has, rng, 0, 3, len(nodes))
        fields["setup"] = setup


def _with_roads(
    fields: dict[str, Any], has: set[str], rng: np.random.Generator, size: int
) -> Problem:
    points = _numbers(has, rng, 0, 10, (size, 2))
    if "setup" in has:  # some at the same place
        points[rng.random(size) < 0.3] = points[0]
    own_roads = {"missing", "durations", "missing_durations", "travel_times"}
    if "matrix" not in has and not has & own_roads:
        if "metric" in has:
            geometry, rounding = rng.choice(GEOMETRIES), rng.choice(ROUNDINGS)
            fields["metric"] = Metric(str(geometry), str(rounding))
        return Problem.from_coordinates(points, **fields)
    matrix = np.abs(points[:, None] - points).sum(axis=-1)  # as in a town with straight streets
    if "matrix" in has:
        matrix = matrix + _numbers(has, rng, 0, 4, matrix.shape)
    if "missing" in has:
        matrix[rng.random(matrix.shape) < 0.1] = np.inf
    durations = None
    if has & {"durations", "missing_durations"}:
        durations = np.where(np.isinf(matrix), 5.0, matrix) * 0.5 + _numbers(
            has, rng, 0, 4, matrix.shape
        )
        if "missing_durations" in has:
            durations[rng.random(matrix.shape) < 0.1] = np.inf
    if "travel_times" in has:
        base = np.where(np.isinf(matrix), 5.0, matrix) if durations is None else durations
        moments = np.cumsum(_numbers(has, rng, 4, 10, 3)).tolist()
        slow = [1.0, *rng.uniform(0.8, 1.25, 2).tolist()]  # durations of about 20 fall by 8 at most
        shorter = np.minimum(base, 12.0)
        fields["travel_times"] = [
            (moment, np.where(np.isinf(base), np.inf, shorter * factor))
            for moment, factor in zip(moments, slow, strict=True)
        ]
        durations = None
    return Problem.from_matrix(matrix, durations=durations, **fields)


problems = st.builds(
    build,
    st.frozensets(st.sampled_from(FEATURES), max_size=12),
    st.integers(0, 10**6),
    st.integers(1, 8),
)
# With rules of whole routes.
ruled_problems = st.builds(
    lambda rules, features, seed, customers: build(
        {"vehicles", *rules, *features} - {"no_depot"}, seed, customers
    ),
    st.frozensets(st.sampled_from(RULES), min_size=1, max_size=5),
    st.frozensets(st.sampled_from(FEATURES), max_size=8),
    st.integers(0, 10**6),
    st.integers(1, 8),
)


# --------------------------------------------------------------------------------------- the plans


def served_by(problem: Problem) -> list[int]:
    """The customers as the search counts them: without a depot, node 0 stands for it."""
    return list(problem.customers) if problem.depots else list(range(1, problem.size))


def random_plan(problem: Problem, rng: np.random.Generator) -> Plan:
    """Routes that keep the rules by chance only; pairs and pins are mostly heeded."""
    types = len(problem.fleet) or 1
    left = [node for node in rng.permutation(served_by(problem)).tolist()]
    if rng.random() < 0.4:
        left = left[: int(rng.integers(0, len(left) + 1))]
    routes: list[list[int]] = []
    most = 1 if not problem.depots and rng.random() < 0.9 else int(rng.integers(1, 5))
    for _ in range(most):
        routes.append([])
    for node in left:
        routes[int(rng.integers(len(routes)))].append(node)
    if problem.pairs and rng.random() < 0.8:
        _heed_pairs(problem, routes, rng)
    driven = [int(rng.integers(types)) for _ in routes]
    if problem.vehicles is not None and rng.random() < 0.7:
        _heed_pins(problem, routes, driven)
    if rng.random() < 0.05 and routes[0]:
        routes[-1].append(routes[0][0])  # visited twice
    return routes, driven


def _heed_pairs(problem: Problem, routes: list[list[int]], rng: np.random.Generator) -> None:
    for pickup, delivery in problem.pairs:
        for route in routes:
            for node in (pickup, delivery):
                if node in route:
                    route.remove(node)
        if rng.random() < 0.8:
            route = routes[int(rng.integers(len(routes)))]
            first = int(rng.integers(len(route) + 1))
            route.insert(first, pickup)
            route.insert(int(rng.integers(first + 1, len(route) + 1)), delivery)


def _heed_pins(problem: Problem, routes: list[list[int]], driven: list[int]) -> None:
    for terms in problem.fleet:
        if not terms.pinned:
            continue
        for route in routes:
            route[:] = [node for node in route if node not in terms.pinned]
        own = [row for row, number in enumerate(driven) if number == terms.number]
        if own:
            routes[own[0]][:0] = terms.pinned
            for row in own[1:]:
                routes[own[0]] += routes[row]
                routes[row].clear()
        else:
            routes.append(list(terms.pinned))
            driven.append(terms.number)


def _with_plan(
    features: Iterable[str], seed: int, customers: int
) -> tuple[Problem, list[tuple[int, ...]]]:
    problem = build({"capacity", "windows", "service", "length", *features}, seed, customers)
    routes, types = random_plan(problem, np.random.default_rng(seed))
    driven = zip(routes, types, strict=True)
    return problem, [around(route, problem.fleet[number]) for route, number in driven]


# One kind of vehicle at one depot, and a plan that may break any rule.
planned_problems = st.builds(
    _with_plan,
    st.frozensets(
        st.sampled_from(
            ["whole", "matrix", "durations", "backhaul", "separate", "open", "optional"]
        )
    ),
    st.integers(0, 10**6),
    st.integers(2, 7),
)
