"""A plan in no time: the nearest customer next, as long as the referee lets the route pass.

For calls whose time is too short for the network. It is legal whenever it is stopped.
"""

from __future__ import annotations

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.explanation.ways import Ways
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Stops = tuple[int, ...]

# Nearest customers that are tried before a route is closed.
_TRIED = 4


def quick_plan(problem: Problem, deadline: Deadline = NEVER) -> Solution:
    """A legal plan, complete where that is easy; an empty one where there is no time at all."""
    if deadline.over:
        return Solution.judged(problem, ())
    if not problem.depots:
        return Solution.judged(problem, [_tour(problem)])
    routes = _Routes(problem, deadline).built()
    plan = Solution.judged(problem, routes)
    while routes and not plan.is_legal:
        routes.pop()  # each is legal alone: there are not vehicles enough
        # Halved when the time is up, as each look takes a moment.
        routes = routes[: len(routes) // 2] if deadline.over else routes
        plan = Solution.judged(problem, routes)
    return plan


def _tour(problem: Problem) -> Stops:
    """Every node once, the nearest next."""
    here, tour = 0, [0]
    free = np.ones(problem.size, dtype=bool)
    free[0] = False
    for _ in range(problem.size - 1):
        away = _row(problem, here)
        here = int(np.where(free, away, np.inf).argmin()) if free.any() else here
        if not free[here]:  # no road leads on: any will do
            here = int(np.flatnonzero(free)[0])
        free[here] = False
        tour.append(here)
    return tuple(tour)


def _row(problem: Problem, node: int) -> np.ndarray:
    """(N,) how far all nodes are from one."""
    row: np.ndarray = problem.distances.from_node(node)
    return row


class _Routes:
    """Routes that grow at their ends."""

    def __init__(self, problem: Problem, deadline: Deadline) -> None:
        self._problem, self._deadline = problem, deadline
        self._judge = Ways(problem, ()).judge_alone
        couple = {node: pair for pair in problem.pairs for node in pair}
        pinned = {node for terms in problem.fleet for node in terms.pinned}
        self._unit = {node: couple.get(node, (node,)) for node in problem.customers}
        self._free = np.zeros(problem.size, dtype=bool)  # (N,) who may come next
        for node in problem.customers:
            self._free[node] = node not in pinned and self._unit[node][0] == node

    def built(self) -> list[Stops]:
        """As many routes as there are vehicles, or customers to serve."""
        routes: list[Stops] = []
        most = self._problem.max_routes
        for terms in self._problem.fleet:
            count = self._problem.size if terms.count is None else terms.count
            for number in range(count):
                if self._deadline.over or (most is not None and len(routes) >= most):
                    return routes
                first = terms.pinned if number == 0 else ()
                route = self._one(terms.start, terms.end, first)
                if route is None:
                    break
                routes.append(route)
        return routes

    def _one(self, start: int, end: int | None, stops: Stops) -> Stops | None:
        """A route of nearest customers; None where no customer can be served."""
        back = () if end is None else (end,)
        if stops and self._judge((start, *stops, *back))[1]:
            stops = ()  # what is pinned to it is too much
        refused = np.zeros(len(self._free), dtype=bool)  # (N,) who was tried in this place
        while not self._deadline.over:
            here = stops[-1] if stops else start
            away = np.where(self._free & ~refused, _row(self._problem, here), np.inf)
            nearest = int(away.argmin())
            # At the beginning all are tried; later a few.
            if not np.isfinite(away[nearest]) or (stops and refused.sum() >= _TRIED):
                break
            more = (*stops, *self._unit[nearest])
            if self._judge((start, *more, *back))[1]:
                refused[nearest] = True
                continue
            stops, refused = more, np.zeros_like(refused)
            self._free[nearest] = False
        return (start, *stops, *back) if stops else None
