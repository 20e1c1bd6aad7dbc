"""Projections that adapt to the problem, and the weights of distance biases."""

from __future__ import annotations

import pytest
import torch

from spacevrp.model.adapters import GeneratedProjection, WeightDecomposedProjection
from spacevrp.model.bias import BiasNetworks
from spacevrp.problems.variants import VARIANTS

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
