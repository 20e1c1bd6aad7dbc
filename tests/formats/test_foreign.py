"""JSON of other programs in files, and names in our own."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import save

from spacevrp.formats import FormatWarning, read, write
from spacevrp.problems.clock import Clock
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.problem import Problem

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
VROOM, ORTOOLS = (
    json.loads((CORPUS / f"{name}.json").read_text()) for name in ("vroom", "ortools")
)
OWN: dict[str, Any] = {
    "locations": [[0, 0], [3, 0], [3, 4]],
    "durations": [[0, 1, 2], [1, 0, 2], [2, 2, 0]],
    "depots": ["hub"],
    "ids": ["hub", 7, "x"],
    "windows": [["08:00", None], [None, "09:00"], [None, None]],
    "clock": None,
    "places": [[13, 52], [13.1, 52], [13.2, 52]],
    "geographic": True,
    "time_unit": "min",
}


@pytest.mark.parametrize(
    ("name", "size", "variant"),
    [
        ("vroom", 4, "ACVRPBTW"),
        ("ortools", 4, "CVRPTW"),
        ("osrm", 3, "asymmetric"),
        ("valhalla", 3, "asymmetric"),
        ("google", 3, "asymmetric"),
        ("own", 3, "time_windows"),
    ],
)
def test_the_content_tells_whose_it_is(tmp_path, name, size, variant):
    held = OWN if name == "own" else (CORPUS / f"{name}.json").read_text()
    problem = read(save(tmp_path, held, "case.json"))
    assert problem.size == size
    assert problem.name == "case"
    assert variant in problem.variant_name


def test_a_foreign_document_read_as_a_variant(tmp_path: Path) -> None:
    path = save(tmp_path, {key: ORTOOLS[key] for key in ORTOOLS if key != "time_windows"})
    problem = read(path, variant="AOCVRP")
    assert problem.open_routes
    assert problem.max_routes == 2
    with pytest.raises(UnsupportedError, match="rounding 'up' applies to coordinates"):
        read(path, rounding="up")


def test_errors_name_the_file(tmp_path: Path) -> None:
    for change, error, part in [
        ({"depot": 9}, FormatError, "depots: expected 0 to 3, received 9"),
        ({"fleet": [5, 6]}, UnsupportedError, "the key 'fleet' is not known"),
    ]:
        path = save(tmp_path, {**ORTOOLS, **change})
        with pytest.raises(error, match=rf"case\.json: {part}|case\.json: .*{part}"):
            read(path)


# ---------------------------------------------------------------------------- names in our own JSON


@pytest.mark.parametrize(
    "features",
    [
        {"ids": ["a", 5, "c"]},
        {"places": [(13, 52), (13.5, 52), (14, 52.25)], "geographic": True},
        {"windows": [("08:00", "18:00"), (None, "09:30"), (None, None)], "time_unit": "min"},
        {"windows": [(datetime(2026, 3, 2, 8, tzinfo=UTC), None)] * 3},
        {"windows": [("2026-03-02T08:00", None)] * 3, "service": [0, 1, 2]},
        {"windows": [(0, 9), (1, 9), (2, 9)], "clock": Clock(1.7e9, form="number")},
    ],
)
def test_names_and_clocks_survive(tmp_path: Path, features: dict[str, Any]) -> None:
    problem = Problem.from_matrix(np.ones((3, 3)), **features)
    write(problem, tmp_path / "case.json")
    assert read(tmp_path / "case.json") == problem


def test_formats_without_names_say_that_they_leave_them_out(tmp_path: Path) -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (3, 4)], demand=[0, 1], capacity=2, ids=["a", "b"], variant="CVRP"
    )
    for name in ("case.vrp", "case.npz"):
        with pytest.warns(FormatWarning, match="ids left out: the format has no place for them"):
            write(problem, tmp_path / name)
    odd = problem.replace(ids=[(1, 2), "b"])
    with pytest.raises(UnsupportedError, match=r"case\.json: ids, node 0: JSON holds texts"):
        write(odd, tmp_path / "case.json")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"ids": ["a", 1.5, "c"]}, "ids, node 1: expected a whole number"),
        ({"ids": ["a", "b"]}, "ids: expected 3 ids"),
        ({"windows": [["noon", None]] * 3}, "windows, node 0: expected a number"),
        ({"depots": [0]}, "depots: expected one of the ids (some are numbers"),
        ({"depots": ["x", 8]}, "received 8"),
        ({"vehicle_ids": {"": [1.5]}}, "vehicle_ids: expected a list of ids"),
        ({"vehicle_ids": [1]}, "vehicle_ids: expected names of types of vehicles"),
        ({"windows": [["08:00", 5]] * 3}, "windows, node 0: expected a date with a time"),
        ({"clock": 5}, "clock: expected origin, unit and form"),
        ({"clock": {"origin": "yesterday"}}, "clock: Invalid isoformat"),
        ({"clock": {"origin": 5}}, "clock: clock: expected a datetime"),
        ({"clock": {"start": 5}}, "unknown key 'start'"),
        ({"geographic": "yes"}, "geographic: expected True or False"),
        ({"time_unit": "days"}, "time_unit: expected one of"),
    ],
)
def test_wrong_names(tmp_path: Path, change: dict[str, Any], part: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(save(tmp_path, {**OWN, **change}))
    assert part in str(caught.value)


def test_a_unit_of_time_for_files_without_one(tmp_path: Path) -> None:
    """Seconds of other programs become it, numbers of a table are in it, ours say their own."""
    minutes = read(save(tmp_path, VROOM), time_unit="min")
    assert minutes.durations.between(0, 1) == pytest.approx(100 / 60)
    assert minutes.service[1] == pytest.approx(30 / 60)
    plain = read(save(tmp_path, ORTOOLS), time_unit="h")
    assert (plain.durations.between(0, 1), plain.time_unit) == (1, "h")
    with pytest.raises(UnsupportedError, match='write "time_unit" into the file'):
        read(save(tmp_path, OWN), time_unit="min")


def test_vehicles_keep_their_ids_in_our_own_file(tmp_path: Path) -> None:
    """What VROOM stated, kept as JSON of ours, is the same problem with the same names."""
    document = copy.deepcopy(VROOM)
    document["vehicles"].append({**VROOM["vehicles"][0], "id": 8, "capacity": [20]})
    for stated in (VROOM, document):
        problem = read(save(tmp_path, stated))
        assert problem.vehicle_ids is not None
        write(problem, tmp_path / "own.json")
        again = read(tmp_path / "own.json")
        assert again == problem
        assert again.vehicle_ids == problem.vehicle_ids
