"""The referee's schedule against a clock that is moved on unit by unit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import Schedules

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

    @property
    def terms(self) -> Terms:
        return self.problem.fleet[0]


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
    expected = Schedules(day.problem, day.route, HORIZON).best()
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


def test_a_driver_who_waits_rests_then() -> None:
    """From 10 to 60 the van waits for customer 1; a break after the route would end it no later."""
    van = Vehicle(breaks=[Break(20, window=(5, 90))])
    problem = Problem.from_coordinates(
        [(0, 0), (10, 0), (20, 0)], windows=[(0, 200), (0, 15), (60, 90)], vehicles=[van]
    )
    schedule = schedule_route(problem, (0, 1, 2, 0), problem.fleet[0])
    assert schedule is not None
    assert schedule.pauses is not None
    assert (schedule.departure, schedule.end) == (5, 80)
    assert [(one.place, one.begin, one.end) for one in schedule.pauses] == [(2, 15, 35)]
