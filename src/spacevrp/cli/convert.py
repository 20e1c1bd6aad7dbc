"""``spacevrp convert``: write an instance in another format."""

from __future__ import annotations

import argparse
from pathlib import Path

from spacevrp.cli.instances import add_instances, name_roundings, read_instances
from spacevrp.problems.errors import SpacevrpError
from spacevrp.writing import check_target

DONE = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp convert``."""
    parser.epilog = (
        "What the other format cannot hold is refused by name. Exit code 0: written; 2: bad usage, "
        "a file that cannot be read, or something that cannot be written."
    )
    add_instances(parser)
    parser.add_argument(
        "output",
        metavar="OUT",
        type=Path,
        help="by its suffix: .json, .npz, .vrp, .tsp, .atsp, or .txt (Li-Lim for pairs, "
        "else Solomon)",
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing where all is well")


def run(args: argparse.Namespace) -> int:
    """Read and write."""
    # Imported here, so that help stays instant.
    from spacevrp.formats import write

    if args.output.suffix.lower() == ".sol":
        raise SpacevrpError(f"{args.output}: expected the name of an instance, received a solution")
    problems = read_instances(args, lenient=True)
    check_target(args.output)
    write(problems, args.output)
    if not args.quiet:
        nodes = f"{problems[0].size} nodes" if len(problems) == 1 else f"{len(problems)} instances"
        names = sorted({problem.variant_name for problem in problems})
        kind = names[0] if len(names) == 1 else f"{len(names)} variants"
        print(f"{args.output}: {kind}, {nodes}{name_roundings(problems)}")
    return DONE
