"""``spacevrp plot``: pictures of what was recorded."""

from __future__ import annotations

import argparse

from spacevrp.cli.subverbs import Subverb, add_subverbs, run_subverb

SUBVERBS = (
    Subverb("training", "the curves of a training run", "spacevrp.cli.plot_training"),
    Subverb("gaps", "the gap of every variant as a bar", "spacevrp.cli.plot_gaps"),
    Subverb("symmetry", "symmetric against asymmetric variants", "spacevrp.cli.plot_symmetry"),
    Subverb("frontier", "gap against seconds, a line a solver", "spacevrp.cli.plot_frontier"),
)

run = run_subverb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the pictures."""
    add_subverbs(parser, SUBVERBS)
