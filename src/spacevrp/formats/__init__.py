"""Readers and writers: VRPLIB, TSPLIB, Solomon, Li-Lim, Cordeau, JSON, .npz batches, solutions.

Read, too: tables of stops and of vehicles as CSV or .xlsx, and the JSON of VROOM, OR-Tools'
examples and routing engines.

The contract of every format is docs/formats.md. A file that cannot be read gives one
:class:`~spacevrp.problems.errors.FormatError` that names it; what a reader leaves out, it says in a
:class:`FormatWarning`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from spacevrp.formats.cordeau import read_cordeau as read_cordeau
from spacevrp.formats.csv_table import is_of_vehicles, read_types, vehicle_fault
from spacevrp.formats.csv_table import read_csv as read_csv
from spacevrp.formats.csv_table import read_vehicles as read_vehicles
from spacevrp.formats.files import FormatWarning as FormatWarning
from spacevrp.formats.files import fail, read_head, sniff
from spacevrp.formats.foreign import foreign_kind
from spacevrp.formats.instance_json import instance_of
from spacevrp.formats.instance_json import read_json as read_json
from spacevrp.formats.instance_json import write_json as write_json
from spacevrp.formats.json_text import parse_object
from spacevrp.formats.npz import load_arrays as load_arrays
from spacevrp.formats.npz import read_npz as read_npz
from spacevrp.formats.npz import write_npz as write_npz
from spacevrp.formats.solomon import read_lilim as read_lilim
from spacevrp.formats.solomon import read_solomon as read_solomon
from spacevrp.formats.solomon import write_text as write_text
from spacevrp.formats.solutions import SolutionFile as SolutionFile
from spacevrp.formats.solutions import SolvedInstance as SolvedInstance
from spacevrp.formats.solutions import read_routes as read_routes
from spacevrp.formats.solutions import read_solution as read_solution
from spacevrp.formats.solutions import read_starts as read_starts
from spacevrp.formats.solutions import routes_from_sol as routes_from_sol
from spacevrp.formats.solutions import solution_json as solution_json
from spacevrp.formats.solutions import write_solution as write_solution
from spacevrp.formats.vrplib import read_vrplib as read_vrplib
from spacevrp.formats.vrplib_writing import write_vrplib as write_vrplib
from spacevrp.problems.conversion import show
from spacevrp.problems.errors import FormatError, ProblemError, SpacevrpError, UnsupportedError
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.plan_documents import solution_document as solution_document
from spacevrp.problems.plan_sol import solution_sol as solution_sol
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.sources.skills import without_unskilled
from spacevrp.problems.sources.vehicles import with_kinds_in_order

_FORMAT_OF_SUFFIX = {
    **{".npz": "npz", ".json": "json", ".txt": "solomon"},
    **dict.fromkeys((".vrp", ".tsp", ".atsp"), "vrplib"),
    **dict.fromkeys((".csv", ".xlsx"), "csv"),
}
_READERS = {
    "vrplib": read_vrplib,
    "solomon": read_solomon,
    "lilim": read_lilim,
    "cordeau": read_cordeau,
}
# These say nothing of units of time, or what is not in the unit that is wanted.
_TIMED = ("csv", "json")
_WRITERS = {"json": write_json, "vrplib": write_vrplib, "solomon": write_text}


def read(
    path: str | Path,
    *,
    rounding: str | None = None,
    variant: str | None = None,
    time_unit: str | None = None,
    vehicles: str | Path | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    allow_unservable: bool = False,
) -> Problem | list[Problem]:
    """The instance of a file, or the list of instances of an .npz batch.

    Parameters
    ----------
    path
        The file. Its content decides the format; its suffix does where the content is unclear.
    rounding
        Rounding policy for distances from coordinates (``none``, ``nearest``, ``up``, ``down``,
        ``one-decimal``, ``three-decimals``), in place of what is customary for such files.
    variant
        Read the instance as this named variant, in place of what the file says.
    time_unit
        ``s``, ``min`` or ``h``: what numbers of time in a table of stops are in, seconds by
        default. Of other programs' JSON, what its seconds become.
    vehicles
        A table of vehicles, one row a type (.csv or .xlsx), in place of what the file says of them.
    columns
        Of a table of stops: field -> name of its column, as of ``Problem.from_frame``.
    allow_unservable
        Allow customers whom no vehicle can serve, as the command line does; plans leave them out.

    Raises
    ------
    FormatError
        Names the file, the place in it, what was expected there and what was found.
    """
    told: dict[str, Any] = {"rounding": rounding, "variant": variant}
    if allow_unservable:
        with unservable_allowed():
            return read(path, **told, time_unit=time_unit, vehicles=vehicles, columns=columns)
    path = Path(path)
    suffix = path.suffix.lower()
    head = read_head(path)
    kind = "csv" if suffix == ".xlsx" else sniff(head) or _FORMAT_OF_SUFFIX.get(suffix)
    if time_unit is not None and kind not in _TIMED:
        raise UnsupportedError(f"{path}: time_unit {time_unit!r} applies to tables of stops only")
    if columns and kind != "csv":
        raise UnsupportedError(f"{path}: columns apply to tables of stops only, .csv or .xlsx")
    if vehicles is not None:
        told["time_unit"] = time_unit
        return _read_beside(path, kind, Path(vehicles), columns, told)
    if kind == "csv":
        return read_csv(path, **told, time_unit=time_unit, columns=columns)
    if kind == "npz":
        return read_npz(path, rounding=rounding, variant=variant)
    if kind == "json":
        return read_json(path, rounding=rounding, variant=variant, time_unit=time_unit)
    if kind in _READERS:
        return _READERS[kind](path, rounding=rounding, variant=variant)
    received = "a solution" if kind == "sol" or suffix == ".sol" else "none of these"
    expected = "an instance: VRPLIB, TSPLIB, Solomon, Li-Lim, Cordeau, JSON, CSV or .npz"
    raise fail(path, "", expected, received)


def _read_beside(
    path: Path,
    kind: str | None,
    vehicles: Path,
    columns: Mapping[str, str | Sequence[str]] | None,
    told: dict[str, Any],
) -> Problem | list[Problem]:
    """The same next to a table of vehicles, whose faults are told of its own file."""
    types, table = read_types(vehicles)
    document = parse_object(path) if kind == "json" else None
    make: Callable[[], Problem | list[Problem]]
    if kind == "csv":
        make = partial(read_csv, path, **told, vehicles=types, columns=columns)
    elif document is not None and foreign_kind(document) == "columns":
        make = partial(instance_of, path, document, **told, vehicles=types)
    else:
        bare = read(path, **told) if document is None else instance_of(path, document, **told)
        make = partial(_with_vehicles, path, bare, types)
    try:
        return make()
    except FormatError as error:
        if not is_of_vehicles(error.__cause__):
            raise
        raise vehicle_fault(vehicles, table, error.__cause__) from error.__cause__


def _with_vehicles(
    path: Path, problems: Problem | list[Problem], types: list[dict[str, Any]]
) -> Problem | list[Problem]:
    """The same problems with these types of vehicles; no stop of theirs asks for skills."""
    types = with_kinds_in_order(without_unskilled(types, (), None), None)
    try:
        if isinstance(problems, Problem):
            return problems.replace(vehicles=types, vehicle_ids=None, variant=None)
        return [one.replace(vehicles=types, variant=None) for one in problems]
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from error


def write(what: Problem | Iterable[Problem] | Solution, path: str | Path) -> None:
    """Write an instance, a batch of instances or a solution, in the format that the suffix says.

    Parameters
    ----------
    what
        A problem (.json, .vrp, .tsp and .atsp for VRPLIB, or .txt: Li and Lim's layout for pairs,
        else Solomon's), several (.npz), or a solution (.sol, .json, .geojson, .gpx, .csv, .txt; see
        :meth:`Solution.save`).
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
    problems: list[Any] = list(what) if several else [what]  # type: ignore[arg-type]
    for entry in problems:
        if not isinstance(entry, Problem):
            raise SpacevrpError(f"what: expected problems or a solution, received {show(entry)}")
    path = Path(path)
    kind = _FORMAT_OF_SUFFIX.get(path.suffix.lower())
    if kind == "npz":
        write_npz(path, problems)
        return
    if kind not in _WRITERS:
        raise UnsupportedError(
            f"{path}: instances are written as .npz, .json, .vrp, .tsp, .atsp or .txt"
        )
    if len(problems) != 1:
        raise UnsupportedError(
            f"{path}: the format holds one instance, received {len(problems)}; write .npz"
        )
    _WRITERS[kind](path, problems[0])
