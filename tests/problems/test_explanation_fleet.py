"""Explanations where vehicles differ: shifts, permissions, customers pinned to a vehicle."""

from __future__ import annotations

from typing import Any

import pytest

from spacevrp.problems.explanation import Change, Unserved, explain
from spacevrp.problems.explanation.changes import horizon
from spacevrp.problems.explanation.insertions import Insertions
from spacevrp.problems.explanation.text import describe_fault
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

SQUARE = [(0, 0), (10, 0), (0, 10), (10, 10)]  # a depot d and the customers a, b and c


def square(**given: Any) -> Problem:
    return Problem.from_coordinates(SQUARE, ids=list("dabc"), **given)


def only(problem: Problem, routes: list[list[int]]) -> Unserved:
    """The one customer that the plan leaves out; on the changed instances all is well."""
    (unserved,) = explain(problem, routes).unserved
    assert unserved.relaxation is not None
    for relaxation in (unserved.relaxation, *unserved.alternatives):
        assert unserved.node in {node for route in relaxation.routes for node in route}
        assert judge(relaxation.apply(problem), relaxation.routes).feasible
    return unserved


def single(unserved: Unserved) -> Change:
    """The one change that it takes."""
    (change,) = unserved.relaxation.changes
    return change


def test_a_duration_that_alone_limits_the_day() -> None:
    """The whole square takes 40 on the way and 6 in service; a unit of it costs 3."""
    van = {"name": "van", "count": 1, "max_duration": 45, "unit_distance_cost": 3}
    problem = square(service=[0, 2, 2, 2], vehicles=[van])
    unserved = only(problem, [[0, 1, 3, 0]])
    assert unserved.code == "fleet"
    assert unserved.message.endswith("the route would take 46, type 0 (van) may take 45")
    assert single(unserved) == Change("duration", pytest.approx(1), pytest.approx(46), vehicle=0)
    assert unserved.relaxation is not None
    assert unserved.relaxation.message == (
        "a maximum duration of 46 for type 0 (van), 1 more (in route 1, after customer c)"
    )
    (route,) = explain(problem, [[0, 1, 3, 0]]).limits
    assert route.binding is not None
    assert (route.binding.code, route.binding.allowed) == ("duration", 45)
    alone = square(
        service=[0, 0, 0, 9], vehicles=[van | {"max_duration": 30}], allow_unservable=True
    )
    (far,) = [one for one in explain(alone, [[0, 1, 0]]).unserved if one.id == "c"]
    assert far.code == "duration"
    assert far.message.endswith("such a route takes 37.2843, type 0 (van) may take 30")


def test_lengths_are_told_in_their_own_unit() -> None:
    """The square is 40 long, which costs 120."""
    van = {"name": "van", "count": 1, "max_length": 39, "unit_distance_cost": 3}
    unserved = only(square(vehicles=[van]), [[0, 1, 3, 0]])
    assert unserved.message.endswith("the route would be 40 long, the limit is 39")
    assert single(unserved) == Change("length", pytest.approx(1), pytest.approx(40), vehicle=0)


def test_a_shift_that_alone_limits_the_day() -> None:
    """Five minutes more in a shift of 35 are less than a second van."""
    van = {"name": "van", "count": 1, "window": ("08:00", "08:35")}
    problem = square(time_unit="min", vehicles=[van])
    unserved = only(problem, [[0, 1, 3, 0]])  # 34.1 minutes; the whole square takes 40
    assert single(unserved) == Change("window", pytest.approx(5.0), pytest.approx(40.0), vehicle=0)
    assert unserved.relaxation.message == (
        "the shift of type 0 (van) until 08:40:00, 0:05:00 longer (in route 1, after customer c)"
    )
    assert [one.changes for one in unserved.alternatives] == [
        (Change("fleet", 1.0, 2.0, vehicle=0),)
    ]
    assert horizon(problem) == 35.0
    # Where the depot closes before that, too, its window has to follow.
    hours = [("08:00", "08:37"), *[("08:00", "12:00")] * 3]
    closing = square(time_unit="min", vehicles=[van], windows=hours)
    assert single(only(closing, [[0, 1, 3, 0]])).nodes == (0,)
    assert horizon(closing) == 240.0


@pytest.mark.parametrize("terms", [{"forbidden": ["c"]}, {"allowed": ["a", "b"]}])
def test_a_customer_whom_no_vehicle_may_serve(terms: dict[str, Any]) -> None:
    problem = square(vehicles=[{"name": "van", **terms}], allow_unservable=True)
    unserved = only(problem, [[0, 1, 2, 0]])
    assert (unserved.id, unserved.code) == ("c", "vehicle")
    assert unserved.message == "customer c cannot be served alone: type 0 (van) may not serve it"
    assert single(unserved) == Change("permission", 1.0, None, (3,), vehicle=0)
    assert unserved.relaxation.message == (
        "leave for type 0 (van) to serve customer c (in route 1, after customer a)"
    )
    assert unserved.alternatives == ()


VAN = {"name": "van", "capacity": 12, "pinned": ["a"]}


@pytest.mark.parametrize("van_first", [True, False])
def test_a_vehicle_that_has_to_serve_others_first(van_first: bool) -> None:
    """The van would carry customer b's 6, but not beside the 10 that are pinned to it."""
    bike = {"name": "bike", "capacity": 5, "count": 2}
    fleet = [VAN, bike] if van_first else [bike, VAN]
    problem = square(demand=[0, 10, 6, 3], vehicles=fleet)
    unserved = only(problem, [[0, 1, 0], [0, 3, 0]])
    assert (unserved.id, unserved.code) == ("b", "pin")
    van, smaller = (0, 1) if van_first else (1, 0)
    assert unserved.message == (
        f"customer b cannot be served alone: type {van} (van) could take it, but has to serve "
        "customer a first, pinned to it"
    )
    # A fifth more for the bike is less than a third more for the van.
    assert single(unserved) == Change("capacity", 1.0, 6.0, vehicle=smaller)


def test_one_change_before_two_that_begin_smaller() -> None:
    """The only bike is in use: larger bikes would not be enough, a larger van is."""
    fleet = [VAN, {"name": "bike", "capacity": 5, "count": 1}]
    problem = square(demand=[0, 10, 6, 3], vehicles=fleet)
    unserved = only(problem, [[0, 1, 0], [0, 3, 0]])
    assert single(unserved) == Change("capacity", 4.0, 16.0, vehicle=0)


def test_customers_who_are_pinned_to_another_vehicle() -> None:
    """Words of the user for what the referee says in numbers."""
    fleet = [{"name": "bike", "count": 1}, VAN]
    insertions = Insertions(square(vehicles=fleet), [[0, 2, 0]])
    told = set()
    for insertion in insertions.all_of((1,)):
        if insertion.faults and all(fault.code == "pin" for fault in insertion.faults):
            told.add(describe_fault(insertions.problem, insertion))
    assert told == {"it is pinned to type 1 (van)"}


def test_a_demand_is_compared_with_the_largest_that_may_serve_it() -> None:
    """The truck lacks 10, the van 20; the lorry, which is larger, may not go there."""
    vehicles = [
        {"name": "van", "capacity": 10},
        {"name": "truck", "capacity": 20},
        {"name": "lorry", "capacity": 25, "forbidden": [1]},
    ]
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0)], demand=[0, 30, 5], vehicles=vehicles, allow_unservable=True
    )
    one = only(problem, [[0, 2, 0]])
    assert one.code == "capacity"
    assert "it demands 30, type 1 (truck) carries 20" in one.message
    assert one.relaxation.message.startswith("a capacity of 30 for type 1 (truck), 10 more")
