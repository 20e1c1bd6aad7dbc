"""No opening is no limit: vehicles leave as early as anybody needs them to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution

INF = np.inf
LINE = [(0, 0), (10, 0), (20, 0)]


def on_a_line(windows: Any, **features: Any) -> Problem:
    return Problem.from_coordinates(LINE[: len(windows)], windows=windows, **features)


@pytest.mark.parametrize("nothing", [None, "", float("nan")])
def test_a_depot_without_an_opening_lets_vehicles_leave_in_time(nothing: object) -> None:
    problem = on_a_line([(nothing, nothing), ("08:00", "08:05")], time_unit="min")
    assert problem.windows.tolist() == [[-10, INF], [0, 5]]
    plan = Solution.judged(problem, [[0, 1, 0]])
    assert plan.feasible
    assert [stop.arrival for stop in plan.plan.routes[0].stops] == ["07:50", "08:00", "08:10"]


def test_numbers_may_be_without_limits_too() -> None:
    problem = on_a_line([(None, None), (480, 485), (500, None)])
    assert problem.windows.tolist() == [[460, INF], [480, 485], [500, INF]]
    assert on_a_line([(None, None), (None, None)]).windows.tolist() == [[0, INF]] * 2
    assert on_a_line([(-INF, INF), (480, 485)]).windows.tolist() == [[470, INF], [480, 485]]


def test_a_shift_begins_when_it_says() -> None:
    """From 07:50 one is there at 08:00; a shift from 08:02 on is too late by 7 minutes."""
    windows = [(None, None), ("08:00", "08:05")]
    early = on_a_line(windows, time_unit="min", vehicles=[{"window": ("06:00", "17:00")}])
    assert judge(early, [[0, 1, 0]]).feasible
    late = on_a_line(
        windows, time_unit="min", vehicles=[{"window": ("08:02", None)}], allow_unservable=True
    )
    (violation,) = judge(late, [[0, 1, 0]]).violations
    assert violation.message == "route 1 arrives at customer 1 at 12, window closes at 5"


def test_a_shift_without_a_beginning() -> None:
    """Both customers take 40 minutes: back by 08:30 means to leave at 07:50 at the latest."""
    vans = [{"name": "a", "window": ("08:00", "17:00")}, {"window": (None, "08:30")}]
    problem = Problem.from_coordinates(LINE, vehicles=vans, time_unit="min")
    (closing,) = [terms.back_by for terms in problem.fleet if not terms.name]
    assert closing == 30
    assert problem.windows[0, 0] == 30 - 3 * 20  # a bound on any way to both of them and back
    assert judge(problem, [[0, 1, 2, 0]], vehicles=[1]).feasible


@pytest.mark.parametrize("form", ["2026-03-02T{}", "{}"])
def test_who_has_no_opening_may_be_served_before_the_others(form: str) -> None:
    """Customer 2 first (20, then 10 back to customer 1): one has to leave by 07:35."""
    window = (form.format("08:00"), form.format("08:05"))
    problem = on_a_line([(None, None), window, (None, None)], time_unit="min")
    assert problem.windows[0, 0] == 5 - 2 * 20
    assert problem.windows[2].tolist() == [-35, INF]
    assert judge(problem, [[0, 2, 1, 0]]).feasible


def test_but_not_before_midnight() -> None:
    windows = [(None, None), ("00:30", "01:00"), (None, None)]
    problem = on_a_line(windows, time_unit="min", service=[0, 0, 600])
    assert problem.clock.moment(problem.windows[0, 0]) == "00:00"
    hours = on_a_line([(None, None), (480, 485), (None, None)], service=[0, 0, 1e6])
    assert hours.windows[0, 0] == 485 - 86_400  # a day before, where there is no midnight


def test_an_opening_that_is_given_stays() -> None:
    problem = on_a_line([("07:55", None), (None, "09:00"), ("08:00", None)], time_unit="min")
    assert problem.windows.tolist() == [[0, INF], [0, 65], [5, INF]]


def test_a_depot_that_closes_early_opens_no_later() -> None:
    problem = on_a_line([(None, 5), (40, 50)], open_routes=True)
    assert problem.windows[0].tolist() == [5, 5]
    assert judge(problem, [[0, 1]]).feasible


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0, 50), st.floats(0, 10)), min_size=1, max_size=5
    ),
    st.floats(0, 1000),
    st.randoms(),
)
def test_to_leave_any_earlier_makes_no_difference(customers, earlier, random):
    """With an opening for everybody, whatever is legal from earlier on is legal from then on."""
    places = [(0.0, 0.0), *((random.uniform(-20, 20), random.uniform(-20, 20)) for _ in customers)]
    windows = [(None, None), *((opening, opening + width) for opening, width, _ in customers)]
    service = [0.0, *(takes for _, _, takes in customers)]
    problem = Problem.from_coordinates(places, windows=windows, service=service)
    route = [0, *random.sample(range(1, len(places)), len(customers)), 0]
    others = problem.windows.copy()
    others[0, 0] -= earlier
    assert judge(problem, [route]) == judge(problem.replace(windows=others), [route])
