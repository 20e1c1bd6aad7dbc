"""A time, and how it is said."""

from __future__ import annotations

import argparse
import math

from spacevrp.arguments import parse_duration
from spacevrp.problems.conversion import show
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import SpacevrpError


def as_seconds(given: float | str) -> float:
    """Seconds from a number of them, or from words such as ``5s``, ``2m`` or ``1h30m``."""
    expected = "a time above 0, as seconds or such as '5s' or '2m'"
    seconds = math.nan
    if isinstance(given, str):
        try:
            seconds = parse_duration(given)
        except argparse.ArgumentTypeError as error:
            raise SpacevrpError(f"time: {error}") from None
    elif isinstance(given, int | float) and not isinstance(given, bool):
        seconds = float(given)
    if not (seconds > 0 and math.isfinite(seconds)):
        raise SpacevrpError(f"time: expected {expected}, received {show(given)}")
    return seconds


def as_deadline(given: float | str | Deadline | None) -> Deadline:
    """So long from now on; None for no limit. A deadline is taken as it is."""
    if isinstance(given, Deadline):
        return given
    return Deadline() if given is None else Deadline(as_seconds(given))
