"""Small problems whose customers are related in every way, and all plans of tiny ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import strategies as st
from random_problems import RULES, build

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.objective import TERMS, Objective
from spacevrp.problems.problem import Problem
from spacevrp.search.model import Plan

# What the problem may have beside its relations.
BESIDE = (
    *("whole", "matrix", "durations", "depots", "open", "capacity", "kinds", "windows", "service"),
    *("length", "optional", "max_routes", "vehicles", "counts", "ends", "fixed", "capacities"),
    *("unit_costs", "max_durations", "skills", "shifts"),
)
RELATIONS = (
    *("some_pairs", "max_ride", "lifo", "pickup", "groups", "same_route", "different_routes"),
    *("order", "priority", "objective"),
)


def relate(features: Iterable[str], seed: int, customers: int = 6) -> Problem:
    """A problem with these features; what contradicts another is left out."""
    has = set(features)
    rng = np.random.default_rng(seed)
    problem = build(has & {*BESIDE, *RULES}, seed, customers)
    for change in _changes(problem, has, rng):
        with contextlib.suppress(ProblemError):
            problem = problem.replace(**change)
    return problem


def _changes(problem: Problem, has: set[str], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    nodes = rng.permutation(problem.customers).tolist()
    count = int(rng.integers(1, len(nodes) // 2 + 1)) if len(nodes) > 1 else 0
    pairs = [(nodes[2 * i], nodes[2 * i + 1]) for i in range(count)] if "some_pairs" in has else []
    single = nodes[2 * len(pairs) :]
    loads = problem.loads.copy()
    for pickup, delivery in pairs:
        loads[pickup] = -np.abs(loads[pickup])
        loads[delivery] = -loads[pickup]
    for node in single:
        if rng.random() < 0.3 and "lifo" not in has:
            loads[node] *= -1
    one = problem.kinds_of_load == 1
    carried = problem.capacity if one else problem.capacities
    yield {"demand": loads[:, 0] if one else loads, "capacity": carried, "pairs": pairs}
    if "pickup" in has:
        pickup = np.zeros_like(loads)
        for node in single:
            if not (loads[node] < 0).any() and rng.random() < 0.6:
                pickup[node] = rng.integers(0, 5, pickup.shape[1])
        yield {"pickup": pickup[:, 0] if one else pickup, "load_rule": "separate"}
    if "max_ride" in has and pairs:
        rides = rng.uniform(2, 15, len(pairs))
        rides[rng.random(len(pairs)) < 0.2] = np.inf
        yield {"max_ride": rides}
    if "lifo" in has:
        yield {"lifo": True}
    if "groups" in has and len(single) > 1:
        cut = int(rng.integers(2, len(single) + 1))
        groups = [{"nodes": single[:cut], "required": bool(rng.random() < 0.8)}]
        if len(single) - cut > 0:
            groups.append({"nodes": single[cut:], "required": True})
        yield {"groups": groups}
    for name in ("same_route", "different_routes", "order"):
        if name in has and len(nodes) > 1:
            for _ in range(int(rng.integers(1, 4))):
                most = 2 if name == "order" else min(3, len(nodes))
                some = rng.permutation(nodes)[: int(rng.integers(2, most + 1))].tolist()
                yield {name: [some]}
    if "priority" in has:
        yield {
            "priority": [
                0 if n in problem.depots else int(rng.integers(4)) for n in range(problem.size)
            ]
        }
    if "objective" in has:
        terms = rng.permutation(TERMS).tolist()
        first = terms[: int(rng.integers(0, 3))]
        rest = terms[len(first) : len(first) + int(rng.integers(1, 3))]
        weights = {term: float(rng.choice([0.5, 1.0, 4.0])) for term in rest}
        yield {"objective": Objective(tuple(first), weights)}


related = st.builds(
    relate,
    st.tuples(
        st.frozensets(st.sampled_from(BESIDE), max_size=6),
        st.frozensets(st.sampled_from(RELATIONS), min_size=1, max_size=5),
    ).map(lambda both: both[0] | both[1]),
    st.integers(0, 10**6),
    st.integers(2, 8),
)


def ride(rules: Iterable[str], seed: int, customers: int = 6) -> Problem:
    """A problem with limits on rides, which the sets above seldom have, and these features."""
    return relate({"some_pairs", "max_ride", "vehicles", "service", *rules}, seed, customers)


# With rules of routes.
ridden = st.builds(
    lambda beside, rules, seed: ride({*beside, *rules}, seed),
    st.frozensets(st.sampled_from(["whole", "windows", "shifts", "durations", "lifo", "capacity"])),
    st.frozensets(
        st.sampled_from([rule for rule in RULES if rule != "on_board"]), min_size=1, max_size=4
    ),
    st.integers(0, 10**6),
)


def every_plan(problem: Problem) -> Iterator[Plan]:
    """Every way to serve some of the customers, in every order, by every type of vehicle."""

    def splits(order: tuple[int, ...]) -> Iterator[list[list[int]]]:
        if not order:
            yield []
            return
        for cut in range(1, len(order) + 1):
            for rest in splits(order[cut:]):
                # The same routes in another order are the same plan.
                if not rest or order[0] < rest[0][0]:
                    yield [list(order[:cut]), *rest]

    types = len(problem.fleet)
    for count in range(len(problem.customers) + 1):
        for order in permutations(problem.customers, count):
            for routes in splits(order):
                for number in range(types ** len(routes)):
                    yield routes, [number // types**row % types for row in range(len(routes))]
