"""A budget of time: how it is said, and how much of it is left."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from spacevrp.arguments import parse_duration
from spacevrp.problems.conversion import show
from spacevrp.problems.errors import SpacevrpError

Clock = Callable[[], float]


def as_seconds(given: float | str, name: str = "time") -> float:
    """Seconds from a number of them, or from words such as ``5s``, ``2m`` or ``1h30m``."""
    expected = "a time above 0, as seconds or such as '5s' or '2m'"
    seconds = math.nan
    if isinstance(given, str):
        try:
            seconds = parse_duration(given)
        except argparse.ArgumentTypeError as error:
            raise SpacevrpError(f"{name}: {error}") from None
    elif isinstance(given, int | float) and not isinstance(given, bool):
        seconds = float(given)
    if not (seconds > 0 and math.isfinite(seconds)):
        raise SpacevrpError(f"{name}: expected {expected}, received {show(given)}")
    return seconds


@dataclass
class Budget:
    """So many seconds from now on; ``clock`` tells the time."""

    seconds: float
    clock: Clock = time.perf_counter
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def spent(self) -> float:
        """Seconds since it was made."""
        return self.clock() - self._began

    @property
    def left(self) -> float:
        """Seconds left; below 0 where there was too little."""
        return self.seconds - self.spent
