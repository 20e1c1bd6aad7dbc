"""Fleets in the environment: what the masks allow, the referee passes, at the same cost."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_fleets import random_fleet

from spacevrp.env.fleet import FleetEnvironment, Preferences
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.fleet import ways_out
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.tensors import stack
from spacevrp.tensors.fleet import stack_fleets

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
    """The mask loses nobody, and lets nobody pass."""
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
    """Whoever does not know of vehicles must not be handed a problem without them."""
    problem = Problem.from_coordinates([(0, 0), (1, 0)], vehicles=[{}])
    with pytest.raises(UnsupportedError, match="1 vehicle type"):
        stack([problem])
