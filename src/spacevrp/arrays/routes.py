"""Routes out of action sequences."""

from __future__ import annotations

from collections.abc import Sequence

from spacevrp.problems.canonical import needs_fleet_rules
from spacevrp.problems.fleet import ways_out
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import with_best_vehicles


def routes_of(problem: Problem, sequence: Sequence[int]) -> Sequence[Sequence[int]]:
    """Routes in the user's numbering from positions in the batch (depots first).

    The sequence begins at a depot (or at the first node, where there is none) and may end with any
    number of idle moves. Where vehicles differ, the routes get those that suit them best, which may
    be cheaper ones than they were built with.
    """
    order = [*problem.depots, *problem.customers]
    depots = len(problem.depots)
    if needs_fleet_rules(problem):
        depots = len(ways_out(problem.fleet))  # what depots stand for there
        lists: list[list[int]] = [[]]
        for node in sequence:
            if node >= depots:
                lists[-1].append(problem.customers[node - depots])
            elif lists[-1]:
                lists.append([])
        # A finished solution rests where it is, be it stuck at a customer.
        stops = [list(dict.fromkeys(one)) for one in lists if one]
        return with_best_vehicles(problem, stops)
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
