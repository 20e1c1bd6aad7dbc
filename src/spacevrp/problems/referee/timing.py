"""What the referee knows of a route before it says when things happen: stops, ways and breaks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from spacevrp.problems.fleet import Break, Terms
from spacevrp.problems.problem import Problem

Ride = tuple[int, int, float]  # positions of the pickup and of the delivery, and the limit
Ranges = tuple[tuple[int, int], ...]  # for each break the first and the last place

# Of the slack of times: what adding and taking away the same floats may leave behind.
_DUST = 1e-3


def trips_of(problem: Problem, nodes: Sequence[int]) -> list[list[int]]:
    """The customers of each trip: from the depot, and from every depot on the way."""
    trips: list[list[int]] = [[]]
    for position, node in enumerate(nodes):
        if node not in problem.depots:
            trips[-1].append(node)
        elif 0 < position < len(nodes) - 1:
            trips.append([])
    return trips


# ------------------------------------------------------------------------- what holds at each stop


@dataclass(frozen=True)
class Halt:
    """A stop: its window, the gaps in it, and how long it takes.

    ``released`` is when what the vehicle leaves with is there. At the end of a route no vehicle
    waits for the depot to open.
    """

    opening: float
    closing: float
    gaps: tuple[tuple[float, float], ...]
    service: float
    released: float
    waits: bool


class Timing:
    """The stops of a route and the ways between them, for one vehicle.

    Breaks may be taken before any stop, unless ``ranges`` say otherwise: place 0 is before the
    vehicle leaves, and the length of the route after it is over.
    """

    def __init__(self, problem: Problem, nodes: Sequence[int], terms: Terms) -> None:
        self.ranges: Ranges | None = None
        self.problem = problem
        self.nodes = nodes
        self.terms = terms
        self.slack = problem.time_tolerance
        self.dust = _DUST * problem.time_tolerance
        releases = _releases(problem, nodes, terms)
        service = terms.service_at(problem.service)
        gaps: dict[int, list[tuple[float, float]]] = {}
        for node, begin, end in problem.closed:
            gaps.setdefault(node, []).append((begin, end))
        self.earliest = max(float(problem.windows[nodes[0], 0]), terms.leaves_from, releases.pop(0))
        if nodes[0] not in problem.depots:  # a fault of its own, but the route is still judged
            self.earliest += float(service[nodes[0]])
        self.halts: list[Halt] = []
        for position in range(1, len(nodes)):
            before, node = nodes[position - 1], nodes[position]
            opening, closing = (float(time) for time in problem.windows[node])
            at_end = position == len(nodes) - 1 and node in problem.depots
            takes = 0.0 if at_end else float(service[node])
            if problem.setup is not None and problem.durations.between(before, node) != 0:
                takes += float(problem.setup[node])
            self.halts.append(
                Halt(
                    opening=opening,
                    closing=closing,
                    gaps=tuple(gaps.get(node, ())),
                    service=takes,
                    released=releases.pop(0)
                    if node in problem.depots and not at_end
                    else -math.inf,
                    waits=not at_end,
                )
            )

    def may_pause(self, number: int, place: int) -> bool:
        """Whether a break, counted from 0, may be taken there."""
        return self.ranges is None or self.ranges[number][0] <= place <= self.ranges[number][1]

    def travel(self, position: int, leaving: float) -> float:
        """How long the way from a position to the next takes."""
        origin, target = self.nodes[position], self.nodes[position + 1]
        if not self.problem.travel_times:
            return self.problem.durations.between(origin, target) / self.terms.speed_factor
        times = _arc(self.problem, origin, target)
        return _between(times, leaving) / self.terms.speed_factor

    def least_travel(self, position: int) -> float:
        """How long the way to the next position takes at least, whenever it is left."""
        leg = self.nodes[position], self.nodes[position + 1]
        return self.problem.durations.between(*leg) / self.terms.speed_factor

    def latest_leaving(self, position: int, arrival: float) -> float:
        """The latest departure from a position that reaches the next one by then."""
        origin, target = self.nodes[position], self.nodes[position + 1]
        speed = self.terms.speed_factor
        if not self.problem.travel_times:
            return arrival - self.problem.durations.between(origin, target) / speed
        times = [(at, takes / speed) for at, takes in _arc(self.problem, origin, target)]
        last, takes = times[-1]
        if last + takes <= arrival + self.dust:
            return max(last, arrival - takes)
        for (at, takes), (later, takes_later) in reversed(list(pairwise(times))):
            first, second = at + takes, later + takes_later
            if second <= arrival + self.dust:
                return later
            if first <= arrival + self.dust:
                return at + max(arrival - first, 0.0) / (second - first) * (later - at)
        return arrival - times[0][1]


def _releases(problem: Problem, nodes: Sequence[int], terms: Terms) -> list[float]:
    """For each trip the latest release of what it carries; goods on board need none."""
    if problem.release is None:
        return [-math.inf for _ in trips_of(problem, nodes)]
    on_board = set(terms.on_board or ())
    releases = []
    for trip in trips_of(problem, nodes):
        loaded = [float(problem.release[node]) for node in trip if node not in on_board]
        releases.append(max(loaded, default=-math.inf))
    return releases


def _arc(problem: Problem, origin: int, target: int) -> list[tuple[float, float]]:
    """When an arc takes how long."""
    return [(moment, float(matrix[origin, target])) for moment, matrix in problem.travel_times]


def _between(times: list[tuple[float, float]], at: float) -> float:
    """What lies between the two moments around this one."""
    if at <= times[0][0]:
        return times[0][1]
    for (first, takes), (second, takes_then) in pairwise(times):
        if at <= second:
            return takes + (takes_then - takes) * (at - first) / (second - first)
    return times[-1][1]


# ------------------------------------------------------------------------- breaks and stops in time


@dataclass(frozen=True)
class Pause:
    """A break as it is taken.

    ``number`` counts breaks from 1. ``place`` is the position in the route of the stop that it
    comes before: 0 before the vehicle leaves, and the length of the route after it is over. On the
    way it takes the time from ``begin`` to ``end``; otherwise these tell the earliest that it can.
    """

    number: int
    place: int
    begin: float
    end: float


@dataclass(frozen=True)
class Label:
    """The vehicle has left a position at a time, with some of its breaks behind it."""

    left: float
    reached: float
    begun: float
    late: bool
    pauses: tuple[Pause, ...]  # on the way here
    before: Label | None


def begin_break(one: Break, clock: float, slack: float) -> float | None:
    """When a break begins that may begin from now on; None where its last window has closed."""
    for opening, closing in one.windows:
        begin = max(clock, float(opening))
        if begin <= closing + slack:
            return begin
    return None


def ways_on(
    timing: Timing, breaks: Sequence[Break], position: int, taken: int, leaving: float
) -> Iterable[tuple[int, float, tuple[Pause, ...]]]:
    """When the next stop is reached, with no break on the way, with one, and so on."""
    arrival = leaving + timing.travel(position, leaving)
    pauses: tuple[Pause, ...] = ()
    yield taken, arrival, pauses
    clock = leaving
    for number in range(taken, len(breaks)):
        begin = begin_break(breaks[number], clock, timing.slack)
        if begin is None or not timing.may_pause(number, position + 1):
            return
        # Where the break cannot begin on the way, the vehicle waits for it at the next stop.
        arrival = max(arrival, begin) + breaks[number].duration
        clock = begin + breaks[number].duration
        pauses = (*pauses, Pause(number + 1, position + 1, begin, clock))
        yield number + 1, arrival, pauses


def begin_service(halt: Halt, arrival: float, slack: float) -> float:
    """When service begins: not before the window opens, and not in a gap."""
    begun = max(arrival, halt.opening) if halt.waits else arrival
    for gap, until in halt.gaps:
        if gap + slack < begun < until:
            begun = until
    return begun


def breaks_after(
    timing: Timing, breaks: Sequence[Break], taken: int, end: float
) -> list[float] | None:
    """When the breaks begin that are taken after the route is over; None where one is too late."""
    begins = []
    for number in range(taken, len(breaks)):
        begin = begin_break(breaks[number], end, timing.slack)
        if begin is None or not timing.may_pause(number, len(timing.nodes)):
            return None
        begins.append(begin)
        end = begin + breaks[number].duration
    return begins


def latest_arrival(halt: Halt, left: float, soonest: float, dust: float) -> float:
    """The latest arrival after which the vehicle leaves by then; -inf where it cannot.

    Where the slack of comparisons lets a stop begin after it has closed, at its soonest, it may.
    """
    if halt.released > left + dust:
        return -math.inf
    begun = min(left - halt.service, max(halt.closing, soonest))
    for gap, until in reversed(halt.gaps):
        if gap < begun < until - dust:
            begun = gap
    if halt.waits and begun < halt.opening - dust:
        return -math.inf
    return begun


def latest_leaving(timing: Timing, breaks: Sequence[Break], position: int, arrival: float) -> float:
    """The latest departure from a position that takes these breaks on the way and is in time."""
    best = -math.inf
    for windows in product(*(one.windows for one in breaks)):
        over, passed, bound = -math.inf, 0.0, math.inf
        for one, (opening, closing) in zip(breaks, windows, strict=True):
            begin = max(over, opening)
            if begin > closing + timing.slack:
                bound = -math.inf
            bound = min(bound, closing - passed)
            over = begin + one.duration
            passed += one.duration
        if over <= arrival + timing.dust:
            best = max(best, min(bound, timing.latest_leaving(position, arrival - passed)))
    return best
