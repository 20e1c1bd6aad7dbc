"""Whole training steps with and without facts of moves, in turns, on a GPU left alone.

python ratio.py OUT.json GO_FILE: compiles, waits until GO_FILE exists, measures.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from spacevrp.model.products import steady_products
from spacevrp.train.config import get_preset
from spacevrp.train.state import TrainState, network_and_weights
from spacevrp.train.step import DTYPES, TrainStep
from spacevrp.train.work import CapturedWork, EagerWork, Shards

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tiny = device.type == "cpu"
BATCH, ROUNDS, EACH = (12, 2, 1) if tiny else (640, 12, 4)
works = {}
for name in ("space-100-v12", "space-110-v3"):
    network, weights = network_and_weights(name)
    config = replace(
        get_preset("fast"),
        batch=BATCH,
        trajectories=6 if tiny else 96,
        max_moves=160,
        leader=8.0,
        average=0.995,
        learning_rate=1e-9,
        muon_rate=1e-9,
        model=network,
    )
    if tiny:
        config = replace(config, precision="float32", size=20, max_moves=0)
    state = TrainState(config, device, weights)
    encode = None if tiny else torch.compile(state.model, dynamic=False)
    step = TrainStep(state.model, state.optimizer, state.average, config, encode, not tiny)
    began = time.monotonic()
    with steady_products(DTYPES[config.precision], device):
        works[name] = (EagerWork if tiny else CapturedWork)(step, Shards(config, device))
    print(name, f"made in {time.monotonic() - began:.1f} s", flush=True)
while not Path(sys.argv[2]).exists():
    time.sleep(0.2)
rounds = {name: [] for name in works}
number = 0
for _ in range(ROUNDS):
    for name, work in works.items():
        if not tiny:
            torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(EACH):
            torch.manual_seed(number)
            number += 1
            work.gradient(number, 0)
            work.update()
        if not tiny:
            torch.cuda.synchronize()
        rounds[name].append(1000 * (time.perf_counter() - began) / EACH)
medians = {name: statistics.median(values[1:]) for name, values in rounds.items()}
old, new = medians.values()
record = {"batch": BATCH, "rounds": rounds, "median_ms": medians, "ratio": new / old}
Path(sys.argv[1]).write_text(json.dumps(record, indent=1))
print(json.dumps({"median_ms": medians, "ratio": new / old}), flush=True)
