"""What one size takes, measured in a process of its own: looking around, encoding, decoding.

It is the work behind ``spacevrp bench scaling``. A process never gives all its memory back, and
what one size leaves behind would hide what the next one needs. So every size has a fresh process,
which first loads the weights and solves a tiny instance; what it holds by then is taken off the
peaks.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spacevrp.bench.runner import load_model
from spacevrp.decode import routes_of
from spacevrp.decode.adjustment import Adjustment
from spacevrp.decode.native_pruned import native_pruned_rollout
from spacevrp.decode.native_pruned import supports as supports_pruned
from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.decode.pruned import Pruning, pruned_rollout
from spacevrp.decode.pruned_graph import walk_for
from spacevrp.engines.large import product_dtype
from spacevrp.engines.pruning import LargeFootprint, Search
from spacevrp.engines.search import choose_starts
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.generators import generate
from spacevrp.inference.large import is_adjusted
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.model import blocks as tiles
from spacevrp.model.streaming import survey
from spacevrp.oracles.pool import Ended, run_in_processes
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.tensors import stack
from spacevrp.tensors.workers import Workers, workers_for

VARIANT = "CVRP"
GIB = 2**30
_WARM_UP = 50  # customers
_ENOUGH_SECONDS = 3.0  # short work is repeated, long work is not
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Probe:
    """What to measure, for one size; goes to the process that measures."""

    size: int
    starts: int
    candidates: int
    device: str
    seed: int
    weights: str | None
    adjusted: bool = True  # distances, as the solver has it for large instances

    @property
    def search(self) -> Search:
        """How plans are made."""
        return Search(self.starts, self.candidates)


def predicted(probe: Probe) -> int:
    """Bytes that a size takes, as the solver sees it."""
    device = torch.device(probe.device)
    footprint = LargeFootprint.of(
        probe.size + 1,
        ModelConfig().width,
        probe.search,
        device=device.type,
        workers=workers_for(device),
    )
    return footprint.block(1, 1, probe.starts)


def run_probe(probe: Probe) -> dict[str, Any]:
    """Measure one size in this process, which should be fresh."""
    began, spent = time.perf_counter(), sum(os.times()[:2])
    device = torch.device(probe.device)
    model, _ = load_model(probe.weights)
    model = model.to(device)
    with torch.inference_mode():
        measure_here(model, replace(probe, size=_WARM_UP), Peak(device))
        found = measure_here(model, probe, Peak(device))
    found["predicted_gib"] = predicted(probe) / GIB
    found["cores_used"] = (sum(os.times()[:2]) - spent) / (time.perf_counter() - began)
    return found


def measure_here(model: SpaceModel, probe: Probe, peak: Peak) -> dict[str, Any]:
    """Look around, encode and decode one instance, each with its time and its peak."""
    clock = Clock(torch.device(probe.device))
    (problem,) = generate(VARIANT, probe.size, 1, probe.seed)
    peak.restart()
    work = Work(model, problem, probe)
    seconds, _ = clock.time(work.look)
    found: dict[str, Any] = {"seconds_look": seconds, "look_gib": peak.growth()}
    peak.restart()
    times: list[float] = []
    tables: Any = None
    # The last tables are kept: with two copies the decoder's peak would not be its own.
    while sum(times) < _ENOUGH_SECONDS and len(times) < 5:
        tables = None
        seconds, tables = clock.time(work.encode)
        times.append(seconds)
    found |= {"seconds_encode": statistics.median(times), "encode_gib": peak.growth()}
    numbers = [value for value in vars(tables).values() if isinstance(value, Tensor)]
    found["finite"] = all(bool(torch.isfinite(value).all()) for value in numbers)
    if not found["finite"]:
        return found
    peak.restart()
    seconds, (cost, sequence) = clock.time(partial(work.decode, tables))
    steps = sequence.shape[2] - 2
    best = sequence[0, int(cost[0].argmin())].tolist()
    plan = Solution.judged(problem, routes_of(problem, best))
    return found | {
        "seconds_decode": seconds,
        "decode_gib": peak.growth(),
        "steps": steps,
        "step_ms": 1000 * seconds / steps,
        "cost": float(plan.cost),
        "violations": len(plan.violations),
    }


class Work:
    """As the solver has large instances: in blocks, moves out of lists of neighbours."""

    def __init__(self, model: SpaceModel, problem: Problem, probe: Probe) -> None:
        self.model, self.search, self.device = model, probe.search, torch.device(probe.device)
        self.batch = stack([problem], on_the_fly=True).to(self.device)
        self.environment = CandidateEnvironment(self.batch, num_depots=1)
        self.seeds = augmentation_seeds(self.batch, model.config, 1, 0)  # (1, V, M)
        adjusted = torch.tensor([probe.adjusted and is_adjusted(problem)], device=self.device)
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
        return replace(tables, nearness=self.adjustment.nearness(0, 1))

    def decode(self, tables: Any) -> tuple[Any, Any]:
        """Costs (1, P) and plans (1, P, T)."""
        starts = choose_starts(self.environment, self.search.starts)
        decode: Any = partial(pruned_rollout, kind=walk_for(self.device))
        if supports_pruned(self.batch):
            decode = native_pruned_rollout
        with Workers(1):  # as the solver has it for few trajectories
            pruning = Pruning(
                self.near, self.search.choices, self.search.readout, adjustment=self.adjustment
            )
            done = decode(self.environment, tables, starts, pruning)
        return done.cost, done.sequence


# ------------------------------------------------------------------------- process, time and memory


def in_own_process(probe: Probe) -> dict[str, Any]:
    """What a fresh process finds; a note where it was ended."""
    ((_, found),) = run_in_processes(iter([probe]), 1, run_probe)
    if isinstance(found, Ended):
        return {"note": "not measured: the process was ended, most likely out of memory"}
    return dict(found)


def available_memory(device: str) -> int | None:
    """Bytes that can be had now without pushing anyone out; None where the system does not tell."""
    if torch.device(device).type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free
    return _account(Path("/proc/meminfo"), "MemAvailable")


class Clock:
    """Seconds of a piece of work, the device's share included."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"

    def time(self, work: Callable[[], Any]) -> tuple[float, Any]:
        self._wait()
        began = time.perf_counter()
        result = work()
        self._wait()
        return time.perf_counter() - began, result

    def _wait(self) -> None:
        if self._on_gpu:
            torch.cuda.synchronize()


class Peak:
    """The most memory held since the last restart, above what was held at the beginning."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._device = device
        self.base = torch.cuda.memory_allocated(device) if self._on_gpu else _resident("VmRSS")

    def restart(self) -> None:
        """Forget what went before, where the system can."""
        if self._on_gpu:
            torch.cuda.reset_peak_memory_stats(self._device)
            return
        # 5: the mark of the resident set. Elsewhere than on Linux a peak is that of all so far.
        with contextlib.suppress(OSError):
            _RESET.write_text("5", encoding="ascii")

    def growth(self) -> float:
        """GiB."""
        on_gpu, device = self._on_gpu, self._device
        most = torch.cuda.max_memory_allocated(device) if on_gpu else _resident("VmHWM")
        return max(0, most - self.base) / GIB


def _resident(field: str) -> int:
    """Bytes of the resident set: now (VmRSS) or at most (VmHWM).

    The kernel's own account is asked first: the peak that getrusage tells is inherited from the
    parent process.
    """
    told = _account(_STATUS, field)
    if told is not None:
        return told
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _account(path: Path, field: str) -> int | None:
    """Bytes that a line of the kernel's accounts says; None where there is no such line."""
    with contextlib.suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{field}:"):
                return 1024 * int(line.split()[1])
    return None
