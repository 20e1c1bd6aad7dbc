"""Arms of a comparison, trained one after the other from the same random weights.

python arms.py FOLDER BATCH ARM[:STEPS] ...
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from spacevrp.generators import variety
from spacevrp.inference.config import ModelConfig
from spacevrp.model import features
from spacevrp.model.products import steady_products
from spacevrp.train.config import get_preset
from spacevrp.train.loop import stream_seed
from spacevrp.train.optim import MuonAdamW, WeightAverage, rate_factor
from spacevrp.train.state import TrainState
from spacevrp.train.step import DTYPES, TrainStep
from spacevrp.train.work import CapturedWork, EagerWork, Shards

OVERSAMPLED = ("OP", "OP", "OP", "OP")
ARMS = {
    "base": {},
    "another-seed": {"seed": 2},
    "adamw": {"optimizer": "adamw"},
    "varied": {"varied": 0.25},
    "op": {"extra": OVERSAMPLED},
    "longer": {},
    "signals": {},
    "demand": {},
}
SIGNALS = {"signals": 4}


def by_largest(batch, scale=None, plain=features.node_attributes):
    """Node attributes with demands over the largest of the instance, not over the capacity."""
    found = plain(batch, scale).clone()
    largest = batch.demand.abs().amax(dim=1, keepdim=True).clamp(min=1e-9)
    limited = torch.isfinite(batch.capacity).unsqueeze(1)
    found[..., 0] = torch.where(limited, batch.demand / largest, 0.0).to(found.dtype)
    return found


# Varied instances as they were when these weights were trained: times are distances, no fleet ends.
variety.FASTER_ON_LONG_WAYS = variety.FASTER_ANYHOW = 0.0
variety.SMALLEST_FLEET = variety.LARGEST_FLEET = 1000.0


def main() -> None:
    folder, size = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tiny = device.type == "cpu"
    encode = initial = state = None
    for asked in sys.argv[3:]:
        name, _, steps = asked.partition(":")
        model = ModelConfig(match_start=0.15, signals=4 if name == "signals" else 1)
        if tiny:
            model = replace(model, width=16, layers=1, feedforward=32, pivots=4, rank=2, heads=2)
        config = replace(
            get_preset("fast"),
            **{
                "batch": size,
                "trajectories": 96,
                "max_moves": 160,
                "steps": int(steps or 2000),
                "warmup": 150,
                "decay_share": 0.5,
                "average": 0.995,
                "seed": 1,
                "model": model,
                **ARMS[name],
            },
        )
        if tiny:
            config = replace(config, size=20, trajectories=6, precision="float32", max_moves=0)
        if name == "demand":
            import spacevrp.model.space as space

            space.node_attributes = by_largest
        began = time.monotonic()
        if state is None:
            state = TrainState(replace(config, seed=1), device)
            initial = [p.detach().clone() for p in state.model.parameters()]
            encode = None if tiny else torch.compile(state.model, dynamic=False)
        assert config.model == state.model.config, "a process trains networks of one kind"
        if config.seed != 1:  # other weights to begin with, too
            other = TrainState(config, device).model
            values = [p.detach().clone() for p in other.parameters()]
        else:
            values = initial
        with torch.no_grad():
            torch._foreach_copy_(list(state.model.parameters()), values)
        optimizer = MuonAdamW(state.model, config)
        average = WeightAverage(state.model, config.average, optimizer)
        step = TrainStep(state.model, optimizer, average, config, encode, not tiny)
        with steady_products(DTYPES[config.precision], device):
            work = (EagerWork if tiny else CapturedWork)(step, Shards(config, device))
            made = time.monotonic()
            for number in range(config.steps):
                optimizer.set_factor(rate_factor(config, number))
                torch.manual_seed(stream_seed(config.seed, number, 0))
                work.gradient(number, 0)
                work.update()
                if number % 200 == 199 or number == config.steps - 1:
                    norm = float(step.tally.norm)
                    assert norm == norm, f"{name}: no finite gradient at step {number}"
        if device.type == "cuda":
            torch.cuda.synchronize()
        ended = time.monotonic()
        count = step.tally.instances.clamp(min=1)
        row = {
            "arm": name,
            "batch": size,
            "steps": config.steps,
            "making": made - began,
            "seconds": ended - made,
            "step_ms": 1000 * (ended - made) / config.steps,
            "unfinished": float(step.tally.unfinished),
            "best": dict(zip(config.variants, (step.tally.best / count).tolist(), strict=True)),
        }
        with (folder / "arms.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        names = [n for n, _ in state.model.named_parameters()]
        halves = {
            n: w.detach().half().contiguous().cpu()
            for n, w in zip(names, average.weights, strict=True)
        }
        save_file(halves, str(folder / f"{name}.safetensors"))
        (folder / f"{name}.json").write_text(json.dumps(config.to_dict(), indent=1))
        print(name, f"{row['making']:.1f} s made, {row['step_ms']:.2f} ms a step", flush=True)
        del work, step, optimizer, average


main()
