"""Visits, depots, arcs, lengths and times on four customers: kept, kept only just, and broken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

Build = Callable[..., Problem]
Finding = tuple[str, str, int | None, int | None]  # code, message, route, node

CLOSED = [[0, 1, 2, 0], [0, 3, 4, 0]]  # 12 + 16 long

# The same five nodes in the units of the generated instances, where the tolerance is 1e-5.
TENTHS = ((0.0, 0.0), (0.3, 0.0), (0.3, 0.4), (0.0, 0.4), (0.0, 0.8))


def findings(problem: Problem, routes: list[list[int]]) -> list[Finding]:
    violations = judge(problem, routes).violations
    return [(v.code, v.message, v.route, v.node) for v in violations]


# ---------------------------------------------------------------------------------------- visits


def test_a_compulsory_customer_left_out_is_caught(four_customers: Build) -> None:
    assert findings(four_customers(), [[0, 1, 2, 4, 0]]) == [
        ("visit", "customer 3 is never visited", None, 3)
    ]


def test_an_empty_plan_leaves_out_everybody(four_customers: Build) -> None:
    assert [finding[3] for finding in findings(four_customers(), [])] == [1, 2, 3, 4]


def test_a_second_visit_by_the_same_route_is_caught(four_customers: Build) -> None:
    assert findings(four_customers(), [[0, 1, 2, 1, 3, 4, 0]]) == [
        ("visit", "route 1 visits customer 1 again, already visited by route 1", 1, 1)
    ]


def test_a_second_visit_by_another_route_is_caught(four_customers: Build) -> None:
    assert findings(four_customers(), [[0, 1, 2, 3, 4, 0], [0, 3, 0]]) == [
        ("visit", "route 2 visits customer 3 again, already visited by route 1", 2, 3)
    ]


def test_an_optional_customer_may_be_skipped_but_not_visited_twice(four_customers: Build) -> None:
    problem = four_customers(penalty=[0, 1, np.inf, 1, 1])
    assert findings(problem, [[0, 2, 0]]) == []
    assert findings(problem, [[0, 1, 0]]) == [("visit", "customer 2 is never visited", None, 2)]
    assert findings(problem, [[0, 2, 1, 0], [0, 1, 0]]) == [
        ("visit", "route 2 visits customer 1 again, already visited by route 1", 2, 1)
    ]


def test_tours_without_a_depot(four_customers: Build) -> None:
    problem = four_customers(depots=())
    assert findings(problem, [[0, 1, 2, 4]]) == [("visit", "node 3 is never visited", None, 3)]
    assert findings(problem, [[0, 1, 2, 1, 4, 3]]) == [
        ("visit", "route 1 visits node 1 again, already visited by route 1", 1, 1)
    ]
    assert findings(problem, [[0, 1, 2], [4, 3]]) == [
        ("fleet", "the plan has 2 routes with customers, at most 1 allowed", None, None)
    ]
    assert [finding[3] for finding in findings(problem, [[3]])] == [0, 1, 2, 4]
    repeated = [[0, 1, 2, 4, 3, 0]]
    assert findings(problem, repeated) == [
        (
            "shape",
            "route 1 repeats its first node 0 at the end, expected it only once",
            1,
            0,
        )
    ]
    assert judge(problem, repeated).cost == 20


# -------------------------------------------------------------------------- depots and the fleet


def test_a_route_that_does_not_start_at_a_depot_is_caught(four_customers: Build) -> None:
    routes = [[0, 1, 2, 0], [3, 4, 0]]
    assert findings(four_customers(), routes) == [
        ("depot", "route 2 starts at customer 3, expected a depot", 2, 3)
    ]
    assert judge(four_customers(), routes).cost == 12 + 4 + 8


def test_a_closed_route_that_does_not_return_is_caught(four_customers: Build) -> None:
    routes = [[0, 1, 2, 0], [0, 3, 4]]
    assert findings(four_customers(), routes) == [
        ("depot", "route 2 ends at customer 4, expected to return to depot 0", 2, 4)
    ]
    assert judge(four_customers(), routes).cost == 12 + 8


def test_a_route_without_any_depot_is_caught_at_both_ends(four_customers: Build) -> None:
    assert findings(four_customers(), [[1, 2, 3, 4]]) == [
        ("depot", "route 1 starts at customer 1, expected a depot", 1, 1),
        ("depot", "route 1 ends at customer 4, expected to return to a depot", 1, 4),
    ]


def test_a_depot_in_the_middle_is_caught_and_does_not_unload(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10)
    assert findings(problem, [[0, 1, 2, 0, 4, 3, 0]]) == [
        ("depot", "route 1 visits depot 0 on the way, at position 4", 1, 0),
        ("capacity", "route 1 leaves with a load of 20, capacity is 10", 1, None),
    ]


def test_two_depots(four_customers: Build) -> None:
    problem = four_customers(depots=(0, 4))
    assert findings(problem, [[0, 1, 2, 0], [4, 3, 4]]) == []
    assert findings(problem, [[0, 1, 2, 4], [4, 3, 4]]) == [
        ("depot", "route 1 starts at depot 0 but ends at depot 4", 1, 4)
    ]
    assert findings(problem, [[0, 1, 2, 4, 3, 0]]) == [
        ("depot", "route 1 visits depot 4 on the way, at position 4", 1, 4)
    ]
    assert findings(problem, [[0, 1, 2, 3, 0], [0, 4]]) == [
        ("depot", "route 2 starts at depot 0 but ends at depot 4", 2, 4)
    ]


def test_open_routes_from_two_depots(four_customers: Build) -> None:
    problem = four_customers(depots=(0, 4), open_routes=True)
    assert findings(problem, [[0, 1, 2], [4, 3]]) == []
    assert findings(problem, [[0, 1, 4, 2], [4, 3]]) == [
        ("depot", "route 1 visits depot 4 on the way, at position 3", 1, 4)
    ]
    assert findings(problem, [[0, 1, 2], [3]]) == [
        ("depot", "route 2 starts at customer 3, expected a depot", 2, 3)
    ]


@pytest.mark.parametrize("home", [0, 4])
def test_an_open_route_that_lists_a_way_back_is_caught(four_customers: Build, home: int) -> None:
    problem = four_customers(depots=(0, 4), open_routes=True, max_length=8)
    routes = [[0, 1, 2, home], [4, 3]]
    assert findings(problem, routes) == [
        (
            "shape",
            f"route 1 ends at depot {home}, but open routes do not list the way back",
            1,
            home,
        )
    ]
    # The way back is not travelled: it costs nothing and does not break the limit of 8.
    assert judge(problem, routes).cost == 7 + 4


def test_too_many_routes_are_caught(four_customers: Build) -> None:
    problem = four_customers(max_routes=2)
    assert findings(problem, CLOSED) == []
    assert findings(problem, [*CLOSED, [0, 0], [0]]) == []
    assert findings(problem, [[0, 1, 0], [0, 2, 0], [0, 3, 4, 0]]) == [
        ("fleet", "the plan has 3 routes with customers, at most 2 allowed", None, None)
    ]


# ------------------------------------------------------------------------------------------ arcs


def matrix_without(*missing: tuple[int, int]) -> np.ndarray:
    matrix = np.ones((5, 5))
    for arc in missing:
        matrix[arc] = np.inf
    return matrix


def test_an_arc_that_does_not_exist_is_caught() -> None:
    problem = Problem.from_matrix(matrix_without((1, 2)), max_length=20, windows=[[0, 20]] * 5)
    assert findings(problem, [[0, 2, 1, 3, 4, 0]]) == []
    verdict = judge(problem, [[0, 1, 2, 3, 4, 0]])
    assert verdict.cost == np.inf
    # Length and time after it are not known, so only the arc itself is reported.
    (violation,) = verdict.violations
    assert violation.code == "arc"
    assert violation.message == "route 1 goes from customer 1 to customer 2, where there is no arc"
    assert (violation.route, violation.node) == (1, 2)


def test_a_missing_arc_back_to_the_depot_is_caught_unless_routes_are_open() -> None:
    matrix = matrix_without((4, 0))
    assert findings(Problem.from_matrix(matrix), [[0, 1, 2, 3, 4, 0]]) == [
        ("arc", "route 1 goes from customer 4 to depot 0, where there is no arc", 1, 0)
    ]
    assert findings(Problem.from_matrix(matrix, open_routes=True), [[0, 1, 2, 3, 4]]) == []


def test_a_missing_arc_that_closes_a_tour_is_caught() -> None:
    problem = Problem.from_matrix(matrix_without((4, 0)), depots=())
    assert findings(problem, [[0, 1, 2, 3, 4]]) == [
        ("arc", "route 1 goes from node 4 to node 0, where there is no arc", 1, 0)
    ]


def test_an_arc_without_a_duration_is_caught() -> None:
    problem = Problem.from_matrix(matrix_without(), durations=matrix_without((1, 2)))
    verdict = judge(problem, [[0, 1, 2, 3, 4, 0]])
    assert [violation.code for violation in verdict.violations] == ["arc"]
    assert verdict.cost == 5  # the distance itself is known


# ---------------------------------------------------------------------------------------- length


def test_a_closed_route_may_be_exactly_as_long_as_the_limit(four_customers: Build) -> None:
    assert findings(four_customers(max_length=16), CLOSED) == []


def test_a_route_above_the_limit_is_caught(four_customers: Build) -> None:
    assert findings(four_customers(max_length=16), [[0, 1, 2, 3, 0], [0, 4, 0]]) == []
    assert findings(four_customers(max_length=16), [[0, 3, 0], [0, 1, 2, 4, 0]]) == [
        ("length", "route 2 is 20 long, limit is 16", 2, None)
    ]


def test_an_open_route_does_not_count_the_way_back(four_customers: Build) -> None:
    problem = four_customers(max_length=8, open_routes=True)
    assert findings(problem, [[0, 1, 2], [0, 3, 4]]) == []
    assert findings(problem, [[0, 1, 2, 3], [0, 4]]) == [
        ("length", "route 1 is 10 long, limit is 8", 1, None)
    ]


@pytest.mark.parametrize(("excess", "caught"), [(0.9e-5, False), (1.1e-5, True)])
def test_lengths_are_compared_with_a_tolerance(excess: float, caught: bool) -> None:
    problem = Problem.from_coordinates(TENTHS, max_length=2 - excess)
    assert problem.length_tolerance == 1e-5
    found = findings(problem, [[0, 1, 2, 4, 3, 0]])
    assert bool(found) == caught
    if caught:
        assert found[0][1] == "route 1 is 2 long, limit is 1.99999"


# --------------------------------------------------------------------------------------- windows

NEVER = [0, np.inf]


def test_arrival_exactly_at_the_closing_time_is_in_time(four_customers: Build) -> None:
    # 0 -> 1 takes 3, -> 2 takes 4
    problem = four_customers(windows=[NEVER, [0, 3], [0, 7], NEVER, NEVER])
    assert findings(problem, CLOSED) == []


def test_a_late_arrival_is_caught(four_customers: Build) -> None:
    problem = four_customers(windows=[NEVER, NEVER, [0, 6.5], NEVER, NEVER])
    assert findings(problem, CLOSED) == [
        ("window", "route 1 arrives at customer 2 at 7, window closes at 6.5", 1, 2)
    ]


@pytest.mark.parametrize(("excess", "caught"), [(0.9e-5, False), (1.1e-5, True)])
def test_times_are_compared_with_a_tolerance(excess: float, caught: bool) -> None:
    windows = [NEVER, NEVER, [0, 0.7 - excess], NEVER, NEVER]
    problem = Problem.from_coordinates(TENTHS, windows=windows)
    assert problem.time_tolerance == 1e-5
    assert bool(findings(problem, CLOSED)) == caught


@pytest.mark.parametrize(("excess", "caught"), [(0.9e-5, False), (1.1e-5, True)])
def test_the_return_is_compared_with_a_tolerance(excess: float, caught: bool) -> None:
    windows = [[0, 2 - excess], NEVER, NEVER, NEVER, NEVER]
    problem = Problem.from_coordinates(TENTHS, windows=windows)
    assert bool(findings(problem, [[0, 1, 2, 4, 3, 0]])) == caught


def test_waiting_counts(four_customers: Build) -> None:
    # at 1 from 10 on, so at 2 not before 14
    problem = four_customers(windows=[NEVER, [10, 11], [0, 14], NEVER, NEVER])
    assert findings(problem, CLOSED) == []
    assert findings(problem, [[0, 3, 2, 1, 0], [0, 4, 0]]) == []  # 11 at customer 1, no waiting
    problem = four_customers(windows=[NEVER, [10, 11], [0, 13.5], NEVER, NEVER])
    assert findings(problem, CLOSED) == [
        ("window", "route 1 arrives at customer 2 at 14, window closes at 13.5", 1, 2)
    ]


def test_service_takes_time_and_may_end_after_the_window(four_customers: Build) -> None:
    # service at 1 from 3 to 5, at 2 not before 9
    windows = [NEVER, [0, 3], [0, 9], NEVER, NEVER]
    assert findings(four_customers(windows=windows, service=[0, 2, 9, 0, 0]), CLOSED) == []
    assert findings(four_customers(windows=windows, service=[0, 2.5, 9, 0, 0]), CLOSED) == [
        ("window", "route 1 arrives at customer 2 at 9.5, window closes at 9", 1, 2)
    ]


def test_the_clock_starts_when_the_depot_opens(four_customers: Build) -> None:
    windows = [[5, np.inf], [0, 8], NEVER, NEVER, NEVER]
    assert findings(four_customers(windows=windows), CLOSED) == []
    assert findings(four_customers(windows=windows), [[0, 2, 1, 0], [0, 3, 4, 0]]) == [
        ("window", "route 1 arrives at customer 1 at 14, window closes at 8", 1, 1)
    ]


def test_service_at_the_depot_is_ignored(four_customers: Build) -> None:
    problem = four_customers(
        windows=[[0, 16], [0, 3], NEVER, NEVER, NEVER], service=[7, 0, 0, 0, 0]
    )
    assert findings(problem, CLOSED) == []


def test_a_closed_route_must_be_back_before_the_depot_closes(four_customers: Build) -> None:
    assert findings(four_customers(windows=[[0, 16], *[NEVER] * 4]), CLOSED) == []
    assert findings(four_customers(windows=[[0, 16], *[NEVER] * 4]), [[0, 1, 2, 4, 3, 0]]) == [
        ("window", "route 1 returns to depot 0 at 20, the depot closes at 16", 1, 0)
    ]


def test_service_at_the_last_customer_delays_the_return(four_customers: Build) -> None:
    problem = four_customers(windows=[[0, 17], *[NEVER] * 4], service=[0, 0, 0, 0, 1])
    assert findings(problem, CLOSED) == []
    problem = four_customers(windows=[[0, 17], *[NEVER] * 4], service=[0, 0, 0, 0.5, 1])
    assert findings(problem, CLOSED) == [
        ("window", "route 2 returns to depot 0 at 17.5, the depot closes at 17", 2, 0)
    ]


def test_an_open_route_need_not_be_back(four_customers: Build) -> None:
    problem = four_customers(windows=[[0, 9], *[NEVER] * 4], open_routes=True)
    assert findings(problem, [[0, 1, 2, 4, 3]]) == []


def test_a_route_that_starts_at_a_customer_is_still_timed(four_customers: Build) -> None:
    # from 3 at 5, one unit of service, then 4 units to 4
    windows = [NEVER, NEVER, NEVER, [5, 6], [0, 9.5]]
    problem = four_customers(windows=windows, service=[0, 0, 0, 1, 0])
    assert findings(problem, [[0, 1, 2, 0], [3, 4, 0]]) == [
        ("depot", "route 2 starts at customer 3, expected a depot", 2, 3),
        ("window", "route 2 arrives at customer 4 at 10, window closes at 9.5", 2, 4),
    ]


def test_after_a_late_arrival_the_clock_runs_on(four_customers: Build) -> None:
    # 2 is reached at 7 instead of 5, then 3 at 10 (in time) and 4 at 14 (late by 1)
    problem = four_customers(windows=[[0, 21.5], NEVER, [0, 5], [0, 10], [0, 13]])
    assert findings(problem, [[0, 1, 2, 3, 4, 0]]) == [
        ("window", "route 1 arrives at customer 2 at 7, window closes at 5", 1, 2),
        ("window", "route 1 arrives at customer 4 at 14, window closes at 13", 1, 4),
        ("window", "route 1 returns to depot 0 at 22, the depot closes at 21.5", 1, 0),
    ]


def test_time_runs_by_durations_not_by_distances() -> None:
    twice_as_slow = 2 * np.ones((5, 5))
    windows = [NEVER, [0, 2], [0, 4], [0, 6], [0, 8]]
    problem = Problem.from_matrix(np.ones((5, 5)), durations=twice_as_slow, windows=windows)
    assert findings(problem, [[0, 1, 2, 3, 4, 0]]) == []
    assert findings(problem, [[0, 2, 1, 3, 4, 0]]) == [
        ("window", "route 1 arrives at customer 1 at 4, window closes at 2", 1, 1)
    ]


def test_each_depot_has_its_own_hours(four_customers: Build) -> None:
    windows = [[0, 12], NEVER, NEVER, NEVER, [2, 10]]
    problem = four_customers(depots=(0, 4), windows=windows)
    assert findings(problem, [[0, 1, 2, 0], [4, 3, 4]]) == []
    assert findings(problem, [[0, 1, 0], [4, 2, 3, 4]]) == [
        ("window", "route 2 returns to depot 4 at 14, the depot closes at 10", 2, 4)
    ]


def test_a_message_has_the_digits_that_show_the_difference(four_customers: Build) -> None:
    problem = four_customers(windows=[NEVER, NEVER, [0, 6.9999], NEVER, NEVER])
    assert findings(problem, CLOSED)[0][1].endswith("at 7, window closes at 6.9999")
    # Six digits would print 123.457 twice.
    problem = four_customers(windows=[NEVER, [119.4567891, 200], [0, 123.4566], NEVER, NEVER])
    assert findings(problem, CLOSED)[0][1].endswith("at 123.4568, window closes at 123.4566")


# --------------------------------------------------------------------------- everything at once


def test_every_violation_is_reported_in_a_fixed_order(four_customers: Build) -> None:
    problem = four_customers(
        demand=[0, 6, 5, -3, -7],
        capacity=10,
        backhaul_last=True,
        max_length=16,
        windows=[[0, 16], NEVER, [0, 6], NEVER, NEVER],
        max_routes=1,
    )
    found = findings(problem, [[0, 4, 1, 2, 0], [0, 1, 0, 1]])
    assert [(code, route, node) for code, _, route, node in found] == [
        ("capacity", 1, 4),
        ("precedence", 1, 1),
        ("precedence", 1, 2),
        ("length", 1, None),
        ("window", 1, 2),
        ("window", 1, 0),
        ("depot", 2, 1),
        ("depot", 2, 0),
        ("capacity", 2, None),
        ("fleet", None, None),
        ("visit", 2, 1),
        ("visit", 2, 1),
        ("visit", None, 3),
    ]
