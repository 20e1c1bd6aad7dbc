"""A local search for pickups and deliveries in pairs: some are taken out and put in again.

Where room on board and the length of routes are all that limits a plan, the best places for a pair
are found by arithmetic along the routes, and the referee need judge the last plan only. A plan
never gets worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import ruin
from spacevrp.solver.roads import Roads, asks_only_for
from spacevrp.solver.tours import Tours

# Rounds for each customer in ``solve``: 1 s with 100 customers, 3 s with 200. Without loads, as the
# model has learned pairs, its plans are good already, and a third of the time gains most of it.
ROUNDS, ROUNDS_UNLOADED = 6, 2
# What the arithmetic here knows of, among all that a problem may ask for.
_KNOWN = {
    *("asymmetric", "depot", "several_routes", "open_routes", "capacity", "length_limit"),
    "pickup_delivery",
}
_MANNER = ruin.Manner(most_out=10, hot=1.0, cold=0.2)
# Arcs are passed over now and then.
_BLINK = 0.02


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
    *,
    deadline: Deadline = NEVER,
    found: Callable[[Solution], object] | None = None,
) -> Solution:
    """A cheaper plan of plain pairs, or the same where none is found or somebody is left out.

    Parameters
    ----------
    progress
        Part of the work that is done after so many rounds; at 1 the search is over. By default
        there are ``ROUNDS`` for each customer, ``ROUNDS_UNLOADED`` where room is not limited.
    watch
        Told the cost whenever the plan gets better.
    deadline
        When it is over the best plan so far is taken.
    found
        Told every better plan, judged by the referee.
    """
    loaded = solution.plan.problem.inferred_features.capacity
    each = ROUNDS if loaded else ROUNDS_UNLOADED
    return ruin.search_on(
        solution,
        PairPlans,
        _MANNER,
        each,
        progress,
        seed,
        watch,
        deadline=deadline,
        found=found,
    )


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


class PairPlans(Tours):
    """The plans of a problem: what they cost, and where a pair may come in."""

    def __init__(self, roads: Roads) -> None:
        super().__init__(roads)
        problem = roads.problem
        self.units = np.array(problem.pairs)  # (P, 2)
        limited = np.isfinite(roads.room[0])
        self._room = roads.room[0][limited]  # (D,)
        self._taken = -problem.loads.T[limited]  # (D, N) what comes on board at each stop

    def trials(self, tour: np.ndarray, out: np.ndarray, draws: np.random.Generator) -> PairTrials:
        """The plan with pairs (B, K, 2) elsewhere, put in in that order."""
        count = len(out)
        stays = np.ones((count, len(self.near)), dtype=bool)
        stays[np.arange(count)[:, None], out.reshape(count, -1)] = False
        tours = np.broadcast_to(tour, (count, len(tour)))[stays[:, tour]].reshape(count, -1)
        impossible = np.zeros(count, dtype=bool)
        for pairs in out.swapaxes(0, 1):  # (B, 2)
            seen = draws.random((count, tours.shape[1] - 1)) >= _BLINK
            places = self.places(tours, pairs, seen)
            impossible |= np.isinf(places.extra)
            tours = with_pairs(tours, pairs, places)
        costs = self.length[tours[:, :-1], tours[:, 1:]].sum(axis=1)
        return PairTrials(self, tours, np.where(impossible, np.inf, costs))

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
        if np.isinf(self.limit):
            return None
        arcs = self.length[tours[:, :-1], tours[:, 1:]]
        route = np.cumsum(tours[:, :-1] == self.depot).reshape(arcs.shape)  # of all tours
        totals = np.bincount(route.ravel(), weights=arcs.ravel())
        return self.limit - totals[route]


@dataclass(frozen=True)
class PairTrials:
    """What became of a plan in several trials."""

    plans: PairPlans
    tours: np.ndarray  # (B, L)
    costs: np.ndarray  # (B,) inf where a pair found no place

    def tour(self, number: int) -> np.ndarray:
        """(L,) one of them."""
        return self.plans.tidied(self.tours[number])
