"""The optimizers against their definitions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spacevrp.inference.weights import BRANCHES
from spacevrp.model import SpaceModel
from spacevrp.train.config import TrainConfig
from spacevrp.train.optim import MuonAdamW, WeightAverage, hidden_matrices, orthogonalise

Build = Callable[..., TrainConfig]


def with_gradients(config: TrainConfig, seed: int = 0) -> SpaceModel:
    torch.manual_seed(seed)
    model = SpaceModel(config.model)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    return model


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 8, 32), (1, 48, 16)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    matrices = torch.randn(shape).double()
    found = orthogonalise(matrices)
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    assert float(values.max() / values.min()) > 1.5  # there was something to do
    after = torch.linalg.svdvals(found)
    assert 0.6 < float(after.min()) <= float(after.max()) < 1.3
    # The same singular vectors: in their basis the result is diagonal.
    middle = left.transpose(-2, -1) @ found @ right.transpose(-2, -1)
    assert torch.allclose(middle, torch.diag_embed(torch.diagonal(middle, 0, -2, -1)), atol=1e-9)


def test_query_key_and_value_blocks_are_matrices_of_their_own(tiny: Build) -> None:
    config = tiny(muon_rate=1.0, weight_decay=0.0)
    model = with_gradients(config)
    layer = model.encoder.layers[0]
    gradient, before = layer.qkv.grad.clone(), layer.qkv.detach().clone()
    MuonAdamW(model, config).step()
    update = before - layer.qkv.detach()
    blocks = 3 * BRANCHES
    width = config.model.width
    for block in range(blocks):
        rows = slice(block * width, (block + 1) * width)
        # A first step's momentum is the gradient, up to a factor that does not matter.
        expected = orthogonalise(gradient[rows]) * 0.2 * width**0.5
        assert torch.allclose(update[rows], expected, atol=1e-4)
    # Orthogonalised as a whole it would be another matrix.
    whole = orthogonalise(gradient) * 0.2 * width**0.5
    assert float((update - whole).norm() / update.norm()) > 0.1


def test_muon_has_the_hidden_matrices_and_no_others(tiny: Build) -> None:
    model = SpaceModel(tiny().model)
    assert set(hidden_matrices(model)) == {
        f"encoder.layers.0.{part}" for part in ("qkv", "out", "feed_in.weight", "feed_out.weight")
    }


def test_adamw_is_torchs_adamw(tiny: Build) -> None:
    config = tiny(optimizer="adamw", learning_rate=1e-2, betas=(0.8, 0.95), weight_decay=0.1)
    ours, theirs = with_gradients(config), with_gradients(config)
    optimizer = MuonAdamW(ours, config)
    reference = torch.optim.AdamW(
        theirs.parameters(), lr=1e-2, betas=(0.8, 0.95), weight_decay=0.1, eps=1e-8
    )
    for number in range(6):
        torch.manual_seed(number)
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            other.grad = torch.randn_like(other)
            one.grad.copy_(other.grad)
        factor = 1.0 / (1 + number)
        optimizer.set_factor(factor)
        reference.param_groups[0]["lr"] = 1e-2 * factor
        optimizer.step()
        reference.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_bias_networks_have_a_rate_of_their_own(tiny: Build) -> None:
    """A tenth of the rate is a tenth of the step, and only theirs."""
    moved = {}
    for rate in (1.0, 0.1):
        config = tiny(bias_rate=rate)
        model = with_gradients(config)
        before = {name: value.detach().clone() for name, value in model.named_parameters()}
        MuonAdamW(model, config).step()
        moved[rate] = {n: value.detach() - before[n] for n, value in model.named_parameters()}
    assert {n for n in moved[1.0] if n.startswith("bias.")} == {
        "bias.weight_in",
        "bias.bias_in",
        "bias.weight_out",
        "bias.bias_out",
    }
    for name, whole in moved[1.0].items():
        share = 0.1 if name.startswith("bias.") else 1.0
        assert torch.allclose(moved[0.1][name], share * whole, atol=1e-6), name


@pytest.mark.parametrize(("own", "kept"), [(0.0, 0.95), (0.1, 0.9)])
def test_muon_decays_its_weights_by_its_own_rate(tiny: Build, own: float, kept: float) -> None:
    """Without a gradient only the decay is left."""
    config = tiny(muon_rate=0.5, learning_rate=0.25, weight_decay=0.1, muon_decay=own)
    model = with_gradients(config)
    for parameter in model.parameters():
        parameter.grad.zero_()
    hidden, other = model.encoder.layers[0].qkv, model.embed_types
    before, other_before = hidden.detach().clone(), other.detach().clone()
    MuonAdamW(model, config).step()
    assert torch.allclose(hidden.detach(), before * kept)
    assert torch.allclose(other.detach(), other_before * 0.975)


def test_clipping_scales_all_gradients_alike(tiny: Build) -> None:
    config = tiny(clip=0.5)
    model = with_gradients(config)
    gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
    norm = MuonAdamW(model, config).clip()
    after = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert float(norm) == pytest.approx(float(gradients.norm()), rel=1e-5)
    assert torch.allclose(after, gradients * (0.5 / float(norm)), rtol=1e-4)


def test_the_average_by_hand(tiny: Build) -> None:
    """After update k the new weights count 10 / (k + 10), but never less than 1 - decay."""
    config = tiny(average=0.2, learning_rate=1e-9, muon_rate=1e-9)
    model = with_gradients(config)
    optimizer = MuonAdamW(model, config)
    average = WeightAverage(model, 0.2, optimizer)
    value = model.embed_types
    expected = float(value.detach()[0, 0])
    for number, (weight, share) in enumerate([(1.0, 10 / 11), (2.0, 10 / 12), (5.0, 0.8)], 1):
        optimizer.count.fill_(number)
        with torch.no_grad():
            value.fill_(weight)
        average.update()
        expected += share * (weight - expected)
        found = average.state()["embed_types"]
        assert float(found[0, 0]) == pytest.approx(expected, rel=1e-6)
    assert float(value.detach()[0, 0]) == 5.0  # the weights themselves are left alone
