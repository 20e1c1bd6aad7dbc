"""Counters and histograms as Prometheus reads them (text format 0.0.4)."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# Name -> (kind, what it counts).
_KNOWN = {
    "requests_total": ("counter", "Requests answered, by path and status."),
    "request_seconds": ("histogram", "From the first byte of a request to the end of its answer."),
    "jobs_total": ("counter", "Problems that were solved or given up, by how they ended."),
    "job_seconds": ("histogram", "Spent on solving a problem, without waiting."),
    "wait_seconds": ("histogram", "Spent on waiting for a worker."),
    "batches_total": ("counter", "Calls of the solver, by the number of problems in them."),
    "refused_total": ("counter", "Requests refused for want of room, by reason."),
    "store_failures_total": ("counter", "Writes to the data folder that failed."),
    "faults_total": ("counter", "Mistakes of the server itself."),
    "queue_length": ("gauge", "Problems that wait for a worker."),
    "running": ("gauge", "Problems that are being solved."),
    "workers": ("gauge", "Problems that can be solved at the same time."),
    "uptime_seconds": ("gauge", "Since the server began."),
}
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What a server has counted; safe to use from every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, Labels], float] = defaultdict(float)
        self._buckets: dict[tuple[str, Labels], list[int]] = {}
        self._began = time.monotonic()

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += amount

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add a value to a histogram."""
        key = name, tuple(sorted(labels.items()))
        with self._lock:
            buckets = self._buckets.setdefault(key, [0] * (len(_BUCKETS) + 1))
            buckets[bisect_left(_BUCKETS, value)] += 1
            self._counts[f"{name}_sum", key[1]] += value

    def text(self, gauges: Mapping[str, float]) -> str:
        """All of it, with the present values of the gauges."""
        gauges = {**gauges, "uptime_seconds": time.monotonic() - self._began}
        with self._lock:
            counts = dict(self._counts)
            buckets = {key: list(value) for key, value in self._buckets.items()}
        lines = []
        for name, (kind, about) in _KNOWN.items():
            lines += [f"# HELP spacevrp_{name} {about}", f"# TYPE spacevrp_{name} {kind}"]
            if kind == "gauge":
                lines.append(f"spacevrp_{name} {gauges.get(name, 0.0):g}")
            elif kind == "counter":
                rows = {labels: value for (one, labels), value in counts.items() if one == name}
                lines += [
                    f"spacevrp_{name}{_labels(labels)} {value:.17g}"
                    for labels, value in sorted(rows.items())
                ] or [f"spacevrp_{name} 0"]
            else:
                for (one, labels), held in sorted(buckets.items()):
                    if one == name:
                        lines += _histogram(name, labels, held, counts[f"{name}_sum", labels])
        return "\n".join(lines) + "\n"


def _histogram(name: str, labels: Labels, held: list[int], total: float) -> list[str]:
    lines, below = [], 0
    for bound, number in zip((*map("{:g}".format, _BUCKETS), "+Inf"), held, strict=True):
        below += number
        lines.append(f"spacevrp_{name}_bucket{_labels((*labels, ('le', bound)))} {below}")
    lines.append(f"spacevrp_{name}_sum{_labels(labels)} {total:.17g}")
    lines.append(f"spacevrp_{name}_count{_labels(labels)} {below}")
    return lines


def _labels(labels: Labels) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
