"""A Ray cluster of several nodes, one of which is lost while a run, or a server, is at work."""

from __future__ import annotations

import time
from collections.abc import Iterator
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
pytestmark = pytest.mark.slow

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 10**8}
PATIENCE = 300.0  # seconds; only a test that fails waits so long


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args=NODE)
    for _ in range(2):
        started.add_node(**NODE)
    ray.init(started.address, log_to_driver=False)
    yield started
    ray.shutdown()
    started.shutdown()


def test_a_run_goes_on_without_a_node(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def ready_and_lost(answer: Ready) -> Ready:
        begun.append(answer.pid)
        if len(begun) == 4:  # all three have had one
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        return as_ready(answer)

    monkeypatch.setattr("spacevrp.many.ray_engine.as_ready", ready_and_lost)
    asked: dict[str, Any] = {"device": "cpu", "time": 0.5, "part_size": 2}
    problems = spacevrp.generate("CVRP", 10, 20)
    result = solve_many(problems, output=tmp_path / "plans", engine="ray", **asked)
    assert (result.workers, result.solved) == (3, 20)
    assert [row["index"] for row in result.rows()] == list(range(20))
    # What the node was at, and what it was sent before its loss was noticed.
    assert result.again < 10


def test_single_calls_go_on_without_a_node(cluster: Any) -> None:
    from spacevrp.many.remote import RayActors, RemoteSolver

    solver = RemoteSolver(RayActors("ray", device="cpu"))
    try:
        assert (solver.workers, solver.ready) == (3, 3)
        for node in list(cluster.worker_nodes):
            cluster.remove_node(node, allow_graceful=False)
        problem = spacevrp.generate("CVRP", 10, 1)[0]
        end = time.monotonic() + PATIENCE
        while solver.ready > 1:  # an actor may outlive its node for a while, and answers till then
            assert time.monotonic() < end, "the loss is not noticed"
            assert solver.run(problem, network=False, iterations=20).results[0].feasible
        assert solver.run(problem, network=False, iterations=20).results[0].feasible
        cluster.add_node(**NODE)
        end = time.monotonic() + PATIENCE
        while solver.ready < 2:
            assert time.monotonic() < end, "the new node is not used"
            time.sleep(0.1)
    finally:
        solver.close()


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("ray://", "expected ray://HOST:PORT, received 'ray://'"),
        ("ray://head", "expected ray://HOST:PORT, received 'ray://head'"),
        ("ray://127.0.0.1:1", "ray://127.0.0.1:1: no cluster answers: .*refused"),
    ],
)
def test_addresses_that_are_none(engine: str, message: str) -> None:
    pytest.importorskip("grpc", reason="needs ray[client]")
    with pytest.raises(SpacevrpError, match=message):
        solve_many(spacevrp.generate("CVRP", 5, 2), engine=engine)
