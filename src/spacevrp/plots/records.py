"""Rows of recorded tables, as the pictures need them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spacevrp.problems.errors import FormatError, VariantError
from spacevrp.problems.variants import parse_variant

Rows = Sequence[Mapping[str, Any]]
# What a gap is to, on the command line and in the rows.
GAPS = {"oracle": "oracle_gap", "best": "best_gap"}
TO = {"oracle": "the paper-protocol oracle", "best": "the best known cost"}


def read_rows(path: str | Path, fields: Sequence[str], what: str) -> list[dict[str, Any]]:
    """The rows of a record; all must have these fields.

    Where the file is something else, the error says ``what`` was expected.
    """
    file = Path(path)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise FormatError(f"{file}: expected {what}, received no JSON: {error}") from None
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not rows:
        raise FormatError(f"{file}: expected {what}, received a file without rows")
    for number, row in enumerate(rows):
        missing = [name for name in fields if not isinstance(row, dict) or name not in row]
        if missing:
            raise FormatError(f"{file}: row {number}: expected {what}, found no {missing[0]!r}")
    return rows


def read_gap_rows(paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Rows of variants out of one record or more, without averages; a variant counts once."""
    what = "the record of spacevrp bench unseen, scale or ablation"
    fields = ("problem", "kind", *GAPS.values(), "paper_gap")
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        for row in read_rows(path, fields, what):
            if row["kind"] != "variant":
                continue
            try:
                name = parse_variant(row["problem"]).name
            except VariantError as error:
                raise FormatError(f"{path}: {error}") from None
            if name in found:
                raise FormatError(
                    f"{path}: expected every variant once, received {name} again; draw records of "
                    "different models, or of different sizes, apart"
                )
            found[name] = row
    return list(found.values())


def choose_gap(gap: str | None, has: Callable[[str], bool], what: str) -> str:
    """The gap to draw: the one asked for, else the first that the rows have.

    ``has`` tells whether they have enough of a gap, and the error where not says ``what`` is
    enough.
    """
    wanted = tuple(GAPS) if gap is None else (gap,)
    for name in wanted:
        if has(name):
            return name
    to = " or ".join(TO[name] for name in wanted)
    raise FormatError(f"gaps to {to}: expected {what} in the record, received none")
