"""Instances whose numbers are known, in every format: the cost printed is the cost of those."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from fuzz_corpus import pack
from fuzz_property import COUNTS, close, fuzzed
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.formats import read
from spacevrp.problems.problem import Problem

Table = list[list[float]]


@dataclass(frozen=True)
class Truth:
    """Points on a grid, what each asks for, and what a vehicle holds; node 0 is the depot."""

    points: list[tuple[int, int]]
    demand: list[int]
    capacity: int

    def table(self, measure: Callable[[float], float] = float) -> Table:
        """Distances between all points, each through ``measure``."""
        return [[measure(math.dist(a, b)) for b in self.points] for a in self.points]


@st.composite
def truths(draw: st.DrawFn) -> Truth:
    points = draw(
        st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=7)
    )
    demand = [
        0,
        *draw(st.lists(st.integers(1, 9), min_size=len(points) - 1, max_size=len(points) - 1)),
    ]
    return Truth(points, demand, draw(st.integers(max(demand), 20)))


def as_vrplib(truth: Truth) -> tuple[bytes, Table]:
    size = len(truth.points)
    lines = ["TYPE : CVRP", f"DIMENSION : {size}", f"CAPACITY : {truth.capacity}"]
    lines += ["EDGE_WEIGHT_TYPE : EUC_2D", "NODE_COORD_SECTION"]
    lines += [f"{node} {x} {y}" for node, (x, y) in enumerate(truth.points, start=1)]
    lines += [
        "DEMAND_SECTION",
        *(f"{n} {amount}" for n, amount in enumerate(truth.demand, start=1)),
    ]
    lines += ["DEPOT_SECTION", "1", "-1", "EOF", ""]
    return "\n".join(lines).encode(), truth.table(lambda length: math.floor(length + 0.5))


def as_explicit(truth: Truth) -> tuple[bytes, Table]:
    table = truth.table(lambda length: round(length, 3))
    text = as_vrplib(truth)[0].decode()
    points = text[text.index("EDGE_WEIGHT_TYPE") : text.index("DEMAND_SECTION")]
    lower = "\n".join(" ".join(map(str, row[:n])) for n, row in enumerate(table) if n)
    matrix = (
        "EDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : LOWER_ROW\n"
        f"EDGE_WEIGHT_SECTION\n{lower}\n"
    )
    return text.replace(points, matrix).encode(), table


def as_solomon(truth: Truth) -> tuple[bytes, Table]:
    lines = ["made", "", "VEHICLE", "NUMBER CAPACITY", f"9 {truth.capacity}", "", "CUSTOMER"]
    lines += ["CUST X Y DEMAND READY DUE SERVICE", ""]
    for node, ((x, y), amount) in enumerate(zip(truth.points, truth.demand, strict=True)):
        lines.append(f"{node} {x} {y} {amount} 0 9999 0")
    # Cut after the first decimal, as is the custom for these files.
    return "\n".join(lines).encode(), truth.table(lambda length: math.floor(10 * length) / 10)


def as_csv(truth: Truth) -> tuple[bytes, Table]:
    lines = ["demand;y;x;capacity"]
    for (x, y), amount in zip(truth.points, truth.demand, strict=True):
        lines.append(f"{amount};{y};{x};{truth.capacity}")
    return "\n".join(lines).encode(), truth.table()


def as_json(truth: Truth) -> tuple[bytes, Table]:
    document = {"locations": truth.points, "demand": truth.demand, "capacity": truth.capacity}
    metric = {"geometry": "euclidean", "rounding": "up"}
    return json.dumps({**document, "depots": [0], "metric": metric}).encode(), truth.table(
        math.ceil
    )


def as_npz(truth: Truth) -> tuple[bytes, Table]:
    arrays = {
        "variant": np.array("CVRP"),
        "num_depots": np.array(1),
        "coords": np.array([truth.points]),
        "demand": np.array([truth.demand]),
        "capacity": np.array([truth.capacity]),
    }
    return pack(arrays), truth.table()


def as_ortools(truth: Truth) -> tuple[bytes, Table]:
    table = truth.table(math.floor)
    document = {"distance_matrix": table, "demands": truth.demand, "depot": 0}
    return json.dumps({**document, "vehicle_capacity": truth.capacity}).encode(), table


def as_vroom(truth: Truth) -> tuple[bytes, Table]:
    table = truth.table(round)
    jobs = [
        {"id": node, "location_index": node, "delivery": [amount]}
        for node, amount in enumerate(truth.demand)
        if node
    ]
    vehicle = {"start_index": 0, "end_index": 0, "capacity": [truth.capacity]}
    vehicles = [{"id": number, **vehicle} for number in range(len(truth.points))]
    matrices = {"car": {"durations": table}}
    return json.dumps({"vehicles": vehicles, "jobs": jobs, "matrices": matrices}).encode(), table


def as_osrm(truth: Truth) -> tuple[bytes, Table]:
    table = truth.table(lambda length: round(length, 1))
    return json.dumps({"code": "Ok", "distances": table, "durations": table}).encode(), table


WRITERS = {
    "a.vrp": as_vrplib,
    "b.vrp": as_explicit,
    "a.txt": as_solomon,
    "a.csv": as_csv,
    "a.json": as_json,
    "a.npz": as_npz,
    "ortools.json": as_ortools,
    "vroom.json": as_vroom,
    "osrm.json": as_osrm,
}


@fuzzed(400)
@given(truth=truths(), name=st.sampled_from(sorted(WRITERS)))
def test_the_cost_is_that_of_the_numbers_written(tmp_path, solver, watch, truth, name):
    watch()
    content, table = WRITERS[name](truth)
    path = tmp_path / name
    path.write_bytes(content)
    made = read(path)
    problem = made if isinstance(made, Problem) else made[0]
    solution = solver.solve(problem, augment=1)
    legs = [leg for route in solution.routes for leg in pairwise(route)]
    assert close(solution.cost, math.fsum(table[a][b] for a, b in legs if a != b))
    assert sorted(node for route in solution.routes for node in route if node) == list(
        range(1, len(truth.points))
    )
    if name != "osrm.json":  # a table of roads says nothing of loads
        for route in solution.routes:
            assert sum(truth.demand[node] for node in route) <= truth.capacity
    COUNTS["instances with known numbers", "solved"] += 1
