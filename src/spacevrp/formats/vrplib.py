"""TSPLIB and VRPLIB instances (.vrp, .tsp, .atsp), read.

Coordinates stay coordinates: a file of 30,000 nodes is read without a matrix of its distances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import build, measured, tabled
from spacevrp.formats.edge_weights import LAYOUTS, count_weights, unfold
from spacevrp.formats.files import check_kind, shown, warn, warn_left_out
from spacevrp.formats.tsplib import (
    Document,
    Section,
    parse_document,
    parse_list,
    parse_rows,
    parse_stream,
)
from spacevrp.problems.distances import TSPLIB_METRICS, Array, Distances, Metric
from spacevrp.problems.problem import Problem

# TSPLIB's own edge weight types, and two that VRPLIB files use besides.
EDGE_METRICS = {
    **TSPLIB_METRICS,
    "FLOOR_2D": Metric("euclidean", "down"),
    "EXACT_2D": Metric("euclidean", "none"),
}


@dataclass(frozen=True)
class _Type:
    """What a TYPE says: are there vehicles, which sections must be there, which flags hold."""

    has_depot: bool = True
    needs: tuple[str, ...] = ()
    flags: dict[str, bool] = field(default_factory=dict)


_FLEET = ("DEMAND_SECTION", "DEPOT_SECTION")
_TIMED = (*_FLEET, "TIME_WINDOW_SECTION")
_BACKHAULS = (*_FLEET, "BACKHAUL_SECTION")
TYPES = {
    "TSP": _Type(has_depot=False),
    "ATSP": _Type(has_depot=False),
    "CVRP": _Type(needs=_FLEET),
    "ACVRP": _Type(needs=_FLEET),
    "DCVRP": _Type(needs=_FLEET),
    "MDVRP": _Type(needs=_FLEET),
    "MDCVRP": _Type(needs=_FLEET),
    "CVRPTW": _Type(needs=_TIMED),
    "VRPTW": _Type(needs=_TIMED),
    "OVRP": _Type(needs=_FLEET, flags={"open_routes": True}),
    "OCVRP": _Type(needs=_FLEET, flags={"open_routes": True}),
    "VRPMPD": _Type(needs=_BACKHAULS),
    "VRPB": _Type(needs=_BACKHAULS, flags={"backhaul_last": True}),
}
_KEYS = {
    "NAME", "TYPE", "COMMENT", "DIMENSION", "CAPACITY", "DISTANCE", "SERVICE_TIME", "VEHICLES",
    "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT",
    # How to draw the nodes: nothing of the problem.
    "NODE_COORD_TYPE", "DISPLAY_DATA_TYPE",
}  # fmt: skip
_VEHICLE_KEYS = ("CAPACITY", "DISTANCE", "SERVICE_TIME", "VEHICLES")
_VEHICLE_SECTIONS = (
    "DEMAND_SECTION", "DEPOT_SECTION", "TIME_WINDOW_SECTION", "SERVICE_TIME_SECTION",
    "BACKHAUL_SECTION",
)  # fmt: skip
_SECTIONS = {
    *_VEHICLE_SECTIONS, "NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION",
    "DISPLAY_DATA_SECTION",  # where to draw the nodes: nothing of the problem
}  # fmt: skip
# Left out, these would leave another problem than the file means.
_REFUSED_SECTIONS = ("PICKUP_AND_DELIVERY_SECTION", "FIXED_EDGES_SECTION", "EDGE_DATA_SECTION")


def read_vrplib(
    path: str | Path, *, rounding: str | None = None, variant: str | None = None
) -> Problem:
    """The instance of a TSPLIB or VRPLIB file; node 0 is the first node the file lists."""
    path = Path(path)
    check_kind(path, "vrplib", expected="TSPLIB's keys, such as 'TYPE : CVRP'")
    document = parse_document(path)
    kind = _check_contents(document)
    size = document.whole("DIMENSION")
    if size is None or size < 1:
        received = document.text("DIMENSION") or "none"
        raise document.fail("DIMENSION", expected="a number of nodes", received=received)
    rows = _read_nodes(document, size)
    distances = _read_distances(document, size, rows, rounding)
    reader = _NodeReader(document, size, rows)
    fields: dict[str, Any] = {"distances": distances, "name": document.text("NAME") or path.stem}
    if kind.has_depot:
        fields |= _vehicle_fields(document, reader, kind)
    elif kind is TYPES["TSP"] and not distances.is_symmetric:
        warn(path, "TYPE TSP with an asymmetric matrix, read as asymmetric")
    return build(path, fields, variant=variant, labels=reader.labels)


def _check_contents(document: Document) -> _Type:
    """What stands in the file, before any number is read: known, complete, and of a known type."""
    for name, section in document.sections.items():
        if name in _REFUSED_SECTIONS:
            raise document.fail(
                section.where(), expected="a section this reader can hold", received=name
            )
    unknown = [
        f"line {section.line}: unknown section {shown(name)}"
        for name, section in document.sections.items()
        if name not in _SECTIONS
    ]
    unknown += [
        f"line {line}: unknown key {shown(key)}"
        for key, (line, _) in document.keys.items()
        if key not in _KEYS
    ]
    warn_left_out(document.path, unknown)
    type_name = (document.text("TYPE") or "none").upper()
    if type_name not in TYPES:
        raise document.fail("TYPE", expected=f"one of {', '.join(TYPES)}", received=type_name)
    kind = TYPES[type_name]
    for section_name in kind.needs:
        if section_name not in document.sections:
            raise document.fail(
                section_name, expected=f"the section, as {type_name} needs it", received="none"
            )
    if kind.has_depot and "CAPACITY" not in document.keys:
        raise document.fail(
            "CAPACITY", expected=f"a number, as {type_name} needs it", received="none"
        )
    if not kind.has_depot:
        present = [*document.keys, *document.sections]
        for key in (*_VEHICLE_KEYS, *_VEHICLE_SECTIONS):
            if key in present:
                raise document.fail(key, expected=f"no vehicles in TYPE {type_name}", received=key)
    return kind


# -------------------------------------------------------------------------------------- distances


def _read_distances(
    document: Document, size: int, rows: Array | None, rounding: str | None
) -> Distances:
    weight_type = (document.text("EDGE_WEIGHT_TYPE") or "none").upper()
    if weight_type == "EXPLICIT":
        return tabled(document.path, _read_matrix(document, size), rounding, field="matrix")
    if weight_type not in EDGE_METRICS:
        raise document.fail(
            "EDGE_WEIGHT_TYPE",
            expected=f"EXPLICIT or one of {', '.join(EDGE_METRICS)}",
            received=weight_type,
        )
    if rows is None:
        raise document.fail(
            "NODE_COORD_SECTION", expected=f"coordinates for {weight_type}", received="none"
        )
    if "EDGE_WEIGHT_SECTION" in document.sections:
        section = document.sections["EDGE_WEIGHT_SECTION"]
        raise document.fail(
            section.where(), expected=f"no matrix beside {weight_type}", received="one"
        )
    return measured(document.path, rows[:, 1:], EDGE_METRICS[weight_type], rounding)


def _read_matrix(document: Document, size: int) -> Array:
    layout = (document.text("EDGE_WEIGHT_FORMAT") or "none").upper()
    if layout not in LAYOUTS:
        raise document.fail(
            "EDGE_WEIGHT_FORMAT", expected=f"one of {', '.join(LAYOUTS)}", received=layout
        )
    section = document.sections.get("EDGE_WEIGHT_SECTION")
    if section is None:
        raise document.fail("EDGE_WEIGHT_SECTION", expected="a matrix", received="none")
    if layout == "LOWER_ROW" and "eilon" in (document.text("COMMENT") or "").lower():
        # E-n13-k4 and E-n31-k7 of CVRPLIB claim rows and list columns.
        warn(document.path, "LOWER_ROW in an instance of Eilon read as LOWER_COL, which it is")
        layout = "LOWER_COL"
    return unfold(layout, parse_stream(document, section, count_weights(layout, size)), size)


def _read_nodes(document: Document, size: int) -> Array | None:
    """Number, x and y of every node in the order of the file, (N, 3)."""
    section = document.sections.get("NODE_COORD_SECTION")
    if section is None:
        return None
    rows = parse_rows(document, section, 3, most=size)
    if len(rows) != size:
        raise document.fail(
            section.where(), expected=f"{size} rows (DIMENSION)", received=str(len(rows))
        )
    return rows


# ------------------------------------------------------------------------------- nodes by number


class _NodeReader:
    """Sections that speak of nodes by the numbers the file gives them."""

    def __init__(self, document: Document, size: int, rows: Array | None) -> None:
        self.document = document
        self.size = size
        numbers = np.arange(1, size + 1) if rows is None else rows[:, 0]
        section = document.sections.get("NODE_COORD_SECTION")
        self.labels: list[int] = []
        self._index: dict[int, int] = {}
        for index, number in enumerate(numbers.tolist()):
            if section is not None and (number != int(number) or number in self._index):
                raise document.fail(
                    section.where(section.rows[index][0]),
                    expected="a whole number that no other node has",
                    received=f"{number:g}",
                )
            self.labels.append(int(number))
            self._index[int(number)] = index

    def index_of(self, number: float, where: str) -> int:
        """Our index of the node the file calls by a number."""
        index = self._index.get(int(number)) if number == int(number) else None
        if index is None:
            low, high = min(self.labels), max(self.labels)
            raise self.document.fail(
                where, expected=f"a node of {low} to {high}", received=f"{number:g}"
            )
        return index

    def per_node(self, section: Section, columns: int) -> Array:
        """One row of numbers for every node, (N, columns), in our order."""
        rows = parse_rows(self.document, section, columns + 1, most=self.size)
        values = np.full((self.size, columns), np.nan)
        for (line, _), row in zip(section.rows, rows, strict=True):
            index = self.index_of(float(row[0]), section.where(line))
            if not np.isnan(values[index, 0]):
                raise self.document.fail(
                    section.where(line), expected="every node once", received=f"{row[0]:g} again"
                )
            values[index] = row[1:]
        missing = np.flatnonzero(np.isnan(values[:, 0]))
        if len(missing):
            number = self.labels[int(missing[0])]
            raise self.document.fail(
                section.where(), expected=f"{self.size} rows (DIMENSION)",
                received=f"{len(rows)}, none for node {number}",
            )  # fmt: skip
        return values


# --------------------------------------------------------------------------------------- vehicles


def _vehicle_fields(document: Document, reader: _NodeReader, kind: _Type) -> dict[str, Any]:
    sections = document.sections
    depots = _read_depots(document, reader)
    fields: dict[str, Any] = {
        "depots": depots,
        "demand": _read_demand(document, reader),
        "capacity": document.number("CAPACITY"),
        "max_routes": document.whole("VEHICLES"),
        "service": _read_service(document, reader, depots),
        **kind.flags,
    }
    if "TIME_WINDOW_SECTION" in sections:
        fields["windows"] = reader.per_node(sections["TIME_WINDOW_SECTION"], 2)
    limit = document.number("DISTANCE")
    if limit is None:
        return fields
    if "windows" in fields or not fields["service"].any():
        fields["max_length"] = limit
    elif fields.get("open_routes"):
        raise document.fail(
            document.where("DISTANCE"),
            expected="no service times beside it on open routes",
            received="some",
        )
    else:
        # Without windows the limit counts service too, which is to say that the depot closes then.
        windows = np.tile([0.0, np.inf], (reader.size, 1))
        windows[list(depots)] = (0.0, limit)
        fields["windows"] = windows
    return fields


def _read_depots(document: Document, reader: _NodeReader) -> tuple[int, ...]:
    section = document.sections["DEPOT_SECTION"]
    numbers = parse_list(document, section)
    if not numbers:
        raise document.fail(section.where(), expected="at least one depot", received="none")
    return tuple(reader.index_of(number, section.where()) for number in numbers)


def _read_demand(document: Document, reader: _NodeReader) -> Array:
    """Signed demand (N,): the demand section, and pickups from the backhaul section."""
    section = document.sections["DEMAND_SECTION"]
    demand = reader.per_node(section, 1)[:, 0]
    negative = np.flatnonzero(demand < 0)
    if len(negative):
        number = reader.labels[int(negative[0])]
        raise document.fail(
            f"{section.where()}, node {number}",
            expected="at least 0 (pickups are for BACKHAUL_SECTION)",
            received=f"{demand[negative[0]]:g}",
        )
    backhauls = document.sections.get("BACKHAUL_SECTION")
    if backhauls is None:
        return demand
    if backhauls.rows and backhauls.rows[-1][1].split()[-1] == "-1":
        # Either a list of the nodes whose demand is to be picked up ...
        for number in parse_list(document, backhauls):
            index = reader.index_of(number, backhauls.where())
            demand[index] = -abs(demand[index])
        return demand
    # ... or a second column of demands.
    amounts = reader.per_node(backhauls, 1)[:, 0]
    for index in np.flatnonzero(amounts != 0).tolist():
        if demand[index] != 0 or amounts[index] < 0:
            raise document.fail(
                f"{backhauls.where()}, node {reader.labels[index]}",
                expected="an amount of at least 0, at nodes without a delivery",
                received=f"{amounts[index]:g} beside {demand[index]:g}",
            )
        demand[index] = -amounts[index]
    return demand


def _read_service(document: Document, reader: _NodeReader, depots: tuple[int, ...]) -> Array:
    section = document.sections.get("SERVICE_TIME_SECTION")
    duration = document.number("SERVICE_TIME")
    if section is not None and duration is not None:
        raise document.fail(
            section.where(), expected="no section beside the key SERVICE_TIME", received="both"
        )
    if section is not None:
        return reader.per_node(section, 1)[:, 0]
    service = np.full(reader.size, duration or 0.0)
    service[list(depots)] = 0.0  # one duration for all customers; nothing is served at a depot
    return service
