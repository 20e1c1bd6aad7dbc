"""``spacevrp explain``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacevrp.cli.main import main
from spacevrp.formats import write
from spacevrp.generators import generate
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.problem import Problem

SHORT = {
    "coordinates": [[0, 0], [0, 1], [1, 0], [1, 1]],
    "demand": [0, 2, 2, 2],
    "capacity": 3,
    "max_routes": 2,
}


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """Three customers, of whom two vehicles carry two."""
    path = tmp_path / "short.json"
    coordinates = SHORT["coordinates"]
    features = {key: value for key, value in SHORT.items() if key != "coordinates"}
    write(Problem.from_coordinates(coordinates, **features), path)  # type: ignore[arg-type]
    return path


def plan(folder: Path, *routes: list[int]) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"instances": [{"routes": list(routes)}]}))
    return path


def test_a_plan_that_leaves_a_customer_out(short, tmp_path, capsys):
    assert main(["explain", str(short), str(plan(tmp_path, [0, 1, 0], [0, 2, 0]))]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "2 of 3 customers served, 2 routes, cost 4",
        "  unserved (fleet): all 2 routes that are allowed are in use, and customer 3 fits into "
        "none: in route 1, after depot 0, the load would be 4, a vehicle carries 3",
        "    it would take: a capacity of 4, 1 more (in route 1, after depot 0)",
        "    or: 3 routes, 1 more (in a route of its own)",
        "  route 1: bound by capacity: 2 of 3 (33% left)",
        "  route 2: bound by capacity: 2 of 3 (33% left)",
    ]
    assert captured.err == ""


def test_json_for_scripts(short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = plan(tmp_path, [0, 1, 0], [0, 2, 0])
    assert main(["explain", str(short), str(chosen), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["complete"] is False
    (instance,) = document["instances"]
    assert (instance["customers"], instance["served"]) == (3, 2)
    (unserved,) = instance["unserved"]
    assert (unserved["node"], unserved["code"]) == (3, "fleet")
    assert unserved["relaxation"]["changes"][0]["amount"] == 1
    assert unserved["alternatives"][0]["changes"][0]["kind"] == "fleet"
    assert [route["binding"] for route in instance["routes"]] == ["capacity", "capacity"]


def test_without_a_plan_it_is_solved_first(short, weights, capsys):
    solved = ["--device", "cpu", "--weights", str(weights), "--quiet"]
    assert main(["explain", str(short), *solved]) == 1
    assert capsys.readouterr().out.startswith("2 of 3 customers served, 2 routes, cost ")
    batch = short.with_suffix(".npz")
    write(generate("CVRP", 10, 2), batch)
    assert main(["explain", str(batch), *solved]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("instance 0 (short[0]): all 10 customers served, ")
    assert any(line.startswith("instance 1 (short[1]): ") for line in lines)
    assert "  route 1: bound by capacity: " in lines[1]


def test_what_solve_writes_is_explained_alike(short, weights, tmp_path, capsys):
    solved = ["--device", "cpu", "--weights", str(weights)]
    out = tmp_path / "out.json"
    assert main(["solve", str(short), *solved, "-o", str(out)]) == 1
    (entry,) = json.loads(out.read_text())["instances"]
    capsys.readouterr()
    assert main(["explain", str(short), str(out), "--format", "json"]) == 1
    (instance,) = json.loads(capsys.readouterr().out)["instances"]
    assert instance["unserved"] == entry["unserved"]


def test_a_customer_whom_no_vehicle_can_serve_is_left_out(weights, tmp_path, capsys):
    windows, code = [[0, 9], [0, 9], [0, 9], [0, 4]], "window"
    text = (
        "customer 3 cannot be served alone: straight from depot 0 it is reached at 5, the window "
        "closes at 4: 1 too late"
    )
    path, out = tmp_path / "hopeless.json", tmp_path / "out.json"
    with unservable_allowed():
        write(Problem.from_coordinates([(0, 0), (1, 0), (0, 1), (3, 4)], windows=windows), path)
    options = ["--device", "cpu", "--weights", str(weights), "-o", str(out)]
    assert main(["solve", str(path), *options]) == 1
    (entry,) = json.loads(out.read_text())["instances"]
    assert [(one["code"], one["message"]) for one in entry["unserved"]] == [(code, text)]
    assert sorted(node for route in entry["routes"] for node in route if node) == [1, 2]
    capsys.readouterr()
    assert main(["explain", str(path), str(out)]) == 1
    captured = capsys.readouterr()
    assert f"unserved ({code}): {text}" in captured.out
    assert captured.err == ""  # what solve writes is known when it is read
    assert main(["check", str(path), str(out)]) == 1
    assert "customer 3 is never visited" in capsys.readouterr().out
