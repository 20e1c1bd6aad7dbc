"""Routes out of action sequences."""

from __future__ import annotations

from collections.abc import Sequence

from spacevrp.problems.problem import Problem


def routes_of(problem: Problem, sequence: Sequence[int]) -> list[list[int]]:
    """Routes in the user's numbering from positions in the batch (depots first).

    The sequence begins at a depot (or at the first node, where there is none) and may end with any
    number of idle moves.
    """
    order = [*problem.depots, *problem.customers]
    depots = len(problem.depots)
    if depots == 0:
        return [[order[node] for node in dict.fromkeys(sequence)]]
    routes: list[list[int]] = []
    depot, served = sequence[0], list[int]()

    def close() -> None:
        if served:
            home = [] if problem.open_routes else [order[depot]]
            routes.append([order[depot], *(order[node] for node in served), *home])
            served.clear()

    for node in sequence[1:]:
        if node < depots:
            close()
            depot = node
        else:
            served.append(node)
    close()
    return routes
