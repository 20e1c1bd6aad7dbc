"""Extending the reference costs: which solver for which instance, running, merging, checking."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from spacevrp.bench import paper
from spacevrp.bench.references import PAPER_SECONDS, Reference, References, ReferenceSet, SetName
from spacevrp.bench.tables import TableRow, column
from spacevrp.generators import generate
from spacevrp.oracles import (
    APPROXIMATE,
    AUTO,
    ORACLES,
    Failure,
    OracleResult,
    make_oracle,
    strongest,
)
from spacevrp.oracles.pool import (
    Outcome,
    Task,
    as_line,
    from_line,
    read_record,
    run_tasks,
    task_key,
)
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.writing import append_line

PAPER = "paper"
# The paper's oracles, and who of ours takes their part: the first that models the variant exactly.
# (An iterated local search for prize thresholds: only the approximate one is of that kind.)
_PAPER_SOLVERS: dict[str, tuple[str, ...]] = {
    "LKH-3": ("lkh", "pyvrp", "ortools"),
    "PyVRP": ("pyvrp", "ortools"),
    "OR-Tools": ("ortools",),
    "Compass": ("pyvrp", "ortools"),
    "ILS": ("pyvrp-approximate", "ortools"),
}
_SAME_SOLVER = {"LKH-3": "lkh", "PyVRP": "pyvrp", "OR-Tools": "ortools"}
_INSTANCE_NAME = re.compile(r"(?P<variant>[A-Z]+)-n(?P<size>\d+)-s(?P<seed>\d+)-i(?P<index>\d+)")
# What a line of a record must hold.
_LINE: dict[str, type | tuple[type, ...]] = {
    "routes": list,
    "budget": (int, float),
    "cost": (int, float),
    "claimed": (int, float),
    "seconds": (int, float),
    "solver": str,
    "version": str,
    "note": str,
}
# The file is written again after so many seconds at the earliest.
_SAVE_SECONDS = 20.0
# Sums of the same numbers on another machine differ by no more.
_SAME_COST = 1e-9
_SMALL = 6  # customers of the instance that solvers are asked about


# -------------------------------------------------------------------------------------- who solves


@cache
def _example(variant: str) -> Problem:
    """A small instance: what a solver can model depends on the rules of the variant alone."""
    return generate(variant, _SMALL, 1)[0]


@cache
def paper_solver(variant: str) -> str:
    """Our solver of the kind that the paper takes for the variant."""
    example = _example(variant)
    candidates = _PAPER_SOLVERS[paper.table("gaps")["oracle"][variant]]
    return next(name for name in candidates if make_oracle(name).supports(example) is None)


@cache
def auto_solvers(variant: str) -> tuple[str, ...]:
    """The strongest exact solver, and approximate ones whose plans may be better still."""
    example = _example(variant)
    approximate = [name for name in APPROXIMATE if make_oracle(name).supports(example) is None]
    return (strongest(example), *approximate)


def solvers_for(variant: str, solver: str) -> tuple[str, ...]:
    """Names of those to run; none where the solver asked for cannot model the variant."""
    if solver == AUTO:
        return auto_solvers(variant)
    if solver == PAPER:
        return (paper_solver(variant),)
    supported = make_oracle(solver).supports(_example(variant)) is None
    return (solver,) if supported else ()


def note_on(variant: str, solver: str) -> str:
    """What is not exact in a solver's model of the variant."""
    notes = []
    if solver in APPROXIMATE:
        notes.append("approximate: searched over the worth of a prize")
    if VARIANTS[variant].features.stochastic_prizes:
        notes.append("planned with expected prizes")
    return "; ".join(notes)


def paper_note(variant: str, solver: str) -> str:
    """The same, and for whom of the paper's oracles the solver stands in."""
    oracle = paper.table("gaps")["oracle"][variant]
    stands_in = "" if _SAME_SOLVER.get(oracle) == solver else f"in place of {oracle}"
    return "; ".join(filter(None, [stands_in, note_on(variant, solver)]))


# -------------------------------------------------------------------------------------- what to do


@dataclass(frozen=True)
class Job:
    """An instance, and who is to solve it in which time."""

    name: SetName
    index: int
    solver: str
    seconds: float

    def problem(self) -> Problem:
        """The instance, generated again."""
        return instance(self.name, self.index)


def instance(name: SetName, index: int) -> Problem:
    """Instance number ``index`` of a series."""
    return generate(name.variant, name.size, 1, name.seed, first=index)[0]


def plan(
    names: Sequence[SetName],
    count: int,
    solver: str,
    seconds: float,
    references: References,
    *,
    again: bool = False,
) -> list[Job]:
    """What is not known as well already: no solver with as much time was asked.

    Instance 0 of all variants comes first, then instance 1 of all, so that a run that is
    interrupted covers all alike.

    Raises
    ------
    MissingSolverError, UnsupportedError
        A solver that is not installed, or can model none of the variants.
    """
    chosen = {name: solvers_for(name.variant, solver) for name in names}
    if not any(chosen.values()):
        make_oracle(solver).check(_example(names[0].variant))
    for needed in sorted({each for solvers in chosen.values() for each in solvers}):
        make_oracle(needed).require()
    return [
        Job(name, index, each, seconds)
        for index in range(count)
        for name in names
        for each in chosen[name]
        if again or not _is_known(references, name, index, each, solver, seconds)
    ]


def _is_known(
    references: References, name: SetName, index: int, each: str, asked: str, seconds: float
) -> bool:
    if asked == PAPER:  # more time than the paper's is not its kind
        return references.paper(name, index + 1)[index] is not None
    return references.seconds_tried(name, index, each) >= seconds


# ----------------------------------------------------------------------------------------- doing it


@dataclass
class Report:
    """What came of it."""

    computed: int = 0
    improved: int = 0
    left: int = 0  # not begun, or not ended, before the time was up
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Run:
    """How references are computed."""

    seed: int = 0  # of the solvers
    processes: int = 1  # instances solved at a time, each by one thread
    until: float | None = None  # of time.monotonic(): what could not be done by then is not begun
    record: Path | None = None  # results are appended at once; what it holds is not computed again
    save: Path | None = None  # the references, written now and then and at the end
    progress: bool | Literal["always"] = False


_IN_TURN = Run()


def extend(
    jobs: Sequence[Job],
    references: References,
    run: Run,
    found: Callable[[Job, OracleResult], None] | None = None,
) -> Report:
    """Solve, take in what is better, and call ``found`` with every result."""
    record, save, seed = run.record, run.save, run.seed
    known = {} if record is None else read_record(record)
    report = Report(left=len(jobs))
    # None: tqdm itself looks whether stderr is a terminal.
    disable = {True: None, "always": False}.get(run.progress, True)

    def keep(job: Job, outcome: Outcome) -> None:
        report.left -= 1
        bar.update()
        if not isinstance(outcome, OracleResult):
            message = outcome.message if isinstance(outcome, Failure) else str(outcome)
            report.failures.append(message)
            return
        report.improved += take_in(references, job, outcome)
        if found is not None:
            found(job, outcome)

    def tasks() -> Iterator[Task]:
        for number, job in enumerate(jobs):
            problem = job.problem()
            key = task_key(problem, job.solver, job.seconds, seed, None)
            recorded = _recorded(problem, known.get(key))
            if recorded is None:
                yield Task(number, key, problem, job.solver, job.seconds, seed)
            else:
                keep(job, recorded)

    saved = time.monotonic()
    in_hand: tuple[Task, OracleResult] | None = None
    with tqdm(total=len(jobs), unit=" instances", disable=disable) as bar:
        try:
            for task, outcome in run_tasks(tasks(), run.processes, run.until):
                if isinstance(outcome, OracleResult):
                    in_hand = task, outcome
                    if record is not None:
                        append_line(record, as_line(task, outcome))
                report.computed += 1
                keep(jobs[task.index], outcome)
                in_hand = None
                if save is not None and time.monotonic() - saved > _SAVE_SECONDS:
                    references.save(save)
                    saved = time.monotonic()
        finally:
            # A signal may come when a result is in the record already and nowhere else, or before.
            if in_hand is not None:
                task, result = in_hand
                if record is not None and task.key not in read_record(record):
                    append_line(record, as_line(task, result))
                take_in(references, jobs[task.index], result)
            if save is not None:
                references.save(save)
    return report


def _recorded(problem: Problem, line: dict[str, Any] | None) -> OracleResult | None:
    """What a record says of an instance; None where there is nothing that the referee passes."""
    try:
        return None if line is None else from_line(problem, line)
    except SpacevrpError:
        return None


def take_in(references: References, job: Job, result: OracleResult) -> bool:
    """Offer a result to the references; whether it is the best known now."""
    variant, solver = job.name.variant, result.solver
    reference = Reference(
        result.solution.cost, solver, result.version, job.seconds, note_on(variant, solver)
    )
    of_paper = None
    if job.seconds == PAPER_SECONDS and solver == paper_solver(variant):
        of_paper = replace(reference, note=paper_note(variant, solver))
    return references.offer(job.name, job.index, reference, paper=of_paper)


# ------------------------------------------------------------------------------------------ merging


def merge(
    paths: Sequence[Path], references: References, progress: bool | Literal["always"] = False
) -> Report:
    """Take in the records of other runs; every plan is judged again on the generated instance."""
    lines = []
    for path in paths:
        if not path.is_file():
            raise FormatError(f"{path}: expected a record of results, found no such file")
        lines += [(path, line) for line in read_record(path).values()]
    report = Report()
    disable = {True: None, "always": False}.get(progress, True)
    for path, line in tqdm(lines, unit=" results", disable=disable, leave=False):
        job = _job_of(path, line)
        try:
            result = from_line(job.problem(), line)
        except SpacevrpError as error:
            report.failures.append(f"{path}: {error}")
            continue
        cost = result.solution.cost
        if not math.isclose(cost, line["cost"], rel_tol=_SAME_COST, abs_tol=_SAME_COST):
            report.failures.append(
                f"{path}: {line['name']}: expected the recorded cost {line['cost']!r}, the referee "
                f"counts {cost!r}: was it another instance?"
            )
            continue
        report.computed += 1
        report.improved += take_in(references, job, result)
    return report


def _job_of(path: Path, line: dict[str, Any]) -> Job:
    """The job that a line of a record was the result of."""
    match = _INSTANCE_NAME.fullmatch(str(line.get("name")))
    if match is None or match["variant"] not in VARIANTS:
        raise FormatError(
            f"{path}: expected results on generated instances, such as CVRP-n100-s1-i0, received "
            f"{line.get('name')!r}"
        )
    for key, kind in _LINE.items():
        if not isinstance(line.get(key), kind):
            raise FormatError(f"{path}: {line['name']}: expected {key}, received {line.get(key)!r}")
    name = SetName(match["variant"], int(match["size"]), int(match["seed"]))
    return Job(name, int(match["index"]), line["solver"], float(line["budget"]))


# ----------------------------------------------------------------------------------------- checking


@dataclass(frozen=True, kw_only=True)
class Family(TableRow):
    """What more time brought to the instances of one solver, asymmetric ones apart.

    Changes are in percent; below zero is better.
    """

    solver: str = column("solver", 17)
    distances: str = column("distances", 10)
    instances: int = column("instances", 9)
    better: int = column("better", 6)
    mean: float = column("mean %", 7, "+.3f")
    least: float = column("least %", 7, "+.3f")

    @classmethod
    def of(cls, solver: str, distances: str, changes: Sequence[float]) -> Family:
        """From the change of each instance."""
        return cls(
            solver=solver,
            distances=distances,
            instances=len(changes),
            better=sum(change < 0 for change in changes),
            mean=math.fsum(changes) / len(changes),
            least=min(changes),
        )


def plan_check(
    names: Sequence[SetName], references: References, factor: float, count: int
) -> list[Job]:
    """A sample over all solvers, each to be asked again with so many times its seconds."""
    held = [
        Job(name, index, entry.solver, entry.seconds * factor)
        for name in names
        for index, entry in enumerate(references.sets.get(name, ReferenceSet()).best)
        if entry is not None and entry.solver in ORACLES | APPROXIMATE  # not our own
    ]
    # Evenly spaced in this order, so that every kind has its share.
    held.sort(key=lambda job: (job.solver, _is_asymmetric(job), job.index))
    count = min(count, len(held))
    return [held[number * len(held) // count] for number in range(count)]


def compare(
    references: References, jobs: Sequence[Job], run: Run = _IN_TURN
) -> tuple[list[Family], Report]:
    """Solve a sample again, and by how much its costs differ from the best known before."""
    before = {job: references.sets[job.name].best[job.index] for job in jobs}
    changes: dict[tuple[str, str], list[float]] = {}

    def found(job: Job, result: OracleResult) -> None:
        known = before[job]
        if known is not None and known.cost != 0:
            family = (job.solver, "asymmetric" if _is_asymmetric(job) else "symmetric")
            change = 100.0 * (result.solution.cost - known.cost) / abs(known.cost)
            changes.setdefault(family, []).append(change)

    report = extend(jobs, references, run, found)
    return [Family.of(*family, each) for family, each in sorted(changes.items())], report


def _is_asymmetric(job: Job) -> bool:
    return VARIANTS[job.name.variant].features.asymmetric
