"""The smallest changes that mend the faults of a route: found, ranked, verified by the referee."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.explanation.changes import Change, Relaxation, change_all
from spacevrp.problems.explanation.insertions import Insertion, Insertions, Route, lacks_vehicle
from spacevrp.problems.fleet import Terms
from spacevrp.problems.plan import RoutePlan, Stop, capacities_of, make_plan, peaks_of
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, judge
from spacevrp.problems.referee.rides import rides_of, schedule_route
from spacevrp.problems.referee.schedule import Schedule
from spacevrp.problems.referee.timing import Ride

# Codes of violations that some change mends. Too many of a type of vehicle is one of `vehicle`.
_MENDABLE = {
    *("capacity", "length", "duration", "window", "fleet", "vehicle", "arc", "stops", "start"),
    *("break", "reload", "ride", "lifo", "order", "same_route", "different_routes"),
}
# How often the span is halved in which a break may begin later.
_HALVINGS = 12
# The same of the time that rides may take more: to the last digit that is told.
_RIDE_HALVINGS = 30


def needed(
    problem: Problem, nodes: Route, faults: Sequence[Violation], vehicle: int | None = None
) -> list[tuple[Change, ...]]:
    """The changes that would mend the faults of a route, in every way; none where none is known.

    ``vehicle`` is the type of vehicle that they are of, where it is not the one that suits best.
    """
    codes = {fault.code for fault in faults}
    if codes - _MENDABLE or ("arc" in codes and problem.travel_times):
        return []
    changes: list[Change] = []
    choices: list[list[Change]] = []  # of each, one is enough
    if codes - {"arc", "fleet"}:
        driven_by = None if vehicle is None else (vehicle,)
        (plan,) = make_plan(problem, FleetRoutes([nodes], driven_by), 0.0).routes
        vehicle = None if plan.vehicle is None else plan.vehicle.number
        changes += _of_limits(problem, plan, codes, vehicle)
        changes += _of_relations(problem, nodes, faults)
        choices += _of_moments(problem, plan, codes, vehicle)
        # Whom the vehicle may not serve on its route.
        barred = [f for f in faults if f.code == "vehicle" and f.route is not None]
        refused = tuple(f.node for f in barred if f.node is not None)
        if refused:
            changes.append(Change("permission", float(len(refused)), None, refused, vehicle))
        if any(f.code == "vehicle" and lacks_vehicle(f) for f in faults) and plan.vehicle:
            limit = float((plan.vehicle.count or 0) + 1)
            changes.append(Change("fleet", 1.0, limit, vehicle=vehicle))
    if "fleet" in codes:
        changes.append(Change("fleet", 1.0, float((problem.max_routes or 0) + 1)))
    if "arc" in codes:
        roads = tuple(node for leg in missing_legs(problem, nodes) for node in leg)
        changes.append(Change("arc", len(roads) / 2, None, roads))
    found = [(*changes, *chosen) for chosen in product(*choices)]
    return [one for one in found if all(0 < change.amount < np.inf for change in one)]


def _of_limits(
    problem: Problem, plan: RoutePlan, codes: Collection[str], vehicle: int | None
) -> list[Change]:
    """Larger limits of a route."""
    changes = []
    if "capacity" in codes:
        changes += _larger_capacities(problem, plan, vehicle)
    if "length" in codes:
        excess = plan.length - max_length_of(problem, plan)
        changes.append(Change("length", excess, plan.length, vehicle=vehicle))
    if plan.vehicle is None:
        return changes
    vehicle_type, visits = plan.vehicle, float(len(plan.visits))
    reloads = float(sum(stop.kind == "reload" for stop in plan.stops))
    regular = plan.duration - vehicle_type.max_overtime
    for kind, needs, limit in (
        ("duration", regular, vehicle_type.max_duration),
        ("stops", visits, vehicle_type.max_stops),
        ("reload", reloads, vehicle_type.max_reloads),
    ):
        if kind in codes:
            changes.append(Change(kind, needs - (limit or 0), needs, vehicle=vehicle))
    return changes


def max_length_of(problem: Problem, plan: RoutePlan) -> float:
    """How long a route may be."""
    return problem.max_length if plan.vehicle is None else plan.vehicle.max_length


def _larger_capacities(problem: Problem, plan: RoutePlan, vehicle: int | None) -> list[Change]:
    """For each kind of load that is too much."""
    changes = []
    capacities = capacities_of(problem, plan)
    for kind, (peak, capacity) in enumerate(zip(peaks_of(plan), capacities, strict=True)):
        if peak > capacity + problem.load_slack(capacity, kind):
            changes.append(Change("capacity", peak - capacity, peak, vehicle=vehicle, load=kind))
    return changes


def _later_closing(problem: Problem, plan: RoutePlan, vehicle: int | None) -> Change:
    """All windows that the route misses, later by the same: as much as the worst needs.

    Where a shift ends too early it ends later, too; the window of its depot stays where that is
    open long enough.
    """
    late = {stop.node: stop for stop in plan.stops if stop.late > problem.time_tolerance}
    amount = max((stop.late for stop in late.values()), default=0.0)
    limit = max((stop.closing for stop in late.values()), default=0.0) + amount
    shift_ends = plan.vehicle is not None and plan.stops[-1].closing == plan.vehicle.back_by
    last = plan.stops[-1]
    if not late and plan.vehicle is not None:  # an open route, of which the shift is over
        return Change("window", last.left - plan.vehicle.back_by, last.left, (), vehicle)
    of_type = vehicle if shift_ends and last.node in late else None
    closing = problem.windows[last.node, 1] + problem.time_tolerance
    if of_type is not None and last.reached <= closing:
        del late[last.node]
    return Change("window", amount, limit, tuple(late), vehicle=of_type)


def missing_legs(problem: Problem, nodes: Route) -> list[tuple[int, int]]:
    """The legs of a route over which no arc leads."""
    ends = nodes[1:] if problem.depots else (*nodes[1:], nodes[0])
    return [
        (origin, target)
        for origin, target in zip(nodes, ends, strict=False)
        if math.isinf(problem.distances.between(origin, target))
        or math.isinf(problem.durations.between(origin, target))
    ]


# ------------------------------------------------------------------------------------ of moments


def _of_moments(
    problem: Problem, plan: RoutePlan, codes: Collection[str], vehicle: int | None
) -> list[list[Change]]:
    """For each fault of times the changes of which one is enough."""
    choices = []
    if "window" in codes:
        choices.append([_later_closing(problem, plan, vehicle), *_earlier(problem, plan)])
    if "start" in codes and plan.vehicle is not None:
        leaves, latest = plan.stops[0].left, plan.vehicle.latest_start
        later = Change("start", leaves - latest, leaves, vehicle=vehicle)
        choices.append([later, *_released(problem, plan, leaves - latest, len(plan.stops))])
    if "break" in codes and plan.vehicle is not None:
        choices.append(_for_breaks(problem, plan, plan.vehicle))
    if "ride" in codes:
        choices.append(_longer_rides(problem, plan))
    return choices


def _earlier(problem: Problem, plan: RoutePlan) -> list[Change]:
    """What would let the route be earlier where it is late: goods, or a window it waits for."""
    late = [place for place, stop in enumerate(plan.stops) if stop.late > problem.time_tolerance]
    if not late or not problem.has_route_rules:
        return []
    amount = max(plan.stops[place].late for place in late)
    changes = _released(problem, plan, amount, late[0])
    waits = [
        stop
        for stop in plan.stops[1 : late[0]]
        if stop.kind not in ("reload", "end") and stop.waiting > problem.time_tolerance
    ]
    if waits and (problem.travel_times or waits[-1].waiting >= amount - problem.time_tolerance):
        # By the time of day the ways that follow may take longer or shorter.
        least = waits[-1].waiting if problem.travel_times else min(amount, waits[-1].waiting)
        begun = waits[-1].reached + waits[-1].waiting
        changes.append(Change("opening", least, begun - least, (waits[-1].node,)))
    return changes


def _released(problem: Problem, plan: RoutePlan, amount: float, before: int) -> list[Change]:
    """The goods for which the last trip that begins before a place waits, earlier."""
    if problem.release is None:
        return []
    begins = [p for p, s in enumerate(plan.stops[:before]) if s.kind in ("start", "reload")]
    for begin in reversed(begins):
        carried = _trip_from(plan.stops, begin)
        if plan.vehicle is not None and plan.vehicle.on_board is not None:
            carried = [node for node in carried if node not in (plan.vehicle.on_board or ())]
        moment = max((float(problem.release[node]) for node in carried), default=-math.inf)
        if moment < plan.stops[begin].left - problem.time_tolerance:
            continue  # it does not wait for them
        limit = moment - amount
        nodes = tuple(node for node in carried if problem.release[node] > limit)
        return [Change("release", amount, limit, nodes)]
    return []


def _trip_from(stops: Sequence[Stop], begin: int) -> list[int]:
    """The customers from a place to the next reload."""
    nodes = []
    for stop in stops[begin + 1 :]:
        if stop.kind in ("reload", "end"):
            break
        nodes.append(stop.node)
    return nodes


def _for_breaks(problem: Problem, plan: RoutePlan, terms: Terms) -> list[Change]:
    """Breaks that may begin later, or a shift that leaves time for them."""
    nodes = [stop.node for stop in plan.stops]
    changes = []
    closings = [float(one.windows[-1][1]) for one in terms.breaks]
    after = [plan.stops[-1].left - closing for closing in closings]
    few, many = 0.0, max((span for span in after if span > 0), default=0.0)
    found = _with_breaks(problem, nodes, terms, many) if many else None
    for _ in range(_HALVINGS if found is not None else 0):
        half = (few + many) / 2
        tried = _with_breaks(problem, nodes, terms, half)
        few, many, found = (half, many, found) if tried is None else (few, half, tried)
    if found is not None:
        spans = [pause.begin - closings[pause.number - 1] for pause in found.pauses or ()]
        late = tuple(n for n, span in enumerate(spans, start=1) if span > problem.time_tolerance)
        amount = max(spans)
        limit = max((closings[number - 1] + amount for number in late), default=0.0)
        changes.append(Change("break", amount, limit, vehicle=terms.number, breaks=late))
    longer = schedule_route(problem, nodes, replace(terms, back_by=math.inf))
    if math.isfinite(terms.back_by) and longer is not None and longer.pauses is not None:
        excess = longer.end - terms.back_by
        changes.append(Change("window", excess, longer.end, (), terms.number))
    return changes


def _with_breaks(
    problem: Problem, nodes: Sequence[int], terms: Terms, span: float
) -> Schedule | None:
    """The schedule where all breaks may begin so much later; None where that is not enough."""
    later = tuple(
        replace(one, windows=(*one.windows[:-1], (one.windows[-1][0], one.windows[-1][1] + span)))
        for one in terms.breaks
    )
    found = schedule_route(problem, nodes, replace(terms, breaks=later))
    return None if found is None or found.pauses is None or found.late else found


def _longer_rides(problem: Problem, plan: RoutePlan) -> list[Change]:
    """All rides that are too long on this route, longer by the same: as much as the worst needs."""
    nodes = [stop.node for stop in plan.stops]
    rides = rides_of(problem, nodes)
    if problem.has_route_rules:
        takes = _least_rides(problem, plan, rides)
    else:
        takes = [_shortest_ride(plan.stops[first : last + 1]) for first, last, _ in rides]
    excess = {
        (nodes[first], nodes[last]): (ride - limit, ride)
        for (first, last, limit), ride in zip(rides, takes, strict=True)
        if ride > limit + problem.time_tolerance
    }
    amount = max((more for more, _ in excess.values()), default=0.0)
    longest = max((ride for _, ride in excess.values()), default=0.0)
    return [Change("ride", amount, longest, tuple(node for pair in excess for node in pair))]


def _least_rides(problem: Problem, plan: RoutePlan, rides: Sequence[Ride]) -> list[float]:
    """How long each ride takes where all may take as little more as there is a schedule for.

    The times of the plan are those without limits, so that what is too long there is enough.
    """
    nodes = [stop.node for stop in plan.stops]
    terms = plan.vehicle or problem.uniform_terms(nodes[0])
    begun = [stop.reached + stop.waiting for stop in plan.stops]
    left = [stop.left for stop in plan.stops]
    takes = [begun[last] - left[first] for first, last, _ in rides]
    few, many = 0.0, max(ride - limit for ride, (_, _, limit) in zip(takes, rides, strict=True))
    for _ in range(_RIDE_HALVINGS):
        half = (few + many) / 2
        found = schedule_route(problem, nodes, terms, half)
        if found is None or found.ride is not None:
            few = half
            continue
        many = half
        takes = [found.begun[last] - found.left[first] for first, last, _ in rides]
    return takes


def _shortest_ride(stops: Sequence[Stop]) -> float:
    """From a pickup to its delivery, if all between begins as late as the delivery allows."""
    last = stops[-1]
    begun = latest = last.reached + last.waiting
    for stop, following in reversed(list(pairwise(stops))):
        latest = min(stop.closing, latest - following.leg_duration - following.pause - stop.service)
    return begun - latest - stops[0].service


# ---------------------------------------------------------------------------------- of relations


def _of_relations(problem: Problem, nodes: Route, faults: Sequence[Violation]) -> list[Change]:
    """One relation less for each that the route breaks."""
    codes = {fault.code for fault in faults}
    changes = []
    if "lifo" in codes:
        changes.append(Change("lifo", 1.0))
    if "order" in codes:
        wrong = [
            pair
            for pair in problem.order
            if set(pair) <= set(nodes) and nodes.index(pair[1]) < nodes.index(pair[0])
        ]
        flat = tuple(node for pair in wrong for node in pair)
        changes.append(Change("order", float(len(wrong)), None, flat))
    for code in ("same_route", "different_routes"):
        if code not in codes:
            continue
        blamed = {fault.node for fault in faults if fault.code == code}
        sets = [one for one in getattr(problem, code) if blamed & set(one)]
        here = tuple(sorted({node for node in nodes if any(node in one for one in sets)}))
        changes.append(Change(code, float(len(sets)), None, here))
    return changes


# The most promising ways that are tried on the changed instance before none is reported.
_MOST_TRIED = 24
# After a new arc the rest of the route is judged for the first time, and may need a change, too.
_MOST_ROUNDS = 3


def rank(
    insertions: Insertions, found: Iterable[Insertion]
) -> list[tuple[tuple[Change, ...], Insertion]]:
    """Ways that changes would mend, each with these, by how little it takes.

    One change comes before several; then the smaller share of what is changed; then the cheaper
    plan. A way that fits needs no change, and comes first.
    """
    problem = insertions.problem
    # Where goods are only handed over, a route carries the same wherever a customer comes in.
    alike = problem.vehicles is None and not problem.pairs and not (problem.loads < 0).any()
    alike = alike and problem.pickup is None
    loaded: dict[int | None, list[tuple[Change, ...]]] = {}
    promising = []
    for insertion in found:
        insertions.deadline.check()
        is_known = alike and {fault.code for fault in insertion.faults} == {"capacity"}
        if is_known and insertion.route in loaded:
            options = loaded[insertion.route]
        else:
            options = needed(insertions.sheet, insertion.nodes, insertion.faults, insertion.vehicle)
            if is_known:
                loaded[insertion.route] = options
        promising += [(changes, insertion) for changes in options]
    return sorted(promising, key=lambda entry: _size(problem, *entry))


def _size(
    problem: Problem, changes: tuple[Change, ...], insertion: Insertion
) -> tuple[int, float, float]:
    return len(changes), sum(change.relative(problem) for change in changes), insertion.extra


def relaxations(
    insertions: Insertions, ranked: Iterable[tuple[tuple[Change, ...], Insertion]]
) -> list[Relaxation]:
    """The smallest verified change of each kind, the cheapest of all first.

    Several changes at once are named only where no single one helps.
    """
    best: dict[tuple[str, ...], Relaxation] = {}
    tried: dict[tuple[str, ...], int] = {}
    for changes, insertion in ranked:
        insertions.deadline.check()
        kinds = tuple(sorted(change.kind for change in changes))
        if kinds in best or tried.get(kinds, 0) >= _MOST_TRIED or (len(kinds) > 1 and best):
            continue
        tried[kinds] = tried.get(kinds, 0) + 1
        relaxation = _verified(insertions, insertion, changes)
        if relaxation is not None:
            # The changed instance may have asked for more.
            best.setdefault(tuple(sorted(c.kind for c in relaxation.changes)), relaxation)
        if not kinds:
            break  # nothing needs to change
    problem = insertions.problem
    found = sorted(best.values(), key=lambda one: _size(problem, one.changes, one.insertion))
    return [one for one in found if len(one.changes) <= max(len(found[0].changes), 1)]


def _verified(
    insertions: Insertions, insertion: Insertion, changes: tuple[Change, ...]
) -> Relaxation | None:
    """The changes, once the referee passes the route on the changed instance; else None."""
    routes = insertions.plan_with(insertion)
    number = insertion.route or len(routes)
    made: tuple[Change, ...] = ()
    for _ in range(_MOST_ROUNDS):
        made += changes
        try:
            problem = change_all(insertions.problem, made)
        except ProblemError:
            return None
        faults = [
            fault
            for fault in judge(problem, routes).violations
            if fault.route == number or lacks_vehicle(fault) or _is_new(insertions, fault)
        ]
        if not faults:
            return Relaxation(made, insertion, routes)
        further = needed(problem, insertion.nodes, faults)
        if not further or {c.kind for c in further[0]} & {c.kind for c in made}:
            return None
        changes = further[0]
    return None


def _is_new(insertions: Insertions, fault: Violation) -> bool:
    """Whether another route has lost its vehicle, or whom it belongs with, to this one."""
    differ = insertions.problem.vehicles is not None or insertions.related
    return differ and fault.route is not None and fault.message not in insertions.known
