"""``spacevrp plot frontier``: gap against seconds, a line a solver."""

from __future__ import annotations

import argparse
from pathlib import Path

from spacevrp.writing import check_target, replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp plot frontier``."""
    parser.add_argument("record", metavar="RECORD", type=Path, help="frontier.json or starts.json")
    parser.add_argument(
        "-o", "--output", metavar="PNG", type=Path, required=True, help="the picture"
    )


def run(args: argparse.Namespace) -> int:
    """Read the record and draw it."""
    # Imported here, so that help stays instant.
    from spacevrp.plots import require_matplotlib
    from spacevrp.plots.frontier import FIELDS, save_frontier_plot
    from spacevrp.plots.records import read_rows

    require_matplotlib()
    rows = read_rows(args.record, FIELDS, "the record of spacevrp bench search")
    check_target(args.output, ".png")
    with replacing(args.output) as temporary:
        save_frontier_plot(temporary, rows)
    return 0
