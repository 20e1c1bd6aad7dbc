"""Environments of large instances and of fleets keep the rules; one trace serves every variant."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_fleets import random_fleet
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from spacevrp.env import Environment, State, start_nodes
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.env.fleet import FleetEnvironment, Preferences
from spacevrp.generators.testsets import generate
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.fleet import ways_out
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import Batch, stack
from spacevrp.tensors.fleet import stack_fleets

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


TRAJECTORIES = 6


def preferences(environment: FleetEnvironment, generator: torch.Generator) -> Preferences:
    shape = (environment.batch.size, TRAJECTORIES)
    types = environment.fleet.num_types
    return Preferences(
        torch.rand((*shape, 4, types), generator=generator, dtype=torch.float64),
        *(torch.rand(shape, generator=generator) < 0.5 for _ in range(3)),
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_random_plans_keep_every_rule_at_the_cost_of_the_referee(seed: int) -> None:
    problem = random_fleet(seed)
    if problem is None:
        return
    batch, fleet = stack_fleets([problem], dtype=torch.float64)
    environment = FleetEnvironment(batch, fleet)
    generator = torch.Generator().manual_seed(seed)
    wanted = preferences(environment, generator)
    state = environment.begin(wanted)
    depots = len(ways_out(problem.fleet))
    stops: list[list[list[int]]] = [[] for _ in range(TRAJECTORIES)]
    types: list[list[int]] = [[] for _ in range(TRAJECTORIES)]
    for _ in range(environment.max_steps):
        allowed = environment.mask(state, wanted)
        weight = torch.rand(allowed.shape, generator=generator).masked_fill(~allowed, -1.0)
        action = weight.argmax(dim=-1)
        before, state = state, environment.step(state, action, wanted)
        for one in range(TRAJECTORIES):
            if before.done[0, one] or state.trip.stuck[0, one]:
                continue
            if state.trip.routes[0, one] > before.trip.routes[0, one]:
                stops[one].append([])
                types[one].append(int(before.vehicle[0, one]))
            if int(action[0, one]) >= depots:
                stops[one][-1].append(problem.customers[int(action[0, one]) - depots])
    assert bool(state.done.all())
    cost = environment.cost(state)
    for one in range(TRAJECTORIES):
        if state.trip.stuck[0, one]:
            continue
        routes = []
        for customers, number in zip(stops[one], types[one], strict=True):
            terms = problem.fleet[number]
            routes.append([terms.start, *customers, *([] if terms.end is None else [terms.end])])
        verdict = judge(problem, routes, types[one])
        assert verdict.violations == ()
        assert float(cost[0, one]) * problem.unit == pytest.approx(verdict.cost, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_who_can_come_first_is_whom_the_referee_passes_alone(seed: int) -> None:
    """The mask loses no customer, and lets no other pass."""
    problem = random_fleet(seed)
    if problem is None or problem.pairs:
        return
    environment = FleetEnvironment(*stack_fleets([problem], dtype=torch.float64))
    for terms in problem.fleet:
        for position, node in enumerate(problem.customers, start=len(ways_out(problem.fleet))):
            if terms.pinned:
                continue
            end = [] if terms.end is None else [terms.end]
            verdict = judge(problem, [[terms.start, node, *end]], [terms.number])
            alone = not [v for v in verdict.violations if v.route == 1]
            assert bool(environment._first[0, terms.number, position]) == alone


def test_the_model_sees_the_largest_vehicle_and_the_scarcest_room() -> None:
    """Of 10 and 4: the first customer needs half of the weight, the second all of the volume."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (0, 1)],
        demand=[[0, 0], [5, 1], [1, 4], [-2, 0]],
        vehicles=[{"capacity": (10, 2), "max_length": 9}, {"capacity": (6, 4), "max_length": 8}],
    )
    batch, fleet = stack_fleets([problem])
    assert batch.demand[0].tolist() == pytest.approx([0, 0.5, 1.0, -0.2])
    assert float(batch.capacity) == 1
    assert float(batch.max_length) * problem.unit == pytest.approx(9)
    assert fleet.seen_capacity[0].tolist() == [10, 4]


def test_an_ordinary_batch_refuses_a_fleet() -> None:
    """Code that does not know of vehicles must not be handed a problem without them."""
    problem = Problem.from_coordinates([(0, 0), (1, 0)], vehicles=[{}])
    with pytest.raises(UnsupportedError, match="1 vehicle type"):
        stack([problem])


NODES = 13  # ten customers and three depots


def batch_of(*variants: str) -> Batch:
    return stack([generate(name, 10, 1, 4)[0] for name in variants], NODES)


def flat(batch: Batch, state: State) -> list[torch.Tensor]:
    # Durations repeat the distances here, and a trace takes every tensor once.
    columns = [getattr(batch, field.name) for field in fields(Batch) if field.name != "duration"]
    return [*columns, *(getattr(state, field.name) for field in fields(State))]


def one_step(*tensors: torch.Tensor) -> list[torch.Tensor]:
    """Mask, then the step to the last node that the mask allows; tensors in, tensors out."""
    names = [field.name for field in fields(Batch) if field.name != "duration"]
    values = dict(zip(names, tensors[: len(names)], strict=True))
    batch = Batch(**values, duration=values["distance"])
    state = State(*tensors[len(names) :])
    environment = Environment(batch, num_depots=3)
    allowed = environment.mask(state)
    ranks = torch.arange(batch.num_nodes, device=batch.device)
    action = torch.where(allowed, ranks, -1).amax(dim=-1)
    after = environment.step(state, action)
    results = [getattr(after, field.name) for field in fields(State)]
    return [allowed, environment.cost(after), *results]


ALL_RULES = ("AMDOCVRPBPLTW", "TSP", "SPCTSP", "AOP", "PDCVRP", "CVRPB")


def test_no_step_waits_for_the_device():
    batch = batch_of(*ALL_RULES)
    starts = start_nodes(Environment(batch), 3)
    with FakeTensorMode() as mode:
        # Fake tensors have no values: whatever asks for one fails.
        fake = batch._map(mode.from_tensor)
        environment = Environment(fake, num_depots=3)
        fake_starts = mode.from_tensor(starts)
        state = environment.begin(fake_starts)
        for _ in range(2):
            allowed = environment.mask(state)
            state = environment.step(state, allowed.int().argmax(dim=-1))
        assert environment.cost(state).shape == (len(ALL_RULES), 3)
        assert start_nodes(environment, 5).shape == (len(ALL_RULES), 5)


def test_the_check_above_can_fail():
    batch = batch_of("CVRP")
    with FakeTensorMode() as mode, pytest.raises(DataDependentOutputException):
        Environment(batch._map(mode.from_tensor))  # counts the depots, which waits


def test_a_trace_made_with_tours_serves_every_variant():
    tours = batch_of(*["TSP"] * len(ALL_RULES))
    environment = Environment(tours, num_depots=3)
    state = environment.begin(start_nodes(environment, 4))
    traced = make_fx(one_step)(*flat(tours, state))

    mixed = batch_of(*ALL_RULES)
    environment = Environment(mixed, num_depots=3)
    state = environment.begin(start_nodes(environment, 4))
    for _ in range(environment.max_steps):
        expected = one_step(*flat(mixed, state))
        received = traced(*flat(mixed, state))
        for one, other in zip(expected, received, strict=True):
            assert torch.equal(one, other)
        state = State(*received[2:])
    assert state.done.all()
    assert not state.stuck.any()


def test_a_step_changes_nothing_it_was_given():
    batch = batch_of(*ALL_RULES)
    environment = Environment(batch)
    state = environment.begin(start_nodes(environment, 4))
    before = [tensor.clone() for tensor in flat(batch, state)]
    environment.step(state, environment.mask(state).int().argmax(dim=-1))
    for one, other in zip(before, flat(batch, state), strict=True):
        assert torch.equal(one, other)
