"""Readers and writers: VRPLIB and TSPLIB, Solomon text, JSON instances, .npz batches, solutions.

Read, too: tables of stops as CSV, and the JSON of VROOM, OR-Tools' examples and routing engines.

The contract of every format is docs/formats.md. A file that cannot be read gives one
:class:`~spacevrp.problems.errors.FormatError` that names it; what a reader leaves out, it says in a
:class:`FormatWarning`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spacevrp.formats.csv_table import read_csv
from spacevrp.formats.files import FormatWarning, fail, read_head, sniff
from spacevrp.formats.instance_json import read_json, write_json
from spacevrp.formats.npz import load_arrays, read_npz, write_npz
from spacevrp.formats.solomon import read_solomon
from spacevrp.formats.solutions import (
    SolutionFile,
    SolvedInstance,
    read_solution,
    routes_from_sol,
    solution_json,
    write_solution,
)
from spacevrp.formats.vrplib import read_vrplib
from spacevrp.formats.vrplib_writing import write_vrplib
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.plan_documents import solution_document, solution_sol
from spacevrp.problems.problem import Problem

# The same function under the name of what it returns.
read_solution_file = read_solution

__all__ = [
    "FormatWarning",
    "SolutionFile",
    "SolvedInstance",
    "load_arrays",
    "read",
    "read_csv",
    "read_json",
    "read_npz",
    "read_solomon",
    "read_solution",
    "read_solution_file",
    "read_vrplib",
    "routes_from_sol",
    "solution_document",
    "solution_json",
    "solution_sol",
    "write",
    "write_json",
    "write_npz",
    "write_solution",
    "write_vrplib",
]

_FORMAT_OF_SUFFIX = {
    ".npz": "npz",
    ".json": "json",
    ".vrp": "vrplib",
    ".tsp": "vrplib",
    ".atsp": "vrplib",
    ".txt": "solomon",
    ".csv": "csv",
}
_READERS = {"vrplib": read_vrplib, "solomon": read_solomon}
# These say nothing of units of time, or what is not in the unit that is wanted.
_TIMED = ("csv", "json")
_WRITERS = {"json": write_json, "vrplib": write_vrplib}


def read(
    path: str | Path,
    *,
    rounding: str | None = None,
    variant: str | None = None,
    time_unit: str | None = None,
) -> Problem | list[Problem]:
    """The instance of a file, or the list of instances of an .npz batch.

    Parameters
    ----------
    path
        The file. Its content decides the format; its suffix does where the content is unclear.
    rounding
        Rounding policy for distances from coordinates (``none``, ``nearest``, ``up``, ``down``,
        ``one-decimal``), in place of the one that belongs to the format.
    variant
        Read the instance as this named variant, in place of what the file says.
    time_unit
        ``s``, ``min`` or ``h``: what numbers of time in a table of stops are in, seconds by
        default. Of other programs' JSON, what its seconds become.

    Raises
    ------
    FormatError
        Names the file, the place in it, what was expected there and what was found.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    kind = sniff(read_head(path)) or _FORMAT_OF_SUFFIX.get(suffix)
    if time_unit is not None and kind not in _TIMED:
        raise UnsupportedError(f"{path}: time_unit {time_unit!r} applies to tables of stops only")
    if kind == "npz":
        return read_npz(path, rounding=rounding, variant=variant)
    if kind == "csv":
        return read_csv(path, rounding=rounding, variant=variant, time_unit=time_unit)
    if kind == "json":
        return read_json(path, rounding=rounding, variant=variant, time_unit=time_unit)
    if kind in _READERS:
        return _READERS[kind](path, rounding=rounding, variant=variant)
    received = "a solution" if kind == "sol" or suffix == ".sol" else "none of these"
    raise fail(
        path, "", "an instance in VRPLIB, TSPLIB, Solomon, JSON, CSV or .npz format", received
    )


def write(path: str | Path, problems: Problem | Sequence[Problem]) -> None:
    """Write one instance (.json, .vrp, .tsp, .atsp) or a batch (.npz), by the suffix of the path.

    Raises
    ------
    UnsupportedError
        Names the feature of the problem that the format cannot hold.
    """
    path = Path(path)
    several = [problems] if isinstance(problems, Problem) else list(problems)
    kind = _FORMAT_OF_SUFFIX.get(path.suffix.lower())
    if kind == "npz":
        write_npz(path, several)
        return
    if kind not in _WRITERS:
        raise UnsupportedError(f"{path}: instances are written as .npz, .json, .vrp, .tsp or .atsp")
    if len(several) != 1:
        raise UnsupportedError(
            f"{path}: the format holds one instance, received {len(several)}; write .npz"
        )
    _WRITERS[kind](path, several[0])
