"""The smallest change of an instance that lets a customer in, found and verified by the referee."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.conversion import NodeNumber
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.explanation.insertions import Insertion, Insertions, Route, lacks_vehicle
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.plan import RoutePlan, make_plan
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import Violation, judge

# Codes of violations that some change mends. Too many of a type of vehicle is one of `vehicle`.
_MENDABLE = {"capacity", "length", "duration", "window", "fleet", "vehicle", "arc"}
# The most promising ways that are tried on the changed instance before none is reported.
_MOST_TRIED = 24
# After a new arc the rest of the route is judged for the first time, and may need a change, too.
_MOST_ROUNDS = 3
# No change of a number is as large as a road that has to be built.
_ROAD = 1e6


@dataclass(frozen=True)
class Change:
    """One change of an instance.

    Attributes
    ----------
    kind
        ``capacity``, ``length`` or ``duration`` (the limit of a route), ``window`` (closing later),
        ``fleet`` (further routes), ``permission`` (a vehicle may serve whom it may not now) or
        ``arc`` (a road where there is none).
    amount
        By how much, in the user's units; how many routes, permissions or roads.
    limit
        What the limit is then; the latest closing of the windows. None for permissions and roads.
    nodes
        Whose windows close later (none where only a shift ends later), who may be served, or the
        ends of the roads, two each.
    vehicle
        Number of the type of vehicle that changes; None where there are no types.
    load
        Number of the kind of load of a capacity.
    """

    kind: str
    amount: float
    limit: float | None = None
    nodes: Route = ()
    vehicle: int | None = None
    load: int = 0

    def add_to(self, changes: dict[str, Any], problem: Problem) -> None:
        """Add the change to changed fields of an instance."""
        if self.kind == "arc":
            self._add_roads(changes, problem)
        if self.kind == "window" and self.nodes:
            windows = np.array(changes.get("windows", problem.windows))
            windows[list(self.nodes), 1] += self.amount
            changes |= {"windows": windows, "closed": problem.closed}
        if self.vehicle is not None and problem.vehicles is not None:
            types = list(changes.get("vehicles", problem.vehicles))
            fields = self._of_type(problem, types[self.vehicle])
            types[self.vehicle] = replace(types[self.vehicle], **fields)
            changes["vehicles"] = types
        elif self.kind == "capacity":
            capacities = [*np.atleast_1d(changes.get("capacity", problem.capacities)).tolist()]
            capacities[self.load] = self.limit
            changes["capacity"] = capacities if len(capacities) > 1 else capacities[0]
        elif self.kind == "length":
            changes["max_length"] = self.limit
        elif self.kind == "fleet":
            changes["max_routes"] = round(self.limit or 0)

    def _of_type(self, problem: Problem, vehicle: Vehicle) -> dict[str, Any]:
        """The fields of the type of vehicle that change."""
        if self.kind == "permission":
            more = map(NodeNumber, self.nodes)
            allowed = None if vehicle.allowed is None else (*vehicle.allowed, *more)
            kept = tuple(node for node in vehicle.forbidden if node not in self.nodes)
            return {"allowed": allowed, "forbidden": kept}
        terms = problem.fleet[self.vehicle or 0]
        if self.kind == "capacity":
            capacities = [*terms.capacities]
            capacities[self.load] = self.limit or 0.0
            return {"capacity": capacities}
        if self.kind in ("length", "duration"):
            return {f"max_{self.kind}": self.limit}
        if self.kind == "fleet":
            return {"count": round(self.limit or 0)}
        first = terms.leaves_from if np.isfinite(terms.leaves_from) else None
        last = terms.back_by + self.amount if np.isfinite(terms.back_by) else None
        return {"window": (first, last)}

    def _add_roads(self, changes: dict[str, Any], problem: Problem) -> None:
        """Roads of no length: how long they may be is for the user to say."""
        names = ["distances"]
        if problem.durations is not problem.distances:
            names.append("durations")
        for name in names:
            held: Distances = changes.get(name, getattr(problem, name))
            if not held.has_missing_arcs:
                continue
            matrix = np.array(held.matrix())
            for origin, target in zip(self.nodes[::2], self.nodes[1::2], strict=True):
                if np.isinf(matrix[origin, target]):
                    matrix[origin, target] = 0.0
            changes[name] = Distances(matrix=matrix, field=name)

    def relative(self, problem: Problem) -> float:
        """The change as a share of what it changes, so that changes of all kinds compare."""
        if self.kind == "arc":
            return _ROAD * self.amount
        if self.kind == "permission":
            return self.amount  # as much as a second vehicle where there was one
        if self.kind == "window":
            return self.amount / horizon(problem)
        before = (self.limit or 0.0) - self.amount
        return self.amount / before if before > 0 else self.amount


@dataclass(frozen=True)
class Relaxation:
    """What would let a customer in: changes, nearly always one, and the way in.

    Attributes
    ----------
    changes
        None of them where the customer fits as it is.
    way
        The route that serves the customer then.
    routes
        The whole plan then; the referee finds nothing wrong with that route in it.
    message
        The changes in words, and where they let the customer in.
    """

    changes: tuple[Change, ...]
    insertion: Insertion = field(repr=False)
    routes: tuple[Route, ...] = field(repr=False)
    message: str = ""

    def apply(self, problem: Problem) -> Problem:
        """The instance with all changes."""
        return change_all(problem, self.changes)


def change_all(problem: Problem, changes: Iterable[Change]) -> Problem:
    """The instance with the changes, checked once they are all made.

    A declared variant is left out where it forbids them, as a second route in a TSP.
    """
    fields: dict[str, Any] = {}
    for change in changes:
        change.add_to(fields, problem)
    try:
        return problem.replace(**fields)
    except ProblemError:
        if problem.variant is None:
            raise
        # The rule for loads goes with the variant unless it is said.
        return problem.replace(variant=None, load_rule=problem.load_rule, **fields)


def horizon(problem: Problem) -> float:
    """How long the day is: from the first opening to the last closing, shifts included."""
    shifts = [] if problem.vehicles is None else problem.fleet
    closings = np.array([*problem.windows[:, 1], *(terms.back_by for terms in shifts)])
    first = min((terms.leaves_from for terms in shifts), default=-np.inf)
    first = max(first, problem.day_start)
    last = float(closings[np.isfinite(closings)].max(initial=first))
    return max(last - first, problem.time_tolerance)


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
    loaded: dict[int | None, tuple[Change, ...] | None] = {}
    promising = []
    for insertion in found:
        insertions.deadline.check()
        if (
            alike
            and all(fault.code == "capacity" for fault in insertion.faults)
            and insertion.faults
        ):
            if insertion.route not in loaded:
                loaded[insertion.route] = needed(
                    insertions.sheet, insertion.nodes, insertion.faults
                )
            changes = loaded[insertion.route]
        else:
            changes = needed(insertions.sheet, insertion.nodes, insertion.faults, insertion.vehicle)
        if changes is not None:
            promising.append((changes, insertion))
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


def needed(
    problem: Problem, nodes: Route, faults: Sequence[Violation], vehicle: int | None = None
) -> tuple[Change, ...] | None:
    """The changes that would mend the faults of a route; None where there are none such.

    ``vehicle`` is the type of vehicle that they are of, where it is not the one that suits best.
    """
    codes = {fault.code for fault in faults}
    if codes - _MENDABLE or ("arc" in codes and problem.travel_times):
        return None
    changes: list[Change] = []
    if codes - {"arc", "fleet"}:
        driven_by = None if vehicle is None else (vehicle,)
        (plan,) = make_plan(problem, FleetRoutes([nodes], driven_by), 0.0).routes
        vehicle = None if plan.vehicle is None else plan.vehicle.number
        if "capacity" in codes:
            changes += _larger_capacities(problem, plan, vehicle)
        if "length" in codes:
            length = length_of(problem, plan)
            excess = length - max_length_of(problem, plan)
            changes.append(Change("length", excess, length, vehicle=vehicle))
        if "duration" in codes and plan.vehicle is not None:
            regular = plan.duration - plan.vehicle.max_overtime
            excess = regular - plan.vehicle.max_duration
            changes.append(Change("duration", excess, regular, vehicle=vehicle))
        if "window" in codes:
            changes.append(_later_closing(problem, plan, vehicle))
        refused = tuple(f.node for f in faults if _is_refusal(f) and f.node is not None)
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
    if any(not 0 < change.amount < np.inf for change in changes):
        return None
    return tuple(changes)


def _is_refusal(fault: Violation) -> bool:
    """Whether a vehicle may not serve a customer on its route."""
    return fault.code == "vehicle" and fault.route is not None


def capacities_of(problem: Problem, plan: RoutePlan) -> tuple[float, ...]:
    """What the vehicle of a route carries of every kind of load."""
    return problem.capacities if plan.vehicle is None else plan.vehicle.capacities


def peaks_of(plan: RoutePlan) -> list[float]:
    """The largest load of every kind on the way."""
    return [max(loads) for loads in zip(*(stop.loads for stop in plan.stops), strict=True)]


def length_of(problem: Problem, plan: RoutePlan) -> float:
    """How long a route is, whatever a unit of it costs."""
    nodes = [stop.node for stop in plan.stops]
    return sum(problem.distances.between(*leg) for leg in pairwise(nodes))


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
        if further is None or {c.kind for c in further} & {c.kind for c in made}:
            return None
        changes = further
    return None


def _is_new(insertions: Insertions, fault: Violation) -> bool:
    """Whether another route has lost its vehicle to this one."""
    differ = insertions.problem.vehicles is not None
    return differ and fault.route is not None and fault.message not in insertions.known
