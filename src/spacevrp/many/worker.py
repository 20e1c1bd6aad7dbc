"""What a worker does, in a process of this machine or in one of a cluster: parse, solve, tell."""

from __future__ import annotations

import os
import sys
import time as clocks
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spacevrp.formats import read
from spacevrp.formats.instance_json import instance_of
from spacevrp.many.calls import Call, Event
from spacevrp.many.rows import Row, failed_row, solved_row
from spacevrp.many.sources import Item, Unreadable
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver import SolveParams, Solver

# Seconds after which the caller hears that there is nothing new.
_PATIENCE = 0.2


@dataclass(frozen=True)
class WorkerSettings:
    """How a worker solves.

    Attributes
    ----------
    time
        Seconds for each instance; None where the parameters decide.
    gpu
        Number of the GPU that a worker of this machine has for itself.
    """

    params: SolveParams
    time: float | None = None
    weights: str | None = None
    device: str = "auto"
    threads: int = 1
    rounding: str | None = None
    time_unit: str | None = None
    columns: Mapping[str, Sequence[str] | str] | None = None
    gpu: int | None = None


@dataclass(frozen=True)
class Ready:
    """What a worker says when it has loaded the network."""

    device: str
    version: str
    pid: int


def package_version() -> str:
    """Version of this package, which is there before any of its modules may import it."""
    package: Any = sys.modules[__name__.partition(".")[0]]
    return str(package.__version__)


class Worker:
    """Holds the network, and solves parts of a run with it."""

    def __init__(self, settings: WorkerSettings) -> None:
        if settings.gpu is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = str(settings.gpu)
        self._settings = settings
        self._solver: Solver | None = None
        self._followed: Call | None = None

    def start(self) -> Ready | SpacevrpError:
        """Load the network; what is wrong with it is an answer, too."""
        try:
            solver = self._loaded()
        except SpacevrpError as error:
            return error
        return Ready(str(solver.device), package_version(), os.getpid())

    def _loaded(self) -> Solver:
        if self._solver is None:
            asked = self._settings
            self._solver = Solver(asked.weights, asked.device, threads=asked.threads)
        return self._solver

    def begin(
        self,
        problems: Sequence[Problem],
        params: SolveParams,
        starts: Sequence[Solution | None],
        seconds: float,
        explain: bool | None,
    ) -> None:
        """Begin a call of :meth:`Solver.run`; one that was not heard to its end is ended."""
        if self._followed is not None:
            self._followed.interrupt()
        self._followed = Call(self._loaded, problems, params, starts, seconds, explain)

    def hear(self, stop: bool) -> list[Event]:
        """What is new of the call, which may be nothing; ``stop`` has it end soon."""
        call = self._followed
        if call is None:
            raise SpacevrpError("expected a call that has begun, received none")
        if stop:
            call.interrupt()
        return call.hear(_PATIENCE)

    def solve(self, items: Sequence[Item]) -> list[Row]:
        """A row for each instance, in their order; a failure is a row, too."""
        began = clocks.perf_counter()
        problems: dict[int, Problem] = {}
        notes: dict[int, list[str]] = {}
        rows: dict[int, Row] = {}
        with TemporaryDirectory(prefix="spacevrp-") as folder:
            for item in items:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        problems[item.number] = self._parse(item, Path(folder))
                    except Exception as error:
                        rows[item.number] = failed_row(item, _reason(error))
                notes[item.number] = [str(one.message) for one in caught]
        outcomes = self._outcomes(problems)
        share = (clocks.perf_counter() - began) / len(items)
        for item in items:
            if item.number in rows:
                continue
            outcome = outcomes[item.number]
            if isinstance(outcome, str):
                rows[item.number] = failed_row(item, outcome)
                continue
            result, reason, more = outcome
            problem = problems[item.number]
            said = [*notes[item.number], *more]
            rows[item.number] = solved_row(item, problem, result, reason, said, share)
        return [rows[item.number] for item in items]

    def _parse(self, item: Item, folder: Path) -> Problem:
        asked, content, source = self._settings, item.content, item.source
        if isinstance(content, Problem):
            return content
        if isinstance(content, Unreadable):
            raise FormatError(content.reason)
        with unservable_allowed():
            if isinstance(content, Mapping):
                return instance_of(Path(source), dict(content), rounding=asked.rounding)
            # Readers take files: the content becomes one, under the name that it had.
            path = folder / content.name
            path.write_bytes(content.data)
            try:
                problem = read(
                    path,
                    rounding=asked.rounding,
                    time_unit=asked.time_unit,
                    columns=asked.columns,
                )
            except SpacevrpError as error:
                raise FormatError(str(error).replace(str(path), source)) from None
        if not isinstance(problem, Problem):
            raise FormatError(f"{source}: expected one instance, received a batch; name it .npz")
        return problem

    def _outcomes(self, problems: Mapping[int, Problem]) -> dict[int, _Solved | str]:
        """Of all instances in one call; one by one where one of them ends the call for all."""
        if not problems:
            return {}
        try:
            return self._call(problems)
        except Exception as error:
            if len(problems) == 1:
                return dict.fromkeys(problems, _reason(error))
        return {
            number: outcome
            for number, problem in problems.items()
            for outcome in self._outcomes({number: problem}).values()
        }

    def _call(self, problems: Mapping[int, Problem]) -> dict[int, _Solved | str]:
        asked = self._settings
        time = None if asked.time is None else asked.time * len(problems)
        outcome = self._loaded().run(list(problems.values()), asked.params, time=time, explain=True)
        # A note may be that of any instance of the call.
        notes = outcome.notes if len(problems) == 1 else ()
        return {
            number: (outcome.results[place], outcome.reasons.get(place), notes)
            for place, number in enumerate(problems)
        }


# A plan, why it is not complete, and what was left out.
_Solved = tuple[Any, str | None, tuple[str, ...]]


def _reason(error: Exception) -> str:
    """One line; of an error that is none of ours, its kind as well."""
    text = " ".join(str(error).split())
    return text if isinstance(error, SpacevrpError) else f"{type(error).__name__}: {text}"
