"""``spacevrp train``: train a model."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spacevrp.arguments import parse_duration
from spacevrp.problems.errors import SpacevrpError

if TYPE_CHECKING:
    from spacevrp.train import TrainConfig
    from spacevrp.train.loop import Outcome

_PRESETS = ("fast", "paper")
_TOLD_OVERRUN = 0.05  # seconds; less would be told as 0.0
_SIGNALLED = 128  # what shells add to the number of a signal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp train``."""
    parser.epilog = (
        "The run's folder holds its configuration, checkpoints, log and, at the end, weights that "
        "'spacevrp solve --weights' takes. Stop with Ctrl-C or SIGTERM: the state is saved and the "
        "exit code is 128 + the number of the signal. Under torchrun all processes share a run."
    )
    parser.add_argument(
        "--preset", choices=_PRESETS, help="the run to start from; default: fast, ours"
    )
    parser.add_argument(
        "--config", metavar="FILE.toml", type=Path, help="keys of the run that change the preset"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="change one key more, for instance steps=500 or model.layers=6; may be repeated",
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=parse_duration,
        help="stop cleanly within this time, for instance 90s, 9m or 1h30m; one step is always "
        "taken",
    )
    parser.add_argument(
        "--fit",
        action="store_true",
        help="make the run as long as the budget allows, instead of `steps` long: its rates have "
        "fallen when the time is up",
    )
    parser.add_argument(
        "--resume", metavar="DIR", type=Path, help="continue a run, or one of its checkpoints"
    )
    parser.add_argument(
        "--weights",
        metavar="NAME|PATH",
        help="start from these weights: bundled, a .safetensors file, or another run",
    )
    parser.add_argument(
        "--resume-moments",
        metavar="DIR",
        type=Path,
        help="with --weights: take the optimizer's moments from this run, or one of its "
        "checkpoints; the schedule begins again",
    )
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN_FOLDER",
        type=Path,
        help="where the run goes; default: the folder of the run that is resumed",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress line and no summary")


def run(args: argparse.Namespace) -> int:
    """Train."""
    if args.resume is None and args.output is None:
        raise SpacevrpError("expected a folder for the run: -o RUN_FOLDER, or --resume DIR")
    for name in ("preset", "config", "weights"):
        if args.resume is not None and getattr(args, name) is not None:
            raise SpacevrpError(
                f"--{name}: expected none with --resume, which takes everything from the run"
            )
    if args.resume_moments is not None and args.weights is None:
        raise SpacevrpError("--resume-moments: expected --weights to go with them, received none")
    if args.budget is not None and args.budget <= 0:
        raise SpacevrpError("--budget: expected a time of more than 0, received 0")
    if args.fit and args.budget is None:
        raise SpacevrpError("--fit: expected a --budget to fit the run to, received none")
    # Imported here, so that help stays instant.
    from spacevrp.train.loop import train
    from spacevrp.train.state import build_config, network_and_weights

    network, weights = None, None
    if args.weights is not None:
        network, weights = network_and_weights(args.weights)
    if args.resume is not None:
        config, folder = _resumed(args)
    else:
        config = build_config(args.preset, args.config, args.settings, network)
        folder = args.output
    outcome = train(
        config,
        folder,
        device=args.device,
        budget=args.budget,
        fit=args.fit,
        resume=args.resume,
        weights=weights,
        moments=args.resume_moments,
        progress=not args.quiet,
        command=[Path(sys.argv[0]).name, *sys.argv[1:]],
    )
    if not args.quiet and os.environ.get("RANK", "0") == "0":  # the first of several processes
        print(f"{folder}: {_ending(outcome)}, {outcome.step} of {outcome.steps} steps taken")
    return _SIGNALLED + outcome.signal if outcome.reason == "signal" else 0


def _ending(outcome: Outcome) -> str:
    """How a run ended, and by how much the budget was missed if it was."""
    late = f"{outcome.overrun:.1f}s after the budget was spent"
    missed = outcome.overrun >= _TOLD_OVERRUN
    if outcome.reason == "budget":
        return f"stopped {late}" if missed else "stopped within the budget"
    words = {"finished": "finished", "signal": "stopped by a signal"}[outcome.reason]
    return f"{words} {late}" if missed else words


def _resumed(args: argparse.Namespace) -> tuple[TrainConfig, Path]:
    from spacevrp.train import checkpoint
    from spacevrp.train.state import resumed_config

    config = resumed_config(args.resume, args.settings)
    return config, args.output or checkpoint.find(args.resume).parent
