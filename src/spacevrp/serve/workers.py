"""A queue and the threads that empty it, with one network for all of them.

The search and the compiled network release Python's lock, so that threads make use of the cores.
"""

from __future__ import annotations

import math
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from spacevrp.many.remote import RemoteSolver, WorkersLostError
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.serve.faults import Fault, as_fault
from spacevrp.serve.jobs import Job, routes_document
from spacevrp.serve.metrics import Metrics
from spacevrp.serve.settings import Settings
from spacevrp.serve.store import Store
from spacevrp.solver import Solver

# Seconds between two looks at running jobs, and between two states of one in the store.
_LOOK, _SAVE = 0.1, 1.0
# Seconds between two times that old results are forgotten.
_EXPIRE = 10.0
# Bytes of matrices that may wait.
_MOST_HELD = 2**30
# Seconds that a device with its own memory lets small problems wait for each other.
_GPU_BATCH = 0.005
_FIRST_GUESS = 1.0  # seconds of a job, before there was one

AnySolver = Solver | RemoteSolver


class Workers:
    """The queue, the threads, and what looks after them.

    Parameters
    ----------
    count
        Problems that are solved at the same time.
    read
        The problem of a job that was only stored.
    """

    def __init__(
        self,
        solver: AnySolver,
        count: int,
        settings: Settings,
        store: Store,
        metrics: Metrics,
        read: Callable[[Job], Problem],
    ) -> None:
        self.solver, self.settings, self.store, self.metrics = solver, settings, store, metrics
        self.count = count
        self._read = read
        self.jobs: dict[str, Job] = {}  # queued, running, or not stored yet
        self._queue: deque[Job] = deque()
        self._running: set[Job] = set()
        self._changed = threading.Condition()
        self._idle = 0
        self._calls = 0  # of the solver, that are running
        self._ended = threading.Event()
        self._mean = _FIRST_GUESS
        self.store_failing = False
        self.engine_failing = False  # the last problem was lost with its actors
        self._threads: list[threading.Thread] = []
        waits = settings.batch_seconds
        if waits is None:
            waits = _GPU_BATCH if str(solver.device).startswith("cuda") else 0.0
        self._batch_seconds = waits

    # ------------------------------------------------------------------------------- from outside

    def start(self) -> None:
        """Begin to work."""
        named = [(f"worker-{n}", self._work) for n in range(self.count)]
        for name, target in [*named, ("keeper", self._keep)]:
            thread = threading.Thread(target=target, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End the threads. Stored jobs that are not finished wait for the next start."""
        with self._changed:
            self._ended.set()
            for job in self._running:
                if job.deadline is not None:
                    job.deadline.interrupt()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for job in list(self.jobs.values()):
            self._save(job)

    def submit(self, job: Job, *, limited: bool = True) -> None:
        """Put a job into the queue.

        Raises
        ------
        Fault
            429 where the queue is full and this is ``limited``.
        """
        with self._changed:
            if limited:
                self.check_room(job)
            self.jobs[job.id] = job
            self._queue.append(job)
            self._changed.notify_all()

    def check_room(self, job: Job) -> None:
        """Refuse one more where the queue is full."""
        with self._changed:
            held = sum(one.weight for one in self._queue)
            if len(self._queue) >= self.settings.max_queue:
                reason, most = "queue", f"fewer than {self.settings.max_queue} waiting problems"
            elif held and held + job.weight > _MOST_HELD:
                reason, most = "memory", "fewer large problems that wait"
            else:
                return
            waiting = str(self.retry_after())
        self.metrics.count("refused_total", reason=reason)
        raise Fault(
            429,
            f"queue: expected {most}; try again in {waiting} s",
            headers={"Retry-After": waiting},
        )

    def retry_after(self) -> int:
        """Seconds after which the queue has probably become shorter."""
        behind = (len(self._queue) + 1) * self._mean / max(1, self.room)
        return max(1, min(math.ceil(behind / 2), 600))

    def end(self, job: Job) -> None:
        """Stop a job and keep its best plan; one that waits gets none."""
        with self._changed:
            job.stopping = True
            waiting = job in self._queue
            if waiting:
                self._queue.remove(job)
        if waiting:
            self._finish(job, "stopped", job.start)
        elif job.shares_call and job.best is not None:  # the others go on
            self._finish(job, "stopped", job.best)
        elif job.deadline is not None and not job.shares_call:
            job.deadline.interrupt()

    def give_up(self, job: Job, fault: Fault) -> None:
        """End a job that did not run."""
        self.jobs[job.id] = job
        self._fail(job, fault)

    def position(self, job: Job) -> int | None:
        """How many are before it; None where it does not wait."""
        with self._changed:
            return self._queue.index(job) if job in self._queue else None

    @property
    def room(self) -> int:
        """Problems that can be solved at the same time: fewer where a cluster has shrunk."""
        if isinstance(self.solver, RemoteSolver):
            return min(self.count, self.solver.ready)
        return self.count

    @property
    def gauges(self) -> dict[str, float]:
        """How much there is to do."""
        with self._changed:
            return {
                "queue_length": len(self._queue),
                "running": len(self._running),
                "workers": self.room,
            }

    # -------------------------------------------------------------------------------- the threads

    def _work(self) -> None:
        while batch := self._take():
            try:
                self._solve(batch)
            except Exception as error:  # a mistake of ours must not end the thread
                self._complain(error)
                for job in batch:
                    self._fail(job, Fault(500, "the server made a mistake"))
            finally:
                with self._changed:
                    self._calls -= 1
                    self._running.difference_update(batch)

    def _take(self) -> list[Job]:
        """The next job, with small ones that came with it; none when it ends."""
        with self._changed:
            self._idle += 1
            try:
                while not self._ended.is_set() and not (self._queue and self._calls < self.room):
                    # No message comes when a cluster has room again.
                    self._changed.wait(_LOOK if self._queue else None)
            finally:
                self._idle -= 1
            if self._ended.is_set():
                return []
            self._calls += 1
            batch = [self._queue.popleft()]
            self._running.update(batch)
            until = time.monotonic() + self._batch_seconds
            while self._batch_seconds and len(batch) < self.settings.batch_jobs:
                if self._queue and self._joins(self._queue[0], batch[0]) and not self._idle:
                    batch.append(self._queue.popleft())
                    self._running.add(batch[-1])
                    continue
                left = until - time.monotonic()
                if left <= 0 or self._queue or not self._joins(batch[0], batch[0]):
                    break
                self._changed.wait(left)
            return batch

    def _joins(self, job: Job, first: Job) -> bool:
        """Whether a job may share a call: both read and small, neither with a time of its own."""
        return (
            all(
                one.problem is not None
                and one.time is None
                and one.customers <= self.settings.batch_customers
                for one in (job, first)
            )
            and job.params == first.params
        )

    def _solve(self, batch: list[Job]) -> None:
        """Solve jobs in one call; where that fails, each in one of its own."""
        problems: list[Problem] = []
        for job in batch:
            try:
                problems.append(job.problem if job.problem is not None else self._read(job))
            except (Fault, SpacevrpError) as error:
                self._fail(job, error if isinstance(error, Fault) else as_fault(error))
                batch = [one for one in batch if one is not job]
        if not batch:
            return
        deadline = Deadline() if batch[0].time is None else Deadline(batch[0].time)
        jobs = {id(problem): job for problem, job in zip(problems, batch, strict=True)}
        for job in batch:
            job.deadline, job.shares_call = deadline, len(batch) > 1
            self.metrics.observe("wait_seconds", time.monotonic() - job.arrived)
            job.begin()
            if job.stored:
                self._save(job)
            # It may have been stopped, or the server, while it had no deadline.
            if self._ended.is_set() or (job.stopping and len(batch) == 1):
                deadline.interrupt()
        began = time.monotonic()
        self.metrics.count("batches_total", size=str(len(batch)))

        def found(plan: Solution) -> None:
            job = jobs.get(id(plan.problem))
            if job is not None and not job.stopping:
                job.offer(plan)

        def entered(stage: str) -> None:
            for job in batch:
                job.enter(stage)

        try:
            outcome = self.solver.run(
                problems,
                batch[0].params,
                time=deadline,
                start=[job.start for job in batch],
                callback=found,
                progress=entered,
                explain=False,
            )
        except (SpacevrpError, MemoryError) as error:
            if len(batch) > 1:
                for job in batch:
                    self._solve([job])
                return
            self._not_solved(batch[0], error)
            return
        self.engine_failing = False
        spent = time.monotonic() - began
        self._mean += 0.1 * (spent / len(batch) - self._mean)
        for job, plan in zip(batch, outcome.results, strict=True):
            kept = job.best if job.stopping and job.best is not None else plan
            stages = [
                {"name": one.name, "seconds": one.seconds, "cost": one.cost} for one in plan.stages
            ]
            if self._ended.is_set() and job.stored and not job.stopping:
                job.offer(kept)
                job.row.state = "queued"  # the next server begins with what there is
                job.row.best = routes_document(kept) if kept.feasible else None
                continue
            job.enter("judge")
            state = "stopped" if job.stopping else "done"
            self._finish(job, state, kept, outcome.notes, stages=stages)
            self.metrics.observe("job_seconds", spent)

    def _not_solved(self, job: Job, error: SpacevrpError | MemoryError) -> None:
        """A call ended with an error; where the actors were lost, what they had found is not."""
        self.engine_failing = isinstance(error, WorkersLostError)
        if self.engine_failing and self._ended.is_set() and job.stored and not job.stopping:
            job.row.state = "queued"  # for the next server
        elif self.engine_failing and _is_interrupted(job) and job.best is not None:
            self._finish(job, "stopped" if job.stopping else "done", job.best)
        else:
            self._fail(job, _fault_of(error))

    def _fail(self, job: Job, fault: Fault) -> None:
        self._finish(job, "failed", error=fault.document())

    def _finish(
        self,
        job: Job,
        state: str,
        plan: Solution | None = None,
        notes: tuple[str, ...] = (),
        **more: Any,
    ) -> None:
        """End a job; it stays here only as long as the store does not have it."""
        if not job.finish(state, plan, notes, **more):
            return
        self.metrics.count("jobs_total", state=job.state)
        job.problem = None
        if not job.stored or self._save(job):
            with self._changed:
                self.jobs.pop(job.id, None)

    def _save(self, job: Job) -> bool:
        """Write a job into the store; where that fails it is tried again later."""
        if not job.stored:
            return True
        try:
            with job.saving:  # an older state must not come after a newer one
                self.store.save(job.snapshot())
        except (sqlite3.Error, OSError):
            job.dirty = self.store_failing = True
            self.metrics.count("store_failures_total")
            return False
        self.store_failing = False
        return True

    # ------------------------------------------------------------------------------- looking after

    def _keep(self) -> None:
        """Look after the jobs until the end."""
        expired = probed = -math.inf
        while not self._ended.wait(_LOOK):
            try:
                for job in list(self.jobs.values()):
                    self._look_after(job)
                if time.monotonic() - expired > _EXPIRE:
                    expired = time.monotonic()
                    chosen = self.settings
                    self.store.expire(chosen.keep_seconds, chosen.keep_jobs, chosen.keep_bytes)
                if self.store_failing and time.monotonic() - probed > _SAVE:
                    probed = time.monotonic()
                    self.store.probe()
                    self.store_failing = False
            except (sqlite3.Error, OSError):
                self.metrics.count("store_failures_total")
            except Exception as error:  # a mistake of ours must not end the thread
                self._complain(error)

    def _look_after(self, job: Job) -> None:
        """End a job that has taken too long, and store what is new of it."""
        now, started, deadline = time.monotonic(), job.started, job.deadline
        if started is not None and deadline is not None and now - started > self.settings.max_time:
            deadline.interrupt()
        is_due = job.dirty and now - job.saved > _SAVE
        if is_due and self._save(job) and job.finished:
            self.jobs.pop(job.id, None)

    def _complain(self, error: BaseException) -> None:
        self.metrics.count("faults_total")
        complain(error)


def _is_interrupted(job: Job) -> bool:
    """Whether a client, or the limit of time, has ended the job."""
    return job.stopping or (job.deadline is not None and job.deadline.interrupted)


def _fault_of(error: SpacevrpError | MemoryError) -> Fault:
    """Why a problem could not be solved."""
    if isinstance(error, MemoryError):
        return Fault(413, "problem: too large for this machine's memory", field="problem")
    return as_fault(error, status=503 if isinstance(error, WorkersLostError) else 422)


def complain(error: BaseException) -> None:
    """One line about a mistake of ours, with the place where it was made."""
    place: Any = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_name}, line {place.tb_lineno}" if place else "unknown"
    text = " ".join(str(error).split())[:200]
    print(f"spacevrp: fault: {type(error).__name__} in {where}: {text}", file=sys.stderr)
