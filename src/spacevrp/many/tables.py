"""Parquet: tables of instances in, tables of plans out. Needs pyarrow, the extra ``parquet``."""

from __future__ import annotations

import io
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from spacevrp.formats.files import fail
from spacevrp.formats.npz import IGNORED_PREFIX
from spacevrp.problems.errors import FormatError, SpacevrpError

MISSING = "Parquet needs pyarrow, which is not installed: pip install 'spacevrp[parquet]'"
# One of these columns says where the nodes lie, or how far they are apart.
_WAYS = ("locations", "matrix", "coordinates", "lonlat")
# Columns that are JSON in a table: what they hold differs from row to row.
_AS_TEXT = ("unserved",)


def check_pyarrow() -> None:
    """Refuse, in one line that says what to install, where there is no pyarrow."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise SpacevrpError(MISSING) from None


class InstanceTable:
    """A Parquet file with an instance in each row, and columns as the keys of our JSON.

    A row group at a time is in memory. Empty cells are keys that are not there; columns whose names
    begin with ``ref_`` are left out.
    """

    def __init__(self, path: Path) -> None:
        check_pyarrow()
        import pyarrow
        import pyarrow.parquet

        self._path = path
        try:
            self._file = pyarrow.parquet.ParquetFile(path)
        except pyarrow.ArrowException as error:
            raise FormatError(f"{path}: expected Parquet: {error}") from None
        names = self._file.schema_arrow.names
        if not any(name in _WAYS for name in names):
            expected = f"a row for each instance, with a column {', '.join(_WAYS[:-1])} or lonlat"
            raise fail(path, "", expected, f"columns {', '.join(names)}")
        self._columns = [name for name in names if not name.startswith(IGNORED_PREFIX)]
        about = self._file.metadata
        groups = range(about.num_row_groups)
        self._ends = list(accumulate(about.row_group(group).num_rows for group in groups))
        self._held: tuple[int, Any] = (-1, None)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def instance(self, place: int) -> dict[str, Any]:
        """The document of a row."""
        group = bisect_right(self._ends, place)
        if self._held[0] != group:
            self._held = group, self._file.read_row_group(group, columns=self._columns)
        table = self._held[1]
        first = self._ends[group] - table.num_rows
        (row,) = table.slice(place - first, 1).to_pylist()
        return {"name": f"{self._path.stem}[{place}]"} | {
            key: value for key, value in row.items() if value is not None
        }


def rows_to_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows of a part as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    schema = pa.schema(
        [
            *((name, pa.int64()) for name in ("index",)),
            *((name, pa.string()) for name in ("source", "name", "variant", "status", "reason")),
            ("cost", pa.float64()),
            ("feasible", pa.bool_()),
            ("routes", pa.list_(pa.list_(pa.int64()))),
            ("vehicles", pa.list_(pa.int64())),
            ("rounding", pa.string()),
            ("unserved", pa.string()),
            ("notes", pa.list_(pa.string())),
            ("seconds", pa.float64()),
        ]
    )
    texts = [
        {**row, **{key: json.dumps(row[key]) for key in _AS_TEXT if key in row}} for row in rows
    ]
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(texts, schema=schema), stream)
    return stream.getvalue()


def rows_from_parquet(path: Path) -> list[dict[str, Any]]:
    """The rows that :func:`rows_to_parquet` wrote; empty cells are left out as in JSON lines."""
    import pyarrow
    import pyarrow.parquet

    try:
        listed = pyarrow.parquet.ParquetFile(path).read().to_pylist()
    except pyarrow.ArrowException as error:
        raise FormatError(f"{path}: expected Parquet: {error}") from None
    optional = ("vehicles", "rounding", *_AS_TEXT, "notes")
    rows = []
    for row in listed:
        kept = {key: one for key, one in row.items() if one is not None or key not in optional}
        rows.append(kept | {key: json.loads(kept[key]) for key in _AS_TEXT if key in kept})
    return rows
