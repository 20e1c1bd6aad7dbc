"""``spacevrp plot training``, ``gaps``, ``symmetry`` and ``frontier``: pictures of records."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spacevrp.writing import check_target, replacing

Draw = Callable[[Path], None]


@dataclass(frozen=True)
class RecordPlot:
    """A picture of what was recorded.

    ``read`` takes the arguments and gives what draws the picture; what it imports is imported
    there, so that help stays instant.
    """

    read: Callable[[argparse.Namespace], Draw]
    what: str  # is read
    several: bool = False  # records of tables of gaps, drawn together

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        metavar = "RUN" if self is TRAINING else "RECORD"
        parser.add_argument(
            "record",
            metavar=metavar,
            type=Path,
            help=self.what,
            nargs="+" if self.several else None,
        )
        if self.several:
            parser.add_argument(
                "--gap",
                choices=("oracle", "best"),
                help="to the paper-protocol oracle, or to the best known cost; default: oracle, or "
                "best where the record has no gap to such an oracle",
            )
        parser.add_argument(
            "-o", "--output", metavar="PNG", type=Path, required=True, help="the picture"
        )

    def run(self, args: argparse.Namespace) -> int:
        """Read and draw."""
        from spacevrp.plots import require_matplotlib

        require_matplotlib()
        draw = self.read(args)
        check_target(args.output, ".png")
        with replacing(args.output) as temporary:
            draw(temporary)
        return 0


def _training(args: argparse.Namespace) -> Draw:
    from spacevrp.plots.training import read_log, save_training_plot

    columns = read_log(args.record)
    return lambda path: save_training_plot(path, columns)


def _gaps(args: argparse.Namespace) -> Draw:
    from spacevrp.plots.gaps import save_gaps_plot
    from spacevrp.plots.records import read_gap_rows

    rows = read_gap_rows(args.record)
    return lambda path: save_gaps_plot(path, rows, args.gap)


def _symmetry(args: argparse.Namespace) -> Draw:
    from spacevrp.plots.records import read_gap_rows
    from spacevrp.plots.symmetry import save_symmetry_plot

    rows = read_gap_rows(args.record)
    return lambda path: save_symmetry_plot(path, rows, args.gap)


def _frontier(args: argparse.Namespace) -> Draw:
    from spacevrp.plots.frontier import FIELDS, save_frontier_plot
    from spacevrp.plots.records import read_rows

    rows = read_rows(args.record, FIELDS, "the record of spacevrp bench suite")
    return lambda path: save_frontier_plot(path, rows)


_GAPS = "unseen.json or another record with such gaps; several are drawn together"
TRAINING = RecordPlot(_training, "folder of the run")
GAPS = RecordPlot(_gaps, _GAPS, several=True)
SYMMETRY = RecordPlot(_symmetry, _GAPS, several=True)
FRONTIER = RecordPlot(_frontier, "frontier.json or starts.json")
