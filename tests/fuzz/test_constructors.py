"""Hostile values through every constructor of a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz_property import check, fuzzed
from hostile_values import LONLAT, MATRIX, POINTS, any_data, features, frames, mappings, tables
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver

Watch = Callable[[], None]


@fuzzed(220)
@given(points=tables(POINTS), given=features())
def test_from_coordinates(solver: Solver, watch: Watch, points: Any, given: dict[str, Any]) -> None:
    watch()
    check("from_coordinates", lambda: Problem.from_coordinates(points, **given), solver)


@fuzzed(220)
@given(matrix=tables(MATRIX), given=features())
def test_from_matrix(solver: Solver, watch: Watch, matrix: Any, given: dict[str, Any]) -> None:
    watch()
    check("from_matrix", lambda: Problem.from_matrix(matrix, **given), solver)


@fuzzed(160)
@given(
    points=tables(LONLAT),
    speed=st.sampled_from((None, 30, 0, -1, "x", float("inf"), float("nan"), 1e-300, 10**5000)),
    given=features(),
)
def test_from_lonlat(
    solver: Solver, watch: Watch, points: Any, speed: Any, given: dict[str, Any]
) -> None:
    watch()
    check("from_lonlat", lambda: Problem.from_lonlat(points, speed_kmh=speed, **given), solver)


@fuzzed(220)
@given(frame=frames(), given=st.one_of(st.just({}), features()))
def test_from_frame(solver: Solver, watch: Watch, frame: Any, given: dict[str, Any]) -> None:
    watch()
    check("from_frame", lambda: Problem.from_frame(frame, **given), solver)


@fuzzed(160)
@given(data=mappings("ortools"))
def test_from_ortools(solver: Solver, watch: Watch, data: Any) -> None:
    watch()
    check("from_ortools", lambda: Problem.from_ortools(data), solver)


@fuzzed(160)
@given(
    response=mappings("table"),
    minimise=st.sampled_from((None, None, None, "distances", "durations", "x", 5, [])),
)
def test_from_table(solver: Solver, watch: Watch, response: Any, minimise: Any) -> None:
    watch()
    check("from_table", lambda: Problem.from_table(response, minimise=minimise), solver)


@fuzzed(160)
@given(document=mappings("vroom"), speed=st.sampled_from((None, None, 30, 0, "x")))
def test_from_vroom(solver: Solver, watch: Watch, document: Any, speed: Any) -> None:
    watch()
    check("from_vroom", lambda: Problem.from_vroom(document, speed_kmh=speed), solver)


@fuzzed(200)
@given(data=any_data())
def test_from_data(solver: Solver, watch: Watch, data: Any) -> None:
    watch()
    check("from_data", lambda: Problem.from_data(data), solver)
