"""Parts of a problem: some of its nodes as a problem of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spacevrp.problems.conversion import NodeNumber
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem

# Fields of a problem with a row for each node.
_OF_NODES = (
    "demand",
    "more_demand",
    "windows",
    "service",
    "prize",
    "penalty",
    "revealed_prize",
    "places",
)


def restricted(problem: Problem, stay: list[int]) -> tuple[Problem, list[int]]:
    """The problem of some nodes, all depots among them, and these nodes."""
    number = {node: NodeNumber(position) for position, node in enumerate(stay)}
    rows = np.array(stay)
    changes: dict[str, Any] = {
        "distances": problem.distances.reordered(rows),
        "depots": tuple(number[depot] for depot in problem.depots),
        "pairs": tuple((number[a], number[b]) for a, b in problem.pairs if a in number),
        "ids": None if problem.ids is None else tuple(problem.ids[node] for node in stay),
        "more_capacity": problem.more_capacity,
    }
    if problem.durations is not problem.distances:
        changes["durations"] = problem.durations.reordered(rows)
    for field in _OF_NODES:
        values = getattr(problem, field)
        changes[field] = None if values is None else values[rows]
    if problem.vehicles is not None:
        changes["vehicles"] = [_renumbered(vehicle, number) for vehicle in problem.vehicles]
    return problem.replace(**changes), stay


def _renumbered(vehicle: Vehicle, number: Mapping[int, int]) -> Vehicle:
    """The type of vehicle, with its nodes as they are numbered now."""
    nodes: dict[str, Any] = {
        field: tuple(number[node] for node in getattr(vehicle, field) if node in number)
        for field in ("forbidden", "pinned")
    }
    if vehicle.allowed is not None:
        nodes["allowed"] = tuple(number[node] for node in vehicle.allowed if node in number)
    for field in ("start", "end"):
        depot = getattr(vehicle, field)
        nodes[field] = None if depot is None else number[depot]
    return replace(vehicle, **nodes)
