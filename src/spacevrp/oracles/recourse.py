"""Stochastic prizes: what a vehicle does when the real prizes fall short of the expected ones."""

from __future__ import annotations

from spacevrp.oracles.scaling import Routes
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge


def visit_more(problem: Problem, routes: Routes) -> tuple[Routes, int]:
    """The routes, prolonged until enough is collected, and the number of customers added.

    The prizes are known only on the visit, so the choice does not look at them: before the last
    vehicle returns, it goes on to the customer whose detour less its penalty costs least, until
    the real prizes suffice. Routes that suffice stay as they are.
    """
    added = 0
    current = list(routes) or [_empty(problem)]
    while any(violation.code == "prize" for violation in judge(problem, current).violations):
        visited = {node for route in current for node in route}
        left = [node for node in problem.customers if node not in visited]
        if not left:
            break
        last = current[-1] if problem.open_routes else current[-1][:-1]
        home = () if problem.open_routes else last[:1]
        prices = [_price(problem, last[-1], node, home) for node in left]
        best = left[prices.index(min(prices))]
        current[-1] = (*last, best, *home)
        added += 1
    return tuple(current) if added else routes, added


def _empty(problem: Problem) -> tuple[int, ...]:
    depot = problem.depots[0]
    return (depot,) if problem.open_routes else (depot, depot)


def _price(problem: Problem, position: int, node: int, home: tuple[int, ...]) -> float:
    between = problem.distances.between
    detour = between(position, node)
    for depot in home:
        detour += between(node, depot) - between(position, depot)
    return detour - float(problem.penalty[node])
