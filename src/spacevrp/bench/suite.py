"""``spacevrp bench suite``: ours beside other solvers at equal time, on public and generated sets.

A run is one solver on one instance with one seed, on one core; runs of all solvers take turns, as
many side by side as there are jobs. What a run came to is a line of a file as soon as it is over:
the same command goes on where it was interrupted, and tables are made from the lines. Needs no
torch: the network is the compiled one.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spacevrp.arguments import at_least, seconds_above_zero
from spacevrp.bench.neighbours import Neighbours
from spacevrp.bench.options import add_options, add_report_options
from spacevrp.bench.records import command_line, processor
from spacevrp.bench.suite_methods import OURS, Found, Item, Setting, methods
from spacevrp.bench.suite_table import (
    Row,
    compare_solvers,
    gap_of,
    length,
    notes_of,
    summary,
    table,
)
from spacevrp.bench.suites import SUITES, Instance, Line, Suite
from spacevrp.bench.tables import Report
from spacevrp.oracles.pool import Ended, run_in_processes
from spacevrp.problems.errors import SpacevrpError
from spacevrp.writing import append_line, read_lines

LINES, BETTER = ".jsonl", "better.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench suite``."""
    parser.epilog = (
        "Suites: "
        + "; ".join(f"{name}: {suite.title}" for name, suite in SUITES.items())
        + f". With -o, plans of ours that are better than the stored references go to {BETTER}, "
        "which `spacevrp bench references --merge` takes in. Exit code 0: every run of ours has a "
        "plan as complete as the best known; 1: not so; 2: bad usage, missing data or a solver "
        "that is not installed."
    )
    add_options_of_runs(parser)
    parser.add_argument("suite", choices=tuple(SUITES), metavar="SUITE", help=", ".join(SUITES))


def add_options_of_runs(parser: argparse.ArgumentParser, suite: str | None = None) -> None:
    """Declare which runs there are, of a suite where it is known, and where their table goes."""
    parser.set_defaults(suite=suite)
    patterns = {"metavar": "PATTERNS", "type": lambda text: tuple(text.split(","))}
    number = {"metavar": "N", "type": at_least(1)}
    add_options(
        parser,
        time={
            "metavar": "LIMITS",
            "type": limits,
            "help": "seconds of each run, such as 1,10,60, or seconds a customer, such as 2.4n",
        },
        seeds={**number, "help": "runs of each instance"},
        count={"help": "instances of each class that are generated"},
        size={"help": "customers of generated variants; default: those of the suite"},
        solvers={
            **patterns,
            "help": "only these of the suite's, such as 'spacevrp*,pyvrp', or others by name: "
            + ", ".join(methods()),
        },
        only={
            **patterns,
            "help": "classes or instances by name, or classes by name and customers, such as "
            "'VRPTW,X-n1*,CVRP:100'",
        },
        jobs={**number, "default": 1, "help": "runs side by side"},
        data={
            "default": os.environ.get("SPACEVRP_DATA"),
            "help": "where the folders of public data are; default: SPACEVRP_DATA",
        },
        device={"default": "cpu", "help": "of our network"},
        weights=None,
        stored={"action": "store_true", "help": "solve nothing: make the table of what is stored"},
    )
    add_report_options(
        parser, "SUITE", kept=False, more=f", and a line for each run in SUITE{LINES}"
    )


# ``spacevrp bench cvrplib`` is that suite.
CVRPLIB = SimpleNamespace(
    add_arguments=partial(add_options_of_runs, suite="cvrplib"), run=lambda args: run(args)
)


def limits(text: str) -> tuple[str, ...]:
    """Seconds, or seconds a customer with an ``n``, separated by commas."""
    found = {
        f"{seconds_above_zero(one.removesuffix('n')):g}{'n' * one.endswith('n')}"
        for one in text.split(",")
    }
    return tuple(sorted(found, key=length))


def run(args: argparse.Namespace) -> int:
    """Solve what is not stored yet, then make the table."""
    suite = SUITES[args.suite]
    lines = _Lines(args)
    if args.stored:
        if args.output is None:
            raise SpacevrpError("--stored: expected -o FOLDER with what is stored, received none")
        found = lines.last()
    else:
        args.count, args.seeds = args.count or suite.count, args.seeds or suite.seeds
        runs = list(_runs(suite, args))
        for solver in {one.solver for one in runs}:
            methods()[solver].version()  # raises where it is not installed
        found = list(_solve(runs, lines, args))
    rows = table(found, fixed=suite.fixed)
    record = {
        "benchmark": f"suite {args.suite}",
        "command": command_line(),
        "versions": sorted({f"{line['solver']} {line['version']}" for line in found}),
        "machine": {"processor": "; ".join(sorted({line["processor"] for line in found}))},
    }
    report = Report(
        name=args.suite,
        title=suite.title,
        row_type=Row,
        notes=notes_of(rows, suite),
        record=record,
        args=args,
        summary=summary,
        below=compare_solvers,
    )
    report.add(*rows)
    return report.finish()


# -------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Run:
    """One solver on one instance with one seed; ``limit`` is in seconds, or ``2.4n``."""

    suite: str
    instance: Instance
    solver: str
    limit: str
    seed: int
    device: str = "cpu"
    weights: str | None = None

    @property
    def seconds(self) -> float:
        """The limit for so many customers."""
        each = self.limit.endswith("n")
        return float(self.limit.removesuffix("n")) * (self.instance.customers if each else 1)

    @property
    def subject(self) -> dict[str, Any]:
        """What tells it from all other runs."""
        names = ("suite", "solver", "limit", "seed", "device", "weights")
        of_instance = {"class": self.instance.problem_class, "instance": self.instance.name}
        return of_instance | {name: getattr(self, name) for name in names}


def _runs(suite: Suite, args: argparse.Namespace) -> Iterator[Run]:
    """Short limits first, and the solvers in turns."""
    chosen = [one for one in suite.instances(args) if _wanted(one, args.only)]
    if not chosen:
        asked = ",".join(args.only or ())
        raise SpacevrpError(f"--only: expected names of {args.suite}, received {asked!r}")
    own_lines = [line for one in chosen for line in suite.lines_of(one.problem_class)]
    usual = list(dict.fromkeys(name for line in own_lines for name in line))
    for pattern in args.solvers or ():
        if pattern not in methods() and not any(_matches(name, (pattern,)) for name in usual):
            expected = f"some of {', '.join(usual)}, or another solver by its name"
            raise SpacevrpError(f"--solvers: expected {expected}, received {pattern!r}")
    able: dict[Any, list[tuple[str, str]]] = {}  # limits and solvers
    for one in chosen:
        if (one.problem_class, one.size) not in able:
            lines = _lines_asked(suite.lines_of(one.problem_class), args.solvers)
            able[one.problem_class, one.size] = [
                (limit, name)
                for name, own in filter(None, (_first_able(line, one) for line in lines))
                for limit in args.time or ((own,) if own else suite.limits)
            ]
    pairs = {pair for pairs in able.values() for pair in pairs}
    if not pairs:
        raise SpacevrpError("--solvers: expected one that can take these problems, received none")
    for limit in sorted({limit for limit, _ in pairs}, key=length):
        for seed in range(1, args.seeds + 1):
            for one in chosen:
                for at, name in able[one.problem_class, one.size]:
                    if at == limit:
                        yield Run(args.suite, one, name, limit, seed, args.device, args.weights)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _wanted(one: Instance, only: Sequence[str] | None) -> bool:
    names = (one.problem_class, f"{one.problem_class}:{one.size}", one.name)
    return only is None or any(_matches(name, only) for name in names)


def _lines_asked(lines: Sequence[Line], asked: Sequence[str] | None) -> list[Line]:
    """The suite's, without those that were not asked for, and others that were.

    Who is asked for by its name has a line of its own, and is no stand-in.
    """
    if asked is None:
        return list(lines)
    named = {name: own for line in lines for name, own in line.items()}
    chosen: list[Line] = [
        {name: own for name, own in line.items() if _matches(name, asked) and name not in asked}
        for line in lines
    ]
    return [*chosen, *({name: named.get(name)} for name in asked if name in methods())]


def _first_able(line: Line, one: Instance) -> tuple[str, str | None] | None:
    """The first of a line that can model the problem, and its own limit where it has one."""
    example = None if one.rules is None else one.rules()
    for name, own in line.items():
        if example is None:
            return name, own
        problem = example.problem if name.startswith(OURS) else example.given or example.problem
        reason = methods()[name].refuses(problem)
        if reason is None:
            return name, own
        print(f"{name} is left out on {one.problem_class}: {reason}", file=sys.stderr)
    return None


def _solve(
    runs: Sequence[Run], lines: _Lines, args: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Every run's line, those that are stored first."""
    held = [lines.get(one) for one in runs]
    yield from (one for one in held if one is not None)
    left = [run for run, one in zip(runs, held, strict=True) if one is None]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each process has a core
    done = run_in_processes(iter(left), args.jobs, measure, _patience)
    for number, (one, line) in enumerate(done, start=1):
        if isinstance(line, Ended):
            line = line_of(one, one.instance.load(), Found(None, 0.0, note=line.message))
        lines.keep(line)
        if not args.quiet:
            print(f"{number}/{len(left)} {_told(line)}", file=sys.stderr, flush=True)
        yield line


def _patience(run: Run) -> float:
    """Seconds after which a process is ended: its limit several times over."""
    return 60.0 + 3.0 * run.seconds


def _told(line: Mapping[str, Any]) -> str:
    what = f"{line['class']} {line['instance']} {line['solver']} {line['limit']} s"
    gap = gap_of(line["cost"], line["best"])
    return f"{what}: {'no complete plan' if not line['complete'] else line['cost']}" + (
        "" if gap is None else f" ({gap:.3f}%)"
    )


# ------------------------------------------------------------------------------- in another process


def measure(run: Run) -> dict[str, Any]:
    """Solve one instance, and say what came of it."""
    item = run.instance.load()
    setting = Setting(run.seconds, SUITES[run.suite].whole, run.device, run.weights)
    _load_libraries(run.solver, replace(setting, seconds=0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        neighbours = Neighbours()
        found = methods()[run.solver].solve(item, setting, run.seed)
        return {**line_of(run, item, found), "others": neighbours.busy()}


@cache
def _load_libraries(solver: str, setting: Setting) -> None:
    """Weights, too, by a tiny instance."""
    from spacevrp.generators import generate

    methods()[solver].solve(Item(generate("CVRP", 10)[0]), setting, 1)


def line_of(run: Run, item: Item, found: Found) -> dict[str, Any]:
    """What a run came to, as a line; costs are in one unit, whichever solver counts."""
    return {
        **run.subject,
        "version": methods()[run.solver].version(),
        "customers": run.instance.customers,
        "size": run.instance.size,
        "processor": processor(),
        "cost": found.cost,
        "best": item.known,
        "complete": found.cost is not None and not found.unserved,
        "seconds": found.seconds,
        "unserved": found.unserved,
        "iterations": found.iterations,
        "note": found.note,
        "better": better(run, item, found),
    }


def better(run: Run, item: Item, found: Found) -> dict[str, Any] | None:
    """A complete plan as a result to merge into the references, where it may be worth it.

    It is where the suite keeps all, or where ours is better than the stored reference.
    """
    from spacevrp.oracles import OracleResult
    from spacevrp.oracles.pool import as_line, task_key

    plan, known, problem = found.plan, item.known, item.problem
    ours = run.solver.startswith(OURS)
    if plan is None or not plan.feasible or item.path is not None:
        return None
    if not SUITES[run.suite].keeps and not (ours and known is not None and plan.cost < known):
        return None
    solver = OURS if ours else run.solver
    key = task_key(problem, solver, run.seconds, run.seed, None)
    result = OracleResult(plan, solver, methods()[run.solver].version(), found.seconds, plan.cost)
    return as_line(key, problem, run.seconds, result)


# ------------------------------------------------------------------------------------------- lines


class _Lines:
    """What runs came to, a line each; without a folder they are kept here alone."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._folder: Path | None = args.output
        self._name = f"{args.suite}{LINES}"
        self._held: list[dict[str, Any]] = []
        if self._folder is not None:
            self._held = read_lines(self._folder / self._name, _parse, "what a run came to")

    def last(self) -> list[dict[str, Any]]:
        """The last line of each subject."""
        names = ("class", "instance", "solver", "limit", "seed")
        return list({tuple(one[name] for name in names): one for one in self._held}.values())

    def get(self, run: Run) -> dict[str, Any] | None:
        """The line of the same run by the same version."""
        wanted = {**run.subject, "version": methods()[run.solver].version()}
        return next((one for one in self._held if wanted.items() <= one.items()), None)

    def keep(self, line: dict[str, Any]) -> None:
        """Add a line; a plan that is better than a reference goes to a file of its own."""
        found = line.pop("better")
        self._held.append(line)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            append_line(self._folder / self._name, line)
            if found is not None:
                append_line(self._folder / BETTER, found)


def _parse(line: dict[str, Any]) -> dict[str, Any]:
    for name in ("suite", "class", "instance", "solver", "limit", "seed", "complete", "seconds"):
        line[name]
    return line
