"""Command-line arguments that several verbs share, and their types."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T", int, float)

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}  # seconds


def _parser(kind: type[T], fits: Callable[[T], bool], expected: str) -> Callable[[str], T]:
    """A function for ``type=`` of an argument."""

    def parse(text: str) -> T:
        with suppress(ValueError):
            if fits(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"expected {expected}, received {text[:40]!r}")

    return parse


def at_least(lowest: int) -> Callable[[str], int]:
    """A parser of whole numbers from ``lowest`` on."""
    return _parser(int, lambda value: value >= lowest, f"a whole number of at least {lowest}")


# Parsers of seconds, and of numbers from 0 on.
seconds_above_zero = _parser(float, lambda value: 0 < value < math.inf, "seconds above 0")
not_negative = _parser(float, lambda value: 0 <= value < math.inf, "a number of at least 0")


def add_heads_option(parser: argparse._ActionsContainer) -> None:
    """Declare the strength of the policy heads."""
    parser.add_argument(
        "--policy-heads",
        "--lean",
        metavar="STRENGTH",
        type=not_negative,
        help="strength of the policy heads; 0 for the base policy alone, as in the paper; default: "
        "0.25, or the protocol's",
    )


def add_protocol_option(parser: argparse._ActionsContainer, usual: str | None = "default") -> None:
    """Declare the protocol of inference; ``usual`` without this option, None for the default."""
    parser.add_argument(
        "--protocol",
        choices=("paper", "network", "default"),
        default=usual,
        help="paper: greedy rollouts of the base policy from all start nodes in 8 or 128 "
        "augmentations, and nothing else; network: with policy heads and sampling; "
        f"default: with the compiled search, too; without this option: {usual or 'default'}",
    )


def parse_duration(text: str) -> float:
    """Seconds from words such as 90, 90s, 9m or 1h30m."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(
            f"expected a time such as 90s, 9m or 1h30m, received {text[:40]!r}"
        )
    if len(parts) > 1 and any(not unit for _, unit in parts):
        raise argparse.ArgumentTypeError(f"expected a unit for every part, received {text[:40]!r}")
    return sum(float(number) * _UNITS[unit or "s"] for number, unit in parts)
