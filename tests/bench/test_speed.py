"""``spacevrp bench speed``, ``train-step`` and ``serve``: what is timed, resumed and recorded."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp.bench import neighbours, speed
from spacevrp.bench.runner import Model, Outcome
from spacevrp.bench.serving import requests_of
from spacevrp.bench.speed import SpeedCase
from spacevrp.bench.train_step import PARTS
from spacevrp.cli.main import main
from spacevrp.generators import generate
from spacevrp.inference.settings import Seconds
from spacevrp.model import SpaceModel
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import SEEN_NAMES
from spacevrp.solver import Solver


class SlowSolver:
    """A solver that claims to have taken these times, and solves for real."""

    def __init__(self, solver: Solver, claims: list[tuple[float, float, float]]) -> None:
        self.device, self._solver, self._claims = solver.device, solver, iter(claims)

    def run(self, problems: Any, **asked: Any) -> Any:
        found, claim = self._solver.run(problems, **asked), next(self._claims)
        # The stages overlap by a second.
        return replace(found, seconds=Seconds(*claim), spent=sum(claim) - 1.0)


KEY = {"part": "throughput", "problem": "CVRP", "size": 8, "threads": 1, "repeats": 3}


def solve(solver: Any, problems: list[Any], repeats: int) -> Outcome:
    model = Model(solver, {}, None, "")  # type: ignore[arg-type]
    key = {**KEY, "repeats": repeats}
    return SpeedCase("", key, lambda: problems, len, model, 2, "network").solve(show=False)


def test_times_are_those_of_the_median_repeat_without_the_warm_up(tiny_model: SpaceModel) -> None:
    claims = [(9.0, 9.0, 9.0), (1.0, 2.0, 6.0), (3.0, 4.0, 8.0), (2.0, 6.0, 4.0)]
    solver = Solver(tiny_model, "cpu")
    problems = generate("CVRP", 8, 6)
    found = solve(SlowSolver(solver, claims), problems, repeats=3)
    row = speed.row_of(KEY, 2, found)
    assert (row.seconds_host, row.seconds_model, row.seconds_referee) == (2.0, 6.0, 4.0)
    assert (row.seconds_total, row.seconds_least) == (11.0, 8.0)  # of 8, 11 and 14
    assert row.instances_per_second == pytest.approx(6 / 11)
    plans = solver.run(problems, augmentations=2, protocol="network").results
    assert row.cost == pytest.approx(np.mean([plan.cost for plan in plans]))
    assert (row.violations, row.instances) == (0, 6)


def test_other_processes_are_seen_and_our_own_work_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # 10 s of work by all, 4 s of them ours, in 3 s of time: two cores were busy elsewhere.
    busy, own, wall = iter([100.0, 110.0]), iter([20.0, 24.0]), iter([50.0, 53.0])
    monkeypatch.setattr(neighbours, "_busy_seconds", lambda: next(busy))
    monkeypatch.setattr(neighbours, "_own_seconds", lambda: next(own))
    monkeypatch.setattr(neighbours.time, "perf_counter", lambda: next(wall))
    assert neighbours.Neighbours().busy() == 2.0


def test_the_whole_command(tiny_weights, tmp_path, monkeypatch):
    command = ["bench", "speed", "--part", "latency,throughput,thousand", "--size", "6"]
    command += ["--count", "3", "--problems", "CVRP,ATSP", "--augment-asymmetric", "3", "--quiet"]
    command += ["--augmentations", "2", "--repeats", "1", "--threads", "1", "--device", "cpu"]
    command += ["--weights", str(tiny_weights), "-o", str(tmp_path)]
    whole, calls = Solver.run, []

    def run(self: Solver, problems: Any, **options: Any) -> Any:
        calls.append(len(problems))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return whole(self, problems, **options)

    monkeypatch.setattr(Solver, "run", run)
    assert main(command) == 130
    # Latency and throughput of CVRP are kept: the rest follows, each after a warm-up but the last.
    assert len((tmp_path / "speed.solved.jsonl").read_text().splitlines()) == 2
    assert main(command) == 0
    assert calls[6:] == [1, len(SEEN_NAMES), 3, 3]
    record = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    rows = [(r["part"], r["problem"], r["instances"], r["augmentations"]) for r in record["rows"]]
    assert rows == [
        ("latency", "CVRP", 1, 2),
        ("throughput", "CVRP", 3, 2),
        ("throughput", speed.MIXED, len(SEEN_NAMES), 2),
        ("thousand", "CVRP", 3, 8),
        ("thousand", "ATSP", 3, 3),
    ]
    assert len(record["load_average"]["end"]) == 3
    # What is done is measured again by the next call.
    assert not (tmp_path / "speed.solved.jsonl").exists()


SMALL = ["--size", "4", "--layers", "1", "--repeats", "1", "--device", "cpu"]


@pytest.mark.slow
def test_the_record_of_training_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "record.json"
    words = ["bench", "train-step", *SMALL, "--batch", "12", "--batch", "24", "-o", str(record)]
    assert main(words) == 0
    found = json.loads(record.read_text())
    assert [row["batch"] for row in found["rows"]] == [12, 24]
    for row in found["rows"]:
        assert tuple(row["breakdown"]) == PARTS
        assert all(value > 0 for value in row["breakdown"].values())
        assert row["instances_per_second"] == pytest.approx(
            1000 * row["batch"] / row["step_ms"],
            rel=1e-2,
            abs=0.06,  # rounded to a tenth
        )
    slow = found["eager_autograd"]
    assert slow["batch"] == 12
    assert slow["ratio"] == pytest.approx(slow["step_ms"] / found["rows"][0]["step_ms"], abs=0.01)
    assert "autograd through the rollout, batch 12" in capsys.readouterr().out


@pytest.mark.slow
def test_steps_of_a_recipe_and_its_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is timed is the run that a file describes, on from weights; rows are kept at once."""
    file, record = tmp_path / "run.toml", tmp_path / "record.json"
    file.write_text('variants = ["CVRP", "OP"]\nsize = 5\nsure = 0.98\nmax_moves = 9\n')
    words = ["bench", "train-step", "--config", str(file), "--weights", "space-100-v12"]
    words += ["--batch", "4", "--repeats", "1", "--device", "cpu", "-o", str(record)]

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("spacevrp.bench.train_step._eager", interrupted)
    with suppress(KeyboardInterrupt):
        main(words)
    found = json.loads(record.read_text())
    config = found["config"]
    assert (config["sure"], config["max_moves"], config["size"]) == (0.98, 9, 5)
    assert found["weights"] == "space-100-v12"
    assert config["model"]["signals"] == 4  # of the weights
    assert [row["batch"] for row in found["rows"]] == [4]
    assert "space-100-v12" in capsys.readouterr().out


def test_requests_can_be_served() -> None:
    bodies = requests_of(20, 1)
    assert bodies == requests_of(20, 1)
    problem = Problem.from_vroom(json.loads(bodies[0]))
    assert len(problem.customers) == 20
    assert problem.capacity == 30
    assert problem.max_routes * 30 >= problem.demand.sum()


@pytest.mark.slow
def test_a_row_is_measured_and_recorded(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="needs the extra serve")
    command = ["bench", "serve", "--sizes", "4", "--clients", "2", "--seconds", "1s"]
    command += ["--servers", "spacevrp", "--memory-rows", "1", "-o", str(tmp_path)]
    assert main(command) == 0
    rows = json.loads((tmp_path / "serve.json").read_text())["rows"]
    assert [(row["part"], row["clients"]) for row in rows] == [("load", 2), ("memory", 8)]
    for row in rows:
        assert row["requests"] > 0
        assert row["refused"] == 0
        assert 0 < row["p50"] <= row["p99"]
        assert row["memory"] > 0
