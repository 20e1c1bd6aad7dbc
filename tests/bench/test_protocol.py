"""Protocols of the tables: each rules the solving, and records of two never mix."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spacevrp.cli.main import main
from spacevrp.solver import Solver

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
