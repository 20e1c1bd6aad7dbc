"""Schedules of routes: limits on rides, several windows, breaks, reloads, travel times by the hour.

By hand, and against a clock that is moved on unit by unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import Schedules

from spacevrp import Problem, Solution, judge
from spacevrp.formats.instance_json import read_json, write_json
from spacevrp.problems.fleet import Break, Vehicle
from spacevrp.problems.referee.rides import schedule_route
from spacevrp.search import Stop, improve

# The depot and four customers on a line, one apart.
LINE = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]
LATEST, HORIZON = 18, 60


def on_line(windows: dict[int, Any], **fields: Any) -> Problem:
    """Who is not named has a window from 0 to 100."""
    return Problem.from_coordinates(
        LINE, windows=[windows.get(node, (0, 100)) for node in range(5)], **fields
    )


def verdict_of(problem: Problem, route: list[int]) -> tuple[list[str], list[float], float]:
    """The codes of what is wrong, when service begins at each stop, and when the route leaves."""
    plan = Solution.judged(problem, [route])
    (times,) = plan.plan.routes
    begun = [round(stop.left - stop.service, 4) for stop in times.stops]
    return [one.code for one in plan.violations], begun, times.stops[0].left


IN_ORDER = [0, 1, 2, 3, 4, 0]


# ---------------------------------------------------------------------------------- by hand


def test_a_pickup_waits_for_a_later_window_of_a_stop_on_its_ride() -> None:
    def windowed(closing: float, limit: float = 4) -> Problem:
        several = {1: [(0, 3), (10, closing)], 2: [(0, 1), (6, 30)], 4: [(4, 5), (20, 100)]}
        return on_line(several, pairs=[(1, 4)], max_ride=limit)

    # Customer 2 opens again at 6, which is too late for the first window of customer 4.
    assert verdict_of(windowed(16), IN_ORDER) == ([], [15, 16, 17, 18, 20, 24], 15)
    assert verdict_of(windowed(15), IN_ORDER)[0] == ["ride"]
    assert verdict_of(windowed(15, 5), IN_ORDER) == ([], [14, 15, 16, 17, 20, 24], 14)
    # Without customer 2 both are served in their first windows.
    begun = verdict_of(windowed(15), [0, 1, 3, 4, 2, 0])[1]
    assert begun == [0, 1, 3, 4, 6, 8]


def test_a_stop_that_is_late_by_less_than_the_slack_does_not_make_the_vehicle_leave_early() -> None:
    """The slack is 1e-6 of the largest time, here 200: customer 2 is late by 1."""
    day = 1e8
    windows = {0: (0, 2 * day), 1: (day, 2 * day), 2: (0, day), 3: (0, 2 * day), 4: (0, 2 * day)}
    for more in ({}, {"breaks": [{"duration": 2, "window": (0, 9)}]}):
        problem = on_line(
            windows, pairs=[(3, 4)], max_ride=1, vehicles=[{"max_duration": 10, **more}]
        )
        codes, begun, leaves = verdict_of(problem, IN_ORDER)
        assert codes == []
        assert leaves >= day - 2
        assert begun[1:] == [day, day + 1, day + 2, day + 3, day + 7]


def test_a_break_is_not_taken_on_a_ride_that_it_makes_too_long() -> None:
    def rested(until: float, limit: float, closing: float = 1) -> Problem:
        van = {"breaks": [{"duration": 2, "window": (2, until)}]}
        return on_line({1: (1, closing)}, pairs=[(1, 4)], max_ride=limit, vehicles=[van])

    # The ride takes from 1 to 4; at 4 the break may begin on the way home.
    assert verdict_of(rested(6, 4), IN_ORDER) == ([], [0, 1, 2, 3, 4, 10], 0)
    assert verdict_of(rested(3, 4), IN_ORDER)[0] == ["ride"]
    (text,) = (one.message for one in judge(rested(3, 4), [IN_ORDER]).violations)
    assert "windows, breaks and other rides make the ride from customer 1 to customer 4" in text
    assert verdict_of(rested(3, 5), IN_ORDER)[1][-2:] == [6, 10]
    # Where customer 1 may wait for it, the break comes before the ride.
    assert verdict_of(rested(3, 4, 20), IN_ORDER) == ([], [1, 4, 5, 6, 7, 11], 1)


def test_rides_of_a_later_trip() -> None:
    def reloaded(closing: float) -> Problem:
        return on_line(
            {3: (0, closing), 4: (20, 100)},
            pairs=[(1, 2), (3, 4)],
            max_ride=1,
            service=[2, 0, 0, 0, 0],
            vehicles=[{"reload_depots": [0], "latest_start": 9}],
        )

    route = [0, 1, 2, 0, 3, 4, 0]
    # Home at 4 + 9, and there again from 15 on.
    assert verdict_of(reloaded(19), route) == ([], [9, 10, 11, 13, 19, 20, 24], 9)
    assert verdict_of(reloaded(18), route)[0] == ["ride"]
    assert verdict_of(reloaded(19), [0, 1, 0, 2, 3, 4, 0])[0] == ["ride", "pair"]


def test_a_pickup_waits_for_the_rush_hour_to_pass() -> None:
    once = np.abs(np.subtract.outer(range(5), range(5))).astype(float)
    rush = [(10, once), (20, 2 * once), (30, 2 * once), (40, once)]

    def at(opening: float, closing: float) -> Problem:
        windows = {1: (opening, closing)}
        return on_line(windows, pairs=[(1, 4)], max_ride=4, travel_times=rush)

    # Left u after 30, each way of 1 takes 2 - u / 10: all three take 4 from u = 1.42 / 0.271 on.
    begun = 30 + 1.42 / 0.271
    assert verdict_of(at(20, 60), IN_ORDER)[1][1] == pytest.approx(begun, abs=1e-3)
    assert verdict_of(at(20, begun + 0.01), IN_ORDER)[0] == []
    assert verdict_of(at(20, begun - 0.01), IN_ORDER)[0] == ["ride"]
    assert verdict_of(at(1, 5), IN_ORDER) == ([], [0, 1, 2, 3, 4, 8], 0)


def test_everything_together_is_written_read_and_solved(tmp_path: Path) -> None:
    apart = np.abs(np.subtract.outer(range(5), range(5))).astype(float)
    van = {"breaks": [{"duration": 2, "window": (4, 9)}], "reload_depots": [0], "capacity": 1}
    problem = on_line(
        {3: [(0, 2), (6, 50)]},
        demand=[0, -1, -1, 1, 1],
        pairs=[(1, 3), (2, 4)],
        max_ride=[3, None],
        vehicles=[van],
        travel_times=[(0, apart), (20, 2 * apart)],
    )
    write_json(tmp_path / "rides.json", problem)
    assert read_json(tmp_path / "rides.json") == problem
    (found,) = improve([problem], [None], stop=Stop(iterations=200), seed=1)
    assert found.is_legal
    # One after the other, whichever comes first: there is room for one.
    assert found.cost == judge(problem, [[0, 1, 3, 2, 4, 0]]).cost == 10


# -------------------------------------------------------------------------- every schedule there is


def as_windows(ends: list[int], last: int) -> list[tuple[int, int]]:
    """Windows from moments in order: each opens at one and closes at the next."""
    return list(zip(ends[::2], [*ends, last][1::2], strict=True))


def four(largest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, largest), min_size=4, max_size=4)


windows = st.lists(st.integers(0, LATEST), min_size=1, max_size=4, unique=True).map(
    lambda ends: as_windows(sorted(ends), LATEST)
)
one_break = st.fixed_dictionaries({"duration": st.integers(0, 4), "windows": windows})
vans = st.fixed_dictionaries(
    {"reload_depots": st.just([0]), "open_route": st.booleans()},
    optional={
        "breaks": st.lists(one_break, min_size=1, max_size=2),
        "latest_start": st.integers(5, 12),
        "window": st.tuples(st.integers(0, 5), st.integers(20, 45)),
        "service": st.dictionaries(st.integers(0, 4), st.integers(0, 4)),
        "speed_factor": st.sampled_from([0.5, 1]),
        "unit_duration_cost": st.just(1),
    },
)
# Steps of travel times between moments 3 apart: leaving later never means arriving earlier, and all
# who leave at a whole number arrive at one.
steps = st.lists(st.sampled_from([-3, 0, 3]), min_size=2, max_size=4)
ROUTES = [(1, 2, 3, 4), (1, 2, 4, 3), (1, 3, 2, 4), (1, 3, 0, 2, 4), (2, 4, 0, 1, 3)]
# These part the pairs.
WITHOUT_PAIRS = [(1, 0, 0, 2), (1, 0, 2, 3, 4)]


@st.composite
def days(draw: st.DrawFn, rides: bool | None = None) -> tuple[Problem, tuple[int, ...]]:
    """A problem and a route, in whole numbers only, so that every time of a schedule is one."""
    van, changes = draw(vans), draw(st.none() | steps)
    base = np.array(draw(st.lists(st.integers(0, 4), min_size=25, max_size=25))).reshape(5, 5)
    apart = ~np.eye(5, dtype=bool)
    fields: dict[str, Any] = {"durations": base * apart}
    if changes is not None:
        van["speed_factor"] = 1  # slower, they would fall faster than time passes
        levels = np.cumsum([0, *changes])
        times = [(3.0 * k, (base + level) * apart) for k, level in enumerate(levels - levels.min())]
        fields = {"travel_times": times}
    routes = ROUTES
    if draw(st.booleans()) if rides is None else rides:
        limits = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
        fields |= {"pairs": [(1, 3), (2, 4)], "max_ride": limits}
    else:
        routes = ROUTES + WITHOUT_PAIRS
        fields["release"] = draw(st.none() | four(9).map(lambda moments: [None, *moments]))
    own = draw(st.tuples(*[windows] * 4) | st.just([(0, 30)] * 4))
    problem = Problem.from_matrix(
        np.ones((5, 5)),
        windows=[(draw(st.integers(0, 5)), 40), *own],
        service=[draw(st.integers(0, 2)), *draw(four(3))],
        setup=draw(st.none() | four(3).map(lambda durations: [0, *durations])),
        vehicles=[van],
        penalty=[0] * 5,  # who is not on the route may be left out
        **fields,
    )
    middle = draw(st.sampled_from(routes))
    return problem, (0, *middle) if van["open_route"] else (0, *middle, 0)


@settings(max_examples=50)
@given(days())
def test_the_referee_finds_what_exists(day: tuple[Problem, tuple[int, ...]]) -> None:
    """A clock moved on unit by unit: the same verdict, the same end and the same departure."""
    problem, route = day
    found = Schedules(problem, route, HORIZON).best()
    verdict = judge(problem, [route])
    said = [one.message for one in verdict.violations]
    assert verdict.feasible == (found is not None), (said, found)
    if found is not None:
        leaves, end = found
        (trip,) = verdict.trips
        assert trip.schedule is not None
        assert trip.schedule.end == pytest.approx(end)
        assert verdict.terms["makespan"] == pytest.approx(end - trip.schedule.departure)
        # Who leaves between two whole numbers may arrive at one, where travel times rise.
        off_grid = 1 if problem.travel_times else 1e-6
        assert -1e-6 < trip.schedule.departure - leaves < off_grid
        check_schedule(problem, route)


def check_schedule(problem: Problem, route: Sequence[int]) -> None:
    """What a plan shows keeps the rides, and begins in windows."""
    (plan,) = Solution.judged(problem, [list(route)]).plan.routes
    begun = {stop.node: stop.left - stop.service for stop in plan.visits}
    left = {stop.node: stop.left for stop in plan.visits}
    limits = () if problem.max_ride is None else problem.max_ride
    for (pickup, delivery), limit in zip(problem.pairs, limits, strict=True):
        assert begun[delivery] - left[pickup] <= limit + 1e-6
    for node, a, b in problem.closed:
        assert node not in begun or not a + 1e-6 < begun[node] < b - 1e-6


LIGHTER: list[dict[str, Any]] = [
    {"closed": ()},
    {"release": None},
    {"setup": None},
    {"breaks": ()},
    {"latest_start": None},
    {"window": None},
    {"service": dict.fromkeys(range(5), 0)},
]


@given(days(rides=False), st.sampled_from(LIGHTER))
@settings(max_examples=40)
def test_to_leave_out_a_rule_never_breaks_another(
    day: tuple[Problem, tuple[int, ...]], fewer: dict[str, Any]
) -> None:
    problem, route = day
    (vehicle,) = problem.vehicles or ()
    if fewer.keys() & vars(vehicle).keys():
        lighter = problem.replace(vehicles=[replace(vehicle, **fewer)])
    else:
        lighter = problem.replace(**fewer)
    if judge_times(problem, route):
        return
    assert not judge_times(lighter, route)
    before = schedule_route(problem, route, problem.fleet[0])
    after = schedule_route(lighter, route, lighter.fleet[0])
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
