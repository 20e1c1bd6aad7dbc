"""One function for all that is written: instances and solutions, by the suffix of the path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spacevrp.formats import write as write_instances
from spacevrp.problems.conversion import show
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution


def write(what: Problem | Iterable[Problem] | Solution, path: str | Path) -> None:
    """Write an instance, a batch of instances or a solution, in the format that the suffix says.

    Parameters
    ----------
    what
        A problem (.json, .vrp, .tsp, .atsp, .txt), several (.npz), or a solution (.sol, .json,
        .geojson, .gpx, .csv, .txt; see :meth:`Solution.save`).
    path
        The file.

    Raises
    ------
    UnsupportedError
        Names what the format cannot hold.
    """
    if not isinstance(path, str | Path):
        raise SpacevrpError(f"path: expected the name of a file, received {show(path)}")
    if isinstance(what, Solution):
        what.save(path)
        return
    several = isinstance(what, Iterable) and not isinstance(what, str | Path)
    entries: list[Any] = list(what) if several else [what]  # type: ignore[arg-type]
    for entry in entries:
        if not isinstance(entry, Problem):
            raise SpacevrpError(f"what: expected problems or a solution, received {show(entry)}")
    write_instances(path, entries)
