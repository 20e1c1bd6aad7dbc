"""``spacevrp solve`` on many instances: folders, tables, or an engine; plans go to a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import at_least
from spacevrp.cli.instances import columns_of
from spacevrp.problems.errors import SpacevrpError

if TYPE_CHECKING:
    from spacevrp.many import ManyResult
    from spacevrp.solver import SolveParams

SOLVED, NOT_SOLVED = 0, 1
FORMATS = ("jsonl", "parquet")
# What is handed on as it was said.
_OPTIONS = (
    *("output", "workers", "threads", "device", "weights", "time", "format"),
    *("part_size", "rounding", "time_unit"),
)
# Of the instances without a complete plan, stderr names so many; a file names them all.
_MOST_NAMED = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what a run over many instances takes besides."""
    group = parser.add_argument_group(
        "many instances",
        "With --engine, a folder or a table (.parquet), OUT is a folder of parts, JSON lines or "
        "Parquet. A run that was ended goes on where it was when the same command is given again; "
        "--time is then for each instance, and --threads for each worker.",
    )
    group.add_argument(
        "--engine",
        metavar="ENGINE",
        help="local: processes of this machine; ray: a Ray cluster, that which runs here or one of "
        "this machine alone; ray://HOST:10001: a cluster elsewhere; default: local",
    )
    group.add_argument(
        "--workers",
        metavar="N",
        type=at_least(1),
        help="default: one a GPU, or one a group of --threads cores",
    )
    group.add_argument(
        "--part-size",
        metavar="N",
        type=at_least(1),
        help="instances of a part; default: at most 32, and 1,024 on a GPU",
    )


def is_many(args: argparse.Namespace) -> bool:
    """Whether the plans go to a folder of parts."""
    return args.engine is not None or any(
        path.suffix.lower() == ".parquet" or path.is_dir() for path in args.file
    )


def check_alone(args: argparse.Namespace) -> None:
    """Refuse options of many instances where there are none."""
    for name in ("workers", "part_size"):
        if getattr(args, name) is not None:
            option = name.replace("_", "-")
            raise SpacevrpError(
                f"--{option}: expected a folder, a table or --engine to go with it, received none"
            )
    if args.format in FORMATS:
        raise SpacevrpError(
            f"--format {args.format}: expected a folder, a table or --engine to go with it, "
            "received none"
        )


def run(args: argparse.Namespace, params: SolveParams) -> int:
    """Solve them, and list those without a complete plan."""
    if args.output is None:
        raise SpacevrpError("expected a folder for the plans: -o OUT, received none")
    for option in ("plot", "verbose", "vehicles", "start"):
        if getattr(args, option):
            raise SpacevrpError(f"--{option}: expected none with a folder, a table or --engine")
    if args.format not in (None, *FORMATS):
        raise SpacevrpError(
            f"--format: expected {' or '.join(FORMATS)} with a folder, a table or --engine, "
            f"received {args.format}"
        )
    from spacevrp.many import solve_many

    try:
        options: dict[str, Any] = {name: getattr(args, name) for name in _OPTIONS}
        options["columns"] = columns_of(args)
        engine = args.engine or "local"
        result = solve_many(args.file, params, engine=engine, progress=not args.quiet, **options)
    except KeyboardInterrupt:
        print(f"spacevrp: interrupted; the same command goes on in {args.output}", file=sys.stderr)
        raise
    if not args.quiet:
        print(f"{args.output}: {_summary(result)}")
    _name_failures(result, args.output)
    return NOT_SOLVED if result.failures else SOLVED


def _summary(result: ManyResult) -> str:
    from spacevrp.problems.plan_text import count

    parts = [f"{result.solved} of {result.count} solved"]
    if result.mean_cost is not None:
        parts.append(f"mean cost {result.mean_cost:.10g}")
    if result.here:
        rate = result.here / result.seconds
        parts.append(f"{result.here} of them now, in {result.seconds:.2f} s ({rate:.3g} a second)")
        parts.append(f"{count(result.workers, 'worker')} on {result.device}")
    else:
        parts.append("all of them before")
    if result.again:
        parts.append(f"{count(result.again, 'part')} given out again after a worker had ended")
    return ", ".join(parts)


def _name_failures(result: ManyResult, folder: Path) -> None:
    for row in result.failures[:_MOST_NAMED]:
        reason = " ".join(str(row["reason"]).split()).removeprefix(f"{row['source']}: ")
        what = "failed" if row["status"] == "failed" else "no complete plan found"
        print(f"spacevrp: {row['index']}: {row['source']}: {what}: {reason}", file=sys.stderr)
    more = len(result.failures) - _MOST_NAMED
    if more > 0:
        print(f"spacevrp: and {more} more: {folder / '_failures.jsonl'}", file=sys.stderr)
