"""The grammar of TSPLIB and VRPLIB files: ``KEY : value`` lines and sections of numbers.

Sections speak of nodes, or of vehicles, by the numbers that the file gives them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from spacevrp.formats.files import fail, read_lines, warn
from spacevrp.problems.distances import Array
from spacevrp.problems.errors import FormatError

_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*:(.*)")
_SECTION = re.compile(r"([A-Za-z][A-Za-z0-9_]*_SECTION)\s*:?", re.I)
# Lines are split into numbers this many at a time, so that a large matrix never stands in memory
# as millions of small strings.
_LINES_AT_ONCE = 1000
# Longer lines hold numbers, or nothing: they are not tried as keys and headings.
_LONGEST_HEADING = 10_000
# More keys than any format has: the file is noise, and each would be warned of.
_MOST_KEYS = 100


@dataclass(frozen=True)
class Section:
    """The lines of one section, with their numbers in the file."""

    name: str
    line: int
    rows: list[tuple[int, str]] = field(default_factory=list)

    def where(self, line: int | None = None) -> str:
        """The place for a message."""
        return f"line {self.line if line is None else line}, {self.name}"


@dataclass(frozen=True)
class Document:
    """A file taken apart: keys with their line and value, and sections."""

    path: Path
    keys: dict[str, tuple[int, str]] = field(default_factory=dict)
    sections: dict[str, Section] = field(default_factory=dict)

    def fail(self, where: str, expected: str, received: object) -> FormatError:
        """An error in this file."""
        return fail(self.path, where, expected, received)

    def text(self, key: str) -> str | None:
        """The value of a key, or None."""
        return self.keys[key][1] if key in self.keys else None

    def where(self, key: str) -> str:
        """The place of a key for a message."""
        return f"line {self.keys[key][0]}, {key}"

    def number(self, key: str) -> float | None:
        """The value of a key as a number, or None."""
        if key not in self.keys:
            return None
        return parse_numbers(self, self.where(key), [self.keys[key][1]])[0]

    def whole(self, key: str) -> int | None:
        """The value of a key as a whole number, or None."""
        number = self.number(key)
        if number is None:
            return None
        if not number.is_integer():
            raise self.fail(self.where(key), "a whole number", self.text(key))
        return int(number)


def parse_document(path: Path) -> Document:
    """Take a file apart, one line at a time."""
    document = Document(path)
    section: Section | None = None
    ended = 0
    for number, line in read_lines(path):
        if not line or ended:
            if line and ended == 1:
                warn(path, f"line {number}: text after EOF left out")
                ended = 2
            continue
        if line.upper() == "EOF":
            ended, section = 1, None
            continue
        short = line if len(line) <= _LONGEST_HEADING else ""
        if header := _SECTION.fullmatch(short):
            name = header[1].upper()
            if name in document.sections:
                first = document.sections[name].line
                raise document.fail(
                    f"line {number}, {name}", "every section once", f"it again after line {first}"
                )
            section = document.sections[name] = Section(name, number)
        elif entry := _KEY.fullmatch(short):
            _add_key(document, number, entry[1].upper(), entry[2].strip())
            section = None
        elif section is not None:
            section.rows.append((number, line))
        else:
            raise document.fail(f"line {number}", "KEY : value or a section", line)
    if not ended:
        warn(path, "no EOF at the end: the file may be cut short")
    return document


def _add_key(document: Document, number: int, key: str, value: str) -> None:
    if key in document.keys and key != "COMMENT":  # comments of several lines repeat the key
        first = document.keys[key][0]
        raise document.fail(
            f"line {number}, {key}", "every key once", f"it again after line {first}"
        )
    if len(document.keys) == _MOST_KEYS:
        raise document.fail(f"line {number}", f"{_MOST_KEYS} keys", "more of them")
    document.keys[key] = (number, value)


def parse_numbers(document: Document, where: str, tokens: list[str]) -> list[float]:
    """Finite numbers in plain decimal notation."""
    numbers = []
    for token in tokens:
        try:
            numbers.append(float(token))
        except ValueError:
            raise document.fail(where, "a number", token) from None
    if not np.isfinite(numbers).all():
        bad = next(token for token, n in zip(tokens, numbers, strict=True) if not np.isfinite(n))
        raise document.fail(where, "a finite number", bad)
    # Python also reads 1_000 and the digits of other scripts, which no other program would.
    for token in tokens:
        if "_" in token or not token.isascii():
            raise document.fail(where, "a number", token)
    return numbers


def parse_rows(
    document: Document, section: Section, columns: int, most: int | None = None
) -> Array:
    """The rows of a section of fixed width, (rows, columns); more than ``most`` are refused."""
    values: list[list[float]] = []
    for number, line in section.rows:
        tokens = line.split()
        if len(tokens) != columns:
            raise document.fail(
                section.where(number), f"{columns} numbers", f"{len(tokens)}: {line}"
            )
        if len(values) == most:
            raise document.fail(section.where(number), f"{most} rows", "more of them")
        values.append(parse_numbers(document, section.where(number), tokens))
    return np.array(values, dtype=np.float64).reshape(len(values), columns)


def parse_stream(document: Document, section: Section, count: int) -> Array:
    """Exactly ``count`` numbers of a section, however they are broken into lines, (count,)."""
    parts: list[Array] = []
    total = 0
    for start in range(0, len(section.rows), _LINES_AT_ONCE):
        rows = section.rows[start : start + _LINES_AT_ONCE]
        try:
            text = " ".join(line for _, line in rows)
            if "_" in text or not text.isascii():
                raise ValueError  # see parse_numbers
            numbers = np.array([float(token) for token in text.split()])
            if not np.isfinite(numbers).all():
                raise ValueError
        except ValueError:
            for number, line in rows:  # once more, slowly, for the place
                parse_numbers(document, section.where(number), line.split())
            raise
        total += len(numbers)
        if total > count:
            break
        parts.append(numbers)
    if total != count:
        received = f"{total}" if total < count else "more"
        raise document.fail(section.where(), f"{count} numbers", received)
    return np.concatenate(parts) if parts else np.zeros(0)


def parse_list(document: Document, section: Section, *, must_close: bool = True) -> list[int]:
    """Whole numbers up to the closing -1, which some dialects leave out."""
    numbers: list[int] = []
    closed = False
    for number, line in section.rows:
        for token, value in zip(
            line.split(), parse_numbers(document, section.where(number), line.split()), strict=True
        ):
            if closed or not value.is_integer():
                expected = "nothing after -1" if closed else "a whole number"
                raise document.fail(section.where(number), expected, token)
            if value == -1:
                closed = True
            else:
                numbers.append(int(value))
    if must_close and not closed:
        raise document.fail(section.where(), "-1 at its end", "none")
    return numbers


LIST = 0


@dataclass(frozen=True)
class Field:
    """What a file may say of every node, or of every vehicle: in a section, by number."""

    of: str  # node or vehicle
    columns: int | None = 1  # next to its number; None for one or more, LIST for a list of nodes
    key: bool = False  # whether one number for all may stand under the same name as a key


class Numbered:
    """Sections that speak of nodes, or of vehicles, by the numbers the file gives them."""

    def __init__(
        self,
        document: Document,
        fields: Mapping[str, Field],
        size: int,
        rows: Array | None,
        of: str = "node",
    ) -> None:
        self.fields = fields
        self.document = document
        self.size = size
        self.of = of
        self.counted_by = "DIMENSION" if of == "node" else "VEHICLES"
        numbers = np.arange(1, size + 1) if rows is None else rows[:, 0]
        section = document.sections.get("NODE_COORD_SECTION")
        self.labels: list[int] = []
        self._index: dict[int, int] = {}
        for index, number in enumerate(numbers.tolist()):
            if section is not None and (number != int(number) or number in self._index):
                expected = "a whole number that no other node has"
                raise document.fail(section.where(section.rows[index][0]), expected, f"{number:g}")
            self.labels.append(int(number))
            self._index[int(number)] = index

    def index_of(self, number: float, where: str) -> int:
        """Our index of what the file calls by a number."""
        index = self._index.get(int(number)) if number == int(number) else None
        if index is None:
            low, high = min(self.labels), max(self.labels)
            raise self.document.fail(where, f"a {self.of} of {low} to {high}", f"{number:g}")
        return index

    def values(self, name: str) -> Array | None:
        """What a field says of every one, (size, columns) in our order; None where it is absent."""
        said = self.fields[name]
        section = self.document.sections.get(f"{name}_SECTION")
        value = self.document.number(name) if said.key else None
        if section is not None and value is not None:
            raise self.document.fail(section.where(), f"no section next to the key {name}", "both")
        if value is not None:
            return np.full((self.size, 1), value)
        if section is None:
            return None
        columns = said.columns
        if columns is None:
            columns = max(len(section.rows[0][1].split()) - 1, 1) if section.rows else 1
        return self.rows(section, columns)

    def rows(self, section: Section, columns: int) -> Array:
        """One row of numbers for every one, (size, columns), in our order."""
        rows = parse_rows(self.document, section, columns + 1, most=self.size)
        values = np.full((self.size, columns), np.nan)
        for (line, _), row in zip(section.rows, rows, strict=True):
            index = self.index_of(float(row[0]), section.where(line))
            if not np.isnan(values[index, 0]):
                raise self.document.fail(
                    section.where(line), f"every {self.of} once", f"{row[0]:g} again"
                )
            values[index] = row[1:]
        missing = np.flatnonzero(np.isnan(values[:, 0]))
        if len(missing):
            number = self.labels[int(missing[0])]
            expected = f"{self.size} rows ({self.counted_by})"
            received = f"{len(rows)}, none for {self.of} {number}"
            raise self.document.fail(section.where(), expected, received)
        return values

    def lists(self, name: str, listed: Numbered) -> list[tuple[int, ...]] | None:
        """The list that a field has for every one, of indices of what ``listed`` numbers."""
        section = self.document.sections.get(f"{name}_SECTION")
        if section is None:
            return None
        found: list[tuple[int, ...] | None] = [None] * self.size
        for line, text in section.rows:
            where = section.where(line)
            own, *others = parse_numbers(self.document, where, text.split())
            index = self.index_of(own, where)
            if found[index] is not None:
                raise self.document.fail(where, f"every {self.of} once", f"{own:g} again")
            found[index] = tuple(sorted({listed.index_of(one, where) for one in others}))
        return [one or () for one in found]
