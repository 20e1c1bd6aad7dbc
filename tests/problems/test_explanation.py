"""Why customers are left out, what would let them in, what limits routes: by hand on paper."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spacevrp.problems.errors import SolutionError
from spacevrp.problems.explanation import Change, Unserved, explain
from spacevrp.problems.explanation.insertions import Insertions
from spacevrp.problems.explanation.remedies import needed, rank
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution

INF = np.inf
Build = Callable[..., Problem]


def only(problem: Problem, routes: list[list[int]]) -> Unserved:
    """The one customer that the plan leaves out, its relaxation verified by the referee."""
    (unserved,) = explain(problem, routes).unserved
    verify(problem, unserved)
    return unserved


def verify(problem: Problem, unserved: Unserved) -> None:
    """The changed instance passes the route that serves the customer."""
    assert unserved.relaxation is not None
    for relaxation in (unserved.relaxation, *unserved.alternatives):
        relaxed = relaxation.apply(problem)
        (number,) = [
            number
            for number, route in enumerate(relaxation.routes, start=1)
            if unserved.node in route
        ]
        broken = [
            violation
            for violation in judge(relaxed, relaxation.routes).violations
            if violation.route == number or violation.code in ("fleet", "vehicle")
        ]
        assert broken == []


def single(unserved: Unserved) -> Change:
    """The one change that it takes."""
    assert unserved.relaxation is not None
    (change,) = unserved.relaxation.changes
    return change


# ----------------------------------------------------------------------------------------- reasons


ALWAYS = [0, 50]


# From node 2 the only way leads to node 1, and the vehicle carries one load only.
ONE_WAY: dict[str, Any] = {"matrix": [[0, 1, 1], [1, 0, 1], [INF, 1, 0]], "demand": [0, 1, 1]}


@pytest.mark.parametrize(
    ("features", "routes", "code", "message", "changes"),
    [
        (  # alone it takes 2 more; beside the load of 6, 8 more
            {"demand": [0, 2, 2, 2, 12], "capacity": 10},
            [[0, 1, 2, 3, 0]],
            "capacity",
            "customer 4 cannot be served alone: it demands 12, a vehicle carries 10",
            [Change("capacity", 2.0, 12.0)],
        ),
        (
            {"windows": [*[ALWAYS] * 4, [0, 7]]},
            [[0, 1, 2, 3, 0]],
            "window",
            "customer 4 cannot be served alone: straight from depot 0 it is reached at 8, the "
            "window closes at 7: 1 too late",
            [Change("window", 1.0, 8.0, (4,))],
        ),
        (
            {"windows": [[0, 14.5], *[ALWAYS] * 4]},
            [[0, 1, 2, 3, 0]],
            "window",
            "customer 4 cannot be served alone: the vehicle would be back at depot 0 at 16, which "
            "closes at 14.5: 1.5 too late",
            [Change("window", 1.5, 16.0, (0,))],
        ),
        (
            {"max_length": 15.0},
            [[0, 1, 0], [0, 3, 0], [0, 2, 0]],
            "length",
            "customer 4 cannot be served alone: the way there and back is 16 long, the limit is 15",
            [Change("length", 1.0, 16.0)],
        ),
        (
            {"max_length": 7.5, "open_routes": True},
            [[0, 1], [0, 3], [0, 2]],
            "length",
            "customer 4 cannot be served alone: the way there is 8 long, the limit is 7.5",
            [Change("length", 0.5, 8.0)],
        ),
        (  # however it is served, customer 4 is both too heavy and too far
            {"demand": [0, 1, 1, 1, 3], "capacity": 2, "max_length": 15.0},
            [[0, 1, 2, 0], [0, 3, 0]],
            "capacity",
            "customer 4 cannot be served alone: it demands 3, a vehicle carries 2",
            [Change("capacity", 1.0, 3.0), Change("length", 1.0, 16.0)],
        ),
        (  # routes carry 7, 4 and 6 of 7: the one with most room takes it
            {"demand": [0, 4, 7, 6, 4], "capacity": 7, "max_routes": 3},
            [[0, 2, 0], [0, 1, 0], [0, 3, 0]],
            "fleet",
            "all 3 routes that are allowed are in use, and customer 4 fits into none: in route 2, "
            "after depot 0, the load would be 8, a vehicle carries 7",
            [Change("capacity", 1.0, 8.0)],
        ),
        (  # with room for both, it gets home over customer 1
            {**ONE_WAY, "capacity": 1},
            [[0, 1, 0]],
            "unreachable",
            "customer 2 cannot be served alone: no arc leads from customer 2 to depot 0",
            [Change("capacity", 1.0, 2.0)],
        ),
    ],
    ids=["demand", "window", "depot", "length", "open", "two changes", "fleet", "one way"],
)
def test_why_one_customer_is_left_out_and_what_it_takes(
    four_customers, features, routes, code, message, changes
):
    build = Problem.from_matrix if "matrix" in features else four_customers
    unserved = only(build(**features, allow_unservable=True), routes)
    assert (unserved.code, unserved.message) == (code, message)
    assert list(unserved.relaxation.changes) == changes


def test_another_way_is_an_alternative() -> None:
    """A larger vehicle, or a road of its own."""
    (other,) = only(Problem.from_matrix(**ONE_WAY, capacity=1), [[0, 1, 0]]).alternatives
    assert other.changes == (Change("arc", 1.0, None, (2, 0)),)


def test_a_pair_that_cannot_be_served_one_after_the_other() -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (0, -1)], pairs=[(1, 2)], windows=[[0, 10], [0, 10], [0, 2]]
    )
    pickup, delivery = explain(problem, []).unserved
    assert (pickup.node, pickup.code) == (1, "pair")
    assert (delivery.node, delivery.code) == (2, "pair")
    assert pickup.message == (
        "customer 1 and its delivery customer 2 cannot be served one after the other: customer 2 "
        "would be reached at 3, the window closes at 2: 1 too late"
    )
    for one in (pickup, delivery):
        verify(problem, one)
        assert single(one) == Change("window", 1.0, 3.0, (2,))
    assert str(explain(problem, [])).count("unserved (pair)") == 1


def test_a_fleet_that_is_too_small(four_customers: Build) -> None:
    problem = four_customers(
        demand=[0, 2, 2, 2, 2], capacity=5, max_routes=1, ids=["hub", "ann", "bob", "cy", "di"]
    )
    unserved = explain(problem, [[0, 1, 2, 0]]).unserved
    assert [(one.id, one.code) for one in unserved] == [("cy", "fleet"), ("di", "fleet")]
    assert unserved[0].message == (
        "the one route that is allowed is in use, and customer cy does not fit into it: in route "
        "1, after customer bob, the load would be 6, a vehicle carries 5"
    )
    assert single(unserved[0]) == Change("capacity", 1.0, 6.0)
    (other,) = unserved[0].alternatives
    assert other.changes == (Change("fleet", 1.0, 2.0),)
    assert other.insertion.route is None
    for one in unserved:
        verify(problem, one)


def test_several_windows_that_would_break_at_once(four_customers: Build) -> None:
    # 0-1-2-0 arrives at 3, 7 and 12. With 3 and 4 in between, nothing else fits any more.
    problem = four_customers(
        windows=[[0, 17], [0, 4], [0, 8], [0, 50], [0, 50]], max_routes=1, variant="CVRPTW"
    )
    (third, fourth) = explain(problem, [[0, 1, 2, 0]]).unserved
    verify(problem, third)
    # After customer 2 the depot is reached at 3 + 4 + 3 + 4 = 14.
    assert third.code == "none"
    # After customer 2: 3 + 4 + 5 + 8 = 20, which is 3 too late.
    assert fourth.code == "fleet"
    assert single(fourth) == Change("window", 3.0, 20.0, (0,))
    verify(problem, fourth)


def test_a_customer_who_fits_is_told_where(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 2, 2, 2, 2], capacity=8)
    unserved = only(problem, [[0, 1, 2, 4, 0]])
    assert (unserved.code, unserved.message) == (
        "none",
        "customer 3 could be served in route 1, after customer 4, for 0 more",
    )
    assert unserved.relaxation is not None
    assert unserved.relaxation.changes == ()
    assert "it would take" not in str(explain(problem, [[0, 1, 2, 4, 0]]))


def test_a_tour_that_arcs_do_not_close() -> None:
    # A star: from every tip the only way leads back to the middle.
    matrix = np.full((4, 4), INF)
    matrix[0, :] = matrix[:, 0] = 1
    problem = Problem.from_matrix(matrix, depots=())
    second, third = explain(problem, [[0, 1]]).unserved
    assert (second.code, third.code) == ("unreachable", "unreachable")
    assert second.message == (
        "node 2 has no place in the tour: after node 0, no arc leads from node 2 to node 1"
    )
    assert single(second) == Change("arc", 1.0, None, (2, 1))
    verify(problem, second)
    assert explain(problem, [[0, 1]]).served == 2


@pytest.mark.parametrize("seed", range(8))
def test_loads_that_are_looked_at_once_a_route_are_those_of_every_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem.from_coordinates(
        rng.uniform(0, 9, (9, 2)),
        demand=[0, *rng.integers(1, 6, 8)],
        capacity=7,
        max_routes=4,
        max_length=INF if seed % 2 else 25,
    )
    insertions = Insertions(problem, [[0, 1, 2, 0], [0, 3, 0], [0, 4, 0], [0, 5, 0]])
    found = list(insertions.all_of((8,)))
    by_way = {insertion.nodes: changes for changes, insertion in rank(insertions, found)}
    assert by_way == {
        insertion.nodes: changes
        for insertion in found
        for changes in needed(problem, insertion.nodes, insertion.faults)
    }


def test_the_users_clock(four_customers: Build) -> None:
    day = [["08:00", "09:00"], *[["08:00", "08:20"]] * 3, ["08:00", "08:11"]]
    problem = four_customers(
        windows=day, time_unit="min", max_routes=1, ids=["hub", "ann", "bob", "cy", "di"]
    )
    unserved = only(problem, [[0, 1, 2, 3, 0]])
    # 08:03 at ann, and the root of 73 on to di: 11.544 minutes past the hour.
    assert unserved.message.endswith(
        "in route 1, after customer ann, customer di would be reached at 08:11:33, the window "
        "closes at 08:11:00: 0:00:33 too late"
    )
    assert "open until 08:11:33, 0:00:33 longer" in str(explain(problem, [[0, 1, 2, 3, 0]]))


# ------------------------------------------------------------------------------------------ limits


def test_the_limit_that_binds_first(four_customers: Build) -> None:
    problem = four_customers(
        demand=[0, 2, 2, 2, 2],
        capacity=10,
        max_length=20,
        windows=[[0, 20], [5, 50], [0, 9], [0, 50], [0, 50]],
    )
    explanation = explain(problem, [[0, 1, 2, 3, 0], [0, 4, 0]])
    assert explanation.complete
    first, second = explanation.limits
    # At customer 1 the vehicle waits from 3 to 5; it is at 2 at 9 sharp, at 3 at 12, back at 16.
    # Leaving 2 later changes nothing there; 4 later is when the depot closes on it.
    assert [(limit.code, limit.used, limit.allowed) for limit in first.limits] == [
        ("window", 7.0, 9.0),
        ("length", 14.0, 20.0),
        ("capacity", 6.0, 10.0),
    ]
    assert first.binding is not None
    assert (first.binding.node, first.binding.slack) == (2, 2.0)
    # There and back is 16: 4 of 20 left of the length and, by the depot's closing, of the time.
    assert second.binding is not None
    assert second.binding.share == pytest.approx(0.2)
    assert str(explanation).splitlines() == [
        "all 4 customers served, 2 routes, cost 30",
        "  route 1: bound by the window of customer 2: 2 to spare (22% left); length: 14 of 20 "
        "(30% left); capacity: 6 of 10 (40% left)",
        "  route 2: bound by the window of depot 0: 4 to spare (20% left); length: 16 of 20 "
        "(20% left); capacity: 2 of 10 (80% left)",
    ]


def test_a_delay_up_to_the_slack_keeps_the_window_and_no_more(four_customers: Build) -> None:
    windows = [[0, 30], [5, 50], [0, 9.5], [0, 50], [0, 50]]
    problem = four_customers(windows=windows)
    routes = [[0, 1, 2, 3, 4, 0]]
    (limits,) = explain(problem, routes).limits
    assert limits.binding is not None
    assert limits.binding.slack == pytest.approx(2.5)
    for delay, kept in ((limits.binding.slack, True), (limits.binding.slack + 0.01, False)):
        later = [[delay, 30], *windows[1:]]
        assert judge(problem.replace(windows=later), routes).feasible is kept


def test_nothing_limits_a_route(four_customers: Build) -> None:
    explanation = explain(four_customers(), [[0, 1, 2, 4, 3, 0]])
    assert explanation.limits[0].binding is None
    assert "route 1: nothing limits it" in str(explanation)


def test_a_broken_limit_is_said_to_be_broken(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 2, 2, 2, 2], capacity=3)
    explanation = explain(problem, [[0, 1, 2, 0], [0, 3, 0], [0, 4, 0]])
    assert not explanation.complete
    assert "route 1: bound by capacity: 4 of 3 (broken)" in str(explanation)
    assert "not kept (capacity): route 1 leaves with a load of 4" in str(explanation)


# ------------------------------------------------------------------------------------- as solutions


def test_a_partial_plan_is_told_from_a_wrong_one(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 2, 2, 2, 2], capacity=4, max_routes=1)
    partial = Solution.judged(problem, [[0, 1, 2, 0]])
    assert partial.partial
    assert not partial.feasible
    assert [one.node for one in partial.unserved] == [3, 4]
    first, *_, line = str(partial).splitlines()
    assert first == "cost 12, 1 route, 2 unserved"
    assert line.startswith("  customer 4 is never visited (fleet): the one route that is allowed")
    document = json.loads(json.dumps(partial.to_dict()))
    assert [one["code"] for one in document["unserved"]] == ["fleet", "fleet"]
    assert document["unserved"][0]["relaxation"]["changes"][0] == {
        "kind": "capacity",
        "amount": 2.0,
        "limit": 6.0,
        "nodes": [],
        "ids": [],
        "vehicle": None,
        "load": 0,
    }
    assert partial.to_vroom()["unassigned"] == [{"id": 3, "type": "job"}, {"id": 4, "type": "job"}]
    wrong = Solution.judged(problem, [[0, 1, 2, 3, 0]])
    assert not wrong.partial
    whole = Solution.judged(problem.replace(max_routes=None), [[0, 1, 2, 0], [0, 3, 4, 0]])
    assert (whole.partial, whole.unserved, whole.feasible) == (False, (), True)
    assert whole.to_dict()["unserved"] == []


def test_too_little_prize_is_a_partial_plan() -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (0, 2)], prize=[0, 1, 2], penalty=[0, 1, 1], min_prize=2, max_routes=1
    )
    solution = Solution.judged(problem, [[0, 1, 0]])
    assert (solution.partial, solution.unserved) == (True, ())
    assert "collects a prize of 1, at least 2 required" in str(solution.explanation)


def test_what_is_no_plan_is_an_error(four_customers: Build) -> None:
    with pytest.raises(SolutionError, match="expected a node from 0 to 4, received 9"):
        explain(four_customers(), [[0, 9, 0]])
