"""JSON of other programs: VROOM's problems, the data of OR-Tools' examples, routing tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from spacevrp.formats.building import read_as
from spacevrp.formats.files import warn
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError, VariantError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources import recognise
from spacevrp.problems.sources.frame import ColumnWarning

T = TypeVar("T")
# Keys that only our own JSON has, or that only our own has at the top.
_OWN_KEYS = ("format", "version", "locations", "matrix", "coordinates", "lonlat")


def foreign_kind(document: dict[str, Any]) -> str | None:
    """Which program's JSON this is; None for our own, and for unknown JSON."""
    if "format" in document:
        return None
    kind = recognise(document)
    if kind == "table" and any(key in document for key in _OWN_KEYS):
        return None  # an instance of ours with durations
    return None if kind == "fields" else kind


def read_foreign(
    path: Path,
    kind: str,
    data: dict[str, Any],
    variant: str | None,
    places: Sequence[str] = (),
    **fields: Any,
) -> Problem:
    """What another program states, or an error with the file and, of ``places``, the node's.

    Durations that are known to be in seconds become those of the ``time_unit``; others are in it.
    """
    beside = {name: value for name, value in fields.items() if value is not None}
    make = Problem.from_frame if kind == "columns" else Problem.from_data
    try:
        if variant is not None:
            beside = read_as(variant, {}) | beside
        return relaying_warnings(path, lambda: make(data, name=path.stem, **beside))
    except (ProblemError, VariantError) as error:
        node = error.node if isinstance(error, ProblemError) else None
        known = node is not None and 0 <= node < len(places)
        where = f"{places[node]}: " if known else ""  # type: ignore[index]
        raise FormatError(f"{path}: {where}{error}") from error
    except UnsupportedError as error:
        raise UnsupportedError(f"{path}: {error}") from error


def relaying_warnings(path: Path, read: Callable[[], T]) -> T:
    """What is read; warnings of columns that are left out become the file's own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ColumnWarning)
        made = read()
    for warning in caught:
        warn(path, str(warning.message))
    return made
