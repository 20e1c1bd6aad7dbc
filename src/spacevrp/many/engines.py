"""Who does the work of a run: processes of this machine here, a Ray cluster in ``ray_engine``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from spacevrp.engines.devices import cores, wants_gpu
from spacevrp.many.rows import Row
from spacevrp.many.sources import Item
from spacevrp.many.worker import Ready, Worker, WorkerSettings, package_version
from spacevrp.problems.errors import SpacevrpError
from spacevrp.processes import AnsweringProcess, ProcessEnded

LOCAL, RAY = "local", "ray"


def is_ray(engine: str) -> bool:
    """Whether an engine is a cluster, rather than this machine.

    Raises
    ------
    SpacevrpError
        It is neither.
    """
    if engine in (LOCAL, RAY) or engine.startswith(f"{RAY}://"):
        return engine != LOCAL
    raise SpacevrpError(f"engine: expected local, ray or ray://HOST:PORT, received {engine[:60]!r}")


@dataclass(frozen=True)
class Task:
    """Instances of one part that a worker solves in one go."""

    part: int
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Lost:
    """A task whose worker ended before it was done; says how."""

    how: str


Ended = tuple[Task, list[Row] | Lost]


class WorkEngine(Protocol):
    """Workers that solve tasks."""

    workers: int
    device: str  # of the workers; empty before the first is ready

    def solve(self, next_task: Callable[[], Task | None], count: int) -> Iterator[list[Ended]]:
        """Solve what ``next_task`` gives, ``count`` tasks as far as is known, until it gives None.

        Yields the tasks that have ended, in any order, whenever something happens; that may be
        none. A task that is lost may be one of those that ``next_task`` gives next, or later.
        """
        ...

    def close(self) -> None:
        """End all workers, whatever they are at."""
        ...


# Workers may be killed while they start, too; after so many one after another no more are started.
MOST_FAILED_STARTS = 3


def as_ready(answer: Ready | SpacevrpError) -> Ready:
    """What a worker said when it was ready; raises what it could not do."""
    if isinstance(answer, SpacevrpError):
        raise answer
    if answer.version != package_version():
        raise SpacevrpError(
            f"workers: expected spacevrp {package_version()} on every machine, received "
            f"{answer.version}"
        )
    return answer


class LocalEngine:
    """Processes of this machine: one a GPU, or one a group of cores.

    Parameters
    ----------
    workers
        Processes. None for one a GPU, and on a CPU for as many as ``threads`` leave room for.
    most
        More than so many have nothing to do.
    """

    def __init__(self, settings: WorkerSettings, workers: int | None, most: int) -> None:
        gpus = count_gpus() if wants_gpu(settings.device) else 0
        usual = gpus or max(1, cores() // settings.threads)
        self.workers = min(workers or usual, most)
        self.device = ""
        self._settings = settings
        self._failed_starts = 0
        self._idle: list[AnsweringProcess] = []
        # A worker that loads the network has no task.
        self._busy: dict[Connection, tuple[AnsweringProcess, Task | None]] = {}
        self._gpus: dict[AnsweringProcess, int | None] = {}
        try:
            for number in range(self.workers):
                self._start(number % gpus if gpus else None)
        except BaseException:
            self.close()
            raise

    def solve(self, next_task: Callable[[], Task | None], count: int) -> Iterator[list[Ended]]:
        read: Task | None = None  # what comes next is read while the workers are busy
        while True:
            read = read or next_task()
            while read is not None and self._idle:
                self._ask(self._idle.pop(), read)
                read = next_task()
            if read is None and not any(task for _, task in self._busy.values()):
                return
            yield self._wait()

    def _wait(self) -> list[Ended]:
        ended: list[Ended] = []
        for connection in wait(list(self._busy)):
            assert isinstance(connection, Connection)
            worker, task = self._busy.pop(connection)
            try:
                answer = worker.receive()
            except ProcessEnded as error:
                ended += self._missed(worker, task, str(error))
                continue
            self._idle.append(worker)
            if task is None:
                self.device, self._failed_starts = as_ready(answer).device, 0
            else:
                ended.append((task, answer))
        return ended

    def _missed(self, worker: AnsweringProcess, task: Task | None, how: str) -> list[Ended]:
        """A worker has ended, at its task or, without one, before it was ready.

        Where several did not start, the run goes on with those that are left.
        """
        gpu = self._gpus.pop(worker)
        self._failed_starts = self._failed_starts + 1 if task is None else 0
        if self._failed_starts < MOST_FAILED_STARTS:
            self._start(gpu)
        elif not self._busy and not self._idle:
            raise SpacevrpError(
                f"workers: processes do not start: {how}; a program that starts "
                "processes has its work below `if __name__ == '__main__':`"
            )
        return [] if task is None else [(task, Lost(how))]

    def close(self) -> None:
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            worker.end()
        self._idle.clear()
        self._busy.clear()

    def _start(self, gpu: int | None) -> None:
        worker = AnsweringProcess(_make_worker, replace(self._settings, gpu=gpu))
        self._gpus[worker] = gpu
        self._ask(worker, None)

    def _ask(self, worker: AnsweringProcess, task: Task | None) -> None:
        worker.send(None if task is None else task.items)
        self._busy[worker.connection] = worker, task


def _make_worker(settings: WorkerSettings) -> Callable[[Sequence[Item] | None], Any]:
    """What a process answers: nothing asked means that it is to be ready."""
    worker = Worker(settings)

    def answer(items: Sequence[Item] | None) -> Any:
        return worker.start() if items is None else worker.solve(items)

    return answer


def count_gpus() -> int:
    """GPUs that torch sees, at least one."""
    import torch

    return max(1, torch.cuda.device_count())
