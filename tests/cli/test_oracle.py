"""``spacevrp oracle``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacevrp.cli.main import main
from spacevrp.formats import read, write
from spacevrp.generators import generate
from spacevrp.oracles import ORACLES
from spacevrp.problems.referee import judge


@pytest.fixture
def instances(tmp_path: Path) -> Path:
    for name in ("pyvrp", "vroom"):
        if not ORACLES[name].is_installed():
            pytest.skip(f"{ORACLES[name].package} is not installed")
    path = tmp_path / "set.npz"
    write(generate("CVRPL", 6, 2, seed=3), path)
    return path


def run(*arguments: object) -> int:
    return main(["oracle", *map(str, arguments)])


def test_the_solutions_of_the_interface_and_who_found_them(instances, capsys):
    assert run(instances, "--solver", "vroom", "--seconds", "5") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["variant"] == "CVRPL"
    assert document["device"] == "cpu"
    problems = read(instances)
    for problem, entry in zip(problems, document["instances"], strict=True):
        verdict = judge(problem, entry["routes"])
        assert verdict.feasible
        assert entry["feasible"] is True
        assert entry["cost"] == verdict.cost
        assert entry["solver"] == "vroom"
        assert entry["version"].startswith("1.15")
        assert entry["seconds"] >= 0


def test_going_on_after_an_interruption(instances, tmp_path, capsys):
    out = tmp_path / "sol.json"
    command = (instances, "--solver", "vroom", "--seconds", "5", "-o", out)
    assert run(*command) == 0
    assert "2 of 2 solved, mean cost" in capsys.readouterr().out
    kept = tmp_path / "sol.json.partial.jsonl"
    lines = kept.read_text().splitlines()
    assert len(lines) == 2
    first = json.loads(out.read_text())["instances"]
    # Only the first instance was done, and its line says where the result comes from.
    marked = json.loads(lines[0]) | {"version": "of the first run"}
    kept.write_text(json.dumps(marked) + "\n")
    out.unlink()
    assert run(*command) == 0
    second = json.loads(out.read_text())["instances"]
    assert second[0] == first[0] | {"version": "of the first run"}
    # VROOM's threads decide the order of the routes, and which of two plans as good it is.
    assert second[1]["cost"] == pytest.approx(first[1]["cost"])
    assert len(kept.read_text().splitlines()) == 2


def test_a_start(instances: Path, tmp_path: Path) -> None:
    problems = read(instances)
    out, start = tmp_path / "sol.json", tmp_path / "start.json"
    entries = [{"routes": [[0, node, 0] for node in p.customers]} for p in problems]
    start.write_text(json.dumps({"instances": entries}))
    arguments = ("--solver", "vroom", "--seconds", "5", "--start", start, "-o", out, "--quiet")
    assert run(instances, *arguments) == 0
    for problem, entry in zip(problems, json.loads(out.read_text())["instances"], strict=True):
        alone = judge(problem, [(0, node, 0) for node in problem.customers])
        assert entry["cost"] < alone.cost


def test_no_plan_is_a_negative_answer(tmp_path, four_customers, capsys):
    if not ORACLES["vroom"].is_installed():
        pytest.skip("pyvroom is not installed")
    path = tmp_path / "tight.json"
    write(four_customers(demand=[0, 5, 5, 5, 5], capacity=5, max_routes=3), path)
    assert run(path, "--solver", "vroom", "--seconds", "1") == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["instances"] == [
        {"cost": None, "routes": [], "feasible": False}
    ]
    assert "instance 0: vroom found no plan" in captured.err


def test_refusals_and_bad_usage_are_one_line(tmp_path, instances, capsys):
    mixed = tmp_path / "mixed.npz"
    write(generate("CVRPB", 6, 1), mixed)
    short = tmp_path / "short.json"
    short.write_text('{"instances": []}')
    for arguments, message in (
        ((mixed, "--solver", "pyvrp"), "pyvrp cannot model mixed pickups and deliveries"),
        ((instances, "--solver", "gurobi"), "invalid choice: 'gurobi'"),
        ((instances, "--seconds", "0"), "expected seconds above 0, received '0'"),
        ((instances, "--jobs", "none"), "expected a whole number of at least 1"),
        ((instances, "-o", tmp_path / "x.sol"), "expected a file name that ends in .json"),
        ((instances, "-o", tmp_path / "no" / "x.json"), "there is no folder"),
        ((instances, "--start", short), "expected a plan for each of 2 instances, received 0"),
        ((tmp_path / "none.npz",), "none.npz: cannot be read"),
    ):
        assert run(*arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line


def test_a_missing_solver_is_one_line(tmp_path, monkeypatch, capsys):
    path = tmp_path / "set.npz"
    write(generate("CVRP", 6, 1), path)
    monkeypatch.setattr(ORACLES["pyvrp"], "module", "no_such_module")
    assert run(path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the solver pyvrp is not installed: pip install spacevrp[oracles]" in line
