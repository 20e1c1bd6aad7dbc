"""What else runs on the machine while something is measured."""

from __future__ import annotations

import os
import time
from pathlib import Path

_MOMENT, _RESTING = 2.0, 0.1  # seconds, cores


class Neighbours:
    """How many cores other processes kept busy since this was made."""

    def __init__(self) -> None:
        self._wall, self._all, self._own = time.perf_counter(), _busy_seconds(), _own_seconds()

    def busy(self) -> float | None:
        """Cores, on average; None where the system does not tell."""
        after, wall = _busy_seconds(), time.perf_counter() - self._wall
        if self._all is None or after is None or wall <= 0:
            return None
        own = _own_seconds() - self._own
        return round(max(0.0, (after - self._all - own) / wall), 3)


def wait_for_rest(seconds: float) -> None:
    """Return when other processes have been quiet for a moment, or after so many seconds."""
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        neighbours = Neighbours()
        time.sleep(min(_MOMENT, left))
        busy = neighbours.busy()
        if busy is None or busy < _RESTING:
            return


def _busy_seconds() -> float | None:
    """Time that all cores together have worked since the machine was started."""
    try:
        first = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    ticks = [int(text) for text in first[:8]]
    idle = ticks[3] + ticks[4]  # and waiting for disks
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system


def load_average() -> list[float] | None:
    """Over 1, 5 and 15 minutes; None where the system does not tell."""
    try:
        return [round(value, 2) for value in os.getloadavg()]
    except (AttributeError, OSError):
        return None
