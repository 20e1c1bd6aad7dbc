"""Jobs on actors elsewhere: progress, stopping, time limits, and actors that are killed.

The actors of the quick tests are workers in this process, to which all goes as bytes, as it would
to another machine. With Ray the same is done by real ones.
"""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

import spacevrp
from spacevrp.many.remote import ActorLost, RemoteSolver, WorkersLostError
from spacevrp.many.worker import Worker, WorkerSettings
from spacevrp.problems.errors import ProblemError, SpacevrpError
from spacevrp.solver import NoPlanError, SolveParams, Solver

from .conftest import FOUR, LOOP


class Actor:
    """A worker of this process, which can be killed."""

    def __init__(self, solver: Solver) -> None:
        self.worker = Worker(WorkerSettings(SolveParams(), device="cpu"))
        self.worker._solver = solver  # loaded once for all tests
        self.alive = True
        self.asked: list[str] = []


class Actors:
    """Actors in this process."""

    def __init__(self, solver: Solver, workers: int = 1) -> None:
        self.solver, self.workers = solver, workers
        self.made: list[Actor] = []
        self.closed = False
        self.room = 99  # actors that the cluster has room for
        self.kill_when: Callable[[Actor, list[Any]], bool] = lambda actor, events: False

    def start(self) -> Actor:
        self.made.append(Actor(self.solver))
        return self.made[-1]

    def ask(self, actor: Actor, method: str, *given: Any, ended: Callable[[], bool]) -> Any:
        before = self.made[: self.made.index(actor)]
        while actor.alive and sum(one.alive for one in before) >= self.room:
            if ended():
                raise ActorLost("it does not answer")
            time.sleep(0.01)
        if not actor.alive:
            raise ActorLost("it was killed")
        actor.asked.append(method)
        answer = getattr(actor.worker, method)(*pickle.loads(pickle.dumps(given)))
        if method == "hear" and self.kill_when(actor, answer):
            self.end(actor)
        if not actor.alive:
            raise ActorLost("it was killed")
        return pickle.loads(pickle.dumps(answer))

    def end(self, actor: Actor) -> None:
        actor.alive = False
        if actor.worker._followed is not None:
            actor.worker._followed.interrupt()

    def close(self) -> None:
        self.closed = True


def has_plan(events: list[Any]) -> bool:
    return any(isinstance(event, tuple) for event in events)


@pytest.fixture
def actors(solver: Solver) -> Actors:
    return Actors(solver)


@pytest.fixture
def server(actors: Actors, serving: Any) -> Iterator[Any]:
    started = serving(RemoteSolver(actors))
    yield started
    started.close()
    assert actors.closed


def test_errors_and_plans_of_fleets_pass_between_processes() -> None:
    error = pickle.loads(pickle.dumps(ProblemError("demand", "a number", "x", node=3)))
    assert (str(error), error.node) == ("demand, node 3: expected a number, received x", 3)
    none = pickle.loads(pickle.dumps(NoPlanError({0: "why"}, [None])))
    assert none.reasons == {0: "why"}
    fleet = [spacevrp.Vehicle(capacity=9), spacevrp.Vehicle(capacity=5)]
    problem = spacevrp.Problem.from_coordinates(
        FOUR["coordinates"], demand=FOUR["demand"], vehicles=fleet
    )
    plan = spacevrp.Solution.judged(problem, [[0, 1, 2, 3, 4, 0]], [1])
    assert pickle.loads(pickle.dumps(plan)).routes.vehicles == (1,)


def test_calls_are_those_of_a_solver(actors: Actors, solver: Solver) -> None:
    remote = RemoteSolver(actors)
    problems = spacevrp.generate("CVRP", 12, 2)
    params = SolveParams(network=False, iterations=50)
    found: list[Any] = []
    stages: list[str] = []
    outcome = remote.run(problems, params, callback=found.append, progress=stages.append)
    alone = solver.run(problems, params)
    assert [one.routes for one in outcome.results] == [one.routes for one in alone.results]
    assert [one.problem for one in outcome.results] == problems  # the caller's own
    assert {id(plan.problem) for plan in found} == set(map(id, problems))
    assert stages[0] == "start"
    assert "improve" in stages
    with pytest.raises(SpacevrpError, match="expected a time above 0"):
        remote.run(problems, time=-1)

    def stop(plan: Any) -> None:
        raise StopIteration

    (note,) = remote.run(problems, callback=stop, time=600).notes
    assert note.startswith("interrupted after ")

    def fail(plan: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        remote.run(problems, callback=fail, time=600)
    again = remote.run(problems, params, start=[outcome.results[0], None])
    assert again.results[0].cost <= outcome.results[0].cost


def test_a_call_goes_on_from_the_best_plan_when_its_actor_is_killed(actors: Actors) -> None:
    remote = RemoteSolver(actors)
    problem = spacevrp.generate("CVRP", 20, 1)[0]
    actors.kill_when = lambda actor, events: actor is actors.made[0] and has_plan(events)
    params = SolveParams(network=False, iterations=200)
    plans: list[Any] = []
    (result,) = remote.run(problem, params, callback=plans.append).results
    assert len(actors.made) == 2
    assert result.feasible
    assert result.problem is problem
    # A problem that ends every actor is given up, and the next has an actor.
    actors.kill_when = lambda actor, events: True
    with pytest.raises(WorkersLostError, match="3 actors lost: it was killed"):
        remote.run(problem, params)
    actors.kill_when = lambda actor, events: False
    assert remote.run(problem, params).results[0].feasible


def test_actors_that_end_at_once_are_replaced_a_few_times(actors: Actors) -> None:
    start = actors.start

    def dead() -> Actor:
        actor = start()
        actor.alive = len(actors.made) > 2
        return actor

    actors.start = dead  # type: ignore[method-assign]
    assert RemoteSolver(actors).device == "cpu"
    assert len(actors.made) == 3
    actors.start = lambda: _killed(start())  # type: ignore[method-assign]
    with pytest.raises(SpacevrpError, match="actors do not start: it was killed"):
        RemoteSolver(actors)
    assert actors.closed


def _killed(actor: Actor) -> Actor:
    actor.alive = False
    return actor


def test_jobs_of_a_server(server: Any, actors: Actors) -> None:
    assert server.http.get("/health").json()["workers"] == 1
    body = {"problem": FOUR, "time": 3000}
    running = server.take(body)
    waiting = server.take(FOUR)
    assert server.until(lambda: server.job(running)["plan"])["cost"] == LOOP
    assert server.job(waiting)["state"] == "queued"
    assert server.http.delete(f"/v1/jobs/{running}").json()["state"] == "stopped"
    ended = server.ended(waiting)
    assert (ended["state"], ended["cost"]) == ("done", LOOP)
    limited = server.ended(server.take({"problem": FOUR, "time": 0.2}))
    assert (limited["state"], limited["cost"]) == ("done", LOOP)


def test_a_job_whose_actor_is_killed_is_run_again(server: Any, actors: Actors) -> None:
    job = server.take({"problem": FOUR, "time": 3000})
    server.until(lambda: server.job(job)["plan"])
    actors.end(actors.made[0])
    server.until(lambda: len(actors.made) == 2 and "hear" in actors.made[1].asked)
    assert server.job(job)["state"] == "running"
    stopped = server.http.delete(f"/v1/jobs/{job}").json()
    assert (stopped["state"], stopped["cost"]) == ("stopped", LOOP)
    actors.kill_when = lambda actor, events: True
    lost = server.ended(server.take(FOUR))
    assert (lost["state"], lost["error"]["status"]) == ("failed", 503)
    health = server.http.get("/health")
    assert (health.status_code, health.json()["engine"]) == (503, "failing")
    actors.kill_when = lambda actor, events: False
    assert server.ended(server.take(FOUR))["cost"] == LOOP
    assert server.http.get("/health").status_code == 200


def test_a_cluster_that_has_shrunk(serving: Any, solver: Solver) -> None:
    """Jobs go on with the actors that are left, and with all of them when there is room again."""
    actors = Actors(solver, workers=2)
    server = serving(RemoteSolver(actors))

    def health() -> dict[str, Any]:
        told: dict[str, Any] = server.http.get("/health").json()
        return told

    first = server.take({"problem": FOUR, "time": 3000})
    server.until(lambda: server.job(first)["plan"])
    second = server.take({"problem": FOUR, "time": 3000})
    server.until(lambda: server.job(second)["plan"])
    actors.room = 1
    actors.end(actors.made[1])
    server.until(lambda: health()["workers"] == 1)
    assert (health()["status"], health()["running"]) == ("ok", 2)
    # The second waits for the actor of the first; a third does not begin.
    third = server.take(FOUR)
    assert server.http.delete(f"/v1/jobs/{first}").json()["state"] == "stopped"
    server.until(lambda: actors.made[0].asked.count("begin") == 2)
    assert (server.job(second)["state"], server.job(third)["state"]) == ("running", "queued")
    # Nothing is left: what was found is kept.
    actors.room = 0
    actors.end(actors.made[0])
    server.until(lambda: health()["workers"] == 0)
    assert (health()["status"], health()["engine"]) == ("failing", "failing")
    assert server.job(third)["state"] == "queued"
    stopped = server.http.delete(f"/v1/jobs/{second}").json()
    assert (stopped["state"], stopped["cost"]) == ("stopped", LOOP)
    actors.room = 2
    assert server.ended(third)["cost"] == LOOP
    server.until(lambda: health()["workers"] == 2)
    assert health()["status"] == "ok"
    server.close()


def test_actors_that_were_lost_while_idle_are_no_fault_of_a_call(solver: Solver) -> None:
    actors = Actors(solver, workers=4)
    remote = RemoteSolver(actors)
    for actor in actors.made:
        actors.end(actor)
    problem = spacevrp.generate("CVRP", 8, 1)[0]
    assert remote.run(problem, network=False, iterations=20).results[0].feasible
    remote.close()


def test_a_call_ends_where_no_actor_is_left(
    actors: Actors, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spacevrp.many import remote as module

    remote = RemoteSolver(actors)
    monkeypatch.setattr(module, "START", 0.1)
    actors.room = 0
    actors.end(actors.made[0])
    with pytest.raises(WorkersLostError, match="none of 1 is left: the cluster may have no room"):
        remote.run(spacevrp.generate("CVRP", 8, 1)[0])
    assert remote.ready == 0
    remote.close()


def test_what_lost_actors_had_found_is_kept(serving: Any, actors: Actors, tmp_path: Path) -> None:
    """Where a client stops the job, and where the server ends."""
    server = serving(RemoteSolver(actors), data=tmp_path)
    body = {"problem": FOUR, "time": 3000}
    stopped, left = server.take(body), server.take(body)
    server.until(lambda: server.job(stopped)["plan"])

    def lose(actor: Actor, events: list[Any]) -> bool:
        return any(job.stopping for job in server.service.workers._running)

    actors.kill_when = lose
    ended = server.http.delete(f"/v1/jobs/{stopped}").json()
    assert (ended["state"], ended["cost"]) == ("stopped", LOOP)
    server.until(lambda: server.job(left)["plan"])
    actors.kill_when = lambda actor, events: server.service.workers._ended.is_set()
    server.close()
    actors.kill_when = lambda actor, events: False
    server = serving(RemoteSolver(actors), data=tmp_path)
    assert server.until(lambda: server.job(left)["plan"])["cost"] == LOOP


def test_max_time_ends_a_job_elsewhere(serving: Any, actors: Actors) -> None:
    server = serving(RemoteSolver(actors), max_time=0.5)
    ended = server.ended(server.take({"problem": FOUR, "iterations": 10**9}))
    assert (ended["state"], ended["cost"]) == ("done", LOOP)


def test_engines_that_there_are_none_of() -> None:
    from spacevrp.serve.service import Service
    from spacevrp.serve.settings import Settings

    with pytest.raises(SpacevrpError, match=r"engine: expected local, ray or ray://HOST:PORT"):
        Service(Settings(engine="slurm"))


@pytest.mark.slow
def test_a_cluster(serving: Any) -> None:
    """The same with Ray: a job outlives its actor, and fifty jobs all end."""
    ray = pytest.importorskip("ray", reason="needs Ray, the extra ray")
    from spacevrp.many.remote import RayActors

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    remote = RemoteSolver(RayActors(workers=2, device="cpu"))
    server = serving(remote)
    try:
        job = server.take({"problem": FOUR, "time": 3000})
        server.until(lambda: server.job(job)["plan"])
        before = list(remote._all)
        for actor in before:
            os.kill(ray.get(actor.start.remote()).pid, signal.SIGKILL)
        names = [server.take(FOUR | {"name": f"{number}"}) for number in range(50)]
        server.until(lambda: not set(before) & set(remote._all))
        assert {server.ended(name)["cost"] for name in names} == {LOOP}
        stopped = server.http.delete(f"/v1/jobs/{job}").json()
        assert (stopped["state"], stopped["cost"]) == ("stopped", LOOP)
    finally:
        server.close()
        ray.shutdown()
