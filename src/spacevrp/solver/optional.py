"""Who is worth a visit: customers that cost more than their penalty are left out, others put in.

The model serves everybody it can. What that costs is known only when the routes are, so the
decision is made afterwards, one change at a time, always the one that saves most. Every change is
judged by the referee.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import around, judge, judge_route

Stops = list[int]


def weigh_visits(
    problem: Problem, routes: Sequence[tuple[Stops, Terms]]
) -> list[tuple[Stops, Terms]]:
    """The routes (customers and vehicle) with the right customers left out and put in."""
    plan = _Plan(problem, [(list(stops), terms) for stops, terms in routes])
    while plan.improve():
        pass
    return [(stops, terms) for stops, terms in plan.routes if stops]


class _Plan:
    """Routes on which single visits come and go."""

    def __init__(self, problem: Problem, routes: list[tuple[Stops, Terms]]) -> None:
        self.problem, self.routes = problem, routes
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
        dust = 1e-12 * max(1.0, self.problem.unit)
        for saved, number, stops, terms in sorted(changes, key=lambda one: -one[0]):
            if saved <= dust:
                return False
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

    def _removals(self) -> Iterator[tuple[float, int, Stops, Terms]]:
        """(saving, number of the route, its stops, its vehicle) without one stop, or all."""
        penalty = self.problem.penalty
        for number, (stops, terms) in enumerate(self.routes):
            whole = self._cost(stops, terms)
            for place, node in enumerate(stops):
                if node in self.optional:
                    rest = [*stops[:place], *stops[place + 1 :]]
                    saved = whole - self._cost(rest, terms) - float(penalty[node])
                    if saved > 0:
                        yield saved, number, rest, terms
            if stops and self.optional.issuperset(stops):
                yield whole - float(penalty[stops].sum()), number, [], terms

    def _insertions(self) -> Iterator[tuple[float, int, Stops, Terms]]:
        """The same with one more, in the cheapest places of each route, or in a new one."""
        penalty, length = self.problem.penalty, self._length
        served = {node for stops, _ in self.routes for node in stops}
        left = [node for node in self.optional if node not in served]
        if not left:
            return
        for number, (stops, terms) in enumerate(self.routes):
            if not stops:
                continue
            nodes = list(around(stops, terms))
            for node in left:
                more = length[nodes, node]  # (S,) after each stop
                onward = length[node, nodes[1:]] - length[nodes[:-1], nodes[1:]]
                more = more + np.append(onward, 0.0)
                # After the end of a closed route comes nobody, nor before the pinned.
                last = len(nodes) if terms.end is None else len(nodes) - 1
                for place in range(len(terms.pinned), last):
                    saved = float(penalty[node] - more[place])
                    if saved > 0:
                        yield saved, number, [*stops[:place], node, *stops[place:]], terms
        for terms in self._waiting():
            for node in left:
                saved = float(penalty[node]) - self._cost([node], terms)
                if saved > 0:
                    yield saved, len(self.routes), [node], terms

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
