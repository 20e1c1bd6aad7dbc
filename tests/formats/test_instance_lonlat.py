"""Longitudes and latitudes in place of the tables that follow from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.formats.instance_json import instance_document, instance_of
from spacevrp.problems.problem import Problem

VIENNA = [(16.37, 48.2), (16.4, 48.22), (16.35, 48.19), (16.3, 48.25)]
degrees = st.tuples(st.floats(-180, 180), st.floats(-80, 80))


@settings(max_examples=60, deadline=None)
@given(
    points=st.lists(degrees, min_size=2, max_size=8),
    speed=st.one_of(st.none(), st.floats(0.5, 200).map(lambda one: round(one, 3))),
    unit=st.sampled_from(["s", "min", "h"]),
)
def test_what_is_written_in_short_reads_back_as_the_same(
    points: list[tuple[float, float]], speed: float | None, unit: str
) -> None:
    timed = {} if speed is None else {"speed_kmh": speed, "time_unit": unit}
    problem = Problem.from_lonlat(points, demand=[0] + [1] * (len(points) - 1), **timed)
    document = instance_document(problem, tables=False)
    again = instance_of(Path("instance.json"), document)
    assert instance_document(again) == instance_document(problem) | {"name": "instance"}


def test_tables_are_left_out_only_where_they_follow() -> None:
    problem = Problem.from_lonlat(VIENNA, speed_kmh=30, time_unit="min")
    document = instance_document(problem, tables=False)
    assert document["lonlat"] == [list(point) for point in VIENNA]
    assert document["speed_kmh"] == 30
    assert not {"matrix", "durations", "places", "geographic"} & set(document)
    longer = instance_document(problem)
    for key in ("matrix", "durations"):  # a road that is longer, or slower, than as the crow flies
        held = [list(row) for row in longer[key]]
        held[1][2] *= 1.01
        other = instance_of(Path("instance.json"), longer | {key: held})
        document = instance_document(other, tables=False)
        assert document["matrix"] == (held if key == "matrix" else longer["matrix"])
        assert "lonlat" not in document


@pytest.mark.parametrize("tables", [True, False])
def test_a_plane_stays_a_plane(tables: bool) -> None:
    problem = Problem.from_coordinates([(0, 0), (3, 4)])
    assert instance_document(problem, tables=tables)["locations"] == [[0, 0], [3, 4]]
