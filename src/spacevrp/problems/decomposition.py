"""Depot decomposition: each depot with the customers nearest to it, planned one by one.

Where routes come home and the depots lie on a map, most customers belong to the depot that is
nearest to them, and what is left are problems with one depot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spacevrp.problems.problem import Problem
from spacevrp.problems.reductions import (
    MOST_NODES,
    Routes,
    depots_are_alike,
    has_no_map,
    has_one_metric,
    with_one_depot,
)


@dataclass(frozen=True)
class Decomposition:
    """A problem for each depot that is the nearest of a customer."""

    problems: tuple[Problem, ...]  # with one depot, node 0, for each part
    nodes: tuple[np.ndarray, ...]  # of each part: which nodes of the whole problem its nodes are

    def together(self, plans: Sequence[Routes]) -> Routes:
        """Routes of the whole problem, from those of every part."""
        return [
            tuple(int(nodes[node]) for node in route)
            for nodes, routes in zip(self.nodes, plans, strict=True)
            for route in routes
        ]


def decompose(problem: Problem) -> Decomposition | None:
    """The parts; None where there is one at most, or planning them apart does not help.

    On open routes it helps where linehauls come first; on distances that have nothing of a map it
    does not, as customers near the same depot need not be near each other.
    """
    if len(problem.depots) < 2 or problem.size > MOST_NODES or problem.max_routes is not None:
        return None
    if problem.pairs or problem.maximise_prize:
        return None
    if problem.open_routes and not problem.backhaul_last:
        return None
    if not has_one_metric(problem) or not depots_are_alike(problem) or has_no_map(problem):
        return None
    length = problem.distances.matrix()
    customers, depots = np.array(problem.customers), np.array(problem.depots)
    away = length[depots][:, customers]  # (K, C)
    if not problem.open_routes:
        away = away + length[customers][:, depots].T
    nearest = away.argmin(axis=0)
    nodes = [
        np.array([depot, *customers[nearest == number]])
        for number, depot in enumerate(depots)
        if (nearest == number).any()
    ]
    if len(nodes) < 2:
        return None
    problems = tuple(
        with_one_depot(problem, some, length[some][:, some], open_routes=problem.open_routes)
        for some in nodes
    )
    return Decomposition(problems, tuple(nodes))
