"""The referee's schedule against a clock that is moved on unit by unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.problems.fleet import Break, Terms, Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.referee.rides import schedule_route

HORIZON = 90
SIZE = 4  # the depot and three customers


@dataclass(frozen=True)
class Day:
    """Whole numbers only, so that every time of a schedule is one."""

    problem: Problem
    route: tuple[int, ...]
    known: dict[tuple[int, int, int], set[tuple[int, int]]] = field(default_factory=dict)

    @property
    def terms(self) -> Terms:
        return self.problem.fleet[0]


# ------------------------------------------------------------------------ the clock, unit by unit


def brute_force(day: Day) -> tuple[int, int] | None:
    """The latest departure among those with the least end, and that end; None for none."""
    found: dict[int, int] = {}
    for departure in range(HORIZON):
        if departure < earliest(day) or departure > day.terms.latest_start:
            continue
        ends = [
            end
            for taken in range(len(day.terms.breaks) + 1)
            if in_time_before(day.terms.breaks[:taken], departure)
            for end in ends_of(day, departure, taken)
        ]
        if ends:
            found[departure] = min(ends)
    if not found:
        return None
    least = min(found.values())
    return max(departure for departure, end in found.items() if end == least), least


def earliest(day: Day) -> float:
    opening = max(day.problem.windows[0, 0], day.terms.leaves_from)
    return max(opening, released(day, 0))


def released(day: Day, position: int) -> float:
    """The latest release of the customers between a depot and the next one."""
    if day.problem.release is None:
        return -np.inf
    moments = [-np.inf]
    for node in day.route[position + 1 :]:
        if node == 0:
            break
        moments.append(day.problem.release[node])
    return max(moments)


def in_time_before(breaks: tuple[Break, ...], departure: int) -> bool:
    """Whether the breaks can be over by then, at whatever times."""
    clocks = {-HORIZON}
    for one in breaks:
        clocks = {
            begin + int(one.duration)
            for clock in clocks
            for begin in range(clock, departure + 1)
            if may_begin(one, begin)
        }
    return any(clock <= departure for clock in clocks)


def may_begin(one: Break, clock: int) -> bool:
    return any(opening <= clock <= closing for opening, closing in one.windows)


def ends_of(day: Day, departure: int, taken: int) -> Iterator[int]:
    """Every time at which the route may be over."""
    left = {(departure, taken)}
    for position in range(1, len(day.route)):
        left = {one for clock, done in left for one in leave_next(day, position, clock, done)}
    for clock, done in left:
        if clock <= day.terms.back_by and in_time_after(day.terms.breaks[done:], clock):
            yield clock


def in_time_after(breaks: tuple[Break, ...], clock: int) -> bool:
    clocks = {clock}
    for one in breaks:
        clocks = {
            begin + int(one.duration)
            for clock in clocks
            for begin in range(clock, HORIZON)
            if may_begin(one, begin)
        }
    return bool(clocks)


def leave_next(day: Day, position: int, clock: int, taken: int) -> set[tuple[int, int]]:
    """When the vehicle may leave the next stop, and with how many breaks behind it."""
    key = (position, clock, taken)
    if key in day.known:
        return day.known[key]
    left = day.known[key] = set()
    states = {(clock, taken, driving(day, position, clock))}  # units still to drive
    seen = set(states)
    while states:
        clock, taken, rest = states.pop()
        if rest == 0 and may_serve(day, position, clock):
            over = clock + takes(day, position)
            if is_reload(day, position):
                over = max(over, int(max(released(day, position), 0)))
            left.add((over, taken))
        steps = [(clock + 1, taken, max(rest - 1, 0))]  # drive on, or wait
        if taken < len(day.terms.breaks) and may_begin(day.terms.breaks[taken], clock):
            steps.append((clock + int(day.terms.breaks[taken].duration), taken + 1, rest))
        for step in steps:
            if step[0] < HORIZON and step not in seen:
                seen.add(step)
                states.add(step)
    return left


def driving(day: Day, position: int, clock: int) -> int:
    origin, target = day.route[position - 1], day.route[position]
    times = day.problem.travel_times
    takes = day.problem.durations.between(origin, target)
    if times:
        takes = np.interp(clock, [at for at, _ in times], [m[origin, target] for _, m in times])
    whole = takes / day.terms.speed_factor
    assert whole == round(whole)
    return round(whole)


def is_reload(day: Day, position: int) -> bool:
    return day.route[position] == 0 and position < len(day.route) - 1


def may_serve(day: Day, position: int, clock: int) -> bool:
    node = day.route[position]
    opening, closing = day.problem.windows[node]
    at_end = node == 0 and not is_reload(day, position)
    open_now = clock <= closing if at_end else opening <= clock <= closing
    return open_now and not any(
        node == at and begin < clock < end for at, begin, end in day.problem.closed
    )


def takes(day: Day, position: int) -> int:
    before, node = day.route[position - 1], day.route[position]
    if node == 0 and not is_reload(day, position):
        return 0
    service = dict(day.terms.service).get(node, day.problem.service[node])
    if day.problem.setup is not None and day.problem.durations.between(before, node) > 0:
        service += day.problem.setup[node]
    return int(service)


# --------------------------------------------------------------------------------------- any day


def windows(latest: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(0, latest), st.integers(0, 12)).map(lambda w: (w[0], sum(w)))


@st.composite
def days(draw: st.DrawFn) -> Day:
    speed = draw(st.sampled_from([1.0, 1.0, 0.5]))
    durations = np.array(
        draw(st.lists(st.integers(0, 4), min_size=SIZE * SIZE, max_size=SIZE * SIZE))
    ).reshape(SIZE, SIZE)
    np.fill_diagonal(durations, 0)
    features: dict[str, Any] = {"durations": durations}
    if draw(st.booleans()):
        slopes = [-1, 0, 1] if speed == 1.0 else [0, 1]
        first = durations + 8
        at = draw(st.integers(0, 12))
        times = [(at, first)]
        for _ in range(draw(st.integers(1, 2))):
            slope = draw(st.sampled_from(slopes))
            then = times[-1][1] + 4 * slope
            times.append((times[-1][0] + 4, then))
        features |= {"travel_times": times, "durations": None}
    several = [
        [(3 * i + a, 3 * i + a + b) for i, (a, b) in enumerate(cuts)]
        for cuts in [
            [(a + 6 * i, b) for i, (a, b) in enumerate(draw(cut))]
            for cut in [
                st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=3)
            ]
            * (SIZE - 1)
        ]
    ]
    if draw(st.booleans()):
        several = [[(0, 50)]] * (SIZE - 1)
    opening = draw(st.integers(0, 5))
    features["windows"] = [(opening, 80), *several]
    features["service"] = draw(st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE))
    if draw(st.booleans()):
        features["setup"] = [0, *draw(st.lists(st.integers(0, 3), min_size=3, max_size=3))]
    if draw(st.booleans()):
        features["release"] = [None, *draw(st.lists(st.integers(0, 9), min_size=3, max_size=3))]
    breaks = [
        Break(draw(st.integers(0, 4)), windows=draw(st.lists(windows(20), min_size=1, max_size=2)))
        for _ in range(draw(st.integers(0, 2)))
    ]
    vehicle = Vehicle(
        speed_factor=speed,
        breaks=breaks,
        latest_start=draw(st.none() | st.integers(opening, 20)),
        window=draw(st.none() | st.tuples(st.integers(0, 5), st.integers(15, 60))),
        reload_depots=(0,),
        service=draw(st.dictionaries(st.integers(0, 3), st.integers(0, 3), max_size=2)),
        open_route=draw(st.booleans()),
    )
    if vehicle.latest_start is not None and vehicle.window is not None:
        vehicle = Vehicle(**{**vars(vehicle), "window": (0, vehicle.window[1])})
    problem = Problem.from_matrix(
        np.ones((SIZE, SIZE)), vehicles=[vehicle], allow_unservable=True, **features
    )
    middle = draw(st.sampled_from([(1, 2, 3), (1, 0, 2, 3), (2, 1, 0, 3), (1, 0, 0, 2)]))
    return Day(problem, (0, *middle) if vehicle.open_route else (0, *middle, 0))


@given(days())
@settings(max_examples=15)
def test_the_schedule_is_that_of_a_clock_moved_on_unit_by_unit(day: Day) -> None:
    in_time = not judge_times(day.problem, day.route)
    expected = brute_force(day)
    assert in_time == (expected is not None)
    if expected is None:
        return
    schedule = schedule_route(day.problem, day.route, day.terms)
    assert schedule is not None
    assert (schedule.departure, schedule.end) == pytest.approx(expected, abs=1e-6)


LIGHTER: list[dict[str, Any]] = [
    {"closed": ()},
    {"release": None},
    {"setup": None},
    {"breaks": ()},
    {"latest_start": None},
    {"window": None},
    {"service": {0: 0, 1: 0, 2: 0, 3: 0}},
]


@given(days(), st.sampled_from(LIGHTER))
@settings(max_examples=40)
def test_to_leave_out_a_rule_never_breaks_another(day: Day, fewer: dict[str, Any]) -> None:
    (vehicle,) = day.problem.vehicles or ()
    if fewer.keys() & vars(vehicle).keys():
        lighter = day.problem.replace(vehicles=[replace(vehicle, **fewer)])
    else:
        lighter = day.problem.replace(**fewer)
    if judge_times(day.problem, day.route):
        return
    assert not judge_times(lighter, day.route)
    before = schedule_route(day.problem, day.route, day.terms)
    after = schedule_route(lighter, day.route, lighter.fleet[0])
    assert before is not None
    assert after is not None
    assert after.end <= before.end + 1e-6


def judge_times(problem: Problem, route: tuple[int, ...]) -> list[str]:
    found = judge(problem, [route], vehicles=[0]).violations
    return [one.message for one in found if one.code in ("window", "break", "start")]
