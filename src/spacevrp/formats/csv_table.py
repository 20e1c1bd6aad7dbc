"""A table of stops as comma-separated text, one row a node (docs/how-to/data-frame.md)."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from spacevrp.formats.excel import VEHICLES, read_sheets, stops_and_vehicles
from spacevrp.formats.files import fail, read_text, shown, warn
from spacevrp.formats.foreign import make_foreign
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources import vehicles_from_table
from spacevrp.problems.sources.frame import ColumnWarning

_DELIMITERS = ",;\t"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_WHOLE = re.compile(r"[+-]?\d{1,18}")


def read_csv(
    path: str | Path,
    *,
    rounding: str | None = None,
    variant: str | None = None,
    time_unit: str | None = None,
    vehicles: list[dict[str, Any]] | None = None,
) -> Problem:
    """The instance of a table of stops, CSV or a workbook; its first line names the columns.

    ``time_unit`` is what numbers of time are in, in place of what the table says; ``vehicles`` are
    its types of vehicles, which a workbook may also have as a sheet of that name.
    """
    path = Path(path)
    if rounding is not None:
        raise UnsupportedError(f"{path}: rounding {rounding!r} does not apply to tables of stops")
    lines: list[int] = []
    beside: Any = vehicles
    if path.suffix.lower() == ".xlsx":
        columns, sheet = stops_and_vehicles(path)
        beside = sheet if vehicles is None else vehicles
    else:
        columns, lines = read_table(path)
    made = {} if beside is None else {"vehicles": beside}
    return make_foreign(path, Problem.from_frame, columns, variant, time_unit, lines, **made)


def read_vehicles(path: str | Path) -> list[dict[str, Any]]:
    """The types of vehicles of a table, CSV or a workbook: one row each."""
    path = Path(path)
    if path.suffix.lower() == ".xlsx":
        sheets = read_sheets(path)
        named = [one for name, one in sheets.items() if name.lower() == VEHICLES]
        columns = (named or list(sheets.values()))[0]
    else:
        columns, _ = read_table(path)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ColumnWarning)
            rows = vehicles_from_table(columns)
    except ProblemError as error:
        raise FormatError(f"{path}: {error}") from error
    for warning in caught:
        warn(path, str(warning.message))
    return rows


def read_table(
    path: Path, *, texts: Collection[str] = ()
) -> tuple[dict[str, list[Any]], list[int]]:
    """The columns by name, and the line of the file that each row stands on.

    Cells of the columns in ``texts`` stay what they are, even where they are numbers.
    """
    rows = _rows(path)
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    if len(names) < 2:
        raise fail(path, "line 1", "names of columns, such as id,x,y,demand", header)
    if "" in names:
        raise fail(path, "line 1", "a name for every column", shown(header))
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise fail(path, "line 1", "each column once", f"{twice} twice")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    lines = []
    for line, cells in rows:
        if len(cells) != len(names):
            raise fail(path, f"line {line}", f"{len(names)} cells", str(len(cells)))
        lines.append(line)
        for name, cell in zip(names, cells, strict=True):
            columns[name].append((cell.strip() or None) if name in texts else _value(cell))
    if not lines:
        raise fail(path, "", "rows below the names of the columns", "none")
    for name, column in columns.items():
        if name.lower() in ("id", "name", "pickup_id") and name not in texts:
            columns[name] = _names(column)
    return columns, lines


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of every line that is not empty."""
    text = read_text(path)
    head = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    # Line by line with their ends, which belong to the text where they stand between quotes.
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise FormatError(f"{path}: line {reader.line_num}: {shown(str(error))}") from None


def _value(cell: str) -> Any:
    """A number where it is one, None where the cell is empty, else the text."""
    text = cell.strip()
    if not text:
        return None
    return float(text) if _NUMBER.fullmatch(text) and text.isascii() else text


def _names(column: list[Any]) -> list[Any]:
    """Ids: whole numbers where they are numbers, else text."""
    return [
        int(entry) if isinstance(entry, float) and entry.is_integer() else entry for entry in column
    ]
