"""Plans that are followed and left, and the beam search that is made of them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from torch import Tensor

from spacevrp import native
from spacevrp.decode.deviation import Deviations, Turn, choose_other
from spacevrp.decode.native_rollout import native_rollout
from spacevrp.decode.rollout import rollout
from spacevrp.decode.running import Running
from spacevrp.engines import beam as tensors
from spacevrp.engines.rollouts import Drawing, decoder_of
from spacevrp.env import Environment, start_nodes
from spacevrp.env.rules import at
from spacevrp.generators import generate
from spacevrp.inference import beam as arrays
from spacevrp.inference.rollouts import UNLIKELY, Trajectories
from spacevrp.inference.settings import Settings
from spacevrp.model import DecoderTables
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack

from .conftest import small_tables

pytestmark = pytest.mark.skipif(native.network is None, reason="needs the compiled network")

MIXED = ("TSP", "ACVRPTW", "PDCVRP", "MDCVRPB", "AMDOCVRPL", "OP", "PCTSP")
RANKS = 3


def prepared(names: list[str], size: int, starts: int) -> tuple[Environment, DecoderTables, Tensor]:
    """A small network, far from certain."""
    batch = stack([problem for name in names for problem in generate(name, size, 1, 3)])
    environment = Environment(batch)
    return environment, small_tables(batch), start_nodes(environment, starts)


def leaving(environment: Environment, sequence: Tensor, turn: int) -> tuple[Tensor, Deviations]:
    """Starts and deviations of all plans (B, P, T) at one turn, by every rank."""
    plan = sequence.repeat_interleave(RANKS, dim=1)
    length = environment.max_steps + 2
    rest = plan[..., -1:].expand(-1, -1, length - plan.shape[2])
    plan = torch.cat([plan, rest], dim=2)
    rank = torch.arange(RANKS, dtype=torch.int32).repeat(sequence.shape[1])
    turns = torch.full(plan.shape[:2], turn, dtype=torch.int32)
    moves = plan[..., 2:].transpose(1, 2).to(torch.int32)
    return plan[..., 1], Deviations(moves, turns, rank.expand_as(turns))


def test_the_other_moves_by_rank() -> None:
    scores = torch.tensor([[[5.0, 1.0, 4.0, -torch.inf, 4.0]]])

    def chosen(planned: int, rank: int) -> int:
        turn = Turn(*(torch.tensor([[value]]) for value in (planned, False, True, rank)))
        return int(choose_other(scores, turn))

    assert [chosen(0, rank) for rank in range(4)] == [2, 4, 1, 0]  # no fourth: the plan's own
    assert [chosen(2, rank) for rank in range(3)] == [0, 4, 1]


def test_no_move_that_is_next_to_impossible_is_tried() -> None:
    top = 50.0
    just, below = top - UNLIKELY, top - UNLIKELY - 1.0
    scores = torch.tensor([[[below, top, just]]])

    def chosen(planned: int, rank: int) -> int:
        turn = Turn(*(torch.tensor([[value]]) for value in (planned, False, True, rank)))
        return int(choose_other(scores, turn))

    assert chosen(1, 0) == 2
    assert chosen(1, 1) == 1  # the plan's own: there is no second one
    assert chosen(2, 1) == 2
    assert chosen(0, 0) == 1  # whatever the plan's own move is like


@pytest.mark.parametrize("instructions", ["plain", "avx2", "avx512"])
def test_the_compiled_network_deviates_as_its_slow_twin(instructions: str) -> None:
    if instructions not in native.network.instruction_sets():
        pytest.skip(f"this processor has no {instructions}")
    environment, tables, starts = prepared(list(MIXED), 8, 3)
    plans = rollout(environment, tables, starts).sequence
    running = Running(instructions=instructions)
    complete = 0
    for turn in (0, 1, 4, 9):
        begin, leaves = leaving(environment, plans, turn)
        slow = rollout(environment, tables, begin, deviations=leaves)
        fast = native_rollout(environment, tables, begin, deviations=leaves, running=running)
        torch.testing.assert_close(fast.cost, slow.cost, rtol=1e-5, atol=1e-5)
        finite = torch.isfinite(slow.cost)
        complete += int(finite.sum())
        found = fast.sequences()[..., : slow.sequence.shape[2]]
        assert bool((found == slow.sequence)[finite].all())
        # Up to the turn as the plan, and there another move.
        own = plans.repeat_interleave(RANKS, dim=1)
        until = min(turn + 2, own.shape[2])
        assert bool((found[..., :until] == own[..., :until])[finite].all())
        if until < own.shape[2]:
            assert bool((found[..., until] != own[..., until])[finite].all())
    assert complete > 60


def test_all_variants_deviate_as_the_slow_twin() -> None:
    environment, tables, starts = prepared(list(VARIANTS), 8, 1)
    plans = rollout(environment, tables, starts).sequence
    for turn in (1, 5):
        begin, leaves = leaving(environment, plans, turn)
        slow = rollout(environment, tables, begin, deviations=leaves)
        fast = native_rollout(environment, tables, begin, deviations=leaves)
        torch.testing.assert_close(fast.cost, slow.cost, rtol=1e-5, atol=1e-5)


def test_ranks_are_all_legal_moves_but_one() -> None:
    environment, tables, starts = prepared(["CVRP"], 6, 1)
    plan = rollout(environment, tables, starts).sequence
    legal = environment.mask(environment.begin(starts))[0, 0]
    moves = torch.zeros((1, environment.max_steps, 7), dtype=torch.int32)
    moves[:] = torch.nn.functional.pad(plan, (0, environment.max_steps + 2 - plan.shape[2]))[
        0, 0, 2:, None
    ]
    ranks = torch.arange(7, dtype=torch.int32)[None]
    leaves = Deviations(moves, torch.zeros_like(ranks), ranks)
    done = rollout(environment, tables, starts.expand(-1, 7), deviations=leaves)
    finite = torch.isfinite(done.cost[0])
    assert int(finite.sum()) == int(legal.sum()) - 1
    tried = set(done.sequence[0, finite, 2].tolist())
    assert tried == set(torch.nonzero(legal).flatten().tolist()) - {int(plan[0, 0, 2])}


def test_plans_that_end_before_the_turn_are_stuck() -> None:
    environment, tables, starts = prepared(["CVRP"], 6, 2)
    plans = rollout(environment, tables, starts).sequence
    begin, leaves = leaving(environment, plans, environment.max_steps - 1)
    for cost in (
        rollout(environment, tables, begin, deviations=leaves).cost,
        native_rollout(environment, tables, begin, deviations=leaves).cost,
    ):
        assert not bool(torch.isfinite(cost).any())


# --------------------------------------------------------------------------------- the beam search


def all_tours(distance: np.ndarray) -> float:
    """The length of the shortest one."""
    orders = permutations(range(1, len(distance)))
    return min(
        sum(distance[a, b] for a, b in zip((0, *order), (*order, 0), strict=True))
        for order in orders
    )


def searched(
    environment: Environment, tables: DecoderTables, starts: Tensor, width: int
) -> tuple[Tensor, tensors.Beam]:
    """Costs of the rollouts alone, and the beam that comes of them."""
    decode = decoder_of(environment, [], Settings(), tables.embedding.shape[-1])
    done = decode(environment, tables, starts, Drawing())
    beam = tensors.search_beam(
        tensors.best_rollouts(done, width),
        lambda begin, leaves: decode(environment, tables, begin, Drawing(deviations=leaves)),
        environment.max_steps,
    )
    return done.cost, beam


def test_a_wide_beam_finds_the_shortest_tour() -> None:
    environment, tables, starts = prepared(["ATSP"], 7, 7)
    _, beam = searched(environment, tables, starts, 64)
    shortest = all_tours(environment.batch.distance[0].numpy())
    assert float(beam.cost[0, 0]) == pytest.approx(shortest, rel=1e-5)


def test_beams_are_never_worse_and_cost_what_they_say() -> None:
    environment, tables, starts = prepared(list(MIXED), 10, 4)
    alone, beam = searched(environment, tables, starts, 4)
    best = alone.amin(dim=1)
    assert bool((beam.cost[:, 0] <= best + 1e-6).all())
    assert bool((beam.cost[:, 0] < best - 1e-4).any())
    # Made again move by move, every plan of the beam costs the same.
    state = environment.begin(beam.sequence[..., 1])
    for number in range(2, beam.sequence.shape[2]):
        state = environment.step(state, beam.sequence[..., number])
    cost = torch.where(torch.isfinite(beam.cost), environment.cost(state), torch.inf)
    torch.testing.assert_close(cost, beam.cost, rtol=1e-5, atol=1e-5)
    assert bool(at(environment.batch.is_depot, state.current)[1].all())  # of ACVRPTW


@pytest.mark.parametrize("width", [3, 12])  # fewer than the rollouts that there are, and more
def test_both_engines_search_the_same_beam(width: int) -> None:
    environment, tables, starts = prepared(["CVRPTW"], 10, 5)
    _, there = searched(environment, tables, starts, width)
    done = native_rollout(environment, tables, starts)

    def beam_of(trace) -> Trajectories:
        parts = (trace.starts, trace.origin, trace.action.mT, trace.steps, trace.cost)
        return Trajectories(*(part[0].numpy() for part in parts))

    def complete(start, leaves) -> Trajectories:
        plan, turn, rank = (torch.from_numpy(part)[None] for part in leaves)
        given = {"deviations": Deviations(plan.mT, turn, rank)}
        begin = torch.from_numpy(start)[None]
        return beam_of(native_rollout(environment, tables, begin, **given))

    here = arrays.search_beam(beam_of(done), width, complete)
    assert len(here.cost) == width
    np.testing.assert_allclose(here.cost, there.cost[0].numpy(), rtol=1e-6)


def test_equal_costs_count_once() -> None:
    cost = np.array([3.0, 1.0, np.inf, 1.0 + 1e-8, 2.0], dtype=np.float32)
    numbers = np.arange(5)
    plans = Trajectories(numbers, numbers, numbers[:, None], numbers, cost)
    assert arrays._best(plans, 4).start.tolist() == [1, 4, 0]
    found, order = tensors._best_first(torch.from_numpy(cost)[None], 4)
    assert order[0, :3].tolist() == [1, 4, 0]
    assert found[0].tolist() == [1.0, 2.0, 3.0, float("inf")]
