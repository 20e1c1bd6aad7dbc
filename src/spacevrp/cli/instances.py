"""The file of instances that most verbs take, and how it is read."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem

_TIME_UNITS = ("s", "min", "h")


def add_instances(parser: argparse.ArgumentParser) -> None:
    """Declare the file, and what may have to be said of it."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="instances: .vrp, .json (ours, VROOM's, ...), .csv, .npz or Solomon text",
    )
    parser.add_argument(
        "--time-unit",
        choices=_TIME_UNITS,
        help="what numbers of time are in, in a .csv with times of day, dates or a speed; what the "
        "seconds of VROOM and routing engines become; default: s",
    )


def read_instances(
    args: argparse.Namespace, *, rounding: str | None = None, lenient: bool = False
) -> list[Problem]:
    """The instances; ``lenient`` lets customers pass whom no vehicle can serve."""
    # Imported here, so that help stays instant.
    from spacevrp.formats import read
    from spacevrp.problems.leniency import unservable_allowed
    from spacevrp.problems.problem import Problem

    with unservable_allowed() if lenient else nullcontext():
        content = read(args.file, rounding=rounding, time_unit=args.time_unit)
    return [content] if isinstance(content, Problem) else list(content)
