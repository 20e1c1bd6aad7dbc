"""The file of instances that most verbs take, and how it is read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.problems.roundings import ROUNDINGS

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution

_TIME_UNITS = ("s", "min", "h")


def add_instances(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Declare the file, or several of them, and what may have to be said of it."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="+" if several else None,
        help="instances: .vrp, .json (ours, VROOM's, ...), .csv, .xlsx, .npz, Solomon, Li-Lim or "
        "Cordeau text",
    )
    parser.add_argument(
        "--rounding",
        choices=ROUNDINGS,
        help="rounding of distances from coordinates; default: what is customary for such files",
    )
    parser.add_argument(
        "--time-unit",
        choices=_TIME_UNITS,
        help="what numbers of time are in, in a .csv with times of day, dates or a speed; what the "
        "seconds of VROOM and routing engines become; default: s",
    )
    parser.add_argument(
        "--vehicles",
        metavar="TABLE",
        type=Path,
        help="a table of vehicles, one row a type: .csv or .xlsx",
    )
    parser.add_argument(
        "--column",
        metavar="FIELD=NAME",
        type=_column,
        action="append",
        default=[],
        help="the column of a table of stops that holds a field, such as demand=kg; may be "
        "repeated, also for a field with several kinds of load",
    )


def add_start(parser: argparse.ArgumentParser) -> None:
    """Declare the plans to begin from."""
    parser.add_argument(
        "--start",
        metavar="PLAN",
        type=Path,
        help="feasible plans to begin from, one for each instance: .json, .csv or .sol",
    )


def _column(text: str) -> tuple[str, str]:
    field, equals, name = (part.strip() for part in text.partition("="))
    if not (field and equals and name):
        raise argparse.ArgumentTypeError(f"expected FIELD=NAME, received {text[:40]!r}")
    return field, name


def columns_of(args: argparse.Namespace) -> dict[str, list[str]]:
    """The columns that the user names, by field."""
    columns: dict[str, list[str]] = {}
    for field, name in args.column:
        columns.setdefault(field, []).append(name)
    return columns


def read_instances(args: argparse.Namespace, *, lenient: bool = False) -> list[Problem]:
    """The instances of all files; ``lenient`` lets customers pass whom no vehicle can serve."""
    # Imported here, so that help stays instant.
    from spacevrp.formats import read
    from spacevrp.problems.leniency import unservable_allowed
    from spacevrp.problems.problem import Problem

    problems: list[Problem] = []
    with unservable_allowed() if lenient else nullcontext():
        for path in args.file if isinstance(args.file, list) else [args.file]:
            content = read(
                path,
                rounding=args.rounding,
                time_unit=args.time_unit,
                vehicles=args.vehicles,
                columns=columns_of(args),
            )
            problems += [content] if isinstance(content, Problem) else content
    return problems


def judge_plans(
    path: Path, problems: Sequence[Problem], routes: Sequence[Sequence[Sequence[int]]]
) -> list[Solution]:
    """Judge plans one by one, as many as there are of both; an error says where it is."""
    from spacevrp.problems.errors import SolutionError
    from spacevrp.problems.solution import Solution

    judged = []
    for number, (problem, plan) in enumerate(zip(problems, routes, strict=False)):
        try:
            judged.append(Solution.judged(problem, plan))
        except SolutionError as error:
            where = f"{path}, instance {number}" if len(routes) > 1 else str(path)
            raise SolutionError(f"{where}: {error}") from None
    return judged


def name_roundings(problems: Sequence[Problem]) -> str:
    """For the end of a line: how distances are rounded, where they are."""
    from spacevrp.problems.solution import name_rounding

    names = {name_rounding(problem) for problem in problems} - {None}
    return f", rounding {' and '.join(sorted(map(str, names)))}" if names else ""
