"""A Ray cluster of this machine: the plans of the other engine, also where an actor is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import spacevrp
from spacevrp.many import solve_many
from spacevrp.many.engines import Task
from spacevrp.problems.errors import SpacevrpError

ray = pytest.importorskip("ray", reason="needs Ray, the extra ray")
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
    from spacevrp.many.ray_engine import RayEngine

    killed: list[int] = []
    submit = RayEngine.submit

    def submit_and_kill(self: RayEngine, task: Task) -> None:
        submit(self, task)
        if not killed:
            (actor,) = [one for one, given in self._busy.values() if given is task]
            killed.append(ray.get(actor.start.remote()).pid)
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(RayEngine, "submit", submit_and_kill)
    problems = spacevrp.generate("CVRP", 20, 8)
    asked = {"device": "cpu", "time": 0.5, "part_size": 4}  # two seconds a part
    result = solve_many(problems, output=tmp_path / "ray", workers=2, engine="ray", **asked)
    assert len(killed) == 1
    assert (result.solved, result.again) == (8, 1)
    assert [row["index"] for row in result.rows()] == list(range(8))


def test_errors_of_actors_are_errors_of_the_run(tmp_path: Path) -> None:
    with pytest.raises(SpacevrpError, match=r"gone\.safetensors"):
        solve_many(
            spacevrp.generate("CVRP", 5, 2),
            engine="ray",
            weights=tmp_path / "gone.safetensors",
            **QUICK,
        )


def test_single_calls_for_servers() -> None:
    from spacevrp.many.remote import RayActors, RemoteSolver

    solver = RemoteSolver(RayActors("ray", workers=2, device="cpu"))
    try:
        problem = spacevrp.generate("CVRP", 12, 1)[0]
        params = spacevrp.SolveParams(network=False, iterations=50)
        found: list[Any] = []
        outcome = solver.run(problem, params, callback=found.append)
        alone = spacevrp.Solver(device="cpu").run(problem, params)
        assert outcome.results[0].routes == alone.results[0].routes
        assert found[-1].cost == outcome.results[0].cost
        with pytest.raises(SpacevrpError, match="expected a time above 0"):
            solver.run(problem, time=-1)

        def stop(plan: Any) -> None:
            raise StopIteration

        (note,) = solver.run(problem, callback=stop, time=60).notes
        assert note.startswith("interrupted after ")
        # A call whose actor is gone is begun again.
        for actor in list(solver._all):
            ray.kill(actor)
        assert solver.run(problem, params).results[0].routes == alone.results[0].routes
    finally:
        solver.close()
