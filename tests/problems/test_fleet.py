"""Fleets: what users may say of vehicles, and what the referee makes of it, in numbers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.plots.content import looks_of
from spacevrp.problems.assignment import cheapest_vehicles
from spacevrp.problems.errors import ProblemError, SolutionError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution

# A square of 3 by 4 with the depot in a corner, and another depot to the right of it: the distances
# are 3 (0-1, 2-3, 1-4), 4 (1-2, 0-3), 5 (0-2, 1-3, 2-4) and 6 (0-4).
SQUARE = [(0, 0), (3, 0), (3, 4), (0, 4), (6, 0)]
IDS = ["yard", "ann", "bob", "cyd", "shed"]
VAN = {"name": "van", "capacity": 10, "fixed_cost": 100.0, "count": 2, "start": 0}
BIKE = {"name": "bike", "capacity": 5, "fixed_cost": 10.0, "start": 0}


def square(*vehicles: Any, **features: Any) -> Problem:
    given = {"demand": [0, 4, 5, 5, 0], "depots": [0, 4], "ids": IDS, **features}
    return Problem.from_coordinates(SQUARE, vehicles=list(vehicles), **given)


def codes(problem: Problem, routes: Any, vehicles: Any = None) -> list[str]:
    return [violation.code for violation in judge(problem, routes, vehicles).violations]


# ------------------------------------------------------------------------------------- the numbers


TWO = [[0, 1, 2, 0], [0, 3, 0]]  # 12 and 8 long
ONE_EACH = [[0, 1, 0], [0, 2, 0], [0, 3, 0]]
FERRY = {"name": "ferry", "capacity": 20, "start": "yard", "end": "shed"}
LONG, SHORT = {**VAN, "max_length": 12.0}, {**BIKE, "max_length": 8.0}
ONE_VAN = {**VAN, "count": 1}
FREE = {"capacity": 20, "start": 0}
# Out at 2, at 1 at 5, at 2 (served for 1) at 9, home at 10 + 5 = 15.
SHIFT, SERVED = {**FREE, "window": (2, 15)}, {"service": [0, 0, 1, 0, 0]}
OPEN_SHIFT = {**FREE, "open_route": True, "window": (None, 8)}  # at 2 at 7, served until 8
PINNED = {**ONE_VAN, "pinned": ["bob", "ann"]}
# Weights 4 + 5 of 10, volumes 1 + 3 of 3.
KINDS = {"demand": [[0, 0], [4, 1], [5, 3], [5, 1], [0, 0]]}
# fmt: off
RULES = [
    # vehicles, features, routes, who drives them, what is found
    ([VAN, BIKE], {}, TWO, ["van", "van"], []),
    ([VAN, BIKE], {}, TWO, ["bike", "bike"],
     ["capacity: route 1 leaves with a load of 9, capacity is 5"]),
    ([ONE_VAN, BIKE], {}, TWO, [0, 0],
     ["vehicle: the plan has 2 routes of type 0 (van), of which there is 1"]),
    ([VAN, BIKE], {"max_routes": 1}, TWO, [0, 1],
     ["fleet: the plan has 2 routes with customers, at most 1 allowed"]),
    ([FERRY], {}, [[0, 3, 2, 1, 4]], None, []),
    ([FERRY], {}, [[0, 3, 2, 1, 0]], None,
     ["depot: route 1 ends at depot 0, type 0 (ferry) ends at depot 4"]),
    ([FERRY], {}, [[4, 3, 2, 1, 4]], None,
     ["depot: route 1 starts at depot 4, type 0 (ferry) starts at depot 0"]),
    ([{**FREE, "open_route": True}], {}, [[0, 1, 2, 3]], None, []),
    ([{**FREE, "open_route": True}], {}, [[0, 1, 2, 3, 0]], None,
     ["shape: route 1 ends at depot 0, but the route of type 0 ends at its last customer"]),
    ([LONG, SHORT], {}, TWO, [0, 1], []),
    ([LONG, SHORT], {}, [[0, 1, 2, 3, 0]], [0],
     ["capacity: route 1 leaves with a load of 14, capacity is 10",
      "length: route 1 is 14 long, limit is 12"]),
    ([SHIFT, FREE], SERVED, TWO, [0, 1], []),
    ([{**SHIFT, "window": (2, 14.5)}, FREE], SERVED, TWO, [0, 1],
     ["window: route 1 is over at 15, the shift of type 0 ends at 14.5"]),
    ([OPEN_SHIFT, FREE], SERVED, [[0, 1, 2], [0, 3, 0]], [0, 1], []),
    ([OPEN_SHIFT, FREE], SERVED, [[0, 1, 2, 3]], [0],
     ["window: route 1 is over at 11, the shift of type 0 ends at 8"]),
    ([{**VAN, "forbidden": ["bob"]}, BIKE], {}, TWO, [0, 1],
     ["vehicle: route 1 visits customer 2, whom type 0 (van) may not serve"]),
    ([{**VAN, "allowed": ["ann", "cyd"]}, BIKE], {}, TWO, [0, 1],
     ["vehicle: route 1 visits customer 2, whom type 0 (van) may not serve"]),
    ([PINNED, BIKE], {}, [[0, 2, 1, 0], [0, 3, 0]], [0, 1], []),
    ([PINNED, BIKE], {}, TWO, [0, 1], ["pin"]),
    ([PINNED, BIKE], {}, [[0, 2, 0], [0, 3, 0], [0, 1, 0]], [0, 1, 1], ["pin", "pin"]),
    ([PINNED, BIKE], {}, ONE_EACH, [1, 1, 1],
     ["pin", "pin", "pin: type 0 (van) stays at home, but customer 2 is pinned to it"]),
    ([{**FREE, "capacity": (10, 3)}], KINDS, TWO, None,
     ["capacity: route 1 leaves with a load of 4 of kind 1, capacity is 3"]),
    ([{**FREE, "capacity": (10, 3)}], KINDS, [[0, 1, 3, 0], [0, 2, 0]], None, []),
]
# fmt: on


@pytest.mark.parametrize(("vehicles", "features", "routes", "driven", "found"), RULES)
def test_what_the_referee_finds(vehicles, features, routes, driven, found):
    violations = judge(square(*vehicles, **features), routes, driven).violations
    assert len(violations) == len(found)
    for violation, words in zip(violations, found, strict=True):
        assert f"{violation.code}: {violation.message}".startswith(words)


def test_fixed_costs_are_paid_for_every_vehicle_that_leaves() -> None:
    """0-1-2-0 is 12 long, 0-3-0 is 8; a van costs 100 and a bike 10; empty routes cost nothing."""
    verdict = judge(square(VAN, BIKE), [*TWO, [0, 0]], ["van", "bike", "bike"])
    assert (verdict.feasible, verdict.cost) == (True, 12 + 8 + 100 + 10)
    assert judge(square(FERRY), [[0, 3, 2, 1, 4]]).cost == 4 + 3 + 4 + 3
    solution = Solution.judged(square(SHIFT, FREE, **SERVED), TWO, [0, 1])
    assert [stop.reached for stop in solution.plan.routes[0].stops] == [2, 5, 9, 15]


def test_kinds_of_load_need_no_types_of_vehicles() -> None:
    demand = [[0, 0], [4, 1], [5, 3], [5, 1], [0, 0]]
    problem = Problem.from_coordinates(SQUARE, demand=demand, capacity=(10, 3), depots=[0, 4])
    assert problem.has_own_fleet
    assert problem.vehicles is None
    assert problem.variant_name == "MDCVRP (2 kinds of load)"
    assert codes(problem, [[0, 1, 2, 0], [4, 3, 4]]) == ["capacity"]
    assert codes(problem, [[0, 3, 1, 0], [4, 2, 4]]) == []
    # A pickup of the second kind is a pickup, though the first kind sees nothing.
    mixed = problem.replace(
        demand=[[0, 0], [4, 0], [5, 0], [0, -1], [0, 0]], capacity=(10, 3), backhaul_last=True
    )
    assert "precedence" in codes(mixed, [[0, 3, 1, 2, 0]])


def test_where_nobody_names_vehicles_the_cheapest_legal_ones_are_taken() -> None:
    """The first route needs a van; the second takes the bike, which is cheaper."""
    problem = square(VAN, BIKE)
    solution = Solution.judged(problem, [[0, 3, 0], [0, 1, 2, 0]])
    assert solution.vehicles == (1, 0)
    assert solution.cost == 20 + 110
    # With one bike only, one of the two light routes takes a van.
    single = square(VAN, {**BIKE, "count": 1})
    assert sorted(Solution.judged(single, [[0, 3, 0], [0, 1, 0]]).vehicles or ()) == [0, 1]


@pytest.mark.parametrize(
    ("vehicles", "part"),
    [
        ([0], "expected 2, one for each route, received 1"),
        ([0, 2], "route 2: expected a type from 0 to 1 or its name, received 2"),
        ([0, "car"], "received 'car'"),
        ([0, True], "received True"),
        ("van", "expected a list"),
    ],
)
def test_a_vehicle_that_does_not_exist_cannot_be_judged(vehicles: Any, part: str) -> None:
    with pytest.raises(SolutionError, match=part):
        judge(square(VAN, BIKE), [[0, 1, 2, 0], [0, 3, 0]], vehicles)


def test_vehicles_mean_nothing_where_all_are_alike() -> None:
    with pytest.raises(SolutionError, match=r"as all are alike.*is judged with that table"):
        judge(Problem.from_coordinates(SQUARE), [[0, 1, 2, 3, 4, 0]], [0])


# ----------------------------------------------------------------------------------------- plans


def test_the_length_of_a_plan_is_no_cost() -> None:
    # 3 + 4 + 5 at half the price, 4 + 4 at twice the price, and 110 for the vehicles.
    van, bike = {**VAN, "unit_distance_cost": 0.5}, {**BIKE, "unit_distance_cost": 2}
    solution = Solution.judged(square(van, bike), [[0, 1, 2, 0], [0, 3, 0]], [0, 1])
    document = solution.to_dict()
    assert document["cost"] == 6 + 16 + 110
    assert document["totals"]["length"] == 20
    assert document["totals"]["leg_costs"] == 22
    assert [route["length"] for route in document["routes"]] == [12, 8]
    assert [route["cost"] for route in document["routes"]] == [6, 16]
    assert [row["leg_length"] for row in solution.to_rows()] == [0, 3, 4, 5, 0, 4, 4]
    plain = Solution.judged(square(VAN, BIKE), [[0, 1, 2, 0], [0, 3, 0]], [0, 1])
    assert "leg_length" not in plain.to_rows()[0]


def test_the_costs_of_routes_add_up_to_that_of_the_plan() -> None:
    # 12 and 8 of way, 100 and 10 for the vehicles; the bike takes 8 of time at 0.5.
    vehicles = (VAN, {**BIKE, "unit_duration_cost": 0.5})
    solution = Solution.judged(square(*vehicles), [[0, 1, 2, 0], [0, 3, 0]], [0, 1])
    document = solution.to_dict()
    assert [route["total_cost"] for route in document["routes"]] == [112, 22]
    assert [route["cost"] for route in document["routes"]] == [12, 8]
    assert document["cost"] == 134
    assert [look.cost for look in looks_of(solution)] == ["112", "22"]
    on_earth = Problem.from_lonlat(
        [(0, 0), (0.1, 0), (0.2, 0)], vehicles=[{"fixed_cost": 100, "count": 2}]
    )
    plan = Solution.judged(on_earth, [[0, 1, 0], [0, 2, 0]])
    told = [feature["properties"] for feature in plan.to_geojson()["features"]]
    lines = [one for one in told if "stops" in one]
    assert sum(line["total_cost"] for line in lines) == pytest.approx(plan.cost)
    assert sum(line["cost"] for line in lines) == pytest.approx(plan.cost - 200)


def test_a_plan_names_its_vehicles() -> None:
    demand = [[0, 0], [4, 1], [5, 2], [5, 1], [0, 0]]
    van, bike = {**VAN, "capacity": (10, 3)}, {**BIKE, "capacity": (5, None)}
    solution = Solution.judged(square(van, bike, demand=demand), [[0, 1, 2, 0], [0, 3, 0]], [0, 1])
    assert solution.feasible
    text = str(solution)
    assert "route 1: van, 2 stops, cost 12 and 100 for the vehicle, load 9 of 10, 3 of 3" in text
    assert "route 2: bike, 1 stop, cost 8 and 10 for the vehicle, load 5 of 5, 1" in text
    document = solution.to_dict()
    assert document["cost"] == 130
    assert document["totals"]["fixed_costs"] == 110
    assert [route["vehicle"] for route in document["routes"]] == ["van", "bike"]
    assert document["routes"][0]["stops"][0]["loads"] == [9, 3]
    assert {row["vehicle"] for row in solution.to_rows()} == {"van", "bike"}
    vroom = solution.to_vroom()
    assert vroom["summary"]["cost"] == 130
    assert vroom["summary"]["delivery"] == [14, 4]
    assert [route["description"] for route in vroom["routes"]] == ["van", "bike"]


# ------------------------------------------------------------------------------------- validation


@pytest.mark.parametrize(
    ("change", "field", "part"),
    [
        ({"capacity": 0}, "capacity", "more than 0"),
        ({"capacity": [1, 2]}, "capacity", "one number"),
        ({"capacity": "big"}, "capacity", "a number, received 'big'"),
        ({"count": 0}, "count", "from 1 to"),
        ({"count": 1.5}, "count", "a whole number"),
        ({"start": "ann"}, "start", r"one of the depots \(0, 4\), received 1"),
        ({"start": "moon"}, "start", "one of the ids"),
        ({"start": None}, "start", "received none of them"),
        ({"end": 2}, "end", "one of the depots"),
        ({"end": 4, "open_route": True}, "end", "none of an open route"),
        ({"open_route": "yes"}, "open_route", "True or False"),
        ({"fixed_cost": -1}, "fixed_cost", "at least 0"),
        ({"fixed_cost": np.inf}, "fixed_cost", "finite"),
        ({"max_length": 0}, "max_length", "more than 0"),
        ({"window": (9, 3)}, "window", "an end after the beginning"),
        ({"window": 9}, "window", "two moments"),
        ({"forbidden": ["shed"]}, "forbidden", "customers, received node 4"),
        ({"forbidden": [1], "allowed": [2]}, "allowed", "either"),
        ({"pinned": [1, 1]}, "pinned", "each customer once"),
        ({"pinned": [1], "forbidden": [1]}, "pinned", "a customer it may serve"),
        ({"pinned": [1], "count": 2}, "count", "1 where customers are pinned"),
        ({"name": "bike"}, "name", "a name of its own|type 0 has the same"),
        ({"colour": "red"}, "keys", "the nearest is"),
    ],
)
def test_refused_by_field_and_number(change: dict[str, Any], field: str, part: str) -> None:
    with pytest.raises(ProblemError, match=part) as caught:
        square(BIKE, {"name": "van", "capacity": 10, "start": 0, **change})
    assert caught.value.field.startswith("vehicles, type 1 (")
    assert caught.value.field.endswith(f", {field}")


def test_a_name_is_text() -> None:
    with pytest.raises(ProblemError, match="vehicles, type 0, name: expected text, received 5"):
        square({**VAN, "name": 5})


def test_two_vehicles_cannot_have_the_same_pin() -> None:
    with pytest.raises(ProblemError, match="pinned to type 0 already"):
        square({**VAN, "count": 1, "pinned": [1]}, {**BIKE, "count": 1, "pinned": [1]})


@pytest.mark.parametrize(("vehicle", "features", "part"), [
    ({"capacity": 9, "pinned": [1, 2, 3]}, {}, "at most the capacity 9, received a load of 14"),
    ({"max_length": 6.9, "pinned": [1, 2]}, {}, "a length of at least 7.*received 6.9"),
    ({"window": (2, 8), "pinned": [1, 2]}, {}, "end of the shift of at least 9.*received 8"),
    ({"pinned": [1, 2]}, {"windows": [[0, 99], [0, 99], [0, 6], [0, 99], [0, 99]]},
     "pinned, node 2: expected a window still open at 7.*received closing at 6"),
    # Collected goods stay on board: 4 to deliver, then 4 and 5 collected make 9.
    ({"capacity": 8, "pinned": [1, 2, 3]}, {"demand": [0, 4, -4, -5, 0]}, "received a load of 9"),
])  # fmt: skip
def test_pins_that_are_impossible_are_refused(vehicle: Any, features: Any, part: str) -> None:
    with pytest.raises(ProblemError, match=part) as caught:
        square({"capacity": 20, "start": 0}, {"capacity": 20, "start": 0, **vehicle}, **features)
    assert caught.value.field == "vehicles, type 1, pinned"


def test_somebody_must_be_able_to_serve_every_customer() -> None:
    with pytest.raises(ProblemError) as caught:
        square(
            {**BIKE, "capacity": 4},
            {**VAN, "forbidden": ["cyd"]},
            {**VAN, "name": "", "max_length": 7.9},
        )
    assert str(caught.value) == (
        "vehicles, node 3: expected a type that can serve it, received type 0 (bike) cannot carry "
        "it; type 1 (van) may not; type 2 would travel too far (node 3 is 'cyd')"
    )


def test_vehicles_contradict_a_declared_variant() -> None:
    with pytest.raises(ProblemError, match="vehicles: expected alike vehicles"):
        Problem.from_coordinates(SQUARE, vehicles=[VAN], variant="CVRP", capacity=10)


def test_a_vehicle_follows_the_problem_in_what_it_does_not_say() -> None:
    problem = square(Vehicle(start=0), Vehicle(start=4, capacity=7), capacity=9, max_length=50)
    assert [terms.capacities for terms in problem.fleet] == [(9,), (7,)]
    assert [terms.max_length for terms in problem.fleet] == [50, 50]
    assert [terms.capacities for terms in problem.replace(capacity=8).fleet] == [(8,), (7,)]
    assert [terms.end for terms in problem.replace(open_routes=True).fleet] == [None, None]
    assert problem.variant_name == "MDCVRPL (2 vehicle types)"
    assert problem == problem.replace(name="the same")


odd = st.none() | st.booleans() | st.integers(-3, 6) | st.floats() | st.text(max_size=3)
odd = odd | st.lists(odd, max_size=3)


@given(
    st.lists(
        st.dictionaries(st.sampled_from([*Vehicle.__dataclass_fields__]), odd, max_size=4) | odd,
        max_size=3,
    )
)
def test_anything_at_all_is_a_fleet_or_an_error_of_ours(vehicles: Any) -> None:
    try:
        problem = Problem.from_coordinates(SQUARE, demand=[0, 4, 5, 5, 1], vehicles=vehicles)
    except ProblemError:
        return
    assert problem.vehicles is None or len(problem.fleet) == len(vehicles)


# ------------------------------------------------------------------------------------- assignment


@given(st.integers(1, 5), st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_assignment_is_the_cheapest_there_is(routes: int, types: int, random: Any) -> None:
    """Against trying everything."""
    from itertools import product

    cost = np.array([[random.randint(0, 9) for _ in range(types)] for _ in range(routes)], float)
    faults = np.array([[random.randint(0, 1) for _ in range(types)] for _ in range(routes)], float)
    counts = [random.choice([None, 1, 2]) for _ in range(types)]
    chosen = cheapest_vehicles(cost, faults, counts)

    def worth(choice: tuple[int, ...]) -> tuple[float, float]:
        return (
            sum(faults[row, column] for row, column in enumerate(choice)),
            sum(cost[row, column] for row, column in enumerate(choice)),
        )

    legal = [
        choice
        for choice in product(range(types), repeat=routes)
        if all(limit is None or choice.count(k) <= limit for k, limit in enumerate(counts))
    ]
    if legal:
        assert chosen in legal
        assert worth(chosen) == min(map(worth, legal))
