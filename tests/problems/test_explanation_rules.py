"""What would let a customer in where a rule, a relation or its vehicle keeps it out: by hand.

Five places on a line, 10 apart: the depot d, and the customers a, b, c and e. Or a square of d, a,
b and c, where vehicles differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spacevrp.problems.explanation import Change, Relaxation, Unserved, explain
from spacevrp.problems.explanation.changes import horizon
from spacevrp.problems.explanation.insertions import Insertions
from spacevrp.problems.explanation.remedies import change_all
from spacevrp.problems.explanation.text import describe_fault
from spacevrp.problems.fleet import Break
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

LINE = [(0, 0), (10, 0), (20, 0), (30, 0), (40, 0)]
ROUND = [[0, 1, 2, 3, 0]]  # all but e
ALWAYS = (0, 500)
INF = float("inf")
APART = np.abs(np.subtract.outer(range(0, 50, 10), range(0, 50, 10)))


def line(van: dict[str, Any] | None = None, **given: Any) -> Problem:
    if van is not None:
        given["vehicles"] = [{"name": "van", "count": 1, **van}]
    return Problem.from_coordinates(LINE, ids=list("dabce"), allow_unservable=True, **given)


def verified(problem: Problem, routes: list[list[int]]) -> Unserved:
    """The one customer left out (or the first of a pair); all proposals please the referee."""
    unserved = explain(problem, routes).unserved[0]
    assert unserved.relaxation is not None
    for one in (unserved.relaxation, *unserved.alternatives):
        assert unserved.node in {node for route in one.routes for node in route}
        assert judge(one.apply(problem), one.routes).feasible
        for change in one.changes:  # and not less than that
            if change.limit is not None and change.kind not in ("fleet", "stops", "reload"):
                less = 0.99 * change.amount
                sign = -1 if change.kind in ("opening", "release") else 1
                limit = change.limit - sign * (change.amount - less)
                smaller = Change(**(vars(change) | {"amount": less, "limit": limit}))
                others = [other for other in one.changes if other is not change]
                assert not judge(change_all(problem, [smaller, *others]), one.routes).feasible
    return unserved


LUNCH = Break(15, window=(30, 35), name="lunch")


@pytest.mark.parametrize(
    ("problem", "routes", "change", "message"),
    [
        (
            line({"max_stops": 3}),
            ROUND,
            Change("stops", 1, 4, vehicle=0),
            "4 stops for type 0 (van), 1 more (in route 1, after customer b)",
        ),
        (  # driving takes 80 to e; of 75 and 3 of overtime 2 are lacking
            line({"max_duration": 75, "max_overtime": 3, "overtime_cost": 1}),
            ROUND,
            Change("duration", 2, 77, vehicle=0),
            "a maximum duration of 77 for type 0 (van), 2 more (in route 1, after customer b)",
        ),
        (  # the goods for e are there at 50, the van must leave by 40
            line(
                {"latest_start": 40, "capacity": 9},
                demand=[0, 1, 1, 1, 1],
                release=[None, None, None, None, 50],
            ),
            ROUND,
            Change("start", 10, 50, vehicle=0),
            "leave for type 0 (van) to start at 50, 10 later (in route 1, after customer b)",
        ),
        (  # out to e takes 40 in which lunch fits; back at 95, but the shift ends at 90
            line({"window": (0, 90), "breaks": [LUNCH]}),
            ROUND,
            Change("window", 5, 95, (), 0),
            "the shift of type 0 (van) until 95, 5 longer (in route 1, after customer b)",
        ),
        (  # leaving at 0, e is served from 40 to 60; lunch after that, and begins at 60
            line({"window": (0, 500), "breaks": [LUNCH]}, windows=[ALWAYS] * 4 + [(40, 40)],
                 service=[0, 0, 0, 0, 20]),
            ROUND,
            Change("break", 25, 60, vehicle=0, breaks=(1,)),
            "break 1 (lunch) of type 0 (van) that begins by 60, 25 later (in route 1, after "
            "customer b)",
        ),
        (  # room for one at a time, and three trips are allowed
            line({"capacity": 1, "reload_depots": [0], "max_reloads": 2}, demand=[0, 1, 1, 1, 1]),
            [[0, 1, 0, 2, 0, 3, 0]],
            Change("reload", 1, 3, vehicle=0),
            "3 reloads for type 0 (van), 1 more (in route 1, after depot d)",
        ),
        (  # from a at 10 to e at 40: 30 on board
            line({}, pairs=[(1, 4), (2, 3)], max_ride=[25, None]),
            [[0, 2, 3, 0]],
            Change("ride", 5, 30, (1, 4)),
            "a ride of 30 from customer a to customer e, 5 more (in route 1, after depot d and "
            "customer b)",
        ),
        (
            line({}, different_routes=[("c", "e", "b")], penalty=[0, INF, INF, 0, INF]),
            [[0, 1, 2, 0]],
            Change("different_routes", 1, None, (2, 4)),
            "leave for customer b and customer e to share a route (in route 1, after customer a)",
        ),
    ],
    ids=["stops", "duration", "start", "shift", "break", "reload", "ride", "different"],
)  # fmt: skip
def test_the_smallest_change(
    problem: Problem, routes: list[list[int]], change: Change, message: str
) -> None:
    unserved = verified(problem, routes)
    assert unserved.relaxation is not None
    assert [vars(one) for one in unserved.relaxation.changes] == [
        {key: pytest.approx(value) for key, value in vars(change).items()}
    ]
    assert unserved.relaxation.message == message


def told_of(unserved: Unserved) -> dict[str, Relaxation]:
    """Every way in, by the kind of its first change."""
    assert unserved.relaxation is not None
    return {one.changes[0].kind: one for one in (unserved.relaxation, *unserved.alternatives)}


def test_goods_that_could_be_there_earlier() -> None:
    """The goods of e are there at 50, it is reached at 90 and closes at 88."""
    late = line(
        {"capacity": 9}, demand=[0, 1, 1, 1, 1], windows=[ALWAYS] * 4 + [(0, 88)],
        release=[None, None, None, None, 50],
    )  # fmt: skip
    told = told_of(verified(late, ROUND))
    assert list(told) == ["window", "release"]
    assert told["release"].message == (
        "the goods of customer e there at 48, 2 earlier (in route 1, after customer b)"
    )


def test_the_second_window_could_open_earlier() -> None:
    """Only after c, which opens again at 60, may e be served, and it closes at 65."""
    problem = line({}, windows=[ALWAYS] * 3 + [[(0, 20), (60, 500)], (0, 65)], order=[("c", "e")])
    told = told_of(verified(problem, ROUND))
    assert told["opening"].changes == (Change("opening", 5.0, 55.0, (3,)),)
    assert told["opening"].message.startswith("the window of customer c open from 55, 5 earlier")
    assert told["opening"].apply(problem).closed == ((3, 20.0, 55.0),)
    assert told["window"].changes == (Change("window", 5.0, 70.0, (4,)),)
    assert told["order"].changes == (Change("order", 1.0, None, (3, 4)),)
    assert told["order"].message.startswith("leave for customer c to come after customer e")


@pytest.mark.parametrize(
    ("van", "given", "amount", "limit"),
    [
        # a is served at 10, and the break begins before e is reached at 40.
        (
            {"breaks": [Break(15, window=(12, 25))]},
            {"windows": [ALWAYS, (10, 10)] + [ALWAYS] * 3},
            10,
            45,
        ),
        # e opens again at 100, and a closes at 62.
        (
            {},
            {"windows": [ALWAYS, [(0, 5), (60, 62)], ALWAYS, ALWAYS, [(0, 20), (100, 500)]]},
            3,
            38,
        ),
        # Every way takes half as long again until 200, and a closes at 100.
        (
            {},
            {
                "windows": [ALWAYS, (0, 100)] + [ALWAYS] * 3,
                "travel_times": [(0, 1.5 * APART), (200, 1.5 * APART), (300, APART)],
            },
            10,
            45,
        ),
    ],
    ids=["break", "windows", "travel times"],
)
def test_a_ride_that_could_be_longer(
    van: dict[str, Any], given: dict[str, Any], amount: float, limit: float
) -> None:
    problem = line(van, pairs=[(1, 4), (2, 3)], max_ride=[35, None], **given)
    ride = told_of(verified(problem, [[0, 2, 3, 0]]))["ride"].changes[0]
    assert (ride.amount, ride.limit) == pytest.approx((amount, limit), abs=1e-3)
    assert ride.nodes == (1, 4)


def test_relations_that_could_be_less() -> None:
    """From a to c over b and e takes 40; a vehicle with room for three cannot take e along."""
    stack = line({"max_length": 80}, pairs=[(1, 3), (2, 4)], lifo=True, max_ride=[20, 20])
    told = told_of(verified(stack, [[0, 1, 3, 0]]))
    assert told["lifo"].routes == ((0, 1, 2, 3, 4, 0),)
    assert told["lifo"].message.startswith("unloading in any order")
    assert told["ride"].changes[0].amount == pytest.approx(20)  # a, b, e, c: 40 instead of 20
    short = line(same_route=[("a", "e")], demand=[0, 1, 1, 1, 1], capacity=3)
    told = told_of(verified(short, ROUND))
    assert told["same_route"].message == (
        "leave for customer e to be on another route than customer a (in a route of its own)"
    )
    assert told["same_route"].apply(short).same_route == ()


# -------------------------------------------------------------------------------- explanation fleet


SQUARE = [(0, 0), (10, 0), (0, 10), (10, 10)]  # a depot d and the customers a, b and c


def square(**given: Any) -> Problem:
    return Problem.from_coordinates(SQUARE, ids=list("dabc"), **given)


def single(unserved: Unserved) -> Change:
    """The one change that it takes."""
    (change,) = unserved.relaxation.changes
    return change


def test_a_duration_that_alone_limits_the_day() -> None:
    """The whole square takes 40 on the way and 6 in service; a unit of it costs 3."""
    van = {"name": "van", "count": 1, "max_duration": 45, "unit_distance_cost": 3}
    problem = square(service=[0, 2, 2, 2], vehicles=[van])
    unserved = verified(problem, [[0, 1, 3, 0]])
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
    unserved = verified(square(vehicles=[van]), [[0, 1, 3, 0]])
    assert unserved.message.endswith("the route would be 40 long, the limit is 39")
    assert single(unserved) == Change("length", pytest.approx(1), pytest.approx(40), vehicle=0)


def test_a_shift_that_alone_limits_the_day() -> None:
    """Five minutes more in a shift of 35 are less than a second van."""
    van = {"name": "van", "count": 1, "window": ("08:00", "08:35")}
    problem = square(time_unit="min", vehicles=[van])
    unserved = verified(problem, [[0, 1, 3, 0]])  # 34.1 minutes; the whole square takes 40
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
    assert single(verified(closing, [[0, 1, 3, 0]])).nodes == (0,)
    assert horizon(closing) == 240.0


@pytest.mark.parametrize("terms", [{"forbidden": ["c"]}, {"allowed": ["a", "b"]}])
def test_a_customer_whom_no_vehicle_may_serve(terms: dict[str, Any]) -> None:
    problem = square(vehicles=[{"name": "van", **terms}], allow_unservable=True)
    unserved = verified(problem, [[0, 1, 2, 0]])
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
    unserved = verified(problem, [[0, 1, 0], [0, 3, 0]])
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
    unserved = verified(problem, [[0, 1, 0], [0, 3, 0]])
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
    one = verified(problem, [[0, 2, 0]])
    assert one.code == "capacity"
    assert "it demands 30, type 1 (truck) carries 20" in one.message
    assert one.relaxation.message.startswith("a capacity of 30 for type 1 (truck), 10 more")
