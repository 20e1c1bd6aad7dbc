"""Policy heads that learn together: each is paid for what the others miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spacevrp.model.weights import load_weights
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train.advantage import contributions
from spacevrp.train.config import TrainConfig
from spacevrp.train.loop import train
from spacevrp.train.naive import ahead_of_rivals
from spacevrp.train.state import TrainState

CPU = torch.device("cpu")
INF = float("inf")
Build = Callable[..., TrainConfig]


@pytest.fixture
def heads(tiny: Build) -> Build:
    """A tiny run whose three augmentations learn together."""

    def build(**changes: Any) -> TrainConfig:
        config = tiny(**changes)
        return replace(config, model=replace(config.model, policy_heads=2), augmentations=3)

    return build


# ------------------------------------------------------------------------------- what is paid for


def test_a_trajectory_is_paid_for_what_it_saves_over_the_best_of_the_other_augmentations(
    heads: Build,
) -> None:
    config = heads(batch=1)
    cost = torch.tensor([[[5.0, 9.0], [7.0, 6.0], [8.0, 6.0]]], dtype=torch.float64)
    found, mean = contributions(cost, config)
    deviation = cost.std(correction=0)
    # 5 beats 7 at the first start; at the second two are equally good, and neither is needed.
    expected = torch.tensor([[[-2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]]).double() / deviation / 2
    torch.testing.assert_close(found, expected)
    assert mean.item() == pytest.approx(41 / 6)


def test_unfinished_plans_neither_win_nor_lose(heads: Build) -> None:
    config = heads(batch=1)
    cost = torch.tensor([[[INF, 4.0, 3.0], [INF, INF, 5.0], [2.0, INF, 6.0]]]).double()
    found, mean = contributions(cost, config)
    # Alone at its start a plan has beaten nobody.
    assert found[0, :, :2].abs().max() == 0
    deviation = torch.tensor([4.0, 3.0, 5.0, 2.0, 6.0]).double().std(correction=0)
    assert found[0, 0, 2].item() == pytest.approx(float(-2.0 / deviation / 3))
    assert mean.item() == pytest.approx(4.0)


@pytest.mark.parametrize("rivals", [0, 1, 2, 3, 5, 99])
def test_contributions_equal_those_of_the_definition(heads: Build, rivals: int) -> None:
    generator = torch.Generator().manual_seed(rivals)
    cost = torch.rand(4, 3, 5, generator=generator, dtype=torch.float64)
    cost[1, 2, 3] = cost[2, :, 1] = INF
    config = replace(heads(batch=12), rivals=rivals)
    found, _ = contributions(cost, config)
    slow = ahead_of_rivals(cost.flatten(0, 1), 3, rivals) / 12
    torch.testing.assert_close(found.flatten(0, 1), slow)
    assert (found < 0).any()


def test_the_replay_equals_autograd_through_the_rollout(heads: Build, both_gradients) -> None:
    for changes in ({}, {"rivals": 2}, {"sure": 0.9}):
        naive, cost = both_gradients(replace(heads(precision="float64"), **changes))
        assert cost.shape == (36, 6)
        assert set(naive) == {
            f"policy_heads.{name}" for name in ("first", "last", "shift", "shift_of_attributes")
        }
        assert all(float(gradient.norm()) > 1e-9 for gradient in naive.values())


# ------------------------------------------------------------------------------------------- runs


def test_a_run_of_the_network_leaves_its_policy_heads_alone(heads: Build, tmp_path: Path) -> None:
    config = replace(heads(steps=2, average=0.0), augmentations=1)
    before = TrainState(config, CPU).model.state_dict()
    train(config, tmp_path / "run", device="cpu", progress=False)
    after, _ = load_weights(tmp_path / "run")
    for name, value in after.state_dict().items():
        if name.startswith("policy_heads."):
            assert torch.equal(value, before[name]), name
    assert not torch.equal(after.query_last.base, before["query_last.base"])


def test_as_many_views_as_policy_heads_and_one(tiny: Build) -> None:
    with pytest.raises(
        SpacevrpError, match=r"augmentations: expected 1, or 1, one more.*received 8"
    ):
        tiny(augmentations=8)
