"""The work of a run on a Ray cluster: Ray Data, with actors that hold the network.

Ray Data only computes; the process where the run was asked for writes each part, once. What an
actor was at when it ended, Ray Data leaves out. It is given out again when the rest is done.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from typing import Any

from spacevrp.engines.devices import wants_gpu
from spacevrp.many.engines import Ended, Lost, Task, as_ready
from spacevrp.many.worker import Ready, Worker, WorkerSettings
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.warning import warn

MISSING = "Ray is not installed: pip install 'spacevrp[ray]'"
# Seconds without a worker after which it is said that the cluster has no room.
_PATIENCE = 60.0
_CONNECT = 20.0  # seconds for a cluster elsewhere to take a connection


def check_ray() -> None:
    """Refuse, in one line that says what to install, where there is no Ray, or no Ray Data."""
    try:
        import ray  # noqa: F401
    except ModuleNotFoundError:
        raise SpacevrpError(MISSING) from None
    if not all(map(find_spec, ("fsspec", "pandas", "pyarrow"))):
        raise SpacevrpError(MISSING)


class RayEngine:
    """Actors of a Ray cluster, to which Ray Data gives the tasks.

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

    def __init__(
        self, address: str, settings: WorkerSettings, workers: int | None, most: int
    ) -> None:
        check_ray()
        import ray

        self._ray = ray
        self._began = connect(address, (workers or 1) * settings.threads)
        self._settings = settings
        self.workers = max(1, min(workers or needs_of(settings)[1], most))
        self.device = ""
        self._stream: Any = None
        self._given: dict[int, Task] = {}  # by their number in the stream
        self._begun: set[int] = set()  # those of them that actors are at
        self._warned = False  # that there is no room

    def solve(self, next_task: Callable[[], Task | None], count: int) -> Iterator[list[Ended]]:
        self._open(min(self.workers, count))
        put, take = self._put(next_task()), self._ask("take")
        while True:
            with cluster_answers():
                asked = [one for one in (put, take) if one is not None]
                ready, _ = self._ray.wait(asked, num_returns=1, timeout=_PATIENCE)
            self._warn_once(bool(ready))
            if put in ready:
                put = self._put(next_task()) if self._answer(put) else None
            if take in ready:
                heard = self._answer(take)
                yield [ended for event in heard if event for ended in self._hear(*event)]
                if heard[-1] is None:
                    break
                take = self._ask("take")
        lost: list[Ended] = [(task, Lost("its actor has ended")) for task in self._given.values()]
        self._end()
        yield lost

    def _open(self, workers: int) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._numbers = count()
        with cluster_answers():
            here = self._ray.get_runtime_context().get_node_id()
            where = NodeAffinitySchedulingStrategy(here, soft=False)
            stream = self._ray.remote(num_cpus=0, scheduling_strategy=where)(_Stream)
            self._stream = stream.remote()
        self._ask("run", self._settings, workers)

    def _put(self, task: Task | None) -> Any:
        if task is None:
            return self._ask("put", None)
        number = next(self._numbers)
        self._given[number] = task
        return self._ask("put", (number, pickle.dumps(task.items)))

    def _ask(self, method: str, *given: Any) -> Any:
        with cluster_answers():
            return getattr(self._stream, method).remote(*given)

    def _answer(self, asked: Any) -> Any:
        try:
            with cluster_answers():
                return self._ray.get(asked)
        except self._ray.exceptions.RayError as error:
            raise SpacevrpError(f"engine: Ray Data has ended: {first_line(error)}") from None

    def _hear(self, number: int, pickled: bytes) -> list[Ended]:
        """An actor has begun a task, or has ended it."""
        answer = pickle.loads(pickled)
        if isinstance(answer, str):
            raise SpacevrpError(f"workers: an actor failed: {answer}")
        if isinstance(answer, list):
            self._begun.discard(number)
            task = self._given.pop(number, None)  # Ray Data may compute again what is there
            return [] if task is None else [(task, answer)]
        self.device = as_ready(answer).device
        self._begun.add(number)
        return []

    def _warn_once(self, answered: bool) -> None:
        """Say that nothing is done: actors wait for room that the cluster does not have."""
        if answered or (self._begun and needs_of(self._settings)[1]):
            self._warned = False
        elif not self._warned:
            self._warned = True
            note = f"the cluster gave no worker for {_PATIENCE:g} seconds: it may have no room"
            warn(note, RuntimeWarning)

    def _end(self) -> None:
        """The actors end with the one that started them."""
        if self._stream is not None:
            end_actor(self._stream)
        self._stream = None
        self._given.clear()
        self._begun.clear()

    def close(self) -> None:
        self._end()
        if self._began:
            self._ray.shutdown()


# --------------------------------------------------------------------------------- on the cluster

# What actors say of a task: its number, and pickled how they are ready, then rows, or an error.
_Event = tuple[int, bytes]


class _Stream:
    """Runs Ray Data on the cluster, which cannot be run through a client port.

    Tasks go in one by one, and Ray Data takes the next when it has room for it.
    """

    def __init__(self) -> None:
        self._given: asyncio.Queue[_Event | None] = asyncio.Queue(maxsize=1)
        self._heard: asyncio.Queue[_Event | None] = asyncio.Queue()

    async def put(self, task: _Event | None) -> bool:
        """Give a task when there is room; None is the last. Whether there may be another."""
        await self._given.put(task)
        return task is not None

    async def next(self) -> _Event | None:
        """The task that was given next."""
        return await self._given.get()

    async def take(self) -> list[_Event | None]:
        """What is new; None is the last."""
        heard = [await self._heard.get()]
        while not self._heard.empty():
            heard.append(self._heard.get_nowait())
        return heard

    async def run(self, settings: WorkerSettings, workers: int) -> None:
        """Solve tasks until None is given."""
        loop = asyncio.get_running_loop()

        def tell(event: _Event | None) -> None:
            loop.call_soon_threadsafe(self._heard.put_nowait, event)

        try:
            await asyncio.to_thread(_follow, settings, workers, tell)
        except Exception as error:
            tell((-1, pickle.dumps(f"{type(error).__name__}: {first_line(error)}")))
        tell(None)


def _follow(settings: WorkerSettings, workers: int, tell: Callable[[_Event], None]) -> None:
    """Run a dataset of tasks, and tell what comes of them."""
    import ray
    from ray.data import ActorPoolStrategy, DataContext
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    context = DataContext.get_current()
    context.target_max_block_size = 1  # a block for each row: none waits for others
    context.max_errored_blocks = -1  # what is lost is left out
    context.execution_options.preserve_order = False
    context.enable_progress_bars = False
    about = ray.get_runtime_context()
    here = NodeAffinitySchedulingStrategy(about.get_node_id(), soft=False)
    tasks = ray.data.from_items([0]).map_batches(
        _tasks, fn_args=(about.current_actor,), num_cpus=0, scheduling_strategy=here
    )
    answers = tasks.map_batches(
        _Mapper,
        batch_size=1,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
        fn_constructor_args=(settings,),
        # A task that ends its actor must not end it for ever: whether it is given out again is
        # decided by the run. So it is not held up by an actor that the cluster has no room for.
        max_restarts=-1,
        max_task_retries=0,
        **needs_of(settings)[0],
    )
    # Without prefetching: one that is there would wait for the next.
    for batch in answers.iter_batches(batch_size=1, batch_format="pyarrow", prefetch_batches=0):
        tell((batch["number"][0].as_py(), batch["pickled"][0].as_py()))


def _tasks(_: Any, stream: Any) -> Iterator[Any]:
    import ray

    while (task := ray.get(stream.next.remote())) is not None:
        yield _table(*task)


class _Mapper:
    """A worker as Ray Data calls it."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._worker = Worker(settings)
        self._ready = self._worker.start()

    def __call__(self, batch: Any) -> Iterator[Any]:
        number = batch["number"][0].as_py()
        yield _table(number, pickle.dumps(self._ready))
        if isinstance(self._ready, Ready):
            try:
                answer: Any = self._worker.solve(pickle.loads(batch["pickled"][0].as_py()))
            except Exception as error:
                answer = f"{type(error).__name__}: {first_line(error)}"
            yield _table(number, pickle.dumps(answer))


def _table(number: int, pickled: bytes) -> Any:
    import pyarrow

    return pyarrow.table({"number": [number], "pickled": [pickled]})


# ------------------------------------------------------------------------------------ the cluster


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


def needs_of(settings: WorkerSettings) -> tuple[dict[str, Any], int]:
    """What an actor needs, and how many the cluster has room for."""
    import ray

    room = ray.cluster_resources()
    gpus = int(room.get("GPU", 0))
    if settings.device == "cuda" or (settings.device == "auto" and gpus):
        wants_gpu("cuda")  # says it where there is no torch
        return {"num_gpus": 1}, gpus
    return {"num_cpus": settings.threads}, int(room.get("CPU", 0)) // settings.threads


def first_line(error: BaseException) -> str:
    """What an error says, in a line: Ray's go on for many."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
