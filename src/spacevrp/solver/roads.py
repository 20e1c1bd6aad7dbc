"""Single routes: what they cost, and whether the referee lets them pass."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.explanation.ways import Ways
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge_route
from spacevrp.problems.referee_rules import check_pairs
from spacevrp.problems.solution import Solution

Stops = tuple[int, ...]
# Verdicts that are kept; then all are forgotten, as the memory is not endless.
_MOST_KNOWN = 200_000


def asks_only_for(problem: Problem, known: Collection[str]) -> bool:
    """Whether these features, and vehicles of one kind that may serve anybody, are all there is.

    A tour without a depot has no vehicles.
    """
    if len(problem.fleet) > 1:
        return False
    durations = problem.durations
    return (
        # By the data, not by what is declared: a declared variant need not show all of them.
        set(problem.inferred_features.active) <= set(known)
        and not any(terms.forbidden or terms.pinned for terms in problem.fleet)
        # A way may have a length and yet be closed, as the time for it is missing.
        and (durations is problem.distances or not durations.has_missing_arcs)
    )


class Route(NamedTuple):
    """Customers in their order, and the kind of vehicle that serves them."""

    kind: int
    stops: Stops


class Roads:
    """What is known of all routes of a problem.

    A kind of vehicle is a type of the fleet; where all are alike there is one kind for each depot,
    and a tour without a depot is a route from its node 0 back to there. Open routes end at a place
    next to everywhere, whose number is that of the nodes.

    Attributes
    ----------
    length
        (N + 1, N + 1) lengths of arcs; far beyond all others where there is none.
    ends
        Start and end of each kind.
    room
        (D,) of each kind: what fits in, with what the referee lets pass.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        size = problem.size
        matrix = problem.distances.matrix()
        exists = np.isfinite(matrix)
        # So far that no other arcs make up for it, and near enough to keep the digits of sums.
        far = 1e3 * (1.0 + float(matrix[exists].max(initial=0.0))) * (size + 1)
        self.length = np.zeros((size + 1, size + 1))
        self.length[:size, :size] = np.where(exists, matrix, far)
        fleet = problem.fleet
        self.ends = [(t.start, size if t.end is None else t.end) for t in fleet] or [(0, 0)]
        self.fixed = [terms.fixed_cost for terms in fleet] or [0.0]
        self.counts = [terms.count for terms in fleet] or [1]
        self.pinned = {node for terms in fleet for node in terms.pinned}
        self.couple = {node: pair for pair in problem.pairs for node in pair}
        self._pickup_of = np.full(size, -1)  # (N,) whom a delivery waits for
        for pickup, delivery in problem.pairs:
            self._pickup_of[delivery] = pickup
        self.room = [
            np.array([one + problem.load_slack(one, k) for k, one in enumerate(t.capacities)])
            for t in fleet
        ] or [np.array([math.inf])]
        self.judged = 0  # routes: what the work is counted in
        self._sheet = Ways(problem, ()).sheet  # for judging routes one by one
        self._legal: dict[Route, bool] = {}
        self._costs: dict[Route, float] = {}

    def unit(self, node: int) -> Stops:
        """Who comes and goes together with a customer."""
        return self.couple.get(node, (node,))

    def nodes(self, route: Route) -> np.ndarray:
        """(S + 2,) the stops between start and end."""
        start, end = self.ends[route.kind]
        return np.array((start, *route.stops, end))

    def idle(self, kind: int) -> float:
        """What a route of this kind costs beyond its arcs: the way from start to end, less."""
        return self.fixed[kind] + float(self.length[self.ends[kind]])

    def cost(self, route: Route) -> float:
        """Length and fixed cost; nothing for a vehicle that stays at home."""
        if not route.stops:
            return 0.0
        known = self._costs.get(route)
        if known is None:
            nodes = self.nodes(route)
            known = self.fixed[route.kind] + float(self.length[nodes[:-1], nodes[1:]].sum())
            self._remember(self._costs, route, known)
        return known

    def is_legal(self, route: Route) -> bool:
        """Whether the referee finds no fault with the route."""
        if not route.stops:
            return True
        known = self._legal.get(route)
        if known is None:
            self.judged += 1
            known = not self._fails_at_a_glance(route) and not self._has_faults(route)
            self._remember(self._legal, route, known)
        return known

    def _has_faults(self, route: Route) -> bool:
        """Whether the referee finds a fault with the route."""
        sheet = self._sheet
        terms = sheet.fleet[route.kind] if sheet.vehicles is not None else None
        trip, faults = judge_route(sheet, 1, self._written(route), terms)
        if not faults and trip is not None and sheet.pairs:
            faults = check_pairs(sheet, [trip])
        return bool(faults)

    def _fails_at_a_glance(self, route: Route) -> bool:
        """Whether it delivers before it has picked up, or has more on board than fits.

        Of pairs most moves do, and the referee takes ten times as long to find out.
        """
        problem = self.problem
        if not problem.pairs:
            return False
        stops = np.array(route.stops)
        place = np.full(problem.size, len(stops))  # (N,) after all others: not there
        place[stops] = np.arange(len(stops))
        pickup = self._pickup_of[stops]  # (S,)
        waits = pickup >= 0
        if (place[pickup[waits]] > place[stops[waits]]).any():
            return True
        on_board = -np.cumsum(problem.loads[stops], axis=0)  # (S, D) after each stop
        return bool((on_board.max(axis=0) > self.room[route.kind]).any())

    def _remember(self, known: dict, route: Route, value: float | bool) -> None:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[route] = value

    def _written(self, route: Route) -> tuple[int, ...]:
        if not self.problem.depots:
            return (0, *route.stops)
        return around(route.stops, self.problem.fleet[route.kind])

    def read(self, solution: Solution) -> list[Route]:
        """The routes of a plan that stop anywhere."""
        problem = self.problem
        depots = set(problem.depots)
        found = []
        for number, nodes in enumerate(solution.routes):
            if not depots:
                turn = nodes.index(0)
                found.append(Route(0, (*nodes[turn + 1 :], *nodes[:turn])))
                continue
            stops = tuple(node for node in nodes if node not in depots)
            if stops:
                kind = problem.depots.index(nodes[0])
                if solution.vehicles is not None:
                    kind = solution.vehicles[number]
                found.append(Route(kind, stops))
        return found

    def judged_plan(self, routes: Sequence[Route]) -> Solution:
        """The plan with the referee's verdict on all of it."""
        written = [self._written(route) for route in routes if route.stops]
        vehicles = None
        if self.problem.vehicles is not None:
            vehicles = [route.kind for route in routes if route.stops]
        return Solution.judged(self.problem, FleetRoutes(written, vehicles))
