"""The training loop."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from spacevrp import __version__
from spacevrp.decode.fused import MAX_NODES
from spacevrp.model import SpaceModel
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import checkpoint
from spacevrp.train.config import TrainConfig
from spacevrp.train.optim import MuonAdamW, WeightAverage
from spacevrp.train.schedule import rate_factor
from spacevrp.train.step import TrainStep
from spacevrp.train.telemetry import Telemetry
from spacevrp.train.work import CapturedWork, EagerWork, Shards

# Streams of one run must not meet those of another seed.
_STREAM_WORDS = 2


def train(
    config: TrainConfig,
    folder: Path,
    *,
    device: str = "auto",
    budget: float | None = None,
    resume: Path | None = None,
    weights: dict[str, torch.Tensor] | None = None,
    progress: bool = True,
) -> Path:
    """Train until the last step, or until the budget is spent; returns the last checkpoint.

    Parameters
    ----------
    config
        The run.
    folder
        Where checkpoints and logs go.
    budget
        Seconds of wall-clock time after which to stop cleanly.
    resume
        A checkpoint (or a run's folder) to continue from, to the bit.
    weights
        Weights alone to start from, where no optimizer state is left; the warm-up still happens.
    """
    begun = time.monotonic()
    place = _device(device)
    rank, world = _processes()
    if config.shards % world:
        raise SpacevrpError(
            f"shards: expected a multiple of {world} processes, received {config.shards}"
        )
    torch.manual_seed(config.seed)
    model = SpaceModel(config.model).to(place)
    if config.precision == "float64":
        model = model.double()
    if weights is not None:
        model.load_state_dict(weights, strict=True)
    optimizer = MuonAdamW(model, config)
    average = WeightAverage(model, config.average, optimizer)
    done, spent = 0, 0.0
    if resume is not None:
        done, spent = _restore(resume, model, optimizer, average)
    shards = Shards(config, place)
    on_gpu = place.type == "cuda"
    fused = on_gpu and shards.samplers[0].num_nodes <= MAX_NODES
    encode = torch.compile(model, dynamic=False) if on_gpu else None
    step_work = TrainStep(model, optimizer, average, config, encode, fused)
    work = CapturedWork(step_work, shards) if on_gpu else EagerWork(step_work, shards)

    folder.mkdir(parents=True, exist_ok=True)
    if rank == 0:
        (folder / "config.json").write_text(
            json.dumps(config.to_dict(), indent=1), encoding="utf-8"
        )
    log = Telemetry(folder if rank == 0 else None, config.steps, done, progress=progress)

    def save(step: int) -> Path | None:
        seconds = spent + time.monotonic() - begun
        header = {
            "version": __version__,
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name(place) if on_gpu else "cpu",
            "seconds": seconds,
            "config": config.to_dict(),
        }
        kept = average.state() if config.average else None
        # Every process rounds its moments, one writes them.
        if rank:
            for moment in optimizer.state().values():
                moment.copy_(moment.to(torch.bfloat16))
            return None
        state = dict(model.named_parameters())
        return checkpoint.save(folder, step, state, kept, optimizer.state(), header)

    saved = logged = time.monotonic()
    logged_step = done
    for step in range(done, config.steps):
        optimizer.set_factor(rate_factor(config, step))
        mix = _mix(config, step)
        for shard in range(rank, config.shards, world):
            torch.manual_seed(_stream(config.seed, step, shard))
            work.gradient(mix)
        work.update()
        done = step + 1
        if done % config.log_steps == 0 or done == config.steps:
            if on_gpu:
                torch.cuda.synchronize()
            now = time.monotonic()
            log.write(
                _row(
                    config,
                    step_work,
                    done,
                    (now - logged) / (done - logged_step),
                    now - begun + spent,
                )
            )
            logged, logged_step = now, done
            if now - saved > config.checkpoint_seconds:
                save(done)
                saved = now
            if _agreed(budget is not None and now - begun > budget, place):
                break
    log.close()
    final = save(done)
    return final or folder


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise SpacevrpError("device: expected a CUDA device, found none; use --device cpu")
    return torch.device(name)


def _processes() -> tuple[int, int]:
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def _agreed(stop: bool, device: torch.device) -> bool:
    """Whether any process wants to stop: all must leave the loop at the same step."""
    if not (dist.is_available() and dist.is_initialized()):
        return stop
    flag = torch.tensor(float(stop), device=device)
    dist.all_reduce(flag)
    return bool(flag > 0)


def _stream(seed: int, step: int, shard: int) -> int:
    """The seed of everything random in one shard of one step."""
    words = np.random.SeedSequence([seed, step, shard]).generate_state(_STREAM_WORDS)
    return int(words[0]) | (int(words[1]) & 0x7FFFFFFF) << 32


def _mix(config: TrainConfig, step: int) -> int:
    """Which mix of problems a step trains on."""
    if config.mixed:
        return 0
    words = np.random.SeedSequence([config.seed, step]).generate_state(1)
    return int(words[0]) % len(config.variants)


def _row(
    config: TrainConfig, step: TrainStep, done: int, seconds_a_step: float, seconds: float
) -> dict[str, float]:
    """The log's row, and a fresh tally."""
    tally = step.tally
    if dist.is_available() and dist.is_initialized():
        for tensor in (tally.cost, tally.best, tally.instances, tally.unfinished):
            dist.all_reduce(tensor)
    instances = tally.instances.clamp(min=1)
    cost, best = (tally.cost / instances).tolist(), (tally.best / instances).tolist()
    row = {
        "step": done,
        "seconds": seconds,
        "step_milliseconds": 1000 * seconds_a_step,
        "instances_per_second": config.batch / seconds_a_step,
        "gradient_norm": float(tally.norm / tally.updates.clamp(min=1)),
        "rate_factor": float(step.optimizer.factor),
        "unfinished": float(tally.unfinished),
    }
    row |= {f"cost/{name}": value for name, value in zip(config.variants, cost, strict=True)}
    row |= {f"best/{name}": value for name, value in zip(config.variants, best, strict=True)}
    for tensor in tally.tensors:
        tensor.zero_()
    return row


def _restore(
    path: Path, model: SpaceModel, optimizer: MuonAdamW, average: WeightAverage
) -> tuple[int, float]:
    header, groups = checkpoint.load(path)
    live: dict[str, dict[str, Any]] = {
        "weights": dict(model.named_parameters()),
        "moments": optimizer.state(),
    }
    if average.decay:
        live["average"] = average.state()
    with torch.no_grad():
        for group, tensors in live.items():
            stored = groups.get(group, {})
            if set(stored) != set(tensors):
                different = sorted(set(stored) ^ set(tensors))[:3]
                raise SpacevrpError(f"{path}: {group} do not fit this run: {', '.join(different)}")
            for name, tensor in tensors.items():
                if stored[name].shape != tensor.shape:
                    raise SpacevrpError(
                        f"{path}: {name}: expected shape {tuple(tensor.shape)}, "
                        f"received {tuple(stored[name].shape)}"
                    )
                tensor.copy_(stored[name])
        optimizer.count.fill_(header["step"])
    return int(header["step"]), float(header["seconds"])
