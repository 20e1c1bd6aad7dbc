"""``spacevrp plot training``: the curves of a training run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from spacevrp.problems.errors import FormatError


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
    if path.suffix.lower() != ".png":
        raise FormatError(f"{path}: expected a file name that ends in .png")
    if not path.parent.is_dir():
        raise FormatError(f"{path}: cannot be written: there is no folder {path.parent}")
    draft = path.with_name(f".{path.stem}.{os.getpid()}.png")
    try:
        save_training_plot(draft, columns)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return 0
