"""When things happen on a route with rules of its own: the referee's timetable.

Written from the definition in ``docs/concepts/working-time.md``, in plain loops. Everything happens
as early as possible, beginning with the earliest departure: that gives the end. Then the vehicle
leaves as late as it can with the same end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from spacevrp.problems.breaks import Break
from spacevrp.problems.fleet import Terms
from spacevrp.problems.problem import Problem

# Of the slack of times: what adding and taking away the same floats may leave behind.
_DUST = 1e-3


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
class Schedule:
    """The times of a route, one entry a node: when it is reached, when service begins and ends.

    Attributes
    ----------
    departure, end
        When the vehicle leaves, and when its route is over.
    reached, begun, left
        At the start all three are the departure. On the way breaks are over when a stop is reached.
    driving, service
        How long the way to each node took without breaks, and the service there with its setup.
    late
        Positions that are reached after they have closed.
    pauses
        The breaks, in their order; None where there is no time for all of them, and the other
        times are those without any.
    """

    departure: float
    end: float
    reached: tuple[float, ...]
    begun: tuple[float, ...]
    left: tuple[float, ...]
    driving: tuple[float, ...]
    service: tuple[float, ...]
    late: tuple[int, ...]
    pauses: tuple[Pause, ...] | None

    @property
    def duration(self) -> float:
        """From leaving to the end of the route."""
        return self.end - self.departure


def schedule_route(problem: Problem, nodes: Sequence[int], terms: Terms) -> Schedule | None:
    """The times of a route that begins at its depot; None where an arc does not exist."""
    if any(math.isinf(problem.durations.between(*leg)) for leg in pairwise(nodes)):
        return None
    timing = _Timing(problem, nodes, terms)
    # Where all is in time but for the breaks, it is these that there is no time for.
    for strict, breaks in product((True, False), (terms.breaks, ())):
        found = _schedule(timing, breaks, strict=strict)
        if found is not None:
            return found if breaks == terms.breaks else replace(found, pauses=None)
    raise AssertionError("a route without breaks and limits always has its times")


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
class _Halt:
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


class _Timing:
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
        self.halts: list[_Halt] = []
        for position in range(1, len(nodes)):
            before, node = nodes[position - 1], nodes[position]
            opening, closing = (float(time) for time in problem.windows[node])
            at_end = position == len(nodes) - 1 and node in problem.depots
            takes = 0.0 if at_end else float(service[node])
            if problem.setup is not None and problem.durations.between(before, node) != 0:
                takes += float(problem.setup[node])
            self.halts.append(
                _Halt(
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


# ------------------------------------------------------------------------------------ as early as


@dataclass(frozen=True)
class _Label:
    """The vehicle has left a position at a time, with some of its breaks behind it."""

    left: float
    reached: float
    begun: float
    late: bool
    pauses: tuple[Pause, ...]  # on the way here
    before: _Label | None


def _schedule(timing: _Timing, breaks: Sequence[Break], *, strict: bool) -> Schedule | None:
    """The schedule; None where it does not exist. Only a strict one keeps the windows."""
    starts = _departures(timing, breaks, strict=strict)
    found = _forward(timing, breaks, starts, strict=strict)
    if found is None:
        return None
    if strict:
        end = found[1].left
        latest = _backward(timing, breaks, end)
        chosen, departure = -1, -math.inf
        for taken, start in starts.items():
            leaves = min(max(latest[taken], start), max(timing.terms.latest_start, start))
            if latest[taken] >= start - timing.slack and leaves > departure:
                chosen, departure = taken, leaves
        if chosen >= 0:
            found = _forward(timing, breaks, {chosen: departure}, strict=True) or found
    return _read(timing, breaks, *found)


def _departures(timing: _Timing, breaks: Sequence[Break], *, strict: bool) -> dict[int, float]:
    """The earliest departure by how many breaks are taken before it."""
    departures = {}
    over = -math.inf
    for taken in range(len(breaks) + 1):
        if taken:
            begin = _begin(breaks[taken - 1], over, timing.slack)
            if begin is None:
                break
            over = begin + breaks[taken - 1].duration
        departures[taken] = max(timing.earliest, over)
    in_time = {
        taken: departure
        for taken, departure in departures.items()
        if departure <= timing.terms.latest_start + timing.slack
    }
    return in_time if strict else in_time or {0: departures[0]}


def _begin(one: Break, clock: float, slack: float) -> float | None:
    """When a break begins that may begin from now on; None where its last window has closed."""
    for opening, closing in one.windows:
        begin = max(clock, float(opening))
        if begin <= closing + slack:
            return begin
    return None


def _forward(
    timing: _Timing, breaks: Sequence[Break], starts: dict[int, float], *, strict: bool
) -> tuple[int, _Label] | None:
    """The label that ends first, and how many breaks it has behind it; None where there is none."""
    labels = {
        taken: _Label(start, start, start, False, (), None) for taken, start in starts.items()
    }
    for position, halt in enumerate(timing.halts):
        reached: dict[int, _Label] = {}
        for taken, label in labels.items():
            for then, arrival, pauses in _ways(timing, breaks, position, taken, label.left):
                late = _is_late(halt, arrival, timing.slack)
                if strict and late:
                    continue
                begun = _begin_service(halt, arrival, timing.slack)
                left = max(begun + halt.service, halt.released)
                if then not in reached or left < reached[then].left:
                    reached[then] = _Label(left, arrival, begun, late, pauses, label)
        labels = reached
    ends = [
        (label.left, taken)
        for taken, label in labels.items()
        if _after(breaks[taken:], label.left, timing.slack) is not None
        and not (strict and label.left > timing.terms.back_by + timing.slack)
    ]
    if not ends:
        return None
    _, taken = min(ends)
    return taken, labels[taken]


def _ways(
    timing: _Timing, breaks: Sequence[Break], position: int, taken: int, leaving: float
) -> Iterable[tuple[int, float, tuple[Pause, ...]]]:
    """When the next stop is reached, with no break on the way, with one, and so on."""
    arrival = leaving + timing.travel(position, leaving)
    pauses: tuple[Pause, ...] = ()
    yield taken, arrival, pauses
    clock = leaving
    for number in range(taken, len(breaks)):
        begin = _begin(breaks[number], clock, timing.slack)
        if begin is None:
            return
        # Where the break cannot begin on the way, the vehicle waits for it at the next stop.
        arrival = max(arrival, begin) + breaks[number].duration
        clock = begin + breaks[number].duration
        pauses = (*pauses, Pause(number + 1, position + 1, begin, clock))
        yield number + 1, arrival, pauses


def _is_late(halt: _Halt, arrival: float, slack: float) -> bool:
    return arrival > halt.closing + slack


def _begin_service(halt: _Halt, arrival: float, slack: float) -> float:
    """When service begins: not before the window opens, and not in a gap."""
    begun = max(arrival, halt.opening) if halt.waits else arrival
    for gap, until in halt.gaps:
        if gap + slack < begun < until:
            begun = until
    return begun


def _after(breaks: Sequence[Break], end: float, slack: float) -> list[float] | None:
    """When the breaks begin that are taken after the route is over; None where one is too late."""
    begins = []
    for one in breaks:
        begin = _begin(one, end, slack)
        if begin is None:
            return None
        begins.append(begin)
        end = begin + one.duration
    return begins


# ------------------------------------------------------------------------------------- as late as


def _backward(timing: _Timing, breaks: Sequence[Break], end: float) -> dict[int, float]:
    """The latest departure with so many breaks behind it that ends no later; -inf for none."""
    count = len(breaks)
    latest = {
        taken: end if _after(breaks[taken:], end, timing.slack) is not None else -math.inf
        for taken in range(count + 1)
    }
    for position in reversed(range(len(timing.halts))):
        halt = timing.halts[position]
        arrival = {
            taken: _latest_arrival(halt, left, timing.dust) for taken, left in latest.items()
        }
        latest = {
            taken: max(
                _latest_leaving(timing, breaks[taken:then], position, arrival[then])
                for then in range(taken, count + 1)
            )
            for taken in range(count + 1)
        }
    return latest


def _latest_arrival(halt: _Halt, left: float, dust: float) -> float:
    """The latest arrival after which the vehicle leaves by then; -inf where it cannot."""
    if halt.released > left + dust:
        return -math.inf
    begun = min(left - halt.service, halt.closing)
    for gap, until in reversed(halt.gaps):
        if gap < begun < until - dust:
            begun = gap
    if halt.waits and begun < halt.opening - dust:
        return -math.inf
    return begun


def _latest_leaving(
    timing: _Timing, breaks: Sequence[Break], position: int, arrival: float
) -> float:
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


# ------------------------------------------------------------------------------- from the labels


def _read(timing: _Timing, breaks: Sequence[Break], taken: int, last: _Label) -> Schedule:
    labels = [last]
    while labels[-1].before is not None:
        labels.append(labels[-1].before)
    labels.reverse()
    on_way = [pause for label in labels for pause in label.pauses]
    pauses, over = [], -math.inf
    for number in range(1, (taken if not on_way else on_way[0].number - 1) + 1):
        begin = _begin(breaks[number - 1], over, timing.slack)
        assert begin is not None  # it was found before
        over = begin + breaks[number - 1].duration
        pauses.append(Pause(number, 0, begin, over))
    pauses += on_way
    after = _after(breaks[taken:], last.left, timing.slack) or ()
    for number, begin in enumerate(after, start=taken + 1):
        end = begin + breaks[number - 1].duration
        pauses.append(Pause(number, len(timing.nodes), begin, end))
    return Schedule(
        departure=labels[0].left,
        end=last.left,
        reached=tuple(label.reached for label in labels),
        begun=tuple(label.begun for label in labels),
        left=tuple(label.left for label in labels),
        driving=(
            0.0,
            *(timing.travel(position, label.left) for position, label in enumerate(labels[:-1])),
        ),
        service=(0.0, *(halt.service for halt in timing.halts)),
        late=tuple(position for position, label in enumerate(labels) if label.late),
        pauses=tuple(pauses),
    )
