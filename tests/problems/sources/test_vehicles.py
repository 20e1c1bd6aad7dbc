"""Tables of vehicles beside tables of stops: frames, CSV, workbooks; by hand-computed plans."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp.cli.main import main
from spacevrp.formats import FormatWarning, csv_table, read, read_vehicles
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources.frame import ColumnWarning
from spacevrp.problems.sources.vehicles import vehicles_from_table

# The depot in a corner of a rectangle of 3 by 4.
STOPS: dict[str, list[Any]] = {
    "id": ["hub", "a", "b", "c"],
    "x": [0, 3, 3, 0],
    "y": [0, 0, 4, 4],
    "demand": [0, 2, 2, 2],
}
VANS: dict[str, list[Any]] = {
    "Name": ["van", "truck"],
    "count": [2.0, 1.0],
    "capacity": [2, 6],
    "fixed_cost": [None, 5],
    "unit distance cost": [1, 2],
    "open": [None, 1],
    "close": [30, None],
    "max_stops": [None, 2.0],
    "forbidden": ["b c", None],
    "break": [None, 3],
    "break_start": [None, 4],
    "break_end": [None, 9],
}


def test_a_table_of_vehicles_says_what_each_type_is() -> None:
    van, truck = Problem.from_frame(STOPS, vehicles=VANS).fleet
    assert (van.name, van.count, van.capacities, van.fixed_cost) == ("van", 2, (2,), 0)
    assert (van.forbidden, van.leaves_from, van.back_by) == (frozenset({2, 3}), -np.inf, 30)
    assert (truck.fixed_cost, truck.unit_distance_cost, truck.max_stops) == (5, 2, 2)
    assert truck.leaves_from == 1
    (pause,) = truck.breaks
    assert (pause.duration, pause.windows) == (3, ((4, 9),))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"capacity": [2, -1]}, "vehicles, type 1 .truck., capacity: expected"),
        ({"count": [2, 1.5]}, "vehicles, type 1 .truck., count: expected a whole number"),
        ({"capacity": [2]}, "vehicles, 'capacity': expected 2 rows, received 1"),
        ({"break": [None, None]}, "type 1, break: expected a duration beside its window"),
        ({"forbidden": ["b z", None]}, "type 0 .van., forbidden"),
        ({"start": ["a", None]}, "type 0 .van., start: expected one of the depots"),
        ({"id": ["x", "y"]}, "vehicles, name: expected one column, received 'Name' and 'id'"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        Problem.from_frame(STOPS, vehicles={**VANS, **change})


LOADS: dict[str, list[Any]] = {
    **{name: STOPS[name] for name in ("id", "x", "y")},
    **{"demand_kg": [0, 20, 8, 2], "Demand m3": [0, 2, 5, 2]},
}
SIZES: dict[str, list[Any]] = {
    "name": ["van", "pod"],
    "capacity_m3": [9, 5],
    "Capacity KG": [30, 8],
}


def test_capacities_are_of_the_loads_that_their_names_say() -> None:
    """In the order of the columns van would carry 9 kg, and pod 8 m3 of the 5 that it has."""
    van, pod = Problem.from_frame(LOADS, vehicles=SIZES).fleet
    assert (van.capacities, pod.capacities) == ((30, 9), (8, 5))
    own = {"x": STOPS["x"], "y": STOPS["y"], "kg": [0, 20, 8, 2], "m3": [0, 2, 5, 2]}
    for kinds, capacities in ((["kg", "m3"], (30, 9)), (["m3", "kg"], (9, 30))):
        for field in ("demand", "delivery"):
            made = Problem.from_frame(own, columns={field: kinds}, vehicles=SIZES)
            assert made.fleet[0].capacities == capacities
    # An empty cell is no limit; a row of them says nothing, and what the problem says counts.
    gaps = {"name": ["a", "b"], "capacity_m3": [None, None], "capacity_kg": [7, None]}
    limited = {**LOADS, "capacity_kg": [30] * 4, "capacity_m3": [9] * 4}
    some, none = Problem.from_frame({**limited, "demand_kg": [0, 1, 1, 1]}, vehicles=gaps).fleet
    assert (some.capacities, none.capacities) == ((7, np.inf), (30, 9))
    # Elsewhere kinds have no names.
    loads = [[0, 0], [20, 2], [8, 5], [2, 2]]
    bare = {name: STOPS[name] for name in ("x", "y")}
    in_order = {"capacity_kg": [30], "capacity_m3": [9]}
    assert Problem.from_frame(bare, demand=loads, vehicles=in_order).fleet[0].capacities == (30, 9)


@pytest.mark.parametrize(
    ("stops", "vehicles", "words"),
    [
        (LOADS, {"capacity_kg": [30], "capacity_l": [9]},
         r"the stops \('demand_kg', 'Demand m3'\), received 'capacity_kg', 'capacity_l'"),
        (LOADS, {"capacity_kg": [30]}, "'Demand m3'.*, received 'capacity_kg'$"),
        (STOPS, {"capacity_kg": [30]}, r"of the stops \('demand'\), received 'capacity_kg'"),
        (LOADS, {"capacity_kg": [30], "capacity": [9]},
         "one column, or one a kind of load, received 'capacity' and 'capacity_kg'"),
        (LOADS, {"capacity_kg": [30], "Capacity kg": [9]}, "capacity_kg: expected one column"),
    ],
)  # fmt: skip
def test_a_capacity_without_its_load_is_refused(stops: Any, vehicles: Any, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        Problem.from_frame(stops, vehicles=vehicles)


def test_an_unknown_column_is_left_out_with_a_warning() -> None:
    with pytest.warns(ColumnWarning, match="columns left out: 'driver'"):
        assert vehicles_from_table({"name": ["a"], "driver": ["Eve"]}) == [{"name": "a"}]


def test_frames_of_pandas_and_polars_are_as_good() -> None:
    expected = Problem.from_frame(STOPS, vehicles=VANS)
    for library in ("pandas", "polars"):
        module = pytest.importorskip(library, reason="not installed")
        made = Problem.from_frame(module.DataFrame(STOPS), vehicles=module.DataFrame(VANS))
        assert made == expected


# ------------------------------------------------------------------------------------------- files


def save(folder: Path, name: str, columns: dict[str, list[Any]]) -> Path:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    text = "\n".join(",".join("" if c is None else str(c) for c in row) for row in rows)
    (folder / name).write_text(text + "\n", encoding="utf-8")
    return folder / name


def test_a_command_takes_both_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stops, vans = save(tmp_path, "stops.csv", STOPS), save(tmp_path, "vans.csv", VANS)
    assert read(stops, vehicles=vans) == Problem.from_frame(STOPS, vehicles=VANS)
    out = tmp_path / "out.json"
    assert main(["convert", str(stops), str(out), "--vehicles", str(vans)]) == 0
    assert read(out) == read(stops, vehicles=vans)
    # Vehicles may also be given to an instance of another format.
    bare = tmp_path / "bare.json"
    assert main(["convert", str(stops), str(bare)]) == 0
    assert read(bare, vehicles=vans) == read(stops, vehicles=vans)
    capsys.readouterr()
    wrong = save(tmp_path, "wrong.csv", {**VANS, "capacity": [2, "many"]})
    assert main(["solve", str(stops), "--vehicles", str(wrong)]) == 2
    assert "capacity: expected" in capsys.readouterr().err
    empty = tmp_path / "empty.csv"
    empty.write_text("name,count\n", encoding="utf-8")
    with pytest.raises(FormatError, match="expected rows below the names"):
        read(stops, vehicles=empty)
    odd = save(tmp_path, "odd.csv", {"name": ["a"], "driver": ["Eve"], "capacity": [6]})
    with pytest.warns(FormatWarning, match="columns left out: 'driver'"):
        assert read_vehicles(odd) == [{"name": "a", "capacity": 6.0}]


@pytest.mark.parametrize(("text", "words"), [
    ("", "expected a table of vehicles, received an empty file"),
    ("name\nvan\n", "line 1: expected names of columns .* as name,count,capacity, received name$"),
    ("name,count\nvan,2\n\nbike,x\n", "line 4: vehicles, type 1 .bike., count: expected a whole"),
    ("name,capacity\nvan,2\nbike,-5\n", "line 3: vehicles, type 1 .bike., capacity: expected"),
    ("name;capacity\nvan;1.000,5\n", "line 2: vehicles, type 0 .van., capacity: expected a num"),
    ("name,forbidden\nvan,\nbike,zz\n", "line 3: vehicles, type 1 .bike., forbidden: expected"),
    ("name,break_start\nvan,4\n", "line 2: vehicles, type 0, break: expected a duration"),
    ("id,count\nvan,1\n\nbike,1\nvan,2\n",
     "line 5: vehicles, type 2, name: expected a name of its own, line 2 has the same, .* 'van'"),
    ("name,id\nvan,5\n", "line 1: vehicles, name: expected one column, received 'name' and 'id'"),
])  # fmt: skip
def test_a_fault_of_the_vehicles_is_told_of_their_file(
    tmp_path: Path, text: str, words: str
) -> None:
    vans = tmp_path / "vans.csv"
    vans.write_text(text, encoding="utf-8")
    bare = tmp_path / "bare.json"
    bare.write_text('{"coordinates": [[0, 0], [3, 0]], "ids": ["hub", "a"]}', encoding="utf-8")
    for stops in (save(tmp_path, "stops.csv", STOPS), bare):
        with pytest.raises(FormatError, match=f"^{re.escape(str(vans))}: {words}"):
            read(stops, vehicles=vans)


def test_capacities_are_matched_with_the_loads_of_any_table_of_stops(tmp_path: Path) -> None:
    vans = save(tmp_path, "vans.csv", {**SIZES, "skills": ["lift", None]})
    columns = tmp_path / "columns.json"
    columns.write_text(json.dumps({**LOADS, "skills": ["", "", "", "lift"]}), encoding="utf-8")
    for stops in (save(tmp_path, "stops.csv", LOADS), columns):
        assert [terms.capacities for terms in read(stops, vehicles=vans).fleet] == [(30, 9), (8, 5)]
    assert [3 in terms.forbidden for terms in read(columns, vehicles=vans).fleet] == [False, True]


def test_a_stop_that_no_vehicle_can_serve_is_told_of_the_file_of_stops(tmp_path: Path) -> None:
    heavy = save(tmp_path, "heavy.csv", {**STOPS, "demand": [0, 2, 9, 2]})
    vans = save(tmp_path, "vans.csv", {"name": ["van"], "capacity": [6]})
    with pytest.raises(FormatError, match=f"^{re.escape(str(heavy))}: line 4: vehicles, node 2: "):
        read(heavy, vehicles=vans)
    # As are vehicles that it has itself.
    own = tmp_path / "own.json"
    own.write_text('{"coordinates": [[0, 0], [3, 0]], "vehicles": [{"count": -1}]}')
    with pytest.raises(FormatError, match=f"^{re.escape(str(own))}: .*count: expected"):
        read(own, vehicles=vans)


def test_a_workbook_without_sheets_has_no_vehicles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_table, "read_sheets", lambda path: {})  # as of one that is empty
    (tmp_path / "vans.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(FormatError, match=": expected a sheet with vehicles, received none"):
        read_vehicles(tmp_path / "vans.xlsx")


def save_workbook(folder: Path, stops: dict[str, Any], vans: dict[str, Any]) -> Path:
    """A workbook with both; its second row is empty."""
    openpyxl = import_module("openpyxl")  # has no types
    book = openpyxl.Workbook()
    book.active.title = "Stops"
    for sheet, columns in ((book.active, stops), (book.create_sheet("Vehicles"), vans)):
        for row in [list(columns), [], *zip(*columns.values(), strict=True)]:
            sheet.append(row)
    path = folder / "day.xlsx"
    book.save(path)
    return path


def test_a_workbook_may_hold_both(tmp_path: Path) -> None:
    path = save_workbook(tmp_path, STOPS, VANS)
    assert read(path) == Problem.from_frame(STOPS, vehicles=VANS)
    bare = save(tmp_path, "stops.csv", STOPS)
    assert read(bare, vehicles=path) == read(path)
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(path.read_bytes()[:500])
    with pytest.raises(FormatError, match="expected a workbook"):
        read(broken)


@pytest.mark.parametrize(
    ("stops", "vans", "where"),
    [
        ({"demand": [0, 2, "two", 2]}, {}, "sheet Stops, row 5: demand, node 2"),
        ({"demand ": [0, 2, 3, 2]}, {}, "sheet Stops, row 1: expected each column once"),
        ({}, {"count": [1, -1]}, "sheet Vehicles, row 4: vehicles, type 1 .*count"),
        (
            {},
            {"Name": ["van"] * 2},
            "sheet Vehicles, row 4: .* row 3 has the same",
        ),
        ({}, {"capacity_kg": [1, 1]}, "sheet Vehicles, row 1: vehicles, capacity"),
    ],
)
def test_errors_name_the_row_of_a_workbook(
    tmp_path: Path, stops: dict[str, Any], vans: dict[str, Any], where: str
) -> None:
    path = save_workbook(tmp_path, STOPS | stops, VANS | vans)
    with pytest.raises(FormatError, match=f"^{re.escape(str(path))}: {where}"):
        read(path)
    if vans:  # as a table of vehicles next to other stops
        bare = save(tmp_path, "stops.csv", STOPS)
        with pytest.raises(FormatError, match=f"^{re.escape(str(path))}: {where}"):
            read(bare, vehicles=path)


def test_a_workbook_without_its_library_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError

    monkeypatch.setattr(csv_table, "import_module", missing)
    path = tmp_path / "day.xlsx"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(UnsupportedError, match=r"pip install spacevrp\[excel\]"):
        read(path)
