"""Memory and time against size, each size in a process of its own.

A process never gives all its memory back, and what one size leaves behind would hide what the next
one needs. So every size is prepared, encoded and decoded in a fresh process, which first loads the
weights and solves a tiny instance; what it holds by then is taken off the peaks.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

VARIANT = "CVRP"
GIB = 2**30
_TINY = 10
# Short work is repeated, long work is not.
ENOUGH_SECONDS = 3.0
# Beside the footprint of the search: the instance in float64, and one more copy while it is made.
_BYTES_OF_INSTANCE = 16
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class MemoryRow:
    """One size. Peaks are in GiB above what the process held before it saw the instance."""

    part: str
    size: int  # customers
    threads: int | None
    views: int
    starts: int
    seconds_prepare: float | None = None  # from coordinates to tensors
    seconds_encode: float | None = None  # median of encode_repeats
    seconds_decode: float | None = None  # None where only the encoder was asked
    encode_repeats: int = 0
    decode_steps: int | None = None
    base_gib: float | None = None  # interpreter, torch and weights
    prepare_gib: float | None = None
    encode_gib: float | None = None
    decode_gib: float | None = None
    predicted_gib: float | None = None  # what the solver cuts its batches by
    finite: bool | None = None  # whether every number of the decoder's tables is
    cost: float | None = None  # the referee's, of the best start
    violations: int | None = None
    note: str | None = None  # why something is missing

    @property
    def peak_gib(self) -> float | None:
        """The highest of the peaks."""
        peaks = [p for p in (self.prepare_gib, self.encode_gib, self.decode_gib) if p is not None]
        return max(peaks, default=None)


@dataclass(frozen=True)
class Probe:
    """What to measure, for one size; goes to the process that measures."""

    size: int
    weights: str | None
    device: str
    starts: int
    decode: bool
    seed: int
    threads: int | None


def measure_size(probe: Probe) -> MemoryRow:
    """The figures of one size from a process of its own; a note where it cannot be had."""
    threads = probe.threads or torch.get_num_threads()
    row = MemoryRow("memory", probe.size, threads, views=1, starts=probe.starts)
    need, free = memory_needed(probe), available_memory(probe.device)
    if free is not None and need > free:
        note = f"not measured: needs about {need / GIB:.1f} GiB, {free / GIB:.1f} are free"
        return MemoryRow(**{**_as_dict(row), "note": note})
    return MemoryRow(**{**_as_dict(row), **in_own_process(run_probe, probe)})


def in_own_process(work: Callable[[Any], dict[str, Any]], probe: Any) -> dict[str, Any]:
    """What a fresh process finds; a note where it was ended."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(work, probe).result()
        except BrokenProcessPool:
            return {"note": "not measured: the process was ended, most likely out of memory"}


def memory_needed(probe: Probe) -> int:
    """Bytes that a size takes at most, about."""
    from spacevrp.engines.memory import Footprint
    from spacevrp.model import ModelConfig

    nodes = probe.size + 1
    footprint = Footprint.of(nodes, ModelConfig().width).block(1, probe.starts)
    return footprint + _BYTES_OF_INSTANCE * nodes * nodes


def available_memory(device: str) -> int | None:
    """Bytes that can be had now without pushing anyone out; None where the system does not tell."""
    if torch.device(device).type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return None


# ------------------------------------------------------------------------------------- the process


def run_probe(probe: Probe) -> dict[str, Any]:
    """Measure one size in this process, which should be fresh."""
    from spacevrp.bench.weights import load_model

    if probe.threads is not None:
        torch.set_num_threads(probe.threads)
    device = torch.device(probe.device)
    model, _ = load_model(probe.weights)
    model = model.to(device)
    _measure(model, Probe(_TINY, None, probe.device, 1, True, probe.seed, None), Peak(device))
    peak = Peak(device)
    return {"base_gib": peak.base / GIB, **_measure(model, probe, peak)}


def _measure(model: Any, probe: Probe, peak: Peak) -> dict[str, Any]:
    from spacevrp.engines.memory import Footprint
    from spacevrp.engines.search import choose_starts
    from spacevrp.env import Environment
    from spacevrp.generators import generate
    from spacevrp.model import view_seeds
    from spacevrp.tensors import stack

    device = torch.device(probe.device)
    clock = Clock(device)
    # Tensor cores want bfloat16; a CPU is as fast in float32. As the solver has it.
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    found: dict[str, Any] = {}
    with torch.inference_mode():
        (problem,) = generate(VARIANT, probe.size, 1, probe.seed)
        peak.restart()
        seconds, batch = clock.time(lambda: stack([problem]).to(device))
        found["seconds_prepare"], found["prepare_gib"] = seconds, peak.growth()
        seeds = view_seeds(batch, model.config, 1, 0)[:, 0]  # (1, M)
        peak.restart()
        seconds, tables = clock.time(lambda: model(batch, seeds, dtype))
        found["encode_gib"] = peak.growth()
        found["finite"] = all(
            bool(torch.isfinite(value).all())
            for value in vars(tables).values()
            if isinstance(value, Tensor)
        )
        times = [seconds]
        # The last tables are kept: with two copies the decoder's peak would not be its own.
        while sum(times) < ENOUGH_SECONDS and len(times) < 5:
            del tables
            seconds, tables = clock.time(lambda: model(batch, seeds, dtype))
            times.append(seconds)
        found["seconds_encode"] = statistics.median(times)
        found["encode_repeats"] = len(times)
        environment = Environment(batch, num_depots=1)
        starts = choose_starts(environment, probe.starts)
        found["predicted_gib"] = (
            Footprint.of(problem.size, model.config.width).block(1, starts.shape[1]) / GIB
        )
        if probe.decode and found["finite"]:
            found |= _decode(problem, environment, tables, starts, clock, peak)
    return found


def _decode(
    problem: Any, environment: Any, tables: Any, starts: Tensor, clock: Clock, peak: Peak
) -> dict[str, Any]:
    from spacevrp.decode import rollout, routes_of
    from spacevrp.decode.fused import fused_rollout
    from spacevrp.decode.native_rollout import native_rollout, supports
    from spacevrp.engines.search import uses_kernel
    from spacevrp.problems.solution import Solution

    peak.restart()
    if uses_kernel(environment):
        seconds, trace = clock.time(lambda: fused_rollout(environment, tables, starts))
        cost, sequence = trace.cost, trace.sequences()
    elif supports(environment.batch):
        seconds, trace = clock.time(lambda: native_rollout(environment, tables, starts))
        cost, sequence = trace.cost, trace.sequences()
    else:
        seconds, done = clock.time(lambda: rollout(environment, tables, starts))
        cost, sequence = done.cost, done.sequence
    grown = peak.growth()
    best = sequence[0, int(cost[0].argmin())].tolist()
    plan = Solution.judged(problem, routes_of(problem, best))
    return {
        "seconds_decode": seconds,
        "decode_gib": grown,
        "decode_steps": sequence.shape[2] - 2,
        "cost": float(plan.cost),
        "violations": len(plan.violations),
    }


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
        return max(0, self._most() - self.base) / GIB

    def height(self) -> float:
        """GiB, with what was held at the beginning."""
        return self._most() / GIB

    def _most(self) -> int:
        if self._on_gpu:
            return torch.cuda.max_memory_allocated(self._device)
        return _resident("VmHWM")


def _resident(field: str) -> int:
    """Bytes of the resident set: now (VmRSS) or at most (VmHWM).

    The kernel's own account is asked first: the peak that getrusage tells is inherited from the
    parent process.
    """
    try:
        for line in _STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{field}:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


# ---------------------------------------------------------------------------------------- exponents


def exponents(
    rows: Sequence[Any],
    names: Sequence[str] = ("seconds_encode", "seconds_decode", "encode_gib"),
) -> dict[str, dict[str, float]]:
    """How what is measured grows with the size: encoding, decoding, the peak of memory.

    ``fitted`` is the slope of the straight line through the logarithms (least squares), ``last``
    the slope between the two largest sizes.
    """
    found = {}
    for name in names:
        points = [
            (math.log(row.size), math.log(value))
            for row in sorted(rows, key=lambda row: row.size)
            if (value := getattr(row, name)) is not None and value > 0
        ]
        if len({x for x, _ in points}) < 2:
            continue
        mean_x = statistics.fmean(x for x, _ in points)
        mean_y = statistics.fmean(y for _, y in points)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in points)
        slope /= sum((x - mean_x) ** 2 for x, _ in points)
        (x0, y0), (x1, y1) = points[-2:]
        found[name] = {"fitted": round(slope, 3)}
        if x1 > x0:
            found[name]["last"] = round((y1 - y0) / (x1 - x0), 3)
    return found


def _as_dict(row: MemoryRow) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}
