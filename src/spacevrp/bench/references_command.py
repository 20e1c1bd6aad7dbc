"""``spacevrp bench references``: show, extend, merge and check the reference costs."""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import at_least
from spacevrp.bench.references import (
    PACKAGED,
    PAPER_SECONDS,
    SEED,
    SIZE,
    References,
    ReferenceSet,
    SetName,
)
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.variants import VARIANTS, parse_variant

if TYPE_CHECKING:
    from spacevrp.bench.references_work import Family, Report

DONE, SOME_FAILED, INTERRUPTED = 0, 1, 130
_SECONDS = 10.0
_COUNT = 32
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_SHOWN_FAILURES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench references``."""
    parser.epilog = (
        "Without --extend, --merge or --check the references are shown. Exit code 0: done; 1: some "
        "instances have no plan, or the referee refused some; 2: bad usage, a file that cannot be "
        "read, a solver that is not installed."
    )
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="json: how many instances of each variant have a reference; default: table",
    )
    parser.add_argument(
        "--file",
        metavar="PATH",
        type=Path,
        default=PACKAGED,
        help="the references to read and to improve; default: those of the package",
    )
    parser.add_argument(
        "--variants", metavar="NAMES", type=_names, help="only these, such as CVRP,TSP"
    )
    parser.add_argument(
        "--size", metavar="N", type=at_least(4), default=SIZE, help=f"customers; default: {SIZE}"
    )
    parser.add_argument(
        "--seed",
        metavar="SEED",
        type=at_least(0),
        default=SEED,
        help=f"series of the instances; default: {SEED}",
    )
    work = parser.add_argument_group("computing")
    what = work.add_mutually_exclusive_group()
    what.add_argument("--extend", action="store_true", help="solve what is not known as well yet")
    what.add_argument(
        "--merge",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="take in records of other runs, every plan judged again",
    )
    what.add_argument(
        "--check",
        metavar="FACTOR",
        type=_factor,
        help="solve some again with so many times the seconds, and say how much better they get",
    )
    work.add_argument(
        "--solver",
        metavar="NAME",
        type=_solver,
        default="auto",
        help="auto: the strongest exact one, and for prize thresholds the approximate one too; "
        f"paper: of the paper's kind, {PAPER_SECONDS:g} s; or a name; default: auto",
    )
    work.add_argument(
        "--seconds",
        metavar="SECONDS",
        type=_duration,
        help=f"for each instance; default: {_SECONDS:g}, for paper {PAPER_SECONDS:g}",
    )
    work.add_argument(
        "--count",
        metavar="N",
        type=at_least(1),
        default=_COUNT,
        help=f"instances of each variant; default: {_COUNT}",
    )
    work.add_argument(
        "--check-count",
        metavar="N",
        type=at_least(1),
        default=22,
        help="how many instances to check, over all variants; default: 22",
    )
    work.add_argument(
        "--jobs",
        metavar="PROCESSES",
        type=at_least(1),
        default=1,
        help="instances solved at the same time; default: 1",
    )
    work.add_argument(
        "--seed-of-solver", metavar="SEED", type=at_least(0), default=0, help="default: 0"
    )
    work.add_argument(
        "--time",
        metavar="TIME",
        type=_duration,
        help="stop after this long, such as 90s, 20m or 2h, and keep everything",
    )
    work.add_argument(
        "--record",
        metavar="FILE.jsonl",
        type=Path,
        help="append every result with its routes at once; what it holds is not computed again",
    )
    work.add_argument(
        "--again", action="store_true", help="also where the same solver had as much time before"
    )
    work.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """Show, or compute and then say what came of it."""
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
    options: dict[str, Any] = {
        "seed": args.seed_of_solver,
        "processes": args.jobs,
        "until": None if args.time is None else began + args.time,
        "record": args.record,
        "save": args.file,
        "progress": not args.quiet,
    }
    names = _set_names(args)
    if args.check:
        jobs = work.plan_check(names, references, args.check, args.check_count)
        if not jobs:
            raise SpacevrpError(f"{args.file}: expected references to check, found none of these")
        families, report = work.compare(references, jobs, **options)
        _show_families(families, args.check)
    else:
        seconds = _seconds(args)
        _tell_refused(names, args.solver)
        jobs = work.plan(names, args.count, args.solver, seconds, references, again=args.again)
        report = work.extend(jobs, references, **options)
    return _conclude(
        report, args, f"{report.computed} computed in {time.monotonic() - began:.0f} s"
    )


def _tell_refused(names: list[SetName], solver: str) -> None:
    from spacevrp.bench.references_work import solvers_for

    refused = [name.variant for name in names if not solvers_for(name.variant, solver)]
    if refused and len(refused) < len(names):
        print(f"spacevrp: left out, as {solver} cannot model them: {', '.join(refused)}")


def _show_families(families: list[Family], factor: float) -> None:
    print(f"cost with {factor:g} times the seconds against the best known before")
    rows = [
        [
            family.solver,
            "asymmetric" if family.asymmetric else "symmetric",
            str(len(family.changes)),
            str(family.better),
            f"{family.mean:+.3f}",
            f"{min(family.changes):+.3f}",
        ]
        for family in families
    ]
    _print_table(["solver", "distances", "instances", "better", "mean %", "least %"], rows)


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
            [
                name.variant,
                ", ".join(f"{number} {solver}" for solver, number in by.most_common()),
                str(len(best)),
                _mean([entry.cost for entry in best], 5),
                str(len(of_paper)),
                _mean([entry.cost for entry in of_paper], 5),
                _mean(_above(each), 3),
            ]
        )
    columns = ["variant", "found by", "best", "mean cost", "paper's kind", "mean cost", "above %"]
    _print_table(columns, rows)


def _above(held: ReferenceSet) -> list[float]:
    """By how much the paper's kind is above the best known, in percent, where both are there."""
    return [
        100.0 * (of_paper.cost - best.cost) / abs(best.cost)
        for of_paper, best in zip(held.paper, held.best, strict=False)
        if of_paper is not None and best is not None and best.cost != 0
    ]


def _mean(values: list[float], digits: int) -> str:
    return f"{math.fsum(values) / len(values):.{digits}f}" if values else ""


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    """Columns as wide as they must be; the first two to the left."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for cells in (columns, *rows):
        padded = [
            cell.ljust(width) if position < 2 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        print("  ".join(padded).rstrip())


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


def _names(text: str) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(parse_variant(name.strip()).name for name in text.split(",")))
    except SpacevrpError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _solver(text: str) -> str:
    from spacevrp.oracles import APPROXIMATE, AUTO, ORACLES

    known = (AUTO, "paper", *ORACLES, *APPROXIMATE)
    if text not in known:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(known)}, received {text!r}")
    return text


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not (0 < seconds < math.inf):
        raise argparse.ArgumentTypeError(
            f"expected a time above 0, such as 90s, 20m or 2h, received {text[:40]!r}"
        )
    return seconds


def _factor(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (1 < value < math.inf):
        raise argparse.ArgumentTypeError(f"expected a number above 1, received {text[:40]!r}")
    return value
