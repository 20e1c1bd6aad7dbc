"""``--column``: tables of stops whose columns have the user's own names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spacevrp.cli.main import main
from spacevrp.formats import read

# Legs of 3, 4 and 5; a vehicle carries all ten kilograms.
TABLE = "id,x,y,kg,m3,room,space\nhub,0,0,,,10,10\na,3,0,4,1,,\nb,3,4,6,2,,\n"
SAID = ("--column", "demand=kg", "--column", "capacity=room")


@pytest.fixture
def stops(tmp_path: Path) -> Path:
    path = tmp_path / "stops.csv"
    path.write_text(TABLE)
    return path


def test_all_verbs_take_columns(
    solve: Any, stops: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    assert solve(stops, *SAID, "-o", plan, "--quiet") == 0
    (solved,) = json.loads(plan.read_text())["instances"]
    assert solved["cost"] == 12  # with capacity 6 it would be 6 + 10
    assert main(["check", str(stops), str(plan), *SAID]) == 0
    assert main(["explain", str(stops), str(plan), *SAID]) == 0
    copy = tmp_path / "copy.json"
    assert main(["convert", str(stops), str(copy), *SAID]) == 0
    assert read(copy).demand.tolist() == [0, 4, 6]  # type: ignore[union-attr]
    assert "'m3', 'space'" in capsys.readouterr().err  # which are left out


def test_a_field_with_several_kinds_of_load(
    stops: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.json"
    kinds = ["demand=kg", "demand=m3", "capacity=room", "capacity=space"]
    said = [word for kind in kinds for word in ("--column", kind)]
    assert main(["convert", str(stops), str(copy), *said]) == 0
    assert read(copy).loads.tolist() == [[0, 0], [4, 1], [6, 2]]  # type: ignore[union-attr]
    assert capsys.readouterr().err == ""


def test_what_is_wrong_with_a_column(stops: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for said, message in (
        ("demand", "expected FIELD=NAME, received 'demand'"),
        ("demnd=kg", "columns: expected fields such as demand, received 'demnd'"),
        ("demand=lb", "columns, demand: expected a column 'lb', received 'id', 'x', 'y', 'kg'"),
    ):
        assert main(["convert", str(stops), "copy.json", "--column", said]) == 2
        assert message in capsys.readouterr().err


def test_columns_of_a_folder(
    solve: Any, stops: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each table of the folder is read so, and the run is that of these columns alone."""
    out = tmp_path / "out"
    arguments = (stops.parent, "--engine", "local", "--workers", 1, "-o", out)
    assert solve(*arguments, *SAID) == 0
    assert "1 of 1 solved, mean cost 12," in capsys.readouterr().out
    assert solve(*arguments) == 2
    assert "columns=" in capsys.readouterr().err
    assert solve(*arguments, "--vehicles", stops) == 2
    assert "--vehicles: expected none with a folder" in capsys.readouterr().err
