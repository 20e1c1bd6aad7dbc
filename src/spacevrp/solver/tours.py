"""The routes of one depot as one tour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spacevrp.solver.roads import Roads, Route


class Tours:
    """The plans of a problem as tours, with the depot before, between and behind the routes.

    Open routes have a way home of length 0, and a fixed cost is part of the way to the first
    customer.

    Attributes
    ----------
    length
        (N, N) of arcs.
    near
        (N, N) how far nodes are from each other, there and back.
    limit
        How long a route may be.
    dust
        Differences of costs that do not count.
    """

    def __init__(self, roads: Roads) -> None:
        problem = roads.problem
        (terms,) = problem.fleet
        self.depot = terms.start
        self.length = roads.length[:-1, :-1].copy()
        if terms.end is None:
            self.length[:, self.depot] = 0.0
        self.length[self.depot] += terms.fixed_cost
        self.length[self.depot, self.depot] = 0.0
        self.near = self.length + self.length.T
        self.dust = 1e-2 * problem.length_tolerance
        self.limit = terms.max_length + terms.fixed_cost + self.dust
        most = [limit for limit in (problem.max_routes, terms.count) if limit is not None]
        self._most_routes = min(most, default=problem.size)

    def read(self, routes: Sequence[Route]) -> np.ndarray:
        """(L,) the routes as one tour."""
        stops = [node for route in routes for node in (*route.stops, self.depot)]
        return self.tidied(np.array([self.depot, *stops]))

    def written(self, tour: np.ndarray) -> list[Route]:
        """The routes of a tour; some may be empty."""
        parts = np.split(tour, np.flatnonzero(tour == self.depot))
        return [Route(0, tuple(part[1:].tolist())) for part in parts]

    def tidied(self, tour: np.ndarray) -> np.ndarray:
        """Without empty routes, but for one in the end where another vehicle may leave."""
        at_depot = tour == self.depot
        tour = tour[np.append(True, ~(at_depot[1:] & at_depot[:-1]))]
        routes = int((tour == self.depot).sum()) - 1
        return np.append(tour, self.depot) if routes < self._most_routes else tour

    def cost(self, tour: np.ndarray) -> float:
        """Lengths and fixed costs of a tour."""
        return float(self.length[tour[:-1], tour[1:]].sum())
