"""A local search for orienteering: one route, as much prize on it as its length allows.

Where nothing but the length limits the route, a few arcs tell whether a change is legal, so all
customers outside are tried in all places at once, and the referee need judge the last plan only. A
route is made shorter; whoever then has room comes in, most prize for the extra length first;
somebody outside takes the place of others who have less. When nothing helps any more, some are
taken out or brought in by force, and all begins anew. A plan never gets worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.moves import moves_within
from spacevrp.solver.roads import Roads, Route, Stops, asks_only_for

# How often ``solve`` shakes a plan: 0.15 s with 100 customers. Three times as many find another
# 0.1% where distances are symmetric, and 2% where they are not.
SHAKES = 60
# What the arithmetic here knows of, among all that a problem may ask for.
_KNOWN = {"asymmetric", "depot", "multi_depot", "open_routes", "length_limit", "orienteering"}
# Stops in a row that a shake takes out, or else customers that it brings in, and how often.
_FEWEST_OUT, _MOST_OUT = 3, 12
_MOST_IN, _OFTEN_IN = 4, 0.25
# How far prizes are misjudged when a shaken route is filled again, so that others come in.
_NOISE = 0.8
# Sums of prizes that differ by less than such a part of all prizes are the same.
_SAME = 1e-9


def is_plain_orienteering(problem: Problem) -> bool:
    """Whether the prize is all that counts, and the length of one route all that limits it."""
    return (
        problem.maximise_prize
        and asks_only_for(problem, _KNOWN)
        and problem.min_prize <= 0
        and bool(np.isfinite(problem.penalty[list(problem.customers)]).all())
    )


def collect(
    solution: Solution,
    progress: Callable[[int], float] = lambda done: done / (SHAKES + 1),
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
    *,
    deadline: Deadline = NEVER,
    found: Callable[[Solution], object] | None = None,
) -> Solution:
    """A legal plan of plain orienteering with more prize, or the same plan where none is found.

    Parameters
    ----------
    progress
        Part of the work that is done after so many shakes; at 1 the search is over.
    watch
        Told the cost whenever the plan gets better.
    deadline
        When it is over the best plan so far is taken.
    found
        Told every better plan, judged by the referee.
    """
    roads = Roads(solution.plan.problem)
    start = roads.read(solution)

    def tell(stops: Stops) -> None:
        better = roads.judged_plan([Route(0, stops)])
        if found is not None and better.feasible and better.cost < solution.cost:
            found(better)

    hear = None if found is None else tell
    bounded = deadline.bound(progress)
    search = _Search(roads, bounded, np.random.default_rng(seed), watch, hear)
    stops = search.run(start[0].stops if start else ())
    last = roads.judged_plan([Route(0, stops)])
    return last if last.feasible and last.cost < solution.cost else solution


def insertions(length: np.ndarray, nodes: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """(S + 1, O) what each customer outside adds to each arc of a route with S stops."""
    before, after = nodes[:-1, None], nodes[1:, None]
    return length[before, outside] + length[outside, after] - length[before, after]


def replacements(length: np.ndarray, nodes: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """(S, O) what a route adds with each customer outside instead of each of its S stops.

    Whoever comes in goes where that adds least, be it there or anywhere else.
    """
    before, stops, after = nodes[:-2, None], nodes[1:-1, None], nodes[2:, None]
    direct = length[before, after]  # (S, 1)
    saved = length[before, stops] + length[stops, after] - direct
    extra = length[before, outside] + length[outside, after] - direct  # (S, O) there
    # The least of all arcs ahead of the stop, and of all behind it: not the two that go with it.
    elsewhere = insertions(length, nodes, outside)  # (S + 1, O)
    ahead = np.minimum.accumulate(elsewhere, axis=0)
    behind = np.minimum.accumulate(elsewhere[::-1], axis=0)[::-1]
    extra[1:] = np.minimum(extra[1:], ahead[:-2])
    extra[:-1] = np.minimum(extra[:-1], behind[2:])
    return extra - saved


class _Search:
    """The search for a route with more prize."""

    def __init__(
        self,
        roads: Roads,
        progress: Callable[[int], float],
        draws: np.random.Generator,
        watch: Callable[[float], None] | None,
        hear: Callable[[Stops], None] | None,
    ) -> None:
        problem = roads.problem
        self._hear = hear
        (terms,) = problem.fleet
        self._roads, self._length, self._prize = roads, roads.length, problem.prize
        self._progress, self._draws, self._watch = progress, draws, watch
        self._done = 0  # shakes
        self._worth = np.array([v for v in problem.customers if problem.prize[v] > 0], dtype=int)
        self._same = _SAME * float(problem.prize.sum())
        self._dust = 1e-2 * problem.length_tolerance
        # No route is as long as an arc that does not exist, however generous the limit is.
        matrix = problem.distances.matrix()
        longest = float(matrix[np.isfinite(matrix)].max(initial=0.0)) * (problem.size + 1)
        self._limit = min(terms.max_length, longest) + self._dust

    @property
    def _over(self) -> bool:
        return self._progress(self._done) >= 1.0

    def run(self, stops: Stops) -> Stops:
        """The stops of the best route found."""
        best = now = stops
        trial = self._descended(stops)
        while True:
            prize = self._collected(trial)
            if prize > self._collected(best) + self._same:
                best = trial
                if self._watch is not None:
                    self._watch(-prize)
                if self._hear is not None:
                    self._hear(best)
            # One that is as good is gone on with: it may lead to where the old one does not.
            if prize >= self._collected(now) - self._same:
                now = trial
            self._done += 1
            if self._over or not len(self._outside(best)):
                return best
            trial = self._descended(self._shaken(now))

    def _collected(self, stops: Stops) -> float:
        return float(self._prize[list(stops)].sum())

    def _nodes(self, stops: Stops) -> np.ndarray:
        return self._roads.nodes(Route(0, stops))

    def _room(self, nodes: np.ndarray) -> float:
        """By how much a route may still get longer."""
        return self._limit - float(self._length[nodes[:-1], nodes[1:]].sum())

    def _outside(self, stops: Stops) -> np.ndarray:
        """(O,) customers with a prize who are not on the route."""
        free = np.ones(len(self._prize), dtype=bool)
        free[list(stops)] = False
        return self._worth[free[self._worth]]

    # ----------------------------------------------------------------------------------- the moves

    def _descended(self, stops: Stops) -> Stops:
        """The route when nothing helps any more, or the time is up."""
        while not self._over:
            stops = self._filled(stops)
            better = self._exchanged(stops)
            if better is None:
                better = self._shortened(stops)
                if better == stops:
                    break
            stops = better
        return stops

    def _shortened(self, stops: Stops) -> Stops:
        """The same customers in a better order."""
        while not self._over:
            move = next(moves_within(self._roads, Route(0, stops), self._dust), None)
            if move is None:
                break
            stops = move.first.stops
        return stops

    def _filled(self, stops: Stops, noise: float = 0.0) -> Stops:
        """Whoever has room comes in, most prize for the extra length first."""
        outside = self._outside(stops)
        prize = self._prize[outside] * np.exp(noise * self._draws.standard_normal(len(outside)))
        while len(outside) and not self._over:
            nodes = self._nodes(stops)
            extra = insertions(self._length, nodes, outside)
            place = extra.argmin(axis=0)  # (O,)
            extra = extra.min(axis=0)
            rate = np.where(extra <= self._room(nodes), prize / np.maximum(extra, self._dust), 0.0)
            chosen = int(rate.argmax())
            if rate[chosen] <= 0:
                break
            at = int(place[chosen])
            stops = (*stops[:at], int(outside[chosen]), *stops[at:])
            outside, prize = np.delete(outside, chosen), np.delete(prize, chosen)
        return stops

    def _exchanged(self, stops: Stops) -> Stops | None:
        """Somebody outside instead of another: more prize, or as much on a shorter route."""
        outside, nodes = self._outside(stops), self._nodes(stops)
        if not len(outside) or not stops:
            return None
        extra = replacements(self._length, nodes, outside)  # (S, O)
        gain = self._prize[outside] - self._prize[nodes[1:-1], None]
        gain = np.where(extra <= self._room(nodes), gain, -np.inf)
        best = int(gain.argmax())
        if gain.flat[best] <= self._same:
            extra = np.where(gain >= -self._same, extra, np.inf)
            best = int(extra.argmin())
            if extra.flat[best] >= -self._dust:
                return None
        at, chosen = divmod(best, len(outside))
        return self._with(stops[:at] + stops[at + 1 :], int(outside[chosen]))

    def _with(self, stops: Stops, customer: int) -> Stops:
        """One more where that adds least."""
        extra = insertions(self._length, self._nodes(stops), np.array([customer]))
        at = int(extra.argmin())
        return (*stops[:at], customer, *stops[at:])

    # ---------------------------------------------------------------------------------- the shakes

    def _shaken(self, stops: Stops) -> Stops:
        """Some stops in a row are taken out, or some from outside are brought in by force."""
        outside = self._outside(stops)
        if len(outside) and self._draws.random() < _OFTEN_IN:
            return self._forced(stops, outside)
        count = int(self._draws.integers(_FEWEST_OUT, _MOST_OUT + 1))
        at = int(self._draws.integers(max(len(stops) - count, 0) + 1))
        return self._filled(stops[:at] + stops[at + count :], _NOISE)

    def _forced(self, stops: Stops, outside: np.ndarray) -> Stops:
        """Neighbours from outside come in, and others go until the route is short enough."""
        centre = outside[self._draws.integers(len(outside))]
        distance = self._length[centre, outside] + self._length[outside, centre]
        count = int(self._draws.integers(1, _MOST_IN + 1))
        new = outside[np.argsort(distance, kind="stable")[:count]].tolist()
        for customer in new:
            stops = self._with(stops, customer)
        stops = self._shortened(stops)
        while stops:
            nodes = self._nodes(stops)
            if self._room(nodes) >= 0:
                break
            here = nodes[1:-1]
            saved = self._length[nodes[:-2], here] + self._length[here, nodes[2:]]
            saved -= self._length[nodes[:-2], nodes[2:]]
            rate = self._prize[here] / np.maximum(saved, self._dust)
            # Those who were brought in go last.
            at = int(np.lexsort((rate, np.isin(here, new)))[0])
            stops = stops[:at] + stops[at + 1 :]
        return stops
