"""``spacevrp plot training``: the curves of a training run."""

from __future__ import annotations

import argparse
from pathlib import Path

from spacevrp.writing import check_target, replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp plot training``."""
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="folder of the run")
    parser.add_argument(
        "-o", "--output", metavar="PNG", type=Path, required=True, help="the picture"
    )


def run(args: argparse.Namespace) -> int:
    """Read the log and draw it."""
    # Imported here, so that help stays instant.
    from spacevrp.plots import require_matplotlib
    from spacevrp.plots.training import read_log, save_training_plot

    require_matplotlib()
    columns = read_log(args.run_folder)
    path = args.output
    check_target(path, ".png")
    with replacing(path) as temporary:
        save_training_plot(temporary, columns)
    return 0
