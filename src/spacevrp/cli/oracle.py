"""``spacevrp oracle``: solve the instances of a file with a classical solver."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.arguments import at_least, seconds_above_zero
from spacevrp.cli.instances import add_instances, add_start, read_instances
from spacevrp.writing import check_target, write_whole

if TYPE_CHECKING:
    from spacevrp.oracles import Failure, OracleResult
    from spacevrp.problems.problem import Problem

SOLVED, NOT_SOLVED = 0, 1
_SOLVERS = ("auto", "pyvrp", "ortools", "ortools-ils", "vroom", "lkh", "pyvrp-approximate")
_RECORD_SUFFIX = ".partial.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp oracle``."""
    parser.epilog = (
        "Every plan is judged by the referee, and its cost is the referee's. A solver that cannot "
        "model an instance exactly refuses it. With -o OUT, results are kept in OUT"
        f"{_RECORD_SUFFIX} as they come: the same command goes on where it was interrupted. Exit "
        "code 0: every instance has a plan; 1: some have none; 2: bad usage, a file that cannot "
        "be read, a solver that is not installed or cannot take an instance."
    )
    add_instances(parser)
    parser.add_argument(
        "--solver",
        choices=_SOLVERS,
        default="auto",
        help="default: auto, the strongest that models the instance exactly; pyvrp-approximate is "
        "for a minimum prize only and not exact",
    )
    parser.add_argument(
        "--seconds",
        metavar="SECONDS",
        type=seconds_above_zero,
        default=10.0,
        help="time for each instance; default: 10",
    )
    parser.add_argument(
        "--jobs",
        metavar="PROCESSES",
        type=at_least(1),
        default=1,
        help="instances solved at the same time; default: 1",
    )
    parser.add_argument("--seed", metavar="SEED", type=at_least(0), default=0, help="default: 0")
    add_start(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUT", type=Path, help="write the solutions to a .json file"
    )
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bar, and no summary beside OUT"
    )


def run(args: argparse.Namespace) -> int:
    """Solve and write."""
    # Imported here, so that help stays instant.
    from spacevrp.formats import read_starts
    from spacevrp.oracles import OracleResult, solve_many

    problems = read_instances(args)
    starts = None if args.start is None else read_starts(args.start, problems)
    out = args.output
    if out is not None:
        check_target(out, ".json")
    began = time.perf_counter()
    results = solve_many(
        problems,
        args.solver,
        args.seconds,
        jobs=args.jobs,
        seed=args.seed,
        starts=starts,
        record=None if out is None else out.with_name(out.name + _RECORD_SUFFIX),
        progress=not args.quiet,
    )
    text = _render(problems, results, time.perf_counter() - began)
    if args.output is None:
        print(text, end="")
    else:
        write_whole(args.output, text.encode())
        if not args.quiet:
            print(f"{args.output}: {_summarise(results)}")
    failed = False
    for number, result in enumerate(results):
        if not isinstance(result, OracleResult):
            failed = True
            print(f"spacevrp: instance {number}: {result.message}", file=sys.stderr)
    return NOT_SOLVED if failed else SOLVED


# ------------------------------------------------------------------------------------- after work


def _render(
    problems: Sequence[Problem], results: Sequence[OracleResult | Failure], seconds: float
) -> str:
    from spacevrp.formats import SolvedInstance, solution_document, solution_json
    from spacevrp.oracles import OracleResult

    names = {problem.variant_name for problem in problems}
    document = solution_document(
        names.pop() if len(names) == 1 else None,
        [
            result.solution if isinstance(result, OracleResult) else SolvedInstance((), None, False)
            for result in results
        ],
        seconds=round(seconds, 3),
        device="cpu",
    )
    for entry, result in zip(document["instances"], results, strict=True):
        if isinstance(result, OracleResult):
            entry["solver"] = result.solver
            entry["version"] = result.version
            entry["seconds"] = round(result.seconds, 3)
            if result.note:
                entry["note"] = result.note
    return solution_json(document)


def _summarise(results: Sequence[OracleResult | Failure]) -> str:
    from spacevrp.oracles import OracleResult

    found = [result for result in results if isinstance(result, OracleResult)]
    used = sorted({f"{result.solver} {result.version}" for result in found})
    parts = [f"{len(found)} of {len(results)} solved"]
    if found:
        mean = math.fsum(result.solution.cost for result in found) / len(found)
        parts += [f"mean cost {mean:.10g}", "with " + ", ".join(used)]
    return ", ".join(parts)
