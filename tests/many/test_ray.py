"""A Ray cluster of this machine: the plans of the other engine, also where an actor is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import spacevrp
from spacevrp.many import solve_many
from spacevrp.many.engines import as_ready
from spacevrp.many.worker import Ready
from spacevrp.problems.errors import SpacevrpError

ray = pytest.importorskip("ray", reason="needs Ray, the extra ray")
pytest.importorskip("ray.data", reason="needs Ray Data, the extra ray")
from spacevrp.many.ray_engine import RayEngine  # noqa: E402

pytestmark = pytest.mark.slow

QUICK: dict[str, Any] = {"network": False, "iterations": 20, "device": "cpu"}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Any:
    ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def without_seconds(rows: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_plans_are_those_of_the_other_engine(tmp_path: Path) -> None:
    problems = spacevrp.generate("CVRP", 10, 24)
    bad = tmp_path / "bad.vrp"
    bad.write_text("NAME : x\n")
    given = [*problems, bad]
    here = solve_many(given, output=tmp_path / "local", workers=2, **QUICK)
    there = solve_many(given, output=tmp_path / "ray", workers=3, engine="ray", **QUICK)
    assert without_seconds(there.rows()) == without_seconds(here.rows())
    assert (there.workers, there.solved, len(there.failures)) == (3, 24, 1)
    # A run that one engine began, another may finish.
    (tmp_path / "ray" / "part-000002.jsonl").unlink()
    assert solve_many(given, output=tmp_path / "ray", workers=2, **QUICK).here == 1


def test_a_killed_actor_costs_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def ready_and_killed(answer: Ready) -> Ready:
        begun.append(answer.pid)
        if len(begun) == 1:
            os.kill(answer.pid, signal.SIGKILL)
        return as_ready(answer)

    monkeypatch.setattr("spacevrp.many.ray_engine.as_ready", ready_and_killed)
    problems = spacevrp.generate("CVRP", 20, 3)
    asked: dict[str, Any] = {
        "device": "cpu",
        "time": 5.0,
        "part_size": 1,
    }  # a busy machine may be late
    result = solve_many(problems, output=tmp_path / "ray", workers=2, engine="ray", **asked)
    assert (result.solved, result.again, len(begun)) == (3, 1, 4)
    assert [row["index"] for row in result.rows()] == list(range(3))


def test_an_instance_that_ends_its_actor_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ready_and_killed(answer: Ready) -> Ready:
        os.kill(answer.pid, signal.SIGKILL)
        return as_ready(answer)

    monkeypatch.setattr("spacevrp.many.ray_engine.as_ready", ready_and_killed)
    problems = spacevrp.generate("CVRP", 20, 1)
    result = solve_many(problems, output=tmp_path / "ray", engine="ray", device="cpu", time=9.0)
    (row,) = result.failures
    assert row["reason"] == "the process that solved it ended twice: its actor has ended"


def test_a_run_that_ctrl_c_ended_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hear, problems = RayEngine._hear, spacevrp.generate("CVRP", 10, 24)
    asked = {**QUICK, "output": tmp_path / "ray", "workers": 2, "engine": "ray", "part_size": 2}
    there = tmp_path / "ray" / "part-000000.jsonl"

    def heard_until_ctrl_c(self: RayEngine, number: int, pickled: bytes) -> Any:
        if there.exists():
            raise KeyboardInterrupt
        return hear(self, number, pickled)

    with monkeypatch.context() as patched:
        patched.setattr(RayEngine, "_hear", heard_until_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            solve_many(problems, **asked)
    written = {path: path.read_bytes() for path in there.parent.glob("part-*")}
    result = solve_many(problems, **asked)
    assert (result.solved, result.here) == (24, 24 - 2 * len(written))
    assert {path: path.read_bytes() for path in written} == written


def test_errors_of_actors_are_errors_of_the_run(tmp_path: Path) -> None:
    with pytest.raises(SpacevrpError, match=r"gone\.safetensors"):
        solve_many(
            spacevrp.generate("CVRP", 5, 2),
            engine="ray",
            weights=tmp_path / "gone.safetensors",
            **QUICK,
        )
