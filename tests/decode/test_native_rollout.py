"""Compiled rollouts against their slow twin: every choice, every cost, any number of threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from spacevrp import native
from spacevrp.decode import packing
from spacevrp.decode.native_rollout import native_rollout, supports
from spacevrp.decode.random_numbers import random_keys, uniform
from spacevrp.decode.running import Running
from spacevrp.decode.signal import problem_signals
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment, State, start_nodes
from spacevrp.env.rules import at
from spacevrp.generators.testsets import generate
from spacevrp.model import DecoderTables
from spacevrp.model.decoder import logits
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import Batch, stack

from .conftest import small_tables

pytestmark = pytest.mark.skipif(native.network is None, reason=native.NETWORK_MISSING)

MIXED = ("TSP", "ACVRPTW", "PDCVRP", "MDCVRPB", "AMDOCVRPL", "OP", "SPCTSP")
CLOSE = 1e-4


def prepare(
    batch: Batch, starts: int, signals: int = 4, **more: Any
) -> tuple[Environment, DecoderTables, Tensor]:
    tables = small_tables(batch, bias=0.05, signals=signals, constraint_aware=signals == 7)
    environment = Environment(batch, **more)
    return environment, tables, start_nodes(environment, starts)


@pytest.fixture(scope="module")
def mixed() -> tuple[Environment, DecoderTables, Tensor]:
    """Variants of all kinds and two sizes in one batch."""
    problems = [generate(name, size, 1, 3)[0] for name in MIXED for size in (6, 10)]
    return prepare(stack(problems), 5)


# ------------------------------------------------------------------------------ choice by choice


def lacking(scores: Tensor, action: Tensor, drawn: Tensor) -> Tensor:
    """By how much (B, P) another choice is better founded: 0 where none is, inf if illegal.

    Of the likeliest, the difference of the logits; of a drawn one, of the shares.
    """
    chosen = scores.gather(-1, action.unsqueeze(-1)).squeeze(-1)
    behind = scores.amax(dim=-1) - chosen
    chance = scores.double().softmax(dim=-1)
    end = chance.cumsum(dim=-1).gather(-1, action.unsqueeze(-1)).squeeze(-1)
    begin = end - chance.gather(-1, action.unsqueeze(-1)).squeeze(-1)
    outside = torch.maximum(begin - drawn, drawn - end).clamp(min=0.0)
    outside = torch.where(torch.isneginf(chosen), torch.inf, outside)
    return torch.where(drawn < 0, behind.double(), outside)


def lacking_ahead(
    environment: Environment, tables: DecoderTables, state: State, action: Tensor, drawn: Tensor
) -> tuple[Tensor, Tensor]:
    """The same at one of several depots, and where (B, P) that is so."""
    batch = environment.batch
    several = batch.is_depot.sum(dim=1, keepdim=True) > 1
    here = at(batch.is_depot, state.current) & several & ~state.done & ~state.switched
    here = here & (state.left > 0)
    sure, missed = [], []
    for depot in range(environment.num_depots):
        there = torch.full_like(state.current, depot)
        standing = replace(state, current=there, origin=there, clock=at(batch.opening, there))
        customers = environment.customer_moves(standing)
        exists = at(batch.is_depot, there) & customers.any(dim=-1)
        legal = customers | ~exists.unsqueeze(-1)
        signals = problem_signals(batch, standing, tables.num_signals)
        scores = logits(tables, there, there, signals, legal)
        chance = scores.amax(dim=-1) - scores.logsumexp(dim=-1)
        sure.append(torch.where(exists, chance, -torch.inf))
        own = torch.where(action == depot, torch.inf, lacking(scores, action, drawn))
        switch = torch.where(action == depot, 0.0, torch.inf)
        missed.append(torch.where(state.current == depot, own, switch))
    chances = torch.stack(sure)  # (K, B, P)
    found = chances.amax(dim=0, keepdim=True) - chances + torch.stack(missed)
    return here & torch.isfinite(chances.amax(dim=0)), found.nan_to_num(nan=torch.inf).amin(dim=0)


def check_choices(
    environment: Environment,
    tables: DecoderTables,
    trace: Trace,
    keys: Tensor | None = None,
    temperature: Tensor | None = None,
) -> None:
    """Make every move again by the slow twin, which finds each of them as good as any."""
    batch, state = environment.batch, environment.begin(trace.starts)
    heat = 1.0 if temperature is None else temperature.unsqueeze(-1)
    for time in range(int(trace.steps.max())):
        assert torch.equal(state.done, trace.steps <= time)
        action = torch.where(state.done, state.current, trace.action[:, time].long())
        drawn = torch.full_like(state.length, -1.0) if keys is None else uniform(keys, time)
        signals = problem_signals(batch, state, tables.num_signals)
        scores = logits(tables, state.origin, state.current, signals, environment.mask(state))
        missed = lacking(scores / heat, action, drawn)
        if environment.num_depots > 1:
            ahead, missed_ahead = lacking_ahead(environment, tables, state, action, drawn)
            missed = torch.where(ahead, missed_ahead, missed)
        assert float(torch.where(state.done, 0.0, missed).max()) < CLOSE
        state = environment.step(state, action)
    cost = torch.where(state.done, environment.cost(state), torch.inf)
    torch.testing.assert_close(trace.cost, cost, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("signals", [1, 4, 7])
@pytest.mark.parametrize("instructions", ["plain", "avx2", "avx512"])
def test_choices_and_costs_are_those_of_the_slow_twin(instructions: str, signals: int) -> None:
    if instructions not in native.network.instruction_sets():
        pytest.skip(f"this processor has no {instructions}")
    problems = [generate(name, size, 1, 3)[0] for name in MIXED for size in (6, 10)]
    environment, tables, starts = prepare(stack(problems), 5, signals)
    trace = native_rollout(environment, tables, starts, running=Running(instructions=instructions))
    assert bool(torch.isfinite(trace.cost).any())
    check_choices(environment, tables, trace)
    keys = random_keys(tuple(starts.shape), starts.device, torch.Generator().manual_seed(1))
    keys[:, 0] = -1
    check_choices(
        environment,
        tables,
        native_rollout(
            environment, tables, starts, keys, running=Running(instructions=instructions)
        ),
        keys,
    )


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("name", ["ACVRPL", "AMDCVRPTW", "ATSP"])
def test_missing_arcs_and_ways_home_over_others_count(name: str, direct: bool) -> None:
    batch = stack(generate(name, 8, 2, 5))
    gone = torch.rand(batch.distance.shape, generator=torch.Generator().manual_seed(0)) < 0.2
    gone &= ~torch.eye(batch.num_nodes, dtype=torch.bool)
    distance = batch.distance.masked_fill(gone, torch.inf)
    batch = replace(batch, distance=distance, duration=distance)
    environment, tables, starts = prepare(batch, 6, direct_return=direct)
    trace = native_rollout(environment, tables, starts)
    check_choices(environment, tables, trace)


def test_choices_of_all_variants_are_those_of_the_slow_twin() -> None:
    problems = [generate(name, 10, 1, 4)[0] for name in VARIANTS]
    assert len(problems) == 110
    environment, tables, starts = prepare(stack(problems), 4)
    check_choices(environment, tables, native_rollout(environment, tables, starts))
    keys = random_keys(tuple(starts.shape), starts.device, torch.Generator().manual_seed(4))
    check_choices(environment, tables, native_rollout(environment, tables, starts, keys), keys)


@pytest.mark.parametrize("name", ["CVRP", "PDCVRP", "MDCVRPB", "OP", "TSP"])
def test_who_stands_alike_chooses_as_if_alone(name: str) -> None:
    """From few starts most rollouts stand where another one does, and are asked for with it."""
    environment, tables, starts = prepare(stack(generate(name, 10, 2, 5)), 3)
    every = starts.repeat(1, 8)  # (B, 24)
    keys = random_keys(tuple(every.shape), every.device, torch.Generator().manual_seed(2))
    keys[:, :6] = -1  # two greedy ones from each start
    heat = torch.tensor([0.2, 0.4]).repeat_interleave(12)
    together = native_rollout(environment, tables, every, keys, temperature=heat)
    assert torch.equal(together.action[..., :3], together.action[..., 3:6])
    check_choices(environment, tables, together, keys, heat)
    for number in range(every.shape[1]):
        own = slice(number, number + 1)
        turn = (every[:, own], keys[:, own])
        alone = native_rollout(environment, tables, *turn, temperature=heat[own])
        assert torch.equal(alone.action, together.action[..., own])
        assert torch.equal(alone.steps, together.steps[:, own])
        assert torch.equal(alone.cost, together.cost[:, own])


# ------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("threads", [2, 3, 64])
def test_any_number_of_threads_finds_the_same(mixed, threads: int) -> None:
    environment, tables, _ = mixed
    starts = start_nodes(environment, 130)  # more than a thread takes at once
    keys = random_keys(tuple(starts.shape), starts.device, torch.Generator().manual_seed(5))
    alone = native_rollout(environment, tables, starts, keys, running=Running(threads=1))
    together = native_rollout(environment, tables, starts, keys, running=Running(threads=threads))
    assert torch.equal(alone.action, together.action)
    assert torch.equal(alone.cost, together.cost)
    # Nor does it matter what is decoded beside.
    some = native_rollout(
        environment, tables, starts[:, 7:9], keys[:, 7:9], running=Running(threads=1)
    )
    assert torch.equal(some.action, alone.action[..., 7:9])


def test_what_the_caller_raises_ends_the_call(mixed) -> None:
    environment, tables, _ = mixed
    starts = start_nodes(environment, 20_000)

    def look() -> None:
        raise TimeoutError("enough")

    for threads in (1, 2):
        with pytest.raises(TimeoutError, match="enough"):
            native_rollout(environment, tables, starts, running=Running(look=look, threads=threads))


def test_starts_that_no_rule_allows_are_stuck(mixed) -> None:
    environment, tables, starts = mixed
    pairs = 2 * MIXED.index("PDCVRP")
    deliveries = environment.batch.is_delivery[pairs].nonzero()[:5, 0]
    wrong = starts.clone()
    wrong[pairs, : len(deliveries)] = deliveries
    trace = native_rollout(environment, tables, wrong)
    assert torch.isinf(trace.cost[pairs, : len(deliveries)]).all()
    assert not trace.steps[pairs, : len(deliveries)].any()


# ------------------------------------------------------------------------------------- hostile


@pytest.fixture
def arrays(mixed, arguments_of) -> dict[str, Any]:
    """The arguments of the compiled function."""
    taken = arguments_of(native_rollout, *mixed, torch.zeros_like(mixed[2]))
    return {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in taken.items()
    }


def test_wrong_arrays_are_named(arrays) -> None:
    """Of another shape, with numbers that are none, or with rows that contradict themselves."""

    def refused(name: str, value: np.ndarray, expected: str = "expected") -> None:
        with pytest.raises(ValueError, match=expected):
            native.network.rollout(**arrays | {name: value})

    def changed(name: str, place: Any, value: float) -> np.ndarray:
        broken = arrays[name].copy()
        broken[place] = value
        return broken

    for name, value in arrays.items():
        if not isinstance(value, np.ndarray):
            continue
        for wrong in (value[..., :-1], value[None], value[:0], np.zeros(())):
            if name != "starts" or wrong.ndim != 2 or not len(wrong):
                refused(name, wrong)  # fewer trajectories: then others are wrong
        if value.dtype == np.float32:
            middle = np.unravel_index(value.size // 2, value.shape)
            refused(name, changed(name, middle, np.nan), f"{name}: expected")
    for name in ("starts", "origins"):
        for wrong in (-1, 10**6, -(2**63), 2**62):
            refused(name, changed(name, (1, 1), wrong), f"{name}: expected")
    for row in ("depots", "customers", "load_rule", "compulsory", "linehauls"):
        for wrong in (-1.0, 0.5, 1e30, np.inf):
            place = (2, packing.INSTANCE_ROWS.index(row))
            refused("instance_table", changed("instance_table", place, wrong))
    for row in ("partner", "customer"):
        place = (slice(None), packing.NODE_ROWS.index(row))
        refused("node_table", changed("node_table", place, -3.0), "node table: expected")


@pytest.mark.parametrize(
    "wrong",
    [
        *({"max_steps": -1}, {"threads": 0}, {"clipping": 0.0}, {"clipping": float("nan")}),
        *({"tolerance": -1.0}, {"instructions": "abacus"}),
        {"temperature": np.zeros(5, dtype=np.float32)},
    ],
)
def test_other_arguments_are_checked(arrays, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        native.network.rollout(**arrays | wrong)


def test_nonsense_never_crashes(arrays) -> None:
    """Random numbers in the tables are an error or some moves, which stay in range."""
    generator = np.random.default_rng(1)
    kinds = ["node_table", "instance_table", "distance", "zscore", "home_distance", "keyed"]
    finished = 0
    for _ in range(200):
        name = kinds[generator.integers(len(kinds))]
        broken = arrays[name].copy()
        for place in generator.integers(broken.size, size=4):
            values = [0.0, -1.0, 1.0, 3.0, 1e30, -1e30, np.inf, -np.inf, np.nan]
            broken.flat[place] = values[generator.integers(len(values))]
        try:
            action, steps, _, _ = native.network.rollout(**arrays | {name: broken})
        except ValueError:
            continue
        finished += 1
        assert action.min() >= 0
        assert action.max() < arrays["zscore"].shape[1]
        assert steps.min() >= 0
        assert steps.max() <= arrays["max_steps"]
    assert finished > 10


# ----------------------------------------------------------------------------------- interface


def test_the_rows_are_those_of_the_compiled_network() -> None:
    assert packing.NODE_ROWS == native.network.NODE_ROWS
    assert packing.INSTANCE_ROWS == native.network.INSTANCE_ROWS


def test_it_is_used_where_it_is_installed(mixed, monkeypatch) -> None:
    environment, *_ = mixed
    assert supports(environment.batch)
    monkeypatch.setattr("spacevrp.decode.native_rollout.network", None)
    assert not supports(environment.batch)
