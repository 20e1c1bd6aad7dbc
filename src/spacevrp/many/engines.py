"""Who does the work of a run: processes of this machine here, a Ray cluster in ``ray_engine``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from threading import RLock
from typing import Any, Protocol

from tqdm import tqdm

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


class WorkEngine(Protocol):
    """Workers that take a task each."""

    name: str
    workers: int
    device: str  # of the workers; empty before the first is ready

    @property
    def idle(self) -> int:
        """Workers that wait for a task."""
        ...

    def submit(self, task: Task) -> None:
        """Give a task to an idle worker."""
        ...

    def wait(self) -> list[tuple[Task, list[Row] | Lost]]:
        """Wait for something to happen; the tasks that have ended, which may be none."""
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


class Roster:
    """What both engines know of their workers: who waits for a task, and how many did not start."""

    def __init__(self) -> None:
        self.device = ""
        self._failed_starts = 0
        self._idle: list[Any] = []

    @property
    def idle(self) -> int:
        return len(self._idle)

    def _answered(
        self, worker: Any, task: Task | None, answer: Any
    ) -> list[tuple[Task, list[Row] | Lost]]:
        """A worker waits again: its task has ended or, without one, it is ready."""
        self._idle.append(worker)
        if task is not None:
            return [(task, answer)]
        self.device, self._failed_starts = as_ready(answer).device, 0
        return []

    def _missed(self, task: Task | None, how: str) -> list[tuple[Task, list[Row] | Lost]]:
        """A worker has ended, at its task or, without one, before it was ready."""
        if task is None:
            self._failed_starts += 1
            return []
        self._failed_starts = 0
        return [(task, Lost(how))]

    def _is_replaced(self, others: int, stuck: str) -> bool:
        """Whether a worker that has ended gets a successor.

        Where several did not start, the run goes on with the ``others`` that are left.

        Raises
        ------
        SpacevrpError
            There are none.
        """
        if self._failed_starts < MOST_FAILED_STARTS:
            return True
        if others:
            return False
        raise SpacevrpError(f"workers: {stuck}") from None


class LocalEngine(Roster):
    """Processes of this machine: one a GPU, or one a group of cores.

    Parameters
    ----------
    workers
        Processes. None for one a GPU, and on a CPU for as many as ``threads`` leave room for.
    most
        More than so many have nothing to do.
    """

    name = "local"

    def __init__(self, settings: WorkerSettings, workers: int | None, most: int) -> None:
        gpus = count_gpus() if wants_gpu(settings.device) else 0
        usual = gpus or max(1, cores() // settings.threads)
        super().__init__()
        self.workers = min(workers or usual, most)
        self._settings = settings
        # A worker that loads the network has no task.
        self._busy: dict[Connection, tuple[AnsweringProcess, Task | None, int | None]] = {}
        self._gpus: dict[AnsweringProcess, int | None] = {}
        try:
            for number in range(self.workers):
                self._start(number % gpus if gpus else None)
        except BaseException:
            self.close()
            raise

    def submit(self, task: Task) -> None:
        self._ask(self._idle.pop(), task, task.items)

    def wait(self) -> list[tuple[Task, list[Row] | Lost]]:
        ended: list[tuple[Task, list[Row] | Lost]] = []
        for connection in wait(list(self._busy)):
            assert isinstance(connection, Connection)
            worker, task, gpu = self._busy.pop(connection)
            try:
                answer = worker.receive()
            except ProcessEnded as error:
                stuck = (
                    f"processes do not start: {error}; a program that starts "
                    "processes has its work below `if __name__ == '__main__':`"
                )
                ended += self._missed(task, str(error))
                del self._gpus[worker]
                if self._is_replaced(len(self._busy) + self.idle, stuck):
                    self._start(gpu)
            else:
                ended += self._answered(worker, task, answer)
        return ended

    def close(self) -> None:
        for worker in [*self._idle, *(worker for worker, _, _ in self._busy.values())]:
            worker.end()
        self._idle.clear()
        self._busy.clear()

    def _start(self, gpu: int | None) -> None:
        worker = AnsweringProcess(_make_worker, replace(self._settings, gpu=gpu))
        self._gpus[worker] = gpu
        self._ask(worker, None, None)

    def _ask(self, worker: AnsweringProcess, task: Task | None, message: Any) -> None:
        worker.send(message)
        self._busy[worker.connection] = worker, task, self._gpus[worker]


def _make_worker(settings: WorkerSettings) -> Callable[[Sequence[Item] | None], Any]:
    """What a process answers: nothing asked means that it is to be ready."""
    # tqdm's own lock is one of the system, which a process that is ended leaves behind.
    tqdm.set_lock(RLock())
    worker = Worker(settings)

    def answer(items: Sequence[Item] | None) -> Any:
        return worker.start() if items is None else worker.solve(items)

    return answer


def count_gpus() -> int:
    """GPUs that torch sees, at least one."""
    import torch

    return max(1, torch.cuda.device_count())
