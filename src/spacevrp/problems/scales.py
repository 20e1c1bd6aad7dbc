"""How large lengths and times are: the units tensors hold them in, and the slack of comparisons.

Lengths and times have nothing to do with each other: metres beside hours, or timestamps beside the
unit square. So each has a scale of its own, and a slack that is tiny on that scale.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spacevrp.problems.conversion import Array
from spacevrp.problems.problem_data import ProblemData

# Float comparisons allow this much in the units of the generated instances.
BASE_TOLERANCE = 1e-5
# Where amounts are no whole numbers, so much of the capacity: what rounding them to float32 adds.
LOAD_TOLERANCE = 1e-7
# In units, what is compared reaches no further; below the other end it would be lost in the slack.
_LARGEST, _SMALLEST = 10.0, 0.01
# No slack is more than this part of what is compared. (The least limit of a generated instance is
# 0.6, where the slack of its own units is less.)
_MOST_SLACK = 2.0 * BASE_TOLERANCE
# Time is counted from later on where that leaves less than one part in so many.
_MUCH_LATER = 10.0


def unit_of(largest: float) -> float:
    """1 where the largest is of the order of 1, as in generated instances; otherwise a tenth."""
    if largest <= 0.0 or _SMALLEST <= largest <= _LARGEST:
        return 1.0
    return max(largest / _LARGEST, sys.float_info.min)  # what is divided by must not vanish


def whole_unit_of(largest: float) -> float:
    """The same, but a power of two: divided by it, whole numbers stay exact in float32."""
    unit = unit_of(largest)
    return unit if unit == 1.0 else 2.0 ** math.ceil(math.log2(unit))


def tolerance_of(largest: float) -> float:
    """Slack for comparing what is this large at most.

    1e-5 where that is of the order of 1, as in generated instances; 1e-6 of anything larger.
    """
    if largest <= 0.0:
        return BASE_TOLERANCE
    return min(BASE_TOLERANCE * unit_of(largest), _MOST_SLACK * largest)


# ---------------------------------------------------------------------------- lengths and times


def largest_length(problem: Scales) -> float:
    """The longest arc, or the largest limit on routes that can bind."""
    extent, _ = problem.extents
    # No route is longer: a limit beyond this ("none", written as 1e9) tells nothing.
    return _largest(extent, _length_limits(problem), problem.size * extent)


def largest_time(problem: Scales, origin: float) -> float:
    """The longest way or service, or the latest moment after ``origin`` that can bind."""
    extent, limits, longest = _times(problem, origin)
    return _largest(extent, limits, longest)


def largest_of_both(problem: Scales, origin: float) -> float:
    """The larger of the two, where lengths are times."""
    extent, limits, longest = _times(problem, origin)
    return _largest(extent, np.append(limits, _length_limits(problem)), longest)


def _largest(extent: float, limits: Array, longest: float) -> float:
    return max(extent, float(limits[limits <= longest].max(initial=0.0)))


def _length_limits(problem: Scales) -> Array:
    return np.array([problem.max_length, *(terms.max_length for terms in problem.fleet)])


def _times(problem: Scales, origin: float) -> tuple[float, Array, float]:
    """The longest way or service, all moments after the origin, and how long a route can take."""
    windows = np.maximum(problem.windows - origin, 0.0)
    shifts = np.array([(t.leaves_from, t.back_by) for t in problem.fleet]).reshape(-1, 2)
    shifts = np.maximum(shifts - origin, 0.0)
    _, way = problem.extents
    latest_start = max(windows[:, 0].max(initial=0.0), shifts[:, 0].max(initial=0.0))
    longest = problem.size * way + float(problem.service.sum()) + float(latest_start)
    extent = max(way, float(problem.service.max(initial=0.0)))
    return extent, np.concatenate([windows.ravel(), shifts.ravel()]), longest


def first_moment(problem: Scales) -> float:
    """From when on time matters: nothing happens before.

    That is when the first depot opens. Where all customers open much later, it is moved up to their
    first opening, less the longest way out: a vehicle that leaves earlier waits at its first stop,
    and from there on nothing changes. Likewise where all shifts begin much later.
    """
    opening = float(min((problem.windows[depot, 0] for depot in problem.depots), default=0.0))
    departures = [
        max(float(problem.windows[terms.start, 0]), terms.leaves_from) for terms in problem.fleet
    ]
    later = min(departures, default=opening)
    customers = list(problem.customers)
    if customers:
        reached = float(problem.windows[customers, 0].min())
        if reached > later:
            ways = [problem.durations.from_node(depot)[customers] for depot in problem.depots]
            later = max(later, reached - max(map(longest_of, ways), default=0.0))
    if later <= opening or later - opening <= _MUCH_LATER * largest_time(problem, later):
        return opening
    return later


def longest_of(ways: Array) -> float:
    """The longest of the ways that exist."""
    return float(ways[np.isfinite(ways)].max(initial=0.0))


# ------------------------------------------------------------------------------- of a problem


@dataclass(frozen=True, eq=False)
class Scales(ProblemData):
    """Units and slacks of a :class:`~spacevrp.problems.problem.Problem`, which inherits them."""

    @cached_property
    def extents(self) -> tuple[float, float]:
        """The longest arc and the longest way to travel one: to look for them takes a while."""
        longest = self.distances.extent
        return longest, longest if self.durations is self.distances else self.durations.extent

    @cached_property
    def day_start(self) -> float:
        """From when on time matters, wherever it is counted from: nothing happens earlier."""
        return first_moment(self)

    @cached_property
    def unit(self) -> float:
        """How much of the user's units of length is one unit of the generated instances.

        1 where lengths are of the order of 1, as they are there; otherwise in proportion to the
        largest of them, so that what is compared stays below 10 units.
        """
        if self.durations is self.distances:
            return unit_of(largest_of_both(self, self.day_start))
        return unit_of(largest_length(self))

    @cached_property
    def unit_of_time(self) -> float:
        """The same for times. Where durations are the distances, both have one unit."""
        if self.durations is self.distances:
            return self.unit
        return whole_unit_of(largest_time(self, self.day_start))

    @cached_property
    def length_tolerance(self) -> float:
        """Slack for comparing lengths, in the user's units: about 1e-6 of the largest."""
        return tolerance_of(largest_length(self))

    @cached_property
    def time_tolerance(self) -> float:
        """Slack for comparing times, in the user's units: about 1e-6 of the largest."""
        return tolerance_of(largest_time(self, self.day_start))

    @cached_property
    def tolerance(self) -> float:
        """The smaller of both, for comparing lengths and times alike."""
        return min(self.length_tolerance, self.time_tolerance)

    @cached_property
    def load_tolerance(self) -> float:
        """Slack for comparing loads: none that matters where all amounts are whole numbers."""
        return self.load_slack(self.capacity)

    def load_slack(self, capacity: float, kind: int = 0) -> float:
        """The same for a vehicle with this capacity for a kind of load."""
        if not np.isfinite(capacity):
            return 0.0
        if self.whole_loads[kind] and float(capacity).is_integer():
            return min(BASE_TOLERANCE * capacity, 0.5)
        return LOAD_TOLERANCE * capacity

    @cached_property
    def whole_loads(self) -> tuple[bool, ...]:
        """Whether all amounts of a kind of load are whole numbers."""
        whole = (self.loads == np.round(self.loads)).all(axis=0)
        if self.pickup is not None:
            whole &= (self.pickups == np.round(self.pickups)).all(axis=0)
        return tuple(whole.tolist())
