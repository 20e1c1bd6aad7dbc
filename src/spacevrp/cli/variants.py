"""``spacevrp variants``: the 110 names with their flags and attribute bits."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from spacevrp.problems.features import ATTRIBUTE_NAMES
from spacevrp.problems.variants import VARIANTS, Variant


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp variants``."""
    parser.epilog = f"The ten attribute bits, in order: {', '.join(ATTRIBUTE_NAMES)}."
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="default: table"
    )


def run(args: argparse.Namespace) -> int:
    """List the variants."""
    if args.format == "json":
        print(json.dumps([_as_record(variant) for variant in VARIANTS.values()], indent=2))
    else:
        print("\n".join(_as_table(VARIANTS.values())))
    return 0


def _as_record(variant: Variant) -> dict[str, object]:
    return {
        "name": variant.name,
        "seen": variant.seen,
        "attributes": list(variant.attributes),
        "flags": list(variant.features.active),
    }


def _as_table(variants: Iterable[Variant]) -> list[str]:
    rows = [("name", "seen", "flags", "attributes")]
    for variant in variants:
        rows.append(
            (
                variant.name,
                "seen" if variant.seen else "unseen",
                " ".join(variant.features.active) or "-",
                "".join(map(str, variant.attributes)),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
