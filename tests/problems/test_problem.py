"""The instance type: defaults, what follows from the data, copies and equality."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems.distances import Distances, Metric
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS, Variant

INF = math.inf
CROSS = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)])
FULL = np.ones((5, 5)) - np.eye(5)
LOADED: dict[str, Any] = {"demand": [0, 1, 2, 3, 4], "capacity": 5}
PAIRS: dict[str, Any] = {"pairs": [(1, 2), (3, 4)]}
WINDOWS: dict[str, Any] = {"windows": [(0, 9)] * 5}


# --------------------------------------------------------------------------- neutral defaults


def test_without_a_depot_there_is_one_tour() -> None:
    problem = Problem.from_coordinates(CROSS, depots=())
    assert problem.customers == (0, 1, 2, 3, 4)
    assert problem.max_routes == 1
    assert problem.variant_name == "TSP"
    assert Problem.from_coordinates(CROSS, depots=None).depots == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("depots", "expected"),
    [
        (3, (3,)),
        (np.int32(3), (3,)),
        ([4, 2], (4, 2)),
        (np.array([4, 2]), (4, 2)),
        (range(1, 3), (1, 2)),
        (iter([4]), (4,)),
    ],
)
def test_depots_stand_anywhere_in_the_numbering(depots: Any, expected: tuple[int, ...]) -> None:
    problem = Problem.from_coordinates(CROSS, depots=depots)
    assert problem.depots == expected
    assert problem.customers == tuple(node for node in range(5) if node not in expected)
    assert all(isinstance(depot, int) for depot in problem.depots)  # and not NumPy's


# ---------------------------------------------------------------------------------- frozenness


@pytest.mark.parametrize("field", ["demand", "windows", "service", "prize", "penalty"])
def test_arrays_are_frozen(field: str) -> None:
    problem = Problem.from_coordinates(CROSS)
    with pytest.raises(ValueError, match="read-only"):
        getattr(problem, field)[1] = 1.0


# ------------------------------------------------------------------------------ copies, equality


def test_replace_changes_and_validates_again() -> None:
    problem = Problem.from_coordinates(CROSS, **LOADED)
    larger = problem.replace(capacity=7)
    assert (problem.capacity, larger.capacity) == (5, 7)
    assert larger.demand.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ProblemError, match="demand, node 4: expected at most the capacity 3"):
        problem.replace(capacity=3)
    # What was worked out for the original is not carried over.
    assert problem.variant_name == "CVRP"
    assert problem.replace(open_routes=True).variant_name == "OCVRP"


def test_durations_follow_replaced_distances() -> None:
    twice = Distances(matrix=2 * FULL)
    follows = Problem.from_matrix(FULL).replace(distances=twice)
    assert follows.durations is twice
    apart = Problem.from_matrix(FULL, durations=3 * FULL).replace(distances=twice)
    assert apart.durations.between(0, 1) == 3


def test_equality_is_of_all_data_but_the_name() -> None:
    problem = Problem.from_coordinates(CROSS, **LOADED)
    assert problem == Problem.from_coordinates(CROSS.tolist(), **LOADED, name="other")
    assert problem == problem.replace()
    assert problem != "problem"
    for change in (
        {"demand": [0, 1, 2, 3, 3]},
        {"capacity": 6},
        {"depots": (0, 1), "demand": [0, 0, 2, 3, 4]},
        {"load_rule": "single"},
        {"variant": "CVRP"},
        {"service": [0, 1, 0, 0, 0]},
        {"revealed_prize": [0] * 5},
        {"durations": FULL},
        {"max_routes": 4},
    ):
        assert problem != problem.replace(**change), change


def test_equality_of_distances() -> None:
    points = Problem.from_coordinates(CROSS)
    assert points != Problem.from_coordinates(CROSS, metric="manhattan")
    assert points != Problem.from_coordinates(2 * CROSS)
    assert points != Problem.from_matrix(points.distances.matrix())  # held differently
    assert Problem.from_matrix(FULL) == Problem.from_matrix(FULL + np.eye(5))  # the diagonal
    assert Problem.from_matrix(FULL) != Problem.from_matrix(2 * FULL)


# ------------------------------------------------------------------------------- inferred flags


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        ({"depots": (1, 2)}, "multi_depot"),
        ({"open_routes": True}, "open_routes"),
        (LOADED, "capacity"),
        ({"demand": [0, 1, -2, 3, 4], "capacity": 5}, "capacity backhaul"),
        ({"backhaul_last": True}, "backhaul_last"),
        ({"max_length": 9}, "length_limit"),
        (WINDOWS, "time_windows"),
        ({"windows": [(0, INF), (0, INF), (3, INF), (0, INF), (0, INF)]}, "time_windows"),
        ({"windows": [(0, 9)] + [(0, INF)] * 4}, "time_windows"),
        ({"maximise_prize": True, "max_length": 9}, "length_limit orienteering"),
        ({"penalty": [INF, INF, 2, INF, INF]}, "prize_collecting"),
        ({"revealed_prize": [0] * 5}, "stochastic_prizes"),
        (PAIRS, "pickup_delivery"),
        ({**PAIRS, "demand": [0, -1, 1, -2, 2], "capacity": 5}, "capacity pickup_delivery"),
        ({"durations": np.triu(FULL)}, "asymmetric"),
        # What looks like a feature and constrains nothing.
        ({"capacity": 5}, ""),
        ({"demand": [0, 1, -2, 3, 4]}, ""),
        ({"service": [0, 1, 1, 1, 1]}, ""),
        ({"prize": [0, 1, 1, 1, 1], "min_prize": 2}, ""),
        ({"penalty": [0, INF, INF, INF, INF]}, ""),  # a depot's penalty means nothing
        ({"durations": 2 * FULL}, ""),
    ],
)
def test_each_flag_follows_from_the_data(arguments: dict[str, Any], flag: str) -> None:
    problem = Problem.from_coordinates(CROSS, **arguments)
    plain = {"depot", "several_routes"}
    assert set(problem.inferred_features.active) == plain | set(flag.split())


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_inferred_from_its_data_and_may_be_declared(name: str) -> None:
    (declared,) = generate(name, 8)
    problem = declared.replace(variant=None)
    assert problem.variant is None
    assert problem.variant_name == name
    assert declared.features == problem.features == VARIANTS[name].features


# ------------------------------------------------------------------------------------ tolerances


def test_a_limit_written_as_a_huge_number_does_not_blunt_the_others() -> None:
    # 1e9 stands for "never"; the slack for the other windows stays that of the unit square.
    windows = [(0, 1e9), (0, 1e9), (0, 1e9), (0, 1e9), (0, 3)]
    assert Problem.from_coordinates(CROSS, windows=windows).tolerance == pytest.approx(1e-5)
    assert Problem.from_coordinates(CROSS, max_length=1e9).tolerance == pytest.approx(1e-5)
    with pytest.raises(ProblemError, match="windows, node 4"):
        Problem.from_coordinates(CROSS, windows=[*windows[:4], (0, 0.9)])


@pytest.mark.parametrize(
    ("demand", "capacity", "slack"),
    [
        ([0, 1, 2, 3, 4], INF, 0.0),
        ([0, 1, 2, 3, 4], 50, 5e-4),
        ([0, 1, 2, 3, 10**6], 10**6, 0.5),  # whole amounts: never a whole unit
        ([0, 1, 2, 3, 10**6], 10**6 + 0.7, 0.1),  # nor up to the next one
        ([0, 1, 2, 3, 4.5], 10**6, 0.1),
        ([0, 0.1, 0.2, 0.3, 0.4], 1, 1e-7),
    ],
)
def test_load_tolerance(demand: list[float], capacity: float, slack: float) -> None:
    problem = Problem.from_coordinates(CROSS, demand=demand, capacity=capacity)
    assert problem.load_tolerance == pytest.approx(slack, rel=1e-5)


# ------------------------------------------------------------------------------------ properties

places = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))


@given(data=st.data(), points=st.lists(places, min_size=2, max_size=8))
def test_any_sound_instance_is_accepted(data, points):
    size = len(points)
    depot = data.draw(st.integers(0, size - 1))
    amounts = st.integers(-9, 9)
    demand = data.draw(st.lists(amounts, min_size=size, max_size=size))
    demand[depot] = 0
    metric = Metric(data.draw(st.sampled_from(["euclidean", "manhattan", "chebyshev", "att"])))
    reach = Distances(coordinates=points, metric=metric).from_node(depot)
    # The tightest limits that still let each customer be served alone.
    windows = np.stack([reach, reach], axis=1)
    windows[depot] = (0, 2 * reach.max() + 1)
    problem = Problem.from_coordinates(
        points,
        metric=metric,
        depots=depot,
        demand=demand,
        capacity=9,
        windows=windows,
        service=np.ones(size),
        max_length=max(2 * reach.max(), 1e-3),
    )
    assert problem.features.time_windows
    assert problem.features.length_limit
    assert len(problem.customers) == size - 1
    assert problem == problem.replace()


# ----------------------------------------------------------------- what a declared variant implies


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_declared_variant_goes_without_saying(variant: Variant) -> None:
    features = variant.features
    matrix = FULL + np.tril(FULL) if features.asymmetric else FULL
    problem = Problem.from_matrix(
        matrix,
        variant=variant.name,
        pairs=[(1, 2), (3, 4)] if features.pickup_delivery else (),
        max_length=9 if features.length_limit else np.inf,
    )
    assert problem.depots == ((0,) if features.depot else ())
    assert problem.max_routes == (None if features.several_routes else 1)
    assert problem.open_routes == features.open_routes
    assert problem.backhaul_last == features.backhaul_last
    assert problem.maximise_prize == features.orienteering
    assert problem.load_rule == "single"
    assert problem.penalty[1] == (0.0 if features.orienteering else np.inf)
    # The same said aloud is the same problem.
    spelled_out = {
        name: getattr(problem, name)
        for name in ("load_rule", "open_routes", "backhaul_last", "maximise_prize", "max_routes")
    }
    assert problem.replace(**spelled_out) == problem


def test_without_a_declared_variant_goods_are_separate() -> None:
    mixed = {"demand": [0, 3, -3, 1, 1], "capacity": 5}
    assert Problem.from_coordinates(CROSS, **mixed).load_rule == "separate"
    assert Problem.from_coordinates(CROSS, variant="CVRPB", **mixed).load_rule == "single"
    kept = Problem.from_coordinates(CROSS, variant="CVRPB", load_rule="separate", **mixed)
    assert kept.load_rule == "separate"
    assert kept.replace(variant=None).load_rule == "separate"
