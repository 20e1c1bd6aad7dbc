"""VROOM's problems, and its answers beside ours."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

DURATIONS = [
    [0, 600, 700, 900, 400],
    [610, 0, 300, 800, 500],
    [720, 310, 0, 450, 600],
    [880, 790, 460, 0, 650],
    [420, 520, 610, 640, 0],
]
DOCUMENT: dict[str, Any] = {
    "vehicles": [{"id": number, "start_index": 0, "end_index": 0, "capacity": [5],
                  "time_window": [28800, 64800], "skills": [1, 7]} for number in (1, 2)],
    "jobs": [{"id": 10 + row, "location_index": row, "service": 300, "delivery": [2],
              "time_windows": [[30000 + 1000 * row, 40000 + 1000 * row]], "priority": 0,
              "skills": [7]} for row in (1, 2, 3)] + [{"id": 14, "location_index": 4,
                                                       "pickup": [3], "service": 60}],
    "matrices": {"car": {"durations": DURATIONS}},
}  # fmt: skip
SHIPMENTS: dict[str, Any] = {
    "vehicles": [{"id": 1, "start_index": 4, "capacity": [3]}],
    "shipments": [
        {
            "amount": [2],
            "pickup": {"id": 1, "location_index": 0, "service": 5},
            "delivery": {"id": 1, "location_index": 1},
        },
        {
            "amount": [1],
            "pickup": {"id": 2, "location_index": 2},
            "delivery": {"id": 2, "location_index": 3},
        },
    ],
    "matrix": DURATIONS,
}


def changed(document: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """A copy with one entry changed."""
    new = copy.deepcopy(document)
    held = new
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = to
    return new


def test_jobs() -> None:
    problem = Problem.from_vroom(DOCUMENT)
    assert problem.ids == ("depot", 11, 12, 13, 14)
    assert problem.demand.tolist() == [0, 2, 2, 2, -3]
    assert (problem.capacity, problem.max_routes, problem.load_rule) == (5, 2, "separate")
    # Times count from the first opening, and come back as they were given.
    assert problem.windows[0].tolist() == [0, 36000]
    assert problem.windows[1].tolist() == [2200, 12200]
    assert problem.windows[4].tolist() == [0, math.inf]
    assert problem.clock.moment(2200.0) == 31000
    assert problem.service.tolist() == [0, 300, 300, 300, 60]
    assert problem.distances.between(1, 2) == 300
    assert problem.variant_name == "ACVRPBTW"


def test_shipments_and_open_routes() -> None:
    problem = Problem.from_vroom(SHIPMENTS)
    assert problem.pairs == ((1, 2), (3, 4))
    assert problem.open_routes
    assert problem.demand.tolist() == [0, -2, 2, -1, 1]
    assert problem.ids == ("depot", "pickup 1", "delivery 1", "pickup 2", "delivery 2")
    assert problem.distances.between(0, 1) == 420  # from row 4 to row 0


def test_costs_speeds_and_limits() -> None:
    costs = [[10 * entry for entry in row] for row in DURATIONS]
    document = changed(DOCUMENT, "matrices", "car", "costs", to=costs)
    problem = Problem.from_vroom(document)
    assert problem.distances.between(1, 2) == 3000
    assert problem.durations.between(1, 2) == 300
    slow = copy.deepcopy(DOCUMENT)
    for vehicle in slow["vehicles"]:
        vehicle |= {"speed_factor": 0.5, "max_travel_time": 9000}
    problem = Problem.from_vroom(slow)
    assert problem.durations.between(1, 2) == 600
    assert problem.max_length == 9000


def test_places_without_a_matrix_need_a_speed() -> None:
    document = {
        "vehicles": [{"id": 1, "start": [2.35, 48.71], "end": [2.35, 48.71]}],
        "jobs": [{"id": 1, "location": [1.98, 48.7]}, {"id": 2, "location": [2.03, 48.61]}],
    }
    with pytest.raises(ProblemError, match="speed_kmh to travel as the crow flies"):
        Problem.from_vroom(document)
    problem = Problem.from_vroom(document, speed_kmh=50)
    assert problem.geographic
    metres = Problem.from_lonlat([(2.35, 48.71), (1.98, 48.7)]).distances.between(0, 1)
    assert problem.distances.between(0, 1) == pytest.approx(metres / (50 / 3.6))
    with pytest.raises(ProblemError, match=r"job 1, location: expected \[lon.*received none"):
        Problem.from_vroom(changed(document, "jobs", 1, "location", to=None), speed_kmh=50)
    with pytest.raises(ProblemError, match="job 0, location: expected a number, received 'east'"):
        Problem.from_vroom(changed(document, "jobs", 0, "location", 0, to="east"), speed_kmh=50)


@pytest.mark.parametrize(("document", "error", "part"), [
    (changed(DOCUMENT, "vehicles", to=[]), ProblemError, "vehicles: expected at least one"),
    (changed(DOCUMENT, "vehicles", to=[5]), ProblemError, "vehicles: expected a table"),
    (changed(DOCUMENT, "jobs", to=[]), ProblemError, "at least one job or shipment"),
    (changed(DOCUMENT, "vehicles", 0, "wings", to=2), UnsupportedError, "the key 'wings'"),
    (changed(DOCUMENT, "jobs", 0, "delivery", to=[1, 2]), ProblemError, "2 amounts, received"),
    (changed(DOCUMENT, "vehicles", 1, "profile", to="bike"), UnsupportedError, "same profile"),
    (changed(DOCUMENT, "vehicles", 0, "costs", to={"per_mile": 9}), UnsupportedError,
     "vehicle 0, costs: the key 'per_mile'"),
    (changed(DOCUMENT, "jobs", 0, "amount", to=[1]), ProblemError, "none beside delivery"),
    (changed(DOCUMENT, "matrix", to=[[0]]), ProblemError, "none beside matrices"),
    (changed(DOCUMENT, "vehicles", 1, "capacity", to=[-6]), ProblemError, "at least 0"),
    (changed(DOCUMENT, "vehicles", 1, "time_window", to=[3]), ProblemError, "start, end"),
    (changed(DOCUMENT, "jobs", 0, "delivery", to=[-1]), ProblemError, "at least 0"),
    (changed(DOCUMENT, "jobs", 0, "id", to="x"), ProblemError, "job 0, id: expected a whole"),
    (changed(DOCUMENT, "jobs", 0, "id", to=12), ProblemError, "an id of its own"),
    (changed(DOCUMENT, "jobs", 0, "location_index", to=9), ProblemError, "expected 0 to 4"),
    (changed(DOCUMENT, "jobs", 0, "location_index", to=None), ProblemError, "a row of the"),
    (changed(DOCUMENT, "jobs", 0, "time_windows", to=[[1]]), ProblemError, r"\[start, end\]"),
    (changed(DOCUMENT, "jobs", 0, to=7), ProblemError, "job 0: expected a table of keys"),
    (changed(DOCUMENT, "vehicles", 0, "skills", to=[[1]]), ProblemError, "whole numbers"),
    (changed(DOCUMENT, "matrices", to={"bike": {}}), ProblemError, "expected profile 'car'"),
    (changed(DOCUMENT, "matrices", "car", to={}), ProblemError, "expected durations"),
    (changed(DOCUMENT, "matrices", "car", "durations", to=[[0]]), ProblemError, "0 to 0"),
    (changed(DOCUMENT, "matrices", "car", "distances", to=[[0]]), ProblemError, "square"),
    (changed(SHIPMENTS, "shipments", 0, "pickup", to=None), ProblemError, "a table of keys"),
])  # fmt: skip
def test_refused(document: dict[str, Any], error: Any, part: str) -> None:
    with pytest.raises(error, match=part):
        Problem.from_vroom(document)


@pytest.mark.parametrize("document", [DOCUMENT, SHIPMENTS])
def test_vroom_itself_says_the_same(document: dict[str, Any], tmp_path: Path) -> None:
    """Its own plan of the same document: cost, loads and times agree, stop by stop."""
    vroom = pytest.importorskip("vroom", reason="an extra")
    path = tmp_path / "document.json"
    modern = {key: value for key, value in document.items() if key != "matrix"}
    modern.setdefault("matrices", {"car": {"durations": DURATIONS}})
    path.write_text(json.dumps(modern))
    answer = vroom.Input.from_json(str(path)).solve(exploration_level=5, nb_threads=1).to_dict()
    assert answer["summary"]["unassigned"] == 0

    problem = Problem.from_vroom(document)
    routes = []
    for route in answer["routes"]:
        named = [
            step["id"] if step["type"] == "job" else f"{step['type']} {step['id']}"
            for step in route["steps"]
            if step["type"] not in ("start", "end")
        ]
        stops = [problem.ids.index(name) for name in named]
        routes.append([0, *stops] if problem.open_routes else [0, *stops, 0])
    solution = Solution.judged(problem, routes)
    assert solution.feasible
    ours = solution.to_vroom()
    for key in ("cost", "duration", "service", "waiting_time", "routes", "delivery", "pickup"):
        assert ours["summary"][key] == answer["summary"][key], key
    for own, theirs in zip(ours["routes"], answer["routes"], strict=True):
        for step, other in zip(own["steps"], theirs["steps"], strict=True):
            for key in ("type", "arrival", "duration", "waiting_time", "service", "load"):
                assert step[key] == other[key], key


MIXED: dict[str, Any] = {
    "vehicles": [
        {"id": 1, "start_index": 0, "end_index": 0, "capacity": [4, 9], "skills": [7]},
        {"id": 2, "start_index": 0, "end_index": 0, "capacity": [4, 9], "skills": [7]},
        {
            "id": 3,
            "description": "lorry",
            "start_index": 4,
            "end_index": 0,
            "capacity": [8, 0],
            "costs": {"fixed": 250},
            "time_window": [100, 5000],
            "max_tasks": 2,
        },
        {"id": 4, "start_index": 4, "capacity": [2, 2], "max_travel_time": 2000},
    ],
    "jobs": [
        {"id": 11, "location_index": 1, "delivery": [2, 1], "service": 50},
        {"id": 12, "location_index": 2, "delivery": [3, 0], "skills": [7]},
        {"id": 13, "location_index": 3, "delivery": [2, 0], "time_windows": [[200, 2000]]},
        {"id": 14, "location_index": 2, "delivery": [2, 0]},
    ],
    "matrices": {"car": {"durations": DURATIONS}},
}


def test_a_mixed_fleet() -> None:
    problem = Problem.from_vroom(MIXED)
    assert problem.depots == (0, 1)
    assert problem.ids == ("depot 0", "depot 1", 11, 12, 13, 14)
    assert problem.distances.between(1, 2) == 520  # from row 4 to row 1
    assert problem.loads[2].tolist() == [2, 1]
    small, lorry, last = problem.fleet
    assert (small.name, small.count, small.capacities) == ("1, 2", 2, (4, 9))
    assert (lorry.name, lorry.start, lorry.end, lorry.fixed_cost) == ("lorry", 1, 0, 250)
    # It has no skill for 12 and no room for the second kind, of which 11 has some.
    assert lorry.forbidden == {2, 3}
    assert (lorry.capacities, lorry.max_stops) == ((8, math.inf), 2)
    assert (lorry.leaves_from, lorry.back_by) == (0, 4900)
    assert problem.windows[4].tolist() == [100, 1900]
    assert (last.name, last.end, last.max_length, last.forbidden) == ("4", None, 2000, {3})


def test_answers_name_vehicles_and_tasks_as_the_document_does() -> None:
    """By hand: the lorry takes 13 and 14, vehicles 1 and 2 the others, in the order of the plan."""
    problem = Problem.from_vroom(MIXED)
    assert problem.vehicle_ids == {"1, 2": (1, 2), "lorry": (3,), "4": (4,)}
    routes = [[1, 4, 5, 0], [0, 2, 0], [0, 3, 0]]
    solution = Solution.judged(problem, routes, ["lorry", "1, 2", "1, 2"])
    assert solution.feasible
    answer = solution.to_vroom()
    assert [route["vehicle"] for route in answer["routes"]] == [3, 1, 2]
    assert [route.get("description") for route in answer["routes"]] == ["lorry", None, None]
    alike = Problem.from_vroom(changed(DOCUMENT, "vehicles", 0, "id", to=40))
    answer = Solution.judged(alike, [[0, 1, 2, 0], [0, 3, 4, 0]]).to_vroom()
    assert [route["vehicle"] for route in answer["routes"]] == [40, 2]
    # More routes than vehicles: nobody is there to drive the third.
    short = Solution.judged(alike, [[0, 1, 0], [0, 2, 0], [0, 3, 0]]).to_vroom()
    assert [route["vehicle"] for route in short["routes"]] == [40, 2, None]
    assert [(job["id"], job["type"]) for job in short["unassigned"]] == [(14, "job")]


def test_shipments_keep_their_numbers() -> None:
    problem = Problem.from_vroom(SHIPMENTS)
    solution = Solution.judged(problem, [[0, 1, 2]])
    answer = solution.to_vroom()
    steps = [(step["type"], step.get("id")) for step in answer["routes"][0]["steps"]]
    assert steps == [("start", None), ("pickup", 1), ("delivery", 1), ("end", None)]
    left_out = [(task["type"], task["id"]) for task in answer["unassigned"]]
    assert left_out == [("pickup", 2), ("delivery", 2)]


def test_other_vehicles_have_no_ids_of_the_document() -> None:
    own = Problem.from_vroom(MIXED, vehicles=[{"name": "any", "start": "depot 0", "count": 2}])
    assert own.vehicle_ids is None
    later = Problem.from_vroom(MIXED).replace(vehicles=[{"name": "any", "start": "depot 0"}])
    answer = Solution.judged(later, [[0, 2, 0], [0, 3, 4, 5, 0]]).to_vroom()
    assert [route["vehicle"] for route in answer["routes"]] == [0, 1]
    for odd, part in ((5, "names of types"), ({"": 3}, "a list of ids")):
        with pytest.raises(ProblemError, match=part):
            Solution.judged(later.replace(vehicles=None, vehicle_ids=odd), [[0, 2, 0]]).to_vroom()
    with pytest.raises(ProblemError, match="vehicle_ids: expected names of types"):
        Problem.from_vroom(MIXED, vehicle_ids=[1, 2])
    with pytest.raises(ProblemError, match="vehicle 1, id: expected a whole number"):
        Problem.from_vroom(changed(DOCUMENT, "vehicles", 1, "id", to="two"))
    taken = DOCUMENT["vehicles"][0]["id"]
    words = f"vehicle 1, id: expected an id of its own, vehicle 0 has the same, received {taken}$"
    with pytest.raises(ProblemError, match=words):
        Problem.from_vroom(changed(DOCUMENT, "vehicles", 1, "id", to=str(taken)))


@pytest.mark.parametrize("document", [DOCUMENT, MIXED, SHIPMENTS])
@pytest.mark.parametrize(("unit", "seconds"), [("min", 60), ("h", 3600)])
def test_seconds_become_the_unit_asked_for(document, unit, seconds):
    """The same problem in other numbers; its answers are in seconds again."""
    plain, other = Problem.from_vroom(document), Problem.from_vroom(document, time_unit=unit)
    assert other.time_unit == unit
    assert other.durations.matrix() * seconds == pytest.approx(plain.durations.matrix())
    assert other.service * seconds == pytest.approx(plain.service)
    assert other.windows * seconds == pytest.approx(plain.windows)
    for one, their in zip(plain.fleet, other.fleet, strict=True):
        for key in ("fixed_cost", "max_length", "leaves_from", "back_by"):
            assert getattr(their, key) * seconds == pytest.approx(getattr(one, key)), key
    nodes = [node for node in plain.customers if node not in plain.fleet[0].forbidden]
    routes = [[plain.fleet[0].start, *nodes, *([] if plain.open_routes else [0])]]
    driven_by = None if plain.vehicles is None else [0]
    answers = [Solution.judged(p, routes, driven_by).to_vroom() for p in (plain, other)]
    for key in ("duration", "service", "waiting_time"):
        assert answers[1]["summary"][key] == pytest.approx(answers[0]["summary"][key]), key
    for ours, theirs in zip(*(answer["routes"][0]["steps"] for answer in answers), strict=True):
        for key in ("arrival", "duration", "waiting_time", "service"):
            assert theirs[key] == pytest.approx(ours[key]), key


def test_costs_of_their_own_are_no_times() -> None:
    costs = [[0 if i == j else 7 for j in range(5)] for i in range(5)]
    document = changed(DOCUMENT, "matrices", "car", "costs", to=costs)
    document["vehicles"][1]["costs"] = {"fixed": 90}
    problem = Problem.from_vroom(document, time_unit="min")
    assert problem.distances.between(0, 1) == 7
    assert problem.durations.between(0, 1) == 10
    assert [terms.fixed_cost for terms in problem.fleet] == [0, 90]
