"""Relations between customers: hand-computed plans, each broken in each way, and caught."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spacevrp
from spacevrp import Group, Objective, Problem, Solution, judge
from spacevrp.formats.instance_json import read_json
from spacevrp.problems.errors import ProblemError, SpacevrpError

# The depot and four customers on a line, one apart.
LINE = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]


def on_line(**fields: Any) -> Problem:
    return Problem.from_coordinates(LINE, **fields)


def codes(problem: Problem, *routes: list[int]) -> list[tuple[str, int | None]]:
    """(code, node) of everything that is wrong."""
    return [(one.code, one.node) for one in judge(problem, routes).violations]


def message(problem: Problem, *routes: list[int]) -> str:
    (only,) = judge(problem, routes).violations
    return only.message


# ------------------------------------------------------------------------------------- one stop


LOADED: dict[str, Any] = {"demand": [0, 6, 4, 0, 0], "capacity": 10}
JOBS: dict[str, Any] = {"demand": [0, -5, 6, 5, -2], "pairs": [(1, 3)]}
RIDE: dict[str, Any] = {"pairs": [(1, 4)], "service": [0, 0.5, 0.5, 0.5, 0.5]}
STACK: dict[str, Any] = {"pairs": [(1, 3), (2, 4)], "lifo": True}
# What the depot sends lies below everything; customer 4 receives nothing.
BELOW: dict[str, Any] = {"pairs": [(1, 3)], "demand": [0, -1, 2, 1, 0], "capacity": 9, "lifo": True}
APART: dict[str, Any] = {"order": [(3, 1)], "different_routes": [(2, 4)]}
TOGETHER = {"same_route": [(1, 3, 4)], "penalty": [0, np.inf, np.inf, 5, np.inf]}
GROUPS: dict[str, Any] = {"groups": [(1, 2), Group((3, 4), required=False)]}
IN_ORDER = [0, 1, 2, 3, 4, 0]


@pytest.mark.parametrize(
    ("fields", "routes", "found"),
    [
        # 10 on board, 10 - 6 + 5, 9 - 4 + 5, then 1 more at customer 3 is too much.
        ({**LOADED, "pickup": [0, 5, 5, 0, 0]}, [IN_ORDER], []),
        ({**LOADED, "pickup": [0, 5, 5, 1, 0]}, [IN_ORDER],
         ["capacity 3: route 1 has a load of 11 after customer 3, capacity is 10"]),
        ({**LOADED, "pickup": [0, 5, 5, 1, 0]}, [[0, 1, 2, 4, 0], [0, 3, 0]], []),
        # 6 for customer 2 lie in the vehicle from the start, 5 more are too much.
        ({**JOBS, "capacity": 10}, [IN_ORDER], ["capacity 1:"]),
        ({**JOBS, "capacity": 10}, [[0, 2, 1, 3, 4, 0]], []),
        # What customer 4 hands over stays to the end.
        ({**JOBS, "capacity": 6}, [[0, 2, 4, 1, 3, 0]], ["capacity 1:"]),
        ({**JOBS, "capacity": 6}, [[0, 2, 1, 3, 4, 0]], []),
        # A ride is as long as the way and the stops on it.
        ({**RIDE, "max_ride": 4.0}, [IN_ORDER], []),
        ({**RIDE, "max_ride": 3.9}, [IN_ORDER],
         ["ride 4: route 1: the ride from customer 1 to customer 4 takes 4 at least, limit is "
          "3.9"]),
        ({**RIDE, "max_ride": 3.9}, [[0, 2, 1, 3, 4, 0]], []),
        ({**RIDE, "max_ride": 3.9}, [[0, 1, 4, 0], [0, 2, 3, 0]], []),
        (STACK, [[0, 1, 2, 4, 3, 0]], []),
        (STACK, [[0, 1, 3, 2, 4, 0]], []),
        (STACK, [IN_ORDER], ["lifo 3: .*customer 2 loaded lies on top"]),
        (BELOW, [IN_ORDER], ["lifo 2:"]),
        (BELOW, [[0, 2, 1, 4, 3, 0]], []),
        (APART, [[0, 3, 1, 2, 0], [0, 4, 0]], []),
        (APART, [[0, 1, 3, 2, 0], [0, 4, 0]], ["order 1:"]),
        (APART, [[0, 1, 2, 0], [0, 3, 4, 0]], []),
        (APART, [[0, 4, 3, 1, 2, 0]],
         ["different_routes 2: route 1 visits customers 4 and 2, expected them on different "
          "routes"]),
        (TOGETHER, [[0, 1, 3, 4, 0], [0, 2, 0]], []),
        (TOGETHER, [[0, 1, 4, 0], [0, 2, 0]], []),
        (TOGETHER, [[0, 1, 2, 0], [0, 3, 4, 0]], ["same_route 3:", "same_route 4:"]),
        (GROUPS, [[0, 1, 0]], []),
        (GROUPS, [[0, 2, 3, 0]], []),
        (GROUPS, [[0, 3, 0]],
         ["group 1: none of the group of customers 1, 2 is visited, expected one"]),
        (GROUPS, [[0, 1, 2, 0]], ["group 2:"]),
        (GROUPS, [[0, 1, 3, 0], [0, 4, 0]], ["group 4:"]),
    ],
)  # fmt: skip
def test_what_is_found(fields: dict[str, Any], routes: Any, found: list[str]) -> None:
    told = judge(on_line(**fields), routes).violations
    assert len(told) == len(found)
    for one, words in zip(told, found, strict=True):
        assert re.match(words, f"{one.code} {one.node}: {one.message}")


def test_loads_of_both_ways_at_one_stop() -> None:
    kept = on_line(**LOADED, pickup=[0, 5, 5, 0, 0])
    stops = Solution.judged(kept, [IN_ORDER]).plan.routes[0].stops
    assert [stop.load for stop in stops][:3] == [10, 9, 10]


# ----------------------------------------------------------------------------------------- rides


def test_a_pickup_waits_for_the_window_of_its_delivery() -> None:
    def windowed(closing: float) -> Problem:
        windows = [[0, 100], [0, closing], [0, 100], [0, 100], [20, 100]]
        return on_line(pairs=[(1, 4)], max_ride=4.0, windows=windows)

    # Customer 4 opens at 20: the pickup leaves at 16 and begins no earlier.
    assert codes(windowed(16), [0, 1, 2, 3, 4, 0]) == []
    stops = Solution.judged(windowed(16), [[0, 1, 2, 3, 4, 0]]).plan.routes[0].stops
    assert [(stop.reached, stop.waiting) for stop in stops[1:5]] == [
        (1, 15),
        (17, 0),
        (18, 0),
        (19, 1),
    ]
    assert codes(windowed(15), [0, 1, 2, 3, 4, 0]) == [("ride", 4)]
    assert "windows and other rides" in message(windowed(15), [0, 1, 2, 3, 4, 0])


def test_a_ride_may_make_the_route_longer_than_its_vehicle_may_take() -> None:
    windows = [[0, 100], [0, 1], [20, 100], [0, 100], [0, 100]]
    fields = {"pairs": [(3, 4)], "windows": windows}
    vehicles = [{"max_duration": 30}]
    # Customer 1 closes at 1, customer 2 opens at 20: 19 to 24 + 4 whatever the ride.
    problem = on_line(vehicles=vehicles, max_ride=1.0, **fields)
    route = [0, 1, 2, 3, 4, 0]
    assert codes(problem, route) == []
    assert judge(problem, [route]).terms["makespan"] == pytest.approx(26.0)
    assert codes(problem.replace(vehicles=[{"max_duration": 25}]), route) == [("duration", None)]


# ----------------------------------------------------------------------------------------- groups


def test_without_its_groups_everybody_must_be_served_again() -> None:
    problem = on_line(**GROUPS)
    assert judge(problem, [[0, 2, 0]]).cost == 4.0
    assert problem.variant_name.endswith("(groups)")
    assert codes(problem.replace(groups=()), IN_ORDER) == []
    assert len(codes(problem.replace(groups=()), [0, 1, 0])) == 3


# -------------------------------------------------------------------------- priority and objective


def test_the_referee_reports_every_term() -> None:
    routes = [[0, 1, 0], [0, 3, 4, 0], [0, 2, 0]]
    verdict = judge(on_line(), routes)
    assert verdict.terms == {"cost": 14.0, "vehicles": 3.0, "makespan": 8.0, "balance": 6.0}
    assert verdict.objective == (14.0,)
    weighted = judge(on_line(objective={"cost": 1, "makespan": 10}), routes)
    assert weighted.objective == (94.0,)
    ordered = Solution.judged(on_line(objective=("vehicles", "cost")), routes)
    assert ordered.objective == (3.0, 14.0)
    assert ordered.to_dict()["totals"]["objective"] == [3.0, 14.0]
    both = on_line(objective=Objective(("vehicles",), {"cost": 1, "balance": 0.5}))
    assert judge(both, routes).objective == (3.0, 17.0)


def test_priorities_decide_who_is_left_out() -> None:
    from spacevrp.problems.solution import better_of

    problem = on_line(priority=[0, 1, 0, 0, 2], max_routes=1)
    near, far = (Solution.judged(problem, [route]) for route in ([0, 1, 2, 3, 0], [0, 4, 0]))
    assert better_of(near, far) is far  # 2 are served, not 1
    assert better_of(near, Solution.judged(problem, [[0, 4, 3, 0]])).routes == ((0, 4, 3, 0),)


# ------------------------------------------------------------------------------------ bad values


@pytest.mark.parametrize(
    ("fields", "field", "fragment"),
    [
        ({"pickup": [0, 1, 0]}, "pickup", "5 numbers"),
        ({"pickup": [0, -1, 0, 0, 0]}, "pickup", "at least 0"),
        ({"pickup": [1, 0, 0, 0, 0]}, "pickup", "0 at a depot"),
        ({"pickup": [0, 3, 0, 0, 0], "demand": [0, -1, 0, 0, 0]}, "demand", "beside pickup"),
        ({"pickup": [0, 3, 0, 0, 0], "load_rule": "single"}, "load_rule", "'separate'"),
        ({"pickup": [0, 3, 0, 0, 0], "capacity": 2}, "pickup", "at most the capacity"),
        ({"pickup": [0, 3, 0, 0, 0], "pairs": [(1, 2)]}, "pickup", "customer of a pair"),
        ({"max_ride": 5}, "max_ride", "pairs beside it"),
        ({"max_ride": [5, 5], "pairs": [(1, 2)]}, "max_ride", "one a pair"),
        ({"max_ride": -1, "pairs": [(1, 2)]}, "max_ride", "at least 0"),
        ({"lifo": "yes", "pairs": [(1, 2)]}, "lifo", "True or False"),
        ({"lifo": True}, "lifo", "pairs beside it"),
        ({"lifo": True, "pairs": [(1, 2)], "demand": [0, 0, 0, -1, 0]}, "lifo", "alone beside"),
        ({"groups": [(1, 2), (2, 3)]}, "groups", "one group a customer"),
        ({"groups": [(0, 2)]}, "groups, number 0", "customers, received a depot"),
        ({"groups": [()]}, "groups, number 0", "at least one"),
        ({"groups": [(1, 9)]}, "groups, number 0", "0 to 4"),
        ({"groups": [{"node": [1]}]}, "groups, number 0", "nodes and required"),
        ({"groups": [(1, 2)], "pairs": [(1, 3)]}, "groups", "without a partner"),
        ({"groups": 7}, "groups", "groups of customers"),
        ({"same_route": [("x", 1)]}, "same_route, number 0", "numbers or ids of nodes"),
        ({"same_route": [(1,)]}, "same_route, number 0", "two customers"),
        ({"same_route": [(1, 1)]}, "same_route, number 0", "each customer once"),
        ({"same_route": [(1, 2)], "different_routes": [(2, 1)]}, "different_routes, number 0", ""),
        ({"different_routes": [(1, 2)], "pairs": [(1, 2)]}, "different_routes, number 0", "pair"),
        ({"order": [(1, 2, 3)]}, "order, number 0", "two customers"),
        ({"order": [(2, 1)], "pairs": [(1, 2)]}, "order", "the pickup 1"),
        ({"priority": [0, 1]}, "priority", "5 numbers"),
        ({"priority": [0, 1.5, 0, 0, 0]}, "priority", "whole number from 0 to 100"),
        ({"priority": [0, 101, 0, 0, 0]}, "priority", "whole number from 0 to 100"),
        ({"objective": ("cost", "cost")}, "objective", "each term once"),
        ({"objective": ("speed",)}, "objective", "some of cost"),
        ({"objective": {"cost": 0}}, "objective, cost", "more than 0"),
        ({"objective": {"first": ["cost"], "weights": {"cost": 1}}}, "objective", "once"),
        ({"objective": 3}, "objective", "some of cost"),
        ({"objective": ("vehicles",), "maximise_prize": True, "max_length": 9}, "objective", ""),
    ],
)
def test_bad_values_are_named(fields: dict[str, Any], field: str, fragment: str) -> None:
    with pytest.raises(ProblemError) as caught:
        on_line(**fields)
    assert caught.value.field == field
    assert fragment in str(caught.value)


def test_nothing_without_a_depot() -> None:
    with pytest.raises(ProblemError, match="order: expected nothing without a depot"):
        Problem.from_coordinates(LINE, depots=None, order=[(1, 2)])


# ------------------------------------------------------------------------------ files and solving

EVERYTHING: dict[str, Any] = {
    "ids": ["home", "a", "b", "c", "d"],
    "demand": [0, -1, 1, 2, 2],
    "capacity": 9,
    "pickup": [0, 0, 0, 1, 0],
    "pairs": [("a", "b")],
    "max_ride": 7.5,
    "groups": [{"nodes": ["c", "d"], "required": False}],
    "same_route": [("a", "d")],
    "different_routes": [("b", "c")],
    "order": [("d", "a")],
    "priority": [0, 3, 0, 0, 4],
    "objective": ("vehicles", "cost"),
}


def test_every_relation_counts(tmp_path: Path) -> None:
    problem = on_line(**EVERYTHING)
    assert problem.groups == (Group((3, 4), required=False),)
    assert problem.replace() == problem
    for name in ("pickup", "max_ride", "groups", "same_route", "order", "priority", "objective"):
        assert problem.replace(**{name: None}) != problem, name
    for suffix in ("vrp", "txt", "npz"):
        with pytest.raises(SpacevrpError):
            spacevrp.write(tmp_path / f"related.{suffix}", problem)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ('"groups": {"nodes": [1]}', "groups"),
        ('"groups": [[true, 2]]', "groups, number 0"),
        ('"groups": [{"nodes": [1, 2], "needed": true}]', "nodes and required"),
        ('"order": [[1, [2]]]', "order"),
        ('"priority": {"1": 2}', "priority"),
        ('"objective": {"first": ["vehicles"], "second": 1}', "first and weights"),
        ('"lifo": 1', "lifo"),
        ('"pickups": [1]', "unknown key 'pickups'; the nearest known one is 'pickup'"),
    ],
)
def test_bad_json_is_named(tmp_path: Path, text: str, fragment: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"locations": [[0, 0], [1, 0], [2, 0]], "depots": [0], ' + text + "}")
    with pytest.raises(SpacevrpError, match=r"bad\.json") as caught:
        read_json(path)
    assert fragment in str(caught.value)


def test_an_explanation_names_the_relation() -> None:
    problem = on_line(different_routes=[(1, 2)], max_routes=1)
    (left,) = Solution.judged(problem, [[0, 1, 3, 4, 0]]).unserved
    assert (left.node, left.code) == (2, "fleet")
    assert "expected them on different routes" in left.message
    together = on_line(same_route=[(1, 2)], max_length=8, demand=[0, 1, 1, 1, 1], capacity=2)
    (left,) = Solution.judged(together, [[0, 1, 4, 0], [0, 3, 0]]).unserved
    assert left.code == "same_route"
    assert "expected on route 1 with customer 1" in left.message
    chosen = on_line(groups=[(1, 2)], max_routes=1, max_length=8)
    left_out = Solution.judged(chosen, [[0, 4, 3, 0]]).unserved
    assert [one.node for one in left_out] == [1, 2]
    rides = on_line(pairs=[(1, 4)], max_ride=2.9, allow_unservable=True)
    reasons = Solution.judged(rides, [[0, 2, 3, 0]]).unserved
    assert "ride from customer 1 to customer 4 takes 3" in reasons[0].message


def test_a_declared_variant_of_pairs_has_no_other_customers() -> None:
    points = [(0, 0), (1, 0), (2, 0), (3, 0)]
    demand = [0, -1, 1, 1]
    given = {"demand": demand, "capacity": 5, "pairs": [(1, 2)]}
    assert Problem.from_coordinates(points, **given).pairs == ((1, 2),)
    with pytest.raises(ProblemError, match="pairs, node 3: expected a partner in PDCVRP"):
        Problem.from_coordinates(points, **given, variant="PDCVRP")
