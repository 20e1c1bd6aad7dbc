"""``spacevrp plot FILE [PLAN]``: a map, a timeline, loads or bars of one plan."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.arguments import at_least
from spacevrp.cli.instances import add_instances, judge_plans, read_instances
from spacevrp.problems.errors import FormatError, SolutionError, SpacevrpError
from spacevrp.writing import check_target, replacing

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem

KINDS = ("routes", "schedule", "load", "bars")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp plot plan``."""
    parser.epilog = (
        "The word 'plan' may be left out. Of a file alone, its nodes are drawn. An .html page "
        "needs neither matplotlib nor a network; other files need the extra 'plots'."
    )
    add_instances(parser)
    parser.add_argument(
        "solution", metavar="PLAN", type=Path, nargs="?", help="its plan: .json, .csv or .sol"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="the picture: .html, .png, .svg or .pdf; default: the plan's name with .html",
    )
    parser.add_argument("--kind", choices=KINDS, default="routes", help="default: routes")
    parser.add_argument(
        "--index",
        metavar="INDEX",
        type=at_least(0),
        default=0,
        help="number of the instance to draw, where there are several; default: 0",
    )


def run(args: argparse.Namespace) -> int:
    """Read the instance and the plan, judge it, and draw it."""
    # Imported here, so that help stays instant.
    from spacevrp.formats import read_solution
    from spacevrp.plots.pictures import check_picture, save_picture

    drawn = args.file if args.solution is None else args.solution
    output = args.output or Path(drawn.name).with_suffix(".html")
    check_picture(output, args.kind)
    check_target(output)
    problems = _read(args)
    if args.index >= len(problems):
        raise SpacevrpError(
            f"--index: expected 0 to {len(problems) - 1}, received {args.index} "
            f"({args.file} has {len(problems)})"
        )
    problem, solution = problems[args.index], None
    if args.solution is not None:
        plans = read_solution(args.solution, problems).instances
        if args.index >= len(plans):
            raise SolutionError(
                f"{args.solution}: expected a plan of instance {args.index}, received {len(plans)}"
            )
        (solution,) = judge_plans(args.solution, [problem], [plans[args.index].routes])
    with replacing(output) as temporary:
        save_picture(temporary, problem, solution, args.kind)
    print(output)
    return 0


def _read(args: argparse.Namespace) -> list[Problem]:
    """The instances; a plan in their place is told from other bad files."""
    from spacevrp.formats import read_solution

    try:
        return read_instances(args, lenient=True)
    except FormatError:
        if args.solution is None:
            try:
                read_solution(args.file)
            except SpacevrpError:
                pass
            else:
                raise FormatError(
                    f"{args.file}: expected an instance and then its plan, received a plan alone, "
                    f"which has no coordinates: spacevrp plot INSTANCE {args.file}"
                ) from None
        raise
