"""Singular vectors as features of nodes: by hand, against LAPACK, and what must not matter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.decode import rollout
from spacevrp.engines.choosing import choose_engine
from spacevrp.env import Environment, start_nodes
from spacevrp.generators import generate
from spacevrp.inference.network import load_network
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.model.blocks import encode_in_blocks
from spacevrp.model.geometry import normalise
from spacevrp.model.singular import singular_features
from spacevrp.model.weights import save_weights
from spacevrp.problems.errors import SpacevrpError, UnsupportedError
from spacevrp.tensors import stack
from spacevrp.train.config import TrainConfig
from spacevrp.train.state import TrainState

SMALL = ModelConfig(width=16, layers=1, feedforward=16, pivots=4, rank=2, heads=1, signals=4)
NAMES = ("ATSP", "ACVRPBTW", "CVRP", "MDCVRP", "PDTSP")


def exact(matrix: torch.Tensor, count: int) -> torch.Tensor:
    """The same by LAPACK."""
    left, length, right = np.linalg.svd(matrix.double().numpy())
    root = np.sqrt(length[:, None, :count])
    left, right = left[:, :, :count] * root, right.transpose(0, 2, 1)[:, :, :count] * root
    sign = np.where((left**3).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return torch.from_numpy(np.concatenate([sign * left, sign * right], axis=2))


def test_three_nodes_by_hand() -> None:
    """Each node is near to the one before it: D = [[0, 3, 0], [0, 0, 2], [1, 0, 0]].

    Its triples are arcs: 3 from node 0 to 1, 2 from node 1 to 2, 1 from node 2 to 0.
    """
    matrix = torch.tensor([[[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]])
    three, two = 3**0.5, 2**0.5
    expected = torch.tensor(
        [[[three, 0.0, 0.0, 0.0], [0.0, two, three, 0.0], [0.0, 0.0, 0.0, two]]]
    )
    torch.testing.assert_close(singular_features(matrix, 2), expected)
    # A fourth triple does not exist.
    more = singular_features(matrix, 4).unflatten(2, (2, 4))
    torch.testing.assert_close(more[..., :2].flatten(2), expected)
    torch.testing.assert_close(more[0, :, 0, 2:], torch.tensor([[0.0, 0], [0, 0], [1, 0]]))


def test_a_symmetric_matrix_by_hand() -> None:
    """Three nodes, all 1 apart: 2 along (1, 1, 1), and -1 across it, whose vectors are opposite."""
    matrix = (torch.ones(3, 3) - torch.eye(3)).unsqueeze(0).double()
    found = singular_features(matrix, 3).unflatten(2, (2, 3))
    root = torch.full((3,), (2 / 3) ** 0.5, dtype=torch.float64)
    torch.testing.assert_close(found[0, :, 0, 0], root)
    torch.testing.assert_close(found[0, :, 1, 0], root)
    torch.testing.assert_close(found[0, :, 0, 1:], -found[0, :, 1, 1:])
    left, right = found[0, :, 0], found[0, :, 1]
    torch.testing.assert_close(left @ right.T, matrix[0])


@pytest.mark.parametrize("name", ["ATSP", "CVRP"])
def test_against_lapack(name: str) -> None:
    spread = normalise(stack(generate(name, 40, 4, 1), dtype=torch.float64)).spread
    found, wanted = singular_features(spread, 3), exact(spread, 3)
    torch.testing.assert_close(found, wanted, rtol=0, atol=5e-3)
    # Nodes as origins and destinations are of order one.
    assert 0.2 < float(found.square().mean().sqrt()) < 2.0


def test_no_two_nodes_apart() -> None:
    """Matrices of zeros, and of rank 1, have no or one triple, and nothing is divided by 0."""
    assert not singular_features(torch.zeros(2, 5, 5), 3).any()
    ones = singular_features(torch.ones(1, 5, 5), 3)
    expected = torch.zeros(1, 5, 6)
    expected[:, :, 0] = expected[:, :, 3] = 1.0
    torch.testing.assert_close(ones, expected)


@settings(max_examples=20)
@given(st.integers(0, 2**16), st.integers(3, 12), st.integers(1, 6), st.integers(0, 5))
def test_order_of_nodes_and_padding_change_nothing(
    seed: int, nodes: int, count: int, padding: int
) -> None:
    random = np.random.default_rng(seed)
    matrix = torch.from_numpy(random.random((1, nodes, nodes)))
    order = torch.from_numpy(random.permutation(nodes))
    found = singular_features(matrix, count)
    turned = singular_features(matrix[:, order][:, :, order], count)
    torch.testing.assert_close(turned, found[:, order], rtol=0, atol=1e-5)
    padded = singular_features(torch.nn.functional.pad(matrix, (0, padding, 0, padding)), count)
    torch.testing.assert_close(padded[:, :nodes], found, rtol=0, atol=1e-5)
    assert not padded[:, nodes:].any()


def test_an_instance_in_a_mixed_batch_is_seen_as_alone() -> None:
    """Several depots, no depot, pairs, and sizes from 6 to 14."""
    torch.manual_seed(3)
    model = SpaceModel(replace(SMALL, singular_vectors=3)).double()
    torch.nn.init.normal_(model.embed_singular)
    problems = [generate(name, 6 + 2 * n, 1, 4)[0] for n, name in enumerate(NAMES)]
    whole = stack(problems, dtype=torch.float64)
    seeds = augmentation_seeds(whole, model.config, 1, 0)[:, 0]
    together = model(whole, seeds).embedding
    for row, problem in enumerate(problems):
        alone = model(stack([problem], dtype=torch.float64), seeds[row : row + 1]).embedding
        torch.testing.assert_close(together[row : row + 1, : alone.shape[1]], alone)


# --------------------------------------------------------------------------------- learned later


def test_weights_that_learn_of_them_later_plan_as_before() -> None:
    torch.manual_seed(0)
    before = SpaceModel(SMALL)
    config = TrainConfig(model=replace(SMALL, singular_vectors=8), precision="float32")
    after = TrainState(config, torch.device("cpu"), dict(before.state_dict())).model
    batch = stack([generate(name, 10, 1, 2)[0] for name in NAMES])
    seeds = augmentation_seeds(batch, SMALL, 1, 0)[:, 0]
    environment = Environment(batch)
    starts = start_nodes(environment, 3)
    one, other = (rollout(environment, model(batch, seeds), starts) for model in (before, after))
    assert torch.equal(one.sequence, other.sequence)
    assert torch.equal(one.cost, other.cost)


def learns(model: SpaceModel, run: torch.nn.Module) -> torch.Tensor:
    """The gradient of the layer that maps them, through the model as it is or compiled."""
    batch = stack([generate(name, 8, 1, 2)[0] for name in NAMES])
    seeds = augmentation_seeds(batch, SMALL, 1, 0)[:, 0]
    model.zero_grad()
    tables = run(batch, seeds, torch.float32, torch.tensor([4]))
    tables.query_last.square().sum().backward()
    return model.embed_singular.grad.clone()


def test_they_are_learned_from_at_once() -> None:
    torch.manual_seed(1)
    model = SpaceModel(replace(SMALL, singular_vectors=2))
    assert float(learns(model, model).abs().max()) > 0


@pytest.mark.slow
def test_a_compiled_model_holds_them() -> None:
    torch.manual_seed(1)
    model = SpaceModel(replace(SMALL, singular_vectors=2))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=False)
    torch.testing.assert_close(learns(model, compiled), learns(model, model))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_graph_holds_them() -> None:
    matrix = torch.rand(4, 30, 30, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        singular_features(matrix, 5)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = singular_features(matrix, 5)
    matrix.copy_(torch.rand_like(matrix))
    graph.replay()
    torch.testing.assert_close(found.cpu(), singular_features(matrix.cpu(), 5), rtol=0, atol=1e-5)


def test_both_begin_with_the_same_random_weights() -> None:
    torch.manual_seed(5)
    one = SpaceModel(SMALL).state_dict()
    torch.manual_seed(5)
    other = SpaceModel(replace(SMALL, singular_vectors=2)).state_dict()
    assert not other.pop("embed_singular").any()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in other)


def test_what_cannot_see_them_refuses(tmp_path: Path) -> None:
    model = SpaceModel(replace(SMALL, singular_vectors=2))
    path = save_weights(tmp_path / "told", model, {})
    message = "model.singular_vectors: expected 0 without torch, received 2"
    with pytest.raises(UnsupportedError, match=message):
        load_network(path)
    assert choose_engine(path, "cpu", engine="torch").name == "torch"
    batch = stack(generate("CVRP", 8, 1, 1))
    with pytest.raises(
        UnsupportedError, match=r"model.singular_vectors: expected 0 for an instance"
    ):
        encode_in_blocks(model, batch, augmentation_seeds(batch, model.config, 1, 0))
    with pytest.raises(SpacevrpError, match=r"model.singular_vectors: expected a whole number"):
        ModelConfig(singular_vectors=-1)
