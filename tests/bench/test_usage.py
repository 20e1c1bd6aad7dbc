"""Bad usage of every table, and protocols: each rules the solving, and records of two never mix."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spacevrp.cli.main import main
from spacevrp.solver import Solver


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("seen --problems CVPR", "variant 'CVPR' is not legal"),
        ("seen --count 0", "nothing to measure"),
        ("seen --data no-such-folder", "no-such-folder: expected a folder of .npz batches"),
        ("seen --size 7 --problems PDTSP", "size: expected an even number"),
        ("ablation --weights no-such-weights", "no bundled weights"),
        ("cvrplib", "cvrplib: expected --data or SPACEVRP_DATA, received neither"),
        ("cvrplib --data nowhere", "cvrplib: expected files nowhere/cvrplib/*.vrp, found none"),
        ("scaling --sizes 3", "expected a whole number of at least 4"),
        ("suite small --time 1,0", "--time: expected seconds above 0, received"),
        ("suite vrptw --quiet", "SPACEVRP_DATA"),
        ("suite small --only NIX", "--only: expected names of small, received 'NIX'"),
        ("suite small --solvers pyvrp,nix", "or another solver by its name, received 'nix'"),
        ("suite small --solvers ortools*", "--solvers: expected some of spacevrp"),
        ("speed --part latency,size", "expected names out of latency, throughput, thousand"),
        ("train-step --device cpu --batch 0", "batch: expected a whole number of at least 1"),
        ("train-step -o nowhere/record.json", "nowhere/record.json: cannot be written"),
        ("references --extend gurobi", "choose from 'best', 'paper'"),
        ("references --extend", "--extend: expected -o FOLDER"),
        ("references --extend --merge x.jsonl", "not allowed with argument"),
        ("references --merge nowhere.jsonl", "nowhere.jsonl: expected a record of results"),
        ("references --file nowhere.json", "cannot be read: No such file"),
    ],
)
def test_bad_usage_is_one_line(words, part, capsys, monkeypatch):
    monkeypatch.delenv("SPACEVRP_DATA", raising=False)
    try:
        code = main(["bench", *words.split()])
    except SystemExit as left:
        code = int(str(left.code))
    assert code == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1


SMALL = ["--count", "1", "--size", "5", "--quiet", "--device", "cpu", "--problems"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """(augmentations, protocol) of every call."""
    noted: list[tuple[int, str]] = []
    original = Solver.run

    def run(self: Solver, problem: Any, **options: Any) -> Any:
        noted.append((options["augmentations"], options["protocol"]))
        return original(self, problem, **{**options, "augmentations": 1})

    monkeypatch.setattr(Solver, "run", run)
    return noted


@pytest.mark.parametrize(
    ("table", "usual"),
    [("unseen", "network"), ("scale", "default")],
)
def test_every_table_takes_a_protocol_and_says_which(tiny_weights, tmp_path, calls, table, usual):
    folder = tmp_path / "record"
    command = ["bench", table, "--weights", str(tiny_weights), *SMALL, "ATSP", "-o", str(folder)]
    for asked, expected in (([], usual), (["--protocol", "paper"], "paper")):
        calls.clear()
        assert main([*command, *asked]) == 0
        # What the other protocol found is not taken for this one's.
        assert {protocol for _, protocol in calls} == {expected}
        assert json.loads((folder / f"{table}.json").read_text())["protocol"] == expected
    assert max(augmentations for augmentations, _ in calls) == 128  # the paper's, on a CPU, too
    calls.clear()
    assert main([*command, "--protocol", "paper"]) == 0
    assert calls == []


@pytest.mark.parametrize("problem", ["TSP", "ATSP"])
def test_the_default_protocol_is_what_solve_does(tiny_weights, calls, problem, capsys):
    command = ["bench", "seen", "--weights", str(tiny_weights), *SMALL, problem]
    assert main([*command, "--protocol", "default", "--format", "markdown"]) == 0
    assert calls == [(None, "default")]  # `solve` itself decides whether the network pays
    assert "instances were solved as `solve` has it; the paper's" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "option", "name"),
    [
        ("seen", "--sample", "num_samples"),
        ("unseen", "--lean", "policy_heads"),
        ("scale", "--starts", "start_nodes"),
    ],
)
def test_what_contradicts_the_protocol_is_refused(tiny_weights, table, option, name, capsys):
    command = ["bench", table, "--weights", str(tiny_weights), *SMALL, "TSP"]
    assert main([*command, "--protocol", "paper", option, "3"]) == 2
    error = capsys.readouterr().err
    assert f"{name}: expected" in error
    assert "with protocol paper" in error
    assert "received 3" in error
