"""``spacevrp plot``: pictures of plans, and of what was recorded."""

from __future__ import annotations

import argparse
from typing import Any

from spacevrp.cli.subverbs import Subverb, add_subverbs, run_subverb

SUBVERBS = (
    Subverb("plan", "an instance and its plan; the word may be left out", "spacevrp.cli.plot_plan"),
    Subverb("training", "the curves of a training run", "spacevrp.cli.plot_records:TRAINING"),
    Subverb("gaps", "the gap of every variant as a bar", "spacevrp.cli.plot_records:GAPS"),
    Subverb(
        "symmetry", "symmetric against asymmetric variants", "spacevrp.cli.plot_records:SYMMETRY"
    ),
    Subverb(
        "frontier", "gap against seconds, a line a solver", "spacevrp.cli.plot_records:FRONTIER"
    ),
)

run = run_subverb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the pictures; what begins with no name of one is ``plan``."""
    parser.usage = "spacevrp plot [plan] FILE [PLAN] [-o OUT] | spacevrp plot WHAT ..."
    add_subverbs(parser, SUBVERBS)
    parse = parser.parse_known_args
    names = {subverb.name for subverb in SUBVERBS}

    def parse_known_args(args: Any = None, namespace: Any = None) -> Any:
        first = next((word for word in args or () if not word.startswith("-")), None)
        is_plan = first is not None and first not in names
        return parse(["plan", *args] if is_plan else args, namespace)

    parser.parse_known_args = parse_known_args  # type: ignore[method-assign]
