"""Protocols: what each leaves out, and that options cannot contradict them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from spacevrp.decode import rollout, routes_of
from spacevrp.engines import batching
from spacevrp.env import Environment, start_nodes
from spacevrp.env.starts import can_start
from spacevrp.generators import generate
from spacevrp.inference.settings import Settings
from spacevrp.model import SpaceModel, augmentation_seeds
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.search import Improved
from spacevrp.solver import Solver
from spacevrp.tensors import stack


def by_hand(model: SpaceModel, problem: Problem, augmentations: int, seed: int = 0) -> float:
    """The paper's best: all starts, greedy, pivot sets by the schedule, nothing else."""
    batch = stack([problem])
    environment = Environment(batch, len(problem.depots))
    costs = []
    for augmentation in range(augmentations):
        seeds = augmentation_seeds(batch, model.config, augmentations, seed)[
            :, augmentation
        ]  # (1, M)
        starts = start_nodes(environment, int(can_start(environment).sum()))  # (1, P)
        with torch.inference_mode():
            done = rollout(environment, model(batch, seeds, torch.float32), starts)
        for sequence in done.sequence[0].tolist():
            plan = Solution.judged(problem, routes_of(problem, sequence))
            if plan.feasible:
                costs.append(plan.cost)
    return min(costs)


@pytest.mark.parametrize(
    ("name", "size"),
    [("CVRP", 9), ("AOCVRPTW", 6), ("MDCVRPBP", 9), ("AMDOCVRPBLTW", 6), ("PDCVRP", 8)],
)
def test_the_papers_is_the_best_greedy_rollout_of_plain_augmentations(solver, model, name, size):
    (problem,) = generate(name, size, 1, 3)
    (plan,) = solver.run([problem], augment=3, protocol="paper").solutions
    assert plan is not None
    assert plan.cost == pytest.approx(by_hand(model, problem, 3), abs=1e-6)


def test_nothing_but_the_networks_rollouts_runs(solver, monkeypatch):
    called = []

    def note(name: str, answer: Any) -> None:
        def noted(*arguments: Any, **options: Any) -> Any:
            called.append(name)
            return answer(*arguments) if callable(answer) else answer

        monkeypatch.setattr(f"spacevrp.solver.{name}", noted)

    note("reduce.canonical", lambda problem: problem)
    note("improve.improve", lambda problems, plans: Improved(several[0] for several in plans))
    monkeypatch.setattr("spacevrp.solver.solver.can_search", lambda problem: True)
    monkeypatch.setattr("spacevrp.native.core", object())
    problems = generate("MDOCVRP", 41, 1)
    options = {"augment": 1}
    solver.run(problems, protocol="paper", **options)
    assert called == []
    solver.run(problems, protocol="network", **options)
    assert set(called) == {"reduce.canonical"}
    called.clear()
    solver.run(problems, protocol="default", **options)
    assert set(called) == {"reduce.canonical", "improve.improve"}


def test_augmentations_follow_the_distances(solver, monkeypatch):
    seen: list[tuple[str, int, float]] = []

    def search(self: Any, several: list[Problem], settings: Settings, progress: Any) -> Any:
        seen.append((several[0].variant or "", settings.augmentations, settings.heads))
        return original(self, several, settings, progress)

    original = batching.Batcher.search
    monkeypatch.setattr(batching.Batcher, "search", search)
    problems = [*generate("ATSP", 17, 1), *generate("TSP", 17, 1)]
    costs = [plan.cost for plan in solver.solve(problems, protocol="paper")]
    assert sorted(seen) == [("ATSP", 128, 0.0), ("TSP", 8, 0.0)]
    alone = [solver.solve(problem, protocol="paper").cost for problem in problems]
    assert costs == pytest.approx(alone)  # in the order they came


def test_an_instance_without_a_plan_is_told_as_such(solver: Solver) -> None:
    # Straight home from customer 1 takes 9; over customer 2, as a second attempt finds out, 2.
    problem = Problem.from_matrix([[0, 1, 9], [9, 0, 1], [1, 9, 0]], max_length=3)
    attempt = solver.run(problem, augment=1, protocol="paper")
    assert attempt.solutions == [None]
    assert attempt.reasons[0]
    assert solver.run(problem, augment=1, protocol="network").reasons == {}


def test_large_instances_have_all_starts_and_moves(solver, model, monkeypatch):
    monkeypatch.setattr("spacevrp.inference.large.SMALL", 8)
    for name in ("CVRP", "AMDOCVRPTW"):
        (problem,) = generate(name, 12, 1)
        attempt = solver.run([problem], augment=2, protocol="paper")
        assert attempt.notes == ()
        assert attempt.solutions[0] is not None
        expected = by_hand(model, problem, 2)
        assert attempt.solutions[0].cost == pytest.approx(expected, rel=1e-5), name


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("paper", {"num_samples": 3}),
        ("paper", {"search": True}),
        ("paper", {"start_nodes": 4}),
        ("paper", {"candidates": 4}),
        ("network", {"search": True}),
    ],
)
def test_what_contradicts_a_protocol_is_an_error(solver, protocol, options):
    (problem,) = generate("TSP", 5, 1)
    ((name, value),) = options.items()
    with pytest.raises(SpacevrpError, match=f"^{name}: expected .* protocol {protocol}.*{value}$"):
        solver.solve(problem, protocol=protocol, **options)


def test_what_agrees_with_a_protocol_is_none(solver: Solver) -> None:
    (problem,) = generate("TSP", 5, 1)
    solver.solve(problem, augment=1, sample=0, improve=False, protocol="paper")
    with pytest.raises(SpacevrpError, match=r"policy_heads: expected 0.0 .* paper, received 0.5"):
        solver.solve(problem, protocol="paper", policy_heads=0.5)
    with pytest.raises(SpacevrpError, match="expected one of default, network, paper, received"):
        solver.solve(problem, protocol="papers")


def test_the_time_of_the_search_is_not_the_referees(solver, monkeypatch):
    now = 0.0

    def searched(problems: Any, plans: list[Solution], **options: Any) -> Improved:
        nonlocal now
        now += 100.0 * len(plans)
        return Improved(several[0] for several in plans)

    monkeypatch.setattr("spacevrp.solver.improve.improve", searched)
    monkeypatch.setattr("spacevrp.solver.solver.can_search", lambda problem: True)
    monkeypatch.setattr("spacevrp.native.core", object())
    monkeypatch.setattr("spacevrp.solver.construct.time.perf_counter", lambda: now)
    seconds = solver.run(
        generate("CVRP", 5, 2), augment=1, time=Deadline(clock=lambda: now)
    ).seconds
    assert seconds.improving == 200.0
    assert seconds.judging == 0.0
    assert seconds.total == 200.0
    network = solver.run(
        generate("CVRP", 5, 2), protocol="network", time=Deadline(clock=lambda: now)
    )
    assert network.seconds.total == 0
