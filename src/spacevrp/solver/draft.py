"""A plan that changes: who is in, who is out, what it is worth, and the ways in."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spacevrp.problems.problem import BASE_TOLERANCE
from spacevrp.solver.moves import with_pair
from spacevrp.solver.roads import Roads, Route, Stops


class Value(NamedTuple):
    """What a plan lacks and costs; the less the better, the first first."""

    missing: int  # customers who must be served
    shortage: float  # of a prize that is required
    cost: float
    length: float  # where travelling costs nothing, it still is in the way of more


class WayIn(NamedTuple):
    """A route with somebody more."""

    extra: float
    number: int  # of the route; as many as there are for a new one
    route: Route


class Draft:
    """Routes, and the customers outside; those of a pair are in or out together."""

    def __init__(self, roads: Roads, routes: Iterable[Route]) -> None:
        self.roads = roads
        problem = roads.problem
        self.routes = [route for route in routes if route.stops]
        start = set() if problem.depots else {0}  # of a tour
        nodes = [node for node in problem.customers if node not in start]
        self._units: list[Stops] = list(dict.fromkeys(map(roads.unit, nodes)))
        penalty = problem.penalty
        self.must = {unit: bool(np.isinf(penalty[list(unit)]).any()) for unit in self._units}
        total = float(problem.prize[list(problem.customers)].sum())
        self._required = 0.0 if problem.maximise_prize else min(problem.min_prize, total)
        # As the referee has it, who has the last word.
        self._enough = self._required - BASE_TOLERANCE * problem.min_prize
        self.dust = 1e-2 * problem.length_tolerance

    def copy(self, routes: Iterable[Route]) -> Draft:
        """Other routes of the same problem."""
        twin = object.__new__(Draft)
        vars(twin).update(vars(self))
        twin.routes = [route for route in routes if route.stops]
        return twin

    @property
    def outside(self) -> list[Stops]:
        """Who is not served, in the order of the nodes."""
        inside = {node for route in self.routes for node in route.stops}
        return [unit for unit in self._units if unit[0] not in inside]

    def units_of(self, route: Route) -> list[Stops]:
        """The customers of a route who may leave it."""
        roads = self.roads
        units = dict.fromkeys(map(roads.unit, route.stops))
        return [unit for unit in units if roads.pinned.isdisjoint(unit)]

    def value(self) -> Value:
        """What the plan is worth."""
        problem, roads = self.roads.problem, self.roads
        outside = [node for unit in self.outside for node in unit]
        missing = int(np.isinf(problem.penalty[outside]).sum()) if outside else 0
        travel = math.fsum(roads.cost(route) for route in self.routes)
        if problem.maximise_prize or self._required > 0:
            inside = [node for route in self.routes for node in route.stops]
            prize = float(problem.prize[inside].sum())
            if problem.maximise_prize:
                return Value(missing, 0.0, -prize, travel)
            short = max(self._required - prize, 0.0) if prize < self._enough and outside else 0.0
            return Value(missing, short, travel + self._penalties(outside), 0.0)
        return Value(missing, 0.0, travel + self._penalties(outside), 0.0)

    def _penalties(self, outside: Sequence[int]) -> float:
        if not outside:
            return 0.0
        penalty = self.roads.problem.penalty[outside]
        return float(penalty[np.isfinite(penalty)].sum())

    def is_better(self, new: Value, old: Value) -> bool:
        """Whether one plan is worth more than another by more than dust."""
        if new.missing != old.missing:
            return new.missing < old.missing
        for now, before in zip(new[1:], old[1:], strict=True):
            if abs(now - before) > self.dust:
                return now < before
        return False

    def waiting(self) -> list[Route]:
        """An empty route of each kind of which another may leave."""
        roads = self.roads
        limit = roads.problem.max_routes
        if limit is not None and len(self.routes) >= limit:
            return []
        used = [route.kind for route in self.routes]
        return [
            Route(kind, ())
            for kind, count in enumerate(roads.counts)
            if count is None or used.count(kind) < count
        ]

    def ways_in(
        self, unit: Stops, most: float = math.inf, kinds: Container[int] | None = None
    ) -> Iterator[WayIn]:
        """Every way that adds less than ``most``, the cheapest first; not all are legal.

        New routes are of the given kinds only, where these are given.
        """
        ways: list[tuple[float, int, tuple[int, int]]] = []
        waiting = [route for route in self.waiting() if kinds is None or route.kind in kinds]
        options = [*self.routes, *waiting]
        for number, route in enumerate(options):
            extra = self._insertions(route, unit)
            for place in np.flatnonzero(extra.ravel() < most):
                at = divmod(int(place), extra.shape[1])
                ways.append((float(extra[at]), number, at))
        ways.sort()
        for extra_of_one, number, at in ways:
            route = options[number]
            if len(unit) == 1:
                stops = (*route.stops[: at[1]], *unit, *route.stops[at[1] :])
            else:
                stops = with_pair(route.stops, unit, at)
            yield WayIn(extra_of_one, min(number, len(self.routes)), Route(route.kind, stops))

    def _insertions(self, route: Route, unit: Stops) -> np.ndarray:
        """(1 or S + 1, S + 1) what a unit adds in each place."""
        roads = self.roads
        length, nodes = roads.length, roads.nodes(route)
        before, after = nodes[:-1], nodes[1:]
        arcs = length[before, after]
        alone = [length[before, node] + length[node, after] - arcs for node in unit]
        extra = alone[0][None, :]
        if len(unit) == 2:
            extra = alone[0][:, None] + alone[1][None, :]
            extra[np.tri(len(extra), k=-1, dtype=bool)] = np.inf  # not before the pickup
            together = length[before, unit[0]] + length[unit] + length[unit[1], after] - arcs
            np.fill_diagonal(extra, together)
        return extra if route.stops else extra + roads.idle(route.kind)

    def with_route(self, number: int, route: Route) -> Draft:
        """The plan with one route changed, or one more."""
        return self.copy([*self.routes[:number], route, *self.routes[number + 1 :]])
