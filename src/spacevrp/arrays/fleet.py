"""Fleets as padded arrays, beside the instances that the model sees.

The model knows one vehicle and one kind of load. It is shown the largest capacities and limits that
any type has, and of several kinds of load the one of which a customer needs the largest part. Of
penalties it is shown nothing: they come with other constraints than in training, and all customers
are served who can be.

Every different (start, end) of routes is a depot of the instance: ways from it are those from the
start, ways to it those to the end. So routes come back to where they began, as in training, over
distances that depend on the direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spacevrp.arrays.limits import as_amounts, as_limits
from spacevrp.arrays.rows import View, refuse_route_rules
from spacevrp.problems.fleet import Terms, ways_out
from spacevrp.problems.problem import Problem

# Vehicles of a type of which there are any number: more than any plan has routes.
ANY_NUMBER = 10**6


def _seen_capacity(capacities: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The largest of the capacities (K, D) of all types, (D,); inf where none has a limit."""
    largest = np.where(np.isfinite(capacities), capacities, 0.0).max(axis=0)
    return np.where(largest > 0, largest, np.inf)


def fleet_view(problem: Problem) -> View:
    """What is shown of a fleet: its largest vehicle."""
    refuse_route_rules(problem)
    fleet = problem.fleet
    largest = _seen_capacity(np.array([terms.capacities for terms in fleet]))
    limited = np.isfinite(largest) & (problem.loads != 0).any(axis=0)
    parts = np.abs(problem.loads[:, limited]) / largest[limited]  # (N, D')
    part = parts.max(axis=1, initial=0.0)
    if not limited.any():
        # Nothing limits the loads, but every vehicle of the training has a capacity: one that is
        # never reached changes no plan.
        part = np.where((problem.loads != 0).any(axis=1), 1.0 / problem.size, 0.0)
        if not part.any():
            part = np.full(problem.size, 1.0 / problem.size)
            part[list(problem.depots)] = 0.0
    signs = np.where((problem.loads < 0).any(axis=1), -1.0, 1.0)
    windows = problem.windows.copy()
    for depot in problem.depots:
        leaving = [terms.leaves_from for terms in fleet if terms.start == depot]
        ending = [terms.back_by for terms in fleet if depot in (terms.start, terms.end)]
        windows[depot, 0] = max(windows[depot, 0], min(leaving, default=-np.inf))
        windows[depot, 1] = min(windows[depot, 1], max(ending, default=np.inf))
    ways = ways_out(fleet)
    return View(
        starts=tuple(start for start, _ in ways),
        ends=tuple(end for _, end in ways),
        demand=np.minimum(part, 1.0) * signs,
        capacity=1.0,
        load_tolerance=0.0,
        windows=windows,
        max_length=max(terms.max_length for terms in fleet),
        open_routes=all(terms.end is None for terms in fleet),
        max_routes=problem.fleet_size,
        capacitated=True,
        must_visit=tuple(node for terms in fleet for node in terms.pinned),
        penalised=False,
    )


def fleet_row(
    problem: Problem, width: int, num_types: int, num_kinds: int, num_pins: int
) -> dict[str, Any]:
    """One fleet as padded arrays, depots first."""
    fleet, kinds = problem.fleet, problem.kinds_of_load
    ways = ways_out(fleet)
    customers = list(problem.customers)
    position = np.full(problem.size, -1, dtype=np.int64)  # depots have none of their own
    position[customers] = np.arange(len(ways), len(ways) + len(customers))

    def per_type(values: list[Any], fill: Any) -> np.ndarray[Any, Any]:
        return np.array([*values, *[fill] * (num_types - len(fleet))])

    def per_kind(values: Sequence[float], fill: float) -> list[float]:
        return [*values, *[fill] * (num_kinds - kinds)]

    def served(terms: Terms) -> list[bool]:
        may = np.zeros(width, dtype=bool)
        may[position[customers]] = True
        barred = set(terms.forbidden)
        for pair in problem.pairs:  # who may not serve one of them, serves neither
            if barred & set(pair):
                barred |= set(pair)
        may[position[sorted(barred)]] = False
        return may.tolist()

    def pins(terms: Terms) -> list[int]:
        listed = [int(position[node]) for node in terms.pinned]
        return [*listed, *[-1] * (num_pins - len(listed))]

    opens = [float(problem.windows[terms.start, 0]) for terms in fleet]
    closes = [
        np.inf if terms.end is None else float(problem.windows[terms.end, 1]) for terms in fleet
    ]
    goods = [
        as_amounts(problem, kind, [terms.capacities[kind] for terms in fleet])
        for kind in range(kinds)
    ]
    capacities = np.stack([of_kind.capacities for of_kind in goods], axis=1)  # (K, D)
    tolerances = np.stack([of_kind.tolerances for of_kind in goods], axis=1)
    loads = np.zeros((width, num_kinds))
    for kind, of_kind in enumerate(goods):
        loads[position[customers], kind] = of_kind.amounts[customers]
    unit, unit_of_time, day_start = problem.unit, problem.unit_of_time, problem.day_start
    leaves_from = np.maximum(
        [max(t.leaves_from, o) for t, o in zip(fleet, opens, strict=True)], day_start
    )
    back_by = np.array([min(t.back_by, c) for t, c in zip(fleet, closes, strict=True)])
    penalty = np.zeros(width)
    if not problem.maximise_prize:
        paid = np.where(np.isfinite(problem.penalty), problem.penalty / unit, 0.0)
        penalty[position[customers]] = paid[customers]
    return {
        "depot": per_type(
            [ways.index((t.start, t.start if t.end is None else t.end)) for t in fleet], 0
        ),
        "is_open": per_type([t.end is None for t in fleet], False),
        "count": per_type([ANY_NUMBER if t.count is None else t.count for t in fleet], 0),
        "capacity": per_type(
            [per_kind(row, np.inf) for row in capacities.tolist()], [np.inf] * num_kinds
        ),
        "load_tolerance": per_type(
            [per_kind(row, 0.0) for row in tolerances.tolist()], [0.0] * num_kinds
        ),
        "fixed_cost": per_type([t.fixed_cost / unit for t in fleet], 0.0),
        "max_length": per_type(
            as_limits([t.max_length for t in fleet], problem.length_tolerance, unit).tolist(),
            np.inf,
        ),
        "leaves_from": per_type(((leaves_from - day_start) / unit_of_time).tolist(), 0.0),
        "back_by": per_type(
            as_limits(back_by - day_start, problem.time_tolerance, unit_of_time).tolist(), np.inf
        ),
        "may_serve": per_type([served(t) for t in fleet], [False] * width),
        "pinned": per_type([pins(t) for t in fleet], [-1] * num_pins),
        "loads": loads,
        "penalty": penalty,
        "seen_capacity": np.array(per_kind(_seen_capacity(capacities).tolist(), np.inf)),
        "max_routes": np.int64(problem.max_routes or problem.size + 1),
    }
