"""When things happen on a route with rules of its own: the referee's timetable.

Written from the definition in ``docs/concepts/working-time.md``, in plain loops. Everything happens
as early as possible, beginning with the earliest departure: that gives the end. Then the vehicle
leaves as late as it can with the same end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spacevrp.problems.fleet import Break
from spacevrp.problems.referee.timing import (
    Label,
    Pause,
    Ride,
    Timing,
    begin_break,
    begin_service,
    breaks_after,
    latest_arrival,
    latest_leaving,
    ways_on,
)


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


# ------------------------------------------------------------------------------------ as early as


def free_schedule(timing: Timing, breaks: Sequence[Break], *, strict: bool) -> Schedule | None:
    """The schedule without limits on rides; None for none. Only a strict one keeps the windows."""
    starts = _departures(timing, breaks, strict=strict)
    found = _forward(timing, breaks, starts, strict=strict)
    if found is None:
        return None
    if strict:
        latest = _backward(timing, breaks, found.last.left, found.soonest)
        chosen, departure = -1, -math.inf
        for taken, start in starts.items():
            leaves = min(max(latest[taken], start), max(timing.terms.latest_start, start))
            if latest[taken] >= start - timing.slack and leaves > departure:
                chosen, departure = taken, leaves
        if chosen >= 0:
            found = _forward(timing, breaks, {chosen: departure}, strict=True) or found
    return read_labels(timing, breaks, found.taken, found.last)


@dataclass(frozen=True)
class _Found:
    """The label that ends first, how many breaks it has behind it, and when stops can begin.

    ``soonest`` has a table for each stop, by the breaks behind it.
    """

    taken: int
    last: Label
    soonest: list[dict[int, float]]


def _departures(timing: Timing, breaks: Sequence[Break], *, strict: bool) -> dict[int, float]:
    """The earliest departure by how many breaks are taken before it."""
    departures = {}
    over = -math.inf
    for taken in range(len(breaks) + 1):
        if taken:
            begin = begin_break(breaks[taken - 1], over, timing.slack)
            if begin is None or not timing.may_pause(taken - 1, 0):
                break
            over = begin + breaks[taken - 1].duration
        departures[taken] = max(timing.earliest, over)
    in_time = {
        taken: departure
        for taken, departure in departures.items()
        if departure <= timing.terms.latest_start + timing.slack
    }
    return in_time if strict else in_time or {0: departures[0]}


def _forward(
    timing: Timing, breaks: Sequence[Break], starts: dict[int, float], *, strict: bool
) -> _Found | None:
    """As early as can be; None where there is no schedule."""
    soonest = []
    labels = {taken: Label(start, start, start, False, (), None) for taken, start in starts.items()}
    for position, halt in enumerate(timing.halts):
        reached: dict[int, Label] = {}
        for taken, label in labels.items():
            for then, arrival, pauses in ways_on(timing, breaks, position, taken, label.left):
                late = arrival > halt.closing + timing.slack
                if strict and late:
                    continue
                begun = begin_service(halt, arrival, timing.slack)
                left = max(begun + halt.service, halt.released)
                if then not in reached or left < reached[then].left:
                    reached[then] = Label(left, arrival, begun, late, pauses, label)
        labels = reached
        soonest.append({taken: label.begun for taken, label in labels.items()})
    # A driver who waits anyway rests then, and not when the route is over.
    ends = [
        (label.left, -taken)
        for taken, label in labels.items()
        if breaks_after(timing, breaks, taken, label.left) is not None
        and not (strict and label.left > timing.terms.back_by + timing.slack)
    ]
    if not ends:
        return None
    taken = -min(ends)[1]
    return _Found(taken, labels[taken], soonest)


# ------------------------------------------------------------------------------------- as late as


def _backward(
    timing: Timing, breaks: Sequence[Break], end: float, soonest: Sequence[dict[int, float]]
) -> dict[int, float]:
    """The latest departure with so many breaks behind it that ends no later; -inf for none."""
    count = len(breaks)
    latest = {
        taken: end if breaks_after(timing, breaks, taken, end) is not None else -math.inf
        for taken in range(count + 1)
    }
    for position in reversed(range(len(timing.halts))):
        halt = timing.halts[position]
        arrival = {
            taken: latest_arrival(halt, left, soonest[position].get(taken, -math.inf), timing.dust)
            for taken, left in latest.items()
        }
        latest = {
            taken: max(
                latest_leaving(timing, breaks[taken:then], position, arrival[then])
                for then in range(taken, count + 1)
                if all(timing.may_pause(number, position + 1) for number in range(taken, then))
            )
            for taken in range(count + 1)
        }
    return latest


# ------------------------------------------------------------------------------- from the labels


def read_labels(timing: Timing, breaks: Sequence[Break], taken: int, last: Label) -> Schedule:
    """The schedule that ends with a label, which has so many breaks behind it."""
    labels = [last]
    while labels[-1].before is not None:
        labels.append(labels[-1].before)
    labels.reverse()
    on_way = [pause for label in labels for pause in label.pauses]
    pauses, over = [], -math.inf
    for number in range(1, (taken if not on_way else on_way[0].number - 1) + 1):
        begin = begin_break(breaks[number - 1], over, timing.slack)
        assert begin is not None  # it was found before
        over = begin + breaks[number - 1].duration
        pauses.append(Pause(number, 0, begin, over))
    pauses += on_way
    after = breaks_after(timing, breaks, taken, last.left) or ()
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
