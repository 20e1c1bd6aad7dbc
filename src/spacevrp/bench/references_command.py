"""``spacevrp bench references``: show, extend and merge the reference costs."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from spacevrp.bench import suite
from spacevrp.bench.options import add_options
from spacevrp.bench.references import PACKAGED, SEED, SIZE, References, ReferenceSet, SetName
from spacevrp.bench.tables import TableRow, column, mean, print_rows
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.variants import VARIANTS

DONE, SOME_FAILED = 0, 1
_SUITES = {"best": "references", "paper": "paper-oracles"}
_SHOWN_FAILURES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench references``."""
    parser.epilog = (
        "Without --extend or --merge the references are shown; --format json: how many instances "
        "of each variant have one. Exit code 0: done; 1: the referee refused some plans; 2: bad "
        "usage, a file that cannot be read, a solver that is not installed."
    )
    what = parser.add_mutually_exclusive_group()
    add_options(
        what,
        extend={
            "nargs": "?",
            "const": "best",
            "choices": tuple(_SUITES),
            "help": "solve by the strongest exact solvers (or by the paper's kind, with its time) "
            "as `spacevrp bench suite references` (or paper-oracles) does, which has the options "
            "below, and take in what is better",
        },
        merge={
            "metavar": "FILE",
            "type": Path,
            "nargs": "+",
            "help": f"take in the {suite.BETTER} of suites, every plan judged again",
        },
    )
    add_options(
        parser,
        file={
            "metavar": "PATH",
            "type": Path,
            "help": "the references to read and to improve; default: those of the package",
        },
    )
    suite.add_options_of_runs(parser)


def run(args: argparse.Namespace) -> int:
    """Show, or take in what is better and say what came of it."""
    args.file = args.file or PACKAGED
    takes_in = args.extend or args.merge
    references = References() if takes_in and not args.file.exists() else References.load(args.file)
    if not takes_in:
        _show(references, args)
        return DONE
    if not args.extend:
        return _merge(args.merge, references, args)
    if args.output is None:
        raise SpacevrpError("--extend: expected -o FOLDER for the plans, received none")
    args.suite = _SUITES[args.extend]
    suite.run(args)
    return _merge([args.output / suite.BETTER], references, args)


def _merge(paths: list[Path], references: References, args: argparse.Namespace) -> int:
    from spacevrp.bench.reference_plans import merge
    from spacevrp.writing import check_target

    check_target(args.file, ".json")
    merged = merge(paths, references, progress=not args.quiet)
    references.save(args.file)
    print(
        f"{args.file}: {merged.judged} results judged again, {merged.improved} better than before"
    )
    for message in merged.failures[:_SHOWN_FAILURES]:
        print(f"spacevrp: {message}", file=sys.stderr)
    if len(merged.failures) > _SHOWN_FAILURES:
        print(f"spacevrp: and {len(merged.failures) - _SHOWN_FAILURES} more", file=sys.stderr)
    return SOME_FAILED if merged.failures else DONE


# ----------------------------------------------------------------------------------------- showing


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
    names = [n for n in VARIANTS if any(fnmatch.fnmatchcase(n, one) for one in args.only or ["*"])]
    series = {name: SetName(name, args.size or SIZE, SEED) for name in names}
    held = {name: references.sets.get(one, ReferenceSet()) for name, one in series.items()}
    if args.format == "json":
        print(json.dumps({name: len(one.known("best")) for name, one in held.items()}, indent=1))
    else:
        print_rows(_row(name, one) for name, one in held.items())


def _row(name: str, held: ReferenceSet) -> SeriesRow:
    best, of_paper = held.known("best"), held.known("paper")
    by = Counter(f"{entry.solver} {entry.seconds:g} s" for entry in best)
    # By how much the paper's kind is above the best known, where both are there.
    above = [
        100.0 * (theirs.cost - one.cost) / abs(one.cost)
        for theirs, one in zip(held.paper, held.best, strict=False)
        if theirs is not None and one is not None and one.cost != 0
    ]
    return SeriesRow(
        variant=name,
        found_by=", ".join(f"{number} {solver}" for solver, number in by.most_common()),
        best=len(best),
        cost=mean([entry.cost for entry in best]),
        paper=len(of_paper),
        paper_cost=mean([entry.cost for entry in of_paper]),
        above=mean(above),
    )
