"""Workbooks (.xlsx) with a table of stops on the first sheet and, at will, one of vehicles.

openpyxl reads them (the extra ``excel``): it is small, and knows which numbers are dates.
"""

from __future__ import annotations

import warnings
import zipfile
from collections import Counter
from datetime import datetime, time
from importlib import import_module
from pathlib import Path
from typing import Any

from spacevrp.formats.files import fail, shown, unreadable
from spacevrp.problems.errors import FormatError, UnsupportedError

VEHICLES = "vehicles"
_LARGEST = 512 * 2**20  # bytes, unpacked


def read_sheets(path: Path) -> dict[str, dict[str, list[Any]]]:
    """The columns of every sheet by name; the first row of a sheet names its columns."""
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
    return {title: _columns(path, title, held) for title, held in rows.items() if any(held)}


def stops_and_vehicles(
    path: Path,
) -> tuple[dict[str, list[Any]], dict[str, list[Any]] | None]:
    """The table of stops, and that of vehicles where a sheet is called so."""
    sheets = read_sheets(path)
    vehicles = next((one for name, one in sheets.items() if name.lower() == VEHICLES), None)
    stops = next((one for name, one in sheets.items() if name.lower() != VEHICLES), None)
    if stops is None:
        raise fail(path, "", "a sheet with stops", "none")
    return stops, vehicles


def _columns(path: Path, title: str, rows: list[list[Any]]) -> dict[str, list[Any]]:
    where = f"sheet {shown(title)}"
    kept = [row for row in rows if any(_cell(cell) is not None for cell in row)]
    if not kept:
        raise fail(path, where, "a first row with names of columns", "none")
    header = [_cell(cell) for cell in kept[0]]
    while header and header[-1] is None:
        header.pop()
    for cell in header:
        if not isinstance(cell, str):
            raise fail(path, where, "names of columns in the first row", cell)
    if len(set(header)) < len(header):
        twice = next(name for name, count in Counter(header).items() if count > 1)
        raise fail(path, where, "each column once", f"{twice} twice")
    columns: dict[str, list[Any]] = {}
    for number, name in enumerate(header):
        cells = [_cell(row[number]) if number < len(row) else None for row in kept[1:]]
        columns[name] = [_named(name, cell) for cell in cells]
    return columns


def _cell(value: Any) -> Any:
    """A cell; times of day as text, which is how tables have them."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, time):
        return value.strftime("%H:%M:%S")
    if isinstance(value, bool) or value is None or isinstance(value, datetime):
        return value
    return float(value) if isinstance(value, int | float) else value


def _named(name: str, cell: Any) -> Any:
    """Ids are whole numbers where they are numbers."""
    if name.lower() in ("id", "name", "pickup_id") and isinstance(cell, float):
        return int(cell) if cell.is_integer() else cell
    return cell
