"""VROOM's API field by field: by hand, by VROOM's own plans, and by its own check of ours."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vroom_examples import DEPOT, EXAMPLES

from spacevrp import native
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

# The depot and three places on a line, 100 s apart.
LINE = [[100 * abs(i - j) for j in range(4)] for i in range(4)]
VEHICLE: dict[str, Any] = {"id": 1, "start_index": 0, "end_index": 0, "capacity": [4]}


def document(*, vehicle: dict[str, Any] | None = None, **jobs: dict[str, Any]) -> dict[str, Any]:
    """Jobs 1 to 3 at places 1 to 3, each with one unit, changed by ``job1`` and so on."""
    listed = [
        {"id": k, "location_index": k, "delivery": [1], "service": 10, **jobs.get(f"job{k}", {})}
        for k in (1, 2, 3)
    ]
    return {
        "vehicles": [{**VEHICLE, **(vehicle or {})}],
        "jobs": listed,
        "matrices": {"car": {"durations": LINE}},
    }


def judged(held: dict[str, Any], *routes: list[int], vehicles: Any = None) -> Solution:
    problem = Problem.from_vroom(held)
    kinds = vehicles or (None if problem.vehicles is None else [0] * len(routes))
    return Solution.judged(problem, routes, kinds)


def codes(solution: Solution) -> list[str]:
    return [one.code for one in solution.violations]


# ------------------------------------------------------------------------------------------ by hand


def test_breaks() -> None:
    pause = {"id": 7, "service": 50, "time_windows": [[120, 130]]}
    held = document(vehicle={"time_window": [0, 700], "breaks": [pause]})
    plan = judged(held, [0, 1, 2, 3, 0])
    assert plan.feasible
    (route,) = plan.to_vroom()["routes"]
    told = [(step["type"], step.get("id"), step["arrival"]) for step in route["steps"]]
    # It drives on at 110, pauses from 120 to 170 and reaches job 2 as 210 would have been, later.
    assert told[2:4] == [("break", 7, 120.0), ("job", 2, 260.0)]
    assert route["steps"][2]["service"] == 50
    late = document(vehicle={"time_window": [0, 630], "breaks": [pause]})
    assert codes(judged(late, [0, 1, 2, 3, 0]))  # 600 of travel, 30 of service, 50 of rest


@pytest.mark.parametrize("begin", [0, 40, 120, 240, 450, 640, 900])
@pytest.mark.parametrize("unit", ["s", "min"])
def test_steps_account_for_all_the_time_of_a_route(begin: int, unit: str) -> None:
    """Whenever the break is: before a stop, on the way, after waiting, when the route is over."""
    pause = {"id": 7, "service": 60, "time_windows": [[begin, begin + 30]]}
    held = document(vehicle={"time_window": [0, 2000], "breaks": [pause]})
    held["jobs"][1]["time_windows"] = [[300, 600]]
    problem = Problem.from_vroom(held, time_unit=unit)
    (route,) = Solution.judged(problem, [[0, 1, 2, 3, 0]], [0]).to_vroom()["routes"]
    steps = route["steps"]
    assert [step["type"] for step in steps].count("break") == 1
    for before, after in pairwise(steps):
        spent = before["waiting_time"] + before["setup"] + before["service"]
        spent += after["duration"] - before["duration"]
        if begin or before["type"] != "break":  # after a break at home it may leave later
            assert after["arrival"] == pytest.approx(before["arrival"] + spent)
    assert route["service"] == pytest.approx(sum(step["service"] for step in steps))
    assert route["waiting_time"] == pytest.approx(sum(step["waiting_time"] for step in steps))
    assert route["duration"] == pytest.approx(steps[-1]["duration"])


def test_windows_of_a_break_that_overlap_are_one() -> None:
    pause = {"id": 7, "service": 50, "time_windows": [[300, 900], [700, 950], [100, 200]]}
    (kind,) = Problem.from_vroom(document(vehicle={"breaks": [pause]})).fleet
    assert kind.breaks[0].windows == ((0, 100), (200, 850))


def test_max_tasks_counts_both_tasks_of_a_shipment() -> None:
    assert codes(judged(document(vehicle={"max_tasks": 2}), [0, 1, 2, 3, 0])) == ["stops"]
    held = document(vehicle={"max_tasks": 4})
    held["shipments"] = [
        {
            "amount": [1],
            "pickup": {"id": 1, "location_index": 1},
            "delivery": {"id": 1, "location_index": 2},
        }
    ]
    assert codes(judged(held, [0, 1, 2, 3, 4, 5, 0])) == ["stops"]


def test_several_windows() -> None:
    held = document(job1={"time_windows": [[0, 50], [150, 160], [400, 500]]})
    plan = judged(held, [0, 1, 2, 3, 0])
    assert (plan.plan.routes[0].stops[1].waiting, plan.feasible) == (0, True)  # it leaves at 50
    late = judged(held, [0, 3, 2, 1, 0])
    # There at 300 + 10 + 100 + 10 + 100: too late for all three.
    assert codes(late) == ["window"]
    waits = judged(document(job1={"time_windows": [[0, 50], [530, 560]]}), [0, 2, 3, 1, 0])
    assert waits.feasible
    assert waits.plan.routes[0].stops[-1].reached == 640  # there at 520, it begins at 530


def test_jobs_beside_shipments_and_both_ways_at_one_stop() -> None:
    held = document(job1={"pickup": [2]})
    held["shipments"] = [
        {
            "amount": [2],
            "pickup": {"id": 1, "location_index": 2},
            "delivery": {"id": 1, "location_index": 3},
        }
    ]
    problem = Problem.from_vroom(held)
    assert problem.pairs == ((4, 5),)
    assert problem.pickups[:, 0].tolist() == [0, 2, 0, 0, 0, 0]
    # 3 leave; 4 after job 1; 3 after job 2; 5 with the shipment: too much. Jobs first: 2 + 2.
    assert codes(judged(held, [0, 1, 2, 4, 3, 5, 0])) == ["capacity"]
    assert judged(held, [0, 1, 2, 3, 4, 5, 0]).feasible
    answer = judged(held, [0, 1, 2, 3, 4, 5, 0]).to_vroom()
    assert (answer["summary"]["delivery"], answer["summary"]["pickup"]) == ([5], [4])


def test_priorities_decide_who_is_left_out() -> None:
    held = document(vehicle={"capacity": [2]}, job1={"priority": 5}, job3={"priority": 50})
    problem = Problem.from_vroom(held)
    assert problem.priority is not None
    assert problem.priority.tolist() == [0, 5, 0, 50]
    alike = document(job1={"priority": 5}, job2={"priority": 5}, job3={"priority": 5})
    assert Problem.from_vroom(alike).priority is None
    answer = judged(held, [0, 1, 3, 0]).to_vroom()
    assert answer["summary"]["priority"] == 55
    for wrong in (101, -1, 2.5):
        with pytest.raises(ProblemError, match="job 0, priority"):
            Problem.from_vroom(document(job1={"priority": wrong}))


def test_speed_factors_and_costs_by_the_hour() -> None:
    held = document(vehicle={"speed_factor": 2})
    held["vehicles"].append({**VEHICLE, "id": 2, "costs": {"fixed": 7, "per_hour": 1800}})
    held["vehicles"].append({**VEHICLE, "id": 3, "max_travel_time": 250, "speed_factor": 4})
    plan = judged(held, [0, 1, 0], [0, 2, 0], [0, 3, 0], vehicles=[0, 1, 2])
    # 200 s at twice the speed; 400 s at half a unit and 7; 600 s at four times the speed.
    assert plan.feasible
    assert plan.cost == pytest.approx(100 + (7 + 200) + 150)
    assert plan.to_vroom()["summary"]["duration"] == pytest.approx(100 + 400 + 150)
    held["vehicles"][2]["max_travel_time"] = 149
    assert codes(judged(held, [0, 1, 0], [0, 2, 0], [0, 3, 0], vehicles=[0, 1, 2])) == ["length"]


def test_costs_by_the_kilometre() -> None:
    held = document(vehicle={"costs": {"per_hour": 3600, "per_km": 500}})
    held["matrices"]["car"]["distances"] = [[10 * one for one in row] for row in LINE]
    assert judged(held, [0, 1, 2, 3, 0]).cost == 600 + 0.5 * 6000
    two = copy.deepcopy(held)
    two["vehicles"].append({**VEHICLE, "id": 2})
    with pytest.raises(UnsupportedError, match="per_km: of vehicles that differ"):
        Problem.from_vroom(two)
    with pytest.raises(ProblemError, match="distances beside per_km"):
        Problem.from_vroom(document(vehicle={"costs": {"per_km": 1}}))


def test_setup_and_service_by_type() -> None:
    held = document(job1={"setup": 30}, job2={"setup": 40, "location_index": 1})
    held["vehicles"][0]["type"] = "truck"
    held["jobs"][2]["service_per_type"] = {"truck": 25, "bike": 90}
    plan = judged(held, [0, 1, 2, 3, 0])
    (route,) = plan.to_vroom()["routes"]
    # Jobs 1 and 2 are at the same place: one setup. Services are 10, 10 and the truck's 25.
    assert (route["setup"], route["service"]) == (30, 45)
    assert [step["setup"] for step in route["steps"]] == [0, 30, 0, 0, 0]
    assert route["steps"][-1]["arrival"] - route["steps"][0]["arrival"] == 600 + 30 + 45


def test_times_are_those_of_the_unit_that_is_asked_for() -> None:
    pause = {"id": 1, "service": 60, "time_windows": [[1000, 1120], [1300, 1360]]}
    held = document(
        vehicle={"time_window": [940, 9000], "breaks": [pause], "type": "a"},
        job1={"setup": 30, "service_per_type": {"a": 90}},
        job2={"time_windows": [[960, 1000], [1200, 3000]]},
    )
    problem = Problem.from_vroom(held, time_unit="min")
    assert problem.setup is not None
    assert (problem.setup[1], problem.closed) == (0.5, ((2, 1.0, pytest.approx(260 / 60)),))
    (kind,) = problem.fleet
    assert (kind.service, kind.leaves_from) == (((1, 1.5),), 0)
    (rest,) = kind.breaks
    assert rest.duration == 1
    assert np.array(rest.windows) == pytest.approx(np.array([[1, 3], [6, 7]]))


@pytest.mark.parametrize(("held", "error", "words"), [
    (document(vehicle={"max_distance": 5}), UnsupportedError, "max_distance: not modelled"),
    (document(vehicle={"start_index": None}), UnsupportedError, "start: vehicles without one"),
    (document(vehicle={"costs": {"per_task_hour": 5}}), UnsupportedError,
     "costs, per_task_hour: not modelled"),
    (document(job1={"setup_per_type": {"a": 5}}), UnsupportedError, "setup_per_type, 'a'"),
    (document(vehicle={"breaks": [{"id": 1, "max_load": [1]}]}), UnsupportedError,
     "break 0, max_load: not modelled"),
    (document(vehicle={"time_window": [0, 9], "breaks": [{"id": 1, "service": 10}]}), ProblemError,
     "break 0, time_windows: expected one within the shift"),
    (document(vehicle={"breaks": [{}]}), ProblemError, "break 0, id: expected a whole number"),
    (document(vehicle={"breaks": 5}), ProblemError, "vehicle 0, breaks: expected a list"),
    (document(job1={"time_windows": [[5, 9], [7, 10]]}), ProblemError,
     r"job 0, time_windows: expected in order, apart, received \[\[5.0, 9.0\], \[7.0, 10.0\]\]$"),
    (document(job2={"time_windows": [[5, None]]}), ProblemError,
     "job 1, time_windows: expected a number, received None"),
    (document(vehicle={"speed_factor": -1}), ProblemError, "speed_factor: expected more than"),
    (document(vehicle={"max_tasks": 1.5}), ProblemError, "max_tasks: expected a whole number"),
    (document(job1={"service_per_type": 5}), ProblemError, "expected a table of keys"),
    (document(job1={"wings": 5}), UnsupportedError, "the key 'wings' is not known"),
])  # fmt: skip
def test_what_is_refused_is_named(held: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        Problem.from_vroom(held)


# -------------------------------------------------------------------------- VROOM's own examples


def with_matrix(held: dict[str, Any]) -> dict[str, Any]:
    """The document with whole seconds as the crow flies in place of a routing engine's."""
    held = copy.deepcopy(held)
    if "matrices" in held:
        return held
    steps = [step for one in held.get("shipments", ()) for step in (one["pickup"], one["delivery"])]
    stops = [*held["jobs"], *steps]
    problem = Problem.from_lonlat([DEPOT, *(stop["location"] for stop in stops)], speed_kmh=90)
    for vehicle in held["vehicles"]:
        vehicle |= {"start_index": 0, "end_index": 0}
    for row, stop in enumerate(stops, start=1):
        stop["location_index"] = row
    durations = np.rint(problem.durations.matrix()).astype(int).tolist()
    return {**held, "matrices": {"car": {"durations": durations}}}


def by_vroom(folder: Path, held: dict[str, Any], *, check: bool) -> dict[str, Any]:
    """What VROOM makes of a document: its plan, or what it says of the steps there."""
    vroom = pytest.importorskip("vroom", reason="an extra")
    held = copy.deepcopy(held)
    for entry in (*held["vehicles"], *held["jobs"]):
        entry["id"] = int(entry["id"])  # VROOM itself takes numbers only
        for step in entry.get("steps", ()):
            if "id" in step:
                step["id"] = int(step["id"])
    path = folder / "document.json"
    path.write_text(json.dumps(held), encoding="utf-8")
    asked = vroom.Input.from_json(str(path))
    answer = asked.check() if check else asked.solve(exploration_level=5, nb_threads=1)
    found: dict[str, Any] = answer.to_dict()
    return found


@pytest.mark.filterwarnings("ignore::spacevrp.problems.warning.IgnoredWarning")
@pytest.mark.parametrize("name", EXAMPLES)
def test_vroom_accepts_our_plans_of_its_examples(name: str, tmp_path: Path) -> None:
    """Its own plan mode finds no violation in them, and the same cost; it plans no better."""
    if not native.available():
        pytest.skip(native.MISSING)
    from spacevrp.solver import Solver

    held = with_matrix(EXAMPLES[name])
    plan = Solver(device="cpu").solve(Problem.from_vroom(held), seed=1, partial=True)
    ours = plan.to_vroom()
    driven = {route["vehicle"]: route["steps"] for route in ours["routes"]}
    for vehicle in held["vehicles"]:
        vehicle.pop("steps", None)
    theirs = by_vroom(tmp_path, held, check=False)
    assert ours["summary"]["unassigned"] <= theirs["summary"]["unassigned"]
    if ours["summary"]["unassigned"] == theirs["summary"]["unassigned"] == 0:
        assert ours["summary"]["cost"] <= theirs["summary"]["cost"]
    for vehicle in held["vehicles"]:
        if int(vehicle["id"]) in driven:
            vehicle["steps"] = [
                {key: step[key] for key in ("type", "id") if key in step}
                for step in driven[int(vehicle["id"])]
            ]
    checked = by_vroom(tmp_path, held, check=True)
    assert checked["summary"]["violations"] == []
    assert checked["summary"]["cost"] == ours["summary"]["cost"]
    assert checked["summary"]["routes"] == ours["summary"]["routes"]
