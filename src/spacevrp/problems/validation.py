"""Every cross-check of an instance, made once at construction, so that later code can trust it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spacevrp.problems.clock import told
from spacevrp.problems.conversion import Array, refuse_nodes, show
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import MOST_VEHICLES
from spacevrp.problems.fleet_checks import check_pins, check_servable, check_vehicles
from spacevrp.problems.relations import check_relations
from spacevrp.problems.route_rules import check_route_rules
from spacevrp.problems.scales import Scales
from spacevrp.problems.variants import flags_of, parse_variant


def validate(problem: Scales) -> None:
    """Raise :class:`ProblemError` for the first contradiction found."""
    _check_nodes(problem)
    _check_scalars(problem)
    check_vehicles(problem)
    _check_demand(problem)
    _check_times(problem)
    _check_prizes(problem)
    _check_pairs(problem)
    check_relations(problem)
    check_route_rules(problem)
    _check_without_depot(problem)
    _check_variant(problem)
    check_pins(problem)
    if not problem.allow_unservable:
        _check_reachable(problem)


def _check_nodes(problem: Scales) -> None:
    size = problem.size
    if problem.durations.size != size:
        raise ProblemError("durations", f"{size} nodes", f"{problem.durations.size} nodes")
    for depot in problem.depots:
        if not 0 <= depot < size:
            raise ProblemError("depots", f"0 to {size - 1}", show(depot))
    if len(set(problem.depots)) != len(problem.depots):
        raise ProblemError("depots", "each depot once", show(problem.depots))
    if len(problem.depots) == size:
        raise ProblemError("depots", "at least one customer", "depots only")


def _check_scalars(problem: Scales) -> None:
    for name, value in (
        *(("capacity", capacity) for capacity in problem.capacities),
        ("max_length", problem.max_length),
    ):
        if not value > 0:
            raise ProblemError(name, "more than 0", str(value))
    if not 0 <= problem.min_prize < np.inf:
        raise ProblemError("min_prize", "a finite number of at least 0", str(problem.min_prize))
    limit = problem.max_routes
    if limit is not None and not 1 <= limit <= MOST_VEHICLES:
        expected = f"a whole number from 1 to {MOST_VEHICLES}, or None"
        raise ProblemError("max_routes", expected, show(limit))


def _check_demand(problem: Scales) -> None:
    at_depot = np.zeros(problem.size, dtype=bool)
    at_depot[list(problem.depots)] = True
    for kind, capacity in enumerate(problem.capacities):
        demand = problem.loads[:, kind]
        refuse_nodes("demand", demand, ~np.isfinite(demand), "a finite number")
        refuse_nodes("demand", demand, at_depot & (demand != 0), "0 at a depot")
        # Otherwise each vehicle has its own.
        if problem.vehicles is None and not problem.allow_unservable:
            room = capacity + problem.load_slack(capacity, kind)
            refuse_nodes(
                "demand", demand, np.abs(demand) > room, f"at most the capacity {capacity}"
            )
            if problem.pickup is not None:
                pickup = problem.pickups[:, kind]
                refuse_nodes("pickup", pickup, pickup > room, f"at most the capacity {capacity}")
    both = (problem.loads > 0).any(axis=1) & (problem.loads < 0).any(axis=1)
    expected = "either deliveries or pickups, of all kinds of load"
    refuse_nodes("demand", problem.loads, both, expected)


def _check_times(problem: Scales) -> None:
    opening, closing = problem.windows[:, 0], problem.windows[:, 1]
    refuse_nodes("windows", opening, ~np.isfinite(opening), "a finite opening time")
    never = closing < opening
    if never.any():
        node = int(np.argmax(never))
        received = " to ".join(told(problem.clock, end) for end in problem.windows[node])
        raise ProblemError("windows", "a window that closes after it opens", received, node=node)
    bad = ~(np.isfinite(problem.service) & (problem.service >= 0))
    refuse_nodes("service", problem.service, bad, "a duration of at least 0")


def _check_prizes(problem: Scales) -> None:
    for name in ("prize", "revealed_prize"):
        values = getattr(problem, name)
        if values is not None:
            refuse_nodes(
                name, values, ~(np.isfinite(values) & (values >= 0)), "a prize of at least 0"
            )
    refuse_nodes(
        "penalty", problem.penalty, ~(problem.penalty >= 0), "a penalty of at least 0, or inf"
    )
    limits = [terms.max_length for terms in problem.fleet] or [problem.max_length]
    if problem.maximise_prize and not np.isfinite(limits).all():
        raise ProblemError("max_length", "a limit where prize is maximised", "no limit")


def _check_pairs(problem: Scales) -> None:
    if not problem.pairs:
        return
    partner: dict[int, int] = {}
    for pickup, delivery in problem.pairs:
        for node, other in ((pickup, delivery), (delivery, pickup)):
            if not 0 <= node < problem.size:
                raise ProblemError("pairs", f"0 to {problem.size - 1}", show(node))
            if node in problem.depots:
                raise ProblemError("pairs", "customers", "a depot", node=node)
            if node in partner or node == other:
                raise ProblemError("pairs", "one pair a node", "several", node=node)
            partner[node] = other
        picked, delivered = problem.loads[pickup], problem.loads[delivery]
        if (picked > 0).any() or (picked != -delivered).any():
            expected = f"a pickup (negative) equal to the delivery at node {delivery}"
            received = f"{_bare(picked)} against {_bare(delivered)}"
            raise ProblemError("demand", expected, received, node=pickup)
    if problem.backhaul_last:
        raise ProblemError("backhaul_last", "False beside pairs", "True")


def _bare(amounts: Array) -> str:
    """One number as it is, several in brackets."""
    listed = amounts.tolist()
    return str(listed[0] if len(listed) == 1 else listed)


def _check_without_depot(problem: Scales) -> None:
    """A tour without a depot has no vehicle: nothing to load, no clock, no route to limit."""
    if problem.depots:
        return
    present = {
        "maximise_prize": problem.maximise_prize,
        "demand": bool((problem.loads != 0).any()) or problem.more_demand is not None,
        "windows": problem.inferred_features.time_windows,
        "service": bool((problem.service != 0).any()),
        "max_length": bool(np.isfinite(problem.max_length)),
        "open_routes": problem.open_routes,
        "backhaul_last": problem.backhaul_last,
        "prize": bool((problem.prize != 0).any()),
        "penalty": bool(np.isfinite(problem.penalty).any()),
        "min_prize": problem.min_prize > 0,
        "revealed_prize": problem.revealed_prize is not None,
        "pairs": bool(problem.pairs),
        "max_routes": problem.max_routes != 1,
    }
    for name, is_present in present.items():
        if is_present:
            raise ProblemError(name, "nothing without a depot", "a value")


def _check_variant(problem: Scales) -> None:
    """The data may show less than the declared variant allows, never more."""
    if problem.variant is None:
        return
    declared = parse_variant(problem.variant).features
    # A declared fleet may happen to have a single depot or need a single route, and the other
    # way round a declared single-route problem must be limited to one route.
    undeclared = [flag for flag in problem.inferred_features.active if not getattr(declared, flag)]
    if undeclared:
        raise ProblemError("variant", f"a variant with {', '.join(undeclared)}", problem.variant)
    if declared.depot and not problem.depots:
        raise ProblemError("depots", f"a depot in {problem.variant}", "none")
    if declared.pickup_delivery and not problem.pairs:
        raise ProblemError("pairs", f"pairs in {problem.variant}", "none")
    if declared.pickup_delivery:
        for node in problem.customers:
            if node not in problem.paired_customers:
                raise ProblemError("pairs", f"a partner in {problem.variant}", "none", node=node)
    for name, declares in flags_of(declared).items():
        if declares is True and not getattr(problem, name):
            raise ProblemError(name, f"True in {problem.variant}", "False")


def _check_reachable(problem: Scales) -> None:
    """Every compulsory customer must be servable by a vehicle of its own, other stops allowed."""
    is_compulsory = np.isinf(problem.penalty).tolist()  # one look at an array is dear
    compulsory = [node for node in problem.customers if is_compulsory[node]]
    if not compulsory:
        return
    if problem.vehicles is None:
        _check_connected(problem, compulsory)
    if not problem.depots:
        return
    if problem.vehicles is not None:
        check_servable(problem, compulsory, (_direct_ways, _shortest_ways))
        return
    features = problem.inferred_features
    if features.time_windows:
        _check_in_time(problem, compulsory)
    if features.length_limit:
        _check_in_length(problem, compulsory)


def _check_connected(problem: Scales, compulsory: list[int]) -> None:
    """Arcs must lead to every customer and, on closed routes, back to the same depot."""
    if not (problem.distances.has_missing_arcs or problem.durations.has_missing_arcs):
        return
    exists = np.isfinite(problem.distances.matrix()) & np.isfinite(problem.durations.matrix())
    reached = np.zeros(problem.size, dtype=bool)
    connected = np.zeros(problem.size, dtype=bool)
    for source in problem.depots or (0,):
        others = [depot for depot in problem.depots if depot != source]
        there = _closure(exists, source, others)
        reached |= there
        connected |= there if problem.open_routes else there & _closure(exists.T, source, others)
    for node in compulsory:
        if not reached[node]:
            raise ProblemError("distances", "a way to it", "no arc leads there", node=node)
        if not connected[node]:
            raise ProblemError("distances", "a way back from it", "no arc leads back", node=node)


def _closure(exists: NDArray[np.bool_], source: int, barred: list[int]) -> NDArray[np.bool_]:
    """Nodes that some path from the source reaches without passing a barred node, (N,)."""
    reached = np.zeros(len(exists), dtype=bool)
    reached[[source, *barred]] = True
    frontier = np.array([source])
    while len(frontier):
        fresh = exists[frontier].any(axis=0) & ~reached
        reached |= fresh
        frontier = np.flatnonzero(fresh)
    return reached


def _check_in_time(problem: Scales, compulsory: list[int]) -> None:
    """Some depot must allow a timely arrival and, on closed routes, a timely return."""
    opening, closing = problem.windows[:, 0], problem.windows[:, 1]
    late = np.array(compulsory)
    arrival = end = np.full(problem.size, np.inf)
    # Nearly always the direct arcs suffice, and the shortest paths need not be found.
    for ways in (_direct_ways, _shortest_ways):
        in_time = np.zeros(problem.size, dtype=bool)
        for depot in problem.depots:
            there, back = ways(problem.durations, depot, problem.depots)
            reached = opening[depot] + there
            returned = np.maximum(reached, opening) + problem.service + back
            fits = reached <= closing + problem.time_tolerance
            if not problem.open_routes:
                fits &= returned <= closing[depot] + problem.time_tolerance
            in_time |= fits
            arrival, end = np.minimum(arrival, reached), np.minimum(end, returned)
        late = late[~in_time[late]]
        if not len(late):
            return
    node = int(late[0])
    if arrival[node] > closing[node] + problem.time_tolerance:
        when = told(problem.clock, arrival[node])
        expected = f"a window still open at {when}, the earliest possible arrival"
        received = f"closing at {told(problem.clock, closing[node])}"
        raise ProblemError("windows", expected, received, node=node)
    received = f"earliest return {told(problem.clock, end[node])}"
    raise ProblemError("windows", "a depot still open after serving it", received, node=node)


def _check_in_length(problem: Scales, compulsory: list[int]) -> None:
    too_far = np.array(compulsory)
    shortest = np.full(problem.size, np.inf)
    for ways in (_direct_ways, _shortest_ways):
        for depot in problem.depots:
            there, back = ways(problem.distances, depot, problem.depots)
            length = there if problem.open_routes else there + back
            shortest = np.minimum(shortest, length)
        too_far = too_far[shortest[too_far] > problem.max_length + problem.length_tolerance]
        if not len(too_far):
            return
    node = int(too_far[0])
    expected = f"at least {shortest[node]:g}, the shortest route that visits it"
    raise ProblemError("max_length", expected, f"{problem.max_length:g}", node=node)


def _direct_ways(distances: Distances, depot: int, depots: tuple[int, ...]) -> tuple[Array, Array]:
    """Lengths of the arcs from the depot to all nodes and back, both (N,)."""
    return distances.from_node(depot), distances.to_node(depot)


def _shortest_ways(
    distances: Distances, depot: int, depots: tuple[int, ...]
) -> tuple[Array, Array]:
    """Lengths of shortest paths from the depot to all nodes and back, past no other depot."""
    if distances.coordinates is not None and distances.metric.obeys_triangle:
        return _direct_ways(distances, depot, depots)
    there = _dijkstra(distances.from_node, depot, depots)
    if distances.coordinates is not None:
        return there, there  # every metric on coordinates is symmetric
    return there, _dijkstra(distances.to_node, depot, depots)


def _dijkstra(arcs: Callable[[int], Array], source: int, barred: tuple[int, ...]) -> Array:
    """Dense Dijkstra, N rounds of vector work; paths end but do not pass at a barred node."""
    length = arcs(source).copy()
    resolved = np.zeros(len(length), dtype=bool)
    resolved[list(barred)] = True
    for _ in range(len(length)):
        open_lengths = np.where(resolved, np.inf, length)
        nearest = int(np.argmin(open_lengths))
        if not np.isfinite(open_lengths[nearest]):
            break
        resolved[nearest] = True
        np.minimum(length, length[nearest] + arcs(nearest), out=length)
    return length
