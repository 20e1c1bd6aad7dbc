"""Formats and pictures of ``spacevrp solve``, plans of ``spacevrp check``, completion scripts."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from spacevrp.cli.main import VERBS, main
from spacevrp.formats import read, read_solution, write
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

STOPS = """\
id,lon,lat,demand,open,close,service,capacity,speed_kmh,time_unit
hub,13.37,52.50,,08:00,18:00,,7,30,s
bakery,13.40,52.51,4,08:30,10:00,300,,,
dairy,13.45,52.52,3,,,300,,,
clinic,13.35,52.55,5,,12:00,600,,,
"""


@pytest.fixture
def stops(tmp_path: Path) -> Path:
    path = tmp_path / "stops.csv"
    path.write_text(STOPS)
    return path


def test_a_table_of_stops(solve, stops, tmp_path, capsys):
    """As ``Solution.save`` writes it, and as ``spacevrp check`` reads it."""
    out = tmp_path / "plan.csv"
    assert solve(stops, "-o", out, "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {"hub", "bakery", "dairy", "clinic"} == {row["id"] for row in rows}
    assert rows[0]["arrival"] == "08:00"
    problem = read(stops)
    assert isinstance(problem, Problem)
    (plan,) = read_solution(out, problem).instances
    solution = Solution.judged(problem, plan.routes)
    solution.save(tmp_path / "saved.csv")
    assert (tmp_path / "saved.csv").read_text() == out.read_text()
    capsys.readouterr()
    assert main(["check", str(stops), str(out)]) == 0
    assert capsys.readouterr().out.endswith("feasible\n")
    assert solve(stops, "--format", "csv") == 0
    assert capsys.readouterr().out == out.read_text()


def test_json_has_the_plan_of_one_instance(solve, stops, tmp_path, capsys):
    """With ids, times and loads, as ``Solution.to_dict`` has them; a batch has the routes only."""
    assert solve(stops) == 0
    (entry,) = json.loads(capsys.readouterr().out)["instances"]
    problem = read(stops)
    assert isinstance(problem, Problem)
    solution = Solution.judged(problem, entry["routes"])
    assert entry["plan"] == solution.to_dict()
    listed = [[stop["node"] for stop in route["stops"]] for route in entry["plan"]["routes"]]
    assert listed == entry["routes"]
    batch = tmp_path / "two.npz"
    named = [Problem.from_coordinates([(0, 0), (1, 0), (0, 1)], variant="TSP")] * 2
    write(named, batch)
    assert solve(batch) == 0
    entries = json.loads(capsys.readouterr().out)["instances"]
    assert [list(one) for one in entries] == [["cost", "routes", "feasible"]] * 2


@pytest.mark.parametrize("name", ["plan.xlsx", "plan", "plan.jsn"])
def test_a_suffix_that_nobody_knows(solve, stops, tmp_path, capsys, name):
    assert solve(stops, "-o", tmp_path / name) == 2
    captured = capsys.readouterr()
    assert "ends in one of .json, .csv, .sol, .txt, .geojson, .gpx, or --format" in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / name).exists()
    # Said in words, any name will do.
    assert solve(stops, "-o", tmp_path / name, "--format", "json", "--quiet") == 0
    assert json.loads((tmp_path / name).read_text())["instances"][0]["feasible"]


def test_a_folder_that_is_missing_is_named_before_its_output(solve, tmp_path, capsys):
    assert solve(tmp_path / "instances", "-o", tmp_path / "plans") == 2
    assert "instances: cannot be read: No such file" in capsys.readouterr().err


def test_a_unit_of_time_for_a_table(solve, tmp_path, capsys):
    """Ten units of way and ten of service: twenty minutes, or twenty seconds."""
    path = tmp_path / "stops.csv"
    path.write_text("id,x,y,open,close,service\nhub,0,0,08:00,,\nAnna,10,0,08:00,09:00,10\n")
    for options, back in (((), "08:00:30"), (("--time-unit", "min"), "08:30")):
        assert solve(path, *options) == 0
        text = capsys.readouterr().out
        (entry,) = json.loads(text)["instances"]
        assert entry["plan"]["routes"][0]["stops"][-1]["arrival"] == back
        plan = tmp_path / "plan.json"
        plan.write_text(text)
        assert main(["check", str(path), str(plan), "--plan", *options]) == 0
        assert back in capsys.readouterr().out
    # Two hours each way are too late at nine: the check needs the unit, too.
    assert main(["check", str(path), str(plan), "--time-unit", "h"]) == 1
    assert "window closes" in capsys.readouterr().out
    assert main(["explain", str(path), str(plan), "--time-unit", "min"]) == 0
    capsys.readouterr()
    tour = tmp_path / "tour.json"
    tour.write_text('{"locations": [[0, 0], [1, 0], [0, 1]]}')
    assert solve(tour, "--time-unit", "min") == 2
    assert 'write "time_unit" into the file' in capsys.readouterr().err
    write(Problem.from_coordinates([(0, 0), (1, 0), (0, 1)], depots=()), tmp_path / "tour.tsp")
    assert solve(tmp_path / "tour.tsp", "--time-unit", "min") == 2
    assert "applies to tables of stops only" in capsys.readouterr().err


def test_a_partial_plan_in_vrooms_words(solve, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="plots are an extra")
    path = tmp_path / "short.csv"
    path.write_text("x,y,demand,capacity,vehicles\n0,0,0,3,2\n0,1,2,,\n1,0,2,,\n1,1,2,,\n")
    picture = tmp_path / "plan.png"
    assert solve(path, "--plot", picture, "--plot-kind", "load", "--format", "vroom") == 1
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["summary"]["routes"], document["summary"]["unassigned"]) == (2, 1)
    assert "1 of 3 customers left out" in captured.err
    assert picture.exists()


# ------------------------------------------------------------------------------------------- check


def test_check_reads_ids(stops: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    routes = [["hub", "bakery", "dairy", "hub"], ["hub", "clinic", "hub"]]
    plan.write_text(json.dumps({"instances": [{"routes": routes}]}))
    assert main(["check", str(stops), str(plan)]) == 0
    assert capsys.readouterr().out.endswith("feasible\n")
    plan.write_text(json.dumps({"instances": [{"routes": [["hub", "Zoe", "hub"]]}]}))
    assert main(["check", str(stops), str(plan)]) == 2
    captured = capsys.readouterr()
    assert "route 1: expected an id of the instance, received 'Zoe'" in captured.err
    assert captured.err.count("\n") == 1


def test_check_prints_the_plan(stops, tmp_path, capsys):
    plan = tmp_path / "plan.json"
    plan.write_text('{"instances": [{"routes": [[0, 1, 2, 0], [0, 3, 0]]}]}')
    assert main(["check", str(stops), str(plan), "--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("stops: cost ")
    assert any(line.split()[:2] == ["bakery", "08:04:37"] for line in lines)
    assert lines[-1] == "feasible"
    assert main(["check", str(stops), str(plan), "--plan", "--format", "json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["instances"]
    assert entry["plan"]["routes"][0]["stops"][1]["id"] == "bakery"
    assert main(["check", str(stops), str(plan)]) == 0
    assert "bakery" not in capsys.readouterr().out


# -------------------------------------------------------------------------------------- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_verb_and_option_is_in_the_script(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for verb in VERBS:
        assert verb.name in script
    for word in ("plot-kind", "geojson", "schedule", "augment"):
        assert word in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["so"], ["solve"]),
        (["solve", "--plot-"], ["--plot-kind", "--plot-index"]),
        (["solve", "x.vrp", "--format", "g"], ["geojson", "gpx"]),
        (["completion", "z"], ["zsh"]),
        (["plot", "tr"], ["training"]),
        (["solve", "x"], []),
    ],
)
def test_bash_completes(words, expected, capsys):
    main(["completion", "bash"])
    script = capsys.readouterr().out
    typed = " ".join(f"'{word}'" for word in ["spacevrp", *words])
    ask = f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _spacevrp; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == expected
