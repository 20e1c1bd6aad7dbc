"""When things happen on a route whose rides are limited: the referee's timetable, with breaks.

Written from the definition in ``docs/concepts/pairs.md``. Once it is said before which stop each
break is taken, every rule bounds one moment from below by another, by more where that is later: no
stop begins before the one before it and the way allow, no pickup before its delivery less the
limit, and none between two windows. So the earlier moments of two schedules are a schedule, too,
and so are the later ones: there is an earliest schedule, to which every delay that is forced leads,
and a latest. Which break comes where is tried in all ways that may still be best.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product, takewhile

from spacevrp.problems.fleet import Break, Terms
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee.schedule import Schedule, free_schedule, read_labels
from spacevrp.problems.referee.timing import (
    Label,
    Ranges,
    Ride,
    Timing,
    begin_break,
    begin_service,
    breaks_after,
    latest_arrival,
    latest_leaving,
    ways_on,
)

# Delays that follow one another where travel times change all the time; far more than any need.
_MOST_ROUNDS = 20_000


def schedule_route(
    problem: Problem, nodes: Sequence[int], terms: Terms, more: float = 0.0
) -> Schedule | None:
    """The times of a route that begins at its depot; None where an arc does not exist.

    Every ride may take so much ``more`` than its limit.
    """
    if any(math.isinf(problem.durations.between(*leg)) for leg in pairwise(nodes)):
        return None
    timing, rides = Timing(problem, nodes, terms), rides_of(problem, nodes, more)
    # Where all is in time but for the breaks, it is these that there is no time for.
    for strict, breaks in product((True, False), (terms.breaks, ())):
        found = free_schedule(timing, breaks, strict=strict)
        if found is not None:
            # Where it keeps all rides, the best schedule of all is the best that does.
            broken = [
                ride
                for ride in rides
                if found.begun[ride[1]] - found.left[ride[0]] > ride[2] + timing.dust
            ]
            if broken:
                kept, blamed = keep_rides(timing, breaks, rides, strict=strict)
                found = kept or replace(found, ride=blamed or broken[0])
            return found if breaks == terms.breaks else replace(found, pauses=None)
    raise AssertionError("a route without breaks and limits always has its times")


def rides_of(problem: Problem, nodes: Sequence[int], more: float = 0.0) -> list[Ride]:
    """The limited pairs on a route, in order; each may take so much more."""
    place: dict[int, int] = {}
    for position, node in enumerate(nodes):
        place.setdefault(node, position)
    limits = [] if problem.max_ride is None else problem.max_ride.tolist()
    return [
        (place[pickup], place[delivery], limit + more)
        for (pickup, delivery), limit in zip(problem.pairs, limits, strict=False)
        if math.isfinite(limit) and 0 < place.get(pickup, 0) < place.get(delivery, 0)
    ]


def begin_with_rides(timing: Timing) -> tuple[list[float], Ride | None]:
    """When everything begins without breaks, as early as rides allow; the one that is too long.

    Where windows are missed whatever the rides, they do not count.
    """
    free = _Course(timing, (), (), strict=False)
    labels = free.drive(timing.earliest)
    assert labels is not None  # nothing is refused
    begun = [label.begun for label in labels]
    if any(map(math.isinf, begun)):
        return begun, None  # an arc that does not exist is its own fault
    in_time = _Course(timing, (), (), strict=True).drive(timing.earliest) is not None
    rides = rides_of(timing.problem, timing.nodes)
    blamed = None
    for slack in (0.0, timing.slack):
        course = _Course(timing, (), (), strict=in_time)
        found = course.earliest(_with_slack(rides, slack), timing.earliest)
        if found is not None:
            return [label.begun for label in found], None
        blamed = blamed or course.blamed
    return begun, _named(blamed, rides)


def keep_rides(
    timing: Timing, breaks: Sequence[Break], rides: Sequence[Ride], *, strict: bool
) -> tuple[Schedule | None, Ride | None]:
    """The schedule that keeps the rides; or None, and the ride at fault.

    Of all of them it ends first, and then leaves last. Only a strict one keeps the windows. Where
    only the slack of comparisons makes one possible, that is used.
    """
    blamed = None
    for slack in (0.0, timing.slack):
        search = _Search(timing, breaks, _with_slack(rides, slack), strict)
        search.explore(((0, len(timing.nodes)),) * len(breaks))
        if search.best is not None:
            return read_labels(timing, breaks, *search.best.last), None
        blamed = blamed or search.blamed
    return None, _named(blamed, rides)


def _with_slack(rides: Sequence[Ride], slack: float) -> list[Ride]:
    return [(pickup, delivery, limit + slack) for pickup, delivery, limit in rides]


def _named(blamed: Ride | None, rides: Sequence[Ride]) -> Ride | None:
    """The ride with its own limit."""
    return next((ride for ride in rides if blamed and ride[:2] == blamed[:2]), None)


# ------------------------------------------------------------------------ where breaks are taken


@dataclass(frozen=True)
class _Found:
    """A schedule: when it ends, when it leaves, and its last label with the breaks behind it."""

    end: float
    departure: float
    last: tuple[int, Label]


class _Search:
    """All ways to take the breaks, but for those that cannot be best."""

    def __init__(
        self, timing: Timing, breaks: Sequence[Break], rides: Sequence[Ride], strict: bool
    ) -> None:
        self.timing, self.breaks, self.rides, self.strict = timing, breaks, rides, strict
        self.best: _Found | None = None
        self.blamed: Ride | None = None

    def explore(self, ranges: Ranges) -> None:
        """Each break is taken in a range of places.

        Nothing begins before it does with the first breaks alone, where these have one place each.
        What is best then without rides bounds all that keep them, and says where to try the breaks.
        Unless that is as good as it can be, others are tried.
        """
        fixed = tuple(low for low, _ in takewhile(lambda one: one[0] == one[1], ranges))
        course = _Course(self.timing, self.breaks, fixed, strict=self.strict)
        if course.best(self.rides) is None:
            self.blamed = self.blamed or course.blamed
            return
        ranged = copy.copy(self.timing)
        ranged.ranges = ranges
        ranged.halts = [
            replace(halt, opening=max(halt.opening, begun)) if halt.waits else halt
            for halt, begun in zip(ranged.halts, course.begun[1:], strict=True)
        ]
        free = free_schedule(ranged, self.breaks, strict=self.strict)
        if free is None or free.pauses is None or self._is_beaten(free.end, free.departure):
            return
        places = tuple(pause.place for pause in free.pauses)
        course = _Course(self.timing, self.breaks, places, strict=self.strict)
        found = course.best(self.rides)
        if found is None:
            self.blamed = self.blamed or course.blamed
        elif not self._is_beaten(found.end, found.departure):
            taken = found.last[0]
            if breaks_after(self.timing, self.breaks, taken, found.end) is not None:
                self.best = found
                if self._is_beaten(free.end, free.departure):
                    return
        for narrower in _others(ranges, places, course.too_long):
            self.explore(narrower)

    def _is_beaten(self, end: float, departure: float) -> bool:
        best, dust = self.best, self.timing.dust
        if best is None or end <= best.end - dust:
            return False
        return end > best.end + dust or departure <= best.departure + dust


def _others(ranges: Ranges, places: Sequence[int], ride: Ride | None) -> Iterator[Ranges]:
    """The ranges without these places, each other choice in one of them.

    Where the breaks on a ride alone make it too long, one of them is not taken on it.
    """
    for number, place in enumerate(places):
        first, last = (place, place) if ride is None else (ride[0] + 1, ride[1])
        if not first <= place <= last:
            continue
        low, high = ranges[number]
        for narrower in ((low, min(first - 1, high)), (max(last + 1, low), high)):
            if narrower[0] <= narrower[1]:
                yield (*ranges[:number], narrower, *ranges[number + 1 :])
        # From here on it stays.
        kept = (max(first, low), min(last, high))
        ranges = (*ranges[:number], kept, *ranges[number + 1 :])


# ------------------------------------------------------------- with breaks that are where they are


class _Course:
    """A route on which the first breaks are taken each before a stop, 0 for before it leaves."""

    def __init__(
        self, timing: Timing, breaks: Sequence[Break], places: Sequence[int], *, strict: bool
    ) -> None:
        self.timing, self.breaks, self.strict = timing, breaks, strict
        # By position: the breaks behind the vehicle when it gets there.
        self.taken = [
            sum(place <= position for place in places) for position in range(len(timing.nodes))
        ]
        self.too_long: Ride | None = None  # by what ways, stops and breaks on it take
        self.held = [-math.inf] * len(timing.nodes)  # what begins not earlier
        self.blamed: Ride | None = None  # by which something was held last
        self.begun: list[float] = []  # on the earliest schedule

    def best(self, rides: Sequence[Ride]) -> _Found | None:
        """As early as can be, which gives the end; then leaving as late as can be."""
        start = self._departure()
        early = None if start is None else self.earliest(rides, start)
        if early is None:
            return None
        end = early[-1].left
        self.begun = [label.begun for label in early]
        if self.strict:
            leaves = max(self._latest(rides, end), early[0].left)
            late = self.earliest(rides, leaves)
            if late is not None and late[-1].left <= end + self.timing.slack:
                early = late
        return _Found(end, early[0].left, (self.taken[-1], early[-1]))

    def _departure(self) -> float | None:
        """When the vehicle may leave; None where that is too late."""
        over, slack = -math.inf, self.timing.slack
        for one in self.breaks[: self.taken[0]]:
            begin = begin_break(one, over, slack)
            if begin is None:
                return None
            over = begin + one.duration
        departure = max(self.timing.earliest, over)
        in_time = departure <= self.timing.terms.latest_start + slack
        return departure if in_time or not self.strict else None

    def earliest(self, rides: Sequence[Ride], departure: float) -> list[Label] | None:
        """The earliest schedule from a departure on; None where there is none."""
        timing = self.timing
        for ride in rides:
            if self._least(ride) > ride[2] + timing.dust:
                self.blamed = self.too_long = ride
                return None
        for _ in range(self._most_rounds(rides)):
            labels = self.drive(departure)
            if labels is None:
                return None
            moved = False
            for pickup, delivery, limit in rides:
                service = timing.halts[pickup - 1].service
                least = labels[delivery].begun - limit - service
                if least > labels[pickup].begun + timing.dust:
                    begun = labels[pickup].begun
                    self.held[pickup] = max(least, self._short_from(pickup, delivery, limit, begun))
                    self.blamed = (pickup, delivery, limit)
                    moved = True
            if not moved:
                return labels
            if math.inf in self.held:
                return None
        return None

    def drive(self, departure: float) -> list[Label] | None:
        """Everything as early as what is held allows; None where it is too late."""
        timing, strict, slack = self.timing, self.strict, self.timing.slack
        labels = [Label(departure, departure, departure, False, (), None)]
        for position, halt in enumerate(timing.halts):
            before, then = labels[-1], self.taken[position + 1]
            breaks = self.breaks[:then]
            ways = list(ways_on(timing, breaks, position, self.taken[position], before.left))
            taken, arrival, pauses = ways[-1]
            held = max(arrival, self.held[position + 1])
            begun = begin_service(halt, held, slack)
            if taken < then or (strict and begun > halt.closing + slack):
                return None
            late = arrival > halt.closing + slack
            left = max(begun + halt.service, halt.released)
            labels.append(Label(left, arrival, begun, late, pauses, before))
        if strict and labels[-1].left > timing.terms.back_by + slack:
            return None
        return labels

    def _least(self, ride: Ride) -> float:
        """The least time from a pickup to its delivery: nothing is waited for."""
        pickup, delivery, _ = ride
        timing, breaks = self.timing, self.breaks[self.taken[pickup] : self.taken[delivery]]
        ways = (timing.least_travel(position) for position in range(pickup, delivery))
        stops = (halt.service for halt in timing.halts[pickup : delivery - 1])
        return sum(ways) + sum(stops) + float(sum(one.duration for one in breaks))

    def _most_rounds(self, rides: Sequence[Ride]) -> int:
        """Between two jumps to a later window, a delay that follows from itself never ends."""
        if self.timing.problem.travel_times:
            return _MOST_ROUNDS
        jumps = sum(len(halt.gaps) for halt in self.timing.halts)
        jumps += sum(len(one.windows) for one in self.breaks)
        return (len(rides) + 2) * (jumps + 1)

    def _short_from(self, pickup: int, delivery: int, limit: float, begun: float) -> float:
        """From when on the ways and stops alone leave the ride short enough; inf for never.

        Between the moments that matter the time they take lies on a straight line.
        """
        timing = self.timing
        if not timing.problem.travel_times:
            return begun
        service = timing.halts[pickup - 1].service

        def excess(moment: float) -> float:
            clock = moment + service
            for position in range(pickup, delivery):
                clock += timing.travel(position, clock)
                clock += timing.halts[position].service if position + 1 < delivery else 0.0
            return clock - (moment + service) - limit

        if excess(begun) <= 0:
            return begun
        moments = [begun]
        for position in range(pickup, delivery):
            for moment, _ in timing.problem.travel_times:
                leaving = moment
                for leg in reversed(range(pickup, position)):
                    arrival = leaving - timing.halts[leg].service
                    leaving = timing.latest_leaving(leg, arrival)
                moments.append(leaving - service)
        moments = sorted(moment for moment in moments if moment >= begun)

        for first, second in pairwise(moments):
            before, after = excess(first), excess(second)
            if after <= 0:
                return first + (second - first) * before / (before - after)
        return math.inf

    def _latest(self, rides: Sequence[Ride], end: float) -> float:
        """The latest departure of all schedules that end no later; -inf for none."""
        timing, dust = self.timing, self.timing.dust
        by = [math.inf] * len(timing.nodes)  # what begins not later
        for _ in range(self._most_rounds(rides)):
            begun, left = [0.0] * len(by), end
            for position in reversed(range(1, len(by))):
                halt = timing.halts[position - 1]
                begun[position] = latest_arrival(
                    halt, min(left, by[position] + halt.service), self.begun[position], dust
                )
                breaks = self.breaks[self.taken[position - 1] : self.taken[position]]
                left = latest_leaving(timing, breaks, position - 1, begun[position])
            moved = False
            for pickup, delivery, limit in rides:
                most = begun[pickup] + timing.halts[pickup - 1].service + limit
                if begun[delivery] > most + dust:
                    by[delivery] = most
                    moved = True
            if not moved or math.isinf(left):
                break
        return min(left, timing.terms.latest_start)
