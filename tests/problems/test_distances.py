"""Distances from coordinates and from matrices, against numbers computed by hand."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.problems.distances import GEOMETRIES, ROUNDINGS, TSPLIB_METRICS, Distances, Metric
from spacevrp.problems.errors import ProblemError

INF = math.inf


def measure(metric: Metric, target: tuple[float, float]) -> float:
    """The distance from the origin."""
    return Distances(coordinates=[(0, 0), target], metric=metric).between(0, 1)


@pytest.mark.parametrize(
    ("geometry", "rounding", "target", "expected"),
    [
        ("euclidean", "none", (3, 4), 5.0),
        ("euclidean", "none", (-1, 1), math.sqrt(2)),
        ("euclidean", "nearest", (1.5, 2), 3.0),  # 2.5: halves go up, not to the even number
        ("euclidean", "nearest", (0.3, 0.4), 1.0),  # 0.5
        ("euclidean", "nearest", (1, 1), 1.0),  # 1.41
        ("euclidean", "up", (1, 1), 2.0),
        ("euclidean", "up", (3, 4), 5.0),
        ("euclidean", "down", (2, 2), 2.0),  # 2.83
        ("euclidean", "one-decimal", (2, 2), 2.8),  # truncated, not rounded to 2.83 or 2.9
        ("euclidean", "one-decimal", (1.4, 1.4), 1.9),  # 1.9799
        ("manhattan", "none", (-3, 4), 7.0),
        ("manhattan", "nearest", (1.25, 1.25), 3.0),
        ("chebyshev", "none", (-3, 4), 4.0),
        ("chebyshev", "nearest", (2.5, 1), 3.0),
        ("att", "none", (30, 10), 10.0),  # sqrt(1000 / 10)
        ("att", "none", (1, 0), math.sqrt(0.1)),
        ("geo", "none", (0, 0), 1.0),  # TSPLIB adds 1 even between equal places
    ],
)
def test_by_hand(geometry, rounding, target, expected):
    assert measure(Metric(geometry, rounding), target) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "target", "expected"),
    [
        # ATT: r = sqrt((xd^2 + yd^2) / 10), rounded to t, and t + 1 where t < r.
        ("ATT", (30, 10), 10),  # r = 10 exactly
        ("ATT", (10, 0), 4),  # r = 3.16, t = 3 < r
        ("ATT", (11, 0), 4),  # r = 3.48, t = 3 < r
        ("ATT", (12, 0), 4),  # r = 3.79, t = 4
        ("ATT", (4501, 1443), 1495),  # the first two cities of att48: r = 1494.70
        # GEO on the equator: 6378.388 times the angle (with pi = 3.141592), plus 1, truncated.
        ("GEO", (0, 90), 10020),  # 6378.388 * 1.570796 = 10019.15
        ("GEO", (0, 10.30), 1169),  # 10 degrees 30 minutes: 6378.388 * 0.18325953 = 1168.90
        ("GEO", (0, -10.30), 1169),
        ("GEO", (10.30, 0), 1169),  # along a meridian
        ("GEO", (0, 0), 1),
    ],
)
def test_tsplib_by_hand(kind: str, target: tuple[float, float], expected: int) -> None:
    assert measure(TSPLIB_METRICS[kind], target) == expected


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_rows_columns_arcs_and_matrix_agree(geometry: str, rounding: str) -> None:
    for size in (1, 2, 7, 60):
        points = np.random.default_rng(1).uniform(-80, 80, (size, 2))
        points[size // 2] = points[0]  # two nodes in one place
        distances = Distances(coordinates=points, metric=Metric(geometry, rounding))
        agree(distances)
        assert distances.is_symmetric
        assert distances.matrix().max() <= distances.extent


def agree(distances: Distances) -> None:
    matrix = distances.matrix()
    size = distances.size
    assert matrix.shape == (size, size)
    assert (np.diag(matrix) == 0).all()
    for i in range(size):
        assert (distances.from_node(i) == matrix[i]).all()
        assert (distances.to_node(i) == matrix[:, i]).all()
        assert [distances.between(i, j) for j in range(size)] == matrix[i].tolist()


def test_asymmetric_matrix() -> None:
    distances = Distances(matrix=[[0, 1, 2], [3, 0, 4], [5, 6, 0]])
    agree(distances)
    assert distances.from_node(1).tolist() == [3, 0, 4]
    assert distances.to_node(1).tolist() == [1, 0, 6]
    assert not distances.is_symmetric
    assert not distances.has_missing_arcs
    assert distances.extent == 6


def test_symmetry_allows_for_rounding_errors_only() -> None:
    assert Distances(matrix=[[0, 0.1 + 0.2], [0.3, 0]]).is_symmetric
    assert not Distances(matrix=[[0, 0.3], [0.3001, 0]]).is_symmetric
    assert Distances(matrix=[[0, INF], [INF, 0]]).is_symmetric
    assert not Distances(matrix=[[0, INF], [1, 0]]).is_symmetric


@pytest.mark.parametrize("gap", [None, INF, np.inf])
def test_missing_arcs(gap: float | None) -> None:
    for rows in ([[0, gap, 1], [2, 0, 3], [4, 5, 0]], ((0, gap, 1), (2, 0, 3), (4, 5, 0))):
        distances = Distances(matrix=rows)
        assert distances.has_missing_arcs
        assert distances.between(0, 1) == INF
        assert distances.between(1, 0) == 2
        assert distances.extent == 5  # of the arcs that exist
        agree(distances)
    objects = np.array([[0, gap], [1, 0]], dtype=object)
    assert Distances(matrix=objects).between(0, 1) == INF


@pytest.mark.parametrize("entry", [7.0, INF, None, math.nan, -1.0])
def test_the_diagonal_is_ignored(entry: float | None) -> None:
    distances = Distances(matrix=[[entry, 1], [2, entry]])
    assert distances.matrix().tolist() == [[0, 1], [2, 0]]
    assert not distances.has_missing_arcs


@pytest.mark.parametrize("kind", ["coordinates", "matrix"])
def test_reordered(kind: str) -> None:
    points = np.array([(0, 0), (3, 4), (6, 8), (0, 5)])
    metric = TSPLIB_METRICS["CEIL_2D"]
    distances = Distances(coordinates=points, metric=metric)
    if kind == "matrix":
        distances = Distances(matrix=[[0, 1, 2, 3], [4, 0, 5, 6], [7, 8, 0, 9], [10, 11, 12, 0]])
    order = np.array([2, 0, 3, 1])
    turned = distances.reordered(order)
    agree(turned)
    assert (turned.matrix() == distances.matrix()[np.ix_(order, order)]).all()
    assert turned.metric == distances.metric


def test_coordinates_stay_coordinates() -> None:
    points = np.random.default_rng(0).uniform(size=(30_000, 2))
    tracemalloc.start()
    try:
        distances = Distances(coordinates=points)
        facts = (distances.size, distances.is_symmetric, distances.has_missing_arcs)
        row = distances.from_node(17)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert facts == (30_000, True, False)
    assert row.shape == (30_000,)
    assert peak < 30e6  # N x N would take 7.2 GB


def test_the_caller_keeps_its_own_arrays() -> None:
    points, matrix = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[5.0, 1.0], [2.0, 5.0]])
    from_points, from_matrix = Distances(coordinates=points), Distances(matrix=matrix)
    points[1] = matrix[0, 1] = 9.0
    assert from_points.between(0, 1) == 5
    assert from_matrix.between(0, 1) == 1
    assert matrix[0, 0] == 5  # the diagonal was cleared in a copy
    assert from_points.coordinates is not None
    for held in (from_points.coordinates, from_matrix.matrix()):
        with pytest.raises(ValueError, match="read-only"):
            held[0, 1] = 3.0
    from_matrix.from_node(0)[1] = 8.0  # a row is the caller's own
    assert from_matrix.between(0, 1) == 1


@pytest.mark.parametrize(("arguments", "field", "node", "fragment"), [
    ({}, "distances", None, "received neither"),
    ({"coordinates": [(0, 0)], "matrix": [[0]]}, "distances", None, "received both"),
    ({"coordinates": []}, "coordinates", None, "expected shape (N, 2), received shape (0,)"),
    ({"coordinates": [(1, 2), (3,)]}, "coordinates", 1, "numbers in a regular shape"),
    ({"coordinates": [(1, 2), (3, "x")]}, "coordinates", 1, "a number, received 'x'"),
    ({"coordinates": [(1, 2), (3, math.nan)]}, "coordinates", 1, "received [3.0, nan]"),
    ({"coordinates": [(1, 2), (INF, 4)]}, "coordinates", 1, "finite numbers"),
    ({"coordinates": [(1, 2), (1e200, 4)]}, "coordinates", 1, "below 1e+100"),
    ({"coordinates": "somewhere"}, "coordinates", None, "received 'somewhere'"),
    ({"matrix": [[0, 1, 2], [1, 0, 2]]}, "distances", None, "square matrix, received shape"),
    ({"matrix": [[0, 1], [1]]}, "distances", 1, "numbers in a regular shape"),
    ({"matrix": [[0, 1], [-2, 0]]}, "distances", 1, "received -2.0 on the way to node 0"),
    ({"matrix": [[0, math.nan], [2, 0]]}, "distances", 0, "received nan on the way to node 1"),
    ({"matrix": [[0, 1], ["far", 0]]}, "distances", 1, "a number, received 'far'"),
    ({"matrix": [[0, 1], [1e300, 0]]}, "distances", 1, "below 1e+100, or inf"),
    ({"matrix": [[0, 10**400], [1, 0]]}, "distances", 0, "a number, received a huge whole number"),
    ({"matrix": [[0, 1], [1, 0]], "metric": Metric()}, "distances", None, "no metric beside"),
    ({"matrix": np.ones((2, 2), dtype=bool)}, "distances", 0, "a number, received True"),
    ({"matrix": [[0, -1], [1, 0]], "field": "durations"}, "durations", 0, "received -1.0"),
    ({"coordinates": [(0, 0)], "metric": "euclidean"}, "metric", None, "a Metric"),
])  # fmt: skip
def test_refused(arguments: dict[str, object], field: str, node: int | None, fragment: str) -> None:
    with pytest.raises(ProblemError) as caught:
        Distances(**arguments)  # type: ignore[arg-type]
    assert (caught.value.field, caught.value.node) == (field, node)
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("geometry", "rounding", "field"),
    [("euclid", "none", "metric"), (["att"], "none", "metric"), ("att", "half", "rounding")],
)
def test_a_metric_is_known_by_name(geometry: str, rounding: str, field: str) -> None:
    with pytest.raises(ProblemError, match="expected one of") as caught:
        Metric(geometry, rounding)
    assert caught.value.field == field


crossings = st.tuples(st.integers(-99, 99), st.integers(-99, 99))


@given(st.lists(crossings, min_size=3, max_size=3), st.sampled_from(["none", "up"]))
def test_triangle_inequality_where_it_is_promised(points, rounding):
    for geometry in ("euclidean", "manhattan", "chebyshev", "att"):
        metric = Metric(geometry, rounding)
        assert metric.obeys_triangle
        distances = Distances(coordinates=points, metric=metric)
        detour = distances.between(0, 1) + distances.between(1, 2)
        assert distances.between(0, 2) <= detour + (1e-9 if rounding == "none" else 0)


def test_rounding_down_breaks_the_triangle_inequality() -> None:
    metric = Metric(rounding="down")
    assert not metric.obeys_triangle
    there = Distances(coordinates=[(0, 0), (0.9, 0), (1.8, 0)], metric=metric).from_node(0)
    assert there.tolist() == [0, 0, 1]
