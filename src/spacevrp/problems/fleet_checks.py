"""The cross-checks of a fleet: each type on its own, and that every customer can be served."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spacevrp.problems.clock import told
from spacevrp.problems.conversion import Array, show
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import BOUNDS, Terms, Vehicle, blame_vehicle, called
from spacevrp.problems.route_rules import check_rules_of_type
from spacevrp.problems.scales import Scales

# From a depot to all nodes and back, each (N,): direct arcs or shortest paths.
Ways = Callable[[Distances, int, tuple[int, ...]], tuple[Array, Array]]
# A message gives the reasons of so many types.
_MOST_NAMED = 4


def check_vehicles(problem: Scales) -> None:
    """Raise for the first type that contradicts itself, the nodes or the other types."""
    if problem.has_own_fleet and problem.variant is not None:
        field = "vehicles" if problem.vehicles is not None else "demand"
        expected = "alike vehicles and one kind of load in a declared variant"
        raise ProblemError(field, expected, f"others in {problem.variant}")
    if problem.vehicles is None:
        return
    if not problem.depots:
        raise ProblemError("vehicles", "none without a depot", "some")
    owners: dict[str, dict[Any, int]] = {field: {} for field in ("name", *_OWN)}
    for number, vehicle in enumerate(problem.vehicles):
        try:
            _check_type(problem, vehicle)
            if vehicle.name and (first := owners["name"].setdefault(vehicle.name, number)) < number:
                expected = f"a name of its own, type {first} has the same"
                raise ProblemError("name", expected, show(vehicle.name))
            for field, whose in _OWN.items():
                for customer in getattr(vehicle, field) or ():
                    if (owner := owners[field].setdefault(customer, number)) != number:
                        expected = f"{whose} type {owner} already"
                        raise ProblemError(field, expected, str(customer), node=customer)
        except ProblemError as error:
            raise blame_vehicle(error, number, vehicle.name) from None


# What no two types share, and whose it is.
_OWN = {
    "pinned": "a customer of its own, pinned to",
    "on_board": "goods of its own, on board of",
}


def _check_type(problem: Scales, vehicle: Vehicle) -> None:
    for field, (is_within, expected) in BOUNDS.items():
        value = getattr(vehicle, field)
        if value is not None and not is_within(value):
            raise ProblemError(field, expected, show(value))
    for capacity in vehicle.capacity or ():
        if not capacity > 0:
            raise ProblemError("capacity", "more than 0", str(capacity))
    _check_ends(problem, vehicle)
    _check_customers(problem, vehicle)
    check_rules_of_type(problem, vehicle)
    if vehicle.window is not None:
        first, last = vehicle.window
        if not first <= last or first == np.inf:
            received = f"{told(problem.clock, first)} to {told(problem.clock, last)}"
            raise ProblemError("window", "an end after the beginning", received)


def _check_ends(problem: Scales, vehicle: Vehicle) -> None:
    for field in ("start", "end"):
        depot = getattr(vehicle, field)
        if depot is not None and depot not in problem.depots:
            raise ProblemError(field, f"one of the depots {problem.depots}", show(depot))
    if vehicle.start is None and len(problem.depots) > 1:
        raise ProblemError("start", f"one of the depots {problem.depots}", "none of them")
    if vehicle.open_route and vehicle.end is not None:
        raise ProblemError("end", "none of an open route", show(vehicle.end))


def _check_customers(problem: Scales, vehicle: Vehicle) -> None:
    customers = set(problem.customers)
    for field in ("allowed", "forbidden", "pinned"):
        listed = getattr(vehicle, field) or ()
        for node in listed:
            if node not in customers:
                raise ProblemError(field, "customers", f"node {show(node)}")
        if len(set(listed)) != len(listed):
            raise ProblemError(field, "each customer once", show(listed))
    if vehicle.allowed is not None and vehicle.forbidden:
        raise ProblemError("allowed", "either allowed or forbidden customers", "both")
    for node in vehicle.pinned:
        if node in vehicle.forbidden or node not in (vehicle.allowed or customers):
            raise ProblemError("pinned", "a customer it may serve", str(node), node=node)
    if vehicle.pinned and vehicle.count != 1:
        raise ProblemError("count", "1 where customers are pinned", show(vehicle.count))


def check_pins(problem: Scales) -> None:
    """What is pinned must itself be possible: whatever follows, it only becomes more."""
    for terms in problem.fleet:
        if not terms.pinned:
            continue
        try:
            _check_way(problem, terms)
            for kind, capacity in enumerate(() if terms.may_reload else terms.capacities):
                load = _pinned_load(problem, terms, kind)
                if load > capacity + problem.load_slack(capacity, kind):
                    expected = f"at most the capacity {capacity:g}"
                    raise ProblemError("pinned", expected, f"a load of {load:g}")
        except ProblemError as error:
            raise blame_vehicle(error, terms.number, terms.name) from None


def _check_way(problem: Scales, terms: Terms) -> None:
    """Arcs, windows and length as far as the last pinned customer."""
    clock = max(float(problem.windows[terms.start, 0]), terms.leaves_from)
    length, before = 0.0, terms.start
    service = terms.service_at(problem.service)
    for node in terms.pinned:
        length += problem.distances.between(before, node)
        clock += problem.durations.between(before, node) / terms.speed_factor
        opening, closing = (float(time) for time in problem.windows[node])
        if np.isinf(length) or np.isinf(clock):
            raise ProblemError("pinned", "a way there", "no arc", node=node)
        if clock > closing + problem.time_tolerance:
            when, closes = (told(problem.clock, time) for time in (clock, closing))
            expected = f"a window still open at {when}, when the vehicle gets there"
            raise ProblemError("pinned", expected, f"closing at {closes}", node=node)
        clock = max(clock, opening) + float(service[node])
        before = node
    for what, limit, value, slack in (
        ("length", terms.max_length, length, problem.length_tolerance),
        ("end of the shift", terms.back_by, clock, problem.time_tolerance),
    ):
        if value > limit + slack:
            expected = f"a {what} of at least {value:g}, when they are served"
            raise ProblemError("pinned", expected, f"{limit:g}")


def _pinned_load(problem: Scales, terms: Terms, kind: int) -> float:
    """The room that the pinned customers need, by the load rule."""
    amounts = [float(problem.loads[node, kind]) for node in terms.pinned]
    sums = np.cumsum([0.0, *amounts])
    if problem.pairs:  # nothing is on board at the start
        return float(-sums.min())
    if problem.load_rule == "separate":
        delivered = np.cumsum([0.0, *(max(amount, 0.0) for amount in amounts)])
        collected = np.cumsum([0.0, *(max(-amount, 0.0) for amount in amounts)])
        return float((delivered[-1] - delivered + collected).max())
    return float(sums.max() - sums.min())


# ---------------------------------------------------------------------------------- who can serve


def check_servable(problem: Scales, compulsory: Sequence[int], ways: Sequence[Ways]) -> None:
    """Every compulsory customer must be servable by some vehicle, other stops on its way allowed.

    ``ways`` are tried in turn: nearly always the direct arcs suffice.
    """
    left = np.array(compulsory)
    faults: list[tuple[Terms, Array]] = []
    for way in ways:
        able = np.zeros(problem.size, dtype=bool)
        faults = []
        for terms in problem.fleet:
            fault = _faults(problem, terms, way)
            able |= fault == _FINE
            faults.append((terms, fault))
        left = left[~able[left]]
        if not len(left):
            return
    node = int(left[0])
    reasons = [
        f"{called(terms)} {_WORDS[int(fault[node])]}" for terms, fault in faults[:_MOST_NAMED]
    ]
    raise ProblemError("vehicles", "a type that can serve it", "; ".join(reasons), node=node)


# What keeps a vehicle from serving a customer, in the order in which it is looked for.
_WORDS = (
    "may not",
    "cannot carry it",
    "has no way there and home",
    "would travel too far",
    "would be late",
)
_FINE = len(_WORDS)


def _faults(problem: Scales, terms: Terms, ways: Ways) -> Array:
    """What first keeps a vehicle of that type from serving each node, (N,)."""
    passed_by = tuple(depot for depot in problem.depots if depot not in terms.reload_depots)
    there, back = _round_trip(problem.distances, terms, ways, passed_by)
    time_there, time_back = there, back
    if problem.durations is not problem.distances:
        time_there, time_back = _round_trip(problem.durations, terms, ways, passed_by)
    if terms.speed_factor != 1.0:
        time_there, time_back = time_there / terms.speed_factor, time_back / terms.speed_factor
    slack = problem.time_tolerance
    opening, closing = problem.windows[:, 0], problem.windows[:, 1]
    arrival = max(float(opening[terms.start]), terms.leaves_from) + time_there
    returned = np.maximum(arrival, opening) + terms.service_at(problem.service) + time_back
    back_by = terms.back_by
    if terms.end is not None:
        back_by = min(back_by, float(closing[terms.end]))
    late = (arrival > closing + slack) | (returned > back_by + slack)
    capacities = np.array(terms.capacities)
    room = capacities + [problem.load_slack(c, kind) for kind, c in enumerate(capacities)]
    barred = np.zeros(problem.size, dtype=bool)
    barred[sorted(terms.forbidden)] = True
    length = there + back
    cut_off = ~(np.isfinite(length) & np.isfinite(time_there + time_back))
    heavy = (np.abs(problem.loads) > room).any(axis=1)
    long = length > terms.max_length + problem.length_tolerance
    return np.select([barred, heavy, cut_off, long, late], range(_FINE), _FINE)


def _round_trip(
    lengths: Distances, terms: Terms, ways: Ways, depots: tuple[int, ...]
) -> tuple[Array, Array]:
    """From the start to all nodes, and from all nodes to the end, (N,) each."""
    there, _ = ways(lengths, terms.start, depots)
    if terms.end is None:
        return there, np.zeros_like(there)
    return there, ways(lengths, terms.end, depots)[1]
