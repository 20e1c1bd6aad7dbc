"""``spacevrp bench``: the measurements behind every number that is claimed."""

from __future__ import annotations

import argparse

from spacevrp.cli.subverbs import Subverb, add_subverbs, run_subverb

SUBVERBS = (
    Subverb("train-step", "time a training step and its parts", "spacevrp.bench.train_step"),
    Subverb("speed", "time of solving, instances a second", "spacevrp.bench.speed"),
    Subverb("serve", "requests a second of the HTTP server", "spacevrp.bench.serving"),
    Subverb("scaling", "time and memory against the size", "spacevrp.bench.scaling"),
    Subverb("seen", "costs on the problems trained on", "spacevrp.bench.seen:SEEN"),
    Subverb("unseen", "gaps on the 98 variants not trained on", "spacevrp.bench.gap_table:UNSEEN"),
    Subverb("scale", "gaps with 1,000 customers", "spacevrp.bench.gap_table:SCALE"),
    Subverb("cvrplib", "gaps on the sets X and XXL", "spacevrp.bench.cvrplib"),
    Subverb("ablation", "models beside each other", "spacevrp.bench.ablation:ABLATION"),
    Subverb("suite", "other solvers at equal time", "spacevrp.bench.suite"),
    Subverb("references", "what good solvers pay", "spacevrp.bench.references_command"),
)

run = run_subverb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmarks."""
    add_subverbs(parser, SUBVERBS)
