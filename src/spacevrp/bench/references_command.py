"""``spacevrp bench references``: show, extend and merge the reference costs."""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tqdm import tqdm

from spacevrp.bench import paper, suite
from spacevrp.bench.options import add_options
from spacevrp.bench.references import (
    PACKAGED,
    PAPER_SECONDS,
    SEED,
    SIZE,
    Reference,
    References,
    ReferenceSet,
    SetName,
)
from spacevrp.bench.tables import TableRow, column, mean, print_rows
from spacevrp.generators import generate
from spacevrp.oracles import APPROXIMATE, OracleResult, make_oracle
from spacevrp.oracles.pool import from_line, read_record
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.variants import VARIANTS
from spacevrp.writing import check_target

DONE, SOME_FAILED = 0, 1
_SUITES = {"best": "references", "paper": "paper-oracles"}
_SHOWN_FAILURES = 10
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
# Sums of the same numbers on another machine differ by no more.
_SAME_COST = 1e-9
_SMALL = 6  # customers of the instance that solvers are asked about


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


# ----------------------------------------------------------------------------------------- merging


@dataclass
class Merged:
    """What came of records."""

    judged: int = 0
    improved: int = 0
    failures: list[str] = field(default_factory=list)


def merge(paths: Sequence[Path], references: References, *, progress: bool = False) -> Merged:
    """Take in records of plans; every plan is judged again on the generated instance."""
    lines = []
    for path in paths:
        if not path.is_file():
            raise FormatError(f"{path}: expected a record of results, found no such file")
        lines += [(path, line) for line in read_record(path).values()]
    merged = Merged()
    # None: tqdm itself looks whether stderr is a terminal.
    disable = None if progress else True
    for path, line in tqdm(lines, unit=" results", disable=disable, leave=False):
        name, index = _instance_of(path, line)
        (problem,) = generate(name.variant, name.size, 1, name.seed, first=index)
        try:
            result = from_line(problem, line)
        except SpacevrpError as error:
            merged.failures.append(f"{path}: {error}")
            continue
        cost = result.solution.cost
        if not math.isclose(cost, line["cost"], rel_tol=_SAME_COST, abs_tol=_SAME_COST):
            merged.failures.append(
                f"{path}: {line['name']}: expected the recorded cost {line['cost']!r}, the referee "
                f"counts {cost!r}: was it another instance?"
            )
            continue
        merged.judged += 1
        merged.improved += take_in(references, name, index, result, float(line["budget"]))
    return merged


def _instance_of(path: Path, line: dict[str, Any]) -> tuple[SetName, int]:
    """The series and the number of the instance that a line of a record is about."""
    match = _INSTANCE_NAME.fullmatch(str(line.get("name")))
    if match is None or match["variant"] not in VARIANTS:
        raise FormatError(
            f"{path}: expected results on generated instances, such as CVRP-n100-s1-i0, received "
            f"{line.get('name')!r}"
        )
    for key, kind in _LINE.items():
        if not isinstance(line.get(key), kind):
            raise FormatError(f"{path}: {line['name']}: expected {key}, received {line.get(key)!r}")
    return SetName(match["variant"], int(match["size"]), int(match["seed"])), int(match["index"])


def take_in(
    references: References, name: SetName, index: int, result: OracleResult, seconds: float
) -> bool:
    """Offer what a solver found in so many seconds; whether it is the best known now."""
    variant, solver = name.variant, result.solver
    reference = Reference(
        result.solution.cost, solver, result.version, seconds, note_on(variant, solver)
    )
    of_paper = None
    if seconds == PAPER_SECONDS and solver == paper_solver(variant):
        of_paper = replace(reference, note=paper_note(variant, solver))
    return references.offer(name, index, reference, paper=of_paper)


@cache
def paper_solver(variant: str) -> str:
    """Our solver of the kind that the paper takes for the variant: the first that models it."""
    (example,) = generate(variant, _SMALL, 1)
    able = (n for n in paper.stand_ins(variant) if make_oracle(n).supports(example) is None)
    return next(able)


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
    oracle = paper.oracle(variant)
    stands_in = "" if _SAME_SOLVER.get(oracle) == solver else f"in place of {oracle}"
    return "; ".join(filter(None, [stands_in, note_on(variant, solver)]))
