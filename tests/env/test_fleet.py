"""Fleets in the environment: what the masks allow, the referee passes, at the same cost."""

from __future__ import annotations

import numpy as np
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


def test_pinned_customers_are_forced_moves() -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)],
        demand=[0, 1, 1, 1, 1],
        vehicles=[{"capacity": 4}, {"capacity": 4, "pinned": [4, 2]}],
    )
    environment = FleetEnvironment(*stack_fleets([problem]))
    wanted = preferences(environment, torch.Generator().manual_seed(1))
    state = environment.begin(wanted)
    for pinned in (4, 2):
        assert environment.mask(state, wanted).nonzero()[:, 2].unique().tolist() == [pinned]
        state = environment.step(state, torch.full((1, TRAJECTORIES), pinned), wanted)
    assert bool((state.vehicle == 1).all())
    assert environment.mask(state, wanted)[0, 0].tolist()[1::2] == [True, True]


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


def test_every_start_and_end_is_a_depot_of_the_batch() -> None:
    """Ways from it are those from the start, ways to it those to the end, in either matrix."""
    points = [(0, 0), (4, 0), (1, 0), (3, 0)]
    problem = Problem.from_coordinates(
        points,
        durations=2 * np.abs(np.subtract.outer(range(4), range(4))),
        depots=[0, 1],
        vehicles=[{"start": 0, "end": 1}, {"start": 1, "open_route": True}, {"start": 0}],
    )
    batch, fleet = stack_fleets([problem], dtype=torch.float64)
    assert batch.is_depot[0].tolist() == [True] * 3 + [False] * 2
    assert fleet.depot[0].tolist() == [0, 1, 2]
    distance = (batch.distance[0] * problem.unit).tolist()
    assert distance[0][3:] == pytest.approx([1, 3])  # from node 0
    assert [row[0] for row in distance[3:]] == pytest.approx([3, 1])  # to node 1
    assert [row[2] for row in distance[3:]] == pytest.approx([1, 3])  # to node 0
    duration = (batch.duration[0] * problem.unit).tolist()
    assert duration[0][3:] == pytest.approx([4, 6])
    assert [row[0] for row in duration[3:]] == pytest.approx([2, 4])
    assert distance[0][0] == 0
