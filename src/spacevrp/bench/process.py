"""Work in a process of its own, its time and its peak of memory, and how both grow with the size.

A process never gives all its memory back, and what one size leaves behind would hide what the next
one needs. So every size has a fresh process, which first loads the weights and solves a tiny
instance; what it holds by then is taken off the peaks.
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
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

GIB = 2**30
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def in_own_process(work: Callable[[Any], dict[str, Any]], probe: Any) -> dict[str, Any]:
    """What a fresh process finds; a note where it was ended."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(work, probe).result()
        except BrokenProcessPool:
            return {"note": "not measured: the process was ended, most likely out of memory"}


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


# ---------------------------------------------------------------------------------------- exponents


def exponents(rows: Sequence[Any], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """How what is measured grows with the size.

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
        slope = statistics.linear_regression(*zip(*points, strict=True)).slope
        (x0, y0), (x1, y1) = points[-2:]
        found[name] = {"fitted": round(slope, 3)}
        if x1 > x0:
            found[name]["last"] = round((y1 - y0) / (x1 - x0), 3)
    return found
