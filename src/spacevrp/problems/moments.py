"""The user's moments as numbers, all by one clock: windows, shifts, breaks, releases.

Where no opening is given, vehicles may leave as early as anybody needs them to. Minus infinity
stands for it at first; a problem holds numbers that have the same effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spacevrp.problems.clock import (
    TIME_UNITS,
    Clock,
    holds_moments,
    is_absent,
    read_numbers,
    read_windows,
)
from spacevrp.problems.conversion import (
    Array,
    as_array,
    as_number,
    as_whole,
    as_windows,
    dimensions,
    plain_array,
    show,
)
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.fleet import NEVER, Vehicle, blame_vehicle
from spacevrp.problems.problem_data import ProblemData
from spacevrp.problems.scales import longest_of

# (node, from, until): service may not begin strictly between the two.
Gap = tuple[int, float, float]
Blame = Callable[[ProblemError, int], ProblemError]
NO_WINDOW = (None, None)


@dataclass
class Reading:
    """Moments read one field after another: the first that has any starts the clock.

    ``numbers`` says that some were numbers without a clock, so that moments are a mistake now.
    """

    unit: str
    clock: Clock | None
    numbers: bool = False

    def read(self, field: str, rows: Sequence[Any], blame: Blame) -> list[tuple[float, float]]:
        """Couples of moments as numbers; infinite where one is absent. Errors are of a row."""
        if holds_moments(rows):
            if self.numbers:
                raise ProblemError(field, "numbers, as in windows", "moments")
            try:
                found, self.clock = read_windows(rows, self.unit, self.clock)
            except ProblemError as error:
                raise error if error.node is None else blame(error, error.node) from None
            return [(first, last) for first, last in found.tolist()]
        resolved = []
        for row, window in enumerate(rows):
            try:
                resolved.append(_as_ends(window))
            except ProblemError as error:
                raise blame(error, row) from None
        if self.clock is None and np.isfinite(resolved).any():
            self.numbers = True
        return resolved


def _as_ends(window: Any) -> tuple[float, float]:
    """The two ends of a window of numbers; infinite where there is no limit."""
    ends = list(window) if dimensions(window) == 1 else []
    if len(ends) != 2:
        raise ProblemError("window", "two moments", show(window))
    try:
        ((first, last),) = read_numbers([ends])
    except ProblemError as error:  # text or a date that is no moment
        raise error.at("window") from None
    return as_number("window", first), as_number("window", last)


# ---------------------------------------------------------------------------------------- windows


def read_all_windows(
    reading: Reading, windows: Any, closed: Any, size: int, depots: tuple[int, ...]
) -> tuple[Any, tuple[Gap, ...]]:
    """The windows (N, 2), or None where none are given, and the gaps between several of a node."""
    windows = plain_array(windows)
    given = _as_gaps(closed, size)
    owners: list[int] | None = None
    if _are_several(windows):
        if given:
            raise ProblemError("closed", "none beside several windows of a node", show(closed))
        windows, owners = _one_a_row(windows)
    try:
        if holds_moments(windows):
            windows, reading.clock = read_windows(windows, reading.unit, reading.clock)
        else:
            windows = read_numbers(windows)
            reading.numbers = windows is not None and reading.clock is None
        if owners is None:
            return windows, given
        listed = as_windows(windows, len(owners))
    except ProblemError as error:
        if owners is None or error.node is None:
            raise
        raise error.at(error.field, owners[error.node]) from None
    return _hulls(listed, owners, depots)


def _are_several(windows: Any) -> bool:
    """Whether some node has a list of windows instead of one."""
    if isinstance(windows, np.ndarray):
        if windows.dtype != object or windows.ndim == 0:
            return windows.ndim == 3
    elif not isinstance(windows, list | tuple):
        return False
    return any(_is_nested(row) for row in windows)


def _is_nested(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim > 1 or (row.dtype == object and _is_nested(row.tolist()))
    return (
        isinstance(row, list | tuple)
        and bool(row)
        and isinstance(row[0], (list, tuple, np.ndarray))
    )


def _one_a_row(windows: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """All windows one after another, and the node of each."""
    flat, owners = [], []
    for node, row in enumerate(windows):
        for window in row if _is_nested(row) else [row]:
            flat.append(window)
            owners.append(node)
    return flat, owners


def _hulls(
    listed: Array, owners: list[int], depots: tuple[int, ...]
) -> tuple[Array, tuple[Gap, ...]]:
    """From the first opening to the last closing of each node, and what lies between."""
    hulls: list[list[float]] = []
    gaps: list[Gap] = []
    for node, (opening, closing) in zip(owners, listed.tolist(), strict=True):
        if not opening <= closing:
            expected = "windows that close after they open"
            raise ProblemError("windows", expected, f"{opening:g} to {closing:g}", node=node)
        if node == len(hulls):
            hulls.append([opening, closing])
            continue
        if node in depots:
            raise ProblemError("windows", "one window at a depot", "several", node=node)
        before = hulls[node][1]
        if opening < before:
            expected = "windows in order that do not overlap"
            received = f"one that opens at {opening:g} after one that closes at {before:g}"
            raise ProblemError("windows", expected, received, node=node)
        if opening > before:
            gaps.append((node, before, opening))
        hulls[node][1] = closing
    return np.array(hulls).reshape(-1, 2), tuple(gaps)


def _as_gaps(closed: Any, size: int) -> tuple[Gap, ...]:
    if closed is None or (isinstance(closed, list | tuple) and not closed):
        return ()
    expected = "(node, from, until) of customers"
    gaps = []
    for entry in closed if isinstance(closed, list | tuple) else [closed]:
        if not isinstance(entry, list | tuple) or len(entry) != 3:
            raise ProblemError("closed", expected, show(entry))
        node = as_whole("closed", entry[0], expected)
        if not 0 <= node < size:
            raise ProblemError("closed", f"nodes from 0 to {size - 1}", show(node))
        first, last = (as_number("closed", end) for end in entry[1:])
        if not (-np.inf < first < last < np.inf):
            raise ProblemError(
                "closed", "a gap that ends after it begins", f"{first:g} to {last:g}", node=node
            )
        gaps.append((int(node), first, last))
    return tuple(sorted(gaps))


# --------------------------------------------------------------------------------------- vehicles


def read_vehicle_moments(reading: Reading, vehicles: tuple[Vehicle, ...]) -> tuple[Vehicle, ...]:
    """The types with their shifts, latest starts and breaks as numbers."""

    def read(field: str, rows: list[Any]) -> list[tuple[float, float]]:
        return reading.read(
            f"vehicles, {field}",
            rows,
            lambda error, row: blame_vehicle(error.at(field), row, vehicles[row].name),
        )

    windows = [NO_WINDOW if v.window is None else plain_array(v.window) for v in vehicles]
    resolved = [
        replace(vehicle, window=None if vehicle.window is None else shift)
        for vehicle, shift in zip(vehicles, read("window", windows), strict=True)
    ]
    starts = [(None, vehicle.latest_start) for vehicle in vehicles]
    if any(latest is not None for _, latest in starts):
        resolved = [
            replace(vehicle, latest_start=None if moment == np.inf else moment)
            for vehicle, (_, moment) in zip(resolved, read("latest_start", starts), strict=True)
        ]
    if any(vehicle.breaks for vehicle in vehicles):
        resolved = _read_breaks(reading, resolved)
    return tuple(resolved)


def _joined(windows: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The windows in order; those that overlap are one."""
    joined: list[tuple[float, float]] = []
    for first, last in sorted(windows):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def _read_breaks(reading: Reading, vehicles: list[Vehicle]) -> list[Vehicle]:
    places = [
        (number, place, window)
        for number, vehicle in enumerate(vehicles)
        for place, one in enumerate(vehicle.breaks)
        for window in one.windows
    ]

    def blame(error: ProblemError, row: int) -> ProblemError:
        number, place, _ = places[row]
        return blame_vehicle(error.at(f"break {place + 1}, window"), number, vehicles[number].name)

    windows = reading.read("vehicles, breaks", [window for _, _, window in places], blame)
    of_break: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for row, ((number, place, _), (first, last)) in enumerate(zip(places, windows, strict=True)):
        if not first <= last or first == np.inf or last == -np.inf:
            received = f"{first:g} to {last:g}"
            raise blame(ProblemError("window", "an end after the beginning", received), row)
        of_break.setdefault((number, place), []).append((first, last))

    resolved = []
    for number, vehicle in enumerate(vehicles):
        breaks = [
            replace(one, windows=_joined(of_break[number, place]))
            for place, one in enumerate(vehicle.breaks)
        ]
        resolved.append(replace(vehicle, breaks=tuple(breaks)))
    return resolved


# ------------------------------------------------------------------------ releases, travel times


def read_release(reading: Reading, release: Any, size: int) -> Array | None:
    """When each customer's goods are at the depot, (N,); None where they always are."""
    if release is None:
        return None
    values = plain_array(release)
    if not isinstance(values, list | tuple | np.ndarray) or dimensions(values) != 1:
        raise ProblemError("release", f"{size} moments, one a node", show(release))
    if len(values) != size:
        raise ProblemError("release", f"{size} moments, one a node", f"{len(values)} of them")

    rows = [(one, None) for one in values]
    couples = reading.read("release", rows, lambda error, row: error.at("release", row))
    array = np.array([moment for moment, _ in couples])
    array.setflags(write=False)
    return None if np.isneginf(array).all() else array


def read_travel_times(
    reading: Reading, travel_times: Any, size: int
) -> tuple[tuple[float, Array], ...]:
    """(moment, durations (N, N)) in the order of time; empty where travel takes as long always."""
    if travel_times is None or (isinstance(travel_times, list | tuple) and not travel_times):
        return ()
    expected = "(moment, durations (N, N)), one or more"
    if not isinstance(travel_times, list | tuple):
        raise ProblemError("travel_times", expected, show(travel_times))
    moments, matrices = [], []
    for entry in travel_times:
        if not isinstance(entry, list | tuple) or len(entry) != 2 or is_absent(entry[0]):
            raise ProblemError("travel_times", expected, show(entry))
        matrix = as_array("travel_times", plain_array(entry[1]), absent=np.inf)
        if matrix.shape != (size, size):
            shape = f"shape {matrix.shape}"
            raise ProblemError("travel_times", f"matrices ({size}, {size})", shape)
        np.fill_diagonal(matrix, 0.0)  # as in durations
        matrix.setflags(write=False)
        moments.append(entry[0])
        matrices.append(matrix)

    couples = reading.read(
        "travel_times",
        [(moment, None) for moment in moments],
        lambda error, row: error.at(f"travel_times, moment {row}"),
    )
    return tuple((moment, matrix) for (moment, _), matrix in zip(couples, matrices, strict=True))


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
    shifts = np.array([one.window or NEVER for one in problem.vehicles or ()]).reshape(-1, 2)
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
