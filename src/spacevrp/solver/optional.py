"""Who is worth a visit: customers that cost more than their penalty are left out, others put in.

Fleets are planned as if everybody had to be served. What that costs is known only when the routes
are, so the decision is made afterwards, one change at a time, always the one that saves most. Every
change is judged by the referee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge, judge_route
from spacevrp.problems.solution import Solution

Stops = list[int]

# With more customers, to weigh every visit would take much longer than to plan them.
_MOST_WEIGHED = 1000


def weighed(problem: Problem, solution: Solution, deadline: Deadline = NEVER) -> Solution:
    """A plan of one vehicle with the right customers on it; the old one if that is better."""
    if len(problem.customers) > _MOST_WEIGHED:
        return solution
    (terms,) = problem.fleet
    depots = set(problem.depots)
    stops = [[node for node in route if node not in depots] for route in solution.routes]
    # Nobody knows the real prizes when the plan is made.
    known = problem if problem.revealed_prize is None else problem.replace(revealed_prize=None)
    routes = weigh_visits(known, [(route, terms) for route in stops], deadline)
    better = Solution.judged(problem, [around(stops, terms) for stops, terms in routes])
    return better if better.feasible and better.cost < solution.cost else solution


def weigh_visits(
    problem: Problem, routes: Sequence[tuple[Stops, Terms]], deadline: Deadline = NEVER
) -> list[tuple[Stops, Terms]]:
    """The routes (customers and vehicle) with the right customers left out and put in."""
    plan = _Plan(problem, [(list(stops), terms) for stops, terms in routes], deadline)
    while not deadline.over and plan.improve():
        pass
    return [(stops, terms) for stops, terms in plan.routes if stops]


def _best_first(saved: np.ndarray, least: float) -> Iterator[int]:
    """Where more than the least is saved, most first; most often the first will do."""
    best = int(saved.argmax())
    if saved[best] <= least:
        return
    yield best
    for entry in np.argsort(-saved, kind="stable").tolist():
        if saved[entry] <= least:
            return
        if entry != best:
            yield entry


_Made = tuple[int, Stops, Terms]  # number of the route, its stops, its vehicle


@dataclass(frozen=True)
class _Changes:
    """Changes of one kind: what each saves, and the route that the one at a place makes."""

    saved: np.ndarray
    made: Callable[[tuple[int, ...]], _Made]


def _without(number: int, stops: Stops, terms: Terms, at: Sequence[int]) -> _Made:
    (place,) = at
    return number, [*stops[:place], *stops[place + 1 :]], terms


def _empty(number: int, terms: Terms, at: Sequence[int]) -> _Made:
    return number, [], terms


def _with_one_more(
    number: int, stops: Stops, terms: Terms, left: Sequence[int], at: Sequence[int]
) -> _Made:
    place = len(terms.pinned) + at[0]
    return number, [*stops[:place], left[at[1]], *stops[place:]], terms


class _Plan:
    """Routes on which single visits come and go."""

    def __init__(
        self, problem: Problem, routes: list[tuple[Stops, Terms]], deadline: Deadline = NEVER
    ) -> None:
        self.problem, self.routes, self._deadline = problem, routes, deadline
        self._length = problem.distances.matrix()
        # Pairs come and go together, and pins stay.
        pinned = {node for terms in problem.fleet for node in terms.pinned}
        self.optional = {
            node
            for node in problem.customers
            if math.isfinite(problem.penalty[node]) and node not in pinned
        }
        if problem.pairs:
            self.optional = set()

    def improve(self) -> bool:
        """Make the change that saves most; False where none saves anything."""
        changes = [*self._removals(), *self._insertions()]
        if not changes:
            return False
        saved = np.concatenate([change.saved.ravel() for change in changes])
        ends = np.cumsum([change.saved.size for change in changes])
        dust = 1e-12 * max(1.0, self.problem.unit)
        for entry in _best_first(saved, dust):
            if self._deadline.over:
                break
            which = int(np.searchsorted(ends, entry, side="right"))
            change = changes[which]
            place = entry - (ends[which] - change.saved.size)
            at = tuple(int(i) for i in np.unravel_index(place, change.saved.shape))
            number, stops, terms = change.made(at)
            if not self._is_legal(number, stops, terms):
                continue
            if number == len(self.routes):
                self.routes.append((stops, terms))
            else:
                self.routes[number] = (stops, terms)
            return True
        return False

    def _is_legal(self, number: int, stops: Stops, terms: Terms) -> bool:
        if stops:
            _, faults = judge_route(self.problem, 1, around(stops, terms), terms)
            if faults:
                return False
        if self.problem.min_prize <= 0:
            return True
        after = [*self.routes]
        after[number : number + 1] = [(stops, terms)]
        plan = [around(stops, terms) for stops, terms in after if stops]
        return all(v.code != "prize" for v in judge(self.problem, plan).violations)

    def _cost(self, stops: Stops, terms: Terms) -> float:
        if not stops:
            return 0.0
        nodes = list(around(stops, terms))
        return terms.fixed_cost + float(self._length[nodes[:-1], nodes[1:]].sum())

    def _removals(self) -> Iterator[_Changes]:
        """Every route without one of its stops, or without all."""
        penalty = self.problem.penalty
        for number, (stops, terms) in enumerate(self.routes):
            free = np.array([node in self.optional for node in stops], dtype=bool)
            if len(stops) > 1 and free.any():
                saved = np.where(free, self._detours(stops, terms) - penalty[stops], -np.inf)
                yield _Changes(saved, partial(_without, number, stops, terms))
            if stops and free.all():
                whole = self._cost(stops, terms) - float(penalty[stops].sum())
                yield _Changes(np.array([whole]), partial(_empty, number, terms))

    def _detours(self, stops: Stops, terms: Terms) -> np.ndarray:
        """By how much a route of several stops gets shorter without each of them, (S,)."""
        nodes = np.array(around(stops, terms))
        here = nodes[1 : 1 + len(stops)]
        saved = self._length[nodes[: len(stops)], here]
        onward = np.zeros(len(stops))  # nothing after the end of an open route
        after = nodes[2 : 2 + len(stops)]
        legs = len(after)
        onward[:legs] = self._length[here[:legs], after] - self._length[nodes[:legs], after]
        return saved + onward

    def _insertions(self) -> Iterator[_Changes]:
        """One more in every place of each route, or in a route of his own."""
        penalty, length = self.problem.penalty, self._length
        served = {node for stops, _ in self.routes for node in stops}
        left = [node for node in sorted(self.optional) if node not in served]
        if not left:
            return
        for number, (stops, terms) in enumerate(self.routes):
            if not stops:
                continue
            nodes = np.array(around(stops, terms))
            more = length[nodes][:, left]  # (S, L) after each stop
            direct = length[nodes[:-1], nodes[1:]]
            more[:-1] += length[left][:, nodes[1:]].T - direct[:, None]
            # After the end of a closed route comes nobody, nor before the pinned.
            last = len(nodes) if terms.end is None else len(nodes) - 1
            places = slice(len(terms.pinned), last)
            made = partial(_with_one_more, number, stops, terms, left)
            yield _Changes(penalty[left] - more[places], made)
        for terms in self._waiting():
            saved = [float(penalty[node]) - self._cost([node], terms) for node in left]
            made = partial(_with_one_more, len(self.routes), [], terms, left)
            yield _Changes(np.array([saved]), made)

    def _waiting(self) -> list[Terms]:
        """Types of which another vehicle may leave."""
        problem = self.problem
        driven = [terms.number for stops, terms in self.routes if stops]
        if problem.max_routes is not None and len(driven) >= problem.max_routes:
            return []
        return [
            terms
            for terms in problem.fleet
            if (terms.count is None or driven.count(terms.number) < terms.count)
            and not terms.pinned
        ]
