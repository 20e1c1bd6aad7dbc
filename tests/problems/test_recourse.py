"""What a vehicle does when the real prizes fall short: by hand, and without looking ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.generators import generate
from spacevrp.problems import recourse
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import can_plan_ahead, carry_out, expected_cost, visit_more
from spacevrp.problems.solution import Solution


def stochastic(revealed: list[float], **changes: Any) -> Problem:
    """Customers at 1, 2 and 5 on a line from the depot; two of them are expected to be enough."""
    given: dict[str, Any] = {
        "prize": [0, 1, 1, 1],
        "revealed_prize": revealed,
        "penalty": [0, 1, 1, 1],
        "min_prize": 1.5,
        "max_routes": 1,
    }
    return Problem.from_coordinates([(0, 0), (1, 0), (2, 0), (5, 0)], **given | changes)


@pytest.fixture(params=[recourse.MOST_NODES, 3])
def most_nodes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """On the way, or at the end alone."""
    monkeypatch.setattr(recourse, "MOST_NODES", request.param)
    return int(request.param)


@pytest.mark.usefixtures("most_nodes")
@pytest.mark.parametrize(
    ("revealed", "planned", "visited", "added"),
    [
        ([0, 1, 1, 1], ((0, 1, 2, 0),), [0, 0, 1, 2], 0),
        # 1 + 0.1 < 1.5, so node 3 is added although no planner could know that it pays.
        ([0, 1, 0.1, 2], ((0, 1, 2, 0),), [0, 0, 1, 2, 3], 1),
        # From nowhere: node 1 costs 2 - 1, node 2 4 - 1; both are needed, node 3 is not.
        ([0, 0.8, 0.8, 9], (), [0, 0, 1, 2], 2),
    ],
)
def test_the_vehicle_goes_on_while_the_real_prizes_fall_short(revealed, planned, visited, added):
    (route,), more = visit_more(stochastic(revealed), planned)
    assert (sorted(route), more) == (visited, added)


def test_a_large_prize_and_a_high_penalty_are_worth_a_detour() -> None:
    # A detour of 2 - 1 for a prize of 0.1, of 4 - 1 for one of 1, or of 10 - 1 for one of 1.
    prized = stochastic([0, 0.1, 1, 1], prize=[0, 0.1, 1, 1], min_prize=1)
    # A detour of 2 - 1 or one of 4 - 3.5, for the same prize.
    penalised = stochastic([0, 1, 1, 1], penalty=[0, 1, 3.5, 1], min_prize=1)
    for problem in (prized, penalised):
        assert visit_more(problem, ()) == (((0, 2, 0),), 1)


def test_a_visit_is_put_into_the_rest_of_the_route(most_nodes: int) -> None:
    """Customer 2 yields 0.1, and 1 is expected of the next: 3 is wanted, a detour of 3 + 4 - 1.

    From customer 1 it is one of 4 + 5 - 1.
    """
    routes, added = visit_more(stochastic([0, 1, 0.1, 2]), ((0, 2, 1, 0),))
    assert (routes, added) == (((0, 2, 3, 1, 0) if most_nodes > 3 else (0, 2, 1, 3, 0),), 1)


@pytest.mark.usefixtures("most_nodes")
def test_empty_routes_are_no_routes() -> None:
    problem = stochastic([0, 1, 0.1, 2])
    for empty in ((), (0,), (0, 0)):
        plan = Solution.judged(problem, ((0, 1, 2, 0), empty))
        assert carry_out(problem, plan).routes == ((0, 1, 2, 3, 0),)


@pytest.mark.usefixtures("most_nodes")
def test_several_routes_and_open_ones() -> None:
    problem = stochastic([0, 0.1, 1, 2], max_routes=None)
    (first, second), added = visit_more(problem, ((0, 1, 0), (0, 2, 0)))
    assert (first, sorted(second), added) == ((0, 1, 0), [0, 0, 2, 3], 1)
    opened = stochastic([0, 1, 0.1, 2], open_routes=True)
    assert visit_more(opened, ((0, 1, 2),)) == (((0, 1, 2, 3),), 1)
    assert carry_out(opened, Solution.judged(opened, ())).feasible


def test_what_is_expected_of_a_plan() -> None:
    problem = stochastic([0, 1, 1, 9])
    enough, short = (Solution.judged(problem, [route]) for route in ((0, 1, 2, 0), (0, 3, 0)))
    assert (enough.cost, short.cost) == (5, 12)
    assert short.feasible  # in truth; by expectation customer 1 or 2 on the way is needed, too
    assert expected_cost(problem, enough) == 5
    assert expected_cost(problem, short) == 11
    assert expected_cost(problem.as_expected(), enough) is None


def test_a_plan_with_a_broken_rule_stays() -> None:
    problem = stochastic([0, 1, 1, 9])
    wrong = Solution.judged(problem, [[0, 1, 1, 0]])
    assert carry_out(problem, wrong) is wrong


@pytest.mark.parametrize(
    "changes",
    [
        {"max_length": 20},
        {"windows": [[0, 99]] * 4},
        {"demand": [0, 1, 1, 1], "capacity": 2},
        {"vehicles": [Vehicle(count=1)], "max_routes": None},
        {"demand": [0, 1, 1, -1], "backhaul_last": True},
    ],
)
def test_rules_may_forbid_further_visits(changes: dict[str, Any]) -> None:
    problem = stochastic([0, 1, 1, 9], **changes)
    assert problem.has_unknown_prizes
    assert not can_plan_ahead(problem)
    assert can_plan_ahead(problem.as_expected())
    assert expected_cost(problem, Solution.judged(problem, [[0, 1, 2, 0]])) is None
    # A plan that suffices in the end is not changed on the way, whatever comes first.
    lucky = problem.replace(revealed_prize=[0, 0.1, 9, 1])
    assert visit_more(lucky, ((0, 1, 2, 0),)) == (((0, 1, 2, 0),), 0)


def test_missing_arcs_may_be_needed() -> None:
    matrix = np.ones((4, 4)) - np.eye(4)
    fields: dict[str, Any] = {"depots": [0], "prize": [0, 1, 1, 1], "penalty": [0, 1, 1, 1]}
    fields |= {"revealed_prize": [0, 1, 1, 1], "min_prize": 1, "max_routes": 1}
    assert can_plan_ahead(Problem.from_matrix(matrix, **fields))
    matrix[1, 2] = np.inf
    assert not can_plan_ahead(Problem.from_matrix(matrix, **fields))


@given(st.integers(0, 10**6), st.sampled_from(["SPCTSP", "ASPCTSP"]))
def test_nothing_looks_ahead(seed: int, name: str) -> None:
    """What comes next depends on the prizes of those who have been visited alone."""
    rng = np.random.default_rng(seed)
    (problem,) = generate(name, 9, 1, seed=seed % 7)
    planned = (0, *rng.permutation(np.arange(1, 10))[: rng.integers(0, 10)].tolist(), 0)
    (route,), _ = visit_more(problem, (planned,))
    seen = int(rng.integers(0, len(route) - 1))  # visits before the next one is chosen
    other = problem.prize * 2 * rng.random(10)
    other[list(route[: seen + 1])] = problem.revealed_prize[list(route[: seen + 1])]
    changed = problem.replace(revealed_prize=other)
    (again,), _ = visit_more(changed, (planned,))
    assert again[: seen + 2] == route[: seen + 2]
    for one, plan in ((problem, route), (changed, again)):
        assert Solution.judged(one, [plan]).feasible
