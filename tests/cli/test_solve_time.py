"""``spacevrp solve --time``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spacevrp import native
from spacevrp.cli.main import main
from spacevrp.formats import write


@pytest.fixture
def instance(tmp_path: Path, four_customers: Any) -> Path:
    path = tmp_path / "four.json"
    write(four_customers(name="four", demand=[0, 2, 2, 2, 2], capacity=8), path)
    return path


@pytest.mark.skipif(not native.available(), reason="the search was not compiled")
def test_stages_are_told_where_they_are_wanted(solve, instance, tmp_path, capsys):
    out = tmp_path / "plan.json"
    assert solve(instance, "--time", "0.3", "--verbose", "-o", out) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{out}: solved, ")
    words = [line.split() for line in captured.err.splitlines()]
    assert [line[1] for line in words] == ["start", "construct", "improve", "judge"]
    assert words[-1][-2:] == ["cost", "20"]  # around the four customers of tests/conftest.py
    document = json.loads(out.read_text())
    assert list(document) == ["variant", "instances", "seconds", "device"]
    assert main(["check", str(instance), str(out)]) == 0
    assert capsys.readouterr().err == ""


def test_params_come_from_a_file_and_from_set(solve, instance, tmp_path, capsys):
    path = tmp_path / "params.toml"
    path.write_text("augmentations = 2\nsearch = false\n")
    assert solve(instance, "--params", path, "--set", "seed=3", "--set", "protocol=network") == 0
    capsys.readouterr()
    for text, message in (
        ("speed = 3", "expected known arguments"),
        ("augmentations = 0", "augmentations: expected a whole number of at least 1, received 0"),
        ("a = [", "expected TOML"),
    ):
        path.write_text(text)
        assert solve(instance, "--params", path) == 2
        error = capsys.readouterr().err
        assert str(path) in error
        assert message in error
    assert solve(instance, "--set", "search=perhaps") == 2
    assert "search: expected true or false, received 'perhaps'" in capsys.readouterr().err


def test_ctrl_c_writes_the_best_plan(solve, instance, tmp_path, monkeypatch, capsys):
    """It comes while the search goes on from the network's plan."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("spacevrp.solver.improve.Improve.run", interrupted)
    out = tmp_path / "plan.json"
    assert solve(instance, "--time", "60s", "-o", out) == 0
    assert main(["check", str(instance), str(out)]) == 0
    error = capsys.readouterr().err
    assert error.startswith("spacevrp: note: interrupted after ")
    assert error.endswith(" s of 60 s: the best plans so far\n")
