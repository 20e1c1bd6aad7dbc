"""OR-Tools' routing guides: their data read as they are, at or under the costs that they print."""

from __future__ import annotations

import ortools_guides as guides
import pytest

from spacevrp import native
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem

# What the guides print: the objective, with 100 for each metre of the longest route where they
# have a span, and with what dropped visits cost.
PRINTED = {
    "cities": 7293,
    "vehicles": 177500,
    "starts and ends": 115794,
    "capacities": 6208,
    "penalties": 7936,
    "pickups and deliveries": 226116,
    "windows": 71,
}


@pytest.mark.skipif(not native.available(), reason=native.MISSING)
@pytest.mark.parametrize("name", guides.GUIDES)
def test_a_guide_costs_no_more_than_it_prints(name: str) -> None:
    from spacevrp.solver import Solver

    data, _, fields = guides.GUIDES[name]
    problem = Problem.from_ortools(data, **fields)
    plan = Solver(device="cpu").solve(problem, seed=1)
    assert plan.feasible
    value = plan.cost if problem.objective.is_cost else plan.objective[0]
    assert value <= PRINTED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", guides.GUIDES)
def test_ortools_itself_prints_it(name: str) -> None:
    pytest.importorskip("ortools", reason="an extra")
    data, code, _ = guides.GUIDES[name]
    found = guides.solve_by_ortools(data, code)
    if "guided" in code:  # by the clock, so that it is not always the same
        assert found == pytest.approx(PRINTED[name], rel=0.1)
    else:
        assert found == PRINTED[name]


def test_a_depot_with_room_for_two_vehicles_is_refused_by_name() -> None:
    data = {**guides.FOUR, "depot_capacity": 2, "vehicle_load_time": 5, "vehicle_unload_time": 5}
    with pytest.raises(UnsupportedError, match="the key 'depot_capacity' is not known here"):
        Problem.from_ortools(data)
