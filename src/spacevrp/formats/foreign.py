"""JSON of other programs: VROOM's problems, the data of OR-Tools' examples, routing tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacevrp.formats.building import read_as
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError, VariantError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources import recognise

# Keys that only our own JSON has, or that only our own has at the top.
_OWN_KEYS = ("format", "version", "locations", "matrix")
_MAKERS: dict[str, Callable[..., Problem]] = {
    "vroom": Problem.from_vroom,
    "ortools": Problem.from_ortools,
    "table": Problem.from_table,
}


def foreign_kind(document: dict[str, Any]) -> str | None:
    """Which program's JSON this is; None for our own, and for what nobody knows."""
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
) -> Problem:
    """The problem that a document of another program states, or one error that names the file."""
    if rounding is not None:
        raise UnsupportedError(
            f"{path}: rounding {rounding!r} applies to coordinates, and the file holds a matrix"
        )
    try:
        beside = read_as(variant, {}) if variant is not None else {}
        return _MAKERS[kind](document, name=path.stem, **beside)
    except (ProblemError, VariantError) as error:
        raise FormatError(f"{path}: {error}") from error
    except UnsupportedError as error:
        raise UnsupportedError(f"{path}: {error}") from error
