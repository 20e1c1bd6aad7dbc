"""The work of a run on a Ray cluster: actors that hold the network, one a GPU or group of cores.

Plain actors and not Ray Data: a part has one file that one process writes once, under a name that
follows from its number. Ray Data would write blocks again where it computes them again, under names
of its own, and a run that was killed could not tell which are finished. So both engines differ in
nothing but where the workers are, and Ray needs none of its extras.
"""

from __future__ import annotations

import logging
import os
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
        self._waited = 0.0
        self._make, room = actor_maker(settings)
        self.workers = max(1, min(workers or room, most))
        self._busy: dict[Any, tuple[Any, Task | None]] = {}  # by the reference of the answer
        for _ in range(self.workers):
            self._start()

    def submit(self, task: Task) -> None:
        actor = self._idle.pop()
        self._busy[actor.solve.remote(task.items)] = actor, task

    def wait(self) -> list[tuple[Task, list[Row] | Lost]]:
        ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=_PATIENCE)
        if not ready and not self.device and not self._waited:
            self._waited = _PATIENCE
            note = f"the cluster gave no worker for {_PATIENCE:g} seconds: it may have no room"
            warn(note, RuntimeWarning)
        ended: list[tuple[Task, list[Row] | Lost]] = []
        for reference in ready:
            actor, task = self._busy.pop(reference)
            try:
                answer = self._ray.get(reference)
            except self._ray.exceptions.RayTaskError as error:
                raise SpacevrpError(f"workers: an actor failed: {first_line(error)}") from None
            except self._ray.exceptions.RayError as error:
                line = first_line(error)
                ended += self._missed(task, line, f"actors do not start: {line}")
                self._start()
            else:
                ended += self._answered(actor, task, answer)
        return ended

    def close(self) -> None:
        for actor in [*self._idle, *(actor for actor, _ in self._busy.values())]:
            self._ray.kill(actor)
        self._idle.clear()
        self._busy.clear()
        if self._began:
            self._ray.shutdown()

    def _start(self) -> None:
        actor = self._make()
        self._busy[actor.start.remote()] = actor, None


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
            ray.init(address, **quiet)
        elif not _joined(quiet):
            cores = max(cores, os.cpu_count() or 1)
            ray.init("local", num_cpus=cores, include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        line = first_line(error)
        raise SpacevrpError(f"engine: {address}: no cluster answers: {line}") from None
    return True


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
