"""Text tables of customers: Solomon's, Gehring and Homberger's, Li and Lim's; read and written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import build, exact, measured, refuse_unheld, warn_unnamed
from spacevrp.formats.files import check_kind, read_lines, warn, write_bytes
from spacevrp.formats.tsplib import Document, Section, parse_numbers, parse_rows
from spacevrp.problems.distances import Array, Metric
from spacevrp.problems.problem import Problem

_COLUMNS = 7  # number, x, y, demand, ready time, due date, service time
_PAIR_COLUMNS = 9  # and the node's pickup and delivery, 0 for none
# DIMACS: cut to one decimal. For pairs there is no such convention.
ROUNDING, PAIR_ROUNDING = "one-decimal", "none"
_TITLES = "CUST NO.  XCOORD.  YCOORD.  DEMAND  READY TIME  DUE DATE  SERVICE TIME"
_UNHELD = (
    "vehicles", "several kinds of load", "durations", "a matrix", "problems without a depot",
    "several depots", "a depot that is not the first node", "infinite capacity", "pickups",
    "backhaul_last", "open_routes", "problems without windows", "windows that never close",
    "max_length", "prize", "min_prize", "maximise_prize", "penalty",
)  # fmt: skip


def read_solomon(
    path: str | Path, *, rounding: str | None = None, variant: str | None = None
) -> Problem:
    """The instance of a Solomon text file; distances are cut to one decimal, as DIMACS has it."""
    path = Path(path)
    check_kind(path, "solomon", expected="Solomon's layout, with the headings VEHICLE and CUSTOMER")
    document, name = _parse(path)
    vehicle, customer = document.sections["VEHICLE"], document.sections["CUSTOMER"]
    rows = _read_table(document, customer, _numbers_only(document, customer), _COLUMNS)
    fields = _fields(path, rows, rounding or ROUNDING)
    fields |= {"demand": rows[:, 3], "name": name}
    fields["max_routes"], fields["capacity"] = _vehicle_numbers(document, vehicle)
    return build(path, fields, variant=variant)


def read_lilim(
    path: str | Path, *, rounding: str | None = None, variant: str | None = None
) -> Problem:
    """The instance of a Li and Lim file: pickups and deliveries in pairs, distances as they are."""
    path = Path(path)
    check_kind(path, "lilim", expected="Li and Lim's layout: 3 numbers, then 9 for each node")
    document = Document(path)
    section = Section("PAIRS", 1, [(number, line) for number, line in read_lines(path) if line])
    (first, text), *lines = section.rows
    head = parse_numbers(document, f"line {first}", text.split())
    vehicles, capacity, speed = head
    if not vehicles.is_integer():
        raise document.fail(f"line {first}", "a whole number of vehicles", f"{vehicles:g}")
    if speed != 1:
        raise document.fail(f"line {first}", "a speed of 1", f"{speed:g}")
    rows = _read_table(document, section, lines, _PAIR_COLUMNS)
    pairs = []
    for (line, _), (node, *_, pickup, delivery) in zip(lines, rows.tolist(), strict=True):
        if pickup == 0 and delivery != 0:
            if not (delivery.is_integer() and 0 < delivery < len(rows)):
                expected = f"a delivery from 1 to {len(rows) - 1}"
                raise document.fail(f"line {line}", expected, f"{delivery:g}")
            pairs.append((int(node), int(delivery)))
            if rows[int(delivery), 7] != node:
                expected = f"node {delivery:g} to name {node:g} as its pickup"
                raise document.fail(f"line {line}", expected, f"{rows[int(delivery), 7]:g}")
    fields = _fields(path, rows, rounding or PAIR_ROUNDING)
    # There what is picked up counts positive; here, what leaves the vehicle.
    fields |= {"demand": 0.0 - rows[:, 3], "pairs": pairs, "name": path.stem}
    fields |= {"max_routes": int(vehicles), "capacity": capacity}
    return build(path, fields, variant=variant)


def _fields(path: Path, rows: Array, rounding: str) -> dict[str, Any]:
    """What the first seven columns say, but for the demand."""
    return {
        "distances": measured(path, rows[:, 1:3], Metric(), rounding),
        "depots": (0,),
        "windows": rows[:, 4:6],
        "service": rows[:, 6],
    }


def _read_table(
    document: Document, section: Section, lines: Iterable[tuple[int, str]], columns: int
) -> Array:
    """The rows of nodes 0, 1, ... in this order, (N, columns)."""
    listed = Section(section.name, section.line, list(lines))
    table = parse_rows(document, listed, columns)
    for number, ((line, text), row) in enumerate(zip(listed.rows, table, strict=True)):
        if row[0] != number:
            raise document.fail(section.where(line), f"node {number}", text.split()[0])
    if len(table) < 2:
        raise document.fail(section.where(), "a depot and customers", f"{len(table)} rows")
    return table


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
                raise document.fail(f"line {number}, {heading}", "every heading once", "it again")
            section = document.sections[heading] = Section(heading, number)
        elif section is not None:
            section.rows.append((number, line))
        elif not name:
            name = line
        else:
            raise document.fail(f"line {number}", "the heading VEHICLE", line)
    for heading in ("VEHICLE", "CUSTOMER"):
        if heading not in document.sections:
            raise document.fail("", f"Solomon's layout with the heading {heading}", "none")
    return document, name or path.stem


def _numbers_only(document: Document, section: Section) -> list[tuple[int, str]]:
    """The lines of a section below its line of column titles."""
    if not section.rows or not section.rows[0][1][:1].isalpha():
        raise document.fail(section.where(), "a line of column titles", "none")
    return section.rows[1:]


def _vehicle_numbers(document: Document, section: Section) -> tuple[int, float]:
    rows = _numbers_only(document, section)
    if len(rows) != 1 or len(rows[0][1].split()) != 2:
        received = " / ".join(text for _, text in rows) or "none"
        raise document.fail(section.where(), "one line with number and capacity", received)
    line, text = rows[0]
    number, capacity = parse_numbers(document, section.where(line), text.split())
    if not number.is_integer():
        raise document.fail(section.where(line), "a whole number of vehicles", f"{number:g}")
    return int(number), capacity


# ---------------------------------------------------------------------------------------- writing


def write_text(path: str | Path, problem: Problem) -> None:
    """Write a problem with windows in Solomon's layout, or one with pairs in Li and Lim's.

    What these cannot hold is refused by name. They say nothing of rounding, nor of fleets without
    limit: a vehicle for every customer stands for these.
    """
    path = Path(path)
    paired = problem.paired_customers
    usual = PAIR_ROUNDING if paired else ROUNDING
    metric = problem.distances.metric
    refuse_unheld(
        path,
        "Li and Lim's files" if paired else "Solomon's files",
        problem,
        _UNHELD,
        (),
        metric=metric.geometry != "euclidean",
        **{"customers next to pairs": bool(paired) and paired != set(problem.customers)},
    )
    warn_unnamed(path, problem)
    if metric.rounding != usual:
        warn(
            path,
            f"distances have rounding {metric.rounding!r} left out: readers take {usual!r} "
            "unless they are told another",
        )
    coordinates = problem.distances.coordinates
    assert coordinates is not None  # a matrix is refused
    demand = 0.0 - problem.demand if paired else problem.demand
    columns = [np.arange(problem.size), *coordinates.T, demand, *problem.windows.T, problem.service]
    vehicles = problem.max_routes or len(problem.customers)
    head = f"{vehicles} {exact(problem.capacity)}"
    if paired:
        sibling = np.zeros((problem.size, 2))
        for pickup, delivery in problem.pairs:
            sibling[pickup, 1], sibling[delivery, 0] = delivery, pickup
        columns += [*sibling.T]
        lines = [f"{head} 1"]
    else:
        name = "".join(letter for letter in problem.name if letter.isprintable()).strip()
        if name.upper() in ("", "VEHICLE", "CUSTOMER") or ":" in name:
            name = "instance"  # which no reader takes for anything else
        lines = [name, "", "VEHICLE", "NUMBER  CAPACITY", head, "", "CUSTOMER", _TITLES, ""]
    lines += ["\t".join(map(exact, row)) for row in np.column_stack(columns).tolist()]
    write_bytes(path, ("\n".join(lines) + "\n").encode())
