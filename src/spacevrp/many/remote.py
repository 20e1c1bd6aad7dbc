"""Single calls on the actors of a Ray cluster, for programs such as servers."""

from __future__ import annotations

import uuid
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from spacevrp.many.engines import as_ready
from spacevrp.many.ray_engine import actor_maker, check_ray, connect, first_line
from spacevrp.many.worker import WorkerSettings
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.solution import Solution
from spacevrp.solver import Outcome, SolveParams
from spacevrp.solver.pool import Callback


class RemoteSolver:
    """Has the method ``run`` of a :class:`Solver`, and lets actors of a cluster do the work.

    Threads may call it at the same time: each call has an actor for itself, and waits where all are
    busy.

    Parameters
    ----------
    address
        ``ray`` or ``ray://HOST:PORT``, as of :func:`spacevrp.solve_many`.
    workers
        Actors. None for as many as the cluster has room for.
    weights, device, threads
        Of each actor, as of :class:`Solver`.
    """

    def __init__(
        self,
        address: str = "ray",
        *,
        workers: int | None = None,
        weights: str | None = None,
        device: str = "auto",
        threads: int = 1,
    ) -> None:
        check_ray()
        import ray

        self._ray = ray
        self._began = connect(address, (workers or 1) * threads)
        settings = WorkerSettings(SolveParams(), weights=weights, device=device, threads=threads)
        self._make, room = actor_maker(settings)
        self.workers = workers or max(1, room)
        self._actors = [self._make() for _ in range(self.workers)]
        self._idle: SimpleQueue[Any] = SimpleQueue()
        answers = ray.get([actor.start.remote() for actor in self._actors])
        self.device = {as_ready(answer).device for answer in answers}.pop()
        for actor in self._actors:
            self._idle.put(actor)

    def run(
        self,
        problem: Any,
        params: SolveParams | None = None,
        *,
        callback: Callback | None = None,
        **options: Any,
    ) -> Outcome:
        """As :meth:`Solver.run`; a call whose actor ends is begun again on another, once.

        The callback is called here. Where it raises ``StopIteration``, the call ends with the best
        plans so far.
        """
        actor = self._idle.get()
        try:
            try:
                return self._stream(actor, problem, params, callback, options)
            except self._ray.exceptions.ActorDiedError:
                actor = self._replace(actor)
                return self._stream(actor, problem, params, callback, options)
        except self._ray.exceptions.RayError as error:
            raise SpacevrpError(f"workers: an actor failed: {first_line(error)}") from None
        finally:
            self._idle.put(actor)

    def _stream(
        self,
        actor: Any,
        problem: Any,
        params: SolveParams | None,
        callback: Callback | None,
        options: dict[str, Any],
    ) -> Outcome:
        job, asked_to_stop = uuid.uuid4().hex, False
        stream = actor.stream.options(num_returns="streaming")
        for reference in stream.remote(job, problem, params, options):
            event = self._ray.get(reference)
            if isinstance(event, Exception):
                raise event
            if not isinstance(event, Solution):
                outcome: Outcome = event
                return outcome
            if callback is not None and not asked_to_stop:
                try:
                    callback(event)
                except StopIteration:
                    asked_to_stop = True
                    actor.stop.remote(job)
        raise SpacevrpError("workers: an actor ended a call without a result")

    def _replace(self, actor: Any) -> Any:
        new = self._make()
        self._actors[self._actors.index(actor)] = new
        return new

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        if self._began:
            self._ray.shutdown()
