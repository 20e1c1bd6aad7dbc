"""Answers of OSRM, openrouteservice, Valhalla and Google."""

from __future__ import annotations

import math
from typing import Any

import pytest

from spacevrp.problems.clock import Clock
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem

PLACES = [[13.388, 52.517], [13.397, 52.529], [13.428, 52.523]]
WAYPOINTS = [{"hint": "x", "name": "", "location": place} for place in PLACES]
OSRM: dict[str, Any] = {
    "code": "Ok",
    "durations": [[0, 192.6, None], [199, 0, 283.9], [344.7, 222.3, 0]],
    "distances": [[0, 1886.9, None], [1791.3, 0, 3803.6], [3325.6, 2849.7, 0]],
    "sources": WAYPOINTS,
    "destinations": WAYPOINTS,
}
CELLS = [
    [
        {"from_index": i, "to_index": j, "time": OSRM["durations"][i][j], "distance": i + 2 * j}
        for j in range(3)
    ]
    for i in range(3)
]


def test_osrm() -> None:
    problem = Problem.from_table(OSRM, demand=[0, 1, 1], capacity=2)
    assert problem.distances.between(1, 2) == 3803.6
    assert problem.durations.between(1, 2) == 283.9
    assert problem.distances.between(0, 2) == math.inf  # no road leads there
    assert problem.geographic
    assert problem.places.tolist() == PLACES
    assert problem.variant_name == "ACVRP"


def test_what_is_minimised_may_be_chosen() -> None:
    problem = Problem.from_table(OSRM, minimise="durations")
    assert problem.distances.between(1, 2) == 283.9
    assert problem.durations is problem.distances
    times_only = {key: value for key, value in OSRM.items() if key != "distances"}
    assert Problem.from_table(times_only).distances.between(1, 2) == 283.9


def test_openrouteservice() -> None:
    answer = {
        "durations": [[0, 5], [7, 0]],
        "destinations": [{"location": place, "snapped_distance": 0.02} for place in PLACES[:2]],
        "sources": [{"location": place, "snapped_distance": 0.02} for place in PLACES[:2]],
        "metadata": {"service": "matrix"},
    }
    problem = Problem.from_table(answer)
    assert problem.distances.matrix().tolist() == [[0, 5], [7, 0]]
    assert problem.places is not None


@pytest.mark.parametrize("nested", [False, True])
def test_valhalla(nested: bool) -> None:
    sources = [{"lon": lon, "lat": lat} for lon, lat in PLACES]
    answer = {
        "sources_to_targets": CELLS,
        "sources": [sources] if nested else sources,
        "units": "kilometers",
    }
    problem = Problem.from_table(answer)
    assert problem.distances.between(1, 2) == 5
    assert problem.durations.between(2, 1) == 222.3
    assert problem.durations.between(0, 2) == math.inf
    assert problem.places.tolist() == PLACES
    brief = {"sources_to_targets": {"durations": OSRM["durations"], "distances": None}}
    assert Problem.from_table(brief).distances.between(1, 2) == 283.9


def test_a_waypoint_off_the_map_leaves_no_places() -> None:
    problem = Problem.from_table({**OSRM, "sources": [None, *WAYPOINTS[1:]]})
    assert problem.places is None
    assert not problem.geographic


def test_a_customer_no_road_leads_to_is_named() -> None:
    cut_off = [[0, 1, None], [1, 0, None], [1, 1, 0]]
    with pytest.raises(ProblemError, match=r"node 2: expected a way to it, .* is 'island'"):
        Problem.from_table({"durations": cut_off}, ids=["port", "town", "island"])
    with pytest.raises(ProblemError, match="node 2: expected a way back from it"):
        Problem.from_table({"durations": [[0, 1, 1], [1, 0, 1], [None, None, 0]]})


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"code": "InvalidQuery", "message": "too many"}, "a failure: 'too many'"),
        ({"error": {"code": 6004}}, "a failure"),
        ({"durations": None, "distances": None}, "durations or distances, received neither"),
        ({"distances": [[0, 1, 2]]}, "as many sources as destinations"),
        ({"distances": [[0, 1], [2]]}, "regular shape"),
        ({"distances": [[0, "far", 1], [1, 0, 1], [1, 1, 0]]}, "a number, received 'far'"),
        ({"distances": [[0, -1, 1], [1, 0, 1], [1, 1, 0]]}, "distances of at least 0"),
        ({"destinations": WAYPOINTS[::-1]}, "destinations, node 0: expected the place of source"),
        ({"sources": ["here"] * 3}, "sources: expected a table of keys"),
        ({"sources": [{"location": [1, 2, 3]}] * 3}, "longitude, latitude"),
        ({"sources_to_targets": [[{"from_index": 1}]]}, "expected from_index 0, received 1"),
        ({"sources_to_targets": [[5]]}, "row 0, column 0: expected a table of keys"),
        ({"sources_to_targets": CELLS, "sources": [{"lon": 1}]}, "node 0: expected lon and lat"),
    ],
)
def test_refused(change: dict[str, Any], part: str) -> None:
    with pytest.raises(ProblemError, match=part):
        Problem.from_table({**OSRM, **change})


def test_what_is_no_table() -> None:
    with pytest.raises(ProblemError, match="a table of keys"):
        Problem.from_table([1, 2])  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="minimise: expected one of"):
        Problem.from_table(OSRM, minimise="fuel")
    with pytest.raises(ProblemError, match="minimise: expected durations"):
        Problem.from_table({"durations": [[0, 1], [1, 0]]}, minimise="distances")


@pytest.mark.parametrize("answer", [OSRM, {"sources_to_targets": CELLS}])
def test_seconds_become_the_unit_asked_for(answer: dict[str, Any]) -> None:
    """All three services answer in seconds; a leg of 90 of them takes a minute and a half."""
    quick = {"code": "Ok", "durations": [[0, 90], [90, 0]]}
    assert Problem.from_table(quick, time_unit="min").durations.between(0, 1) == 1.5
    assert Problem.from_data(quick, time_unit="min").durations.between(0, 1) == 1.5
    clock = Clock(0.0, unit="min", form="time of day")
    assert Problem.from_table(quick, clock=clock).durations.between(0, 1) == 1.5
    hours = Problem.from_table(answer, time_unit="h")
    assert hours.durations.between(1, 2) == pytest.approx(283.9 / 3600)
    assert hours.distances.between(1, 2) == Problem.from_table(answer).distances.between(1, 2)
    timed = Problem.from_table(answer, minimise="durations", time_unit="min")
    assert timed.distances.between(2, 1) == pytest.approx(222.3 / 60)
    with pytest.raises(ProblemError, match="time_unit: expected one of"):
        Problem.from_table(quick, time_unit="days")


# ------------------------------------------------------------------------------------------ Google


def google(change: dict[str, Any] | None = None) -> dict[str, Any]:
    """The same table as its Distance Matrix has it; the road that is missing has no results."""
    rows = []
    for i in range(3):
        elements: list[dict[str, Any]] = []
        for j in range(3):
            seconds, metres = OSRM["durations"][i][j], OSRM["distances"][i][j]
            if seconds is None:
                elements.append({"status": "ZERO_RESULTS"})
                continue
            duration = {"text": "some mins", "value": seconds}
            distance = {"text": "some km", "value": metres}
            elements.append({"status": "OK", "duration": duration, "distance": distance})
        rows.append({"elements": elements})
    names = ["A", "B", "C"]
    ends = {"origin_addresses": names, "destination_addresses": names}
    return {"status": "OK", **ends, "rows": rows, **(change or {})}


def test_google_says_what_osrm_says() -> None:
    for made in (Problem.from_table(google()), Problem.from_data(google())):
        read = Problem.from_table({key: OSRM[key] for key in ("durations", "distances")})
        assert made == read
    hurried = google()
    hurried["rows"][1]["elements"][2]["duration_in_traffic"] = {"value": 500}
    assert Problem.from_table(hurried).durations.between(1, 2) == 500


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": "REQUEST_DENIED", "error_message": "no key"}, "a failure: 'no key'"),
        ({"rows": [{}]}, "elements: expected a list"),
        ({"rows": [{"elements": [{"status": "LOST"}]}]}, "rows, 0, 0: expected a status OK"),
        ({"rows": [{"elements": [{"duration": 5}]}]}, "rows, 0, 0: expected a table of keys"),
        ({"rows": [{"elements": []}]}, "expected durations or distances, received neither"),
    ],
)
def test_what_is_wrong_in_an_answer_of_google_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        Problem.from_table(google(change))
