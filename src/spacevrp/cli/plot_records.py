"""``spacevrp plot training``, ``gaps``, ``symmetry`` and ``frontier``: pictures of records."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.writing import check_target, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Draw = Callable[[], Figure]


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
        from spacevrp.plots.style import require_matplotlib, save_figure

        require_matplotlib()
        draw = self.read(args)
        check_target(args.output, ".png")
        with replacing(args.output) as temporary:
            save_figure(draw(), temporary)
        return 0


def _training(args: argparse.Namespace) -> Draw:
    from spacevrp.plots.measurements import plot_training, read_log

    return partial(plot_training, read_log(args.record))


def _gaps(args: argparse.Namespace, picture: str = "plot_gaps") -> Draw:
    from spacevrp.plots import measurements
    from spacevrp.plots.records import read_gap_rows

    return partial(getattr(measurements, picture), read_gap_rows(args.record), args.gap)


def _frontier(args: argparse.Namespace) -> Draw:
    from spacevrp.plots.measurements import FRONTIER_FIELDS, plot_frontier
    from spacevrp.plots.records import read_rows

    rows = read_rows(args.record, FRONTIER_FIELDS, "the record of spacevrp bench suite")
    return partial(plot_frontier, rows)


_GAPS = "unseen.json or another record with such gaps; several are drawn together"
TRAINING = RecordPlot(_training, "folder of the run")
GAPS = RecordPlot(_gaps, _GAPS, several=True)
SYMMETRY = RecordPlot(partial(_gaps, picture="plot_symmetry"), _GAPS, several=True)
FRONTIER = RecordPlot(_frontier, "frontier.json or starts.json")
