"""The routes of a plan in JSON or CSV: nodes by their numbers, or by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spacevrp.formats.csv_table import read_table
from spacevrp.formats.files import fail
from spacevrp.formats.json_text import as_json, list_at, whole_at
from spacevrp.problems.assignment import FleetRoutes
from spacevrp.problems.conversion import show
from spacevrp.problems.plan_documents import plain
from spacevrp.problems.problem import Problem

Routes = tuple[tuple[int, ...], ...]
# More nodes and vehicles than anybody has; int() itself refuses thousands of digits.
_MOST_DIGITS = 12


class _Nodes:
    """The nodes of an instance, by number and by id."""

    def __init__(self, path: Path, problem: Problem | None) -> None:
        self.path = path
        self.problem = problem
        self.has_ids = problem is not None and problem.ids is not None
        # As plans write them; the text of two may be the same in CSV, as that of 7 and "7".
        self.node_of: dict[Any, int] = {}
        self.nodes_of_text: dict[str, list[int]] = {}
        for node, one in enumerate((problem.ids if problem is not None else None) or ()):
            self.node_of[plain(one)] = node
            self.nodes_of_text.setdefault(str(plain(one)), []).append(node)

    def numbered(self, where: str, number: object) -> int:
        """A node by its number."""
        node = whole_at(self.path, where, number)
        if node < 0:
            raise fail(self.path, where, "nodes counted from 0", node)
        return node

    def named(self, where: str, name: Any) -> int:
        """A node by its id; without ids, by its number."""
        if not isinstance(name, str) and not self.has_ids:
            return self.numbered(where, name)
        if self.problem is None:
            expected = "numbers of nodes, where no instance says what their ids are"
            raise fail(self.path, where, expected, _shown(name))
        if isinstance(name, bool | list | dict) or name not in self.node_of:
            raise fail(self.path, where, "an id of the instance", _shown(name))
        return self.node_of[name]

    def in_cell(self, where: str, text: str, number: int | None) -> int:
        """A node by the text of its id, with its number where there are several such."""
        if not self.has_ids:
            digits = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
            return self.named(where, int(text) if digits else text)
        nodes = self.nodes_of_text.get(text, [])
        if number in nodes:
            return number
        if len(nodes) != 1:
            raise fail(self.path, where, "an id of the instance", _shown(text))
        return nodes[0]

    def agreed(self, where: str, number: int, name: Any, named: int) -> int:
        """The node that a number and an id are of; they must be of the same."""
        if number != named:
            raise fail(
                self.path, where, f"one node, {_shown(name)} is node {named}", f"node {number}"
            )
        return number


def _shown(value: object) -> str:
    return show(value) if isinstance(value, str) else as_json(value)


def routes_from_json(path: Path, where: str, value: object, problem: Problem | None) -> Routes:
    """Routes, each a list of nodes (text is an id) or a table with stops, as plans have them."""
    nodes = _Nodes(path, problem)
    routes, vehicles = [], []
    for number, route in enumerate(list_at(path, f"{where}, routes", value), start=1):
        place = f"{where}, route {number}"
        if isinstance(route, dict):
            stops = list_at(path, f"{place}, stops", route.get("stops"))
            routes.append(_listed(problem, [_stop(nodes, place, stop) for stop in stops]))
            vehicles.append(route.get("vehicle"))
            continue
        routes.append(
            tuple(
                nodes.named(place, node) if isinstance(node, str) else nodes.numbered(place, node)
                for node in list_at(path, place, route)
            )
        )
        vehicles.append(None)
    return _driven(path, where, routes, vehicles)


def _stop(nodes: _Nodes, where: str, stop: Any) -> int:
    if not isinstance(stop, dict) or ("node" not in stop and "id" not in stop):
        raise fail(nodes.path, where, "stops with node or id", as_json(stop))
    number, name = stop.get("node"), stop.get("id")
    if number is None:
        return nodes.named(where, name)
    node = nodes.numbered(where, number)
    if name is None or nodes.problem is None:
        return node
    return nodes.agreed(where, node, name, nodes.named(where, name))


def routes_from_csv(path: Path, problem: Problem | None) -> Routes:
    """Routes of a table with one line a stop: columns route, and node or id; perhaps vehicle."""
    told: dict[str, Any] = {"may_be_empty": True, "example": "route,node"}
    table = read_table(path, texts=("id", "vehicle"), **told)
    columns = table.columns
    if "route" not in columns or not ("node" in columns or "id" in columns):
        received = ", ".join(columns)
        raise fail(path, table.head, "columns route, and node or id, of a plan", received)
    nodes = _Nodes(path, problem)
    names = set() if problem is None else {terms.name for terms in problem.fleet}
    routes: dict[Any, list[int]] = {}
    vehicles: dict[Any, Any] = {}
    for row, place in enumerate(table.places):
        cells = {name: column[row] for name, column in columns.items()}
        if cells["route"] is None:
            raise fail(path, place, "the number of a route", "nothing")
        routes.setdefault(cells["route"], []).append(_cell_node(nodes, place, cells))
        driver = cells.get("vehicle")
        if driver is not None and driver not in names and driver.isascii() and driver.isdigit():
            driver = int(driver[:_MOST_DIGITS])
        vehicles.setdefault(cells["route"], driver)
    listed = [_listed(problem, route) for route in routes.values()]
    return _driven(path, "", listed, [vehicles[number] for number in routes])


def _cell_node(nodes: _Nodes, where: str, cells: Mapping[str, Any]) -> int:
    number, name = cells.get("node"), cells.get("id")
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    node = None if number is None else nodes.numbered(where, number)
    if name is None or (node is not None and not nodes.has_ids):
        if node is None:
            raise fail(nodes.path, where, "a node or an id", "neither")
        return node
    named = nodes.in_cell(where, name, node)
    return named if node is None else nodes.agreed(where, node, name, named)


def _listed(problem: Problem | None, stops: list[int]) -> tuple[int, ...]:
    """The nodes of a route; a tour without a depot ends with the stop where it began."""
    comes_back = len(stops) > 1 and stops[0] == stops[-1]
    is_tour = problem is not None and not problem.depots
    return tuple(stops[:-1] if is_tour and comes_back else stops)


def _driven(path: Path, where: str, routes: list[tuple[int, ...]], vehicles: list[Any]) -> Routes:
    """The routes with the types that drive them, where the plan says it of all."""
    if not vehicles or any(vehicle is None for vehicle in vehicles):
        return tuple(routes)
    place = f"{where}, vehicle" if where else "vehicle"
    types: list[Any] = [
        one if isinstance(one, str) else whole_at(path, place, one) for one in vehicles
    ]
    return FleetRoutes(tuple(routes), types)
