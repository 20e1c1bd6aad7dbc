"""Every way to serve a customer that a plan leaves out, and what the referee says of it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.distances import Distances
from spacevrp.problems.fleet import called
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, as_routes, judge, judge_route

Route = tuple[int, ...]

# Up to this many nodes all distances are held: looking one up is faster than computing it.
_MOST_HELD = 2_000


@dataclass(frozen=True)
class Insertion:
    """A route that serves customers whom the plan leaves out."""

    stops: Route  # the customers: one, or a pickup and its delivery
    route: int | None  # of the plan, counted from 1, that takes them in; None for one of their own
    nodes: Route  # of that route with them
    extra: float  # by how much the plan costs more then
    faults: tuple[Violation, ...]  # of the route, and of vehicles that there are not
    vehicle: int | None = None  # the type that the faults are of; None for what suits best

    @property
    def fits(self) -> bool:
        """Whether every rule is kept."""
        return not self.faults


class Insertions:
    """A plan, and every way into it, until the deadline is over.

    Routes that break a rule as they are take no customer in.
    """

    def __init__(
        self, problem: Problem, routes: Iterable[Iterable[int]], deadline: Deadline = NEVER
    ) -> None:
        self.problem, self.deadline = problem, deadline
        self.routes: list[Route] = list(as_routes(problem, routes))
        self.sheet = _sheet(problem)  # for judging routes one by one
        self.related = bool(problem.groups or problem.same_route)
        self._costs: list[float] = []
        self._legal: list[bool] = []
        for route in self.routes:
            cost, faults = self.judge_alone(route)
            self._costs.append(cost)
            self._legal.append(not faults)
        self.known: set[str] = set()  # what the referee says of the plan as it is
        if problem.vehicles is not None or self.related:
            self.known = {one.message for one in judge(self.sheet, self.routes).violations}

    def judge_alone(self, nodes: Route) -> tuple[float, tuple[Violation, ...]]:
        """The cost of one route, and what is wrong with it whatever is missing from the plan."""
        verdict = judge(self.sheet, [nodes])
        return verdict.cost, tuple(v for v in verdict.violations if v.route is not None)

    @property
    def used(self) -> int:
        """How many routes have customers."""
        depots = set(self.problem.depots)
        return sum(not depots.issuperset(route) for route in self.routes)

    def into_routes(self, stops: Route) -> Iterator[Insertion]:
        """Every way into the routes there are."""
        depots = set(self.problem.depots)
        for number, route in enumerate(self.routes, start=1):
            if not self._legal[number - 1] or depots.issuperset(route):
                continue
            for nodes in self._with(route, stops):
                if self.deadline.over:
                    return
                yield self._judged(stops, number, nodes)

    def _judged(self, stops: Route, number: int, nodes: Route) -> Insertion:
        cost, faults = self.judge_alone(nodes)
        insertion = Insertion(stops, number, nodes, cost - self._costs[number - 1], faults)
        if insertion.fits and (self.problem.vehicles is not None or self.related):
            # The route may need another vehicle now, which another route has.
            insertion = replace(insertion, faults=self._fleet_faults(self.plan_with(insertion)))
        return insertion

    def own_routes(self, stops: Route) -> Iterator[Insertion]:
        """A route of their own by every type of vehicle and from every depot.

        Without a depot, a tour where there is none yet.
        """
        if not self.problem.depots and self.used:
            return
        ways: dict[tuple[int | None, int | None, int | None], None] = {
            (terms.start, depot, terms.end): None
            for terms in self.problem.fleet
            # Who is under way first goes for what is not on board.
            for depot in (None, *(terms.reload_depots if terms.on_board is not None else ()))
        }
        for start, depot, end in ways or {(None, None, None): None}:
            nodes = (*_listed(start), *_listed(depot), *stops, *_listed(end))
            cost, faults = self.judge_alone(nodes)
            bound, others = self._by_type(nodes) if faults else ((), {})
            if bound:
                yield Insertion(stops, None, nodes, cost, bound)
                for vehicle, own in others.items():
                    yield Insertion(stops, None, nodes, cost, own, vehicle)
                continue
            # Each for itself: what a small vehicle lacks says little where there is a large one.
            own_types = [t.number for t in self.problem.fleet if (t.start, t.end) == (start, end)]
            if others and others.keys() >= set(own_types):
                for vehicle in own_types:
                    yield Insertion(stops, None, nodes, cost, others[vehicle], vehicle)
                continue
            if not faults or self.problem.vehicles is None:
                faults += self._fleet_faults([*self.routes, nodes])
            yield Insertion(stops, None, nodes, cost, faults)

    def _by_type(
        self, nodes: Route
    ) -> tuple[tuple[Violation, ...], dict[int, tuple[Violation, ...]]]:
        """Whether a vehicle could drive the route without its pins; what others lack."""
        bound: tuple[Violation, ...] = ()
        others: dict[int, tuple[Violation, ...]] = {}
        for terms in self.problem.fleet if self.problem.vehicles is not None else ():
            _, faults = judge_route(self.sheet, 1, nodes, terms)
            if not all(f.code == "pin" and f.node in terms.pinned for f in faults):
                others[terms.number] = tuple(faults)
            elif terms.pinned and not bound:
                text = f"{called(terms)} serves first those who are pinned to it"
                bound = (Violation("pin", text, node=terms.pinned[0]),)
        return bound, others

    def _fleet_faults(self, routes: Sequence[Route]) -> tuple[Violation, ...]:
        """What is wrong with the plan that was not before: too many routes, or no vehicle free."""
        found = judge(self.sheet, routes).violations
        faults = [one for one in found if one.code == "fleet"]
        fresh = [one for one in found if one.message not in self.known]
        if self.related and not faults:
            faults = [one for one in fresh if one.code in ("group", "same_route")]
        if not faults and fresh and self.problem.vehicles is not None:
            faults = [Violation("vehicle", f"no vehicle is free for it: {fresh[0].message}")]
        return tuple(faults)

    def all_of(self, stops: Route) -> Iterator[Insertion]:
        """Every way there is."""
        yield from self.into_routes(stops)
        yield from self.own_routes(stops)

    def plan_with(self, insertion: Insertion) -> tuple[Route, ...]:
        """All routes, with the customers served that way."""
        if insertion.route is None:
            return (*self.routes, insertion.nodes)
        before, after = self.routes[: insertion.route - 1], self.routes[insertion.route :]
        return (*before, insertion.nodes, *after)

    def _with(self, route: Route, stops: Route) -> Iterator[Route]:
        """The route with the stops in every place, in their order."""
        # The depot stays first and, on closed routes, last. A tour without a depot is a circle, so
        # that the place before its first node is the one after its last.
        last = len(route) - (len(route) > 1 and route[-1] in self.problem.depots)
        first, *rest = stops
        reloads = {depot for terms in self.problem.fleet for depot in terms.reload_depots}
        for place in range(1, last + 1):
            begun = (*route[:place], first)
            if not rest:
                yield begun + route[place:]
                for depot in sorted(reloads):
                    yield (*route[:place], depot, first, *route[place:])
                    yield (*begun, depot, *route[place:])
                continue
            (second,) = rest
            for later in range(place, last + 1):
                yield (*begun, *route[place:later], second, *route[later:])


def lacks_vehicle(violation: Violation) -> bool:
    """Whether a violation says that there are not vehicles enough for all routes."""
    return violation.code in ("fleet", "vehicle") and violation.route is None


def _listed(depot: int | None) -> Route:
    return () if depot is None else (depot,)


def missing(problem: Problem, routes: Iterable[Iterable[int]]) -> list[Route]:
    """Compulsory customers whom no route visits, the two of a pair together.

    Where one of a pair is visited alone it is listed with its partner, too: neither counts. Of a
    required group without a visit all are listed, each for itself.
    """
    visited = {node for route in routes for node in route}
    couple = {node: pair for pair in problem.pairs for node in pair}
    left: dict[Route, None] = {}  # in the order of the nodes
    for node in problem.customers:
        if node not in visited and np.isinf(problem.penalty[node]):
            left[couple.get(node, (node,))] = None
    for group in problem.groups:
        if group.required and not visited.intersection(group.nodes):
            left |= dict.fromkeys((node,) for node in group.nodes)
    return list(left)


def _sheet(problem: Problem) -> Problem:
    """The problem for judging single routes many times over: no customer is missing from a plan.

    A copy with the same limits and tolerances, of which the referee sees the routes only. Pairs
    stay pairs: half of one is a fault of the route.
    """
    known = {name: getattr(problem, name) for name in ("tolerance", "load_tolerance", "fleet")}
    held = {id(one): one for one in (problem.distances, problem.durations)}
    if problem.size <= _MOST_HELD:
        held = {
            key: one if one.coordinates is None else Distances(matrix=one.matrix())
            for key, one in held.items()
        }
    known |= {name: held[id(getattr(problem, name))] for name in ("distances", "durations")}
    sheet = copy.copy(problem)
    # Past the checks of the constructor, which would ask for customers.
    vars(sheet).update(known, customers=(), maximise_prize=False)
    return sheet
