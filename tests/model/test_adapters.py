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


def unit(index):
    return torch.eye(10, dtype=torch.float64)[index : index + 1]


def test_every_problem_starts_at_the_shared_weight():
    module = adapters(awake=False)
    weights = module(ATTRIBUTES)
    assert torch.equal(weights, module.base.expand_as(weights))


def test_without_attributes_only_the_shared_weight_is_left():
    module = adapters()
    assert torch.equal(module(torch.zeros(1, 10).double())[0], module.base)
    assert not torch.allclose(module(unit(0))[0], module.base)


def test_active_attributes_are_averaged():
    module = adapters()
    alone = torch.cat([module(unit(index)) - module.base for index in range(10)])  # (10, 5, 6)
    for attributes, weight in zip(ATTRIBUTES, module(ATTRIBUTES), strict=True):
        active = attributes.nonzero().flatten()
        expected = alone[active].mean(dim=0) if len(active) else torch.zeros(5, 6)
        assert torch.allclose(weight - module.base, expected.double(), atol=1e-12)


def test_a_magnitude_is_the_length_of_its_row():
    module = adapters()
    torch.nn.init.zeros_(module.magnitude)
    with torch.no_grad():
        module.magnitude[3, 1] = torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0])
    update = (module(unit(3)) - module.base)[0]
    assert torch.allclose(update.norm(dim=1), module.magnitude[3, 1].abs(), atol=1e-4)
    assert torch.equal(module(unit(4))[0], module.base)


def test_heads_are_added():
    module = adapters()
    whole = module(unit(2)) - module.base
    parts = torch.zeros_like(whole)
    for head in range(2):
        single = adapters()
        with torch.no_grad():
            single.magnitude[:, 1 - head] = 0.0
        parts += single(unit(2)) - single.base
    assert torch.allclose(whole, parts)


def test_a_hypernetwork_gives_every_problem_its_own_weights():
    torch.manual_seed(1)
    module = GeneratedProjection(6, 5, 8).double()
    weights = module(ATTRIBUTES)
    assert weights.shape == (110, 5, 6)
    distinct = {tuple(attributes) for attributes in ATTRIBUTES.tolist()}
    assert len({tuple(weight.flatten().tolist()) for weight in weights}) == len(distinct)
    assert 0.2 < float(weights.detach().std()) * 6**0.5 < 1.0  # the size of an ordinary layer's


def test_biases_start_near_one_for_every_problem():
    torch.manual_seed(0)
    alphas = BiasNetworks(38, 128)(ATTRIBUTES.float())
    assert alphas.shape == (110, 38)
    assert alphas.min() > 0.5
    assert alphas.max() < 1.5
    alphas.sum().backward()


def test_biases_follow_the_formula_and_are_never_negative():
    torch.manual_seed(0)
    networks = BiasNetworks(3, 4).double()
    torch.nn.init.normal_(networks.weight_out, std=2.0)
    torch.nn.init.normal_(networks.bias_in)
    received = networks(ATTRIBUTES)
    for number in range(3):
        hidden = ATTRIBUTES @ networks.weight_in[number] + networks.bias_in[number]
        expected = hidden @ networks.weight_out[number] + networks.bias_out[number]
        assert torch.allclose(received[:, number], expected.clamp(min=0))
    assert (received == 0).any()
    assert (received > 0).any()


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
