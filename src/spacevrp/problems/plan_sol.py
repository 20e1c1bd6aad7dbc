"""VRPLIB's .sol: what it calls customers and vehicles, and a plan as its text.

Lines list customers. Customer k is the k-th node that is not a depot, except that, as in PyVRP's
dialect, nodes have their numbers, counted from 0, where several depots come first; a tour leaves
out node 0. A depot in a line, counted from 0, too, is where a vehicle reloads. Where vehicles
differ, line k is the route of vehicle k, empty where it stays at home.
"""

from __future__ import annotations

from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan_documents import Solved
from spacevrp.problems.problem import Problem


def sol_numbers(problem: Problem) -> dict[int, int]:
    """Customer -> what a .sol calls it."""
    first = len(problem.depots) or 1
    if first == 1 or problem.depots != tuple(range(first)):
        first = 1
    nodes = problem.customers if problem.depots else problem.customers[1:]
    return {node: number for number, node in enumerate(nodes, start=first)}


def sol_depots(problem: Problem) -> dict[int, int]:
    """Depot -> what a .sol calls it; those where vehicles reload."""
    reloads = {
        depot for terms in problem.fleet if terms.may_reload for depot in terms.reload_depots
    }
    return {depot: number for number, depot in enumerate(problem.depots) if depot in reloads}


def sol_vehicles(problem: Problem) -> list[int] | None:
    """The type of each vehicle, in the order of their numbers; None where .sol has none for them.

    That is where all are alike, or where there are as many of a type as are needed.
    """
    if problem.vehicles is None or any(one.count is None for one in problem.vehicles):
        return None
    named = problem.vehicle_ids or {}
    listed: list[tuple[object, int]] = []
    for number, vehicle in enumerate(problem.vehicles):
        ids = named.get(vehicle.name, ())
        if not all(isinstance(one, int) for one in ids) or len(ids) != vehicle.count:
            # Nothing numbers them, so they follow one another.
            return [k for k, one in enumerate(problem.vehicles) for _ in range(one.count or 0)]
        listed += [(one, number) for one in ids]
    return [number for _, number in sorted(listed)]


def check_sol(problem: Problem) -> None:
    """Refuse a problem whose plans .sol has no place for."""
    if problem.vehicles is None and len(problem.depots) > 1:
        raise UnsupportedError(
            f".sol has no place for which of {len(problem.depots)} depots a route is of; use JSON"
        )
    if problem.vehicles is not None and sol_vehicles(problem) is None and len(problem.vehicles) > 1:
        raise UnsupportedError(
            ".sol numbers vehicles, and there are as many of a type as are needed; use JSON"
        )


def solution_sol(problem: Problem, solution: Solved) -> str:
    """The routes of one instance as VRPLIB's .sol text."""
    check_sol(problem)
    number_of = {**sol_depots(problem), **sol_numbers(problem)}
    lines: dict[int, str] = {}
    free = _free_numbers(problem)
    for number, route in enumerate(solution.routes, start=1):
        if not problem.depots and 0 in route:
            at = route.index(0)
            route = (*route[at + 1 :], *route[:at])  # the same tour from node 0 on
        visited = list(route)
        if problem.depots:  # without those at the ends
            closed = len(route) > 1 and route[-1] in problem.depots
            visited = visited[1:-1] if closed else visited[1:]
        unknown = [node for node in visited if node not in number_of]
        if unknown:
            raise UnsupportedError(f".sol: route {number} visits node {unknown[0]}, which is none")
        place = number
        if free is not None:
            kind = 0 if solution.vehicles is None else solution.vehicles[number - 1]
            if not free.get(kind):
                raise UnsupportedError(f".sol: route {number} has no vehicle of type {kind} left")
            place = free[kind].pop(0)
        lines[place] = " ".join(str(number_of[node]) for node in visited)
    text = [f"Route #{k}: {lines.get(k, '')}".rstrip() for k in range(1, max(lines, default=0) + 1)]
    if solution.cost is not None:
        cost = float(solution.cost)
        text.append(f"Cost {int(cost) if cost.is_integer() else repr(cost)}")
    return "\n".join(text) + "\n"


def _free_numbers(problem: Problem) -> dict[int, list[int]] | None:
    """Type -> the numbers of its vehicles; None where they have none."""
    types = sol_vehicles(problem)
    if types is None or len(set(types)) == 1:
        return None
    free: dict[int, list[int]] = {}
    for number, kind in enumerate(types, start=1):
        free.setdefault(kind, []).append(number)
    return free
