"""Greedy and sampled rollouts, the choice among depots, and what the decoder is told."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch

from spacevrp.decode import rollout
from spacevrp.decode.random_numbers import random_keys
from spacevrp.decode.replay import decisions
from spacevrp.decode.rollout import Drawn, advance, choose, look_ahead
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.model import DecoderTables
from spacevrp.model.decoder import logits
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack

from .conftest import small_tables

RECORDING = partial(advance, record=True)
MIXED = ("TSP", "ACVRPTW", "PDCVRP", "MDCVRPB", "AMDOCVRPL", "OP", "SPCTSP")


def distance_only(rows: list[list[float]], weight: float = 1.0) -> DecoderTables:
    """Tables that make logits of 10 tanh(-weight * row) and nothing else."""
    table = torch.tensor([rows], dtype=torch.float64)
    nodes = table.shape[1]
    zero = torch.zeros(1, nodes, 2, dtype=torch.float64)
    return DecoderTables(
        embedding=zero,
        keyed=torch.cat([zero, zero + 1.0], dim=-1),
        query_first=zero,
        query_last=zero,
        state_weight=torch.zeros(1, 1, 2, dtype=torch.float64),
        zscore=table,
        read_weight=torch.zeros(1, dtype=torch.float64),
        match_weight=torch.full((1,), weight, dtype=torch.float64),
        clipping=10.0,
    )


@pytest.fixture(scope="module")
def prepared():
    """A mixed batch, its environment, and the tables of a small network."""
    batch = stack([generate(name, 10, 1, 3)[0] for name in MIXED])
    environment = Environment(batch)
    tables = small_tables(batch, noise=0.0, bias=0.01, width=16, clipping=3.0)
    return environment, tables, start_nodes(environment, 4)


# ------------------------------------------------------------------------------ a fixed length


def test_a_rollout_of_fixed_length_asks_nobody_and_comes_to_the_same(prepared):
    environment, tables, starts = prepared
    expected = rollout(environment, tables, starts)
    found = rollout(environment, tables, starts, moves=environment.max_steps)
    length = expected.sequence.shape[2]
    assert torch.equal(found.sequence[..., :length], expected.sequence)
    assert torch.equal(found.cost, expected.cost)
    # Whoever has finished rests.
    rest = found.sequence[..., length - 1 :]
    assert torch.equal(rest, rest[..., :1].expand_as(rest))


@pytest.mark.slow
def test_one_compiled_step_serves_the_whole_rollout(prepared):
    environment, tables, starts = prepared
    compiled = torch.compile(advance, backend="eager", fullgraph=True, dynamic=False)
    with torch._dynamo.config.patch(error_on_recompile=True):
        found = rollout(environment, tables, starts, one_step=compiled)
    expected = rollout(environment, tables, starts)
    assert torch.equal(found.sequence, expected.sequence)
    assert torch.equal(found.cost, expected.cost)


# ------------------------------------------------------------------------------------- choosing


def test_draws_follow_the_probabilities_and_never_take_what_is_forbidden():
    scores = torch.tensor([0.0, 1.0, -torch.inf, 2.0, -1.0])
    generator = torch.Generator().manual_seed(0)
    draws = choose(scores.expand(1, 20_000, 5), torch.rand(1, 20_000, generator=generator))
    shares = torch.bincount(draws[0], minlength=5) / 20_000
    assert shares[2] == 0
    # Four standard deviations of a share are at most 0.014.
    assert torch.allclose(shares, scores.softmax(dim=0), atol=0.015)


def test_draws_at_the_edges_are_legal():
    scores = torch.tensor([[[-torch.inf, 1.0, 1.0, -torch.inf]]])
    assert choose(scores, torch.tensor([[0.0]])).item() == 1
    assert choose(scores, torch.tensor([[0.49]])).item() == 1
    assert choose(scores, torch.tensor([[0.51]])).item() == 2
    assert choose(scores, torch.tensor([[1.0 - 2.0**-24]])).item() == 2


def keys_for(starts, seed):
    return random_keys(starts.shape, starts.device, torch.Generator().manual_seed(seed))


def test_what_one_draws_does_not_depend_on_the_others(prepared):
    environment, tables, starts = prepared
    keys = keys_for(starts, 1)
    together = rollout(environment, tables, starts, keys=keys)
    turned = rollout(environment, tables, starts.flip(1), keys=keys.flip(1))
    assert torch.equal(turned.sequence.flip(1), together.sequence)
    alone = rollout(environment, tables, starts[:, 1:2], keys=keys[:, 1:2])
    length = min(alone.sequence.shape[2], together.sequence.shape[2])
    assert torch.equal(alone.sequence[:, 0, :length], together.sequence[:, 1, :length])


def test_what_is_recorded_gives_the_same_choices_again(prepared):
    environment, tables, starts = prepared
    result = rollout(environment, tables, starts, one_step=RECORDING)
    trace = result.trace
    assert torch.equal(trace.sequences(), result.sequence)
    kept = decisions(trace)
    for first, current, signals, allowed, action, active in zip(
        *(values.unbind(dim=1) for values in kept), strict=True
    ):
        scores = logits(tables, first, current, signals, allowed)
        assert torch.equal(scores.argmax(dim=-1), action)
        assert (current == action)[~active].all()  # finished ones stay
    assert not active.all()


def test_a_switch_between_depots_is_recorded_as_no_decision(prepared):
    environment, tables, starts = prepared
    trace = rollout(environment, tables, starts, one_step=RECORDING).trace
    assert trace is not None
    first, current, _, allowed, action, active = decisions(trace)
    is_depot = environment.batch.is_depot
    depot = is_depot.unsqueeze(1).expand(-1, action.shape[1], -1)
    from_depot, to_depot = depot.gather(2, current), depot.gather(2, action)
    switch = from_depot & to_depot & (current != action) & active
    assert bool(switch.any())
    assert bool((allowed.sum(dim=-1)[switch] == 1).all())
    assert trace.likeliest is not None
    assert bool((trace.likeliest[switch] == 1).all())
    # Routes begin at the depot that the vehicle stands at, and keep it until the next one.
    assert torch.equal(first[from_depot & active], current[from_depot & active])
    several = is_depot.sum(dim=1) > 1
    assert bool((first[several].amax(dim=(1, 2)) > 0).any())
    kept = (first[:, 1:] == first[:, :-1]) | from_depot[:, 1:]
    assert bool(kept[active[:, 1:]].all())


def test_a_rollout_that_gets_stuck_costs_infinitely_much(four_customers):
    problem = four_customers(demand=[0, 3, 3, 3, 3], capacity=6.0, max_routes=1)
    environment = Environment(stack([problem], dtype=torch.float64))
    tables = distance_only(np.array(problem.distances.matrix()).tolist())
    assert rollout(environment, tables, torch.tensor([[1, 2]])).cost.isinf().all()


def test_greedy_by_distance_alone_is_the_nearest_neighbour(four_customers):
    problem = four_customers()
    environment = Environment(stack([problem], dtype=torch.float64))
    rows = (np.array(problem.distances.matrix()) / 10.0).tolist()
    rows = [[9.0, *row[1:]] for row in rows]  # never home before the end
    result = rollout(environment, distance_only(rows), torch.tensor([[1, 4]]))
    assert result.sequence[0, 0, :6].tolist() == [0, 1, 2, 3, 4, 0]
    assert result.sequence[0, 1, :6].tolist() == [0, 4, 3, 2, 1, 0]
    assert (result.cost[0] * problem.unit).tolist() == pytest.approx([3 + 4 + 3 + 4 + 8] * 2)


# -------------------------------------------------------------------------------- several depots

# Depots 0 and 1, customers 2, 3, 4. Depot 0 is torn between 2 and 3, depot 1 is sure of 4.
TORN = [
    [0.0, 0.0, 0.1, 0.1, 1.0],
    [0.0, 0.0, 2.0, 2.0, 0.3],
    [0.5, 0.5, 0.0, 0.2, 1.0],
    [0.5, 0.5, 0.2, 0.0, 1.0],
    [0.5, 0.5, 1.0, 1.0, 0.0],
]


def two_depots(**features: object) -> Problem:
    points = [(0.0, 0.0), (1.0, 1.0), (0.1, 0.0), (0.0, 0.1), (1.0, 0.9)]
    return Problem.from_coordinates(points, depots=(0, 1), **features)


def at_depot(problem: Problem, start: int, count: int = 1):
    """Vehicles back at their depot after serving one customer."""
    environment = Environment(stack([problem], dtype=torch.float64))
    state = environment.begin(torch.full((1, count), start))
    return environment, environment.step(state, state.origin)


def ask(environment, tables, state, action=0):
    given = torch.tensor([[action]])
    return int(look_ahead(environment, tables, state, given).action)


def test_depots_are_drawn_by_the_odds_of_their_likeliest_customer():
    """Two customers are left: depot 0 is torn between them, depot 1 prefers the second."""
    rows = [list(row) for row in TORN]
    rows[1][2:4] = [0.3, 0.2]
    environment, state = at_depot(two_depots(), 4, 1000)
    assert set(state.current.flatten().tolist()) == {1}
    likes = 1 / (1 + math.exp(10 * (math.tanh(-0.3) - math.tanh(-0.2))))
    numbers = (torch.arange(1000, dtype=torch.float64).view(1, -1) + 0.5) / 1000
    # Only the depot is drawn: a node's number of 0 is the first legal node's.
    for temperature in (1.0, 0.5):
        share = 1 / (1 + (likes / (1 - likes)) ** (1 / temperature))  # depot 0 has odds of 1
        drawn = Drawn(torch.zeros((1, 1000)), None, numbers, temperature)
        found = look_ahead(environment, distance_only(rows), state, state.current, drawn)
        moves = found.action.flatten()
        assert set(moves.tolist()) == {0, 2}  # a switch, or a customer from where it is
        assert float((moves == 0).double().mean()) == pytest.approx(share, abs=2e-3)
        # The likeliest single move: the switch, or the customer that depot 1 prefers.
        expected = max(share, (1 - share) * likes)
        assert found.likeliest.flatten().tolist() == pytest.approx([expected] * 1000)
        odds = found.grounds[0].exp()
        assert odds[0, :, 0].tolist() == pytest.approx([1.0, likes / (1 - likes)])


def test_drawn_depots_change_nothing_where_there_is_one_or_no_key(prepared):
    environment, tables, starts = prepared
    keys = random_keys(starts.shape, starts.device, torch.Generator().manual_seed(4))
    keys[:, 0] = -1
    drawn = rollout(environment, tables, starts, keys=keys, depot_temperature=1.0)
    surest = rollout(environment, tables, starts, keys=keys)
    length = min(drawn.sequence.shape[2], surest.sequence.shape[2])
    same = (drawn.sequence[..., :length] == surest.sequence[..., :length]).all(dim=2)  # (B, P)
    several = environment.batch.is_depot.sum(dim=1) > 1
    assert bool(same[~several].all())
    assert bool(same[:, 0].all())
    assert not bool(same[several].all(dim=1).any())
    assert bool(torch.isfinite(drawn.cost[several]).all())


def test_the_most_confident_depot_wins():
    # Customer 4 is served; depot 0 sees 2 and 3 alike (a chance of 1/2), depot 1 prefers 3.
    rows = [list(row) for row in TORN]
    rows[1][2:4] = [0.9, 0.2]
    environment, state = at_depot(two_depots(), 4)
    assert int(state.current) == 1
    assert ask(environment, distance_only(rows), state) == 3  # served from where it stands

    rows[0][2:4] = [0.1, 2.0]  # now depot 0 is the surer one
    scores = 10 * torch.tanh(-torch.tensor([rows[0][2:4], rows[1][2:4]]))
    chances = scores.softmax(dim=1).amax(dim=1)
    assert chances[0] > chances[1]
    assert ask(environment, distance_only(rows), state) == 0  # switch first


def test_only_customers_that_the_depot_can_serve_are_compared():
    # From depot 0 the limit reaches customers 2 and 3 only; depot 1 would be sure of 2.
    problem = two_depots(max_length=0.5)
    environment, state = at_depot(problem, 4)
    rows = [list(row) for row in TORN]
    rows[1][2:4] = [-1.0, 2.0]
    assert ask(environment, distance_only(rows), state) == 0


def test_on_the_way_and_after_a_switch_the_plain_choice_stands():
    environment = Environment(stack([two_depots()], dtype=torch.float64))
    tables = distance_only(TORN)
    on_the_way = environment.begin(torch.tensor([[2]]))
    assert ask(environment, tables, on_the_way, action=4) == 4
    _, state = at_depot(two_depots(), 4)
    switched = environment.step(state, torch.tensor([[0]]))
    assert bool(switched.switched)
    assert ask(environment, tables, switched, action=3) == 3


def test_beside_several_depots_an_instance_with_one_keeps_its_ways(four_customers):
    # Optional customers that are not worth a vehicle: it stops, alone and in a mixed batch.
    optional = four_customers(penalty=[0, 1.0, 1.0, 1.0, 1.0], prize=[0, 1, 1, 1, 1])
    rows = [[-1.0, 1.0, 1.0, 1.0, 1.0]] * 5  # home, and stay there
    tables = distance_only(rows)
    alone = rollout(
        Environment(stack([optional], dtype=torch.float64)), tables, torch.tensor([[1]])
    )
    both = tables.map(lambda tensor: tensor.repeat_interleave(2, dim=0))
    mixed = rollout(
        Environment(stack([optional, two_depots()], dtype=torch.float64)),
        both,
        torch.tensor([[1], [2]]),
    )
    assert alone.sequence[0, 0, :4].tolist() == [0, 1, 0, 0]
    assert mixed.sequence[0, 0, :4].tolist() == [0, 1, 0, 0]
    assert mixed.cost[0] == alone.cost[0]


# ------------------------------------------------------------------------------- problem state


LOADED = {"demand": [0, 2, 3, 4, 1], "capacity": 10.0}
PAIRED = {"demand": [0, -4, -3, 4, 3], "capacity": 8.0, "pairs": ((1, 3), (2, 4))}
PRIZES = {"prize": [0, 1, 2, 3, 4], "penalty": [0, 1, 1, 1, 1], "min_prize": 4.0, "max_routes": 1}
LONG = {"prize": [0, 1, 1, 1, 1], "max_length": 20.0, "maximise_prize": True, "max_routes": 1}
# The depot closes at 40; the first customer is 3 away, opens at 5 and takes 1.
TIMED = {"windows": [(0, 40), (5, 30), *[(0, 30)] * 3], "service": [0, 1, 1, 1, 1]}
BOTH_WAYS = {"demand": [0, 2, -3, -4, 1], "capacity": 10.0, "load_rule": "single"}


@pytest.mark.parametrize(
    ("features", "moves", "told"),
    [
        # What is left of the load, the length or the prize to collect is the first signal.
        (LOADED, [1], {0: 0.8, 3: 0.75}),
        (LOADED, [1, 2], {0: 0.5}),
        (LOADED, [1, 2, 0], {0: 1.0}),
        (PAIRED, [1], {0: 0.5}),
        (PAIRED, [1, 3], {0: 1.0}),
        (LONG, [1], {0: 17 / 20}),
        (LONG, [1, 2], {0: 13 / 20}),
        (PRIZES, [1], {0: 3 / 4}),
        (PRIZES, [1, 2], {0: 1 / 4}),
        (PRIZES, [1, 4], {0: 0.0}),
        ({"depots": ()}, [1, 2], {0: 0.0}),
        ({"pairs": ((1, 3), (2, 4))}, [1], {0: 0.0}),
        ({"max_length": 30.0}, [1], {0: 0.0, 1: 0.0}),
        # The second is the time, which begins again with the next vehicle.
        (TIMED, [1], {1: 6 / 40}),
        (TIMED, [1, 2], {1: 11 / 40}),  # 4 on, 1 for the service
        (TIMED, [1, 0], {1: 0.0}),
        # The third is what was collected, the fourth how many are left.
        (BOTH_WAYS, [1], {0: 0.8, 2: 0.0}),
        (BOTH_WAYS, [1, 2], {0: 1.0, 2: 0.3}),
        (BOTH_WAYS, [1, 2, 4], {0: 0.9, 2: 0.2}),
        (BOTH_WAYS, [1, 2, 0], {2: 0.0}),
        (LOADED, [1, 0], {3: 0.75}),
        (LOADED, [1, 0, 2, 3], {3: 0.25}),
    ],
)
def test_what_the_decoder_is_told(four_customers, features, moves, told):
    environment = Environment(stack([four_customers(**features)], dtype=torch.float64))
    state = environment.begin(torch.tensor([[moves[0]]]))
    for move in moves[1:]:
        state = environment.step(state, torch.tensor([[move]]))
    signals = problem_signals(environment.batch, state, 4)[0, 0].tolist()
    assert {number: signals[number] for number in told} == pytest.approx(told)
