"""Lengths, times and loads: each on a scale of its own, with a slack that nobody notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.scales import tolerance_of, unit_of, whole_unit_of

INF = np.inf
CITIES = [(13.4, 52.5), (9.99, 53.55), (8.68, 50.11), (11.58, 48.14)]


@pytest.mark.parametrize(
    ("largest", "unit", "whole", "slack"),
    [
        (0.0, 1.0, 1.0, 1e-5),  # all places coincide
        (3.0, 1.0, 1.0, 1e-5),  # a generated instance
        (0.6, 1.0, 1.0, 1e-5),
        (0.02, 1.0, 1.0, 4e-7),
        (10.0, 1.0, 1.0, 1e-5),
        (36_000.0, 3600.0, 4096.0, 0.036),  # ten hours in seconds: some hundredths of one
        (1e-4, 1e-5, 2.0**-16, 1e-10),
    ],
)
def test_units_and_slacks(largest: float, unit: float, whole: float, slack: float) -> None:
    assert unit_of(largest) == pytest.approx(unit)
    assert whole_unit_of(largest) == whole
    assert tolerance_of(largest) == pytest.approx(slack)


@given(st.floats(1e-9, 1e12))
def test_no_slack_is_of_practical_size(largest: float) -> None:
    assert 0.99e-6 * largest <= tolerance_of(largest) <= 2.01e-5 * largest
    assert largest / unit_of(largest) <= 10.0 * (1 + 1e-12)
    assert largest / whole_unit_of(largest) <= 10.0 * (1 + 1e-12)


def cities(unit: str, seconds: float, closing: str) -> Problem:
    return Problem.from_lonlat(
        CITIES,
        speed_kmh=80,
        time_unit=unit,
        windows=[("06:00", "23:59"), ("06:00", closing), ("06:00", "18:00"), ("06:00", "18:00")],
        service=[0, 900 / seconds, 900 / seconds, 900 / seconds],
    )


@pytest.mark.parametrize(("unit", "seconds"), [("s", 1), ("min", 60), ("h", 3600)])
def test_metres_do_not_blunt_hours(unit: str, seconds: float) -> None:
    """At 80 km/h from Berlin one is in Hamburg at 09:12:07."""
    with pytest.raises(ProblemError, match="windows, node 1"):
        cities(unit, seconds, "09:02")
    with pytest.raises(ProblemError, match="windows, node 1"):
        cities(unit, seconds, "09:12:07")
    problem = cities(unit, seconds, "09:12:08")
    assert problem.time_tolerance * seconds < 0.1
    assert problem.length_tolerance < 1.0
    assert judge(problem, [[0, 1, 0], [0, 2, 0], [0, 3, 0]]).feasible
    assert not judge(problem, [[0, 2, 1, 0], [0, 3, 0]]).feasible


def timestamps(**features: Any) -> Problem:
    minutes = [(0, 20), (30, 40), (200, 210)]
    windows = [(0, INF), *((1.6e9 + 60 * a, 1.6e9 + 60 * b) for a, b in minutes)]
    return Problem.from_matrix(np.full((4, 4), 600.0), **{"windows": windows, **features})


def test_timestamps_beside_a_depot_that_never_closes() -> None:
    """Nobody opens before 1.6e9, and the longest way out takes 600."""
    problem = timestamps()
    assert problem.day_start == 1.6e9 - 600
    assert problem.time_tolerance == pytest.approx(1e-6 * (600 + 210 * 60))
    assert judge(problem, [[0, 1, 2, 3, 0]]).feasible
    late = judge(timestamps(service=[0, 2400.1, 0, 0]), [[0, 1, 2, 3, 0]]).violations
    assert [violation.node for violation in late] == [2]  # a tenth of a second


def test_shifts_that_begin_long_after_the_depot_opens() -> None:
    van = {"window": (1.6e9, 1.6e9 + 1800)}
    problem = timestamps(windows=[(0, INF)] * 4, vehicles=[van])
    assert problem.day_start == 1.6e9
    assert judge(problem, [[0, 1, 2, 0], [0, 3, 0]]).feasible
    assert not judge(problem, [[0, 1, 2, 3, 0]]).feasible


def test_the_first_departure_stays_where_it_makes_little_difference() -> None:
    """From midnight, where customers open at 8: more than a tenth of the time is theirs."""
    windows = [(0, 24), (8, 12), (9, 17)]
    problem = Problem.from_matrix(np.full((3, 3), 0.5), windows=windows)
    assert problem.day_start == 0.0


@pytest.mark.parametrize(
    ("demand", "capacity", "legal"),
    [
        ([0, 50_000.3, 50_000.4], 100_000, False),
        ([0, 50_000.3, 49_999.7], 100_000, True),
        ([0, 0.1, 0.2], 0.3, True),  # a little more in floats
        ([0, 60_000, 40_001], 100_000.7, False),  # whole amounts, but not up to the next whole one
        ([0, 30_000_000, 70_000_001], 100_000_000, False),
        ([0, 30_000_000, 70_000_000], 100_000_000, True),
    ],
)
def test_a_vehicle_is_full_when_it_is_full(demand, capacity, legal):
    problem = Problem.from_coordinates([(0, 0), (1, 0), (0, 1)], demand=demand, capacity=capacity)
    assert judge(problem, [[0, 1, 2, 0]]).feasible == legal


# --------------------------------------------------------------------------------------- any units


def drawn(seed: int, length: float, time: float, **features: Any) -> Problem:
    """Ten customers, lengths and times in any units."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 3, (11, 2))
    metres = np.linalg.norm(points[:, None] - points[None], axis=2)
    hours = metres * rng.uniform(0.5, 2, (11, 11))
    opening = rng.uniform(0, 9, 11)
    opening[0] = 0.0
    windows = np.stack([opening, opening + rng.uniform(0, 9, 11) + 6], axis=1)
    return Problem.from_matrix(
        metres * length,
        durations=hours * time,
        windows=windows * time,
        service=[0, *(rng.uniform(0, 0.5, 10) * time)],
        max_length=float(rng.uniform(8, 12)) * length,
        allow_unservable=True,
        **features,
    )


@given(
    st.integers(0, 10**6),
    st.permutations(range(1, 11)),
    st.integers(1, 10),
    st.floats(1e-3, 1e5),
    st.floats(1e-3, 1e5),
)
def test_units_change_no_verdict(seed, order, cut, length, time):
    routes = [[0, *part, 0] for part in (order[:cut], order[cut:]) if part]
    plain, scaled = drawn(seed, 1.0, 1.0), drawn(seed, length, time)
    expected, found = judge(plain, routes), judge(scaled, routes)
    assume(nothing_is_close(plain, routes))
    assert found.cost == pytest.approx(expected.cost * length, rel=1e-9)
    places = [[(v.code, v.route, v.node) for v in one.violations] for one in (expected, found)]
    assert places[0] == places[1]


def nothing_is_close(problem: Problem, routes: list[list[int]]) -> bool:
    """Whether no limit is met within the slack, which the unit square has of its own."""
    loose = problem.replace(max_length=problem.max_length * (1 + 1e-4))
    loose = loose.replace(windows=loose.windows * [1, 1 + 1e-4])
    tight = problem.replace(max_length=problem.max_length * (1 - 1e-4))
    tight = tight.replace(windows=tight.windows * [1, 1 - 1e-4])
    verdicts = [judge(one, routes).violations for one in (loose, tight)]
    return len(verdicts[0]) == len(verdicts[1])
