"""``spacevrp bench suite``: public collections by PyVRP's protocol, beside PyVRP.

A run is one solver on one instance with one seed, on one core; runs of both solvers take turns, as
many side by side as there are jobs. What a run came to is a line of a file as soon as it is over:
the same command goes on where it was interrupted, and tables are made from the lines. Needs no
torch: the network is the compiled one.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spacevrp.arguments import at_least
from spacevrp.bench.options import above, add_options, add_report_options, names_out_of
from spacevrp.bench.records import command_line, markdown_table, write_record
from spacevrp.bench.suite_runs import (
    ORACLE,
    OURS,
    PYVRP,
    Found,
    Run,
    count_customers,
    line_of,
    measure,
    read_file,
    version_of,
)
from spacevrp.bench.tables import TableRow, column, mean, most, print_rows
from spacevrp.oracles.workers import Ended, run_in_processes
from spacevrp.problems.errors import SpacevrpError
from spacevrp.writing import append_line, read_lines

LINES = ".jsonl"
_NOTES = """\
By PyVRP's protocol: each run has one core and one seed, the gap is that of the mean over the seeds
to the best known cost of the instance, and the class has the mean over its instances. Every cost
is the referee's{but}. "plans" are complete ones, of so many runs; gaps are over these. "seconds"
are the mean from the call to the plan, the file having been read. PyVRP solves what its own reader
makes of the file with its own settings; Solomon's and Li and Lim's files, which it does not read,
reach it as `to_pyvrp` writes them. {best}
"""


@dataclass(frozen=True)
class Suite:
    """A folder of public data; ``class_of`` says which line of the table a file belongs to."""

    title: str
    pattern: str
    class_of: Callable[[Path], str]


def _solomon_class(path: Path) -> str:
    """Such as C1: where customers are, and how long the day is."""
    found = re.match(r"[A-Za-z]+\d", path.stem)
    return path.stem if found is None else found[0].upper()


SUITES = {
    "pyvrp": Suite("PyVRP's collection", "pyvrp/*/*.vrp", lambda path: path.parent.name),
    "vrptw": Suite("Solomon and Gehring-Homberger", "vrptw/*[0-9].txt", _solomon_class),
    "pdptw": Suite("Li and Lim", "pdptw/*.txt", _solomon_class),
    "cvrplib": Suite(
        "CVRPLIB, X and XXL",
        "cvrplib/*.vrp",
        lambda path: "X" if path.name.startswith("X-") else "XXL",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Row(TableRow):
    """One solver with one limit on the instances of one class."""

    problem: str = column("class", 12)
    limit: str = column("limit s", 7)
    solver: str = column("solver", 8)
    instances: int = column("instances", 9)
    runs: int = column("runs", 5)
    solved: int = column("plans", 5)
    gap: float | None = column("gap %", 8, ".3f")
    worst: float | None = column("worst %", 8, ".3f")
    seconds: float = column("seconds", 9, ".2f")
    note: str = column("note", 4, default="")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench suite``."""
    parser.epilog = (
        "Suites: "
        + "; ".join(f"{name}: {suite.title}" for name, suite in SUITES.items())
        + ". Exit code 0: a complete plan of ours in every run; 1: not so; 2: bad usage or missing "
        "data."
    )
    parser.add_argument("suite", choices=tuple(SUITES), metavar="SUITE", help=", ".join(SUITES))
    add_options(
        parser,
        time={
            "metavar": "LIMITS",
            "type": limits,
            "default": ("2.4n",),
            "help": "seconds of each run, such as 1,10,60, or seconds a customer, such as 2.4n",
        },
        seeds={"metavar": "N", "type": at_least(1), "default": 10, "help": "runs of each instance"},
        solvers={
            "type": names_out_of(OURS, PYVRP, ORACLE),
            "default": (OURS, PYVRP),
            "help": f"{ORACLE} is PyVRP with the data and settings of `spacevrp oracle`",
        },
        only={
            "metavar": "PATTERNS",
            "type": lambda text: tuple(text.split(",")),
            "help": "classes or instances by name, such as 'VRPTW,X-n1*'",
        },
        jobs={"metavar": "N", "type": at_least(1), "default": 1, "help": "runs side by side"},
        data={
            "default": os.environ.get("SPACEVRP_DATA"),
            "help": "where the folders of the suites are; default: SPACEVRP_DATA",
        },
        stored={"action": "store_true", "help": "solve nothing: make the table of what is stored"},
    )
    add_report_options(
        parser, "SUITE", kept=False, more=f", and a line for each run in SUITE{LINES}"
    )


def limits(text: str) -> tuple[str, ...]:
    """Seconds, or seconds a customer with an ``n``, separated by commas."""
    parse = above(0, "seconds")
    found = {
        f"{parse(one.removesuffix('n')):g}{'n' * one.endswith('n')}" for one in text.split(",")
    }
    return tuple(sorted(found, key=lambda one: (one.endswith("n"), float(one.removesuffix("n")))))


def run(args: argparse.Namespace) -> int:
    """Solve what is not stored yet, then make the table."""
    lines = _Lines(None if args.output is None else args.output / f"{args.suite}{LINES}")
    if args.stored:
        if args.output is None:
            raise SpacevrpError("--stored: expected -o FOLDER with what is stored, received none")
        found = lines.last()
    else:
        runs = list(_runs(args))
        for solver in args.solvers:
            version_of(solver)  # raises where it is not installed
        found = [one for one in _solve(runs, lines, args) if one is not None]
    rows = table(found)
    if args.output is not None:
        _write(args, rows, found)
    if args.format == "table":
        print_rows(rows)
    else:
        print(_body(rows, found), end="")
    return int(any(one["solver"] == OURS and not one["complete"] for one in found))


def _runs(args: argparse.Namespace) -> Iterator[Run]:
    """Short limits first, and the solvers in turns."""
    suite = SUITES[args.suite]
    if args.data is None:
        raise SpacevrpError(f"{args.suite}: expected --data or SPACEVRP_DATA, received neither")
    paths = sorted(Path(args.data).glob(suite.pattern), key=lambda path: path.stat().st_size)
    chosen = [
        (suite.class_of(path), path)
        for path in paths
        if args.only is None
        or any(
            fnmatch.fnmatchcase(name, pattern)
            for name in (suite.class_of(path), path.stem)
            for pattern in args.only
        )
    ]
    if not chosen:
        where = f"{args.data}/{suite.pattern}"
        raise SpacevrpError(f"{args.suite}: expected files {where} that --only names, found none")
    for limit in args.time:
        for seed in range(1, args.seeds + 1):
            for problem_class, path in chosen:
                for solver in args.solvers:
                    yield Run(args.suite, problem_class, path, solver, limit, seed)


# ------------------------------------------------------------------------------------------- lines


class _Lines:
    """What runs came to, a line each; without a file they are kept here alone."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._held = [] if path is None else read_lines(path, _parse, "what a run came to")

    def last(self) -> list[dict[str, Any]]:
        """The last line of each subject."""
        return list({_subject(one): one for one in self._held}.values())

    def get(self, run: Run) -> dict[str, Any] | None:
        """The line of the same run by the same version."""
        wanted = {**run.subject, "version": version_of(run.solver)}
        return next((one for one in self._held if wanted.items() <= one.items()), None)

    def keep(self, line: dict[str, Any]) -> None:
        """Add a line."""
        self._held.append(line)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            append_line(self._path, line)


def _parse(line: dict[str, Any]) -> dict[str, Any]:
    for name in ("suite", "class", "instance", "solver", "limit", "seed", "complete", "seconds"):
        line[name]
    return line


def _subject(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("class", "instance", "solver", "limit", "seed"))


def _solve(
    runs: Sequence[Run], lines: _Lines, args: argparse.Namespace
) -> Iterator[dict[str, Any] | None]:
    """Every run's line, those that are stored first."""
    held = [lines.get(one) for one in runs]
    yield from (one for one in held if one is not None)
    left = [run for run, one in zip(runs, held, strict=True) if one is None]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each process has a core
    done = run_in_processes(iter(left), args.jobs, measure, _patience)
    for number, (one, line) in enumerate(done, start=1):
        if isinstance(line, Ended):
            file = read_file(one.path)
            line = line_of(one, file, Found(None, file.best, False, 0.0, note=line.message))
        lines.keep(line)
        if not args.quiet:
            _say(f"{number}/{len(left)} {_told(line)}")
        yield line


def _patience(run: Run) -> float:
    """Seconds after which a process is ended: its limit several times over."""
    return 60.0 + 3.0 * run.seconds(count_customers(run.path))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _told(line: Mapping[str, Any]) -> str:
    what = f"{line['class']} {line['instance']} {line['solver']} {line['limit']} s"
    gap = _gap(line["cost"], line["best"])
    return f"{what}: {'no complete plan' if not line['complete'] else line['cost']}" + (
        "" if gap is None else f" ({gap:.3f}%)"
    )


# ------------------------------------------------------------------------------------------ tables


def table(lines: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Classes in the order of their names; in each, limits and solvers."""
    held = list(lines)
    best = _best_of(held)
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for line in held:
        groups.setdefault((line["class"], line["limit"], line["solver"]), []).append(line)
    return [
        _row(key, groups[key], best)
        for key in sorted(groups, key=lambda key: (key[0], _length(key[1]), key[2] != OURS, key[2]))
    ]


def _length(limit: str) -> tuple[bool, float]:
    return limit.endswith("n"), float(limit.removesuffix("n"))


def _best_of(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """The best known cost of each instance: what is stored beside it, or else of these runs."""
    best: dict[tuple[str, str], float] = {}
    for line in lines:
        key = (line["class"], line["instance"])
        if line["best"] is not None:
            best[key] = line["best"]
        elif line["complete"]:
            best[key] = min(best.get(key, line["cost"]), line["cost"])
    return best


def _row(
    key: tuple[str, str, str],
    lines: Sequence[Mapping[str, Any]],
    best: Mapping[tuple[str, str], float],
) -> Row:
    costs: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        if line["complete"]:
            costs.setdefault((line["class"], line["instance"]), []).append(line["cost"])
    gaps = [_gap(sum(own) / len(own), best.get(which)) for which, own in costs.items()]
    return Row(
        problem=key[0],
        limit=key[1],
        solver=key[2],
        instances=len({line["instance"] for line in lines}),
        runs=len(lines),
        solved=sum(line["complete"] for line in lines),
        gap=mean(gaps),
        worst=most(gaps),
        seconds=sum(line["seconds"] for line in lines) / len(lines),
        note=next((line["note"] for line in lines if line["note"]), ""),
    )


def _gap(cost: float | None, best: float | None) -> float | None:
    """Percent above the best known."""
    return None if cost is None or not best else 100.0 * (cost - best) / abs(best)


def _body(rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]) -> str:
    """The table, what its columns are, and who is ahead."""
    stored = all(line["best"] is not None for line in lines)
    best = "is that of the plan that comes with the file" if stored else "of these runs"
    notes = _NOTES.format(
        but=", but for rows that say so" if any(row.note for row in rows) else "",
        best=f"The best known cost {best}.",
    )
    shown = [row.cells() for row in rows]
    return f"{markdown_table([name for name, _ in Row.columns()], shown)}\n{notes}{_ahead(rows)}"


def _ahead(rows: Sequence[Row]) -> str:
    """In how many classes ours is not above PyVRP's, limit by limit."""
    text = ""
    for limit in sorted({row.limit for row in rows}, key=_length):
        both = [
            (ours, theirs)
            for ours in rows
            for theirs in rows
            if ours.solver == OURS
            and theirs.solver == PYVRP
            and (ours.problem, ours.limit, theirs.limit) == (theirs.problem, limit, limit)
        ]
        if both:
            level = [ours.problem for ours, theirs in both if _rank(ours) <= _rank(theirs)]
            text += (
                f"\nAt {limit} s ours is not above PyVRP's in {len(level)} of {len(both)} classes"
                f"{': ' if level else ''}{', '.join(level)}.\n"
            )
    return text


def _rank(row: Row) -> tuple[float, float]:
    """More plans of all, then a smaller gap."""
    return -row.solved / row.runs, float("inf") if row.gap is None else row.gap


def _write(
    args: argparse.Namespace, rows: Sequence[Row], lines: Sequence[Mapping[str, Any]]
) -> None:
    versions = sorted({f"{line['solver']} {line['version']}" for line in lines})
    places = sorted({line["processor"] for line in lines})
    record = {
        "benchmark": f"suite {args.suite}",
        "command": command_line(),
        "versions": versions,
        "machine": {"processor": "; ".join(places)},
    }
    head = f"# {SUITES[args.suite].title}\n\n`{command_line()}`\n\n{'; '.join(versions)}. "
    text = f"{head}Processor: {'; '.join(places)}.\n\n{_body(rows, lines)}"
    write_record(args.output, args.suite, record, [asdict(row) for row in rows], text)
