"""Verbs, and those with verbs of their own: ``spacevrp bench`` and ``spacevrp plot``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple


class Verb(NamedTuple):
    """A verb of the command line, or one below another.

    Its module, or what stands behind a colon in it, has ``add_arguments(parser)`` and
    ``run(args) -> int``, or is a table of verbs below it.
    """

    name: str
    help: str
    module: str

    def load(self) -> Any:
        """The module, or what stands in it, imported now."""
        name, _, inside = self.module.partition(":")
        module = import_module(name)
        return getattr(module, inside) if inside else module


@dataclass(frozen=True)
class Subverbs:
    """The verbs of a command; ``usual`` is the one whose name may be left out."""

    subverbs: tuple[Verb, ...]
    usual: str | None = None
    usage: str | None = None
    title: str | None = None
    metavar: str = "WHAT"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare them; a module is imported only when it is used, so that help is instant.

        The parsed arguments have the function ``run`` of the verb that was chosen.
        """

        class Late(type(parser)):  # type: ignore[misc]  # the parser's own way to report errors
            verb: Verb | None = None

            def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
                if self.verb is None:
                    return super().parse_known_args(args, namespace)
                loaded, self.verb = self.verb.load(), None
                loaded.add_arguments(self)
                if not isinstance(loaded, Subverbs):
                    self.set_defaults(run=loaded.run)
                return self.parse_known_args(args, namespace)

        shown = {"metavar": self.metavar} | ({"title": self.title} if self.title else {})
        below = parser.add_subparsers(required=True, parser_class=Late, **shown)
        for subverb in self.subverbs:
            late = below.add_parser(
                subverb.name, help=subverb.help, description=subverb.help, allow_abbrev=False
            )
            late.verb = subverb
        if self.usual is None:
            return
        parser.usage = self.usage
        parse, names = parser.parse_known_args, {subverb.name for subverb in self.subverbs}

        def parse_known_args(args: Any = None, namespace: Any = None) -> Any:
            first = next((word for word in args or () if not word.startswith("-")), None)
            is_usual = first is not None and first not in names
            return parse([self.usual, *args] if is_usual else args, namespace)

        parser.parse_known_args = parse_known_args  # type: ignore[method-assign]


# The measurements behind every number that is claimed.
BENCH = Subverbs(
    (
        Verb("train-step", "time a training step and its parts", "spacevrp.bench.train_step"),
        Verb("speed", "time of solving, instances a second", "spacevrp.bench.speed"),
        Verb("serve", "requests a second of the HTTP server", "spacevrp.bench.serving"),
        Verb("scaling", "time and memory against the size", "spacevrp.bench.scaling"),
        Verb("seen", "costs on the paper's twelve problems", "spacevrp.bench.gap_table:SEEN"),
        Verb("unseen", "gaps on the other 98 variants", "spacevrp.bench.gap_table:UNSEEN"),
        Verb("scale", "gaps with 1,000 customers", "spacevrp.bench.gap_table:SCALE"),
        Verb("cvrplib", "the same as suite cvrplib", "spacevrp.bench.suite:CVRPLIB"),
        Verb("ablation", "models beside each other", "spacevrp.bench.gap_table:ABLATION"),
        Verb("suite", "other solvers at equal time", "spacevrp.bench.suite"),
        Verb("references", "what good solvers pay", "spacevrp.bench.references_command"),
    ),
)
# Pictures of plans, and of what was recorded.
PLOT = Subverbs(
    (
        Verb(
            "plan", "an instance and its plan; the word may be left out", "spacevrp.cli.plot_plan"
        ),
        Verb("training", "the curves of a training run", "spacevrp.cli.plot_records:TRAINING"),
        Verb("gaps", "the gap of every variant as a bar", "spacevrp.cli.plot_records:GAPS"),
        Verb(
            "symmetry",
            "symmetric against asymmetric variants",
            "spacevrp.cli.plot_records:SYMMETRY",
        ),
        Verb(
            "frontier", "gap against seconds, a line a solver", "spacevrp.cli.plot_records:FRONTIER"
        ),
    ),
    usual="plan",
    usage="spacevrp plot [plan] FILE [PLAN] [-o OUT] | spacevrp plot WHAT ...",
)
