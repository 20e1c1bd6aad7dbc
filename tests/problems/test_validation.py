"""What an instance may not be, one row an error: the field and the node at fault, in words.

The instance that every row breaks: a depot in the middle, four customers one unit away.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spacevrp.problems.distances import Distances, Metric
from spacevrp.problems.errors import ProblemError, SpacevrpError
from spacevrp.problems.problem import Problem

INF, NAN = math.inf, math.nan
CROSS = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)]
FULL = np.ones((5, 5)) - np.eye(5)  # every arc costs 1

SOUND: dict[str, Any] = {
    "demand": [0, 3, 4, 5, 6],
    "capacity": 10,
    "windows": [(0, 9), (0, 4), (1, 4), (0, 4), (2, 4)],
    "service": [0, 1, 1, 1, 1],
    "max_length": 5,
}
PAIRED: dict[str, Any] = {"demand": [0, -3, 3, -5, 5], "pairs": [(1, 2), (3, 4)]}
ONE_ROUTE: dict[str, Any] = {"max_routes": 1}
TOUR: dict[str, Any] = {"depots": ()}  # no depot: a TSP


def with_entry(values: list[Any], node: int, entry: Any) -> list[Any]:
    return [entry if index == node else value for index, value in enumerate(values)]


def with_gaps(*arcs: tuple[int, int]) -> np.ndarray:
    matrix = FULL.copy()
    for arc in arcs:
        matrix[arc] = INF
    return matrix


def blame(problem: Any, arguments: dict[str, Any]) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        problem(**arguments)
    assert "\n" not in str(caught.value)
    return caught.value


# (what is changed, field, node, fragment of the message)
ROWS: list[tuple[dict[str, Any], str, int | None, str]] = [
    # ---- shapes
    ({"demand": [0, 1, 2]}, "demand", None, "expected 5 numbers, one a node, received shape (3,)"),
    ({"prize": [1] * 6}, "prize", None, "received shape (6,)"),
    ({"penalty": [1] * 4}, "penalty", None, "received shape (4,)"),
    ({"revealed_prize": [1] * 4}, "revealed_prize", None, "received shape (4,)"),
    ({"windows": [0, 1, 2, 3, 4]}, "windows", None, "expected shape (5, 2), received shape (5,)"),
    ({"windows": [(0, 1), (0,)]}, "windows", 1, "numbers in a regular shape"),
    ({"durations": FULL[:3, :3]}, "durations", None, "expected 5 nodes, received 3 nodes"),
    ({"durations": FULL[:3]}, "durations", None, "a square matrix, received shape (3, 5)"),
    # ---- text, None and other things for numbers
    ({"demand": with_entry([0] * 5, 2, "7")}, "demand", 2, "a number, received '7'"),
    ({"demand": "plenty"}, "demand", None, "a number, received 'plenty'"),
    ({"demand": with_entry([0] * 5, 3, None)}, "demand", 3, "a number, received None"),
    ({"demand": with_entry([0] * 5, 3, [1])}, "demand", 3, "numbers in a regular shape"),
    ({"demand": [True] * 5}, "demand", 0, "a number, received True"),
    ({"demand": np.ma.masked_array([0, 1, 2, 3, 4], [0, 1, 0, 0, 0])}, "demand", None, "masked"),
    ({"windows": with_entry([(0, 9)] * 5, 4, (0, "noon"))}, "windows", 4, "received 'noon'"),
    ({"service": np.array([0, 1j, 0, 0, 0])}, "service", 0, "a number"),
    ({"capacity": "10"}, "capacity", None, "a number, received '10'"),
    ({"capacity": True}, "capacity", None, "a number, received True"),
    ({"capacity": 10**400}, "capacity", None, "a number, received a huge whole number"),
    ({"name": 5}, "name", None, "expected text, received 5"),
    # ---- finiteness and signs
    ({"demand": with_entry([0] * 5, 2, NAN)}, "demand", 2, "a number, received nan"),
    ({"demand": with_entry([0] * 5, 2, INF)}, "demand", 2, "a finite number, received inf"),
    ({"demand": with_entry([0] * 5, 2, 1e300)}, "demand", 2, "below 1e+100, or inf, received 1e"),
    ({"service": with_entry([0] * 5, 1, -1)}, "service", 1, "at least 0, received -1.0"),
    ({"service": with_entry([0] * 5, 1, INF)}, "service", 1, "at least 0, received inf"),
    ({"prize": with_entry([0] * 5, 4, -0.5)}, "prize", 4, "at least 0, received -0.5"),
    ({"revealed_prize": with_entry([0] * 5, 4, -1)}, "revealed_prize", 4, "at least 0"),
    ({"penalty": with_entry([INF] * 5, 3, -1)}, "penalty", 3, "at least 0, or inf, received -1.0"),
    ({"penalty": with_entry([INF] * 5, 3, NAN)}, "penalty", 3, "received nan"),
    ({"capacity": 0}, "capacity", None, "more than 0, received 0.0"),
    ({"capacity": NAN}, "capacity", None, "received nan"),
    ({"max_length": 0}, "max_length", None, "more than 0"),
    ({"max_length": 1e300}, "max_length", None, "below 1e+100, or inf"),
    ({"min_prize": -1}, "min_prize", None, "at least 0, received -1.0"),
    ({"min_prize": INF}, "min_prize", None, "a finite number"),
    # ---- loads
    ({"demand": [0, 3, 11, 5, 6]}, "demand", 2, "at most the capacity 10.0, received 11.0"),
    ({"demand": [0, 3, -11, 5, 6]}, "demand", 2, "at most the capacity 10.0, received -11.0"),
    ({"demand": [1, 3, 4, 5, 6]}, "demand", 0, "0 at a depot, received 1.0"),
    ({"load_rule": "double"}, "load_rule", None, "expected one of ('paper', 'single', 'separate')"),
    # ---- windows
    (
        {"windows": [(0, 9), (0, 4), (5, 4), (0, 4), (0, 4)]},
        *("windows", 2, "closes after it opens, received 5 to 4"),
    ),
    ({"windows": with_entry([(0, 9)] * 5, 3, (NAN, 4))}, "windows", 3, "received nan"),
    ({"windows": with_entry([(0, 9)] * 5, 3, (INF, INF))}, "windows", 3, "a finite opening time"),
    (  # from the depot (open at 0) it takes 1
        {"windows": with_entry([(0, 9)] * 5, 3, (0, 0.5))},
        *("windows", 3, "still open at 1, the earliest possible arrival, received closing at 0.5"),
    ),
    (  # the depot opens at 4
        {"windows": [(4, 99), (0, 9), (0, 9), (0, 9), (0, 4.5)]},
        *("windows", 4, "still open at 5, the earliest possible arrival"),
    ),
    (  # service starts at 8 and takes 1, the way back 1
        {"windows": [(0, 9), (0, 9), (8, 9), (0, 9), (0, 9)]},
        *("windows", 2, "a depot still open after serving it, received earliest return 10"),
    ),
    (  # arrives at 1, serves until 9.5
        {"service": [0, 1, 8.5, 1, 1]},
        *("windows", 2, "received earliest return 10.5"),
    ),
    (  # durations decide, not distances
        {"durations": 5 * FULL, "windows": [(0, 99), (0, 99), (0, 99), (0, 4), (0, 99)]},
        *("windows", 3, "still open at 5"),
    ),
    # ---- length limit
    ({"max_length": 1.9}, "max_length", 1, "at least 2, the shortest route that visits it"),
    ({"max_length": 0.9, "open_routes": True}, "max_length", 1, "expected at least 1"),
    # ---- nodes and depots
    ({"depots": (5,)}, "depots", None, "expected 0 to 4, received 5"),
    ({"depots": -1}, "depots", None, "expected 0 to 4, received -1"),
    ({"depots": 10**400}, "depots", None, "expected 0 to 4, received a huge whole number"),
    ({"depots": (0, 2, 0)}, "depots", None, "each depot once, received (0, 2, 0)"),
    ({"depots": (0, 1, 2, 3, 4)}, "depots", None, "at least one customer, received depots only"),
    ({"depots": 1.0}, "depots", None, "node numbers, received 1.0"),
    ({"depots": ("0",)}, "depots", None, "whole node numbers, received '0'"),
    # ---- routes
    ({"max_routes": 0}, "max_routes", None, "a whole number from 1"),
    ({"max_routes": 2.0}, "max_routes", None, "a whole number or None, received 2.0"),
    ({"max_routes": True}, "max_routes", None, "received True"),
    ({"max_routes": 10**30}, "max_routes", None, "a whole number from 1 to 1000000000"),
    ({"open_routes": "no"}, "open_routes", None, "True or False, received 'no'"),
    ({"backhaul_last": 0}, "backhaul_last", None, "True or False, received 0"),
    ({"maximise_prize": "yes"}, "maximise_prize", None, "True or False, received 'yes'"),
    ({"maximise_prize": True, "max_length": INF}, "max_length", None, "a limit where prize is"),
]


PAIR_ROWS: list[tuple[dict[str, Any], str, int | None, str]] = [
    ({"pairs": [(1, 2), (3, 5)]}, "pairs", None, "0 to 4, received 5"),
    ({"pairs": [(1, 2), (2, 4)]}, "pairs", 2, "one pair a node, received several"),
    ({"pairs": [(1, 2), (3, 3)]}, "pairs", 3, "one pair a node"),
    ({"pairs": [(1, 2), (0, 4)]}, "pairs", 0, "customers, received a depot"),
    ({"pairs": [(1, 2, 3)]}, "pairs", None, "(pickup, delivery) node numbers"),
    ({"pairs": 7}, "pairs", None, "received 7"),
    ({"pairs": [(1.0, 2.0)]}, "pairs", None, "whole node numbers, received 1.0"),
    (  # the wrong way round
        {"pairs": [(2, 1), (3, 4)]},
        *("demand", 2, "a pickup (negative) equal to the delivery at node 1, received 3.0"),
    ),
    ({"demand": [0, -3, 2, -5, 5]}, "demand", 1, "received -3.0 against 2.0"),
    ({"backhaul_last": True}, "backhaul_last", None, "False beside pairs"),
]


@pytest.mark.parametrize(
    ("change", "field", "node", "fragment"),
    [
        *(({**SOUND, **change}, *rest) for change, *rest in ROWS),
        *(({**PAIRED, **change}, *rest) for change, *rest in PAIR_ROWS),
    ],
)
def test_refused(change: dict[str, Any], field: str, node: int | None, fragment: str) -> None:
    error = blame(Problem.from_coordinates, {"coordinates": CROSS, **change})
    assert (error.field, error.node) == (field, node)
    assert fragment in str(error)
    assert str(error).startswith(field if node is None else f"{field}, node {node}: expected ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("demand", [0, 1, 1, 1, 1]), ("windows", [(0, 9)] * 5), ("service", [1] * 5)),
        *(("max_length", 9), ("open_routes", True), ("backhaul_last", True), ("prize", [1] * 5)),
        *(("penalty", [1] * 5), ("min_prize", 1), ("revealed_prize", [0] * 5), ("max_routes", 2)),
        *(("maximise_prize", True), ("pairs", [(0, 1), (2, 3)])),
    ],
)
def test_a_tour_without_a_depot_has_no_vehicle(field: str, value: Any) -> None:
    change = {field: value, **({"max_length": 9} if field == "maximise_prize" else {})}
    places = CROSS[:4] if field == "pairs" else CROSS  # all of them in pairs
    error = blame(Problem.from_coordinates, {"coordinates": places, **TOUR, **change})
    assert error.field == field
    assert "expected nothing without a depot" in str(error)


# ------------------------------------------------------------------------------- missing arcs


@pytest.mark.parametrize(
    ("gaps", "node", "fragment"),
    [
        ([(i, 3) for i in (0, 1, 2, 4)], 3, "a way to it, received no arc leads there"),
        ([(3, i) for i in (0, 1, 2, 4)], 3, "a way back from it, received no arc leads back"),
        # 3 and 4 reach each other, and nothing else reaches them.
        ([(i, j) for i in (0, 1, 2) for j in (3, 4)], 3, "no arc leads there"),
    ],
)
@pytest.mark.parametrize("depots", [(0,), ()])
def test_unreachable_through_missing_arcs(gaps, node, fragment, depots):
    error = blame(Problem.from_matrix, {"matrix": with_gaps(*gaps), "depots": depots})
    assert (error.field, error.node) == ("distances", node)
    assert fragment in str(error)
    timed = {"matrix": FULL, "durations": with_gaps(*gaps), "depots": depots}
    assert blame(Problem.from_matrix, timed).node == node


def test_a_detour_makes_up_for_missing_arcs() -> None:
    # 3 is reached through 2 only, and left through 4 only.
    gaps = [(0, 3), (1, 3), (4, 3), (3, 0), (3, 1), (3, 2)]
    Problem.from_matrix(with_gaps(*gaps))
    Problem.from_matrix(with_gaps(*gaps), depots=())
    # 0 -> 2 -> 3 -> 4 -> 0 has length 4 and reaches 3 at time 2.
    Problem.from_matrix(with_gaps(*gaps), max_length=4)
    error = blame(Problem.from_matrix, {"matrix": with_gaps(*gaps), "max_length": 3.9})
    assert (error.field, error.node) == ("max_length", 3)
    assert "at least 4" in str(error)
    windows = [(0, 4), (0, 9), (0, 9), (0, 2), (0, 9)]
    Problem.from_matrix(with_gaps(*gaps), windows=windows)
    late = with_entry(windows, 3, (0, 1.9))
    error = blame(Problem.from_matrix, {"matrix": with_gaps(*gaps), "windows": late})
    assert (error.field, error.node) == ("windows", 3)
    assert "still open at 2" in str(error)
    early = with_entry(windows, 0, (0, 3.9))
    error = blame(Problem.from_matrix, {"matrix": with_gaps(*gaps), "windows": early})
    assert "received earliest return 4" in str(error)


def test_a_cheaper_detour_counts_for_limits() -> None:
    matrix = FULL.copy()
    matrix[0, 3] = matrix[3, 0] = 50  # two by way of any other customer
    Problem.from_matrix(matrix, max_length=4)
    assert blame(Problem.from_matrix, {"matrix": matrix, "max_length": 3.5}).node == 3


def test_a_detour_counts_where_rounding_makes_it_shorter() -> None:
    places = [(0, 0), (0.9, 0), (1.8, 0)]  # 0 -> 2 rounds down to 1, 0 -> 1 -> 2 to 0
    down = Metric(rounding="down")
    Problem.from_coordinates(places, metric=down, windows=[(0, 9), (0, 9), (0, 0.5)])
    Problem.from_coordinates(places, metric=down, max_length=0.5)
    exact = {"coordinates": places, "max_length": 0.5}
    assert blame(Problem.from_coordinates, exact).node == 1


def test_an_open_route_needs_no_way_back() -> None:
    gaps = [(i, 0) for i in (1, 2, 3, 4)]
    assert blame(Problem.from_matrix, {"matrix": with_gaps(*gaps)}).node == 1
    Problem.from_matrix(with_gaps(*gaps), open_routes=True)
    windows = [(0, 1), (0, 9), (0, 9), (0, 9), (0, 9)]  # nobody is back by 1
    assert blame(Problem.from_matrix, {"matrix": FULL, "windows": windows}).node == 1
    Problem.from_matrix(FULL, windows=windows, open_routes=True)


def test_a_customer_that_may_be_skipped_need_not_be_reachable() -> None:
    gaps = [(i, 3) for i in (0, 1, 2, 4)]
    Problem.from_matrix(with_gaps(*gaps), penalty=[INF, INF, INF, 7, INF])
    Problem.from_coordinates(CROSS, penalty=[0, 1, 1, 1, 1], max_length=0.5)
    Problem.from_coordinates(CROSS, maximise_prize=True, max_length=0.5)


def test_with_several_depots_one_must_serve_the_way_there_and_back() -> None:
    # Customer 4: the only way there is from depot 0, the only way back is to depot 1.
    gaps = [(1, 4), (2, 4), (3, 4), (4, 0), (4, 2), (4, 3)]
    error = blame(Problem.from_matrix, {"matrix": with_gaps(*gaps), "depots": (0, 1)})
    assert (error.field, error.node) == ("distances", 4)
    assert "no arc leads back" in str(error)
    Problem.from_matrix(with_gaps(*gaps), depots=(0, 1), open_routes=True)
    # A second depot on the way is no way: routes do not pass depots.
    gaps = [(0, 4), (2, 4), (3, 4), (4, 1), (4, 2), (4, 3)]
    assert blame(Problem.from_matrix, {"matrix": with_gaps(*gaps), "depots": (0, 1)}).node == 4
    Problem.from_matrix(with_gaps(*gaps), depots=(0,))


def test_the_nearest_depot_decides() -> None:
    places = [(0, 0), (10, 0), (11, 0)]
    Problem.from_coordinates(places, depots=(0, 1), max_length=2)
    error = blame(Problem.from_coordinates, {"coordinates": places, "depots": 0, "max_length": 2})
    assert error.node == 1
    windows = [(0, 9), (3, 6), (0, 4)]
    Problem.from_coordinates(places, depots=(0, 1), windows=windows)
    late = {"coordinates": places, "depots": (0, 1), "windows": [(0, 9), (3, 6), (0, 3.5)]}
    error = blame(Problem.from_coordinates, late)
    assert error.node == 2
    assert "still open at 4" in str(error)


# ------------------------------------------------------------------------- declared variants


@pytest.mark.parametrize(
    ("arguments", "field", "fragment"),
    [
        ({"depots": 0, "variant": "TSP"}, "variant", "a variant with depot, received TSP"),
        ({"depots": (0,), "variant": "TSP"}, "variant", "a variant with depot, received TSP"),
        ({**SOUND, "variant": "CVRP"}, "variant", "with length_limit, time_windows, received CVRP"),
        ({"open_routes": True, "variant": "CVRP"}, "variant", "a variant with open_routes"),
        ({"depots": (0, 1), "variant": "CVRP"}, "variant", "a variant with multi_depot"),
        ({**PAIRED, **ONE_ROUTE, "variant": "CVRP"}, "variant", "a variant with pickup_delivery"),
        (
            {**PAIRED, "max_routes": 2, "variant": "PDTSP"},
            *("variant", "a variant with several_routes"),
        ),
        (
            {"open_routes": False, "variant": "OCVRP"},
            *("open_routes", "True in OCVRP, received False"),
        ),
        (
            {"backhaul_last": False, "variant": "CVRPBP"},
            *("backhaul_last", "True in CVRPBP, received False"),
        ),
        ({"variant": "PDCVRP"}, "pairs", "pairs in PDCVRP, received none"),
        ({**TOUR, "variant": "CVRP"}, "depots", "a depot in CVRP, received none"),
        (
            {"maximise_prize": False, "max_length": 5, "variant": "OP"},
            *("maximise_prize", "True in OP, received False"),
        ),
        (
            {"demand": [0, 3, -3, 1, 1], "capacity": 5, "variant": "CVRP"},
            *("variant", "a variant with backhaul, received CVRP"),
        ),
    ],
)
def test_a_declared_variant_must_fit_the_data(arguments, field, fragment):
    error = blame(Problem.from_coordinates, {"coordinates": CROSS, **arguments})
    assert error.field == field
    assert fragment in str(error)


def test_a_declared_symmetric_variant_refuses_asymmetric_data() -> None:
    matrix = np.triu(FULL) + 2 * np.tril(FULL)
    error = blame(Problem.from_matrix, {"matrix": matrix, "variant": "CVRP"})
    assert "a variant with asymmetric" in str(error)
    Problem.from_matrix(matrix, variant="ACVRP")
    Problem.from_matrix(FULL, variant="ACVRP")  # symmetric by chance


# ------------------------------------------------------------------------------ hostile users


@pytest.mark.parametrize("distances", [None, 5, FULL, CROSS, "matrix", Distances])
def test_a_problem_needs_distances(distances: Any) -> None:
    error = blame(Problem, {"distances": distances})
    assert error.field == "distances"
    assert "Problem.from_matrix" in str(error)


@pytest.mark.parametrize("huge", ["x" * 10**5, [0] * 10**4, np.zeros(10**4), ["x" * 10**5] * 5])
@pytest.mark.parametrize("field", ["depots", "demand", "capacity", "load_rule", "pairs"])
def test_a_whole_file_for_a_value_gives_one_short_line(field: str, huge: Any) -> None:
    error = blame(Problem.from_coordinates, {"coordinates": CROSS, field: huge})
    assert error.field == field
    assert len(str(error)) < 300


class Stubborn:
    """An object that fails at whatever is asked of it."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise RuntimeError("no array")

    def __float__(self) -> float:
        raise ValueError("no number")


odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.sampled_from([10**400, Stubborn(), object(), np.int8(1), np.float32(2), np.array(3)]),
    lambda inner: st.lists(inner, max_size=6) | st.tuples(inner, inner),
    max_leaves=12,
)
FIELDS = sorted({f.name for f in fields(Problem)} - {"distances"} | {"coordinates", "metric"})


@pytest.mark.filterwarnings("error")
@example({"service": Stubborn()})
@example({"service": [Stubborn()]})
@given(st.dictionaries(st.sampled_from(FIELDS), odd_values, min_size=1, max_size=3))
def test_anything_at_all_is_a_problem_or_an_error_of_ours(arguments: dict[str, Any]) -> None:
    try:
        problem = Problem.from_coordinates(**{"coordinates": CROSS, **arguments})
    except SpacevrpError:
        return
    assert np.isfinite(problem.tolerance)
    assert "<Problem" in repr(problem)
