"""``spacevrp plot symmetry``: symmetric against asymmetric, one dot a variant."""

from __future__ import annotations

import argparse

from spacevrp.cli.plot_gaps import add_gap_arguments
from spacevrp.writing import check_target, replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp plot symmetry``."""
    add_gap_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Read the records and draw them."""
    # Imported here, so that help stays instant.
    from spacevrp.plots import require_matplotlib
    from spacevrp.plots.records import read_gap_rows
    from spacevrp.plots.symmetry import save_symmetry_plot

    require_matplotlib()
    rows = read_gap_rows(args.records)
    check_target(args.output, ".png")
    with replacing(args.output) as temporary:
        save_symmetry_plot(temporary, rows, args.gap)
    return 0
