"""What the referee knows of a route before it says when things happen: stops and ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem

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
    """The stops of a route and the ways between them, for one vehicle."""

    def __init__(self, problem: Problem, nodes: Sequence[int], terms: Terms) -> None:
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

    def travel(self, position: int, leaving: float) -> float:
        """How long the way from a position to the next takes."""
        origin, target = self.nodes[position], self.nodes[position + 1]
        if not self.problem.travel_times:
            return self.problem.durations.between(origin, target) / self.terms.speed_factor
        times = _arc(self.problem, origin, target)
        return _between(times, leaving) / self.terms.speed_factor

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
