"""Verbs with verbs of their own, such as ``spacevrp bench train-step``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple


class Subverb(NamedTuple):
    """A verb below a verb.

    Its module, or what stands behind a colon in it, has ``add_arguments(parser)`` and
    ``run(args) -> int``.
    """

    name: str
    help: str
    module: str


def add_subverbs(parser: argparse.ArgumentParser, subverbs: Sequence[Subverb]) -> None:
    """Declare them; a module is imported only when its subverb is used, so that help is instant."""

    class Late(type(parser)):  # type: ignore[misc]  # the parser's own way to report errors
        module: str | None = None

        def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
            if self.module is not None:
                name, _, inside = self.module.partition(":")
                module = import_module(name)
                verb: Any = getattr(module, inside) if inside else module
                verb.add_arguments(self)
                self.set_defaults(run_subverb=verb.run)
                self.module = None
            return super().parse_known_args(args, namespace)

    below = parser.add_subparsers(metavar="WHAT", required=True, parser_class=Late)
    for subverb in subverbs:
        late = below.add_parser(
            subverb.name, help=subverb.help, description=subverb.help, allow_abbrev=False
        )
        late.module = subverb.module


def run_subverb(args: argparse.Namespace) -> int:
    """Run the one that was chosen."""
    code: int = args.run_subverb(args)
    return code
