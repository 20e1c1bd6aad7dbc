"""TSPLIB and VRPLIB instances (.vrp, .tsp, .atsp), read; VRPLIB in PyVRP's dialect, too.

:data:`FIELDS` is the dialect: what a file may say of its nodes and of its vehicles. Coordinates
stay coordinates: a file of 30,000 nodes is read without a matrix of its distances.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import build, fleet_fields, measured, tabled
from spacevrp.formats.edge_weights import (
    LAYOUTS,
    SPACES,
    count_weights,
    measure_space,
    sequential_fields,
    unfold,
)
from spacevrp.formats.files import check_kind, shown, warn, warn_left_out
from spacevrp.formats.tsplib import (
    LIST,
    Document,
    Field,
    Numbered,
    parse_document,
    parse_list,
    parse_numbers,
    parse_rows,
    parse_stream,
)
from spacevrp.problems.distances import TSPLIB_METRICS, Array, Distances, Metric
from spacevrp.problems.problem import Problem
from spacevrp.problems.problem_data import Group

# TSPLIB's own edge weight types, and two that VRPLIB files use besides.
EDGE_METRICS = {
    **TSPLIB_METRICS,
    "FLOOR_2D": Metric("euclidean", "down"),
    "EXACT_2D": Metric("euclidean", "none"),
}


@dataclass(frozen=True)
class _Type:
    """What a TYPE says: are there vehicles, which sections must be there, which flags hold.

    ``rounding`` is what the field's convention makes of EUC_2D in files of this type.
    """

    has_depot: bool = True
    needs: tuple[str, ...] = ()
    flags: dict[str, bool] = field(default_factory=dict)
    rounding: str = "nearest"


_FLEET = ("CAPACITY", "DEMAND_SECTION", "DEPOT_SECTION")
_TIMED = (*_FLEET, "TIME_WINDOW_SECTION")
_BACKHAULS = (*_FLEET, "BACKHAUL_SECTION")
_WINDOWS = ("DEMAND_SECTION", "TIME_WINDOW_SECTION")
TYPES = {
    "TSP": _Type(has_depot=False),
    "ATSP": _Type(has_depot=False),
    "SOP": _Type(has_depot=False),
    **dict.fromkeys(("CVRP", "ACVRP", "DCVRP", "MDVRP", "MDCVRP"), _Type(needs=_FLEET)),
    "CVRPTW": _Type(needs=_TIMED),
    **dict.fromkeys(("OVRP", "OCVRP"), _Type(needs=_FLEET, flags={"open_routes": True})),
    **dict.fromkeys(("VRPMPD", "VRPSPD"), _Type(needs=_BACKHAULS)),
    "VRPB": _Type(needs=_BACKHAULS, flags={"backhaul_last": True}),
    "GVRP": _Type(needs=("DEMAND_SECTION", "MUTUALLY_EXCLUSIVE_GROUP_SECTION")),
    # DIMACS: cut to one decimal. PyVRP's "exact": rounded to three.
    "VRPTW": _Type(needs=_TIMED, rounding="one-decimal"),
    "PCVRPTW": _Type(needs=(*_WINDOWS, "PRIZE_SECTION"), rounding="one-decimal"),
    "MTVRPTWR": _Type(needs=(*_WINDOWS, "RELEASE_TIME_SECTION"), rounding="one-decimal"),
    "HFVRP": _Type(needs=("DEMAND_SECTION", "VEHICLES"), rounding="three-decimals"),
    "MDVRPTW": _Type(needs=(*_WINDOWS, "DEPOT_SECTION"), rounding="three-decimals"),
    "SDVRPTW": _Type(needs=(*_WINDOWS, "VEHICLES"), rounding="three-decimals"),
    "PDPTW": _Type(needs=("CAPACITY", "PICKUP_AND_DELIVERY_SECTION")),
}


FIELDS = {
    "DEMAND": Field("node", columns=None),
    "TIME_WINDOW": Field("node", columns=2),
    "SERVICE_TIME": Field("node", key=True),
    "RELEASE_TIME": Field("node", key=True),
    "PRIZE": Field("node"),
    "PICKUP_AND_DELIVERY": Field("node", columns=6),
    "CAPACITY": Field("vehicle", columns=None, key=True),
    "VEHICLES_DEPOT": Field("vehicle"),
    "VEHICLES_FIXED_COST": Field("vehicle", key=True),
    "VEHICLES_UNIT_DISTANCE_COST": Field("vehicle", key=True),
    "VEHICLES_MAX_DISTANCE": Field("vehicle", key=True),
    "VEHICLES_MAX_DURATION": Field("vehicle", key=True),
    "VEHICLES_MAX_RELOADS": Field("vehicle", key=True),
    "VEHICLES_ALLOWED_CLIENTS": Field("vehicle", columns=LIST),
    "VEHICLES_RELOAD_DEPOT": Field("vehicle", columns=LIST),
}
# The field of a Vehicle that each of those is.
TERMS = {
    "capacity": "CAPACITY",
    "start": "VEHICLES_DEPOT",
    "fixed_cost": "VEHICLES_FIXED_COST",
    "unit_distance_cost": "VEHICLES_UNIT_DISTANCE_COST",
    "max_length": "VEHICLES_MAX_DISTANCE",
    "max_duration": "VEHICLES_MAX_DURATION",
    "allowed": "VEHICLES_ALLOWED_CLIENTS",
    "reload_depots": "VEHICLES_RELOAD_DEPOT",
    "max_reloads": "VEHICLES_MAX_RELOADS",
}
_VEHICLE_KEYS = ("VEHICLES", "DISTANCE", *(name for name, one in FIELDS.items() if one.key))
_VEHICLE_SECTIONS = (
    *(f"{name}_SECTION" for name in FIELDS),
    *("DEPOT_SECTION", "BACKHAUL_SECTION", "MUTUALLY_EXCLUSIVE_GROUP_SECTION"),
    "LINEHAUL_SECTION",  # another name of DEMAND_SECTION
)
_KEYS = {
    *_VEHICLE_KEYS, "NAME", "TYPE", "COMMENT", "DIMENSION", "EDGE_WEIGHT_TYPE",
    "EDGE_WEIGHT_FORMAT",
    # How to draw the nodes: nothing of the problem.
    "NODE_COORD_TYPE", "DISPLAY_DATA_TYPE",
}  # fmt: skip
_SECTIONS = {
    *_VEHICLE_SECTIONS, "NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION",
    "DISPLAY_DATA_SECTION",  # where to draw the nodes: nothing of the problem
}  # fmt: skip
# Left out, these would leave another problem than the file means.
_REFUSED_SECTIONS = ("FIXED_EDGES_SECTION", "EDGE_DATA_SECTION", "TOUR_SECTION")


def read_vrplib(
    path: str | Path, *, rounding: str | None = None, variant: str | None = None
) -> Problem:
    """The instance of a TSPLIB or VRPLIB file; node 0 is the first node the file lists."""
    path = Path(path)
    check_kind(path, "vrplib", expected="TSPLIB's keys, such as 'TYPE : CVRP'")
    document = parse_document(path)
    if (linehauls := document.sections.pop("LINEHAUL_SECTION", None)) is not None:
        if "DEMAND_SECTION" in document.sections:
            raise document.fail(linehauls.where(), "none next to DEMAND_SECTION", "both")
        document.sections["DEMAND_SECTION"] = linehauls
    kind = _check_contents(document)
    size = document.whole("DIMENSION")
    if size is None or size < 1:
        received = document.text("DIMENSION") or "none"
        raise document.fail("DIMENSION", "a number of nodes", received)
    if kind is TYPES["SOP"]:
        return build(path, sequential_fields(document, size, rounding), variant=variant)
    rows = _read_nodes(document, size)
    distances = _read_distances(document, size, rows, kind, rounding)
    nodes = Numbered(document, FIELDS, size, rows)
    fields: dict[str, Any] = {"distances": distances, "name": document.text("NAME") or path.stem}
    if kind.has_depot:
        fields |= _vehicle_fields(document, nodes, kind)
    elif kind is TYPES["TSP"] and not distances.is_symmetric:
        warn(path, "TYPE TSP with an asymmetric matrix, read as asymmetric")
    return build(path, fields, variant=variant, labels=nodes.labels)


def rounding_of(path: str | Path) -> str:
    """How distances of such files are rounded, unless told otherwise."""
    return TYPES[(parse_document(Path(path)).text("TYPE") or "").upper()].rounding


def _check_contents(document: Document) -> _Type:
    """What stands in the file, before any number is read: known, complete, and of a known type."""
    for name, section in document.sections.items():
        if name in _REFUSED_SECTIONS:
            raise document.fail(section.where(), "a section this reader can hold", name)
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
        raise document.fail("TYPE", f"one of {', '.join(TYPES)}", type_name)
    kind = TYPES[type_name]
    for name in kind.needs:
        if name.endswith("_SECTION") and name not in document.sections:
            raise document.fail(name, f"the section, as {type_name} needs it", "none")
        if name not in document.keys and not {name, f"{name}_SECTION"} & {*document.sections}:
            raise document.fail(name, f"a number, as {type_name} needs it", "none")
    if not kind.has_depot:
        present = [*document.keys, *document.sections]
        if document.whole("VEHICLES") == 1:
            present.remove("VEHICLES")  # which is what a tour needs
        for key in (*_VEHICLE_KEYS, *_VEHICLE_SECTIONS):
            if key in present:
                raise document.fail(key, f"no vehicles in TYPE {type_name}", key)
    return kind


# -------------------------------------------------------------------------------------- distances


def _read_distances(
    document: Document, size: int, rows: Array | None, kind: _Type, rounding: str | None
) -> Distances:
    weight_type = _weight_type(document)
    if weight_type == "EXPLICIT":
        return tabled(document.path, _read_matrix(document, size), rounding, field="matrix")
    if weight_type not in (*EDGE_METRICS, *SPACES):
        expected = f"EXPLICIT or one of {', '.join((*EDGE_METRICS, *SPACES))}"
        raise document.fail("EDGE_WEIGHT_TYPE", expected, weight_type)
    if rows is None:
        raise document.fail("NODE_COORD_SECTION", f"coordinates for {weight_type}", "none")
    if "EDGE_WEIGHT_SECTION" in document.sections:
        section = document.sections["EDGE_WEIGHT_SECTION"]
        raise document.fail(section.where(), f"no matrix next to {weight_type}", "one")
    if weight_type in SPACES:
        matrix = measure_space(document, weight_type, rows[:, 1:])
        return tabled(document.path, matrix, rounding, field="matrix")
    metric = EDGE_METRICS[weight_type]
    if weight_type == "EUC_2D":
        metric = Metric("euclidean", kind.rounding)
    return measured(document.path, rows[:, 1:], metric, rounding)


def _weight_type(document: Document) -> str:
    return (document.text("EDGE_WEIGHT_TYPE") or "none").upper()


def _read_matrix(document: Document, size: int) -> Array:
    layout = (document.text("EDGE_WEIGHT_FORMAT") or "none").upper()
    if layout not in LAYOUTS:
        raise document.fail("EDGE_WEIGHT_FORMAT", f"one of {', '.join(LAYOUTS)}", layout)
    section = document.sections.get("EDGE_WEIGHT_SECTION")
    if section is None:
        raise document.fail("EDGE_WEIGHT_SECTION", "a matrix", "none")
    if layout == "LOWER_ROW" and "eilon" in (document.text("COMMENT") or "").lower():
        # E-n13-k4 and E-n31-k7 of CVRPLIB claim rows and list columns.
        warn(document.path, "LOWER_ROW in an instance of Eilon read as LOWER_COL, which it is")
        layout = "LOWER_COL"
    return unfold(layout, parse_stream(document, section, count_weights(layout, size)), size)


def _read_nodes(document: Document, size: int) -> Array | None:
    """Number and coordinates of every node in the order of the file, (N, 3) or (N, 4)."""
    section = document.sections.get("NODE_COORD_SECTION")
    if section is None:
        return None
    columns = 4 if _weight_type(document) in SPACES else 3
    rows = parse_rows(document, section, columns, most=size)
    if len(rows) != size:
        raise document.fail(section.where(), f"{size} rows (DIMENSION)", str(len(rows)))
    return rows


# --------------------------------------------------------------------------------------- vehicles


def _vehicle_fields(document: Document, nodes: Numbered, kind: _Type) -> dict[str, Any]:
    depots = _read_depots(document, nodes)
    fields: dict[str, Any] = {"depots": depots, **kind.flags}
    paired = nodes.values("PICKUP_AND_DELIVERY")
    if paired is None:
        fields |= _read_demand(document, nodes)
        windows, service = nodes.values("TIME_WINDOW"), nodes.values("SERVICE_TIME")
        fields["service"] = np.zeros(nodes.size) if service is None else service[:, 0]
        if "SERVICE_TIME" in document.keys:  # for all customers; nothing is served at a depot
            fields["service"][list(depots)] = 0.0
        if windows is not None:
            fields["windows"] = windows
    else:
        fields |= _read_pairs(document, nodes, paired)
    prize = nodes.values("PRIZE")
    if prize is not None:
        fields["penalty"] = np.where(prize[:, 0] != 0, prize[:, 0], np.inf)
    count, terms = _read_terms(document, nodes)
    limit = document.number("DISTANCE")
    if limit is not None:
        counts_service = "windows" not in fields and fields["service"].any()
        # Without windows the limit counts service, too.
        term = "max_duration" if counts_service else "max_length"
        if terms.get(term) is not None:
            raise document.fail(document.where("DISTANCE"), f"none next to {TERMS[term]}", "both")
        terms[term] = limit
    fields |= fleet_fields(count, terms, fields)
    release = nodes.values("RELEASE_TIME")
    if release is not None and release.any():
        fields["release"] = release[:, 0]
    if groups := _read_groups(document, nodes):
        fields["groups"] = groups
    return fields


def _read_depots(document: Document, nodes: Numbered) -> tuple[int, ...]:
    section = document.sections.get("DEPOT_SECTION")
    if section is None:
        return (0,)
    numbers = parse_list(document, section, must_close=False)
    if not numbers:
        raise document.fail(section.where(), "at least one depot", "none")
    return tuple(nodes.index_of(number, section.where()) for number in numbers)


def _read_demand(document: Document, nodes: Numbered) -> dict[str, Any]:
    """Signed demand (N,) or (N, D): the demand section, and pickups from the backhaul section.

    Where some node has both, what is collected is a field of its own.
    """
    held = nodes.values("DEMAND")
    demand = np.zeros((nodes.size, 1)) if held is None else held
    negative = np.argwhere(demand < 0)
    if len(negative):
        node, column = negative[0]
        raise document.fail(
            f"{document.sections['DEMAND_SECTION'].where()}, node {nodes.labels[node]}",
            "at least 0 (pickups are for BACKHAUL_SECTION)",
            f"{demand[node, column]:g}",
        )
    backhauls = document.sections.get("BACKHAUL_SECTION")
    if backhauls is None:
        return {"demand": demand[:, 0] if demand.shape[1] == 1 else demand}
    if demand.shape[1] != 1:
        raise document.fail(backhauls.where(), "one kind of load", "several")
    demand = demand[:, 0]
    if backhauls.rows and backhauls.rows[-1][1].split()[-1] == "-1":
        # Either a list of the nodes whose demand is to be picked up ...
        for number in parse_list(document, backhauls):
            index = nodes.index_of(number, backhauls.where())
            demand[index] = -abs(demand[index])
        return {"demand": demand}
    # ... or a second column of demands.
    amounts = nodes.rows(backhauls, 1)[:, 0]
    for index in np.flatnonzero(amounts < 0).tolist():
        expected = "an amount of at least 0"
        received = f"{amounts[index]:g}"
        raise document.fail(f"{backhauls.where()}, node {nodes.labels[index]}", expected, received)
    if ((demand > 0) & (amounts > 0)).any():
        return {"demand": demand, "pickup": amounts}
    return {"demand": demand - amounts}


def _read_pairs(document: Document, nodes: Numbered, rows: Array) -> dict[str, Any]:
    """Demand, window, service, pickup and delivery of every node, as LKH and Li and Lim have it."""
    for name in ("DEMAND", "TIME_WINDOW", "SERVICE_TIME", "BACKHAUL"):
        for place in (name, f"{name}_SECTION"):
            if place in (*document.keys, *document.sections):
                raise document.fail(place, "nothing next to PICKUP_AND_DELIVERY_SECTION", place)
    where = document.sections["PICKUP_AND_DELIVERY_SECTION"].where()
    pairs = [
        (index, nodes.index_of(delivery, where))
        for index, (pickup, delivery) in enumerate(rows[:, 4:].tolist())
        if pickup == 0 and delivery != 0
    ]
    return {
        "demand": 0.0 - rows[:, 0],  # without a minus zero
        "windows": rows[:, 1:3],
        "service": rows[:, 3],
        "pairs": pairs,
    }


def _read_terms(document: Document, nodes: Numbered) -> tuple[int | None, dict[str, Any]]:
    """How many vehicles there are, and their terms: one value for all, or a list of values."""
    count = document.whole("VEHICLES")
    own = [
        section
        for name, one in FIELDS.items()
        if one.of == "vehicle" and (section := document.sections.get(f"{name}_SECTION"))
    ]
    if not own:
        return count, {
            term: document.number(name) for term, name in TERMS.items() if FIELDS[name].key
        }
    if count is None or count < 1:
        raise document.fail("VEHICLES", f"their number next to {own[0].name}", str(count))
    if count != len(own[0].rows):
        raise document.fail(own[0].where(), f"{count} rows (VEHICLES)", str(len(own[0].rows)))
    vehicles = Numbered(document, FIELDS, count, None, "vehicle")
    terms: dict[str, Any] = {}
    for term, name in TERMS.items():
        if FIELDS[name].columns == LIST:
            terms[term] = vehicles.lists(name, nodes)
        elif (values := vehicles.values(name)) is not None:
            terms[term] = [row[0] if len(row) == 1 else tuple(row) for row in values.tolist()]
    if terms.get("start") is not None:
        where = document.sections["VEHICLES_DEPOT_SECTION"].where()
        terms["start"] = [nodes.index_of(one, where) for one in terms["start"]]
    return count, terms


def _read_groups(document: Document, nodes: Numbered) -> list[Group]:
    """Customers of whom one is served; a group of one is no choice."""
    section = document.sections.get("MUTUALLY_EXCLUSIVE_GROUP_SECTION")
    groups = []
    for line, text in section.rows if section is not None else ():
        where = f"line {line}, MUTUALLY_EXCLUSIVE_GROUP_SECTION"
        _, *members = parse_numbers(document, where, text.split())
        listed = tuple(nodes.index_of(number, where) for number in members)
        if len(listed) > 1:
            groups.append(Group(listed))
    return groups
