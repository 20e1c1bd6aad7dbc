"""Parts of the network by hand: adapters, biases, facts of moves, policy heads, products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from spacevrp import Problem
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment
from spacevrp.generators import generate
from spacevrp.model import HEAD_STRENGTH, ModelConfig, SpaceModel, random_seeds
from spacevrp.model.adapters import GeneratedProjection, WeightDecomposedProjection
from spacevrp.model.attention import gated_ratio
from spacevrp.model.bias import BiasNetworks
from spacevrp.model.decoder import logits
from spacevrp.model.moves import move_facts
from spacevrp.model.policy_heads import LearnedHeads, Queries, apply_heads, head_shifts
from spacevrp.model.products import has_bfloat16, steady_products
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack
from spacevrp.train.config import TrainConfig
from spacevrp.train.state import TrainState

ATTRIBUTES = torch.tensor([v.attributes for v in VARIANTS.values()], dtype=torch.float64)


def adapters(awake=True):
    torch.manual_seed(1)
    module = WeightDecomposedProjection(inputs=6, outputs=5, rank=3, heads=2).double()
    if awake:
        torch.nn.init.normal_(module.magnitude)
    return module


def test_every_problem_starts_at_the_shared_weight():
    module = adapters(awake=False)
    weights = module(ATTRIBUTES)
    assert torch.equal(weights, module.base.expand_as(weights))


def test_a_hypernetwork_gives_every_problem_its_own_weights():
    torch.manual_seed(1)
    module = GeneratedProjection(6, 5, 8).double()
    weights = module(ATTRIBUTES)
    assert weights.shape == (110, 5, 6)
    distinct = {tuple(attributes) for attributes in ATTRIBUTES.tolist()}
    assert len({tuple(weight.flatten().tolist()) for weight in weights}) == len(distinct)
    assert 0.2 < float(weights.detach().std()) * 6**0.5 < 1.0  # the size of an ordinary layer's


@pytest.mark.parametrize(
    ("recovery", "start", "pull", "expected"),
    [
        (True, 0.5, 2.0, 2.0),
        (True, 0.5, -2.0, -2.0),
        (True, -0.5, 2.0, 0.0),
        (True, -0.5, -2.0, -2.0),
        (False, 0.5, -2.0, -2.0),
        (False, -0.5, -2.0, 0.0),
    ],
)
def test_a_branch_that_is_switched_off_comes_back_only_with_recovery(
    recovery, start, pull, expected
):
    """Where alpha is 0, a gradient that would raise it passes; with the paper's ReLU none does."""
    networks = BiasNetworks(1, 4)
    networks.recovery = recovery
    with torch.no_grad():
        networks.weight_out.zero_()
        networks.bias_out.fill_(start)
    alpha = networks(torch.zeros((1, 10)))
    assert alpha.item() == max(start, 0.0)
    (pull * alpha).sum().backward()
    assert networks.bias_out.grad.item() == expected


SMALL = ModelConfig(width=16, layers=1, feedforward=16, rank=2, heads=1, signals=4)


def test_facts_by_hand() -> None:
    """On a line: depot at 0, customers at 1, 2 and 4; the vehicle has served the first."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (4, 0)],
        demand=[0, 2, 3, 4],
        capacity=10,
        windows=[(0, 20), (0, 20), (5, 8), (0, 9)],
        service=[0, 1, 1, 1],
        max_length=16.0,
    )
    batch = stack([problem], dtype=torch.float64)
    state = Environment(batch).begin(torch.tensor([[1]]))
    zero = torch.tensor([[0]])
    far = torch.tensor([[[-1.0, 0.0, 1.0, 9.0]]], dtype=torch.float64)
    facts = move_facts(batch, zero, state.current, problem_signals(batch, state, 7), far)
    waiting, slack, room, length, away = facts[0, 0].T.tolist()
    # Ready to leave at 2, arriving at the others at 3, 3 and 5; the day has 20.
    assert waiting[2:] == pytest.approx([2 / 20, 0.0])
    assert slack[2:] == pytest.approx([5 / 20, 4 / 20])
    assert room[2:] == pytest.approx([0.5, 0.4])
    assert length[2:] == pytest.approx([12 / 16, 8 / 16])
    assert away == [-1.0, 0.0, 1.0, 3.0]


def test_weights_that_learn_of_them_later_begin_as_they_were() -> None:
    torch.manual_seed(0)
    before = SpaceModel(SMALL)
    wider = replace(SMALL, signals=7, constraint_aware=True, problem_bits=True)
    config = TrainConfig(model=wider, precision="float32")
    after = TrainState(config, torch.device("cpu"), dict(before.state_dict())).model
    batch = stack([generate(name, 8, 1, 2)[0] for name in ("CVRPBPLTW", "AOP", "PDCVRP")])
    environment = Environment(batch)
    state = environment.begin(torch.full((3, 1), 1))
    seeds = random_seeds(batch, SMALL)
    found = []
    for model in (before, after):
        tables = model(batch, seeds)
        signals = problem_signals(batch, state, tables.num_signals)
        allowed = environment.mask(state)
        found.append(logits(tables, state.origin, state.current, signals, allowed))
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-6)
    # The facts are learned from at once.
    found[1].exp().max().backward()
    assert float(after.moves.query.grad.abs().max()) > 0  # type: ignore[union-attr]


def test_no_gradient_of_a_ratio_overflows() -> None:
    """Ten contexts of one node whose exponential is all but 0 in float32."""
    keyed = torch.tensor([[4e-38, 2e-38]], requires_grad=True)
    gated_ratio(torch.zeros(10, 1), torch.ones(10, 1) @ keyed).sum().backward()
    assert keyed.grad is not None
    assert torch.isfinite(keyed.grad).all()


def test_the_first_head_is_the_base_policy_and_the_others_differ() -> None:
    rows = head_shifts(range(64), 128)
    assert rows.dtype == torch.float32
    assert (rows[0] == 0).all()
    assert rows[1:].square().mean().item() == pytest.approx(1.0, abs=0.05)
    likeness = torch.corrcoef(rows[1:]) - torch.eye(63)
    assert likeness.abs().max() < 0.5


def test_a_shift_depends_on_the_number_of_the_head_alone() -> None:
    many = head_shifts(range(9), 16)
    assert torch.equal(head_shifts(range(4, 7), 16), many[4:7])
    expected = np.random.default_rng([0, 5]).standard_normal(16).astype(np.float32)
    assert many[5].tolist() == expected.tolist()
    later = head_shifts(range(9), 16, first=4)
    assert torch.equal(later[4:], many[4:])
    assert (later[:4] == 0).all()


def some_queries(last: Tensor, is_node: Tensor) -> Queries:
    """Queries of last nodes (I, V, N, d) with the rest drawn."""
    generator = torch.Generator().manual_seed(3)
    embedding, first = (torch.randn(last.shape, generator=generator) for _ in range(2))
    attributes = torch.zeros(len(last), 10)
    attributes[:, 2] = attributes[:, 5] = 1.0
    return Queries(embedding, first, last, is_node, attributes)


def test_shifts_are_measured_in_the_deviation_of_queries() -> None:
    # 1, 3, 5, 7 have the mean 4 and the variance 5; the last node is padding.
    last = torch.tensor([[[[1.0, 3.0], [5.0, 7.0], [100.0, -100.0]]]])
    queries = some_queries(last, torch.tensor([[[True, True, False]]]))
    first, there = apply_heads(queries, range(4, 5), 0.5)
    step = 0.5 * 5.0**0.5 * head_shifts(range(4, 5), 2)[0]
    torch.testing.assert_close(there[0, 0, :2], last[0, 0, :2] + step)
    assert torch.equal(first, queries.first)


def taught(count: int, width: int) -> LearnedHeads:
    """Policy heads that have learned something."""
    learned = LearnedHeads(count, width)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in learned.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    return learned


def test_learning_begins_at_the_random_shifts() -> None:
    queries = some_queries(torch.randn(2, 4, 3, 8), torch.ones(2, 1, 3, dtype=torch.bool))
    drawn = apply_heads(queries, range(4), HEAD_STRENGTH)
    learned = apply_heads(queries, range(4), HEAD_STRENGTH, LearnedHeads(3, 8))
    for a, b in zip(drawn, learned, strict=True):
        torch.testing.assert_close(a, b)


def test_what_a_augmentation_has_learned_is_added_to_its_queries() -> None:
    last = torch.tensor([[[[1.0, 3.0], [5.0, 7.0]]]])
    queries = some_queries(last, torch.ones(1, 1, 2, dtype=torch.bool))
    learned = taught(3, 2)
    first, there = apply_heads(queries, range(2, 3), HEAD_STRENGTH, learned)
    x = queries.embedding[0, 0]
    torch.testing.assert_close(first[0, 0], queries.first[0, 0] + x @ learned.first[1].T)
    own = learned.shift_of_attributes[1, [2, 5]].mean(dim=0)  # of the two active attributes
    shift = 5.0**0.5 * (learned.shift[1] + own)
    torch.testing.assert_close(there[0, 0], last[0, 0] + x @ learned.last[1].T + shift)
    halfway, _ = apply_heads(queries, range(2, 3), HEAD_STRENGTH / 2, learned)
    torch.testing.assert_close(halfway[0, 0], queries.first[0, 0] + x @ learned.first[1].T / 2)


def test_strength_0_changes_nothing() -> None:
    queries = some_queries(torch.randn(1, 3, 3, 4), torch.ones(1, 1, 3, dtype=torch.bool))
    first, last = apply_heads(queries, range(5, 8), 0.0, taught(2, 4))
    assert torch.equal(first, queries.first)
    assert torch.equal(last, queries.last)


CPU = torch.device("cpu")


@pytest.fixture
def without_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacevrp.model.products.has_bfloat16", lambda device: False)


def is_on() -> bool:
    return bool(torch.backends.mkldnn.enabled)


@pytest.mark.usefixtures("without_units")
def test_one_dnn_is_off_where_it_would_refuse_and_on_again_afterwards() -> None:
    before = is_on()
    with steady_products(torch.bfloat16, CPU):
        assert not is_on()
        a = torch.arange(6.0).view(2, 3).bfloat16()
        assert (a @ a.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
    assert is_on() == before
    with steady_products(torch.float32, CPU):
        assert is_on() == before


def test_only_a_cpu_may_lack_it() -> None:
    assert has_bfloat16(torch.device("cuda"))
    assert isinstance(has_bfloat16(CPU), bool)
    before = is_on()
    with steady_products(torch.bfloat16, torch.device("cuda")):
        assert is_on() == before
