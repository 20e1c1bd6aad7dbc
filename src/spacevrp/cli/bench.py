"""``spacevrp bench``: the measurements behind every number that is claimed."""

from __future__ import annotations

import argparse

from spacevrp.cli.subverbs import Subverb, add_subverbs, run_subverb

SUBVERBS = (
    Subverb("train-step", "time a training step and its parts", "spacevrp.bench.train_step"),
    Subverb("speed", "time and memory of solving", "spacevrp.bench.speed"),
    Subverb("seen", "costs on the problems trained on", "spacevrp.bench.seen"),
)

run = run_subverb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmarks."""
    add_subverbs(parser, SUBVERBS)
