"""``spacevrp solve --start``: plans to begin from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spacevrp

# The legs of the instance: to each customer and back it is 6, 10, 8 and 16.
ALONE = [(0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 4, 0)]


@pytest.mark.parametrize("name", ["plan.json", "plan.csv", "plan.sol"])
def test_plans_in_files(
    solve: Any, instance: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = spacevrp.read(instance)
    assert isinstance(problem, spacevrp.Problem)
    spacevrp.Solution.judged(problem, ALONE).save(tmp_path / name)
    assert solve(instance, "--start", tmp_path / name, "--verbose", "--format", "table") == 0
    captured = capsys.readouterr()
    begun = next(line for line in captured.err.splitlines() if "start" in line)
    assert "cost 40" in begun
    assert "cost 28" in captured.out  # 0-1-2-0 and 0-3-4-0


def test_plans_that_are_none(
    solve: Any, instance: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"instances": [{"routes": [[0, 1, 4, 0]]}]}')
    assert solve(instance, "--start", plan) == 2
    assert f"{plan}: expected a feasible plan, received one in which" in capsys.readouterr().err
    plan.write_text('{"instances": []}')
    assert solve(instance, "--start", plan) == 2
    assert "expected a plan for each of 1 instances, received 0" in capsys.readouterr().err
    out = tmp_path / "out"
    assert solve(instance, "--engine", "local", "-o", out, "--start", plan) == 2
    assert "--start: expected none with a folder" in capsys.readouterr().err
