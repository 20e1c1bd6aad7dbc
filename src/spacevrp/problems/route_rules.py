"""Rules of routes on a problem as a whole, and the checks of all of them (docs/concepts).

Working time, several trips, and times that depend on the vehicle or on the time of day.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from spacevrp.problems.clock import as_durations, told
from spacevrp.problems.conversion import Array, per_node, plain_array, refuse_nodes, show
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import ROUTE_RULES, Vehicle, unlearned_terms
from spacevrp.problems.problem_data import ProblemData

# What each rule is called in the name of a variant.
RULE_WORDS = {
    "closed": "several windows",
    "release": "release times",
    "setup": "setup times",
    "travel_times": "travel times by time of day",
    **ROUTE_RULES,
}


def as_setup(setup: Any, size: int, unit: str) -> Array | None:
    """Durations (N,); None where all are 0."""
    array = per_node("setup", as_durations(plain_array(setup), unit), size, 0.0)
    return array if (array != 0).any() else None


def least_durations(problem: ProblemData) -> Distances:
    """The least of the travel times, element by element; beside them there are no durations."""
    least = np.minimum.reduce([matrix for _, matrix in problem.travel_times])
    given = problem.durations
    if given is not problem.distances and not np.array_equal(given.matrix(), least):
        raise ProblemError("durations", "none beside travel_times", "both")
    return Distances(matrix=least, field="travel_times")


def unlearned_rule(problem: ProblemData) -> str | None:
    """What a problem has that the search knows, but not the network and most solvers; or None."""
    for rule in problem.route_rules:
        return f"{rule} of vehicles" if rule in ROUTE_RULES else rule
    term = unlearned_terms(problem.fleet)
    return None if term is None else f"{term} of vehicles"


# ---------------------------------------------------------------------------- checks of a problem


def check_route_rules(problem: ProblemData) -> None:
    """Raise for the first rule of the problem that contradicts itself or the others."""
    if not problem.route_rules:
        return
    if problem.variant is not None:
        expected = "nothing beside a declared variant"
        raise ProblemError(problem.route_rules[0], expected, problem.variant)
    if not problem.depots:
        raise ProblemError(problem.route_rules[0], "nothing without a depot", "a value")
    _check_gaps(problem)
    _check_release(problem)
    _check_setup(problem)
    _check_travel_times(problem)


def _check_gaps(problem: ProblemData) -> None:
    before = (-1, 0.0, -np.inf)
    for node, first, last in problem.closed:
        if node in problem.depots:
            raise ProblemError("closed", "customers", "a depot", node=node)
        if last > problem.windows[node, 1] or (node == before[0] and first < before[2]):
            received = f"{told(problem.clock, first)} to {told(problem.clock, last)}"
            expected = "gaps within the window that do not overlap"
            raise ProblemError("closed", expected, received, node=node)
        before = (node, first, last)


def _check_release(problem: ProblemData) -> None:
    if problem.release is None:
        return
    for node in np.flatnonzero(~np.isneginf(problem.release)).tolist():
        moment = float(problem.release[node])
        received = told(problem.clock, moment)
        if not np.isfinite(moment):
            raise ProblemError("release", "a moment, or None", received, node=node)
        if node in problem.depots:
            if moment > problem.windows[node, 0]:
                raise ProblemError("release", "None at a depot", received, node=node)
        elif node in problem.paired_customers or (problem.loads[node] < 0).any():
            expected = "None where nothing comes from a depot (a pickup, or one of a pair)"
            raise ProblemError("release", expected, received, node=node)


def _check_setup(problem: ProblemData) -> None:
    if problem.setup is None:
        return
    bad = ~(np.isfinite(problem.setup) & (problem.setup >= 0))
    refuse_nodes("setup", problem.setup, bad, "a duration of at least 0")
    for depot in problem.depots:
        if problem.setup[depot] != 0:
            raise ProblemError("setup", "0 at a depot", str(problem.setup[depot]), node=depot)


def _check_travel_times(problem: ProblemData) -> None:
    """In the order of time, and such that to leave later is never to arrive earlier."""
    for moment, matrix in problem.travel_times:
        if not np.isfinite(moment):
            raise ProblemError("travel_times", "finite moments", str(moment))
        # Whatever else can be wrong with durations is said of the least of them.
        Distances(matrix=matrix, field=f"travel_times at {told(problem.clock, moment)}")
    slowest = min((terms.speed_factor for terms in problem.fleet), default=1.0)
    for (moment, matrix), (later, next_matrix) in pairwise(problem.travel_times):
        between = f"{told(problem.clock, moment)} and {told(problem.clock, later)}"
        if not moment < later:
            raise ProblemError("travel_times", "moments in order, each once", between)
        if (np.isinf(matrix) != np.isinf(next_matrix)).any():
            origin, target = np.argwhere(np.isinf(matrix) != np.isinf(next_matrix))[0].tolist()
            received = f"the arc from node {origin} to node {target} at one of {between}"
            raise ProblemError("travel_times", "an arc at all moments or at none", received)
        with np.errstate(invalid="ignore"):  # arcs that never exist
            fall = np.where(np.isinf(matrix), 0.0, matrix - next_matrix) / slowest
        if (fall > later - moment).any():
            origin, target = np.argwhere(fall > later - moment)[0].tolist()
            raise ProblemError(
                "travel_times",
                "durations that fall no faster than time passes, so that who leaves later "
                "arrives later",
                f"from {matrix[origin, target]:g} to {next_matrix[origin, target]:g} between "
                f"{between}, from node {origin} to node {target}",
            )


# ------------------------------------------------------------------------------ checks of a type


def check_rules_of_type(problem: ProblemData, vehicle: Vehicle) -> None:
    """Raise for the first rule of a type that contradicts itself or the nodes."""
    if vehicle.max_duration in (None, np.inf):
        for field in ("max_overtime", "overtime_cost"):
            if getattr(vehicle, field) > 0:
                raise ProblemError(field, "0 without max_duration", str(getattr(vehicle, field)))
    _check_latest_start(problem, vehicle)
    for node, duration in vehicle.service:
        if not 0 <= node < problem.size:
            raise ProblemError("service", f"nodes from 0 to {problem.size - 1}", show(node))
        if not 0 <= duration < np.inf:
            raise ProblemError("service", "a duration of at least 0", str(duration), node=node)
    _check_reloads(problem, vehicle)
    _check_on_board(problem, vehicle)


def _check_latest_start(problem: ProblemData, vehicle: Vehicle) -> None:
    if vehicle.latest_start is None:
        return
    depot = problem.depots[0] if vehicle.start is None else vehicle.start
    opening = float(problem.windows[depot, 0])
    earliest = max(opening, -np.inf if vehicle.window is None else vehicle.window[0])
    if vehicle.latest_start < earliest:
        expected = f"not before {told(problem.clock, earliest)}, when it may leave"
        raise ProblemError("latest_start", expected, told(problem.clock, vehicle.latest_start))


def _check_reloads(problem: ProblemData, vehicle: Vehicle) -> None:
    for depot in vehicle.reload_depots:
        if depot not in problem.depots:
            raise ProblemError("reload_depots", f"depots, of {problem.depots}", show(depot))
    if len(set(vehicle.reload_depots)) != len(vehicle.reload_depots):
        raise ProblemError("reload_depots", "each depot once", show(vehicle.reload_depots))
    if vehicle.max_reloads is not None and not vehicle.reload_depots:
        raise ProblemError("max_reloads", "None without reload_depots", show(vehicle.max_reloads))


def _check_on_board(problem: ProblemData, vehicle: Vehicle) -> None:
    if vehicle.on_board is None:
        return
    if vehicle.count != 1:
        raise ProblemError("count", "1 where goods are on board", show(vehicle.count))
    if problem.load_rule != "separate":
        raise ProblemError("on_board", "None where load_rule is not 'separate'", "a value")
    for node in vehicle.on_board:
        if node not in problem.loaded_customers:
            expected = "customers with a delivery that is not of a pair"
            raise ProblemError("on_board", expected, f"node {show(node)}")
        barred = vehicle.allowed is not None and node not in vehicle.allowed
        if barred or node in vehicle.forbidden:
            raise ProblemError("on_board", "customers it may serve", str(node), node=node)
    if len(set(vehicle.on_board)) != len(vehicle.on_board):
        raise ProblemError("on_board", "each customer once", show(vehicle.on_board))
    capacities = problem.capacities if vehicle.capacity is None else vehicle.capacity
    carried = problem.loads[list(vehicle.on_board)].sum(axis=0)
    for load, capacity in zip(carried.tolist(), capacities, strict=True):
        if load > capacity * (1 + 1e-6):
            expected = f"at most the capacity {capacity:g}"
            raise ProblemError("on_board", expected, f"a load of {load:g}")
