"""``spacevrp bench references``: show, extend, merge and check the reference costs."""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import above, at_least, parse_duration
from spacevrp.bench.options import add_options, variant_names
from spacevrp.bench.references import (
    PACKAGED,
    PAPER_SECONDS,
    SEED,
    SIZE,
    References,
    ReferenceSet,
    SetName,
)
from spacevrp.bench.tables import TableRow, column, mean, print_rows
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.variants import VARIANTS

if TYPE_CHECKING:
    from spacevrp.bench.references_work import Report

DONE, SOME_FAILED, INTERRUPTED = 0, 1, 130
_SECONDS = 10.0
_N = {"metavar": "N", "type": at_least(1)}
_SHOWN_FAILURES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench references``."""
    parser.epilog = (
        "Without --extend, --merge or --check the references are shown. Exit code 0: done; 1: some "
        "instances have no plan, or the referee refused some; 2: bad usage, a file that cannot be "
        "read, a solver that is not installed."
    )
    counts = "json: how many instances of each variant have a reference"
    add_options(
        parser,
        format={"choices": ("table", "json"), "default": "table", "help": counts},
        file={
            "metavar": "PATH",
            "type": Path,
            "help": "the references to read and to improve; default: those of the package",
        },
        variants={"metavar": "NAMES", "type": variant_names, "help": "only these: CVRP,TSP"},
        size=SIZE,
        seed={"default": SEED, "help": "series of the instances"},
    )
    work = parser.add_argument_group("computing")
    what = work.add_mutually_exclusive_group()
    add_options(
        what,
        extend={"action": "store_true", "help": "solve what is not known as well yet"},
        merge={
            "metavar": "FILE",
            "type": Path,
            "nargs": "+",
            "help": "take in records of other runs, every plan judged again",
        },
        check={
            "metavar": "FACTOR",
            "type": above(1),
            "help": "solve some again with so many times the seconds, and say how much better they "
            "get",
        },
    )
    add_options(
        work,
        solver={
            "metavar": "NAME",
            "type": _solver,
            "default": "auto",
            "help": "auto: the strongest exact one, and for prize thresholds the approximate one "
            f"too; paper: of the paper's kind, {PAPER_SECONDS:g} s; or a name",
        },
        seconds={
            "metavar": "SECONDS",
            "type": _duration,
            "help": f"for each instance; default: {_SECONDS:g}, for paper {PAPER_SECONDS:g}",
        },
        count=32,
        check_count={**_N, "default": 22, "help": "instances to check, over all variants"},
        jobs={**_N, "metavar": "PROCESSES", "default": 1, "help": "solved at the same time"},
        seed_of_solver={"metavar": "SEED", "type": at_least(0), "default": 0},
        time={
            "metavar": "TIME",
            "type": _duration,
            "help": "stop after this long, such as 90s, 20m or 2h, and keep everything",
        },
        record={
            "metavar": "FILE.jsonl",
            "type": Path,
            "help": "append every result with its routes at once, and compute none that it holds",
        },
        again={
            "action": "store_true",
            "help": "also where the same solver had as much time before",
        },
        quiet=None,
    )


def run(args: argparse.Namespace) -> int:
    """Show, or compute and then say what came of it."""
    args.file = args.file or PACKAGED
    computes = args.extend or args.merge or args.check
    if computes and not args.file.exists():
        references = References()
    else:
        references = References.load(args.file)
    if not computes:
        _show(references, args)
        return DONE
    try:
        with _terminating():
            return _compute(references, args)
    except KeyboardInterrupt:
        print(f"spacevrp: interrupted; everything found is in {args.file}", file=sys.stderr)
        return INTERRUPTED


def _compute(references: References, args: argparse.Namespace) -> int:
    from spacevrp.bench import references_work as work
    from spacevrp.writing import check_target

    began = time.monotonic()
    check_target(args.file, ".json")
    if args.record is not None:
        check_target(args.record, ".jsonl")
    if args.merge:
        report = work.merge(args.merge, references, progress=not args.quiet)
        references.save(args.file)
        return _conclude(report, args, f"{report.computed} results judged again")
    how = work.Run(
        seed=args.seed_of_solver,
        processes=args.jobs,
        until=None if args.time is None else began + args.time,
        record=args.record,
        save=args.file,
        progress=not args.quiet,
    )
    names = _set_names(args)
    if args.check:
        jobs = work.plan_check(names, references, args.check, args.check_count)
        if not jobs:
            raise SpacevrpError(f"{args.file}: expected references to check, found none of these")
        families, report = work.compare(references, jobs, how)
        print(f"cost with {args.check:g} times the seconds against the best known before")
        print_rows(families)
    else:
        seconds = _seconds(args)
        _tell_refused(names, args.solver)
        jobs = work.plan(names, args.count, args.solver, seconds, references, again=args.again)
        report = work.extend(jobs, references, how)
    return _conclude(
        report, args, f"{report.computed} computed in {time.monotonic() - began:.0f} s"
    )


def _tell_refused(names: list[SetName], solver: str) -> None:
    from spacevrp.bench.references_work import solvers_for

    refused = [name.variant for name in names if not solvers_for(name.variant, solver)]
    if refused and len(refused) < len(names):
        print(f"spacevrp: left out, as {solver} cannot model them: {', '.join(refused)}")


def _conclude(report: Report, args: argparse.Namespace, what: str) -> int:
    left = f", {report.left} left" if report.left else ""
    print(f"{args.file}: {what}, {report.improved} better than before{left}")
    for message in report.failures[:_SHOWN_FAILURES]:
        print(f"spacevrp: {message}", file=sys.stderr)
    if len(report.failures) > _SHOWN_FAILURES:
        print(f"spacevrp: and {len(report.failures) - _SHOWN_FAILURES} more", file=sys.stderr)
    return SOME_FAILED if report.failures else DONE


@contextmanager
def _terminating() -> Iterator[None]:
    """SIGTERM ends the work as Ctrl-C does: what was found is written."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# ----------------------------------------------------------------------------------------- showing


def _set_names(args: argparse.Namespace) -> list[SetName]:
    return [SetName(variant, args.size, args.seed) for variant in args.variants or VARIANTS]


@dataclass(frozen=True, kw_only=True)
class SeriesRow(TableRow):
    """What is known of a series."""

    variant: str = column("variant", 14)
    found_by: str = column("found by", 50)
    best: int = column("best", 5)
    cost: float | None = column("mean cost", 10, ".5f")
    paper: int = column("paper's kind", 12)
    paper_cost: float | None = column("mean cost", 10, ".5f")
    above: float | None = column("above %", 8, ".3f")


def _show(references: References, args: argparse.Namespace) -> None:
    held = {name: references.sets.get(name, ReferenceSet()) for name in _set_names(args)}
    if args.format == "json":
        counts = {name.variant: len(each.known("best")) for name, each in held.items()}
        print(json.dumps(counts, indent=1))
        return
    rows = []
    for name, each in held.items():
        best, of_paper = each.known("best"), each.known("paper")
        by = Counter(f"{entry.solver} {entry.seconds:g} s" for entry in best)
        rows.append(
            SeriesRow(
                variant=name.variant,
                found_by=", ".join(f"{number} {solver}" for solver, number in by.most_common()),
                best=len(best),
                cost=mean([entry.cost for entry in best]),
                paper=len(of_paper),
                paper_cost=mean([entry.cost for entry in of_paper]),
                above=mean(_above(each)),
            )
        )
    print_rows(rows)


def _above(held: ReferenceSet) -> list[float]:
    """By how much the paper's kind is above the best known, in percent, where both are there."""
    return [
        100.0 * (of_paper.cost - best.cost) / abs(best.cost)
        for of_paper, best in zip(held.paper, held.best, strict=False)
        if of_paper is not None and best is not None and best.cost != 0
    ]


# --------------------------------------------------------------------------------------- arguments


def _seconds(args: argparse.Namespace) -> float:
    if args.solver == "paper":
        if args.seconds not in (None, PAPER_SECONDS):
            raise SpacevrpError(
                f"--seconds: the paper gives its oracles {PAPER_SECONDS:g} s, received "
                f"{args.seconds:g}"
            )
        return PAPER_SECONDS
    seconds: float = _SECONDS if args.seconds is None else args.seconds
    return seconds


def _solver(text: str) -> str:
    from spacevrp.oracles import APPROXIMATE, AUTO, ORACLES

    known = (AUTO, "paper", *ORACLES, *APPROXIMATE)
    if text not in known:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(known)}, received {text!r}")
    return text


def _duration(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except argparse.ArgumentTypeError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(
            f"expected a time above 0, such as 90s, 20m or 2h, received {text[:40]!r}"
        )
    return seconds
