"""Breaks of drivers: how long each takes, and when it may begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from spacevrp.problems.clock import as_durations
from spacevrp.problems.conversion import as_number, plain_array, show
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.keywords import refuse_keys
from spacevrp.problems.loads import dimensions


@dataclass(frozen=True)
class Break:
    """A break, taken once: before the vehicle leaves, on its way, or after its route is over.

    Parameters
    ----------
    duration
        How long it takes: a number, or a timedelta.
    window
        When it begins: not before the first moment and not after the second. Given as the
        ``windows`` of the problem are; None for any time.
    windows
        Several windows instead, one of which it begins in. Within a problem all are here.
    name
        What plans and messages call it; by default its number, counted from 1.
    """

    duration: Any
    window: Any = None
    windows: Any = None
    name: str = ""


def as_breaks(breaks: Any, unit: str) -> tuple[Break, ...]:
    """The breaks in the order given, with every field converted but the moments."""
    if breaks is None:
        return ()
    if isinstance(breaks, Break | Mapping):
        breaks = [breaks]
    if isinstance(breaks, str | bytes) or not isinstance(breaks, Sequence):
        raise ProblemError("breaks", "a list of breaks", show(breaks))
    resolved = []
    for number, given in enumerate(breaks, start=1):
        try:
            resolved.append(_as_break(given, unit))
        except ProblemError as error:
            raise error.at(f"break {number}, {error.field}") from None
    return tuple(resolved)


def _as_break(given: Any, unit: str) -> Break:
    if isinstance(given, Mapping):
        refuse_keys(given, [field.name for field in fields(Break)])
        if "duration" not in given:
            raise ProblemError("duration", "a duration of at least 0", "none")
        given = Break(**given)
    if not isinstance(given, Break):
        raise ProblemError("type", "a Break or a table of keys", show(given))
    if not isinstance(given.name, str):
        raise ProblemError("name", "text", show(given.name))
    duration = as_number("duration", as_durations(given.duration, unit))
    if not 0 <= duration < np.inf:
        raise ProblemError("duration", "a duration of at least 0", str(duration))
    windows = plain_array(given.windows)
    if windows is None:
        windows = [(None, None) if given.window is None else plain_array(given.window)]
    elif given.window is not None:
        raise ProblemError("window", "either a window or several", "both")
    if dimensions(windows) < 1 or isinstance(windows, str | Mapping) or not len(windows):
        raise ProblemError("windows", "a list of windows", show(given.windows))
    for window in windows:
        if dimensions(window) != 1 or len(window) != 2:
            raise ProblemError("window", "two moments", show(window))
    return replace(given, duration=duration, window=None, windows=tuple(map(tuple, windows)))


def called_break(one: Break, number: int) -> str:
    """What to call a break in a message."""
    return f"break {number} ({one.name})" if one.name else f"break {number}"
