"""What it means where no opening is given: vehicles may leave as early as anybody needs them to.

Minus infinity stands for it here. A problem holds numbers that have the same effect.
"""

from __future__ import annotations

import numpy as np

from spacevrp.problems.clock import TIME_UNITS
from spacevrp.problems.conversion import Array
from spacevrp.problems.fleet import shifts_of
from spacevrp.problems.problem_data import ProblemData
from spacevrp.problems.scales import longest_of


def fill_openings(problem: ProblemData, windows: Array) -> Array:
    """Windows (N, 2) with a number for every opening that is -inf.

    A depot opens so early that each customer can be reached when he opens, as the first of a route:
    to leave any earlier makes no difference to whatever comes after. Where no customer opens or
    closes, it opens with the first shift. Before customers without an opening no vehicle waits, so
    that a vehicle may serve any number of them before a window closes, or a shift ends that has no
    beginning. It leaves early enough for all of them then, though no earlier than at midnight, or a
    day before the first closing where the windows are no times of day.
    """
    absent = np.isneginf(windows[:, 0])
    if not absent.any():
        return windows
    shifts = shifts_of(problem.vehicles or ())
    midnight = None if problem.clock is None else problem.clock.midnight
    day = 24 * TIME_UNITS["h"] / TIME_UNITS[problem.time_unit]
    resolved = windows.copy()
    at_depot = np.zeros(len(windows), dtype=bool)
    at_depot[list(problem.depots)] = True
    of_customers, served = windows[~at_depot], _longest_service(problem)[~at_depot]
    unopened = np.isneginf(of_customers[:, 0])
    # Where no customer opens, one is to be reached when it closes.
    reached = np.where(unopened, of_customers[:, 1], of_customers[:, 0]).min(initial=np.inf)
    begins = np.append(shifts[:, 0], windows[~absent, 0])
    ends = np.append(of_customers[:, 1], shifts[np.isneginf(shifts[:, 0]), 1])
    first_end = float(ends.min(initial=np.inf))
    for depot in np.flatnonzero(absent & at_depot):
        opening = float(reached) - longest_of(_ways_out(problem, int(depot))[~at_depot])
        if np.isinf(opening):  # no customer opens or closes
            opening = float(begins[np.isfinite(begins)].min(initial=np.inf))
        if unopened.any() and np.isfinite(first_end):
            stops = int(unopened.sum())
            takes = (stops + 1) * _longest_way(problem) + float(served[unopened].sum())
            early = first_end - day if midnight is None else midnight
            opening = min(opening, max(first_end - takes, early))
        starts = [vehicle.latest_start for vehicle in problem.vehicles or ()]
        latest = [float(windows[depot, 1]), *(start for start in starts if start is not None)]
        resolved[depot, 0] = min(opening if np.isfinite(opening) else 0.0, *latest)
    departure = float(resolved[at_depot, 0].min(initial=np.inf))
    if np.isinf(departure):
        departure = 0.0
    never_waits = absent & ~at_depot
    resolved[never_waits, 0] = np.minimum(departure, windows[never_waits, 1])
    return resolved


def _slowest(problem: ProblemData) -> float:
    return min((vehicle.speed_factor for vehicle in problem.vehicles or ()), default=1.0)


def _ways_out(problem: ProblemData, depot: int) -> Array:
    """The longest that the way to each node may take, (N,)."""
    ways = problem.durations.from_node(depot)
    for _, matrix in problem.travel_times:
        ways = np.maximum(ways, matrix[depot])
    slowest = _slowest(problem)
    return ways if not slowest > 0 or slowest == 1.0 else ways / slowest


def _longest_way(problem: ProblemData) -> float:
    """The longest that any way may take."""
    longest = max([problem.durations.extent, *(longest_of(m) for _, m in problem.travel_times)])
    slowest = _slowest(problem)
    return longest if not slowest > 0 else longest / slowest


def _longest_service(problem: ProblemData) -> Array:
    """The longest that service may take at each node, (N,)."""
    served = problem.service if problem.setup is None else problem.service + problem.setup
    for vehicle in problem.vehicles or ():
        if vehicle.service:
            served = served.copy()
            for node, duration in vehicle.service:
                if 0 <= node < len(served):
                    served[node] = max(served[node], duration)
    return served
