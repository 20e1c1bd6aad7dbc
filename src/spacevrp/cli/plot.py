"""``spacevrp plot``: pictures of what was recorded."""

from __future__ import annotations

import argparse

from spacevrp.cli.subverbs import Subverb, add_subverbs, run_subverb

SUBVERBS = (Subverb("training", "the curves of a training run", "spacevrp.cli.plot_training"),)

run = run_subverb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the pictures."""
    add_subverbs(parser, SUBVERBS)
