"""The work of a run on a Ray cluster: actors that hold the network, one a GPU or group of cores.

Plain actors and not Ray Data: a part has one file that one process writes once, under a name that
follows from its number. Ray Data would write blocks again where it computes them again, under names
of its own, and a run that was killed could not tell which are finished. So both engines differ in
nothing but where the workers are, and Ray needs none of its extras.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from spacevrp.engines.devices import wants_gpu
from spacevrp.many.engines import Lost, Roster, Task
from spacevrp.many.rows import Row
from spacevrp.many.worker import Worker, WorkerSettings
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.warning import warn

MISSING = "Ray is not installed: pip install 'spacevrp[ray]'"
# Seconds without a worker after which it is said that the cluster has no room.
_PATIENCE = 60.0
_CONNECT = 20.0  # seconds for a cluster elsewhere to take a connection


def check_ray() -> None:
    """Refuse, in one line that says what to install, where there is no Ray."""
    try:
        import ray  # noqa: F401
    except ModuleNotFoundError:
        raise SpacevrpError(MISSING) from None


class RayEngine(Roster):
    """Actors of a Ray cluster.

    Parameters
    ----------
    address
        ``ray`` for the cluster that is running here, or else a new one of this machine alone;
        ``ray://HOST:PORT`` for one elsewhere, through its client port.
    workers
        Actors. None for as many as the cluster has room for.
    most
        More than so many have nothing to do.
    """

    name = "ray"

    def __init__(
        self, address: str, settings: WorkerSettings, workers: int | None, most: int
    ) -> None:
        check_ray()
        import ray

        self._ray = ray
        self._began = connect(address, (workers or 1) * settings.threads)
        super().__init__()
        self._warned = False  # that there is no room
        self._make, room = actor_maker(settings)
        self.workers = max(1, min(workers or room, most))
        self._busy: dict[Any, tuple[Any, Task | None]] = {}  # by the reference of the answer
        for _ in range(self.workers):
            self._start()

    def submit(self, task: Task) -> None:
        actor = self._idle.pop()
        with cluster_answers():
            self._busy[actor.solve.remote(task.items)] = actor, task

    def wait(self) -> list[tuple[Task, list[Row] | Lost]]:
        with cluster_answers():
            ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=_PATIENCE)
        self._warn_once(bool(ready))
        ended: list[tuple[Task, list[Row] | Lost]] = []
        for reference in ready:
            actor, task = self._busy.pop(reference)
            try:
                with cluster_answers():
                    answer = self._ray.get(reference)
            except self._ray.exceptions.RayTaskError as error:
                raise SpacevrpError(f"workers: an actor failed: {first_line(error)}") from None
            except self._ray.exceptions.RayError as error:
                line = first_line(error)
                ended += self._missed(task, line)
                end_actor(actor)
                if self._is_replaced(len(self._busy) + self.idle, f"actors do not start: {line}"):
                    self._start()
            else:
                ended += self._answered(actor, task, answer)
        return ended

    def _warn_once(self, answered: bool) -> None:
        """Say that nothing is done: actors wait for room that the cluster does not have."""
        is_working = any(task is not None for _, task in self._busy.values())
        if answered or is_working:
            self._warned = False
        elif not self._warned:
            self._warned = True
            note = f"the cluster gave no worker for {_PATIENCE:g} seconds: it may have no room"
            warn(note, RuntimeWarning)

    def close(self) -> None:
        for actor in [*self._idle, *(actor for actor, _ in self._busy.values())]:
            end_actor(actor)
        self._idle.clear()
        self._busy.clear()
        if self._began:
            self._ray.shutdown()

    def _start(self) -> None:
        with cluster_answers():
            actor = self._make()
            self._busy[actor.start.remote()] = actor, None


@contextmanager
def cluster_answers() -> Iterator[None]:
    """Have a cluster that is gone be an error of the run, which the same command goes on with."""
    import ray

    if not ray.is_initialized():  # Ray would start one of this machine alone, unasked
        raise SpacevrpError("engine: the cluster is gone")
    try:
        yield
    except ConnectionError as error:
        raise SpacevrpError(f"engine: the cluster is gone: {first_line(error)}") from None


def end_actor(actor: Any) -> None:
    """End an actor, whatever it is at; one that cannot be reached may still be there."""
    import ray

    with suppress(ray.exceptions.RayError, ConnectionError):
        if ray.is_initialized():
            ray.kill(actor)


def connect(address: str, cores: int = 1) -> bool:
    """Join the cluster, unless this program has done so; whether it was done now.

    A new one of this machine alone has room for so many ``cores`` at least.
    """
    import ray

    if ray.is_initialized():
        return False
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address != "ray":
            _check_client(address)
            ray.init(address, **quiet)
        elif not _joined(quiet):
            cores = max(cores, os.cpu_count() or 1)
            ray.init("local", num_cpus=cores, include_dashboard=False, **quiet)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        line = first_line(error)
        raise SpacevrpError(f"engine: {address}: no cluster answers: {line}") from None
    return True


def _check_client(address: str) -> None:
    """Refuse at once what Ray's client would try for minutes."""
    if find_spec("grpc") is None:
        raise SpacevrpError(f"engine: {address}: gRPC is not installed: pip install 'ray[client]'")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise SpacevrpError(f"engine: expected ray://HOST:PORT, received {address!r}")
    socket.create_connection((host.strip("[]"), int(port)), _CONNECT).close()


def _joined(quiet: dict[str, Any]) -> bool:
    """Whether a cluster is running here, which this program is part of now."""
    import ray

    if os.environ.get("RAY_ADDRESS"):
        ray.init(**quiet)  # an address that is named has to answer
        return True
    try:
        ray.init("auto", **quiet)
    except ConnectionError:
        return False
    return True


def actor_maker(settings: WorkerSettings) -> tuple[Any, int]:
    """A function that starts an actor, and how many the cluster has room for."""
    import ray

    room = ray.cluster_resources()
    gpus = int(room.get("GPU", 0))
    if settings.device == "cuda" or (settings.device == "auto" and gpus):
        wants_gpu("cuda")  # says it where there is no torch
        needs: dict[str, Any] = {"num_gpus": 1}
        most = gpus
    else:
        needs = {"num_cpus": settings.threads}
        most = int(room.get("CPU", 1)) // settings.threads
    # No restarts: an actor that ends is replaced here, where its task is known.
    # Two calls at once: one that works still answers.
    fixed = {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": 2}
    remote = ray.remote(**fixed, **needs)(Worker)
    return lambda: remote.remote(settings), most


def first_line(error: BaseException) -> str:
    """What an error says, in a line: Ray's go on for many."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
