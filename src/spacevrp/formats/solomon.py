"""The text layout of Solomon's and of Gehring and Homberger's instances with time windows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spacevrp.formats.building import build, measured
from spacevrp.formats.files import check_kind, read_lines
from spacevrp.formats.tsplib import Document, Section, parse_numbers
from spacevrp.problems.distances import Metric
from spacevrp.problems.problem import Problem

_COLUMNS = 7  # number, x, y, demand, ready time, due date, service time


def read_solomon(
    path: str | Path, *, rounding: str | None = None, variant: str | None = None
) -> Problem:
    """The instance of a Solomon text file; distances are not rounded unless the caller says so."""
    path = Path(path)
    check_kind(path, "solomon", expected="Solomon's layout, with the headings VEHICLE and CUSTOMER")
    document, name = _parse(path)
    vehicle, customer = document.sections["VEHICLE"], document.sections["CUSTOMER"]
    vehicles, capacity = _vehicle_numbers(document, vehicle)
    table: list[list[float]] = []
    for line, text in _numbers_only(document, customer):
        tokens = text.split()
        if len(tokens) != _COLUMNS:
            raise document.fail(
                customer.where(line),
                expected=f"{_COLUMNS} numbers",
                received=f"{len(tokens)}: {text}",
            )
        row = parse_numbers(document, customer.where(line), tokens)
        if row[0] != len(table):
            raise document.fail(
                customer.where(line), expected=f"node {len(table)}", received=tokens[0]
            )
        table.append(row)
    if len(table) < 2:
        raise document.fail(
            customer.where(), expected="a depot and customers", received=f"{len(table)} rows"
        )
    rows = np.array(table)  # (N, 7)
    fields = {
        "distances": measured(path, rows[:, 1:3], Metric(), rounding),
        "depots": (0,),
        "demand": rows[:, 3],
        "capacity": capacity,
        "windows": rows[:, 4:6],
        "service": rows[:, 6],
        "max_routes": vehicles,
        "name": name,
    }
    return build(path, fields, variant=variant)


def _parse(path: Path) -> tuple[Document, str]:
    """The name on top and the lines under the two headings."""
    document = Document(path)
    name = ""
    section: Section | None = None
    for number, line in read_lines(path):
        heading = line.upper()
        if not line:
            continue
        if heading in ("VEHICLE", "CUSTOMER"):
            if heading in document.sections:
                raise document.fail(
                    f"line {number}, {heading}", expected="every heading once", received="it again"
                )
            section = document.sections[heading] = Section(heading, number)
        elif section is not None:
            section.rows.append((number, line))
        elif not name:
            name = line
        else:
            raise document.fail(f"line {number}", expected="the heading VEHICLE", received=line)
    for heading in ("VEHICLE", "CUSTOMER"):
        if heading not in document.sections:
            raise document.fail(
                "", expected=f"Solomon's layout with the heading {heading}", received="none"
            )
    return document, name or path.stem


def _numbers_only(document: Document, section: Section) -> list[tuple[int, str]]:
    """The lines of a section below its line of column titles."""
    if not section.rows or not section.rows[0][1][:1].isalpha():
        raise document.fail(section.where(), expected="a line of column titles", received="none")
    return section.rows[1:]


def _vehicle_numbers(document: Document, section: Section) -> tuple[int, float]:
    rows = _numbers_only(document, section)
    if len(rows) != 1 or len(rows[0][1].split()) != 2:
        raise document.fail(
            section.where(), expected="one line with number and capacity",
            received=" / ".join(text for _, text in rows) or "none",
        )  # fmt: skip
    line, text = rows[0]
    number, capacity = parse_numbers(document, section.where(line), text.split())
    if not number.is_integer():
        raise document.fail(
            section.where(line), expected="a whole number of vehicles", received=f"{number:g}"
        )
    return int(number), capacity
