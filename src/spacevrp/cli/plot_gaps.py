"""``spacevrp plot gaps``: the gap of every variant as a bar."""

from __future__ import annotations

import argparse
from pathlib import Path

from spacevrp.writing import check_target, replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp plot gaps``."""
    add_gap_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Read the records and draw them."""
    # Imported here, so that help stays instant.
    from spacevrp.plots import require_matplotlib
    from spacevrp.plots.gaps import save_gaps_plot
    from spacevrp.plots.records import read_gap_rows

    require_matplotlib()
    rows = read_gap_rows(args.records)
    check_target(args.output, ".png")
    with replacing(args.output) as temporary:
        save_gaps_plot(temporary, rows, args.gap)
    return 0


def add_gap_arguments(parser: argparse.ArgumentParser) -> None:
    """Records of tables of gaps, which gap, and the picture."""
    parser.add_argument(
        "records",
        metavar="RECORD",
        type=Path,
        nargs="+",
        help="unseen.json or another record with such gaps; several are drawn together",
    )
    parser.add_argument(
        "--gap",
        choices=("oracle", "best"),
        help="to the paper-protocol oracle, or to the best known cost; default: oracle, or best "
        "where the record has no gap to such an oracle",
    )
    parser.add_argument(
        "-o", "--output", metavar="PNG", type=Path, required=True, help="the picture"
    )
