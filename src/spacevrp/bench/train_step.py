"""``spacevrp bench train-step``: milliseconds of a training step and of its parts.

The step is that of ``spacevrp train``: on a GPU two captured graphs. Its parts are timed one after
the other as graphs of their own. Beside it stands the obvious way, automatic differentiation
through a rollout by single steps, and how well the kernels agree with their slow twins.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from spacevrp.arguments import at_least
from spacevrp.bench.agreement import measure_agreement
from spacevrp.bench.options import add_options
from spacevrp.decode.pruned_graph import record, warm_up
from spacevrp.model.weights import DEFAULT_WEIGHTS, load_weights
from spacevrp.train.config import TrainConfig
from spacevrp.train.naive import naive_accumulate
from spacevrp.train.parallel import choose_device
from spacevrp.train.state import TrainState, build_config, network_and_weights
from spacevrp.train.step import TrainStep
from spacevrp.train.versions import device_name, versions
from spacevrp.train.work import CapturedWork, EagerWork, Shards
from spacevrp.writing import check_target, write_whole

PARTS = ("draw", "encoder_forward", "rollout", "replay", "encoder_backward", "update")
_WARM_UP = 3
_GIB = 2**30
Piece = Callable[[], None]
Weights = dict[str, torch.Tensor]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp bench train-step``."""
    one = {"metavar": "N", "type": at_least(1)}
    add_options(
        parser,
        batch={
            **one,
            "metavar": "INSTANCES",
            "action": "append",
            "help": "instances of a step; may be repeated; default: 128 and 1024",
        },
        config={
            "metavar": "FILE.toml",
            "type": Path,
            "help": "the run whose steps are timed, as of 'spacevrp train'; default: its preset",
        },
        weights={"help": "time steps on from these; default: random weights"},
        size={**one, "help": "customers; default: the run's"},
        layers={**one, "help": "of the encoder; default: the run's"},
        repeats={"default": 50, "help": "steps timed"},
        device="auto",
    )
    parser.add_argument("-o", "--output", metavar="JSON", type=Path, help="write the record here")


def run(args: argparse.Namespace) -> int:
    """Measure, print and record."""
    if args.output is not None:
        check_target(args.output)
    batches = args.batch or [128, 1024]
    device = choose_device(args.device)
    if device.type == "cuda":
        torch.cuda.init()  # its memory statistics cannot be reset before
    network, weights = None, None
    if args.weights is not None:
        network, weights = network_and_weights(args.weights)
    base = build_config(None, args.config, [], network)
    base = replace(base, size=args.size or base.size)
    if args.layers is not None:
        base = replace(base, model=replace(base.model, layers=args.layers))
    if device.type == "cpu":
        base = replace(base, precision="float32")
    rows: list[dict[str, Any]] = []
    record: dict[str, Any] = {
        "benchmark": "train-step",
        "device": device_name(device),
        "versions": versions(),
        "weights": args.weights or "random",
        "config": base.to_dict(),
        "size": base.size,
        "trajectories": base.starts,
        "layers": base.model.layers,
        "repeats": args.repeats,
        "rows": rows,
    }

    def tell(lines: list[str]) -> None:
        """Print and record what there is: the next part takes minutes."""
        print(*lines, sep="\n", flush=True)
        if args.output is not None:
            write_whole(args.output, json.dumps(record, indent=1).encode() + b"\n")

    tell(_heading(record))
    for batch in batches:
        rows.append(_row(replace(base, batch=batch), device, args.repeats, weights))
        tell([_line(rows[-1])])
    compared = replace(base, batch=batches[0])
    if device.type == "cuda":
        trained = args.weights or DEFAULT_WEIGHTS
        record["agreement"] = {}
        for name, model in (("random weights", None), (trained, load_weights(trained)[0])):
            found = measure_agreement(compared, device, model)
            record["agreement"][name] = found
            tell([_agreement(name, found)])
    slow = _eager(compared, device, rows[0], weights)
    record["eager_autograd"] = slow
    tell(
        [
            f"autograd through the rollout, batch {slow['batch']}: {slow['step_ms']:.1f} ms, "
            f"{slow['ratio']:.1f} times as long"
        ]
    )
    return 0


# ------------------------------------------------------------------------------------------ clocks


def _mark(device: torch.device) -> Any:
    """A moment by the device's own clock."""
    if device.type != "cuda":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _times(device: torch.device, pieces: list[Piece], repeats: int) -> list[float]:
    """Median milliseconds of each piece; the pieces run in turn."""
    rounds = []
    for _ in range(repeats):
        marks = [_mark(device)]
        for piece in pieces:
            piece()
            marks.append(_mark(device))
        if device.type == "cuda":
            torch.cuda.synchronize()
            rounds.append([before.elapsed_time(after) for before, after in pairwise(marks)])
        else:
            rounds.append([1000 * (after - before) for before, after in pairwise(marks)])
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def _peak(device: torch.device) -> float | None:
    on_gpu = device.type == "cuda"
    return round(torch.cuda.max_memory_allocated(device) / _GIB, 3) if on_gpu else None


def _new_step(config: TrainConfig, device: torch.device, weights: Weights | None) -> TrainStep:
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    state = TrainState(config, device, weights)
    on_gpu = device.type == "cuda"
    encode = torch.compile(state.model, dynamic=False) if on_gpu else None
    return TrainStep(state.model, state.optimizer, state.average, config, encode, on_gpu)


# -------------------------------------------------------------------------------------------- step


def _row(
    config: TrainConfig, device: torch.device, repeats: int, weights: Weights | None
) -> dict[str, Any]:
    """One line of the record."""
    step, shards = _new_step(config, device, weights), Shards(config, device)
    captured = device.type == "cuda"
    begun = time.perf_counter()
    whole = _whole_step(CapturedWork(step, shards) if captured else EagerWork(step, shards))
    whole()
    preparation = time.perf_counter() - begun
    _times(device, [whole], _WARM_UP)
    (step_ms,) = _times(device, [whole], repeats)
    peak = _peak(device)
    del whole  # and its graphs
    pieces = _captured_pieces(step, shards) if captured else _eager_pieces(step, shards)
    _times(device, pieces, _WARM_UP)
    breakdown = dict(zip(PARTS, _times(device, pieces, repeats), strict=True))
    return {
        "batch": config.batch,
        "step_ms": round(step_ms, 4),
        "breakdown": {part: round(value, 4) for part, value in breakdown.items()},
        "instances_per_second": round(1000 * config.batch / step_ms, 1),
        "peak_memory_gib": peak,
        "captured": captured,
        "preparation_s": round(preparation, 1),
    }


def _whole_step(work: CapturedWork | EagerWork) -> Piece:
    def whole() -> None:
        work.gradient(0)
        work.update()

    return whole


def _eager_pieces(
    step: TrainStep, shards: Shards, kept: dict[str, Any] | None = None
) -> list[Piece]:
    """The parts of a step; each leaves in ``kept`` what the next ones need."""
    kept = {} if kept is None else kept

    def draw() -> None:
        kept["batch"] = shards.samplers[0].draw(None)

    def forward() -> None:
        kept["tables"] = step.forward(kept["batch"], shards.related_rows)

    def roll_out() -> None:
        environment, starts = step.begin(kept["batch"], shards.trajectories)
        kept["environment"] = environment
        kept["trace"] = step.roll_out(environment, kept["tables"], starts)

    def replay() -> None:
        coefficient = step.weigh(kept["batch"], kept["trace"], shards.problems[0])
        kept["gradients"] = step.replay(
            kept["environment"], kept["tables"], kept["trace"], coefficient
        )

    def backward() -> None:
        step.backward(kept["tables"], kept["gradients"])

    return [draw, forward, roll_out, replay, backward, step.update]


def _captured_pieces(step: TrainStep, shards: Shards) -> list[Piece]:
    """The same parts, each a graph. They share memory, so they must be replayed in this order."""
    kept: dict[str, Any] = {}
    pieces = _eager_pieces(step, shards, kept)

    def whole() -> None:
        for piece in pieces:
            piece()

    warm_up(whole)
    # Nodes of the last backward pass belong to another stream and must not be found again.
    kept.clear()
    pool = torch.cuda.graph_pool_handle()
    return [record(piece, pool) for piece in pieces]


# ------------------------------------------------------------------------------------ the slow way


def _eager(
    config: TrainConfig, device: torch.device, row: dict[str, Any], weights: Weights | None
) -> dict[str, Any]:
    """The same step by automatic differentiation through the rollout, launched from Python."""
    step, shards = _new_step(config, device, weights), Shards(config, device)

    def whole() -> None:
        batch = shards.samplers[0].draw(None)
        naive_accumulate(step, batch, shards.problems[0], shards.trajectories)
        step.update()

    _times(device, [whole], 1)
    repeats = 5
    (step_ms,) = _times(device, [whole], repeats)
    return {
        "batch": config.batch,
        "step_ms": round(step_ms, 4),
        "repeats": repeats,
        "peak_memory_gib": _peak(device),
        "ratio": round(step_ms / row["step_ms"], 2),
    }


# ------------------------------------------------------------------------------------------- words


def _heading(record: dict[str, Any]) -> list[str]:
    network = f"{record['layers']} layers, weights: {record['weights']}"
    return [
        f"{record['device']}, n = {record['size']}, {network}",
        "batch  step ms  instances/s  peak GiB  " + "  ".join(PARTS),
    ]


def _line(row: dict[str, Any]) -> str:
    peak = row["peak_memory_gib"]
    parts = "  ".join(f"{row['breakdown'][part]:>{len(part)}.2f}" for part in PARTS)
    return (
        f"{row['batch']:>5}  {row['step_ms']:>7.2f}  {row['instances_per_second']:>11.0f}  "
        f"{'-' if peak is None else f'{peak:.2f}':>8}  {parts}"
    )


def _agreement(weights: str, found: dict[str, Any]) -> str:
    return (
        f"kernels, {weights}: {found['equal_greedy_choices']:.4%} of greedy choices equal, "
        f"mean cost {found['mean_cost_kernel']:.5f} against {found['mean_cost_twin']:.5f}, "
        f"gradient off by {found['gradient_error']:.2%}"
    )
