"""The options of the benchmarks, each declared once, and what an option's text becomes."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spacevrp.arguments import at_least
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.variants import parse_variant

FORMATS = ("table", "json", "markdown")
SUFFIX = ".solved.jsonl"
SYMMETRIC_AUGMENTATIONS = 8
# The paper's number takes a GPU: on a CPU an instance with several depots would take a minute.
ASYMMETRIC_AUGMENTATIONS = {"cuda": 128, "cpu": 8}
EXIT_CODES = (
    "Exit code 0: every instance has a plan that the referee passes; 1: some have none, as where "
    "memory does not suffice; 2: bad usage or a file that cannot be read."
)


# ------------------------------------------------------------------------------------------- types


def numbers(lowest: int) -> Callable[[str], tuple[int, ...]]:
    """A parser of whole numbers from ``lowest`` on, separated by commas."""
    parse_one = at_least(lowest)
    return lambda text: tuple(dict.fromkeys(parse_one(item) for item in text.split(",")))


def names_out_of(*known: str) -> Callable[[str], tuple[str, ...]]:
    """A parser of names separated by commas."""

    def parse(text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"expected names out of {', '.join(known)}, received {name[:40]!r}"
                )
        return names

    return parse


def variant_names(text: str) -> tuple[str, ...]:
    """Names of variants separated by commas."""
    try:
        return tuple(dict.fromkeys(parse_variant(name.strip()).name for name in text.split(",")))
    except SpacevrpError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def distinct_names(option: str, noun: str, given: Sequence[str | Path]) -> list[str]:
    """Short names of what was given: the last part of each, unless two have the same."""
    for one, times in Counter(map(str, given)).items():
        if times > 1:
            raise SpacevrpError(f"{option}: expected different {noun}, received {one} twice")
    names = [Path(one).name or str(one) for one in given]
    return [
        str(one) if names.count(name) > 1 else name for one, name in zip(given, names, strict=True)
    ]


# ------------------------------------------------------------------------------------- declarations

_N: dict[str, Any] = {"metavar": "N", "type": at_least(1)}
_CATALOGUE: dict[str, dict[str, Any]] = {
    "augment_symmetric": {
        **_N,
        "help": "augmentations where distances are symmetric; default: "
        f"{SYMMETRIC_AUGMENTATIONS}; with --protocol default as solve has it",
    },
    "augment_asymmetric": {
        **_N,
        "help": "the same where they are not; default: {cuda} on a GPU, as in the paper, and {cpu} "
        "on a CPU; with --protocol paper {cuda} on both, with --protocol default as solve has "
        "it".format(**ASYMMETRIC_AUGMENTATIONS),
    },
    "beam_width": {
        "metavar": "N",
        "type": at_least(0),
        "help": "plans of each augmentation that the beam search goes on with; default: what the "
        "protocol has",
    },
    "count": {**_N, "help": "instances of each problem"},
    "data": {"metavar": "FOLDER", "type": Path},
    "device": {"choices": ("auto", "cpu", "cuda")},
    "format": {"choices": FORMATS},
    "problems": {"metavar": "NAMES", "type": variant_names, "help": "such as CVRP,ACVRPTW"},
    "quiet": {"action": "store_true", "help": "no progress bar"},
    "repeats": _N,
    "sample": {
        "dest": "num_samples",
        "metavar": "ROUNDS",
        "type": at_least(0),
        "help": "sampled rollouts beside the greedy one, from all start nodes or --starts of them; "
        "0 as in the paper; default: a quarter of the start nodes, the likeliest, and 3 "
        "samples each (none with --starts, without a depot, for fleets, or beyond 200 customers)",
    },
    "seed": {"metavar": "SEED", "type": at_least(0)},
    "size": {"metavar": "N", "type": at_least(4), "help": "customers"},
    "sizes": {"metavar": "NUMBERS", "type": numbers(4), "help": "customers"},
    "starts": {
        **_N,
        "dest": "start_nodes",
        "help": "start nodes of each augmentation, spread evenly; default: as solve has it, fewer "
        "the more customers there are on a CPU; with --protocol paper all",
    },
    "threads": _N,
    "augmentations": {"metavar": "NUMBERS", "type": numbers(1), "help": "augmentations"},
    "wait": {
        "metavar": "SECONDS",
        "type": at_least(0),
        "help": "before every row wait, at most so long, until other processes rest",
    },
    "weights": {
        "metavar": "NAME|PATH",
        "help": "bundled weights, a .safetensors file, or the folder of a training run or "
        "checkpoint",
    },
}


def add_options(parser: argparse._ActionsContainer, **options: Any) -> None:
    """Declare options of the catalogue, in this order.

    A value is the default, or what differs from the catalogue. The help ends with the default.
    """
    for name, given in options.items():
        told = {**_CATALOGUE.get(name, {}), **(given if isinstance(given, dict) else {})}
        if not isinstance(given, dict) and "action" not in told:
            told["default"] = given
        default = told.get("default")
        if default is not None:
            text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
            text = text if len(text) < 60 else f"{len(default)} of them"
            told["help"] = "; ".join(filter(None, [told.get("help", ""), f"default: {text}"]))
        parser.add_argument(f"--{name.replace('_', '-')}", **told)


def add_report_options(
    parser: argparse.ArgumentParser, name: str, *, more: str = "", kept: bool = True
) -> None:
    """Where the table goes; ``kept`` where a command goes on after an interruption."""
    going_on = (
        f", and keep in {name}{SUFFIX} what is solved: the same command goes on where it was "
        "interrupted"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help=f"write {name}.md, {name}.csv and {name}.json{more}" + (going_on if kept else ""),
    )
    add_options(parser, format="table", quiet=None)


def check_protocol(args: argparse.Namespace) -> None:
    """Raise for options that contradict the protocol, before the work begins."""
    from spacevrp.solver import protocol_named

    decided = ("policy_heads", "num_samples", "start_nodes", "beam_width")
    asked = {name: getattr(args, name) for name in decided if hasattr(args, name)}
    protocol_named(args.protocol).check(**asked)


def augmentations_for(args: argparse.Namespace, device: str, *, asymmetric: bool) -> int | None:
    """Augmentations of a set, by its distances and the kind of device; None: as solve has it."""
    asked: int | None = args.augment_asymmetric if asymmetric else args.augment_symmetric
    if asked is not None or args.protocol == "default":
        return asked
    if not asymmetric:
        return SYMMETRIC_AUGMENTATIONS
    return ASYMMETRIC_AUGMENTATIONS["cuda" if args.protocol == "paper" else device]
