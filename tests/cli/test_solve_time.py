"""``spacevrp solve --time``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from spacevrp import anytime, native
from spacevrp.anytime import Improvement, TimedAttempt
from spacevrp.cli.main import main
from spacevrp.formats import read, write
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import save_weights
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Seconds

# Routes through the four customers of tests/conftest.py: 22, and 26 with a detour.
AROUND, DETOUR = (0, 1, 2, 3, 4, 0), (0, 4, 2, 1, 3, 0)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = SpaceModel(ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2))
    return save_weights(tmp_path_factory.mktemp("weights") / "tiny", model, {})


@pytest.fixture
def instance(tmp_path: Path, four_customers: Any) -> Path:
    path = tmp_path / "four.json"
    write(path, four_customers(name="four", demand=[0, 2, 2, 2, 2], capacity=8))
    return path


@pytest.fixture
def solve(weights: Path) -> Any:
    def run(*arguments: object) -> int:
        return main(["solve", "--device", "cpu", "--weights", str(weights), *map(str, arguments)])

    return run


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the room for solving within a time was asked; it answers with an improved plan."""
    asked: dict[str, Any] = {}

    def solve_for(problems: list[Problem], time: float, **more: Any) -> TimedAttempt:
        asked.update(more, time=time)
        (problem,) = problems
        start, found = (Solution.judged(problem, [route]) for route in (DETOUR, AROUND))
        better = Improvement(found, start, "engine", "1.0", 1.5)
        note = ("1.70 s were spent, 1.5 s given",)
        return TimedAttempt([found], {}, Seconds(), notes=note, improvements=(better,))

    monkeypatch.setattr(anytime, "solve_for", solve_for)
    return asked


def test_the_time_is_passed_on_and_json_has_more_keys(
    solve: Any, instance: Path, told: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert solve(instance, "--time", "1m30s", "--starts", 3, "--seed", 4) == 0
    assert (told["time"], told["improve"], told["starts"], told["seed"]) == (90.0, True, 3, 4)
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert list(document) == ["variant", "instances", "seconds", "device"]
    (entry,) = document["instances"]
    assert list(entry)[:3] == ["cost", "routes", "feasible"]
    assert (entry["cost"], entry["start_cost"]) == (22, 26)
    assert (entry["solver"], entry["version"], entry["seconds"]) == ("engine", "1.0", 1.5)
    assert captured.err == "spacevrp: note: 1.70 s were spent, 1.5 s given\n"


def test_words_on_who_improved_and_by_how_much(
    solve: Any,
    instance: Path,
    told: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "engine 1.0 improved 26 -> 22 (15.38% better) in 1.50 s\n"
    assert solve(instance, "--time", "1.5", "--no-improve", "--format", "table") == 0
    assert told["improve"] is False
    assert capsys.readouterr().out.endswith(f" s on cpu\n{line}")
    out = tmp_path / "plan.json"
    assert solve(instance, "--time", "1.5", "-o", out) == 0
    first, second = capsys.readouterr().out.splitlines(keepends=True)
    assert first.startswith(f"{out}: solved, ")
    assert second == line
    assert main(["check", str(instance), str(out)]) == 0  # which knows the keys
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "0"], "--time: expected a time above 0, received 0 s"),
        (["--time", "soon"], "--time: expected a time such as 90s, 9m or 1h30m"),
        (["--time", "5s", "--augment", "8"], "--augment: expected none with --time"),
        (["--time", "5s", "--sample", "0"], "--sample: expected none with --time"),
        (["--time", "5s", "--replan", "0"], "--replan: expected none with --time"),
    ],
)
def test_bad_usage_is_one_line(
    solve: Any,
    instance: Path,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert solve(instance, *options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.skipif(not native.available(), reason="the search was not compiled")
def test_the_real_thing(solve: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A random model and the compiled search, for a moment."""
    path = tmp_path / "three.npz"
    write(path, generate("CVRP", 12, 3, seed=5))
    assert solve(path, "--time", "0.9s") == 0
    document = json.loads(capsys.readouterr().out)
    for problem, entry in zip(read(path), document["instances"], strict=True):  # type: ignore[arg-type]
        assert Solution.judged(problem, entry["routes"]).cost == entry["cost"]
        assert entry["cost"] <= entry.get("start_cost", entry["cost"])
        if "start_cost" in entry:  # a busy machine may have no time left for some
            assert entry["solver"] == "search"


def test_ctrl_c_writes_the_best_plan(
    solve: Any,
    instance: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It comes while the search goes on from the network's plan."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    for name in ("_improve", "_improve_by_search"):
        monkeypatch.setattr(f"spacevrp.anytime.solving._Timed.{name}", interrupted)
    out = tmp_path / "plan.json"
    assert solve(instance, "--time", "60s", "-o", out) == 0
    assert main(["check", str(instance), str(out)]) == 0
    error = capsys.readouterr().err
    assert error.startswith("spacevrp: note: interrupted after ")
    assert error.endswith(" s of 60 s: the best plans so far\n")


def test_ctrl_c_before_there_is_a_plan(
    solve: Any, instance: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    for name in ("rounds.Rounds.first", "solving._Timed._search"):
        monkeypatch.setattr(f"spacevrp.anytime.{name}", interrupted)
    out = tmp_path / "plan.json"
    assert solve(instance, "--time", "60s", "-o", out) == 130
    assert not out.exists()
