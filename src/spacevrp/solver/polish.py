"""A local search in which the referee judges every route, so that it holds for every constraint.

A plan is improved by moves as long as one helps: customers go elsewhere, change places or turn
round, routes exchange their ends, are joined or split, take another vehicle, and whoever is left
out comes in where that pays. Then some customers are taken out and put in again where it costs
least, and the moves begin anew. What is better: to serve more, then more of a prize that is
required, then to cost less. A plan never gets worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline, Progress
from spacevrp.problems.familiar import needs_fleet_rules
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.draft import Draft, Value
from spacevrp.solver.loops import is_plain_loop, shorten
from spacevrp.solver.moves import moves_between, moves_within
from spacevrp.solver.orienteering import collect, is_plain_orienteering
from spacevrp.solver.pairs import has_plain_pairs, rearrange
from spacevrp.solver.partial import better_of
from spacevrp.solver.roads import Roads, Route, Stops
from spacevrp.solver.stops import has_plain_stops, rebuild, rebuild_in_parts

# Customers up to which every plan of ``solve`` is polished, and how often it is shaken: then it is
# within 0.01% of what more shakes find, after 20 to 90 ms.
MOST_CUSTOMERS, SHAKES = 10, 20
# Customers up to which plans are polished, without shakes, that the model was not trained to make
# (fleets 2 to 8% cheaper, and 15% more time), or that have one route, of which nothing is planned
# anew. Orienteering, pairs, plain stops and plain loops have searches of their own, the last two
# for large plans, too.
MOST_UNSHAKEN = 200
# Nodes up to which all lengths are held at once.
MOST_NODES = 2_000
# Customers taken out at a time, at the most.
_MOST_OUT = 12
# A worse plan is gone on with up to such a part of what a customer costs, less and less.
_WARMTH = 0.3
# The place that costs least is passed over now and then.
_BLINK = 0.02
# Places of one route that are judged for a customer who is put in again.
_PLACES = 6
# Customers outside times those inside, up to which all are tried in each other's place.
_MOST_EXCHANGES = 4_000

# Told every better plan.
Found = Callable[[Solution], object] | None
# From a plan, its progress, a seed and who is told of better costs, to a plan that is no worse.
Search = Callable[..., Solution]


def can_polish(problem: Problem) -> bool:
    """Whether plans can be searched on from: not where prizes show only on the visit.

    The referee knows them, and who asks it all the time would know them beforehand.
    """
    return problem.revealed_prize is None and 1 < problem.size <= MOST_NODES


def finisher_of(
    problem: Problem,
    seed: int = 0,
    *,
    rebuilds: bool = True,
    deadline: Deadline = NEVER,
    found: Found = None,
) -> Callable[[Solution], Solution] | None:
    """What ``solve`` does to the plans of a problem in the end; None where they stay as they are.

    All that has few customers is polished. Without ``rebuilds`` plain stops and plain loops of more
    are left to callers that have the time. ``found`` is told better plans on the way.
    """
    more: dict[str, Any] = {"seed": seed, "deadline": deadline, "found": found}
    customers = len(problem.customers)
    if rebuilds and MOST_CUSTOMERS < customers < MOST_NODES and has_plain_stops(problem):
        if customers <= MOST_UNSHAKEN:
            return lambda plan: rebuild(plan, **more)
        return lambda plan: rebuild_in_parts(plan, seed, deadline)
    if rebuilds and MOST_CUSTOMERS < customers <= MOST_NODES and is_plain_loop(problem):
        return lambda plan: shorten(plan, **more)
    if MOST_CUSTOMERS < customers <= MOST_UNSHAKEN:
        if is_plain_orienteering(problem):
            return lambda plan: collect(plan, **more)
        if has_plain_pairs(problem):
            return lambda plan: polish(rearrange(plan, **more), 0, **more)
    shakes = shakes_of(problem)
    return None if shakes is None else lambda plan: polish(plan, shakes, **more)


def search_of(plan: Solution) -> Search:
    """The search that makes most of the time from a plan on.

    It is that of the problem where that knows all that counts, and else the one here.
    """
    problem = plan.plan.problem
    if is_plain_orienteering(problem):
        return collect
    if plan.feasible and has_plain_pairs(problem):
        return rearrange
    if plan.feasible and has_plain_stops(problem):
        return rebuild
    if plan.feasible and is_plain_loop(problem):
        return shorten
    return refine


def shakes_of(problem: Problem) -> int | None:
    """How often ``solve`` shakes the plans of a problem; None where it does not polish them."""
    if not can_polish(problem):
        return None
    if len(problem.customers) <= MOST_CUSTOMERS:
        return SHAKES if len(problem.fleet) <= 1 else 2 * SHAKES  # there is more to choose from
    if len(problem.customers) > MOST_UNSHAKEN:
        return None
    unlearned = needs_fleet_rules(problem) or _has_loads_in_pairs(problem)
    return 0 if unlearned or _has_one_route(problem) else None


def _has_loads_in_pairs(problem: Problem) -> bool:
    """Whether room on board decides which pairs can be served between one another."""
    return problem.features.pickup_delivery and problem.features.capacity


def _has_one_route(problem: Problem) -> bool:
    """Whether there is one route only, but not where its length decides who is on it.

    There everybody outside is tried in the place of everybody inside, which takes seconds where
    the referee judges each. Where length is all that limits the route, see ``orienteering``.
    """
    features = problem.features
    return not features.several_routes and not features.orienteering


def polish(
    solution: Solution,
    shakes: int = SHAKES,
    seed: int = 0,
    deadline: Deadline = NEVER,
    found: Found = None,
) -> Solution:
    """The plan improved until no move helps, and again after each of so many shakes.

    The plan must be legal; customers may be left out.
    """
    progress = _counting(shakes)
    return refine(solution, progress, seed, deadline=deadline, found=found)


def _counting(shakes: int) -> Progress:
    return lambda done: done / (shakes + 1)


def refine(
    solution: Solution,
    progress: Progress,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
    *,
    deadline: Deadline = NEVER,
    found: Found = None,
) -> Solution:
    """The same for as long as ``progress`` is below 1.

    Parameters
    ----------
    watch
        Told the cost whenever the plan gets better.
    deadline
        When it is over the best plan so far is taken.
    found
        Told every better plan, judged by the referee.
    """
    if deadline.over:
        return solution
    roads, draws = Roads(solution.plan.problem), np.random.default_rng(seed)
    return _Search(roads, solution, deadline.bound(progress), draws, watch, found).run()


class _Search:
    """The search for a better plan."""

    def __init__(
        self,
        roads: Roads,
        solution: Solution,
        progress: Progress,
        draws: np.random.Generator,
        watch: Callable[[float], None] | None,
        found: Found,
    ) -> None:
        self._roads, self._draws, self._watch, self._found = roads, draws, watch, found
        self._progress, self._shakes = progress, 0
        self._best = solution
        self._now = Draft(roads, roads.read(solution))
        self._value = self._now.value()
        self._best_value = self._value
        self._tested: set[tuple[Route, Route | None]] = set()
        self._near = roads.length[:-1, :-1] + roads.length[:-1, :-1].T  # (N, N)

    @property
    def _over(self) -> bool:
        return self._progress(self._shakes) >= 1.0

    def run(self) -> Solution:
        """The best plan found."""
        if not self._over:
            self._go_on_with(self._descended(self._now))
        while True:
            self._shakes += 1
            if self._over:
                return self._best
            trial = self._shaken(self._now)
            if trial is not None:
                self._go_on_with(self._descended(trial))

    def _go_on_with(self, draft: Draft) -> None:
        """Take a plan if it is better, or not much worse; note the best of all."""
        value = draft.value()
        if draft.is_better(value, self._best_value):
            found = self._roads.judged_plan(draft.routes)
            if better_of(self._best, found) is found:
                self._best, self._best_value = found, value
                self._now, self._value = draft, value
                if self._watch is not None:
                    self._watch(found.cost)
                if self._found is not None:
                    self._found(found)
                return
        if draft.is_better(self._warmed(value), self._value):
            self._now, self._value = draft, value

    def _warmed(self, value: Value) -> Value:
        """What a plan is taken for: at first a little more than it is worth."""
        served = sum(len(route.stops) for route in self._now.routes)
        part = _WARMTH * abs(self._best_value.cost) / max(served, 1)
        allowed = part * (1.0 - self._progress(self._shakes)) * self._draws.exponential()
        return value._replace(cost=value.cost - allowed)

    # ----------------------------------------------------------------------------------- the moves

    def _descended(self, draft: Draft) -> Draft:
        """The plan when no move helps any more, or the time is up."""
        while not self._over:
            better = next(self._better_plans(draft), None)
            if better is None:
                break
            draft = better
        return draft

    def _better_plans(self, draft: Draft) -> Iterator[Draft]:
        yield from self._served(draft)
        yield from self._moved(draft)
        yield from self._driven_otherwise(draft)
        yield from self._left_out(draft)
        yield from self._exchanged(draft)

    def _served(self, draft: Draft) -> Iterator[Draft]:
        """Somebody outside comes in."""
        before = draft.value()
        for unit in draft.outside:
            if self._over:
                return
            for number, route in self._legal_ways(draft, unit, before.shortage > 0):
                after = draft.with_route(number, route)
                if draft.is_better(after.value(), before):
                    yield after
                    break

    def _legal_ways(
        self, draft: Draft, unit: Stops, at_any_cost: bool = False
    ) -> Iterator[tuple[int, Route]]:
        """Number of a route and what it becomes, where that pays."""
        problem = self._roads.problem
        most = math.inf
        if not (at_any_cost or draft.must[unit] or problem.maximise_prize):
            most = float(problem.penalty[list(unit)].sum())
        for way in draft.ways_in(unit, most):
            if self._over:
                return
            if self._roads.is_legal(way.route):
                yield way.number, way.route

    def _moved(self, draft: Draft) -> Iterator[Draft]:
        """Moves within a route, between two, and into one that has not left yet."""
        routes, dust = draft.routes, draft.dust
        waiting = draft.waiting()
        for i, first in enumerate(routes):
            if self._over:
                return
            if self._is_new(first, None):
                for move in moves_within(self._roads, first, dust):
                    if self._over:
                        return
                    if self._roads.is_legal(move.first):
                        yield draft.with_route(i, move.first)
                self._tested.add((first, None))
            for j, second in enumerate((*routes[i + 1 :], *waiting), start=i + 1):
                if self._over:
                    return
                if not self._is_new(first, second):
                    continue
                for move in moves_between(self._roads, first, second, dust):
                    if self._over:
                        return
                    assert move.second is not None
                    if self._roads.is_legal(move.first) and self._roads.is_legal(move.second):
                        rest = [r for n, r in enumerate(routes) if n not in (i, j)]
                        yield draft.copy([*rest, move.first, move.second])
                self._tested.add((first, second))

    def _is_new(self, first: Route, second: Route | None) -> bool:
        """Whether nobody has looked for moves between the two yet and found none."""
        return (first, second) not in self._tested and (second, first) not in self._tested

    def _driven_otherwise(self, draft: Draft) -> Iterator[Draft]:
        """Another vehicle for a route, or two routes exchange theirs."""
        roads, routes = self._roads, draft.routes
        free = {route.kind for route in draft.waiting()} | self._free_kinds(draft)
        if len(roads.ends) == 1:
            return
        for number, route in enumerate(routes):
            for kind in free - {route.kind}:
                other = Route(kind, route.stops)
                gain = roads.cost(other) - roads.cost(route)
                if gain < -draft.dust and roads.is_legal(other):
                    yield draft.with_route(number, other)
            for later, second in enumerate(routes[number + 1 :], start=number + 1):
                if second.kind == route.kind:
                    continue
                mine, theirs = Route(second.kind, route.stops), Route(route.kind, second.stops)
                gain = roads.cost(mine) + roads.cost(theirs)
                gain -= roads.cost(route) + roads.cost(second)
                if gain < -draft.dust and roads.is_legal(mine) and roads.is_legal(theirs):
                    yield draft.with_route(number, mine).with_route(later, theirs)

    def _free_kinds(self, draft: Draft) -> set[int]:
        """Kinds of which not all vehicles are out, even where no more routes are allowed."""
        used = [route.kind for route in draft.routes]
        counts = enumerate(self._roads.counts)
        return {kind for kind, count in counts if count is None or used.count(kind) < count}

    def _left_out(self, draft: Draft) -> Iterator[Draft]:
        """Somebody who need not be served goes."""
        if all(draft.must.values()):
            return
        before = draft.value()
        for number, route in enumerate(draft.routes):
            for unit in draft.units_of(route):
                if self._over:
                    return
                if not draft.must[unit]:
                    rest = Route(route.kind, tuple(n for n in route.stops if n not in unit))
                    after = draft.with_route(number, rest)
                    if draft.is_better(after.value(), before) and self._roads.is_legal(rest):
                        yield after

    def _exchanged(self, draft: Draft) -> Iterator[Draft]:
        """Somebody outside takes the place of another, or comes in elsewhere on the route."""
        outside = draft.outside
        inside = sum(len(route.stops) for route in draft.routes)
        if not outside or len(outside) * inside > _MOST_EXCHANGES:
            return
        before = draft.value()
        for number, route in enumerate(draft.routes):
            for gone in draft.units_of(route):
                if self._over:
                    return
                rest = Route(route.kind, tuple(n for n in route.stops if n not in gone))
                alone = draft.copy([rest] if rest.stops else [])
                for unit in outside:
                    if draft.must[gone] and not draft.must[unit]:
                        continue
                    for way in alone.ways_in(unit):
                        if way.route.kind != route.kind or way.number != 0:
                            continue
                        after = draft.with_route(number, way.route)
                        if not draft.is_better(after.value(), before):
                            break  # the next are longer still
                        if self._roads.is_legal(way.route):
                            yield after
                            break

    # ---------------------------------------------------------------------------------- the shakes

    def _shaken(self, draft: Draft) -> Draft | None:
        """Some customers taken out and put in again; None where that breaks a rule."""
        out = self._to_take_out(draft)
        gone = {node for unit in out for node in unit}
        changed = draft.copy(
            Route(route.kind, tuple(n for n in route.stops if n not in gone))
            for route in draft.routes
        )
        waiting = set(changed.outside)
        order = [unit for unit in self._ordered(out) if unit in waiting]
        order += [unit for unit in changed.outside if unit not in set(order)]
        kinds = self._some_kinds()
        for unit in order:
            if self._over:
                return None
            changed = self._put_in(changed, unit, kinds)
        if all(map(self._roads.is_legal, changed.routes)):
            return changed
        return None

    def _to_take_out(self, draft: Draft) -> list[Stops]:
        """Neighbours of somebody, a whole route, or anybody."""
        units = [unit for route in draft.routes for unit in draft.units_of(route)]
        if not units:
            return []
        most = min(len(units), _MOST_OUT)
        count = int(self._draws.integers(1, most + 1))
        way = self._draws.random()
        if way < 0.15:
            route = draft.routes[self._draws.integers(len(draft.routes))]
            return draft.units_of(route)[:_MOST_OUT]
        if way < 0.3:
            return [units[k] for k in self._draws.permutation(len(units))[:count]]
        others = [unit for unit in draft.outside if draft.must[unit]] or units
        centre = others[self._draws.integers(len(others))][0]
        noise = 1.0 + 0.2 * self._draws.random(len(units))
        distance = self._near[centre, [unit[0] for unit in units]] * noise
        return [units[k] for k in np.argsort(distance, kind="stable")[:count]]

    def _ordered(self, units: Sequence[Stops]) -> list[Stops]:
        """In any order, or those first who live farthest from where vehicles start."""
        shuffled = [units[k] for k in self._draws.permutation(len(units))]
        if self._draws.random() < 0.5:
            starts = [start for start, _ in self._roads.ends]
            shuffled.sort(key=lambda unit: -float(self._near[unit[0], starts].min()))
        return shuffled

    def _some_kinds(self) -> set[int] | None:
        """Vehicles for new routes: now any, now only some, as the cheapest are not always best."""
        count = len(self._roads.ends)
        if count == 1 or self._draws.random() < 0.5:
            return None
        return {kind for kind in range(count) if self._draws.random() < 0.5}

    def _put_in(self, draft: Draft, unit: Stops, kinds: set[int] | None) -> Draft:
        """In the place that costs least; outside where none is legal or none pays."""
        problem = self._roads.problem
        most = math.inf
        if not draft.must[unit] and not problem.maximise_prize and problem.min_prize <= 0:
            most = float(problem.penalty[list(unit)].sum())
        tried: dict[tuple[int, int], int] = {}
        for way in draft.ways_in(unit, most, kinds):
            at = way.number, way.route.kind
            tried[at] = tried.get(at, 0) + 1
            if tried[at] > _PLACES or self._draws.random() < _BLINK:
                continue
            if self._roads.is_legal(way.route):
                return draft.with_route(way.number, way.route)
        # Rather any vehicle than none.
        return draft if kinds is None else self._put_in(draft, unit, None)
