"""``spacevrp bench unseen``: the 98 variants that the model was not trained on."""

from __future__ import annotations

import argparse

from spacevrp.bench import gap_table
from spacevrp.bench.sets import variant_names
from spacevrp.bench.tables import Layout
from spacevrp.problems.variants import VARIANTS

# Symmetric ones first, as the averages below them are taken.
UNSEEN_NAMES = tuple(
    variant.name
    for asymmetric in (False, True)
    for variant in VARIANTS.values()
    if not variant.seen and variant.features.asymmetric == asymmetric
)
LAYOUT = Layout("unseen", "Variants not trained on", gap_table.COLUMNS, gap_table.NOTES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench unseen``."""
    gap_table.add_arguments(parser, LAYOUT.name, count=32, size=100)
    parser.add_argument(
        "--problems",
        metavar="NAMES",
        type=variant_names,
        default=UNSEEN_NAMES,
        help=f"only these, such as CVRPL,MDCVRP; default: the {len(UNSEEN_NAMES)} not trained on",
    )


def run(args: argparse.Namespace) -> int:
    """Solve set by set and report."""
    return gap_table.run(LAYOUT, args.problems, args)
