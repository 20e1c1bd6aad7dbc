"""What happens when a plan is carried out: stop by stop, when, with what load, at what cost.

Computed from the definitions in ``docs/concepts``, as the referee judges them: a vehicle leaves its
depot when it opens, waits where it is early, and goes on from its actual arrival where it is late.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from spacevrp.problems.clock import Clock, Moment
from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import as_routes, as_vehicles_of, ride_begins, vehicles_of
from spacevrp.problems.relations import has_jobs_beside_pairs

_LOAD_DUST = 1e-12


@dataclass(frozen=True)
class Stop:
    """One stop of a route, the depot at its beginning and end included.

    Attributes
    ----------
    node, id
        The node's number and what the user calls it (the number, where it has no id).
    kind
        ``start``, ``end``, ``visit``, ``pickup`` or ``delivery``.
    leg_cost, leg_duration
        Of the way here from the stop before; 0 at the start.
    reached, left
        Arrival and departure in the numbers of the problem; :attr:`arrival` and :attr:`departure`
        are the same as the user's own moments.
    waiting, service
        Time spent on waiting for the window to open, and on service.
    amount
        What is handed over here (positive) or taken in (negative).
    load
        On board when leaving.
    loads
        The same of every kind of load; ``amount`` and ``load`` are of the first.
    opening, closing
        The window, in the numbers of the problem.
    """

    node: int
    id: Hashable
    kind: str
    leg_cost: float
    leg_duration: float
    reached: float
    waiting: float
    service: float
    left: float
    amount: float
    load: float
    opening: float
    closing: float
    clock: Clock | None = None
    loads: tuple[float, ...] = ()

    @property
    def arrival(self) -> Moment:
        """When the vehicle gets here."""
        return self.reached if self.clock is None else self.clock.moment(self.reached)

    @property
    def departure(self) -> Moment:
        """When it goes on, or when the route ends."""
        return self.left if self.clock is None else self.clock.moment(self.left)

    @property
    def late(self) -> float:
        """By how much the window is missed; 0 where it is kept."""
        return max(self.reached - self.closing, 0.0)


@dataclass(frozen=True)
class RoutePlan:
    """One route: its stops and what they add up to.

    ``number`` counts from 1, as in the referee's messages. A tour without a depot ends where it
    began. ``vehicle`` is what holds for the vehicle, where there are types of them.
    """

    number: int
    stops: tuple[Stop, ...]
    vehicle: Terms | None = None

    @property
    def fixed_cost(self) -> float:
        """Paid for the vehicle to leave."""
        return 0.0 if self.vehicle is None else self.vehicle.fixed_cost

    @property
    def visits(self) -> tuple[Stop, ...]:
        """The stops at customers."""
        return tuple(stop for stop in self.stops if stop.kind not in ("start", "end"))

    @property
    def cost(self) -> float:
        """Of all legs: their length, times what a unit costs the vehicle."""
        return _total(stop.leg_cost for stop in self.stops)

    @property
    def driving(self) -> float:
        """Time on the way."""
        return _total(stop.leg_duration for stop in self.stops)

    @property
    def waiting(self) -> float:
        """Time spent waiting."""
        return _total(stop.waiting for stop in self.stops)

    @property
    def service(self) -> float:
        """Time spent on service."""
        return _total(stop.service for stop in self.stops)

    @property
    def duration(self) -> float:
        """From the departure to the end."""
        return self.driving + self.waiting + self.service

    @property
    def delivered(self) -> float:
        """What customers receive."""
        return _total(max(stop.amount, 0.0) for stop in self.stops)

    @property
    def collected(self) -> float:
        """What customers hand over."""
        return _total(max(-stop.amount, 0.0) for stop in self.stops)

    @property
    def spare(self) -> float:
        """By how much later the vehicle may leave, and yet keep every window and end no later.

        Plans leave at the opening of the depot, which may mean waiting on the way.
        """
        waited, spare = 0.0, self.waiting
        for stop in self.stops[1:]:
            waited += stop.waiting
            spare = min(spare, waited + stop.closing - (stop.reached + stop.waiting))
        return max(spare, 0.0)

    @property
    def peak_load(self) -> float:
        """The largest load on the way."""
        return max(stop.load for stop in self.stops)


@dataclass(frozen=True)
class Plan:
    """All routes with customers, and what is left out.

    Attributes
    ----------
    problem
        The instance.
    routes
        The routes, without vehicles that stay at home.
    cost
        The referee's figure: length of all legs and penalties, or minus the prize.
    skipped
        Customers that no route visits.
    """

    problem: Problem
    routes: tuple[RoutePlan, ...]
    cost: float
    skipped: tuple[int, ...]

    @cached_property
    def length(self) -> float:
        """Of all legs, times what a unit costs the vehicle."""
        return _total(route.cost for route in self.routes)

    @cached_property
    def fixed_costs(self) -> float:
        """Paid for vehicles that leave; where prize is maximised, nothing is."""
        if self.problem.maximise_prize:
            return 0.0
        return _total(route.fixed_cost for route in self.routes)

    @cached_property
    def penalties(self) -> float:
        """Paid for customers left out; where prize is maximised, nothing is."""
        if self.problem.maximise_prize:
            return 0.0
        paid = (float(self.problem.penalty[node]) for node in self.skipped)
        return _total(penalty for penalty in paid if math.isfinite(penalty))

    @cached_property
    def prize(self) -> float:
        """Collected on the visits, by the real prizes where they are known."""
        problem = self.problem
        prizes = problem.prize if problem.revealed_prize is None else problem.revealed_prize
        left_out = set(self.skipped)
        return _total(float(prizes[node]) for node in problem.customers if node not in left_out)

    @cached_property
    def leaving_late(self) -> Plan:
        """The same routes, each leaving as late as it may without ending later; less is waited."""
        roles = _roles(self.problem)
        routes = tuple(_leaving_late(self.problem, route, roles) for route in self.routes)
        return replace(self, routes=routes)

    def id_of(self, node: int) -> Hashable:
        """What the user calls a node."""
        return node_id(self.problem, node)


def make_plan(problem: Problem, routes: Iterable[Iterable[int]], cost: float) -> Plan:
    """The plan in detail, whether it keeps the rules or not."""
    roles = _roles(problem)
    planned = []
    resolved = as_routes(problem, routes)
    driven_by = as_vehicles_of(problem, resolved, vehicles_of(routes, None))
    for number, listed in enumerate(resolved, start=1):
        terms = None if driven_by is None else problem.fleet[driven_by[number - 1]]
        nodes = _travelled(problem, listed, terms)
        if nodes:
            route = RoutePlan(number, _schedule(problem, nodes, roles, terms), terms)
            if terms is not None and math.isfinite(terms.max_duration):
                route = _leaving_late(problem, route, roles)
            planned.append(route)
    visited = {stop.node for route in planned for stop in route.stops}
    skipped = tuple(node for node in problem.customers if node not in visited)
    return Plan(problem, tuple(planned), cost, skipped)


def _leaving_late(problem: Problem, route: RoutePlan, roles: Mapping[int, str]) -> RoutePlan:
    """The same route, which leaves as late as it may without ending later."""
    nodes = tuple(stop.node for stop in route.stops)
    start = route.stops[0].reached + route.spare
    stops = _schedule(problem, nodes, roles, route.vehicle, start)
    return RoutePlan(route.number, stops, route.vehicle)


def node_id(problem: Problem, node: int) -> Hashable:
    """What the user calls a node: its id, or its number."""
    return node if problem.ids is None else problem.ids[node]


def _travelled(problem: Problem, nodes: tuple[int, ...], terms: Terms | None) -> tuple[int, ...]:
    """The nodes in the order of the journey; none where a vehicle stays at home."""
    depots = set(problem.depots)
    if all(node in depots for node in nodes):
        return ()
    if not depots:
        # The way back to the first node is understood, and counts once even where it is listed.
        return nodes if len(nodes) > 1 and nodes[0] == nodes[-1] else (*nodes, nodes[0])
    is_open = problem.open_routes if terms is None else terms.end is None
    if is_open and nodes[-1] in depots:
        return nodes[:-1]  # open routes do not go back, even where they say so
    return nodes


def _roles(problem: Problem) -> dict[int, str]:
    """Which customers hand goods over, and which receive them."""
    roles = {node: "pickup" for node in problem.customers if (problem.loads[node] < 0).any()}
    roles |= {node: "delivery" for node in problem.customers if (problem.loads[node] > 0).any()}
    for pickup, delivery in problem.pairs:
        roles |= {pickup: "pickup", delivery: "delivery"}
    return roles


def _schedule(
    problem: Problem,
    nodes: tuple[int, ...],
    roles: Mapping[int, str],
    terms: Terms | None = None,
    start: float | None = None,
) -> tuple[Stop, ...]:
    """The stops of one route, one after the other."""
    loads = [_loads(problem, nodes, kind) for kind in range(problem.kinds_of_load)]
    leaves_from, back_by = (terms.leaves_from, terms.back_by) if terms else (-math.inf, math.inf)
    stops: list[Stop] = []
    held = ride_begins(problem, nodes, terms)  # pickups may wait for their deliveries
    clock = max(float(problem.windows[nodes[0], 0]), leaves_from) if start is None else start
    for position, node in enumerate(nodes):
        first, at_depot = position == 0, node in problem.depots
        leg_cost = leg_duration = waiting = 0.0
        if not first:
            leg_cost = problem.distances.between(nodes[position - 1], node)
            leg_cost *= 1.0 if terms is None else terms.unit_distance_cost
            leg_duration = problem.durations.between(nodes[position - 1], node)
        reached = clock + leg_duration
        opening, closing = (float(time) for time in problem.windows[node])
        if position == len(nodes) - 1 and at_depot:
            closing = min(closing, back_by)
        back_at_start = position == len(nodes) - 1 and not problem.depots
        visited = not at_depot and not back_at_start
        if visited and not first:
            waiting = max(max(opening, held[position]) - reached, 0.0)
        service = float(problem.service[node]) if visited else 0.0
        clock = reached + waiting + service
        stops.append(
            Stop(
                node=node,
                id=node_id(problem, node),
                kind=roles.get(node, "visit") if visited else "start" if first else "end",
                leg_cost=leg_cost,
                leg_duration=leg_duration,
                reached=reached,
                waiting=waiting,
                service=service,
                left=clock,
                amount=float(problem.demand[node]) if visited else 0.0,
                load=loads[0][position],
                opening=opening,
                closing=closing,
                clock=problem.clock,
                loads=tuple(one[position] for one in loads),
            )
        )
    return tuple(stops)


def _loads(problem: Problem, nodes: tuple[int, ...], kind: int) -> list[float]:
    """On board after each stop. With one commodity, the least start that never runs out."""
    amounts = problem.loads[:, kind]
    demand = [0.0 if node in problem.depots else float(amounts[node]) for node in nodes]
    if not problem.depots:
        demand[-1] = 0.0  # the first node again
    if problem.pickup is not None or has_jobs_beside_pairs(problem):
        return _loads_on_board(problem, nodes, kind, demand)
    if problem.pairs:
        start = 0.0
    elif problem.load_rule == "separate":
        start = _total(max(amount, 0.0) for amount in demand)
    else:
        prefix = start = 0.0
        for amount in demand:
            prefix += amount
            start = max(start, prefix)
    loads = []
    load = start
    for amount in demand:
        load -= amount
        # What is left after adding and taking away the same floats is nothing.
        loads.append(0.0 if abs(load) <= _LOAD_DUST * start else load)
    return loads


def _loads_on_board(
    problem: Problem, nodes: tuple[int, ...], kind: int, demand: list[float]
) -> list[float]:
    """On board after each stop where jobs stand beside pairs, or a stop receives and hands over."""
    paired = {node for pair in problem.pairs for node in pair}
    load = start = _total(
        max(amount, 0.0) for node, amount in zip(nodes, demand, strict=True) if node not in paired
    )
    loads = []
    for node, amount in zip(nodes, demand, strict=True):
        load += float(problem.pickups[node, kind]) - amount
        loads.append(0.0 if abs(load) <= _LOAD_DUST * start else load)
    return loads


def _total(values: Iterable[float]) -> float:
    """The sum in the order given, as the referee adds up."""
    total = 0.0
    for value in values:
        total += value
    return total
