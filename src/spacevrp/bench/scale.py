"""``spacevrp bench scale``: 1,000 customers, three variants and their asymmetric forms."""

from __future__ import annotations

import argparse

from spacevrp.arguments import at_least
from spacevrp.bench import gap_table, paper
from spacevrp.bench.sets import variant_names
from spacevrp.bench.tables import Layout, add_replan_option
from spacevrp.problems.variants import parse_variant

SIZE = 1000
# Those of the paper's table, symmetric ones first.
NAMES = tuple(
    sorted(paper.gaps("SPACE", SIZE), key=lambda name: parse_variant(name).features.asymmetric)
)
LAYOUT = Layout("scale", "A thousand customers", gap_table.COLUMNS, gap_table.NOTES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench scale``."""
    gap_table.add_arguments(parser, LAYOUT.name, count=16, size=SIZE, protocol="default")
    parser.add_argument(
        "--starts",
        metavar="N",
        type=at_least(1),
        help="start nodes of each view, spread evenly; default: as solve has it (65 of a thousand "
        "on a CPU, all on a GPU); with --protocol paper all",
    )
    add_replan_option(parser)
    parser.add_argument(
        "--problems",
        metavar="NAMES",
        type=variant_names,
        default=NAMES,
        help=f"default: {','.join(NAMES)}",
    )


def run(args: argparse.Namespace) -> int:
    """Solve set by set and report."""
    return gap_table.run(LAYOUT, args.problems, args)
