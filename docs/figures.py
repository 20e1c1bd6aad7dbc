"""Figures on the pages and the records that they come from.

    python docs/figures.py           writes the generated tables again, then checks all pages
    python docs/figures.py --check   checks only

A figure is a number that claims a measurement: a percentage, a time, an amount of memory, a cost,
a cell of a table. CONTRIBUTING.md has the rule, ``tests/docs/test_figures.py`` enforces it.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
# What holds figures: our own measurements, and what the paper prints.
RECORDS = (ROOT / "records", ROOT / "src" / "spacevrp" / "bench")
SUFFIXES = (".csv", ".json", ".jsonl", ".md", ".txt")

Row = dict[str, Any]

NUMBER = re.compile(r"(?<![\w.^])[-+]?\d[\d,]*(?:\.\d+)?(?![\w.]*[a-zA-Z]\w*\d)")
_UNITS = r"ms|s|min|minutes?|seconds?|h|hours?|KB|MB|GB|MiB|GiB|points?"
FIGURE = re.compile(
    rf"[-+]?\b\d[\d,]*(?:\.\d+)?(?:\s?%|\s(?:{_UNITS})\b)|\bcosts?(?: of| is| was)? \d[\d,]*\.\d+"
)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
# A record counts seconds and GiB; a page may count otherwise.
_FACTORS = {"ms": 1e3, "min": 1 / 60, "h": 1 / 3600, "MiB": 1024.0, "minutes": 1 / 60}
_LESS = re.compile(r"below|cheaper|less|lower|shorter|ahead|better|saved|fell|gain")


# --------------------------------------------------------------------------------------- records


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """A nested value as columns: ``first.to_oracle.0``."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    elif value is not None:
        yield name, value


def _text_rows(text: str) -> Iterator[Row]:
    """The lines of a page: each has its cells, or its words, and the numbers in them."""
    for line in text.splitlines():
        cells = [cell.strip(" *`") for cell in re.split(r"\|", line.strip().strip("|"))]
        row: Row = {f"cell {place}": cell for place, cell in enumerate(cells)}
        row["words"] = line
        for place, number in enumerate(NUMBER.findall(line)):
            row[f"number {place}"] = float(number.replace(",", ""))
        yield row


@cache
def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a record: of a table, of a list, or the lines of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        table = csv.DictReader(text.splitlines())
        return tuple({k: _number(v) for k, v in row.items() if v} for row in table)
    if path.suffix == ".jsonl":
        return tuple(dict(_flat(json.loads(line))) for line in text.splitlines() if line)
    if path.suffix == ".json":
        held = json.loads(text)
        rows = held if isinstance(held, list) else held.pop("rows", [])
        # What is not a row of the table: settings, averages, or the paper's nested tables.
        rest = list(_flat(held)) if isinstance(held, dict) else []
        by_name = [{**dict.fromkeys(name.split("."), name), "": value} for name, value in rest]
        return (*(dict(_flat(row)) for row in rows), *by_name)
    return tuple(_text_rows(text))


def _same(key: str, value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(key.replace(",", "")) == value
    return bool(key == str(value))


def _has(row: Row, key: str) -> bool:
    """Whether a row is about something: a cell of it, or the name of a nested value, says so."""
    if any(_same(key, value) for value in row.values()):
        return True
    return ("" in row and key in row) or ("words" in row and key in row["words"].split())


def held_values(path: Path, anchor: str = "") -> list[float]:
    """The numbers of a record that an anchor ``KEY,KEY,...:COLUMN`` leaves.

    Each key must be a cell of the row. Of all rows that are left the column counts, or with
    ``COLUMN.mean`` its mean over them.
    """
    keys, _, column = unquote(anchor).partition(":")
    rows = [row for row in read_rows(path) if all(_has(row, key) for key in keys.split(",") if key)]
    name = column.removesuffix(".mean")
    values = [
        float(value)
        for row in rows
        for where, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name in ("", where)
    ]
    return [sum(values) / len(values)] if column.endswith(".mean") and values else values


def agrees(shown: str, values: list[float], unit: str = "", *, less: bool = False) -> bool:
    """Whether a number, as rounded as it is shown, is one of these.

    ``less``: the words say that it is below something, so that it is shown without its sign.
    """
    text = shown.replace(",", "").lstrip("+")
    number, digits = float(text), len(text.partition(".")[2])
    half = 0.5000001 * 10.0**-digits
    scales = {1.0, _FACTORS.get(unit, 1.0)}
    signs = (1, -1) if less else (1,)
    return any(abs(s * v * f - number) <= half for v in values for f in scales for s in signs)


# ----------------------------------------------------------------------------------------- pages


def pages() -> list[Path]:
    """All pages of which figures are checked."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def written_pages() -> list[Path]:
    """All pages with tables that are written from records."""
    return [*pages(), ROOT / "records" / "README.md"]


def _record(page: Path, target: str) -> tuple[Path, str] | None:
    """The file and the anchor of a link, where it leads to a record."""
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve()
    if path.suffix in SUFFIXES and any(path.is_relative_to(folder) for folder in RECORDS):
        return path, anchor
    return None


def blocks(text: str) -> Iterator[str]:
    """Paragraphs, tables and points of a page without its programs and comments."""
    text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for block in re.split(r"\n\s*\n", text):
        if block.strip():
            yield block


def _link_faults(page: Path, block: str) -> Iterator[str]:
    """What linked figures claim and their records do not hold."""
    for text, target in LINK.findall(block):
        found = _record(page, target)
        if not found:
            continue
        path, anchor = found
        if not path.exists():
            yield f"[{text}]: expected the record {target}, which is not there"
            continue
        values = held_values(path, anchor)
        words = re.sub(r"`[^`]*`", "", text)
        unit = next((u for u in _FACTORS if re.search(rf"\d {u}\b", words)), "")
        for number in NUMBER.findall(words):
            decimal = "." in number or re.search(
                rf"{re.escape(number)}(?:\s?%|\s(?:{_UNITS})\b)", words
            )
            if decimal and not agrees(number, values, unit, less=bool(_LESS.search(words))):
                yield f"[{text}]: expected {number} in {target}, received {_few(values)}"


def _few(values: list[float]) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:8])
    return f"{shown}{', ...' if len(values) > 8 else ''}" or "no number"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _bare(cell: str) -> str:
    """A cell without links, emphasis and remarks in brackets."""
    return re.sub(r"\s*\([^)]*\)|[*`]", "", LINK.sub(r"\1", cell)).strip()


def _owns_link(page: Path, cell: str) -> bool:
    return any(_record(page, target) for _, target in LINK.findall(cell))


_FIGURE_CELL = re.compile(r"[-+]?\d[\d,]*(?:\.\d+%?|%)")


def is_figure_table(block: str) -> bool:
    """Whether a block is a table with figures in it."""
    lines = block.strip().splitlines()
    if len(lines) < 3 or not re.fullmatch(r"[\s|:-]+", lines[1]):
        return False
    return any(_FIGURE_CELL.fullmatch(_bare(cell)) for line in lines[2:] for cell in _cells(line))


def _table_faults(page: Path, table: str, caption: str) -> Iterator[str]:
    """What a table claims and the records that are linked next to it do not hold."""
    lines = table.strip().splitlines()
    title = lines[0].strip()
    found = [_record(page, target) for _, target in LINK.findall(caption)]
    records = [(path, anchor) for path, anchor in filter(None, found) if path.exists()]
    if not records:
        yield f"table {title}: expected links to its records right above or below it"
        return
    heads = [_bare(head) for head in _cells(lines[0])]
    for line in lines[2:]:
        # A cell with a link of its own has been looked at by itself.
        cells = ["" if _owns_link(page, cell) else _bare(cell) for cell in _cells(line)]
        values: list[float] = []
        for path, anchor in records:
            values += held_values(path, _anchor(path, anchor, cells))
        for head, cell in zip(heads, cells, strict=True):
            unit = next((u for u in _FACTORS if re.search(rf"\b{u}\b", head)), "")
            if _FIGURE_CELL.fullmatch(cell) and not agrees(cell.rstrip("%"), values, unit):
                yield f"table {title}: {' | '.join(cells[:2])}: no {cell} in its records"


def _anchor(path: Path, anchor: str, cells: list[str]) -> str:
    """An anchor with the leading cells of a row as further keys, as far as a row has them all."""
    keys, _, column = anchor.partition(":")
    for cell in cells:
        if _FIGURE_CELL.fullmatch(cell):
            break
        key = cell.replace(",", "") if NUMBER.fullmatch(cell) else cell
        if key and "," not in key and held_values(path, f"{keys},{key}"):
            keys = f"{keys},{key}"
    return f"{keys}:{column}"


def faults(page: Path, allowed: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with the figures of a page.

    ``allowed`` are pieces of text with numbers that claim no measurement.
    """
    wrong: list[str] = []
    parts = list(blocks(page.read_text(encoding="utf-8")))
    for number, block in enumerate(parts):
        wrong += _link_faults(page, block)
        if block.lstrip().startswith("|"):
            if is_figure_table(block) and not any(piece in block for piece in allowed):
                around = parts[max(0, number - 1) : number] + parts[number + 1 : number + 3]
                captions = [part for part in around if not part.lstrip().startswith("|")]
                wrong += _table_faults(page, block, "\n".join(captions))
            continue
        rest = LINK.sub(lambda link: "" if _record(page, link[2]) else link[1], block)
        rest = re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "", rest))
        for piece in allowed:
            rest = rest.replace(piece, "")
        for figure in FIGURE.finditer(rest):
            near = rest[max(0, figure.start() - 40) : figure.end() + 20]
            wrong.append(f"...{near}...: expected a link to a record")
    return wrong


def main() -> int:
    """Write the generated tables, and say what is wrong with the figures of all pages."""
    parser = argparse.ArgumentParser(description="Figures on the pages, from their records.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT / "docs"))
    from figure_tables import written

    allowed = json.loads((ROOT / "docs" / "figures_allowed.json").read_text(encoding="utf-8"))
    wrong = 0
    for page in written_pages():
        name = page.relative_to(ROOT).as_posix()
        text = page.read_text(encoding="utf-8")
        made = written(page, text)
        if made != text and check:
            print(f"{name}: the generated tables are not what the records hold")
            wrong += 1
        elif made != text:
            page.write_text(made, encoding="utf-8")
            print(f"{name}: written")
        checked = page in pages()
        for fault in faults(page, tuple(allowed.get(name, ()))) if checked else ():
            print(f"{name}: {fault}")
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
