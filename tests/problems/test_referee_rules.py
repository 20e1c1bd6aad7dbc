"""Each rule of the referee on four customers: kept, kept only just, and broken."""

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
Routes = list[list[int]]

CLOSED = [[0, 1, 2, 0], [0, 3, 4, 0]]  # 12 + 16 long
ROUND = [[0, 1, 2, 4, 3, 0]]  # 20 long
IN_ORDER = [[0, 1, 2, 3, 4, 0]]
APART = [[0, 1, 2, 0], [4, 3, 4]]  # from two depots
TWO_DEPOTS: dict[str, Any] = {"depots": (0, 4)}
OPEN: dict[str, Any] = {"open_routes": True}
TOUR: dict[str, Any] = {"depots": ()}
ALWAYS = [0, np.inf]
# The same five nodes in the units of the generated instances, where the tolerance is 1e-5.
TENTHS: dict[str, Any] = {"coordinates": [(0, 0), (0.3, 0), (0.3, 0.4), (0, 0.4), (0, 0.8)]}


def without(*missing: tuple[int, int]) -> np.ndarray:
    """A matrix of ones that lacks these arcs."""
    matrix = np.ones((5, 5))
    for arc in missing:
        matrix[arc] = np.inf
    return matrix


def windows(**of: Any) -> list[Any]:
    """No limits but those of the nodes named, such as `n2=[0, 7]`."""
    return [of.get(f"n{node}", ALWAYS) for node in range(5)]


def case(name: str, features: dict[str, Any], routes: Any, *found: str, cost: Any = None) -> Any:
    """A plan, and each violation as "code route node: message", with - where there is none."""
    return pytest.param(features, routes, list(found), cost, id=name)


def findings(problem: Problem, routes: Routes) -> list[str]:
    told = [(v.code, v.route or "-", v.node, v.message) for v in judge(problem, routes).violations]
    return [f"{code} {route} {'-' if n is None else n}: {text}" for code, route, n, text in told]


# One case a line or two: a plan, and what is found in it.
# fmt: off
VISITS = [
    case("left out", {}, [[0, 1, 2, 4, 0]], "visit - 3: customer 3 is never visited"),
    case("nothing", {}, [], *(f"visit - {n}: customer {n} is never visited" for n in range(1, 5))),
    case("twice in a route", {}, [[0, 1, 2, 1, 3, 4, 0]],
         "visit 1 1: route 1 visits customer 1 again, already visited by route 1"),
    case("twice in two routes", {}, [[0, 1, 2, 3, 4, 0], [0, 3, 0]],
         "visit 2 3: route 2 visits customer 3 again, already visited by route 1"),
    case("optional ones skipped", {"penalty": [0, 1, np.inf, 1, 1]}, [[0, 2, 0]]),
    case("a compulsory one skipped", {"penalty": [0, 1, np.inf, 1, 1]}, [[0, 1, 0]],
         "visit - 2: customer 2 is never visited"),
    case("an optional one twice", {"penalty": [0, 1, np.inf, 1, 1]}, [[0, 2, 1, 0], [0, 1, 0]],
         "visit 2 1: route 2 visits customer 1 again, already visited by route 1"),
    case("tour left out", TOUR, [[0, 1, 2, 4]], "visit - 3: node 3 is never visited"),
    case("tour twice", TOUR, [[0, 1, 2, 1, 4, 3]],
         "visit 1 1: route 1 visits node 1 again, already visited by route 1"),
    case("two tours", TOUR, [[0, 1, 2], [4, 3]],
         "fleet - -: the plan has 2 routes with customers, at most 1 allowed"),
    case("a tour that repeats its start", TOUR, [[0, 1, 2, 4, 3, 0]],
         "shape 1 0: route 1 repeats its first node 0 at the end, expected it only once", cost=20),
]
DEPOTS_AND_FLEET = [
    case("starts at a customer", {}, [[0, 1, 2, 0], [3, 4, 0]],
         "depot 2 3: route 2 starts at customer 3, expected a depot", cost=12 + 4 + 8),
    case("does not return", {}, [[0, 1, 2, 0], [0, 3, 4]],
         "depot 2 4: route 2 ends at customer 4, expected to return to depot 0", cost=12 + 8),
    case("no depot at all", {}, [[1, 2, 3, 4]],
         "depot 1 1: route 1 starts at customer 1, expected a depot",
         "depot 1 4: route 1 ends at customer 4, expected to return to a depot"),
    # which does not unload
    case("a depot on the way", {"demand": [0, 6, 4, 3, 7], "capacity": 10}, [[0, 1, 2, 0, 4, 3, 0]],
         "depot 1 0: route 1 visits depot 0 on the way, at position 4",
         "capacity 1 -: route 1 leaves with a load of 20, capacity is 10"),
    case("two depots", TWO_DEPOTS, APART),
    case("home to another depot", TWO_DEPOTS, [[0, 1, 2, 4], [4, 3, 4]],
         "depot 1 4: route 1 starts at depot 0 but ends at depot 4"),
    case("another depot on the way", TWO_DEPOTS, [[0, 1, 2, 4, 3, 0]],
         "depot 1 4: route 1 visits depot 4 on the way, at position 4"),
    case("from depot to depot", TWO_DEPOTS, [[0, 1, 2, 3, 0], [0, 4]],
         "depot 2 4: route 2 starts at depot 0 but ends at depot 4"),
    case("open routes from two depots", TWO_DEPOTS | OPEN, [[0, 1, 2], [4, 3]]),
    case("open, a depot on the way", TWO_DEPOTS | OPEN, [[0, 1, 4, 2], [4, 3]],
         "depot 1 4: route 1 visits depot 4 on the way, at position 3"),
    case("open, starts at a customer", TWO_DEPOTS | OPEN, [[0, 1, 2], [3]],
         "depot 2 3: route 2 starts at customer 3, expected a depot"),
    *(
        # The way back is not travelled: it costs nothing and does not break the limit of 8.
        case(f"open, home to {home}", TWO_DEPOTS | OPEN | {"max_length": 8},
             [[0, 1, 2, home], [4, 3]],
             f"shape 1 {home}: route 1 ends at depot {home}, but open routes do not list the way "
             "back", cost=7 + 4)
        for home in (0, 4)
    ),
    case("as many routes as allowed", {"max_routes": 2}, [*CLOSED, [0, 0], [0]]),
    case("too many routes", {"max_routes": 2}, [[0, 1, 0], [0, 2, 0], [0, 3, 4, 0]],
         "fleet - -: the plan has 3 routes with customers, at most 2 allowed"),
]
LIMITED: dict[str, Any] = {"max_length": 20, "windows": [[0, 20]] * 5}
ARCS_AND_LENGTHS = [
    case("arcs that exist", {"matrix": without((1, 2)), **LIMITED}, [[0, 2, 1, 3, 4, 0]]),
    # Length and time after it are not known, so only the arc itself is reported.
    case("a missing arc", {"matrix": without((1, 2)), **LIMITED}, IN_ORDER,
         "arc 1 2: route 1 goes from customer 1 to customer 2, where there is no arc", cost=np.inf),
    case("a missing arc of a vehicle that costs nothing a unit",
         {"matrix": without((1, 2)), "vehicles": [{"name": "van", "unit_distance_cost": 0}]},
         IN_ORDER,
         "arc 1 2: route 1 goes from customer 1 to customer 2, where there is no arc", cost=np.inf),
    case("a missing arc home", {"matrix": without((4, 0))}, IN_ORDER,
         "arc 1 0: route 1 goes from customer 4 to depot 0, where there is no arc"),
    case("open, a missing arc home", {"matrix": without((4, 0)), **OPEN}, [[0, 1, 2, 3, 4]]),
    case("a missing arc that closes a tour", {"matrix": without((4, 0)), **TOUR}, [[0, 1, 2, 3, 4]],
         "arc 1 0: route 1 goes from node 4 to node 0, where there is no arc"),
    # the distance itself is known
    case("an arc without a duration", {"matrix": without(), "durations": without((1, 2))}, IN_ORDER,
         "arc 1 2: route 1 goes from customer 1 to customer 2, where there is no arc", cost=5),
    case("as long as the limit", {"max_length": 16}, CLOSED),
    case("above the limit", {"max_length": 16}, [[0, 3, 0], [0, 1, 2, 4, 0]],
         "length 2 -: route 2 is 20 long, limit is 16"),
    case("open, as long as the limit", {"max_length": 8, **OPEN}, [[0, 1, 2], [0, 3, 4]]),
    case("open, above the limit", {"max_length": 8, **OPEN}, [[0, 1, 2, 3], [0, 4]],
         "length 1 -: route 1 is 10 long, limit is 8"),
    case("length within the tolerance", {**TENTHS, "max_length": 2 - 0.9e-5}, ROUND),
    case("length beyond the tolerance", {**TENTHS, "max_length": 2 - 1.1e-5}, ROUND,
         "length 1 -: route 1 is 2 long, limit is 1.99999"),
]
SLOW = {"matrix": without(), "durations": 2 * without()}
TIMES = [
    case("exactly at the closing", {"windows": windows(n1=[0, 3], n2=[0, 7])}, CLOSED),
    case("late", {"windows": windows(n2=[0, 6.5])}, CLOSED,
         "window 1 2: route 1 arrives at customer 2 at 7, window closes at 6.5"),
    case("late within the tolerance", {**TENTHS, "windows": windows(n2=[0, 0.7 - 9e-6])}, CLOSED),
    case("late beyond the tolerance", {**TENTHS, "windows": windows(n2=[0, 0.7 - 1.1e-5])}, CLOSED,
         "window 1 2: route 1 arrives at customer 2 at 0.7, window closes at 0.699989"),
    case("back within the tolerance", {**TENTHS, "windows": windows(n0=[0, 2 - 9e-6])}, ROUND),
    case("back beyond the tolerance", {**TENTHS, "windows": windows(n0=[0, 2 - 1.1e-5])}, ROUND,
         "window 1 0: route 1 returns to depot 0 at 2, the depot closes at 1.99999"),
    case("waits at 1 until 10", {"windows": windows(n1=[10, 11], n2=[0, 14])}, CLOSED),
    # at customer 1 at 11
    case("need not wait", {"windows": windows(n1=[10, 11], n2=[0, 14])},
         [[0, 3, 2, 1, 0], [0, 4, 0]]),
    case("waits for too long", {"windows": windows(n1=[10, 11], n2=[0, 13.5])}, CLOSED,
         "window 1 2: route 1 arrives at customer 2 at 14, window closes at 13.5"),
    # service at 1 from 3 to 5, and at 2 from 9 on, beyond its closing
    case("service takes time",
         {"windows": windows(n1=[0, 3], n2=[0, 9]), "service": [0, 2, 9, 0, 0]}, CLOSED),
    case("service takes too much time",
         {"windows": windows(n1=[0, 3], n2=[0, 9]), "service": [0, 2.5, 9, 0, 0]}, CLOSED,
         "window 1 2: route 1 arrives at customer 2 at 9.5, window closes at 9"),
    case("leaves when the depot opens", {"windows": windows(n0=[5, np.inf], n1=[0, 8])}, CLOSED),
    case("leaves too late", {"windows": windows(n0=[5, np.inf], n1=[0, 8])},
         [[0, 2, 1, 0], [0, 3, 4, 0]],
         "window 1 1: route 1 arrives at customer 1 at 14, window closes at 8"),
    case("service at the depot is ignored",
         {"windows": windows(n0=[0, 16], n1=[0, 3]), "service": [7, 0, 0, 0, 0]}, CLOSED),
    case("back at the closing", {"windows": windows(n0=[0, 16])}, CLOSED),
    case("back after the closing", {"windows": windows(n0=[0, 16])}, ROUND,
         "window 1 0: route 1 returns to depot 0 at 20, the depot closes at 16"),
    case("the last service delays the return",
         {"windows": windows(n0=[0, 17]), "service": [0, 0, 0, 0.5, 1]}, CLOSED,
         "window 2 0: route 2 returns to depot 0 at 17.5, the depot closes at 17"),
    case("open, need not be back", {"windows": windows(n0=[0, 9]), **OPEN}, [[0, 1, 2, 4, 3]]),
    # from 3 at 5, one unit of service, then 4 units to 4
    case("timed from a customer",
         {"windows": windows(n3=[5, 6], n4=[0, 9.5]), "service": [0, 0, 0, 1, 0]},
         [[0, 1, 2, 0], [3, 4, 0]], "depot 2 3: route 2 starts at customer 3, expected a depot",
         "window 2 4: route 2 arrives at customer 4 at 10, window closes at 9.5"),
    # 2 is reached at 7 instead of 5, then 3 at 10 (in time) and 4 at 14 (late by 1)
    case("the clock runs on", {"windows": windows(n0=[0, 21.5], n2=[0, 5], n3=[0, 10], n4=[0, 13])},
         IN_ORDER, "window 1 2: route 1 arrives at customer 2 at 7, window closes at 5",
         "window 1 4: route 1 arrives at customer 4 at 14, window closes at 13",
         "window 1 0: route 1 returns to depot 0 at 22, the depot closes at 21.5"),
    case("durations count", {**SLOW, "windows": windows(n1=[0, 2], n4=[0, 8])}, IN_ORDER),
    case("distances do not", {**SLOW, "windows": windows(n1=[0, 2], n4=[0, 8])},
         [[0, 2, 1, 3, 4, 0]],
         "window 1 1: route 1 arrives at customer 1 at 4, window closes at 2"),
    case("own hours", {**TWO_DEPOTS, "windows": windows(n0=[0, 12], n4=[2, 10])}, APART),
    case("own hours broken", {**TWO_DEPOTS, "windows": windows(n0=[0, 12], n4=[2, 10])},
         [[0, 1, 0], [4, 2, 3, 4]],
         "window 2 4: route 2 returns to depot 4 at 14, the depot closes at 10"),
    # six digits would print 123.457 twice
    case("digits that show the difference",
         {"windows": windows(n1=[119.4567891, 200], n2=[0, 123.4566])}, CLOSED,
         "window 1 2: route 1 arrives at customer 2 at 123.4568, window closes at 123.4566"),
]


def loaded(*demand: float, capacity: float = 10, **features: Any) -> dict[str, Any]:
    return {"demand": [0, *demand], "capacity": capacity, **features}


def room(span: str, low: str, high: str, capacity: str, node: int) -> str:
    """What the rules `single` and `paper` say of a load."""
    return (
        f"capacity 1 {node}: route 1 needs room for {span} (the sum of what it has handed over, "
        f"less what it has collected, goes from {low} to {high}), capacity is {capacity}"
    )


LOADS = [
    *(
        case(f"full, {rule}", loaded(6, 4, 3, 7, load_rule=rule), CLOSED)
        for rule in ("single", "separate", "paper")
    ),
    *(
        case(f"no capacity, {rule}", {"demand": [0, 1e6, -1e6, 1e6, 0], "load_rule": rule}, CLOSED)
        for rule in ("single", "separate", "paper")
    ),
    case("overloaded routes", loaded(6, 5, 4, 7), CLOSED,
         "capacity 1 -: route 1 leaves with a load of 11, capacity is 10",
         "capacity 2 -: route 2 leaves with a load of 11, capacity is 10"),
    *(
        case(f"overloaded, {rule}", loaded(6, 5, 3, 7, load_rule=rule), CLOSED,
             room("11", "0", "11", "10", 2))
        for rule in ("single", "paper")
    ),
    case("collects too much", loaded(-6, -5, -3, -7), CLOSED,
         "capacity 1 2: route 1 has a load of 11 after customer 2, capacity is 10"),
    case("collects too much, single", loaded(-6, -5, -3, -7, load_rule="single"), CLOSED,
         room("11", "-11", "0", "10", 2)),
    case("the worst point", loaded(-0.5, 0.5, 0.5, 0, capacity=1), IN_ORDER,
         "capacity 1 1: route 1 has a load of 1.5 after customer 1, capacity is 1"),
    case("the span", loaded(0.8, -1, 0.8, -1, capacity=1, load_rule="single"), IN_ORDER,
         room("1.2", "-0.4", "0.8", "1", 4)),
]
HAULS = loaded(6, 4, -3, -7, backhaul_last=True)
BACKHAULS = [
    case("deliveries first", HAULS, IN_ORDER),
    case("deliveries first, single", HAULS | {"load_rule": "single"}, IN_ORDER),
    case("backhauls alone", HAULS, [[0, 3, 4, 0], [0, 1, 2, 0]]),
    case("a delivery after a pickup", HAULS | {"load_rule": "single"}, [[0, 1, 3, 2, 4, 0]],
         "precedence 1 2: route 1 delivers to customer 2 after collecting from customer 3, "
         "expected all deliveries first"),
    case("two deliveries after pickups", loaded(1, 1, -1, -1, backhaul_last=True),
         [[0, 3, 1, 4, 2, 0]],
         "precedence 1 1: route 1 delivers to customer 1 after collecting from customer 3, "
         "expected all deliveries first",
         "precedence 1 2: route 1 delivers to customer 2 after collecting from customer 4, "
         "expected all deliveries first"),
    *(
        case(f"no demand at position {at}", loaded(6, 4, -3, 0, backhaul_last=True),
             [[0, *order, 0]])
        for at, order in enumerate(([4, 1, 2, 3], [1, 4, 2, 3], [1, 2, 4, 3], [1, 2, 3, 4]))
    ),
    case("any order", loaded(5, 5, -5, -5, load_rule="single"), [[0, 3, 1, 4, 2, 0]]),
    case("too much to deliver", HAULS | {"demand": [0, 6, 5, -3, -7]}, IN_ORDER,
         "capacity 1 -: route 1 leaves with a load of 11, capacity is 10"),
    case("too much to collect", HAULS | {"demand": [0, 6, 4, -4, -7]}, IN_ORDER,
         "capacity 1 4: route 1 has a load of 11 after customer 4, capacity is 10"),
]
ORIENTEERING: dict[str, Any] = {
    **{"prize": [0, 1, 2, 4, 8], "maximise_prize": True, "max_routes": 1, "max_length": 16}
}


def collecting(**changes: Any) -> dict[str, Any]:
    features = {"prize": [9, 0.1, 0.2, 0.3, 0.6], "penalty": [0, 1, 1, 1, 1], "max_routes": 1}
    return {**features, "min_prize": 1.0, **changes}


def lacks(prize: str, required: str) -> str:
    return f"prize - -: the plan collects a prize of {prize}, at least {required} required"


REVEALED = collecting(revealed_prize=[0, 0.2, 0.1, 0.1, 0.8])
UNLUCKY = collecting(revealed_prize=[0, 0, 0, 0.3, 0.1])
PRIZES = [
    case("orienteering", ORIENTEERING, [[0, 3, 4, 0]], cost=-12),  # exactly 16
    case("nowhere", ORIENTEERING, []),
    case("too far", ORIENTEERING, ROUND, "length 1 -: route 1 is 20 long, limit is 16"),
    case("two vehicles for one", ORIENTEERING, [[0, 1, 0], [0, 3, 0]],
         "fleet - -: the plan has 2 routes with customers, at most 1 allowed"),
    case("a prize is collected once", ORIENTEERING, [[0, 3, 2, 3, 0]],
         "visit 1 3: route 1 visits customer 3 again, already visited by route 1", cost=-6),
    case("just enough prize", collecting(), [[0, 1, 3, 4, 0]]),
    case("too little prize", collecting(), [[0, 3, 4, 0]], lacks("0.9", "1")),
    case("no prize", collecting(), [], lacks("0", "1")),
    case("a second visit collects nothing", collecting(), [[0, 3, 4, 3, 0]],
         "visit 1 3: route 1 visits customer 3 again, already visited by route 1",
         lacks("0.9", "1")),
    case("all are enough", collecting(min_prize=2.0), ROUND),
    case("all but one are not", collecting(min_prize=2.0), [[0, 2, 4, 3, 0]], lacks("1.1", "1.2")),
    case("real prizes count", REVEALED, [[0, 1, 4, 0]]),  # expected 0.7, real 1
    case("too little in truth", REVEALED, [[0, 3, 4, 0]], lacks("0.9", "1")),
    case("all of little is enough", UNLUCKY, ROUND),
    case("a part of little is not", UNLUCKY, [[0, 1, 2, 3, 0]], lacks("0.3", "0.4")),
]
# 3 receives what 1 hands over, 4 what 2 does.
PAIRED: dict[str, Any] = {"pairs": ((1, 3), (2, 4))}
CARRIED = {**PAIRED, "demand": [0, -6, -4, 6, 4]}
PAIRS = [
    case("pairs in order", PAIRED, [[0, 2, 1, 3, 4, 0]]),
    case("pairs apart", PAIRED, [[0, 1, 3, 0], [0, 2, 4, 0]]),
    case("the delivery first", PAIRED, [[0, 3, 1, 2, 4, 0]],
         "precedence 1 3: route 1 delivers to customer 3 before its pickup, customer 1"),
    case("a pair over two routes", PAIRED, [[0, 1, 0], [0, 2, 4, 3, 0]],
         "pair 1 3: route 1 picks up at customer 1, but its delivery, customer 3, is on route 2"),
    case("a pair over two routes, the delivery first", PAIRED, [[0, 2, 4, 3, 0], [0, 1, 0]],
         "pair 2 3: route 2 picks up at customer 1, but its delivery, customer 3, is on route 1"),
    case("a pickup alone", PAIRED, [[0, 1, 2, 4, 0]], "visit - 3: customer 3 is never visited",
         "pair 1 3: route 1 ends with the load of customer 1 on board, because its delivery, "
         "customer 3, is never visited"),
    case("a delivery alone", PAIRED, [[0, 3, 2, 4, 0]], "visit - 1: customer 1 is never visited",
         "pair 1 1: route 1 delivers to customer 3, but its pickup, customer 1, is never visited"),
    case("an optional pair", {**PAIRED, "penalty": [0, 1, 1, 1, 1]}, [[0, 2, 4, 0]]),
    case("half an optional pair", {**PAIRED, "penalty": [0, 1, 1, 1, 1]}, [[0, 1, 2, 4, 0]],
         "pair 1 3: route 1 ends with the load of customer 1 on board, because its delivery, "
         "customer 3, is never visited"),
    case("both loads fit", {**CARRIED, "capacity": 10}, IN_ORDER),
    # Under `separate` a pickup would stay on board until the depot; under pairs it does not.
    case("one load at a time", {**CARRIED, "capacity": 9}, [[0, 1, 3, 2, 4, 0]]),
    case("both loads do not fit", {**CARRIED, "capacity": 9}, IN_ORDER,
         "capacity 1 2: route 1 has a load of 10 after customer 2, capacity is 9"),
    case("open pairs", {**PAIRED, **OPEN}, [[0, 1, 3], [0, 2, 4]]),
    case("open pairs over two routes", {**PAIRED, **OPEN}, [[0, 1, 4], [0, 2, 3]],
         "pair 1 3: route 1 picks up at customer 1, but its delivery, customer 3, is on route 2",
         "pair 2 4: route 2 picks up at customer 2, but its delivery, customer 4, is on route 1"),
]
# fmt: on


@pytest.mark.parametrize(
    ("features", "routes", "found", "cost"),
    [
        *(VISITS + DEPOTS_AND_FLEET + ARCS_AND_LENGTHS + TIMES),
        *(LOADS + BACKHAULS + PRIZES + PAIRS),
    ],
)
def test_what_the_referee_finds(four_customers, features, routes, found, cost):
    if "matrix" in features:
        problem = Problem.from_matrix(**features)
    elif "coordinates" in features:
        problem = Problem.from_coordinates(**features)
    else:
        problem = four_customers(**features)
    assert findings(problem, routes) == found
    if cost is not None:
        assert judge(problem, routes).cost == cost


@pytest.mark.parametrize("load_rule", ["single", "separate"])
@pytest.mark.parametrize(("excess", "caught"), [(0.9e-7, False), (1.1e-7, True)])
def test_rounding_of_loads_is_forgiven_up_to_the_tolerance(
    four_customers, load_rule, excess, caught
):
    features = loaded(0.6, 0.4 + excess, 0.3, 0.7, capacity=1, load_rule=load_rule)
    found = findings(four_customers(**features), CLOSED)
    assert bool(found) == caught
    if caught:
        assert "1.0000001" in found[0]  # the message shows the difference


@pytest.mark.parametrize(("lacking", "caught"), [(0.9e-5, False), (1.1e-5, True)])
@pytest.mark.parametrize("unit", [1, 1000])
def test_prizes_are_compared_with_a_tolerance(four_customers, lacking, caught, unit):
    prize = np.array([0, 0.4 - lacking, 0.6, 0.3, 0.3]) / unit
    problem = four_customers(**collecting(prize=prize, min_prize=1 / unit))
    assert bool(findings(problem, [[0, 1, 2, 0]])) == caught


@settings(max_examples=200)
@given(st.lists(st.integers(-4, 4), min_size=4, max_size=4), st.integers(4, 8))
def test_loads_by_trying_every_start_and_following_every_item(demands, full):
    """`single` takes what some starting load can serve; `separate` is stricter."""
    points = [(0, 0), (1, 0), (1, 1), (0, 1), (2, 2)]
    features = loaded(*demands, capacity=full)
    servable = False
    for start in range(full + 1):  # demands are whole, so whole starting loads are enough
        load, within = start, True
        for demand in demands:
            load -= demand
            within = within and 0 <= load <= full
        servable = servable or within
    for rule in ("paper", "single"):
        single = judge(Problem.from_coordinates(points, **features, load_rule=rule), IN_ORDER)
        assert single.feasible == servable
    on_board = [0] * 5  # after 0, 1, ... 4 customers
    for position, demand in enumerate(demands, start=1):
        for point in range(5):
            if (demand > 0 and point < position) or (demand < 0 and point >= position):
                on_board[point] += abs(demand)
    separate = judge(Problem.from_coordinates(points, **features, load_rule="separate"), IN_ORDER)
    assert separate.feasible == (max(on_board) <= full)
    assert single.feasible or not separate.feasible


def test_every_violation_is_reported_in_a_fixed_order(four_customers: Build) -> None:
    problem = four_customers(
        **loaded(6, 5, -3, -7, backhaul_last=True),
        max_length=16,
        windows=windows(n0=[0, 16], n2=[0, 6]),
        max_routes=1,
    )
    found = judge(problem, [[0, 4, 1, 2, 0], [0, 1, 0, 1]]).violations
    assert [(v.code, v.route, v.node) for v in found] == [
        *(("capacity", 1, 4), ("precedence", 1, 1), ("precedence", 1, 2), ("length", 1, None)),
        *(("window", 1, 2), ("window", 1, 0)),
        *(("depot", 2, 1), ("depot", 2, 0), ("capacity", 2, None)),
        *(("fleet", None, None), ("visit", 2, 1), ("visit", 2, 1), ("visit", None, 3)),
    ]
