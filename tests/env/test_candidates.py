"""The environment of large instances keeps the rules of the ordinary one, move by move."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from spacevrp.env import Environment, State, start_nodes
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.generators.testsets import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import Batch, stack

# Batches in which some rules are not asked, and one with all of them.
BATCHES = {
    "deliveries": ["CVRP", "OCVRP", "MDCVRP"],
    "limits": ["CVRPLTW", "ACVRPTW", "MDOCVRPL"],
    "backhauls": ["CVRPB", "CVRPBP", "MDCVRPBPLTW"],
    "tours": ["TSP", "ATSP"],
    "prizes": ["OP", "PCTSP", "ASPCTSP"],
    "pairs": ["PDTSP", "PDCVRP", "OPDCVRP"],
    "all": list(VARIANTS),
}
# What need not be kept where no rule asks for it.
UNASKED = {"credit", "clock", "length", "pending", "backhauled", "linehauls", "collected"}


def walk(few: CandidateEnvironment, plain: Environment, seed: int):
    """The same random moves through both, at every step."""
    generator = torch.Generator().manual_seed(seed)
    starts = start_nodes(plain, 3)
    one, other = few.begin(starts), plain.begin(starts)
    for _ in range(plain.max_steps):
        allowed = plain.mask(other)
        yield one, other, allowed
        if bool(other.done.all()):
            return
        noise = torch.rand(allowed.shape, generator=generator).masked_fill(~allowed, -1.0)
        action = noise.argmax(dim=-1)
        one, other = few.step(one, action), plain.step(other, action)
    raise AssertionError("expected the walk to end")


def twins(batch: Batch) -> tuple[CandidateEnvironment, Environment]:
    return CandidateEnvironment(batch), Environment(batch)


@pytest.mark.parametrize("names", BATCHES.values(), ids=BATCHES)
def test_states_and_moves_are_those_of_the_ordinary_environment(names: list[str]) -> None:
    batch = stack([generate(name, 12, 1, 6)[0] for name in names], dtype=torch.float64)
    few, plain = twins(batch)
    customers = (batch.is_node & ~batch.is_depot).unsqueeze(1)
    nodes = torch.randperm(batch.num_nodes, generator=torch.Generator().manual_seed(2))
    fields_kept = [field.name for field in fields(State) if field.name not in UNASKED]
    for one, other, _ in walk(few, plain, seed=3):
        for name in fields_kept:
            expected = getattr(other, name)
            received = getattr(one, name)
            if name == "visited":
                expected = expected | ~customers
            assert torch.equal(received, expected.expand_as(received)), name
        options = nodes.expand(*one.current.shape, -1)
        prospect = few.prospect(one, options)
        running = ~other.done.unsqueeze(-1)  # of finished ones nobody asks
        legal = plain.customer_moves(other)[..., nodes]
        assert torch.equal(prospect.legal & running, legal & running)
        assert torch.equal(prospect.fresh, (customers & ~other.visited)[..., nodes])
        assert torch.equal(plain.customer_moves(other, options) & running, prospect.legal & running)
    assert torch.equal(few.cost(one), plain.cost(other))


def test_the_paper_rule_knows_when_only_backhauls_are_left() -> None:
    problems = [
        replace_load(generate(name, 14, 1, seed)[0])
        for seed in range(3)
        for name in ("CVRPB", "MDOCVRPB")
    ]
    few, plain = twins(stack(problems, dtype=torch.float64))
    left_empty = 0
    for one, other, _ in walk(few, plain, seed=1):
        assert torch.equal(one.used, other.used)
        left_empty += int((other.used == few.batch.capacity.unsqueeze(1)).sum())
    assert left_empty > 0  # the moment that the counter of linehauls is for


def replace_load(problem: Problem) -> Problem:
    signs = np.where(np.arange(problem.size) % 2 == 0, 1.0, -1.0)
    return problem.replace(load_rule="paper", demand=np.abs(problem.demand) * signs)


def test_missing_arcs_are_seen_in_distances_and_durations() -> None:
    distances = np.ones((5, 5))
    durations = distances.copy()
    distances[1, 2] = durations[1, 3] = np.inf
    by_distance = Problem.from_matrix(distances)
    by_duration = Problem.from_matrix(np.ones((5, 5)), durations=durations)
    for problem, barred in ((by_distance, 2), (by_duration, 3)):
        environment = CandidateEnvironment(stack([problem]))
        state = environment.begin(torch.tensor([[1]]))
        legal = environment.prospect(state, torch.arange(5).expand(1, 1, -1)).legal
        expected = [node not in (0, 1, barred) for node in range(5)]
        assert legal[0, 0].tolist() == expected
