"""A local search for plans of several routes: customers are taken out and put in again.

Where loads, windows and lengths are all that limits a plan, the best place for a customer is found
by arithmetic along the routes, and the referee need judge the last plan only. A plan never gets
worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import ruin
from spacevrp.solver.regions import divide, put_together
from spacevrp.solver.roads import Roads, asks_only_for
from spacevrp.solver.tours import Tours

# Rounds for each customer in ``solve``: 0.6 s with 100 customers, 1.2 s where there are windows.
# Twice as many gain a tenth more.
ROUNDS = 3
# Times that a large plan is divided into regions, each time otherwise: 14 s with 1,000 customers.
_PASSES = 2
_MANNER = ruin.Manner(most_out=10, hot=0.2, cold=0.1)
# What the arithmetic here knows of, among all that a problem may ask for.
_KNOWN = {
    *("asymmetric", "depot", "several_routes", "open_routes", "capacity", "length_limit"),
    *("time_windows", "backhaul", "backhaul_last"),
}
# How often those farthest from the depot are put in first; else the order is any.
_FAR_FIRST = 0.3
# Places are passed over now and then.
_BLINK = 0.02


def has_plain_stops(problem: Problem) -> bool:
    """Whether loads, windows and lengths are all that limits the routes of one depot."""
    return problem.inferred_features.several_routes and asks_only_for(problem, _KNOWN)


def rebuild(
    solution: Solution,
    progress: Callable[[int], float] | None = None,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
    *,
    deadline: Deadline = NEVER,
    found: Callable[[Solution], object] | None = None,
) -> Solution:
    """A cheaper plan of plain stops, or the same where none is found or somebody is left out.

    Parameters
    ----------
    progress
        Part of the work that is done after so many rounds; at 1 the search is over. By default
        there are ``ROUNDS`` for each customer.
    watch
        Told the cost whenever the plan gets better.
    deadline
        When it is over the best plan so far is taken.
    found
        Told every better plan, judged by the referee.
    """
    return ruin.search_on(
        solution,
        StopPlans,
        _MANNER,
        ROUNDS,
        progress,
        seed,
        watch,
        deadline=deadline,
        found=found,
    )


def rebuild_in_parts(solution: Solution, seed: int = 0, deadline: Deadline = NEVER) -> Solution:
    """The same for large plans, region by region: the work grows like the number of customers."""
    problem = solution.plan.problem
    if not solution.feasible:
        return solution
    for number in range(_PASSES):
        if deadline.over:
            break
        regions = divide(problem, solution, number, seed)
        found = [rebuild(region.old, seed=seed, deadline=deadline) for region in regions]
        solution = put_together(problem, solution, regions, found)
    return solution


class StopPlans(Tours):
    """The plans of a problem: what they cost, and where a customer may come in."""

    def __init__(self, roads: Roads) -> None:
        super().__init__(roads)
        problem, (terms,) = roads.problem, roads.problem.fleet
        features = problem.inferred_features
        self.units = np.array(problem.customers)[:, None]  # (P, 1)
        loads = problem.loads.T  # (D, N) what leaves the vehicle
        limited = np.isfinite(roads.room[0]) & (loads != 0).any(axis=1)
        self.room, self.loads = roads.room[0][limited], loads[limited]
        self.mixed = features.backhaul
        self.separate = problem.load_rule == "separate"
        self.backhaul_last = features.backhaul_last
        self.delivers, self.collects = (
            (problem.loads > 0).any(axis=1),
            (problem.loads < 0).any(axis=1),
        )
        self.windowed = features.time_windows
        if self.windowed:
            dust = 1e-2 * problem.time_tolerance
            ride = problem.durations.matrix()
            # Far, but not so far that times are no numbers any more.
            self.ride = np.where(np.isfinite(ride), ride, float(roads.length.max()))
            self.service = np.array(problem.service)
            self.service[self.depot] = 0.0
            self.opening, self.closing = np.array(problem.windows).T
            self.closing = self.closing + dust
            self.leaves = max(self.opening[self.depot], terms.leaves_from)
            self.back_by = terms.back_by + dust
            if terms.end is None:
                self.ride[:, self.depot] = 0.0
            else:
                self.back_by = min(self.back_by, self.closing[self.depot])

    def trials(self, tour: np.ndarray, out: np.ndarray, draws: np.random.Generator) -> StopTrials:
        """The plan with customers (B, K, 1) elsewhere, put in in that order or far ones first."""
        out = out[:, :, 0]
        if draws.random() < _FAR_FIRST:
            order = (-self.near[self.depot, out]).argsort(axis=1, kind="stable")
            out = np.take_along_axis(out, order, axis=1)
        trials = StopTrials(self, tour, out)
        for customers in out.T:  # (B,)
            trials.put_in(customers, draws)
        return trials


class StopTrials:
    """Several plans at once, as rows of stops.

    Attributes
    ----------
    nodes
        (B, R, M + 2) the depot, the stops of each route, then depots.
    count
        (B, R) stops of each route.
    """

    def __init__(self, plans: StopPlans, tour: np.ndarray, out: np.ndarray) -> None:
        self.plans = plans
        self.rows = np.arange(len(out))  # (B,)
        self.impossible = np.zeros(len(out), dtype=bool)
        at_depot = np.flatnonzero(tour == plans.depot)
        lengths = np.diff(at_depot) - 1  # (R,)
        routes, most = len(lengths), int(lengths.max(initial=0))
        table = np.full((routes, most), plans.depot)
        inside = np.arange(most) < lengths[:, None]
        table[inside] = tour[tour != plans.depot]
        # Who is taken out comes behind all others of the route.
        gone = np.zeros((len(out), len(plans.length)), dtype=bool)
        gone[self.rows[:, None], out] = True
        gone[:, plans.depot] = True
        away = gone[:, table]  # (B, R, most)
        order = away.argsort(axis=2, kind="stable")
        stops = np.where(away, plans.depot, table)
        stops = np.take_along_axis(stops, order, axis=2)
        self.count = most - away.sum(axis=2)
        self.nodes = np.full((len(out), routes, most + 2), plans.depot)
        self.nodes[:, :, 1:-1] = stops

    def put_in(self, customers: np.ndarray, draws: np.random.Generator) -> None:
        """Put one customer (B,) into each plan, where it costs least."""
        plans, nodes = self.plans, self.nodes
        if (self.count == nodes.shape[2] - 2).any():
            nodes = self.nodes = np.pad(
                nodes, ((0, 0), (0, 0), (0, 1)), constant_values=plans.depot
            )
        size, flat = len(plans.length), plans.length.ravel()
        before, after = nodes[:, :, :-1], nodes[:, :, 1:]  # (B, R, M + 1) of each arc
        new = customers[:, None, None]
        arcs = flat.take(size * before + after)
        extra = flat.take(size * before + new) + flat.take(size * new + after) - arcs
        place = np.arange(before.shape[2])
        illegal = (place > self.count[:, :, None]) | (draws.random(extra.shape) < _BLINK)
        if plans.limit < np.inf:
            illegal |= extra > (plans.limit - arcs.sum(axis=2))[:, :, None]
        illegal |= self._overloads(customers)
        if plans.backhaul_last:
            illegal |= self._out_of_turn(customers)
        if plans.windowed:
            illegal |= self._comes_late(customers)
        extra[illegal] = np.inf
        best = extra.reshape(len(nodes), -1).argmin(axis=1)
        route, arc = np.divmod(best, extra.shape[2])
        self.impossible |= np.isinf(extra[self.rows, route, arc])
        chosen = nodes[self.rows, route]  # (B, M + 2)
        columns = np.arange(nodes.shape[2])
        moved = np.take_along_axis(chosen, columns - (columns > arc[:, None] + 1), axis=1)
        moved[self.rows, arc + 1] = customers
        nodes[self.rows, route] = moved
        self.count[self.rows, route] += 1

    def _overloads(self, customers: np.ndarray) -> np.ndarray:
        """(B, R, M + 1) or (B, R, 1): places where a customer is too much for the vehicle."""
        plans, before = self.plans, self.nodes[:, :, :-1]
        found = np.zeros((*self.count.shape, 1), dtype=bool)
        for loads, room in zip(plans.loads, plans.room, strict=True):
            own, there = loads[customers][:, None, None], loads.take(before)  # there[..., 0] is 0
            if not plans.mixed:
                found |= there.sum(axis=2, keepdims=True) + own > room
                continue
            if not plans.separate:
                # The vehicle leaves with as much as suits it: what it needs is the range of sums.
                sums = np.cumsum(there, axis=2)
                most = np.maximum.accumulate(sums, axis=2)
                least = np.minimum.accumulate(sums, axis=2)
                most_later = _from_behind(np.maximum, sums)
                least_later = _from_behind(np.minimum, sums)
                high = np.maximum(most, most_later + own)
                low = np.minimum(least, least_later + own)
                found = found | (high - low > room)
            else:
                # It leaves with all that it delivers, and keeps what it collects.
                delivered, collected = np.maximum(there, 0.0), np.maximum(-there, 0.0)
                board = delivered.sum(axis=2, keepdims=True) - np.cumsum(delivered, axis=2)
                board = board + np.cumsum(collected, axis=2)  # on each arc
                ahead = np.maximum.accumulate(board, axis=2)
                later = _from_behind(np.maximum, board)
                found = found | (np.where(own > 0, ahead, later) + np.abs(own) > room)
        return found

    def _out_of_turn(self, customers: np.ndarray) -> np.ndarray:
        """(B, R, M + 1) places behind a backhaul for a linehaul, or ahead of one for a backhaul."""
        plans, before = self.plans, self.nodes[:, :, :-1]
        collected, delivered = plans.collects.take(before), plans.delivers.take(before)
        behind = np.logical_or.accumulate(collected, axis=2)
        ahead = np.cumsum(delivered, axis=2) < delivered.sum(axis=2, keepdims=True)
        new = customers[:, None, None]
        return (plans.delivers.take(new) & behind) | (plans.collects.take(new) & ahead)

    def _comes_late(self, customers: np.ndarray) -> np.ndarray:
        """(B, R, M + 1) places where a customer, or somebody behind, would be served too late."""
        plans, nodes = self.plans, self.nodes
        size, flat = len(plans.ride), plans.ride.ravel()
        before, after = nodes[:, :, :-1], nodes[:, :, 1:]
        ride = flat.take(size * before + after)
        opening, service = plans.opening.take(before), plans.service.take(before)
        closing = plans.closing.take(after)
        ready = np.empty(before.shape)  # when it can leave each place
        latest = np.empty(before.shape)  # when it must be at the next, at the latest
        now = np.full(before.shape[:2], plans.leaves)
        ready[:, :, 0] = now
        for k in range(1, before.shape[2]):
            now = np.maximum(now + ride[:, :, k - 1], opening[:, :, k]) + service[:, :, k]
            ready[:, :, k] = now
        must = np.full(before.shape[:2], plans.back_by)
        latest[:, :, -1] = must
        for k in range(before.shape[2] - 2, -1, -1):
            must = np.minimum(closing[:, :, k], must - ride[:, :, k + 1] - service[:, :, k + 1])
            # Behind the last stop there is only the depot.
            must = np.where(k >= self.count, plans.back_by, must)
            latest[:, :, k] = must
        new = customers[:, None, None]
        arrival = ready + flat.take(size * before + new)
        begin = np.maximum(arrival, plans.opening.take(new))
        onward = begin + plans.service.take(new) + flat.take(size * new + after)
        return (arrival > plans.closing.take(new)) | (onward > latest)

    @property
    def costs(self) -> np.ndarray:
        """(B,), inf where somebody found no place."""
        flat, size = self.plans.length.ravel(), len(self.plans.length)
        arcs = flat.take(size * self.nodes[:, :, :-1] + self.nodes[:, :, 1:])
        return np.where(self.impossible, np.inf, arcs.sum(axis=(1, 2)))

    def tour(self, number: int) -> np.ndarray:
        """(L,) one of the plans."""
        return self.plans.tidied(np.append(self.nodes[number, :, :-1], self.plans.depot))


def _from_behind(least_or_most: np.ufunc, values: np.ndarray) -> np.ndarray:
    """The same sum or maximum of all from each place on."""
    return least_or_most.accumulate(values[:, :, ::-1], axis=2)[:, :, ::-1]
