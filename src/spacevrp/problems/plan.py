"""What happens when a plan is carried out: stop by stop, when, with what load, at what cost.

Computed from the definitions in ``docs/concepts``, as the referee judges them: a vehicle leaves its
depot when it opens, waits where it is early, and goes on from its actual arrival where it is late.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from spacevrp.problems.clock import Clock, Moment, moment_of
from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import as_routes, as_vehicles_of, vehicles_of
from spacevrp.problems.referee.rides import begin_with_rides, schedule_route
from spacevrp.problems.referee.schedule import Schedule
from spacevrp.problems.referee.timing import Pause, Timing

# Of the largest number there is: what is smaller is left over from adding floats.
_DUST = 1e-12


@dataclass(frozen=True)
class Stop:
    """One stop of a route, the depot at its beginning and end included.

    Attributes
    ----------
    node, id
        The node's number and what the user calls it (the number, where it has no id).
    kind
        ``start``, ``end``, ``visit``, ``pickup``, ``delivery`` or ``reload``.
    leg_cost, leg_duration, leg_length
        Of the way here; 0 at the start. A leg costs its length times what a unit costs the vehicle.
    reached, left
        Arrival and departure in the numbers of the problem; :attr:`arrival` and :attr:`departure`
        are the same as the user's own moments.
    waiting, service, pause
        Time spent on waiting for the window to open, on service, its setup included, and on breaks
        on the way here.
    amount, pickup
        What is handed over (positive) or taken in (negative), and what is taken in beside that.
    load, loads
        On board when leaving, of the first kind of load, as ``amount`` and ``pickup``, and of all.
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
    pause: float = 0.0
    leg_length: float = 0.0
    pickup: float = 0.0

    @property
    def arrival(self) -> Moment:
        """When the vehicle gets here."""
        return moment_of(self.clock, self.reached)

    @property
    def departure(self) -> Moment:
        """When it goes on, or when the route ends."""
        return moment_of(self.clock, self.left)

    @property
    def late(self) -> float:
        """By how much the window is missed; 0 where it is kept."""
        return max(self.reached - self.closing, 0.0)


@dataclass(frozen=True)
class RoutePlan:
    """One route: its stops and what they add up to.

    ``number`` counts from 1, as in the referee's messages. A tour without a depot ends where it
    began. ``vehicle`` is what holds for it where there are types. Where a problem has route rules,
    ``scheduled`` says that the route leaves as late as it may already, and ``pauses`` has the
    breaks. ``loads`` are on board before the first stop, a depot or not.
    """

    number: int
    stops: tuple[Stop, ...]
    vehicle: Terms | None = None
    scheduled: bool = False
    pauses: tuple[Pause, ...] = ()
    loads: tuple[float, ...] = ()

    @property
    def fixed_cost(self) -> float:
        """Paid for the vehicle to leave."""
        return 0.0 if self.vehicle is None else self.vehicle.fixed_cost

    @property
    def visits(self) -> tuple[Stop, ...]:
        """The stops at customers."""
        return tuple(stop for stop in self.stops if stop.kind not in ("start", "reload", "end"))

    @property
    def cost(self) -> float:
        """Of all legs: their length, times what a unit costs the vehicle."""
        return _total(stop.leg_cost for stop in self.stops)

    @property
    def length(self) -> float:
        """Of all legs, in the unit of the distances."""
        return _total(stop.leg_length for stop in self.stops)

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
        return self.driving + self.waiting + self.service + self.pause

    @property
    def pause(self) -> float:
        """Time spent on breaks on the way."""
        return _total(stop.pause for stop in self.stops)

    @property
    def overtime(self) -> float:
        """What the duration is beyond the regular limit."""
        limit = math.inf if self.vehicle is None else self.vehicle.max_duration
        return max(self.duration - limit, 0.0)

    @property
    def time_cost(self) -> float:
        """What the duration and the overtime cost."""
        if self.vehicle is None or not self.scheduled:
            return 0.0
        paid = self.vehicle.unit_duration_cost * self.duration
        return paid + self.vehicle.overtime_cost * self.overtime

    @property
    def total_cost(self) -> float:
        """Of the legs, the vehicle and its time: what the route adds to the cost of a plan."""
        return self.cost + self.fixed_cost + self.time_cost

    @property
    def delivered(self) -> float:
        """What customers receive."""
        return _total(max(stop.amount, 0.0) for stop in self.stops)

    @property
    def collected(self) -> float:
        """What customers hand over."""
        return _total(max(-stop.amount, 0.0) + stop.pickup for stop in self.stops)

    @property
    def spare(self) -> float:
        """By how much later the vehicle may leave, and yet keep every window and end no later.

        Plans leave at the opening of the depot, which may mean waiting on the way.
        """
        if self.scheduled:
            return 0.0  # it leaves then
        waited, spare = 0.0, self.waiting
        for stop in self.stops[1:]:
            waited += stop.waiting
            spare = min(spare, waited + stop.closing - (stop.reached + stop.waiting))
        return max(spare, 0.0)

    @property
    def peak_load(self) -> float:
        """The largest load on the way."""
        return peaks_of(self)[0]


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
        The referee's figure: costs of legs, vehicles and time, and penalties; or minus the prize.
    skipped
        Customers that no route visits.
    """

    problem: Problem
    routes: tuple[RoutePlan, ...]
    cost: float
    skipped: tuple[int, ...]

    @cached_property
    def length(self) -> float:
        """Of all legs, in the unit of the distances."""
        return _total(route.length for route in self.routes)

    @cached_property
    def leg_costs(self) -> float:
        """Paid for all legs, by what a unit of length costs each vehicle."""
        return self._paid(route.cost for route in self.routes)

    @cached_property
    def fixed_costs(self) -> float:
        """Paid for vehicles that leave; where prize is maximised, nothing is."""
        return self._paid(route.fixed_cost for route in self.routes)

    @cached_property
    def time_costs(self) -> float:
        """Paid for the time of vehicles; where prize is maximised, nothing is."""
        return self._paid(route.time_cost for route in self.routes)

    @cached_property
    def penalties(self) -> float:
        """Paid for customers left out; where prize is maximised, nothing is."""
        paid = (float(self.problem.penalty[node]) for node in self.skipped)
        return self._paid(penalty for penalty in paid if math.isfinite(penalty))

    def _paid(self, costs: Iterable[float]) -> float:
        return 0.0 if self.problem.maximise_prize else _total(costs)

    @cached_property
    def prize(self) -> float:
        """Collected on the visits, by the real prizes where they are known."""
        prizes, left_out = self.problem.real_prizes, set(self.skipped)
        served = (node for node in self.problem.customers if node not in left_out)
        return _total(float(prizes[node]) for node in served)

    @cached_property
    def leaving_late(self) -> Plan:
        """The same routes, each leaving as late as it may without ending later; less is waited."""
        planner = _Planner(self.problem)
        return replace(self, routes=tuple(map(planner.leave_late, self.routes)))

    def id_of(self, node: int) -> Hashable:
        """What the user calls a node."""
        return node_id(self.problem, node)


def make_plan(problem: Problem, routes: Iterable[Iterable[int]], cost: float) -> Plan:
    """The plan in detail, whether it keeps the rules or not."""
    planner = _Planner(problem)
    planned = []
    resolved = as_routes(problem, routes)
    driven_by = as_vehicles_of(problem, resolved, vehicles_of(routes, None))
    for number, listed in enumerate(resolved, start=1):
        terms = None if driven_by is None else problem.fleet[driven_by[number - 1]]
        nodes = _travelled(problem, listed, terms)
        if nodes:
            route = planner.plan(number, nodes, terms)
            planned.append(replace(route, loads=_loads_before(problem, route.stops[0])))
    visited = {stop.node for route in planned for stop in route.stops}
    skipped = tuple(node for node in problem.customers if node not in visited)
    return Plan(problem, tuple(planned), cost, skipped)


def capacities_of(problem: Problem, route: RoutePlan) -> tuple[float, ...]:
    """What the vehicle of a route carries of every kind of load."""
    return problem.capacities if route.vehicle is None else route.vehicle.capacities


def peaks_of(route: RoutePlan) -> list[float]:
    """The largest load of every kind on the way."""
    return [max(loads) for loads in zip(route.loads, *(s.loads for s in route.stops), strict=True)]


def node_id(problem: Problem, node: int) -> Hashable:
    """What the user calls a node: its id, or its number."""
    return node if problem.ids is None else problem.ids[node]


def _travelled(problem: Problem, nodes: tuple[int, ...], terms: Terms | None) -> tuple[int, ...]:
    """The nodes in the order of the journey; none where a vehicle stays at home."""
    depots = set(problem.depots)
    if all(node in depots for node in nodes):
        return ()
    if not depots:
        # The way back to the first node counts once, listed or not.
        return nodes if len(nodes) > 1 and nodes[0] == nodes[-1] else (*nodes, nodes[0])
    is_open = problem.open_routes if terms is None else terms.end is None
    if is_open and nodes[-1] in depots:
        return nodes[:-1]  # open routes do not go back, even where they say so
    return nodes


class _Times(NamedTuple):
    """What the time from leaving one stop to leaving the next is spent on, as a stop says it."""

    leg_duration: float
    reached: float
    waiting: float
    service: float
    left: float
    pause: float = 0.0


class _Planner:
    """Routes of one problem in detail."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        # Which customers hand goods over, and which receive them.
        loads, nodes = problem.loads, problem.customers
        self.pickups = problem.pickups[:, 0]
        self.roles = {node: "pickup" for node in nodes if (loads[node] < 0).any()}
        self.roles |= {node: "delivery" for node in nodes if (loads[node] > 0).any()}
        for pickup, delivery in problem.pairs:
            self.roles |= {pickup: "pickup", delivery: "delivery"}

    def plan(self, number: int, nodes: tuple[int, ...], terms: Terms | None) -> RoutePlan:
        """One route, leaving as its rules say, or else when its depot opens."""
        if self.problem.has_route_rules:
            fleet = self.problem.fleet
            alike = next((one for one in fleet if one.start == nodes[0]), fleet[0])
            driven_by = alike if terms is None else terms
            schedule = schedule_route(self.problem, nodes, driven_by)
            if schedule is not None:
                stops = self._stops(nodes, driven_by, _scheduled(schedule), "reload")
                return RoutePlan(number, stops, terms, True, schedule.pauses or ())
        route = RoutePlan(number, self._stops(nodes, terms, self._earliest(nodes, terms)), terms)
        if terms is not None and math.isfinite(terms.max_duration):
            return self.leave_late(route)
        return route

    def leave_late(self, route: RoutePlan) -> RoutePlan:
        """The same route, which leaves as late as it may without ending later."""
        if route.scheduled:
            return route
        nodes = tuple(stop.node for stop in route.stops)
        times = self._earliest(nodes, route.vehicle, route.stops[0].reached + route.spare)
        return replace(route, stops=self._stops(nodes, route.vehicle, times))

    def _is_visit(self, nodes: tuple[int, ...], place: int) -> bool:
        """Whether a customer is served there: not at a depot, nor where a tour closes."""
        depots = self.problem.depots
        return nodes[place] not in depots if depots else place < len(nodes) - 1

    def _earliest(
        self, nodes: tuple[int, ...], terms: Terms | None, start: float | None = None
    ) -> Iterator[_Times]:
        """The times of a route without rules of its own, from its start on."""
        problem = self.problem
        driven_by = problem.uniform_terms(nodes[0]) if terms is None else terms
        held: Sequence[float] = [-math.inf] * len(nodes)
        if problem.max_ride is not None:  # pickups may wait for their deliveries
            held, _ = begin_with_rides(Timing(problem, nodes, driven_by))
        clock = start
        if clock is None:
            clock = max(float(problem.windows[nodes[0], 0]), driven_by.leaves_from)
        for place, node in enumerate(nodes):
            visited = self._is_visit(nodes, place)
            driving = problem.durations.between(nodes[place - 1], node) if place else 0.0
            reached = clock + driving
            opening = max(float(problem.windows[node, 0]), held[place])
            waiting = max(opening - reached, 0.0) if visited and place else 0.0
            service = float(problem.service[node]) if visited else 0.0
            clock = reached + waiting + service
            yield _Times(driving, reached, waiting, service, clock)

    def _stops(
        self,
        nodes: tuple[int, ...],
        terms: Terms | None,
        times: Iterable[_Times],
        on_the_way: str = "end",
    ) -> tuple[Stop, ...]:
        """The stops of one route; a depot between its ends is what ``on_the_way`` says."""
        problem = self.problem
        kinds = range(problem.kinds_of_load)
        loads = zip(*(_loads_on_way(problem, nodes, kind, terms) for kind in kinds), strict=True)
        stops = []
        last, rate = len(nodes) - 1, 1.0 if terms is None else terms.unit_distance_cost
        for place, (node, spent, on_board) in enumerate(zip(nodes, times, loads, strict=True)):
            visited = self._is_visit(nodes, place)
            kind = "start" if place == 0 else "end" if place == last else on_the_way
            leg = problem.distances.between(nodes[place - 1], node) if place else 0.0
            opening, closing = (float(time) for time in problem.windows[node])
            if place == last and node in problem.depots and terms is not None:
                closing = min(closing, terms.back_by)
            stops.append(
                Stop(
                    node=node,
                    id=node_id(problem, node),
                    kind=self.roles.get(node, "visit") if visited else kind,
                    leg_cost=leg if math.isinf(leg) else rate * leg,
                    leg_length=leg,
                    **spent._asdict(),
                    amount=float(problem.demand[node]) if visited else 0.0,
                    pickup=float(self.pickups[node]) if visited else 0.0,
                    load=on_board[0],
                    opening=opening,
                    closing=closing,
                    clock=problem.clock,
                    loads=on_board,
                )
            )
        return tuple(stops)


def _scheduled(schedule: Schedule) -> Iterator[_Times]:
    """The times of a route with rules of its own."""
    before = schedule.departure
    columns = (schedule.driving, schedule.reached, schedule.service, schedule.left)
    for driving, reached, service, left in zip(*columns, strict=True):
        waiting = _without_dust(left - reached - service, left)
        pause = _without_dust(reached - before - driving, reached)
        yield _Times(driving, reached, waiting, service, left, pause)
        before = left


def _without_dust(span: float, beside: float) -> float:
    """0 where adding and taking away the same floats has left next to nothing."""
    return 0.0 if abs(span) <= _DUST * max(abs(beside), 1.0) else span


def _total(values: Iterable[float]) -> float:
    """The sum in the order given, as the referee adds up."""
    total = 0.0
    for value in values:
        total += value
    return total


# ------------------------------------------------------------------------------------------- loads


def _loads_before(problem: Problem, first: Stop) -> tuple[float, ...]:
    """On board before the first stop; a depot has no demand."""
    handed = zip(first.loads, problem.loads[first.node], problem.pickups[first.node], strict=True)
    return tuple(float(load + amount - taken) for load, amount, taken in handed)


def _loads_on_way(
    problem: Problem, nodes: tuple[int, ...], kind: int, terms: Terms | None = None
) -> list[float]:
    """On board after each stop. With one commodity, the least start that never runs out."""
    amounts = problem.loads[:, kind]
    demand = [0.0 if node in problem.depots else float(amounts[node]) for node in nodes]
    if not problem.depots:
        demand[-1] = 0.0  # the first node again
    on_board = None if terms is None else terms.on_board
    places = range(1, len(nodes) - 1) if terms is not None and terms.may_reload else ()
    cuts = [0, *(place for place in places if nodes[place] in problem.depots), len(nodes)]
    loads: list[float] = []
    for begin, end in pairwise(cuts):
        trip = demand[begin:end]
        kept = 0.0
        if on_board is not None and begin == 0:
            kept = sum(float(amounts[node]) for node in on_board if node not in nodes[:end])
        loads += _loads_of_trip(problem, nodes[begin:end], trip, kind, kept)
    return loads


def _loads_of_trip(
    problem: Problem, nodes: tuple[int, ...], demand: list[float], kind: int, kept: float
) -> list[float]:
    """The same from one depot to the next, of which ``kept`` stays on board."""
    if problem.pairs or problem.load_rule == "separate":
        on_board = zip(nodes, demand, strict=True)
        load = sum(
            max(amount, 0.0) for node, amount in on_board if node not in problem.paired_customers
        )
    else:
        load = max(accumulate(demand, initial=0.0))
    loads, most = [], load
    for node, amount in zip(nodes, demand, strict=True):
        load += float(problem.pickups[node, kind]) - amount
        most = max(most, load)
        # What is left after adding and taking away the same floats is nothing.
        loads.append(kept + (0.0 if abs(load) <= _DUST * most else load))
    return loads
