"""Relations between customers and the objective, as the compiled search takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from spacevrp.problems.problem import Problem
from spacevrp.problems.relations import has_jobs_beside_pairs, present_relations


def measures_routes(problem: Problem) -> bool:
    """Whether it counts how long routes take."""
    return bool({"makespan", "balance"} & set(problem.objective.terms))


def relation_arguments(problem: Problem) -> dict[str, Any]:
    """What the compiled model is told beside the rest; nothing where there is nothing to tell."""
    mixed = problem.pickup is not None or has_jobs_beside_pairs(problem)
    present = present_relations(problem)
    if not present and not mixed:
        return {}
    told: dict[str, Any] = {}
    if mixed:  # what lies in the vehicle from the start, (N, D)
        delivered = np.maximum(problem.loads, 0.0)
        delivered[[node for pair in problem.pairs for node in pair]] = 0.0
        told["delivered"] = delivered.ravel().tolist()
    if problem.max_ride is not None:
        rides = np.full(problem.size, np.inf)
        rides[[pickup for pickup, _ in problem.pairs]] = problem.max_ride
        told["max_ride"] = rides.tolist()
    if problem.groups:
        told["groups"] = [(list(group.nodes), group.required) for group in problem.groups]
    if problem.priority is not None:
        told["priority"] = problem.priority.tolist()
    if not problem.objective.is_cost:
        told["first"] = list(problem.objective.first)
        told["weights"] = list(problem.objective.weights)
    for name in ("lifo", "same_route", "different_routes", "order"):
        if name in present:
            told[name] = getattr(problem, name)
    return {"relations": told}
