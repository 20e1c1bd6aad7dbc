"""A local search for pickups and deliveries in pairs: some are taken out and put in again.

Where room on board and the length of routes are all that limits a plan, the best places for a pair
are found by arithmetic along the routes, and the referee need judge the last plan only. Several
trials are made of the same plan at once, each without other pairs; these are put in one by one,
each where it costs least. The best trial is gone on with if it is better, or not much worse; less
and less so. A plan never gets worse.

All routes of a plan are one tour here, with the depot before, between and behind them. Open routes
have a way home of length 0, and a fixed cost is part of the way to the first customer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.roads import Roads, Route, asks_only_for

# Rounds for each customer in ``solve``: 1 s with 100 customers, 3 s with 200. Without loads, as the
# model has learned pairs, its plans are good already, and a third of the time gains most of it.
ROUNDS, ROUNDS_UNLOADED = 6, 2
# What the arithmetic here knows of, among all that a problem may ask for.
_KNOWN = {
    *("asymmetric", "depot", "several_routes", "open_routes", "capacity", "length_limit"),
    "pickup_delivery",
}
# Trials of one round: they take little longer than one alone.
_TRIALS = 16
# Pairs that a trial takes out, at the most.
_MOST_OUT = 10
# How often these are neighbours on the map, and on the tour; else they are any.
_NEAR, _NEXT = 0.5, 0.4
# How far distances are misjudged when neighbours are chosen.
_NOISE = 0.5
# Arcs are passed over now and then.
_BLINK = 0.02
# A worse plan is gone on with up to such a part of what a customer costs, at first and in the end.
_HOT, _COLD = 1.0, 0.2


class Places(NamedTuple):
    """Where a pair comes into each of B tours, in arcs counted from 0, and what it adds."""

    extra: np.ndarray  # (B,), inf where nowhere is legal
    pickup: np.ndarray  # (B,)
    delivery: np.ndarray  # (B,)


def has_plain_pairs(problem: Problem) -> bool:
    """Whether customers are in pairs, and only room on board and length limit the routes."""
    return bool(problem.pairs) and asks_only_for(problem, _KNOWN)


def rearrange(
    solution: Solution,
    progress: Callable[[int], float] | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
) -> Solution:
    """A cheaper plan of plain pairs, or the same where none is found or somebody is left out.

    Parameters
    ----------
    progress
        Part of the work that is done after so many rounds; at 1 the search is over. By default
        there are ``ROUNDS`` for each customer, ``ROUNDS_UNLOADED`` where room is not limited.
    watch
        Told the cost whenever the plan gets better.
    """
    problem = solution.plan.problem
    if not solution.feasible:
        return solution
    each = ROUNDS if problem.inferred_features.capacity else ROUNDS_UNLOADED

    def by_rounds(done: int) -> float:
        return done / (each * len(problem.customers))

    roads = Roads(problem)
    tours, draws = Tours(roads), np.random.default_rng(seed)
    search = _Search(tours, problem, progress or by_rounds, draws, watch)
    best = search.run(tours.read(roads.read(solution)))
    found = roads.judged_plan(tours.written(best))
    return found if found.feasible and found.cost < solution.cost else solution


def cheapest_places(
    length: np.ndarray,
    tours: np.ndarray,
    pairs: np.ndarray,
    free: np.ndarray,
    spare: np.ndarray | None = None,
) -> Places:
    """The places that add least, where pickup and delivery are on one route.

    Parameters
    ----------
    length, tours, pairs
        (N, N), (B, L) and (B, 2); each tour begins at the depot.
    free
        (B, L - 1) arcs on which there is room for the load of the pair.
    spare
        (B, L - 1) by how much the route of each arc may get longer.
    """
    size, flat = len(length), length.ravel()
    before, after = size * tours[:, :-1], tours[:, 1:]  # (B, L - 1)
    pickup, delivery = pairs[:, :1], pairs[:, 1:]  # (B, 1)
    arcs = flat.take(before + after)
    start = flat.take(before + pickup) - arcs
    end = flat.take(size * delivery + after)
    alone = start + flat.take(size * pickup + after)  # a pickup on an arc
    later = flat.take(before + delivery) - arcs + end  # a delivery on an arc
    together = start + flat.take(size * pickup + delivery) + end  # both on the same
    # The best arc for the pickup ahead of each arc, out of those from which there is room all the
    # way and no depot between: each such run lies so much lower than the one ahead of it that the
    # least of all so far is the least of the run.
    deep = 10.0 * (float(flat.max()) or 1.0)
    starts = (tours[:, :-1] == tours[:, :1]) | ~free
    depth = deep * np.cumsum(starts, axis=1)
    lowered = np.where(free, alone, 0.5 * deep) - depth
    least = np.minimum.accumulate(lowered, axis=1)
    extra = together.copy()
    np.minimum(extra[:, 1:], later[:, 1:] + (least[:, :-1] + depth[:, 1:]), out=extra[:, 1:])
    extra[~free] = np.inf
    if spare is not None:
        extra[extra > spare] = np.inf
    rows, place = np.arange(len(tours)), extra.argmin(axis=1)  # (B,)
    ahead = (lowered == least[rows, place - 1, None]).argmax(axis=1)
    best = extra[rows, place]
    return Places(best, np.where(best < together[rows, place], ahead, place), place)


def with_pairs(tours: np.ndarray, pairs: np.ndarray, places: Places) -> np.ndarray:
    """(B, L + 2) each tour with one more pair."""
    count, length = tours.shape
    rows, at = np.arange(count), np.arange(length + 2)
    pickup, delivery = places.pickup + 1, places.delivery + 2  # (B,) where they are then
    source = at - (at >= pickup[:, None]) - (at >= delivery[:, None])
    longer = tours.take(source + length * rows[:, None])
    longer[rows, pickup], longer[rows, delivery] = pairs[:, 0], pairs[:, 1]
    return longer


class Tours:
    """The plans of a problem as tours: what they cost, and where a pair may come in."""

    def __init__(self, roads: Roads) -> None:
        problem = roads.problem
        (terms,) = problem.fleet
        self.depot = terms.start
        self.length = roads.length[:-1, :-1].copy()  # (N, N)
        if terms.end is None:
            self.length[:, self.depot] = 0.0
        self.length[self.depot] += terms.fixed_cost
        self.length[self.depot, self.depot] = 0.0
        self.dust = 1e-2 * problem.length_tolerance
        self._limit = terms.max_length + terms.fixed_cost + self.dust
        limited = np.isfinite(roads.room[0])
        self._room = roads.room[0][limited]  # (D,)
        self._taken = -problem.loads.T[limited]  # (D, N) what comes on board at each stop
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

    def costs(self, tours: np.ndarray) -> np.ndarray:
        """(B,) lengths and fixed costs."""
        return self.length[tours[:, :-1], tours[:, 1:]].sum(axis=1)

    def places(self, tours: np.ndarray, pairs: np.ndarray, seen: np.ndarray) -> Places:
        """The cheapest legal places for a pair in each tour, out of the arcs that are seen.

        Shapes as in ``cheapest_places``.
        """
        free = seen.copy()
        for taken, room in zip(self._taken, self._room, strict=True):
            on_board = np.cumsum(taken.take(tours[:, :-1]), axis=1)
            free &= on_board <= room - taken.take(pairs[:, :1])
        return cheapest_places(self.length, tours, pairs, free, self._spare(tours))

    def _spare(self, tours: np.ndarray) -> np.ndarray | None:
        """(B, L - 1) by how much the route of each arc may get longer; None for any length."""
        if np.isinf(self._limit):
            return None
        arcs = self.length[tours[:, :-1], tours[:, 1:]]
        route = np.cumsum(tours[:, :-1] == self.depot).reshape(arcs.shape)  # of all tours
        totals = np.bincount(route.ravel(), weights=arcs.ravel())
        return self._limit - totals[route]


class _Search:
    """The search for a cheaper plan."""

    def __init__(
        self,
        tours: Tours,
        problem: Problem,
        progress: Callable[[int], float],
        draws: np.random.Generator,
        watch: Callable[[float], None] | None,
    ) -> None:
        self._tours, self._progress, self._draws, self._watch = tours, progress, draws, watch
        self._pairs = np.array(problem.pairs)  # (P, 2)
        self._near = tours.length + tours.length.T  # (N, N)

    def run(self, start: np.ndarray) -> np.ndarray:
        """(L,) the best tour found."""
        best = now = start
        least = cost = float(self._tours.costs(start[None])[0])
        done = 0
        while (part := self._progress(done)) < 1.0:
            warmth = _HOT ** (1.0 - part) * _COLD**part * least / (2 * len(self._pairs))
            trials, costs = self._trials(now)
            judged = costs - warmth * self._draws.exponential(size=len(costs))
            chosen = int(judged.argmin())
            if judged[chosen] < cost:
                now, cost = self._tours.tidied(trials[chosen]), float(costs[chosen])
            if cost < least - self._tours.dust:
                best, least = now, cost
                if self._watch is not None:
                    self._watch(least)
            done += 1
        return best

    def _trials(self, tour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, L) the tour with some pairs elsewhere, and (B,) its costs; inf where one is out."""
        out = self._pairs[self._chosen(tour)]  # (B, K, 2)
        stays = np.ones((_TRIALS, len(self._near)), dtype=bool)
        stays[np.arange(_TRIALS)[:, None], out.reshape(_TRIALS, -1)] = False
        trials = np.broadcast_to(tour, (_TRIALS, len(tour)))[stays[:, tour]].reshape(_TRIALS, -1)
        impossible = np.zeros(_TRIALS, dtype=bool)
        for pairs in out.swapaxes(0, 1):  # (B, 2)
            seen = self._draws.random((_TRIALS, trials.shape[1] - 1)) >= _BLINK
            places = self._tours.places(trials, pairs, seen)
            impossible |= np.isinf(places.extra)
            trials = with_pairs(trials, pairs, places)
        return trials, np.where(impossible, np.inf, self._tours.costs(trials))

    def _chosen(self, tour: np.ndarray) -> np.ndarray:
        """(B, K) pairs in any order: neighbours of somebody on the map or on the tour, or any."""
        draws, pairs = self._draws, self._pairs
        centre = draws.choice(pairs.ravel(), _TRIALS)  # (B,)
        place = np.empty(len(self._near))
        place[tour] = np.arange(len(tour))
        way = draws.random((_TRIALS, 1))
        apart = np.where(way < _NEAR, self._near[centre], np.abs(place - place[centre, None]))
        apart[way[:, 0] >= _NEAR + _NEXT] = 1.0
        key = apart[:, pairs].min(axis=2)  # (B, P)
        key *= 1.0 + _NOISE * draws.random(key.shape)
        count = int(draws.integers(min(_MOST_OUT, len(pairs)))) + 1
        nearest = np.argpartition(key, count - 1, axis=1)[:, :count]
        return draws.permuted(nearest, axis=1)
