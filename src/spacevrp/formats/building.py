"""From the fields of a file to a problem: what variants mean, and errors that name the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.files import warn
from spacevrp.problems.distances import Distances, Metric
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError, VariantError
from spacevrp.problems.implied import flags_of
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import parse_variant


def read_as(variant: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of one instance with the flags of the variant the caller asks for.

    A limit on the number of routes that the file states stays where the variant has several routes.
    """
    flags = flags_of(parse_variant(variant).features)
    if flags["max_routes"] is None:
        del flags["max_routes"]
    return {**fields, **flags, "variant": variant}


def build(
    path: Path,
    fields: dict[str, Any],
    *,
    variant: str | None,
    where: str = "",
    labels: Sequence[int] = (),
    make: Callable[..., Problem] = Problem,
) -> Problem:
    """The problem, or one error that names the file.

    ``labels`` are the numbers that the file itself gives to the nodes, where they differ from ours.
    """
    try:
        return make(**(read_as(variant, fields) if variant is not None else fields))
    except (ProblemError, VariantError) as error:
        place = f"{path}: {where}" if where else str(path)
        node = error.node if isinstance(error, ProblemError) else None
        label = "" if node is None or not labels else f" (number {labels[node]} in the file)"
        raise FormatError(f"{place}: {error}{label}") from error


def measured(
    path: Path,
    coordinates: Any,
    metric: Metric,
    rounding: str | None,
    field: str | None = None,
) -> Distances:
    """Distances from coordinates, with the caller's rounding policy in place of the file's."""
    if rounding is not None:
        metric = Metric(metric.geometry, rounding)
    try:
        return Distances(coordinates=coordinates, metric=metric, field=field)
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from error


def tabled(path: Path, matrix: Any, rounding: str | None, *, field: str) -> Distances:
    """Distances from a matrix, to which no rounding policy applies."""
    if rounding is not None:
        raise UnsupportedError(
            f"{path}: rounding {rounding!r} applies to coordinates, and the file holds a matrix"
        )
    try:
        return Distances(matrix=matrix, field=field)
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from error


def same_distances(left: Distances, right: Distances) -> bool:
    """Whether two tables hold the same numbers in the same form."""
    if left is right:
        return True
    if left.coordinates is None or right.coordinates is None:
        if left.coordinates is not None or right.coordinates is not None:
            return False
        return bool(np.array_equal(left.matrix(), right.matrix()))
    return left.metric == right.metric and np.array_equal(left.coordinates, right.coordinates)


def warn_unnamed(path: Path, problem: Problem) -> None:
    """Say that a format without a place for them leaves out what nodes and times are called."""
    held = {
        "ids": problem.ids is not None,
        "places": problem.places is not None,
        "dates": problem.clock is not None,
    }
    left_out = [name for name, is_held in held.items() if is_held]
    if left_out:
        warn(path, f"{' and '.join(left_out)} left out: the format has no place for them")


def neutral_value(problem: Problem, field: str) -> Any:
    """What a field of the problem holds where the feature is absent."""
    if field in ("depots", "pairs"):
        return ()
    if field in ("capacity", "max_length"):
        return np.inf
    if field == "min_prize":
        return 0.0
    if field in ("revealed_prize", "release", "setup"):
        return None
    if field == "windows":
        return np.tile([0.0, np.inf], (problem.size, 1))
    skipped = np.inf if field == "penalty" and not problem.maximise_prize else 0.0
    return np.full(problem.size, skipped)


def exact(value: float) -> str:
    """The shortest decimal that reads back as the same number."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(float(value))
