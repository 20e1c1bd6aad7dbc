"""TSPLIB and VRPLIB instances, written, as far as the format can say them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spacevrp.formats.building import FEATURES, exact, refuse_unheld, warn_unnamed
from spacevrp.formats.files import write_bytes
from spacevrp.formats.vrplib import EDGE_METRICS, TERMS, TYPES
from spacevrp.problems.distances import Metric
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.fleet import Terms
from spacevrp.problems.plan_sol import sol_vehicles
from spacevrp.problems.problem import Problem

_TYPE_OF_METRIC = {metric: name for name, metric in EDGE_METRICS.items()}
_UNHELD = (
    "durations", "missing arcs", "capacity without a depot", "service without a depot",
    "windows that never close", "prize", "min_prize", "maximise_prize",
)  # fmt: skip
# Of rules of routes and relations of customers, these have a section.
_HELD = ("release", "reload_depots", "groups", "pickup")
# Vehicles have a line each.
_MOST_VEHICLES = 100_000


def write_vrplib(path: str | Path, problem: Problem) -> None:
    """Write a problem as far as VRPLIB in PyVRP's dialect says it; the rest is refused by name.

    What is read from the file is the same problem, but for the names of its vehicles. The declared
    variant and the load rule are not part of the format (``read(path, variant=...)`` declares
    them).
    """
    path = Path(path)
    refuse_unheld(path, "VRPLIB files", problem, _UNHELD, _HELD, **_others(problem))
    warn_unnamed(path, problem)
    write_bytes(path, ("\n".join(_lines(path, problem)) + "\n").encode())


def _others(problem: Problem) -> dict[str, bool]:
    timed = problem.inferred_features.time_windows
    grouped = {node for group in problem.groups for node in group.nodes}
    penalty = problem.penalty[[node for node in problem.customers if node not in grouped]]
    paired = problem.paired_customers
    required = all(group.required for group in problem.groups)
    return {
        "groups of which none need be served": not required,
        "pickup next to backhaul_last": problem.pickup is not None and problem.backhaul_last,
        "metric": problem.distances.coordinates is not None and _weight_type(problem) is None,
        "infinite capacity": not all(np.isfinite(one.capacities).all() for one in problem.fleet),
        "max_routes next to vehicles": problem.vehicles is not None
        and problem.max_routes is not None,
        "several kinds of load": problem.kinds_of_load > 1 and problem.vehicles is None,
        "several kinds of load next to pickups": problem.kinds_of_load > 1
        and (problem.pickup is not None or bool((problem.loads < 0).any())),
        # Without windows the reader would count service in.
        "max_length next to service": bool(np.isfinite(problem.max_length))
        and problem.vehicles is None
        and not timed
        and bool(problem.service.any()),
        "customers next to pairs": bool(paired) and paired != set(problem.customers),
        "pairs without windows": bool(paired) and not timed,
        "release next to pickups": problem.release is not None and bool((problem.loads < 0).any()),
        "penalty without a depot": not problem.depots and bool(np.isfinite(penalty).any()),
        "penalty of 0": bool((penalty == 0).any()),
        "backhaul_last": problem.backhaul_last and problem.open_routes,
    }


def _weight_type(problem: Problem) -> str | None:
    """The edge weight type of the metric in a file of this problem's TYPE; None where none is."""
    metric = problem.distances.metric
    if metric == Metric("euclidean", TYPES[_type(problem)].rounding):
        return "EUC_2D"
    name = _TYPE_OF_METRIC.get(metric)
    return None if name == "EUC_2D" else name


def _type(problem: Problem) -> str:
    """The first TYPE that says what this problem is, and in which EUC_2D is its metric."""
    features = problem.inferred_features
    if not problem.depots:
        return "ATSP" if features.asymmetric else "TSP"
    if problem.open_routes:
        return "OVRP"
    if problem.pairs:
        return "PDPTW"
    if problem.backhaul_last:
        return "VRPB"
    if problem.groups:
        return "GVRP"
    if problem.pickup is not None:
        return "VRPSPD"
    if FEATURES["pickups"](problem):
        return "VRPMPD"
    rounding = problem.distances.metric.rounding
    # Files of SDVRPTW and HFVRP say how many vehicles there are.
    counted = problem.vehicles is not None or problem.max_routes is not None
    if rounding == "three-decimals" and features.time_windows:
        return "SDVRPTW" if counted and not features.multi_depot else "MDVRPTW"
    if rounding == "three-decimals" and counted:
        return "HFVRP"
    if rounding == "one-decimal" and features.time_windows:
        if problem.release is not None:
            return "MTVRPTWR"
        return "PCVRPTW" if FEATURES["penalty"](problem) else "VRPTW"
    if problem.vehicles is not None:
        return "CVRP"
    if features.time_windows:
        return "CVRPTW"
    if features.multi_depot:
        return "MDVRP"
    return "ACVRP" if features.asymmetric else "CVRP"


def _lines(path: Path, problem: Problem) -> Iterator[str]:
    name = "".join(letter for letter in problem.name if letter.isprintable()).strip()
    yield f"NAME : {name or 'instance'}"
    yield f"TYPE : {_type(problem)}"
    yield f"DIMENSION : {problem.size}"
    distances = problem.distances
    if distances.coordinates is None:
        yield "EDGE_WEIGHT_TYPE : EXPLICIT"
        yield "EDGE_WEIGHT_FORMAT : FULL_MATRIX"
    else:
        yield f"EDGE_WEIGHT_TYPE : {_weight_type(problem)}"
    fleet = _fleet_sections(path, problem) if problem.vehicles is not None else {}
    if problem.depots and not fleet:
        yield f"CAPACITY : {exact(problem.capacity)}"
        if np.isfinite(problem.max_length):
            yield f"DISTANCE : {exact(problem.max_length)}"
        if problem.max_routes is not None:
            yield f"VEHICLES : {problem.max_routes}"
    elif fleet:
        yield f"VEHICLES : {len(next(iter(fleet.values())))}"
    if distances.coordinates is None:
        yield "EDGE_WEIGHT_SECTION"
        yield from (_row(row) for row in distances.matrix().tolist())
    else:
        yield "NODE_COORD_SECTION"
        yield from _numbered(distances.coordinates.tolist())
    if problem.depots:
        yield from _node_lines(problem)
        for heading, rows in fleet.items():
            yield f"{heading}_SECTION"
            yield from _numbered(rows)
        yield "DEPOT_SECTION"
        yield from (f" {depot + 1}" for depot in problem.depots)
        yield " -1"
    yield "EOF"


def _node_lines(problem: Problem) -> Iterator[str]:
    timed = problem.inferred_features.time_windows
    if problem.pairs:
        yield "PICKUP_AND_DELIVERY_SECTION"
        sibling = np.zeros((problem.size, 2))
        for pickup, delivery in problem.pairs:
            sibling[pickup, 1], sibling[delivery, 0] = delivery + 1, pickup + 1
        columns = (0.0 - problem.demand, *problem.windows.T, problem.service, *sibling.T)
        yield from _numbered(np.column_stack(columns).tolist())
        return
    collected = np.maximum(0.0 - problem.loads, 0.0) + problem.pickups
    prize = np.where(np.isfinite(problem.penalty), problem.penalty, 0.0)
    prize[list(problem.depots)] = 0.0
    # What is always there is there when the first depot opens.
    first = problem.windows[list(problem.depots), 0].min()
    release = None if problem.release is None else np.maximum(problem.release, first)
    for heading, values in {
        "DEMAND": np.maximum(problem.loads, 0.0),
        "BACKHAUL": collected if collected.any() else None,
        "TIME_WINDOW": problem.windows if timed else None,
        "SERVICE_TIME": problem.service if problem.service.any() else None,
        "PRIZE": prize if prize.any() else None,
        "RELEASE_TIME": release,
    }.items():
        if values is not None:
            yield f"{heading}_SECTION"
            yield from _numbered(values.reshape(problem.size, -1).tolist())
    if problem.groups:
        yield "MUTUALLY_EXCLUSIVE_GROUP_SECTION"
        yield from _numbered([node + 1 for node in group.nodes] for group in problem.groups)


def _fleet_sections(path: Path, problem: Problem) -> dict[str, list[list[float]]]:
    """Heading -> a row for each vehicle; a section that would say nothing is left out."""
    numbers = sol_vehicles(problem)
    if numbers is None or len(numbers) > _MOST_VEHICLES:
        held = "vehicles of which there are as many as are needed"
        raise UnsupportedError(
            f"{path}: VRPLIB files cannot hold {held}; write it as .json"
            if numbers is None
            else f"{path}: expected at most {_MOST_VEHICLES} vehicles, received {len(numbers)}"
        )
    fleet = problem.fleet
    rows = {name: [_term(path, problem, one, name) for one in fleet] for name in TERMS}
    silent = {"fixed_cost": [0.0], "unit_distance_cost": [1.0], "start": [problem.depots[0] + 1]}
    sections = {}
    for name, of_types in rows.items():
        unsaid = [row is None or row == silent.get(name) for row in of_types]
        if all(unsaid):
            continue
        if any(row is None for row in of_types):
            raise UnsupportedError(
                f"{path}: VRPLIB files cannot hold {name} of some vehicles and not of others; "
                "write it as .json"
            )
        sections[TERMS[name]] = [of_types[number] or [] for number in numbers]
    return sections


def _term(path: Path, problem: Problem, terms: Terms, name: str) -> list[Any] | None:
    """What a section says of a vehicle; None for no limit."""
    for held, is_there in {
        "other ends of vehicles": terms.end != terms.start,
        "shifts of vehicles": bool(np.isfinite([terms.leaves_from, terms.back_by]).any()),
        "pinned customers": bool(terms.pinned),
    }.items():
        if is_there:
            raise UnsupportedError(f"{path}: VRPLIB files cannot hold {held}; write it as .json")
    if name == "capacity":
        return list(terms.capacities)
    if name == "start":
        return [terms.start + 1]
    if name == "allowed":
        barred = terms.forbidden
        if not any(one.forbidden for one in problem.fleet):
            return None
        return [node + 1 for node in problem.customers if node not in barred]
    if name == "reload_depots":
        some = any(one.reload_depots for one in problem.fleet)
        return [depot + 1 for depot in terms.reload_depots] if some else None
    value = getattr(terms, name)
    if value is None:
        return None
    return [value] if np.isfinite(value) else None


def _numbered(rows: Iterable[Iterable[float]]) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        yield f"{number} {_row(row)}".rstrip()


def _row(values: Iterable[float]) -> str:
    return " ".join(exact(float(value)) for value in values)
