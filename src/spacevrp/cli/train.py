"""``spacevrp train``: train a model."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.arguments import parse_duration
from spacevrp.problems.errors import SpacevrpError

if TYPE_CHECKING:
    from spacevrp.train import TrainConfig

_PRESETS = ("fast", "paper")
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
        help="stop cleanly within this time, for instance 90s, 9m or 1h30m",
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
    # Imported here, so that help stays instant.
    from spacevrp.train.loop import train

    weights = None
    if args.resume is not None:
        config, folder = _resumed(args)
    else:
        config, folder = settle_config(args.preset, args.config, args.settings), args.output
    if args.weights is not None:
        config, weights = _with_weights(config, args.weights)
    outcome = train(
        config,
        folder,
        device=args.device,
        budget=args.budget,
        resume=args.resume,
        weights=weights,
        progress=not args.quiet,
        command=[Path(sys.argv[0]).name, *sys.argv[1:]],
    )
    if not args.quiet and _is_first_process():
        words = {
            "finished": "finished",
            "budget": "stopped within the budget",
            "signal": "stopped by a signal",
        }
        print(f"{folder}: {words[outcome.reason]}, {outcome.step} of {config.steps} steps taken")
    return _SIGNALLED + outcome.signal if outcome.reason == "signal" else 0


def settle_config(preset: str | None, file: Path | None, settings: list[str]) -> TrainConfig:
    """The configuration: the preset, changed by the file, changed by single settings."""
    from spacevrp.train.config import TrainConfig, get_preset

    base = None if preset is None else get_preset(preset)
    if file is not None:
        base = TrainConfig.read(file, base)
    return (base or get_preset(_PRESETS[0])).changed(settings)


def _resumed(args: argparse.Namespace) -> tuple[TrainConfig, Path]:
    from spacevrp.train import checkpoint
    from spacevrp.train.state import resumed_config

    config = resumed_config(args.resume, args.settings)
    return config, args.output or checkpoint.find(args.resume).parent


def _with_weights(config: TrainConfig, source: str) -> tuple[TrainConfig, dict[str, Any]]:
    """The configuration with the weights' model, and the weights."""
    from spacevrp.model import ModelConfig
    from spacevrp.model.weights import load_weights
    from spacevrp.train.state import stored_weights

    if Path(source).is_dir():
        stored, tensors = stored_weights(Path(source))
        network = stored.model
    else:
        model, _ = load_weights(source)
        network, tensors = model.config, dict(model.state_dict())
    if config.model not in (ModelConfig(), network):
        raise SpacevrpError(f"model: expected that of the weights {source}, received another")
    return replace(config, model=network), tensors


def _is_first_process() -> bool:
    return os.environ.get("RANK", "0") == "0"
