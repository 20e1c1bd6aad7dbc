"""The step never waits for the device, and one trace of it serves every variant."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from spacevrp.env import Environment, State, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.tensors import Batch, stack

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
