"""Cordeau's files: vehicle routing with several depots, with and without windows, read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import build, fleet_fields, measured
from spacevrp.formats.files import check_kind, read_lines
from spacevrp.formats.tsplib import Document, parse_numbers
from spacevrp.problems.distances import Metric
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem

# The first number of a file -> what it holds, and why it is refused.
KINDS = {
    0: ("VRP", ""),
    1: ("PVRP", "visits on several days"),
    2: ("MDVRP", ""),
    3: ("SDVRP", "which vehicles may serve a customer, in Cordeau's way"),
    4: ("VRPTW", ""),
    5: ("PVRPTW", "visits on several days"),
    6: ("MDVRPTW", ""),
    7: ("SDVRPTW", "which vehicles may serve a customer, in Cordeau's way"),
}
# The field's convention where there is one; the others are measured as they are.
_ROUNDING = {"VRPTW": "one-decimal", "MDVRPTW": "three-decimals"}
_MOST_VEHICLES = 100_000


def read_cordeau(
    path: str | Path, *, rounding: str | None = None, variant: str | None = None
) -> Problem:
    """The instance of a file with Cordeau's header (type, vehicles, customers, depots)."""
    path = Path(path)
    check_kind(path, "cordeau", expected="Cordeau's layout: 4 numbers, then 2 for each depot")
    document = Document(path)
    lines = ((number, line) for number, line in read_lines(path) if line)
    kind, vehicles, customers, depots = _whole(document, lines, 4)
    if kind not in KINDS:
        raise document.fail("line 1", "a type from 0 to 7", str(kind))
    name, refused = KINDS[kind]
    if refused:
        raise UnsupportedError(f"{path}: {name}: not modelled here yet: {refused}")
    several = name.startswith("MD")
    if (not several and depots != 1) or min(vehicles, customers, depots) < 1:
        expected = "numbers of at least 1" + ("" if several else f", and one day in a {name}")
        received = f"{vehicles} {customers} {depots}"
        raise document.fail("line 1", expected, received)
    if vehicles * depots > _MOST_VEHICLES:
        expected = f"at most {_MOST_VEHICLES} vehicles"
        raise document.fail("line 1", expected, str(vehicles * depots))
    limits = [_numbers(document, lines)[1][:2] for _ in range(depots)]
    if any(len(pair) != 2 for pair in limits):
        raise document.fail("", "two numbers for each depot", "fewer")
    timed = name.endswith("TW")
    total = customers + depots
    rows = [_row(document, *_numbers(document, lines), timed=timed) for _ in range(total)]
    if (extra := next(lines, None)) is not None:
        raise document.fail(f"line {extra[0]}", f"{total} nodes", "more of them")
    # Depots come last where there are several, first where there is one.
    table = np.array(rows)
    homes = tuple(range(customers, total)) if several else (0,)
    fields: dict[str, Any] = {
        "distances": measured(
            path, table[:, :2], Metric(), rounding or _ROUNDING.get(name, "none")
        ),
        "depots": homes,
        "service": table[:, 2],
        "demand": table[:, 3],
        "name": path.stem,
    }
    if timed:
        fields["windows"] = table[:, 4:]
    terms: dict[str, Any] = {}
    for place, term in enumerate(("max_duration", "capacity")):
        values = [pair[place] or None for pair in limits]  # 0: no limit
        if None in values and any(values):
            raise document.fail("line 2", f"a {term} for all or none", "some")
        terms[term] = _each(values, vehicles) if several and any(values) else values[0]
    if several:
        terms["start"] = _each(homes, vehicles)
    fields |= fleet_fields(vehicles * depots, terms, fields)
    return build(path, fields, variant=variant)


def _each(values: Iterable[Any], vehicles: int) -> list[Any]:
    """The value of each vehicle from those of the depots."""
    return [value for value in values for _ in range(vehicles)]


def _row(document: Document, line: int, numbers: list[float], *, timed: bool) -> list[float]:
    """Place, service and demand of a node, and its window."""
    most = len(numbers)
    combinations = numbers[6] if most > 6 else -1
    expected = 7 + max(int(combinations), 0) + (2 if timed else 0)
    if combinations < 0 or most < expected:
        raise document.fail(f"line {line}", f"{max(expected, 7)} numbers", str(most))
    frequency = numbers[5]
    if frequency not in (0, 1):
        raise document.fail(f"line {line}", "one visit", f"{frequency:g}")
    window = numbers[-2:] if timed else []
    return [*numbers[1:5], *window]


def _whole(document: Document, lines: Iterator[tuple[int, str]], count: int) -> list[int]:
    line, numbers = _numbers(document, lines)
    if len(numbers) != count or not all(number.is_integer() for number in numbers):
        raise document.fail(f"line {line}", f"{count} whole numbers", str(len(numbers)))
    return [int(number) for number in numbers]


def _numbers(document: Document, lines: Iterator[tuple[int, str]]) -> tuple[int, list[float]]:
    line, text = next(lines, (0, ""))
    if not line:
        raise document.fail("", "more lines", "the end of the file")
    return line, parse_numbers(document, f"line {line}", text.split())
