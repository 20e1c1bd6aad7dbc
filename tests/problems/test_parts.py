"""Parts of a problem: the same rules for some of its nodes."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.problems.parts import restricted
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge


@pytest.mark.parametrize("name", ["CVRPTW", "ACVRPB", "MDOCVRPL", "PDCVRP", "PCTSP"])
def test_of_some_customers_all_else_is_the_same(name: str) -> None:
    """What the referee says of a plan for some customers, in either numbering."""
    (problem,) = generate(name, 8, 1)
    served = [problem.pairs[0]] if problem.pairs else [(node,) for node in problem.customers[:5]]
    if problem.max_routes == 1:
        served = [problem.customers[:5]]
    depot = problem.depots[0]
    end = () if problem.open_routes else (depot,)
    routes = [(depot, *stops, *end) for stops in served]
    stay = sorted({*problem.depots, *(node for stops in served for node in stops)})
    rest, nodes = restricted(problem.replace(min_prize=0.0, variant=None), stay)
    assert (rest.size, nodes) == (len(stay), stay)
    number = {node: position for position, node in enumerate(stay)}
    verdict = judge(rest, [[number[node] for node in route] for route in routes])
    left = np.isfinite(problem.penalty) & ~np.isin(np.arange(problem.size), stay)
    skipped = float(problem.penalty[left].sum())
    assert verdict.violations == ()
    assert verdict.cost == pytest.approx(judge(problem, routes).cost - skipped)


def test_without_a_customer_vehicles_keep_their_places() -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)],
        depots=(0, 3),
        ids=["hub", "ann", "bob", "yard", "cy"],
        demand=[[0, 0], [1, 2], [1, 1], [0, 0], [2, 1]],
        capacity=[4, 4],
        vehicles=[
            {"name": "van", "start": "hub", "end": "yard", "forbidden": ["ann", "cy"]},
            {"name": "bus", "start": "yard", "pinned": ["cy"]},
        ],
    )
    rest, stay = restricted(problem, [0, 2, 3, 4])
    assert stay == [0, 2, 3, 4]
    assert (rest.depots, rest.ids) == ((0, 2), ("hub", "bob", "yard", "cy"))
    assert rest.loads.tolist() == [[0, 0], [1, 1], [0, 0], [2, 1]]
    van, bus = rest.fleet
    assert (van.start, van.end, van.forbidden) == (0, 2, {3})
    assert (bus.start, bus.end, bus.pinned) == (2, 2, (3,))
    assert van.capacities == (4, 4)
