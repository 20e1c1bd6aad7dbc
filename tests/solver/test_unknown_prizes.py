"""Prizes that show on the visit: plans are chosen without knowing them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from spacevrp.engines import rollouts
from spacevrp.engines.rollouts import Moves
from spacevrp.generators import generate
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver

# Customer 1 lies 1 to the east of the depot, customers 2 and 3 lie 1 and 2 to the west.
PLACES = [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (-2.0, 0.0)]


def two_ways(revealed: list[float] | None) -> Problem:
    """One visit to customer 1 is expected to be enough; or customers 2 and 3 together are."""
    return Problem.from_coordinates(
        PLACES,
        prize=[0, 1, 0.6, 0.6],
        revealed_prize=revealed,
        penalty=[0, 1, 1, 1],
        min_prize=1,
        max_routes=1,
    )


def go_straight(environment: Any, tables: Any, starts: Any, *more: Any, **_: Any) -> Moves:
    """A policy for each start: customers in the order 1, 2, 3 or 3, 2, 1, until it may go home."""
    batch = environment.batch
    assert batch.size == 1
    costs, sequences = [], []
    for start in starts[0].tolist():
        order = [1, 2, 3] if start == 1 else [3, 2, 1]
        visited: list[int] = []
        for node in order:
            collected = batch.revealed_prize[0, visited].sum()
            if collected >= batch.min_prize[0] - 1e-6:
                break
            visited.append(node)
        nodes = [0, *visited, 0]
        if not batch.has_depot[0]:  # a tour of everybody, whose order makes no difference here
            visited, nodes = order, [0, *order, 0]
        length = sum(float(batch.distance[0, a, b]) for a, b in pairwise(nodes))
        skipped = [node for node in order if node not in visited]
        costs.append(length + float(batch.penalty[0, skipped].sum()))
        sequences.append((nodes + [0] * 5)[: 5 if batch.has_depot[0] else 4])
    done = torch.tensor([sequences])  # (1, P, T)

    def take(chosen: torch.Tensor) -> torch.Tensor:
        return done.gather(1, chosen.unsqueeze(-1).expand(-1, -1, done.shape[2]))

    return Moves(torch.tensor([costs]), take)


def test_the_choice_is_by_what_is_expected(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollouts, "_roll_out", go_straight)
    # By expected prizes: east and home, 2 + penalties 1 + 1 = 4; west, 3 and 2 and home, 4 + 1 = 5.
    # By the real ones the eastern customer yields nothing: 1, 2, 3 and home make 1 + 2 + 1 + 2 = 6.
    problem = two_ways([0, 0, 0.6, 0.6])
    attempt = solver.run(problem, augment=1, sample=0, protocol="network")
    (plan,) = attempt.solutions
    assert plan.routes == ((0, 1, 2, 3, 0),)
    assert plan.cost == pytest.approx(6)
    assert plan.expected == pytest.approx(4)
    assert plan.hindsight == pytest.approx(5)
    # Where all comes as expected there is nothing to regret.
    attempt = solver.run(two_ways([0, 1, 0.6, 0.6]), augment=1, sample=0, protocol="network")
    assert attempt.solutions[0].cost == pytest.approx(4)
    assert attempt.solutions[0].expected == pytest.approx(4)
    assert attempt.solutions[0].hindsight == pytest.approx(4)


@pytest.mark.parametrize("options", [{}, {"candidates": 4}])
def test_the_same_policy_is_chosen_whatever_is_revealed(solver, options):
    """What is expected of the chosen one depends on what is known beforehand alone."""
    problems = generate("SPCTSP", 8, 3)
    doubled = [
        problem.replace(revealed_prize=np.asarray(problem.prize) * (1 + (-1) ** number))
        for number, problem in enumerate(problems)
    ]
    # Plans for unknown prizes have no beam search.
    options = {"augment": 2, "protocol": "network", "beam_width": 0, **options}
    some, others = (solver.run(each, **options) for each in (problems, doubled))
    for number, problem in enumerate(problems):
        plan = solver.run(problem.as_expected(), **options)
        known = pytest.approx(plan.solutions[0].cost, rel=1e-5)
        for attempt in (some, others):
            found = attempt.results[number]
            assert found.feasible
            assert found.hindsight is not None
            assert found.hindsight <= found.cost + 1e-9
            # A tour of all customers may be in its place, which nothing can surprise.
            assert (found.cost if found.expected is None else found.expected) == known


def test_vehicles_that_differ_visit_everybody(solver: Solver) -> None:
    """Nobody can tell beforehand how many visits are enough."""
    problem = two_ways([0, 0, 0.6, 0.6]).replace(
        demand=[0, 1, 1, 1],
        max_routes=None,
        vehicles=[Vehicle(count=1, capacity=2), Vehicle(count=1, capacity=1)],
    )
    plan = solver.solve(problem, augment=1)
    assert {node for route in plan.routes for node in route} == {0, 1, 2, 3}
