"""The replayed gradient is the gradient, and it points the right way; policy heads too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from spacevrp.decode.replay import log_probabilities
from spacevrp.model import random_seeds
from spacevrp.model.weights import load_weights
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import work
from spacevrp.train.advantage import coefficients, contributions, with_failures
from spacevrp.train.config import TrainConfig
from spacevrp.train.credit import known, less_what_was_known
from spacevrp.train.loop import train
from spacevrp.train.naive import ahead_of_rivals
from spacevrp.train.state import TrainState
from spacevrp.train.step import Tally, TrainStep
from spacevrp.train.work import CapturedWork, EagerWork, Shards

from .conftest import TINY_MODEL

CPU = torch.device("cpu")
# Beside others, so that the instances of a batch differ in their number of depots.
SEVERAL_DEPOTS = ("MDCVRP", "MDOCVRPTW", "AMDCVRPB", "MDCVRPBLTW", "CVRP", "TSP")
# Half of the fleets have a limit, which random moves hardly ever keep.
LIMITED_FLEETS = {
    "variants": ("CVRP", "MDOCVRPB"),
    "varied": 1.0,
    "trajectories": 6,
    "model": replace(TINY_MODEL, problem_bits=True),
}
Build = Callable[..., TrainConfig]
NewStep = Callable[[TrainConfig], TrainStep]


@pytest.mark.parametrize(
    ("advantage", "load_rule", "size", "credit"),
    [
        ("none", "single", 6, {}),
        ("problem", "paper", 8, {}),
        ("instance", "separate", 6, {}),
        ("instance", "single", 8, {"baseline": "state", "trajectories": 12}),
        ("instance", "single", 8, {"sure": 0.9}),
        ("instance", "single", 8, {"instance_clip": 1.0}),
        ("instance", "single", 8, {"variants": SEVERAL_DEPOTS, "depot_temperature": 0.0}),
        ("instance", "single", 22, LIMITED_FLEETS),
        ("none", "paper", 8, {"variants": SEVERAL_DEPOTS, "sure": 0.9, "baseline": "state"}),
        (
            "instance",
            "single",
            8,
            {"variants": SEVERAL_DEPOTS, "depot_temperature": 0.3},
        ),
    ],
)
def test_the_replay_equals_autograd_through_the_rollout(
    tiny: Build, both_gradients, advantage: str, load_rule: str, size: int, credit: dict[str, Any]
) -> None:
    config = tiny(
        precision="float64", advantage=advantage, load_rule=load_rule, size=size, **credit
    )
    assert config.batch == 12  # instances; at least one of every problem
    naive, cost = both_gradients(config)
    assert cost.dtype == torch.float64
    some = torch.isfinite(cost).any(dim=1)
    spread = torch.where(torch.isfinite(cost), cost, 99.0).std(dim=1)
    assert bool((spread[some] > 0).all())  # every instance teaches something that has a plan
    assert bool(some.all()) or (credit is LIMITED_FLEETS and some.float().mean() > 0.8)
    idle = {name for name, gradient in naive.items() if float(gradient.norm()) < 1e-12}
    # The normalisation that follows takes this shift out again; everything else learns.
    assert idle == {"encoder.layers.0.feed_out.bias"}


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_cheaper_trajectories_become_likelier(
    tiny: Build, new_step: NewStep, optimizer: str
) -> None:
    """Two solutions of one instance: after a small step the cheaper one has gained."""
    config = tiny(
        variants=("TSP",),
        batch=1,
        trajectories=2,
        precision="float64",
        optimizer=optimizer,
        learning_rate=1e-5,
        muon_rate=1e-5,
    )
    step, shards = new_step(config), Shards(config, CPU)
    torch.manual_seed(2)
    batch = shards.samplers[0].draw(None)
    environment, starts = step.begin(batch, 2)
    seeds = random_seeds(batch, config.model)
    tables = step.model(batch, seeds, step.dtype)
    trace = step.roll_out(environment, tables, starts)
    cheap, dear = trace.cost[0].argsort().tolist()
    assert float(trace.cost[0, dear] - trace.cost[0, cheap]) > 1e-3

    def lead() -> float:
        with torch.no_grad():
            tables = step.model(batch, seeds, step.dtype)
            chance = log_probabilities(tables, trace, slice(None)).sum(dim=1)[0]
        return float(chance[cheap] - chance[dear])

    before = lead()
    coefficient = step.weigh(batch, trace, shards.problems[0])
    assert float(coefficient[0, cheap]) < 0 < float(coefficient[0, dear])
    step.backward(tables, step.replay(environment, tables, trace, coefficient))
    step.update()
    assert lead() > before


def rolled_out(new_step: NewStep, config: TrainConfig, seed: int) -> tuple[Any, ...]:
    """A step, its shards, a batch, starts, and the trace of rollouts."""
    step, shards = new_step(config), Shards(config, CPU)
    torch.manual_seed(seed)
    batch = shards.samplers[0].draw(None)
    environment, starts = step.begin(batch, config.trajectories)
    return step, shards, batch, starts, step.roll_out(environment, step.forward(batch), starts)


def test_the_limit_of_moves_is_that_of_the_size(tiny, new_step, monkeypatch):
    """In proportion to the customers; the depot is no more of them when there are fewer."""
    moves = []

    def spy(*_: object, **options: Any) -> SimpleNamespace:
        moves.append(options["moves"])
        return SimpleNamespace(trace=True)

    monkeypatch.setattr("spacevrp.train.step.rollout", spy)
    config = tiny(variants=("CVRP",), size=10, sizes=(4, 30), max_moves=15)
    for size in (4, 10, 30):
        step, shards = new_step(config), Shards(config.at(size), CPU)
        step.fused = True
        monkeypatch.setattr(step, "uses_kernels", lambda _: False)
        batch = shards.samplers[0].draw(None)
        environment, starts = step.begin(batch, shards.trajectories)
        step.roll_out(environment, step.forward(batch), starts)
    assert moves == [6, 15, 45]


# --------------------------------------------------------------------------------- the advantage


def hand_made(tiny: Build, advantage: str, costs: list[list[float]], problems: list[int]) -> Tensor:
    config = tiny(variants=("TSP", "CVRP"), batch=len(costs), advantage=advantage)
    coefficient, _ = coefficients(torch.tensor(costs).double(), config, torch.tensor(problems))
    return coefficient * len(costs) * len(costs[0])


def test_advantages_by_hand(tiny: Build) -> None:
    """Costs less their mean; over nothing, or the deviation of their instance or problem."""
    costs, problems = [[1.0, 2.0, 3.0], [4.0, 4.0, 10.0], [0.0, 2.0, 1.0]], [0, 0, 1]
    plain = torch.tensor([[-1, 0, 1], [-2, -2, 4], [-1, 1, 0]]).double()
    both, small, large = ((2 / 3 + 8) / 2) ** 0.5, (2 / 3) ** 0.5, 8**0.5
    for advantage, over in (
        ("none", [1, 1, 1]),
        ("instance", [small, large, small]),
        ("problem", [both, both, small]),
    ):
        expected = plain / torch.tensor(over).unsqueeze(1)
        assert torch.allclose(hand_made(tiny, advantage, costs, problems), expected, atol=1e-6)


def test_the_loss_is_a_mean_over_the_batch_and_its_trajectories(tiny: Build) -> None:
    config = tiny(batch=2, advantage="none")
    costs = torch.tensor([[1.0, 3.0], [2.0, 6.0]])
    coefficient, mean = coefficients(costs, config, torch.tensor([0, 1]))
    assert coefficient.tolist() == [[-0.25, 0.25], [-0.5, 0.5]]
    assert mean.tolist() == [2.0, 4.0]


def test_the_best_trajectories_lead(tiny: Build) -> None:
    """Ties lead together; one that did not finish never does."""
    config = tiny(batch=3, advantage="none", leader=3.0)
    costs = torch.tensor([[1, 2, 3], [4, 4, 10], [float("inf"), 5, 7]]).double()
    coefficient, mean = coefficients(costs, config, torch.tensor([0, 0, 1]))
    assert (coefficient * 9).tolist() == [[-3, 0, 1], [-6, -6, 4], [0, -3, 1]]
    assert mean.tolist() == [2, 6, 6]


def test_what_was_known_before_a_decision_is_taken_off(tiny: Build, new_step: NewStep) -> None:
    """Had the way of the first four moves decided everything, later decisions have no merit."""
    config = tiny(variants=("TSP",), batch=2, size=12, trajectories=12, precision="float64")
    _, _, batch, starts, trace = rolled_out(new_step, config, 3)
    (way, *_), active = known(batch, trace)
    assert bool((way[:, 0] == 0).all())  # a tour begins where it is
    legs = [batch.distance[0, a, b] for a, b in pairwise([starts[0, 5], *trace.action[0, :4, 5]])]
    assert float(way[0, 4, 5]) == pytest.approx(float(sum(legs)))
    decided = way[:, 4] - way[:, 4].mean(dim=1, keepdim=True)  # (B, P)
    left = less_what_was_known(batch, trace, decided)
    assert bool((left[:, 4].abs() < 1e-9).all())
    assert float(left[:, 1].abs().max()) > 1e-3  # by then it was not known yet
    assert float(left[:, 4:].square().sum()) < 0.9 * float(decided.square().sum() * active.shape[1])
    sums = left.sum(dim=2)
    assert torch.allclose(sums, torch.zeros_like(sums), atol=1e-9)


@pytest.mark.parametrize("advantage", ["none", "problem", "instance"])
def test_unfinished_trajectories_count_for_nothing(tiny: Build, advantage: str) -> None:
    found = hand_made(tiny, advantage, [[1, float("inf"), 3]], [0])
    assert torch.allclose(found, torch.tensor([[-1.0, 0.0, 1.0]]).double(), atol=1e-6)
    nothing = hand_made(tiny, advantage, [[float("inf")] * 2], [0])
    assert nothing.tolist() == [[0.0, 0.0]]


def test_plans_that_a_small_fleet_leaves_unfinished_are_dearest(
    tiny: Build, new_step: NewStep
) -> None:
    config = tiny(variants=("CVRP",), batch=3, trajectories=3, precision="float64")
    _, _, batch, _, _ = rolled_out(new_step, config, 4)
    none = float("inf")
    costs = torch.tensor([[4, none, 6], [none] * 3, [4, none, 6]]).double()
    assert torch.equal(with_failures(costs, batch), costs)  # no fleet has a limit
    limited = batch.replace(max_routes=torch.tensor([2, 2, 6]))  # the third has six customers
    assert with_failures(costs, limited).tolist() == [[4, 8, 6], [none] * 3, [4, none, 6]]


def test_small_fleets_are_learned_from(tiny: Build, new_step: NewStep) -> None:
    """Trajectories that run out of vehicles get unlikelier; those that do not, likelier."""
    config = tiny(size=22, **LIMITED_FLEETS, precision="float64")
    step, shards, batch, _, trace = rolled_out(new_step, config, 4)
    coefficient = step.weigh(batch, trace, shards.problems[0])
    limited = batch.max_routes < 22
    finished = torch.isfinite(trace.cost)
    some = limited & finished.any(dim=1) & ~finished.all(dim=1)
    assert some.any()
    assert (coefficient[some][~finished[some]] > 0).all()
    free = ~limited
    assert finished[free].all()
    assert free.any()


def test_instances_without_a_plan_are_in_no_mean() -> None:
    tally = Tally(2, CPU)
    none = float("inf")
    costs = torch.tensor([[4.0, 2.0], [none, none], [none, 5.0]])
    tally.add_costs(torch.tensor([0, 0, 1]), torch.tensor([3.0, 0.0, 5.0]), costs)
    assert tally.best.tolist() == [2.0, 5.0]
    assert tally.cost.tolist() == [3.0, 5.0]
    assert tally.planned.tolist() == [1, 1]
    assert tally.instances.tolist() == [2, 1]
    assert int(tally.unfinished) == 3


def test_sure_decisions_are_not_learned_from(tiny: Build, new_step: NewStep) -> None:
    config = tiny(variants=("CVRP",), batch=2, trajectories=6, precision="float64", sure=0.8)
    step, shards, batch, _, trace = rolled_out(new_step, config, 4)
    plain, _ = coefficients(trace.cost, config, shards.problems[0])
    found = step.weigh(batch, trace, shards.problems[0])
    assert trace.likeliest is not None
    assert found.shape == trace.likeliest.shape
    sure = trace.likeliest >= 0.8
    assert 0 < int((sure & trace.active).sum()) < int(trace.active.sum())
    assert bool((found[sure] == 0).all())
    assert torch.equal(found[~sure], plain.unsqueeze(1).expand_as(found)[~sure])
    # With one legal move left there is nothing to decide.
    assert trace.allowed is not None
    forced = (trace.allowed.sum(dim=-1) == 1) & trace.active
    assert bool(forced.any())
    assert bool((trace.likeliest[forced] == 1).all())


INF = float("inf")


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
    config = replace(heads(), rivals=rivals)
    found, _ = contributions(cost, config)
    slow = ahead_of_rivals(cost.flatten(0, 1), 3, rivals) / len(cost)
    torch.testing.assert_close(found.flatten(0, 1), slow)
    assert (found < 0).any()


def test_the_replay_of_policy_heads_equals_autograd(heads: Build, both_gradients) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"batch": 12, "shards": 2},
        {"batch": 8, "shards": 2},
        {"batch": 6, "mixed": False},
        {"batch": 13, "size": 24, "varied": 0.4, "trajectories": 3},
    ],
    ids=["one mix", "two shards", "a small batch", "one problem a batch", "varied"],
)
def test_captured_pieces_add_up_to_the_eager_step(tiny, new_step, monkeypatch, changes):
    """The batch that a graph reads is one and the same; every draw must fill all of it."""
    # In place of a graph: what was captured, done again on the same tensors.
    monkeypatch.setattr(work, "capture", lambda piece, pool=None: piece)
    config = tiny(precision="float64", **changes)
    found = []
    for kind in (EagerWork, CapturedWork):
        torch.manual_seed(1)
        step = new_step(config)
        pieces = kind(step, Shards(config, CPU))
        for number in range(4):
            for shard in range(config.shards):
                torch.manual_seed(10 * number + shard)
                pieces.gradient(number, shard)
            pieces.update()
        found.append([parameter.detach().clone() for parameter in step.model.parameters()])
    for eager, captured in zip(*found, strict=True):
        assert torch.allclose(eager, captured, rtol=1e-9, atol=1e-12)
