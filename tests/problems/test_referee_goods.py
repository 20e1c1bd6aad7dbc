"""Loads, backhauls, prizes and pairs on four customers: kept, kept only just, and broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

Build = Callable[..., Problem]
Finding = tuple[str, str, int | None, int | None]  # code, message, route, node

CLOSED = [[0, 1, 2, 0], [0, 3, 4, 0]]  # 12 + 16 long


def findings(problem: Problem, routes: list[list[int]]) -> list[Finding]:
    violations = judge(problem, routes).violations
    return [(v.code, v.message, v.route, v.node) for v in violations]


# ------------------------------------------------------------------------------------------ load


@pytest.mark.parametrize("load_rule", ["single", "separate", "paper"])
def test_a_route_may_be_exactly_full(four_customers: Build, load_rule: str) -> None:
    problem = four_customers(demand=[0, 6, 4, 3, 7], capacity=10, load_rule=load_rule)
    assert findings(problem, CLOSED) == []


def test_one_unit_too_much_is_caught(four_customers: Build) -> None:
    demand = [0, 6, 5, 3, 7]
    separate = four_customers(demand=demand, capacity=10)
    assert findings(separate, CLOSED) == [
        ("capacity", "route 1 leaves with a load of 11, capacity is 10", 1, None)
    ]
    for load_rule in ("single", "paper"):
        single = four_customers(demand=demand, capacity=10, load_rule=load_rule)
        assert findings(single, CLOSED) == [
            (
                "capacity",
                "route 1 needs room for 11 (the sum of what it has handed over, less what it has "
                "collected, goes from 0 to 11), capacity is 10",
                1,
                2,
            )
        ]


def test_every_overloaded_route_is_reported(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 6, 5, 4, 7], capacity=10)
    assert [finding[:1] + finding[2:3] for finding in findings(problem, CLOSED)] == [
        ("capacity", 1),
        ("capacity", 2),
    ]


def test_collecting_too_much_is_caught(four_customers: Build) -> None:
    demand = [0, -6, -5, -3, -7]
    separate = four_customers(demand=demand, capacity=10)
    assert findings(separate, CLOSED) == [
        ("capacity", "route 1 has a load of 11 after customer 2, capacity is 10", 1, 2)
    ]
    single = four_customers(demand=demand, capacity=10, load_rule="single")
    ((code, message, route, node),) = findings(single, CLOSED)
    assert (code, route, node) == ("capacity", 1, 2)
    assert "goes from -11 to 0" in message


@pytest.mark.parametrize("load_rule", ["single", "separate"])
@pytest.mark.parametrize(("excess", "caught"), [(0.9e-7, False), (1.1e-7, True)])
def test_rounding_of_loads_is_forgiven_up_to_the_tolerance(
    four_customers: Build, load_rule: str, excess: float, caught: bool
) -> None:
    problem = four_customers(
        demand=[0, 0.6, 0.4 + excess, 0.3, 0.7], capacity=1, load_rule=load_rule
    )
    found = findings(problem, CLOSED)
    assert bool(found) == caught
    if caught:
        assert "1.0000001" in found[0][1]  # the message shows the difference


def test_without_a_capacity_nothing_is_too_heavy(four_customers: Build) -> None:
    for load_rule in ("single", "separate", "paper"):
        problem = four_customers(demand=[0, 1e6, -1e6, 1e6, 0], load_rule=load_rule)
        assert findings(problem, CLOSED) == []


# Capacity 1; customers 1 to 4 in this order. What each rule says is worked out by hand:
# single from the prefix sums, separate from the load on board.
LOAD_CASES = [
    # collect .5, then deliver .5 and .5: prefixes -.5, 0, .5 span 1; on board 1, then 1.5
    ([-0.5, 0.5, 0.5, 0], True, False),
    # deliver 1, collect 1: empty in between
    ([1.0, -1.0, 0, 0], True, True),
    # collect 1, deliver 1: one commodity is handed on, but goods for the depot are not
    ([-1.0, 1.0, 0, 0], True, False),
    # alternate: prefixes .5, 0, .5, 0; on board 1, .5, 1, .5, 1
    ([0.5, -0.5, 0.5, -0.5], True, True),
    # alternate the other way: on board 1, 1.5
    ([-0.5, 0.5, -0.5, 0.5], True, False),
    # deliver .8 and collect .9 twice: prefixes .8, -.1, .7, -.2 span 1; on board 1.6
    ([0.8, -0.9, 0.8, -0.9], True, False),
    # prefixes .8, -.2, .6, -.4: span 1.2, though no sum of one kind before the other is the cause
    ([0.8, -1.0, 0.8, -1.0], False, False),
    # two deliveries above the capacity
    ([0.6, 0.6, 0, 0], False, False),
    # two collections above the capacity
    ([-0.6, -0.6, 0, 0], False, False),
    # a delivery makes room for a collection that would not fit otherwise
    ([0.7, -0.7, 0.3, 0], True, True),
    # but only once it is made: on board 1, 1.3 (after customer 1 collects .3)
    ([-0.3, 0.7, 0.3, 0], True, False),
    # nothing moves
    ([0, 0, 0, 0], True, True),
]


@pytest.mark.parametrize(("demands", "single", "separate"), LOAD_CASES)
def test_the_load_rules_differ_exactly_where_they_should(
    four_customers: Build, demands: list[float], single: bool, separate: bool
) -> None:
    routes = [[0, 1, 2, 3, 4, 0]]
    for load_rule, accepted in (("single", single), ("paper", single), ("separate", separate)):
        problem = four_customers(demand=[0, *demands], capacity=1, load_rule=load_rule)
        found = findings(problem, routes)
        assert [finding[0] for finding in found] == ([] if accepted else ["capacity"]), load_rule


def test_the_separate_rule_names_the_worst_point(four_customers: Build) -> None:
    problem = four_customers(demand=[0, -0.5, 0.5, 0.5, 0], capacity=1, load_rule="separate")
    assert findings(problem, [[0, 1, 2, 3, 4, 0]]) == [
        ("capacity", "route 1 has a load of 1.5 after customer 1, capacity is 1", 1, 1)
    ]


def test_the_single_rule_names_the_span(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 0.8, -1, 0.8, -1], capacity=1, load_rule="single")
    ((_, message, route, node),) = findings(problem, [[0, 1, 2, 3, 4, 0]])
    assert (route, node) == (1, 4)
    assert "needs room for 1.2 " in message
    assert "goes from -0.4 to 0.8), capacity is 1" in message


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(-4, 4), min_size=4, max_size=4), st.integers(4, 8))
def test_single_accepts_what_some_starting_load_can_serve(demands: list[int], full: int) -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (1, 1), (0, 1), (2, 2)],
        demand=[0, *demands],
        capacity=full,
        load_rule="single",
    )
    servable = False
    for start in range(full + 1):  # demands are whole, so whole starting loads are enough
        load, within = start, True
        for demand in demands:
            load -= demand
            within = within and 0 <= load <= full
        servable = servable or within
    assert judge(problem, [[0, 1, 2, 3, 4, 0]]).feasible == servable


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(-4, 4), min_size=4, max_size=4), st.integers(4, 8))
def test_separate_is_stricter_than_single_and_follows_the_goods(
    demands: list[int], full: int
) -> None:
    points = [(0, 0), (1, 0), (1, 1), (0, 1), (2, 2)]
    features: dict[str, Any] = {"demand": [0, *demands], "capacity": full}
    routes = [[0, 1, 2, 3, 4, 0]]
    # Every item is followed from where it is loaded to where it leaves the vehicle.
    on_board = [0] * 5  # after 0, 1, ... 4 customers
    for position, demand in enumerate(demands, start=1):
        for point in range(5):
            if (demand > 0 and point < position) or (demand < 0 and point >= position):
                on_board[point] += abs(demand)
    separate = judge(Problem.from_coordinates(points, **features, load_rule="separate"), routes)
    assert separate.feasible == (max(on_board) <= full)
    if separate.feasible:
        single = Problem.from_coordinates(points, **features, load_rule="single")
        assert judge(single, routes).feasible


# ------------------------------------------------------------------------------------- backhauls


@pytest.mark.parametrize("load_rule", ["single", "separate"])
def test_linehauls_before_backhauls(four_customers: Build, load_rule: str) -> None:
    problem = four_customers(
        demand=[0, 6, 4, -3, -7], capacity=10, backhaul_last=True, load_rule=load_rule
    )
    assert findings(problem, [[0, 1, 2, 3, 4, 0]]) == []
    assert findings(problem, [[0, 3, 4, 0], [0, 1, 2, 0]]) == []  # backhauls alone
    found = findings(problem, [[0, 1, 3, 2, 4, 0]])
    assert found[-1] == (
        "precedence",
        "route 1 delivers to customer 2 after collecting from customer 3, "
        "expected all deliveries first",
        1,
        2,
    )
    twice = [finding for finding in findings(problem, [[0, 3, 1, 4, 2, 0]])]
    assert [(code, node) for code, _, _, node in twice if code == "precedence"] == [
        ("precedence", 1),
        ("precedence", 2),
    ]
    assert any("after collecting from customer 4" in finding[1] for finding in twice)


def test_a_customer_without_demand_may_stand_anywhere(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 6, 4, -3, 0], capacity=10, backhaul_last=True)
    for order in ([1, 2, 3, 4], [1, 2, 4, 3], [1, 4, 2, 3], [4, 1, 2, 3]):
        assert findings(problem, [[0, *order, 0]]) == []


def test_without_the_rule_a_linehaul_may_come_after_a_backhaul(four_customers: Build) -> None:
    problem = four_customers(demand=[0, 5, 5, -5, -5], capacity=10, load_rule="single")
    assert findings(problem, [[0, 3, 1, 4, 2, 0]]) == []


@pytest.mark.parametrize("load_rule", ["single", "separate"])
@pytest.mark.parametrize(
    ("demand", "accepted"),
    [([6, 4, -3, -7], True), ([6, 5, -3, -7], False), ([6, 4, -4, -7], False)],
)
def test_with_backhauls_last_each_kind_must_fit(
    four_customers: Build, load_rule: str, demand: list[int], accepted: bool
) -> None:
    problem = four_customers(
        demand=[0, *demand], capacity=10, backhaul_last=True, load_rule=load_rule
    )
    assert judge(problem, [[0, 1, 2, 3, 4, 0]]).feasible == accepted


# ---------------------------------------------------------------------------------------- prizes


def orienteering(build: Build, **changes: Any) -> Problem:
    features = {"prize": [0, 1, 2, 4, 8], "maximise_prize": True, "max_routes": 1}
    return build(**features, **changes)


def test_orienteering(four_customers: Build) -> None:
    problem = orienteering(four_customers, max_length=16)
    assert findings(problem, [[0, 3, 4, 0]]) == []  # exactly 16
    assert findings(problem, []) == []
    assert findings(problem, [[0, 1, 2, 4, 3, 0]]) == [
        ("length", "route 1 is 20 long, limit is 16", 1, None)
    ]
    assert findings(problem, [[0, 1, 0], [0, 3, 0]]) == [
        ("fleet", "the plan has 2 routes with customers, at most 1 allowed", None, None)
    ]
    twice = judge(problem, [[0, 3, 2, 3, 0]])
    assert [violation.code for violation in twice.violations] == ["visit"]
    assert twice.cost == -6  # a prize is collected once


def collecting(build: Build, **changes: Any) -> Problem:
    features = {"prize": [9, 0.1, 0.2, 0.3, 0.6], "penalty": [0, 1, 1, 1, 1], "max_routes": 1}
    return build(**{**features, "min_prize": 1.0, **changes})


def test_enough_prize_must_be_collected(four_customers: Build) -> None:
    problem = collecting(four_customers)
    assert findings(problem, [[0, 1, 3, 4, 0]]) == []  # exactly 1
    assert findings(problem, [[0, 3, 4, 0]]) == [
        ("prize", "the plan collects a prize of 0.9, at least 1 required", None, None)
    ]
    assert findings(problem, []) == [
        ("prize", "the plan collects a prize of 0, at least 1 required", None, None)
    ]
    # A second visit collects nothing.
    codes = [finding[0] for finding in findings(problem, [[0, 3, 4, 3, 0]])]
    assert codes == ["visit", "prize"]


@pytest.mark.parametrize(("lacking", "caught"), [(0.9e-5, False), (1.1e-5, True)])
def test_prizes_are_compared_with_a_tolerance(
    four_customers: Build, lacking: float, caught: bool
) -> None:
    prize = [0, 0.4 - lacking, 0.6, 0.3, 0.3]
    found = findings(collecting(four_customers, prize=prize), [[0, 1, 2, 0]])
    assert bool(found) == caught
    # The same in units a thousand times smaller.
    scaled = collecting(four_customers, prize=np.array(prize) / 1000, min_prize=0.001)
    assert bool(findings(scaled, [[0, 1, 2, 0]])) == caught


def test_all_customers_are_enough_where_there_is_not_so_much_prize(four_customers: Build) -> None:
    problem = collecting(four_customers, min_prize=2.0)
    assert findings(problem, [[0, 1, 2, 4, 3, 0]]) == []
    assert findings(problem, [[0, 2, 4, 3, 0]]) == [
        ("prize", "the plan collects a prize of 1.1, at least 1.2 required", None, None)
    ]


def test_the_revealed_prize_is_what_counts(four_customers: Build) -> None:
    revealed = [0, 0.2, 0.1, 0.1, 0.8]
    problem = collecting(four_customers, revealed_prize=revealed)
    assert findings(problem, [[0, 1, 4, 0]]) == []  # expected 0.7, real 1
    assert findings(problem, [[0, 2, 3, 4, 0]]) == []
    assert findings(problem, [[0, 3, 4, 0]]) == [
        ("prize", "the plan collects a prize of 0.9, at least 1 required", None, None)
    ]
    unlucky = collecting(four_customers, revealed_prize=[0, 0, 0, 0.3, 0.1])
    assert findings(unlucky, [[0, 1, 2, 4, 3, 0]]) == []
    assert findings(unlucky, [[0, 1, 2, 3, 0]]) == [
        ("prize", "the plan collects a prize of 0.3, at least 0.4 required", None, None)
    ]


# ----------------------------------------------------------------------------------------- pairs

PAIRS = ((1, 3), (2, 4))  # 3 receives what 1 hands over, 4 what 2 does


def test_pairs_in_order(four_customers: Build) -> None:
    problem = four_customers(pairs=PAIRS)
    assert findings(problem, [[0, 1, 2, 3, 4, 0]]) == []
    assert findings(problem, [[0, 2, 1, 3, 4, 0]]) == []
    assert findings(problem, [[0, 1, 3, 0], [0, 2, 4, 0]]) == []


def test_a_delivery_before_its_pickup_is_caught(four_customers: Build) -> None:
    assert findings(four_customers(pairs=PAIRS), [[0, 3, 1, 2, 4, 0]]) == [
        ("precedence", "route 1 delivers to customer 3 before its pickup, customer 1", 1, 3)
    ]


def test_a_pair_split_over_two_routes_is_caught(four_customers: Build) -> None:
    assert findings(four_customers(pairs=PAIRS), [[0, 1, 0], [0, 2, 4, 3, 0]]) == [
        (
            "pair",
            "route 1 picks up at customer 1, but its delivery, customer 3, is on route 2",
            1,
            3,
        )
    ]
    # The delivery on the earlier route is no better.
    assert findings(four_customers(pairs=PAIRS), [[0, 2, 4, 3, 0], [0, 1, 0]]) == [
        (
            "pair",
            "route 2 picks up at customer 1, but its delivery, customer 3, is on route 1",
            2,
            3,
        )
    ]


def test_half_a_pair_is_caught(four_customers: Build) -> None:
    problem = four_customers(pairs=PAIRS)
    assert findings(problem, [[0, 1, 2, 4, 0]]) == [
        ("visit", "customer 3 is never visited", None, 3),
        (
            "pair",
            "route 1 ends with the load of customer 1 on board, because its delivery, "
            "customer 3, is never visited",
            1,
            3,
        ),
    ]
    assert findings(problem, [[0, 3, 2, 4, 0]]) == [
        ("visit", "customer 1 is never visited", None, 1),
        (
            "pair",
            "route 1 delivers to customer 3, but its pickup, customer 1, is never visited",
            1,
            1,
        ),
    ]


def test_an_optional_pair_may_be_left_out_as_a_whole(four_customers: Build) -> None:
    problem = four_customers(pairs=PAIRS, penalty=[0, 1, 1, 1, 1])
    assert findings(problem, [[0, 2, 4, 0]]) == []
    assert [finding[0] for finding in findings(problem, [[0, 1, 2, 4, 0]])] == ["pair"]


def test_the_load_of_pairs_starts_empty_and_comes_and_goes(four_customers: Build) -> None:
    features: dict[str, Any] = {"pairs": PAIRS, "demand": [0, -6, -4, 6, 4]}
    full = four_customers(**features, capacity=10)
    assert findings(full, [[0, 1, 2, 3, 4, 0]]) == []  # exactly 10 after both pickups
    # Under `separate` a pickup would stay on board until the depot; under pairs it does not.
    small = four_customers(**features, capacity=9)
    assert findings(small, [[0, 1, 3, 2, 4, 0]]) == []
    assert findings(small, [[0, 1, 2, 3, 4, 0]]) == [
        ("capacity", "route 1 has a load of 10 after customer 2, capacity is 9", 1, 2)
    ]


def test_an_open_route_keeps_pairs_together_too(four_customers: Build) -> None:
    problem = four_customers(pairs=PAIRS, open_routes=True)
    assert findings(problem, [[0, 1, 3], [0, 2, 4]]) == []
    assert [finding[0] for finding in findings(problem, [[0, 1, 4], [0, 2, 3]])] == ["pair", "pair"]
