"""JSON of other programs: VROOM's problems, the data of OR-Tools' examples, routing tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spacevrp.formats.building import read_as
from spacevrp.formats.files import warn
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError, VariantError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources import recognise
from spacevrp.problems.sources.frame import ColumnWarning

# Keys that only our own JSON has, or that only our own has at the top.
_OWN_KEYS = ("format", "version", "locations", "matrix", "coordinates", "lonlat")
_MAKERS: dict[str, Callable[..., Problem]] = {
    "vroom": Problem.from_vroom,
    "ortools": Problem.from_ortools,
    "table": Problem.from_table,
    "columns": Problem.from_frame,
}


def foreign_kind(document: dict[str, Any]) -> str | None:
    """Which program's JSON this is; None for our own, and for unknown JSON."""
    if "format" in document:
        return None
    kind = recognise(document)
    if kind == "table" and any(key in document for key in _OWN_KEYS):
        return None  # an instance of ours with durations
    return kind if kind in _MAKERS else None


def read_foreign(
    path: Path,
    document: dict[str, Any],
    kind: str,
    *,
    rounding: str | None = None,
    variant: str | None = None,
    time_unit: str | None = None,
) -> Problem:
    """The problem that a document of another program states, or one error that names the file.

    Durations that are known to be in seconds become those of the ``time_unit``; others are in it.
    """
    if rounding is not None:
        raise UnsupportedError(
            f"{path}: rounding {rounding!r} applies to coordinates, and the file holds a matrix"
        )
    return make_foreign(path, _MAKERS[kind], document, variant, time_unit)


def make_foreign(
    path: Path,
    make: Callable[..., Problem],
    data: dict[str, Any],
    variant: str | None,
    time_unit: str | None,
    lines: Sequence[int] = (),
    **fields: Any,
) -> Problem:
    """The problem, or one error that names the file and, of ``lines``, that of the node."""
    try:
        beside: dict[str, Any] = read_as(variant, {}) if variant is not None else {}
        beside |= fields
        if time_unit is not None:
            beside["time_unit"] = time_unit
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ColumnWarning)
            problem = make(data, name=path.stem, **beside)
    except (ProblemError, VariantError) as error:
        node = error.node if isinstance(error, ProblemError) else None
        known = node is not None and 0 <= node < len(lines)
        where = f"line {lines[node]}: " if known else ""  # type: ignore[index]
        raise FormatError(f"{path}: {where}{error}") from error
    except UnsupportedError as error:
        raise UnsupportedError(f"{path}: {error}") from error
    for warning in caught:
        warn(path, str(warning.message))
    return problem
