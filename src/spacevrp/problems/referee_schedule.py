"""When things happen on a route with rules of its own: the referee's timetable.

Written from the definition in ``docs/concepts/working-time.md``, in plain loops. Everything happens
as early as possible, beginning with the earliest departure: that gives the end. Then the vehicle
leaves as late as it can with the same end.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from spacevrp.problems.fleet import Break, Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee_timing import Halt, Timing

Ride = tuple[int, int, float]  # positions of the pickup and of the delivery, and the limit


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
    """The times of a route, one entry a node: when it is reached, when service begins and ends."""

    departure: float
    end: float  # when the route is over
    # At the start all three are the departure. Breaks on the way are over when a stop is reached.
    reached: tuple[float, ...]
    begun: tuple[float, ...]
    left: tuple[float, ...]
    driving: tuple[float, ...]  # how long the way to each node took without breaks
    service: tuple[float, ...]  # with its setup
    late: tuple[int, ...]  # positions that are reached after they have closed
    # None where there is no time for all breaks, and the other times are those without any.
    pauses: tuple[Pause, ...] | None
    # The ride that is too long, whatever waits; the times are those without limits on rides.
    ride: Ride | None = None

    @property
    def duration(self) -> float:
        """From leaving to the end of the route."""
        return self.end - self.departure


def schedule_route(problem: Problem, nodes: Sequence[int], terms: Terms) -> Schedule | None:
    """The times of a route that begins at its depot; None where an arc does not exist."""
    if any(math.isinf(problem.durations.between(*leg)) for leg in pairwise(nodes)):
        return None
    timing = Timing(problem, nodes, terms)
    ride = None
    if problem.max_ride is not None:
        timing, ride = _hold_pickups(timing)
    # Where all is in time but for the breaks, it is these that there is no time for.
    for strict, breaks in product((True, False), (terms.breaks, ())):
        found = _schedule(timing, breaks, strict=strict)
        if found is not None:
            found = replace(found, ride=ride)
            return found if breaks == terms.breaks else replace(found, pauses=None)
    raise AssertionError("a route without breaks and limits always has its times")


# ------------------------------------------------------------------------------------------ rides


def rides_of(problem: Problem, nodes: Sequence[int]) -> list[Ride]:
    """The limited pairs on a route, in order."""
    place: dict[int, int] = {}
    for position, node in enumerate(nodes):
        place.setdefault(node, position)
    limits = [] if problem.max_ride is None else problem.max_ride.tolist()
    return [
        (place[pickup], place[delivery], limit)
        for (pickup, delivery), limit in zip(problem.pairs, limits, strict=False)
        if math.isfinite(limit) and pickup in place and place.get(delivery, -1) > place[pickup]
    ]


def _hold_pickups(timing: Timing) -> tuple[Timing, Ride | None]:
    """The same stops, with pickups that begin later where rides would be too long otherwise.

    Every such delay is forced, so if it leads beyond a window there is no schedule: then the stops
    are as they were, and the ride is named. Where windows are missed anyway, they do not count.
    Where only the slack of comparisons makes it possible, that is used, too.
    """
    rides = rides_of(timing.problem, timing.nodes)
    blamed: Ride | None = None
    for slack in (0.0, timing.slack):
        held = copy.copy(timing)
        begun, in_time = _earliest(held)
        bound = in_time
        for _ in range(len(rides) + 1):
            blamed = None
            halts = list(held.halts)
            for pickup, delivery, limit in rides:
                halt = halts[pickup - 1]
                least = begun[delivery] - (limit + slack) - halt.service
                if least > begun[pickup]:
                    halts[pickup - 1] = replace(halt, opening=max(halt.opening, least))
                    blamed = (pickup, delivery, limit)
            if blamed is None:
                return held, None
            held.halts = halts
            begun, in_time = _earliest(held)
            if bound and not in_time:
                break
    return timing, blamed


def begin_with_rides(timing: Timing) -> tuple[list[float], Ride | None]:
    """When everything begins without breaks, as early as rides allow; the one that is too long."""
    begun, _ = _earliest(timing)
    if any(map(math.isinf, begun)):
        return begun, None  # an arc that does not exist is its own fault
    held, blamed = _hold_pickups(timing)
    return _earliest(held)[0], blamed


def _earliest(timing: Timing) -> tuple[list[float], bool]:
    """When everything begins without breaks, as early as can be, and whether all is in time."""
    found = _forward(timing, (), {0: timing.earliest}, strict=False)
    assert found is not None  # nothing is refused
    label: _Label | None = found[1]
    begun, in_time = [], label is not None and label.left <= timing.terms.back_by + timing.slack
    while label is not None:
        begun.append(label.begun)
        in_time = in_time and not label.late
        label = label.before
    begun.reverse()
    # Held back, a stop may begin after it has closed though it was reached before.
    for halt, begin in zip(timing.halts, begun[1:], strict=True):
        in_time = in_time and begin <= halt.closing + timing.slack
    return begun, in_time


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


def _schedule(timing: Timing, breaks: Sequence[Break], *, strict: bool) -> Schedule | None:
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


def _departures(timing: Timing, breaks: Sequence[Break], *, strict: bool) -> dict[int, float]:
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
    timing: Timing, breaks: Sequence[Break], starts: dict[int, float], *, strict: bool
) -> tuple[int, _Label] | None:
    """The label that ends first, and how many breaks it has behind it; None where there is none."""
    labels = {
        taken: _Label(start, start, start, False, (), None) for taken, start in starts.items()
    }
    for position, halt in enumerate(timing.halts):
        reached: dict[int, _Label] = {}
        for taken, label in labels.items():
            for then, arrival, pauses in _ways(timing, breaks, position, taken, label.left):
                late = arrival > halt.closing + timing.slack
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
    timing: Timing, breaks: Sequence[Break], position: int, taken: int, leaving: float
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


def _begin_service(halt: Halt, arrival: float, slack: float) -> float:
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


def _backward(timing: Timing, breaks: Sequence[Break], end: float) -> dict[int, float]:
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


def _latest_arrival(halt: Halt, left: float, dust: float) -> float:
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
    timing: Timing, breaks: Sequence[Break], position: int, arrival: float
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


def _read(timing: Timing, breaks: Sequence[Break], taken: int, last: _Label) -> Schedule:
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
