"""What one size takes, measured in this process: looking around, encoding, decoding.

It is the work behind ``spacevrp bench scaling``.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from spacevrp.bench.process import GIB, Clock, Peak
from spacevrp.bench.weights import load_model
from spacevrp.decode import rollout, routes_of
from spacevrp.decode.adjustment import Adjustment
from spacevrp.decode.fused import fused_rollout
from spacevrp.decode.native_pruned import native_pruned_rollout
from spacevrp.decode.native_pruned import supports as supports_pruned
from spacevrp.decode.native_rollout import native_rollout, supports
from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.decode.pruned import Pruning, pruned_rollout
from spacevrp.decode.pruned_graph import walk_for
from spacevrp.engines.large import product_dtype
from spacevrp.engines.memory import Footprint
from spacevrp.engines.pruning import LargeFootprint, Search
from spacevrp.engines.rollouts import uses_kernel
from spacevrp.engines.search import choose_starts
from spacevrp.env import Environment
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.generators import generate
from spacevrp.inference.large import is_adjusted
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.model import blocks as tiles
from spacevrp.model.streaming import survey
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.tensors import stack
from spacevrp.tensors.workers import Workers, workers_for

VARIANT = "CVRP"
_WARM_UP = 50  # customers
_ENOUGH_SECONDS = 3.0  # short work is repeated, long work is not
# Beside the footprint of a dense search: the instance in float64, and one more copy while made.
_BYTES_OF_INSTANCE = 16


@dataclass(frozen=True)
class Probe:
    """What to measure, for one size; goes to the process that measures."""

    size: int
    augmentations: int
    starts: int
    candidates: int
    device: str
    seed: int
    weights: str | None
    adjusted: bool = True  # distances, as the solver has it for large instances
    dense: bool = False
    decode: bool = True
    threads: int | None = None


def needed(probe: Probe) -> int:
    """Bytes that a size takes at most, about."""
    instance = _BYTES_OF_INSTANCE * (probe.size + 1) ** 2 if probe.dense else 0
    return predicted(probe) + instance


def predicted(probe: Probe) -> int:
    """Bytes that a size takes, as the solver sees it."""
    nodes, width = probe.size + 1, ModelConfig().width
    if probe.dense:
        return Footprint.of(nodes, width).block(1, min(probe.starts, probe.size))
    search = Search(probe.starts, probe.candidates)
    device = torch.device(probe.device).type
    workers = workers_for(torch.device(device))
    footprint = LargeFootprint.of(nodes, width, search, device=device, workers=workers)
    return footprint.block(1, probe.augmentations, probe.starts)


def run_probe(probe: Probe) -> dict[str, Any]:
    """Measure one size in this process, which should be fresh."""
    if probe.threads is not None:
        torch.set_num_threads(probe.threads)
    began, spent = time.perf_counter(), sum(os.times()[:2])
    device = torch.device(probe.device)
    model, _ = load_model(probe.weights)
    model = model.to(device)
    with torch.inference_mode():
        measure_here(model, replace(probe, size=_WARM_UP, decode=True), Peak(device))
        found = measure_here(model, probe, Peak(device))
    found["predicted_gib"] = predicted(probe) / GIB
    found["cores_used"] = (sum(os.times()[:2]) - spent) / (time.perf_counter() - began)
    return found


def measure_here(model: SpaceModel, probe: Probe, peak: Peak) -> dict[str, Any]:
    """Look around, encode and decode one instance, each with its time and its peak."""
    device = torch.device(probe.device)
    clock = Clock(device)
    (problem,) = generate(VARIANT, probe.size, 1, probe.seed)
    peak.restart()
    way = (Dense if probe.dense else Blocks)(model, problem, probe, device)
    seconds, _ = clock.time(way.look)
    found: dict[str, Any] = {"seconds_look": seconds, "look_gib": peak.growth()}
    peak.restart()
    times: list[float] = []
    begin = time.process_time()
    tables: Any = None
    # The last tables are kept: with two copies the decoder's peak would not be its own.
    while sum(times) < _ENOUGH_SECONDS and len(times) < 5:
        tables = None
        seconds, tables = clock.time(way.encode)
        times.append(seconds)
    found["cpu_encode"] = (time.process_time() - begin) / len(times)
    found |= {"seconds_encode": statistics.median(times), "encode_gib": peak.growth()}
    numbers = [value for value in vars(tables).values() if isinstance(value, Tensor)]
    found["finite"] = all(bool(torch.isfinite(value).all()) for value in numbers)
    if not (probe.decode and found["finite"]):
        return found
    peak.restart()
    begin = time.process_time()
    seconds, (cost, sequence) = clock.time(partial(way.decode, tables))
    cpu, steps = time.process_time() - begin, sequence.shape[2] - 2
    best = sequence[0, int(cost[0].argmin())].tolist()
    plan = Solution.judged(problem, routes_of(problem, best))
    return found | {
        "cpu_decode": cpu,
        "cpu_step_ms": 1000 * cpu / steps,
        "seconds_decode": seconds,
        "decode_gib": peak.growth(),
        "steps": steps,
        "step_ms": 1000 * seconds / steps,
        "cost": float(plan.cost),
        "violations": len(plan.violations),
    }


class Blocks:
    """As the solver has large instances: in blocks, moves out of lists of neighbours."""

    def __init__(
        self, model: SpaceModel, problem: Problem, probe: Probe, device: torch.device
    ) -> None:
        self.model, self.probe, self.device = model, probe, device
        self.search = Search(probe.starts, probe.candidates)
        self.batch = stack([problem], on_the_fly=True).to(device)
        self.environment = CandidateEnvironment(self.batch, num_depots=1)
        self.seeds = augmentation_seeds(
            self.batch, model.config, probe.augmentations, 0
        )  # (1, V, M)
        adjusted = torch.tensor([probe.adjusted and is_adjusted(problem)], device=device)
        self.adjustment = Adjustment.of(self.batch, adjusted)

    def look(self) -> None:
        """Scale and neighbours."""
        self.known = survey(self.batch)
        self.near = neighbourhood(self.batch, self.search.listed)

    def encode(self) -> Any:
        """The decoder's tables."""
        blocks = tiles.Blocks.on(self.device, product_dtype(self.device))
        tables = tiles.encode_in_blocks(
            self.model, self.batch, self.seeds, blocks=blocks, known=self.known
        )
        return replace(tables, nearness=self.adjustment.nearness(0, self.probe.augmentations))

    def decode(self, tables: Any) -> tuple[Any, Any]:
        """Costs (1, P) and plans (1, P, T)."""
        starts = choose_starts(self.environment, self.search.starts).repeat(
            1, self.probe.augmentations
        )
        decode: Any = partial(pruned_rollout, kind=walk_for(self.device))
        if supports_pruned(self.batch):
            decode = native_pruned_rollout
        with Workers(1):  # as the solver has it for few trajectories
            pruning = Pruning(
                self.near, self.search.choices, self.search.readout, adjustment=self.adjustment
            )
            done = decode(self.environment, tables, starts, pruning)
        return done.cost, done.sequence


class Dense:
    """As the solver has small instances: at once, moves out of all customers."""

    def __init__(
        self, model: SpaceModel, problem: Problem, probe: Probe, device: torch.device
    ) -> None:
        self.model, self.problem, self.probe, self.device = model, problem, probe, device

    def look(self) -> None:
        """From coordinates to tensors."""
        self.batch = stack([self.problem]).to(self.device)
        self.seeds = augmentation_seeds(self.batch, self.model.config, 1, 0)[:, 0]  # (1, M)

    def encode(self) -> Any:
        """The decoder's tables."""
        # Tensor cores want bfloat16; a CPU is as fast in float32. As the solver has it.
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        return self.model(self.batch, self.seeds, dtype)

    def decode(self, tables: Any) -> tuple[Any, Any]:
        """Costs (1, P) and plans (1, P, T)."""
        environment = Environment(self.batch, num_depots=1)
        starts = choose_starts(environment, self.probe.starts)
        if not uses_kernel(environment) and not supports(self.batch):
            done = rollout(environment, tables, starts)
            return done.cost, done.sequence
        decode: Any = fused_rollout if uses_kernel(environment) else native_rollout
        trace = decode(environment, tables, starts)
        return trace.cost, trace.sequences()
