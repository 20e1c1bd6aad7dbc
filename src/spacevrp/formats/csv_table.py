"""Tables of stops and of vehicles, as CSV or a workbook (docs/how-to/data-frame.md).

A workbook has the stops on its first sheet. openpyxl reads it (the extra ``excel``): it is small,
and knows which numbers are dates.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

from spacevrp.formats.files import fail, read_head, read_text, shown, unreadable, warn
from spacevrp.formats.foreign import read_foreign, relaying_warnings
from spacevrp.problems.errors import FormatError, ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources.columns import names_in, normalised, whole_cell, written_id
from spacevrp.problems.sources.vehicles import vehicles_from_table

VEHICLES = "vehicles"
_LARGEST = 512 * 2**20  # bytes, unpacked


@dataclass(frozen=True)
class Table:
    """Columns by name, and where they stand in their file, as its errors say it."""

    columns: dict[str, list[Any]]
    head: str  # the place of the names
    places: list[str]  # of the rows


def read_sheets(path: Path, *, names: Collection[str] = ()) -> dict[str, Table]:
    """The table of every sheet; the first row of a sheet names its columns.

    Those in ``names`` hold ids, whatever they are called.
    """
    try:
        openpyxl = import_module("openpyxl")
    except ImportError:
        raise UnsupportedError(
            f"{path}: workbooks need openpyxl: pip install spacevrp[excel]; or save it as .csv"
        ) from None
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > _LARGEST:
            raise fail(path, "", f"at most {_LARGEST} bytes unpacked", str(unpacked))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles that are nothing to us
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            rows = {sheet.title: [list(row) for row in sheet.values] for sheet in book.worksheets}
            book.close()
    except OSError as error:
        raise unreadable(path, error) from None
    except FormatError:
        raise
    except Exception as error:  # whatever a broken workbook makes of it
        raise fail(path, "", "a workbook (.xlsx)", f"none: {type(error).__name__}") from None
    if not rows:
        raise fail(path, "", "a sheet", "none")
    return {title: _table(path, title, held, names) for title, held in rows.items() if any(held)}


def stops_and_vehicles(path: Path, names: Collection[str]) -> tuple[Table, Table | None]:
    """The table of stops, and that of vehicles where a sheet is called so."""
    sheets = read_sheets(path, names=names)
    vehicles = next((one for name, one in sheets.items() if name.lower() == VEHICLES), None)
    stops = next((one for name, one in sheets.items() if name.lower() != VEHICLES), None)
    if stops is None:
        raise fail(path, "", "a sheet with stops", "none")
    return stops, vehicles


def _table(path: Path, title: str, rows: list[list[Any]], names: Collection[str]) -> Table:
    sheet = f"sheet {shown(title)}"
    filled = {
        f"{sheet}, row {number}": row
        for number, row in enumerate(rows, start=1)
        if any(_cell(cell) is not None for cell in row)
    }
    if not filled:
        raise fail(path, sheet, "a first row with names of columns", "none")
    (head, first), *rest = filled.items()
    header = [_cell(cell) for cell in first]
    while header and header[-1] is None:
        header.pop()
    for cell in header:
        if not isinstance(cell, str):
            raise fail(path, head, "names of columns", cell)
    _refuse_repeated(path, head, header)
    columns = {
        name: [_cell(row[number]) if number < len(row) else None for _, row in rest]
        for number, name in enumerate(header)
    }
    # Ids are whole numbers where they are numbers, which workbooks hold as floats.
    for name in header:
        if _holds_ids(name, names):
            columns[name] = [whole_cell(entry) for entry in columns[name]]
    return Table(columns, head, [place for place, _ in rest])


def _refuse_repeated(path: Path, where: str, names: list[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise fail(path, where, "each column once", f"{twice} twice")


def _cell(value: Any) -> Any:
    """A cell; times of day as text, which is how tables have them."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, time):
        return value.strftime("%H:%M:%S")
    if isinstance(value, bool) or value is None or isinstance(value, datetime):
        return value
    return float(value) if isinstance(value, int | float) else value


def _holds_ids(name: str, names: Collection[str]) -> bool:
    return name in names or normalised(name) in _NAMES


_DELIMITERS = ",;\t"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_FLOAT = re.compile(r"\d+\.0")
_DECIMAL = re.compile(r"[+-]?\d*[.,]\d+", re.ASCII)
# Columns of names: of stops, of vehicles, and of stops in a table of vehicles.
_NAMES = (
    *("id", "name", "pickup_id", "vehicle", "type", "skills"),
    *("depot", "start", "end", "allowed", "forbidden", "reload_depots"),
)


def read_csv(
    path: str | Path,
    *,
    rounding: str | None = None,
    variant: str | None = None,
    time_unit: str | None = None,
    vehicles: list[dict[str, Any]] | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
) -> Problem:
    """The instance of a table of stops, CSV or a workbook; its first line names the columns.

    ``time_unit`` is what numbers of time are in, in place of what the table says; ``vehicles`` are
    its types of vehicles, which a workbook may also have as a sheet of that name. ``columns`` are
    those that the user names, by field.
    """
    path = Path(path)
    if rounding is not None:
        raise UnsupportedError(f"{path}: rounding {rounding!r} does not apply to tables of stops")
    said = columns or {}
    names = [name for field in _NAMES if field in said for name in names_in(said[field])]
    beside = None  # the sheet of vehicles, where it is them that count
    if path.suffix.lower() == ".xlsx":
        stops, sheet = stops_and_vehicles(path, names)
        if sheet is not None and vehicles is None:
            beside, vehicles = sheet, _types(path, sheet)
    else:
        stops = read_table(path, names=names)
    told = {"time_unit": time_unit, "vehicles": vehicles, "columns": columns}
    try:
        return read_foreign(path, "columns", stops.columns, variant, stops.places, **told)
    except FormatError as error:
        if beside is None or not is_of_vehicles(error.__cause__):
            raise
        raise vehicle_fault(path, beside, error.__cause__) from error.__cause__


def read_vehicles(path: str | Path) -> list[dict[str, Any]]:
    """The types of vehicles of a table, CSV or a workbook: one row each."""
    return read_types(Path(path))[0]


def read_types(path: Path) -> tuple[list[dict[str, Any]], Table]:
    """The types of vehicles, and the table that they stand in."""
    read_head(path, "a table of vehicles")
    if path.suffix.lower() == ".xlsx":
        sheets = read_sheets(path)
        named = [one for name, one in sheets.items() if name.lower() == VEHICLES]
        if not sheets:
            raise fail(path, "", "a sheet with vehicles", "none")
        table = (named or list(sheets.values()))[0]
    else:
        table = read_table(path, example="name,count,capacity")
    return _types(path, table), table


def _types(path: Path, table: Table) -> list[dict[str, Any]]:
    try:
        return relaying_warnings(path, lambda: vehicles_from_table(table.columns, table.places))
    except ProblemError as error:
        raise vehicle_fault(path, table, error) from error


def is_of_vehicles(error: BaseException | None) -> TypeGuard[ProblemError]:
    """Whether what a table of vehicles says is at fault, and not a stop that none can serve."""
    return isinstance(error, ProblemError) and error.field.startswith("vehicles, ")


def vehicle_fault(path: Path, table: Table, error: ProblemError) -> FormatError:
    """The error for a table of vehicles, with the row of the type, or of the names of columns."""
    number = re.match(r"vehicles, type (\d+)", error.field)
    where = table.places[int(number[1])] if number else table.head
    return FormatError(f"{path}: {where}: {error}")


def read_table(
    path: Path,
    *,
    texts: Collection[str] = (),
    names: Collection[str] = (),
    may_be_empty: bool = False,
    example: str = "id,x,y,demand",
) -> Table:
    """The table of a CSV file, whose places are lines.

    Cells of the columns in ``texts`` stay what they are, even where they are numbers; those in
    ``names`` hold ids, whatever they are called.
    """
    text = read_text(path)
    head = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    rows = _rows(path, text, delimiter)
    _, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    if len(header) < 2:
        expected = f"names of columns with commas, semicolons or tabs between, such as {example}"
        raise fail(path, "line 1", expected, "".join(header) or "nothing")
    if "" in header:
        raise fail(path, "line 1", "a name for every column", shown(header))
    _refuse_repeated(path, "line 1", header)
    columns: dict[str, list[Any]] = {name: [] for name in header}
    places = []
    # What a number is written with, and where it is first: a spreadsheet that separates cells by
    # something else writes the decimal mark of its country.
    marks: dict[str, tuple[int, str]] = {}
    for line, cells in rows:
        if len(cells) != len(header):
            raise fail(path, f"line {line}", f"{len(header)} cells", str(len(cells)))
        places.append(f"line {line}")
        for name, cell in zip(header, cells, strict=True):
            stripped = cell.strip()
            if name in texts:
                columns[name].append(stripped or None)
                continue
            if _holds_ids(name, names):
                columns[name].append(stripped)
                continue
            if delimiter != "," and _DECIMAL.fullmatch(stripped):
                marks.setdefault("," if "," in stripped else ".", (line, stripped))
                stripped = stripped.replace(",", ".")
            columns[name].append(_value(stripped))
    if not places and not may_be_empty:
        raise fail(path, "", "rows below the names of the columns", "none")
    _tell_marks(path, marks)
    ids = {name: columns[name] for name in header if _holds_ids(name, names) and name not in texts}
    full = {cell for cells in ids.values() if "" not in cells for cell in cells}
    columns |= {name: _as_written(cells, full) for name, cells in ids.items()}
    return Table(columns, "line 1", places)


def _as_written(cells: list[str], full: Collection[str]) -> list[Any]:
    """Ids as they are written; ``full`` are those of columns without empty cells.

    pandas writes whole numbers as floats where a cell is empty: these are the whole numbers, unless
    the full columns have floats, too.
    """
    floats = "" in cells and all(_FLOAT.fullmatch(one) and one not in full for one in cells if one)
    whole = [cell.removesuffix(".0") if floats else cell for cell in cells]
    return [written_id(cell) if cell else None for cell in whole]


def _tell_marks(path: Path, marks: dict[str, tuple[int, str]]) -> None:
    """Warn of decimal commas; refuse them next to decimal points, as either may part thousands."""
    if "," not in marks:
        return
    line, cell = marks[","]
    if "." in marks:
        other, point = marks["."]
        raise fail(path, f"line {other}", f"a decimal comma, as {cell} in line {line}", point)
    warn(path, f"line {line}: {cell} is read as {cell.replace(',', '.')}, with a decimal comma")


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of every line that is not empty."""
    # Line by line with their ends, which belong to the text where they stand between quotes.
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    done = 0  # lines of rows that are whole
    try:
        for cells in reader:
            done = reader.line_num
            if any(cell.strip() for cell in cells):
                yield done, cells
    except csv.Error as error:
        last, opened = reader.line_num, 0
        for line, held in enumerate(text.split("\n")[done : last - 1], start=done + 1):
            for _ in range(held.replace('""', "").count('"')):
                opened = 0 if opened else line
        expected = "every quote closed, and a delimiter after it"
        raise fail(path, f"line {opened or last}", expected, f"{error} (line {last})") from None


def _value(cell: str) -> Any:
    """A number where it is one, None where the cell is empty, else the text; without blanks."""
    if not cell:
        return None
    return float(cell) if _NUMBER.fullmatch(cell) and cell.isascii() else cell
