"""A solution as text, as documents for other programs, and as files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Build = Callable[..., Problem]
PLACES = [(13.37, 52.5), (13.4, 52.51), (13.45, 52.52)]


@pytest.fixture
def timed() -> Solution:
    problem = Problem.from_coordinates(
        [(0, 0), (3, 0), (3, 4)],
        ids=["hub", "bakery", "dairy"],
        demand=[0, 2, 1.5],
        capacity=4,
        windows=[("08:00", "18:00"), ("09:00", "10:00"), (None, None)],
        service=[0, 10, 5],
        time_unit="min",
        name="breakfast",
    )
    return Solution.judged(problem, [[0, 1, 2, 0]])


def test_a_plan_to_read(timed: Solution) -> None:
    assert str(timed).splitlines() == [
        "cost 12, 1 route, feasible",
        "  route 1: 2 stops, cost 12, load 3.5 of 4, 08:00:00 to 09:24:00, waiting 0:57:00, "
        "may leave 0:57:00 later",
        "    stop     arrival  waiting  departure  load  leg cost",
        "    hub     08:00:00  0:00:00   08:00:00   3.5         0",
        "    bakery  08:03:00  0:57:00   09:10:00   1.5         3",
        "    dairy   09:14:00  0:00:00   09:19:00     0         4",
        "    hub     09:24:00  0:00:00   09:24:00     0         5",
    ]


def test_violations_are_told_with_ids_and_clock(timed: Solution) -> None:
    late = Solution.judged(timed.problem.replace(service=[0, 10, 580]), [[0, 2, 1, 0]])
    lines = str(late).splitlines()
    assert lines[0] == "cost 12, 1 route, 2 violations"
    assert lines[-3].endswith("window closes at 120 (1 is bakery)")
    assert lines[-2].endswith("the depot closes at 600 (0 is hub)")
    assert lines[-1] == "  (times are in min after 08:00)"


def test_a_plain_plan_shows_no_empty_columns(four_customers: Build) -> None:
    text = str(Solution.judged(four_customers(), [[0, 1, 2, 4, 3, 0]]))
    assert text.splitlines()[1:3] == ["  route 1: 4 stops, cost 20", "    stop  leg cost"]


def test_prize_and_skipped(four_customers: Build) -> None:
    problem = four_customers(prize=[0, 1, 2, 3, 4], maximise_prize=True, max_length=9, max_routes=1)
    lines = str(Solution.judged(problem, [[0, 3, 0]])).splitlines()
    assert lines[0] == "prize 3, 1 route, feasible"
    assert lines[-1] == "  not visited: 1, 2, 4"


def test_a_document_for_json(timed: Solution) -> None:
    document = json.loads(json.dumps(timed.to_dict(), allow_nan=False))
    assert document["name"] == "breakfast"
    assert document["cost"] == 12
    assert document["totals"] == {
        "routes": 1,
        "length": 12,
        "driving": 12,
        "waiting": 57,
        "service": 15,
        "delivered": 3.5,
        "collected": 0,
        "prize": 0,
        "penalties": 0,
    }
    assert document["routes"][0]["stops"][1] == {
        "id": "bakery",
        "node": 1,
        "kind": "delivery",
        "arrival": "08:03",
        "waiting": 57,
        "service": 10,
        "departure": "09:10",
        "load": 1.5,
        "leg_cost": 3,
        "leg_duration": 3,
    }


def test_without_pandas_the_error_says_what_to_do(timed, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnsupportedError, match="pip install pandas; to_rows gives the same"):
        timed.to_frame()


def test_geojson() -> None:
    problem = Problem.from_lonlat(
        PLACES, depots=1, ids=["a", "hub", "b"], penalty=[9e9, 0, 0], speed_kmh=36
    )
    document = Solution.judged(problem, [[1, 0, 1]]).to_geojson()
    assert document["type"] == "FeatureCollection"
    line, start, stop, skipped = document["features"]
    assert line["geometry"] == {
        "type": "LineString",
        "coordinates": [[13.4, 52.51], [13.37, 52.5], [13.4, 52.51]],
    }
    assert line["properties"]["stops"] == 1
    assert start["properties"]["kind"] == "start"
    assert stop["geometry"] == {"type": "Point", "coordinates": [13.37, 52.5]}
    assert stop["properties"]["id"] == "a"
    assert stop["properties"]["arrival"] == pytest.approx(231.504, abs=0.001)
    assert skipped["properties"] == {"id": "b", "node": 2, "kind": "not visited"}
    assert document["plan"]["feasible"] is True


def test_gpx(tmp_path: Path) -> None:
    """A route for each vehicle, its stops in their order, with the names of the user."""
    problem = Problem.from_lonlat(
        [[13.4, 52.5], [13.5, 52.6]], ids=["A & B", "depot"], depots=["depot"], name="day <1>"
    )
    path = tmp_path / "plan.gpx"
    Solution.judged(problem, [[1, 0, 1]]).save(path)
    space = {"g": "http://www.topografix.com/GPX/1/1"}
    root = ElementTree.parse(path).getroot()
    assert root.findtext("g:metadata/g:name", namespaces=space) == "day <1>"
    (route,) = root.findall("g:rte", space)
    points = route.findall("g:rtept", space)
    assert [one.findtext("g:name", namespaces=space) for one in points] == [
        "depot",
        "A & B",
        "depot",
    ]
    assert [(float(one.attrib["lat"]), float(one.attrib["lon"])) for one in points[:2]] == [
        (52.6, 13.5),
        (52.5, 13.4),
    ]
    with pytest.raises(UnsupportedError, match="GPX: expected longitudes and latitudes"):
        Solution.judged(Problem.from_matrix([[0, 1], [1, 0]]), [[0, 1, 0]]).to_gpx()


def test_geojson_needs_degrees(four_customers: Build) -> None:
    flat = Solution.judged(four_customers(), [[0, 1, 2, 4, 3, 0]])
    with pytest.raises(UnsupportedError, match="not said to be geographic"):
        flat.to_geojson()
    matrix = Problem.from_matrix([[0, 1], [1, 0]])
    with pytest.raises(UnsupportedError, match="received no places"):
        Solution.judged(matrix, [[0, 1, 0]]).to_geojson()


def test_vroom_tells_what_is_broken(four_customers: Build) -> None:
    problem = four_customers(
        demand=[0, 6, 4, 3, 7], capacity=10, windows=[(0, 90), (0, 90), (0, 6), (0, 90), (0, 90)]
    )
    document = Solution.judged(problem, [[0, 1, 2, 3, 0]]).to_vroom()
    assert document["summary"]["violations"] == [
        {"cause": "load"},
        {"cause": "delay", "duration": 1.0},
    ]
    assert document["summary"]["unassigned"] == 1
    assert document["unassigned"] == [{"id": 4, "type": "job"}]
    tour = four_customers(depots=())
    with pytest.raises(UnsupportedError, match="a tour without one"):
        Solution.judged(tour, [[0, 1, 2, 3, 4]]).to_vroom()


@pytest.mark.parametrize(
    ("name", "error", "part"),
    [
        ("plan.pdf", UnsupportedError, r"saved as \.sol, \.json"),
        ("no/plan.json", FormatError, "cannot be written: No such file"),
        ("a\0b.json", FormatError, "cannot be written"),
    ],
)
def test_files_that_cannot_be(timed, tmp_path, name, error, part):
    with pytest.raises(error, match=part):
        timed.save(f"{tmp_path}/{name}")
