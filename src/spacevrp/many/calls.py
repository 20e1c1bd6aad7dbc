"""A call of the solver on a thread, whose progress its caller hears of now and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Thread

from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import Outcome, SolveParams, Solver

# A stage begins; a better plan of the problem with this number; at last the outcome, or an error.
# Plans come without their problems, which the caller has.
Event = str | tuple[int, Solution] | Outcome | Exception


class Call:
    """One call of :meth:`Solver.run`, which has begun.

    Parameters
    ----------
    load
        The solver; called on the thread, as this may take a while.
    seconds
        For the call; infinite where the parameters decide.
    """

    def __init__(
        self,
        load: Callable[[], Solver],
        problems: Sequence[Problem],
        params: SolveParams,
        starts: Sequence[Solution | None],
        seconds: float,
        explain: bool | None,
    ) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._numbers = {id(problem): number for number, problem in enumerate(problems)}
        self._deadline: Deadline | None = None
        self._interrupted = False

        def work() -> None:
            try:
                solver = load()
                self._deadline = Deadline(seconds)  # loading does not count
                if self._interrupted:
                    self._deadline.interrupt()
                outcome = solver.run(
                    problems,
                    params,
                    time=self._deadline,
                    start=starts,
                    callback=self._found,
                    progress=self._events.put,
                    explain=explain,
                )
                bare = [replace(plan, problem=None) for plan in outcome.results]
                self._events.put(replace(outcome, results=bare))
            except Exception as error:
                self._events.put(_portable(error))

        Thread(target=work, daemon=True).start()

    def _found(self, plan: Solution) -> None:
        number = self._numbers.get(id(plan.problem))
        if number is not None:
            self._events.put((number, replace(plan, problem=None)))

    def interrupt(self) -> None:
        """End with the best plans so far."""
        self._interrupted = True
        if self._deadline is not None:
            self._deadline.interrupt()

    def hear(self, seconds: float) -> list[Event]:
        """What is new, after so many seconds at the most; of several plans of a problem the last.

        The last event of all is an outcome or an error.
        """
        heard: list[Event] = []
        try:
            heard.append(self._events.get(timeout=seconds))
            while True:
                heard.append(self._events.get_nowait())
        except Empty:
            pass
        last = {event[0]: place for place, event in enumerate(heard) if isinstance(event, tuple)}
        return [
            event
            for place, event in enumerate(heard)
            if not isinstance(event, tuple) or last[event[0]] == place
        ]


def _portable(error: Exception) -> Exception:
    """An error that every process can read; those of other packages may not be there."""
    if isinstance(error, SpacevrpError | MemoryError):
        return error
    return RuntimeError(f"{type(error).__name__}: {' '.join(str(error).split())}")
