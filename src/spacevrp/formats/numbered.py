"""Sections of VRPLIB files that speak of nodes, or of vehicles, by the numbers they have there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spacevrp.formats.tsplib import Document, Section, parse_numbers, parse_rows
from spacevrp.problems.distances import Array

LIST = 0


@dataclass(frozen=True)
class Field:
    """What a file may say of every node, or of every vehicle: in a section, by number.

    Attributes
    ----------
    of
        ``node`` or ``vehicle``.
    columns
        Numbers next to that of the node or vehicle; None for one or more, LIST for a list of nodes.
    key
        Whether one number for all may stand under the same name as a key.
    """

    of: str
    columns: int | None = 1
    key: bool = False


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
                raise document.fail(
                    section.where(section.rows[index][0]),
                    "a whole number that no other node has",
                    f"{number:g}",
                )
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
            raise self.document.fail(
                section.where(),
                f"{self.size} rows ({self.counted_by})",
                f"{len(rows)}, none for {self.of} {number}",
            )
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
