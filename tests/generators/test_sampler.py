"""The sampler for training: every field of a batch, and the same distribution as the test sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from spacevrp.generators import generate, recipe, variety
from spacevrp.generators.sampler import Sampler
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import SEEN_NAMES, VARIANTS, Variant
from spacevrp.tensors.batch import Batch, stack

ALL = list(VARIANTS.values())


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def unstack(batch: Batch, variants: Sequence[Variant], load_rule: str) -> list[Problem]:
    """The instances of a batch, read off its tensors alone (and what their names mean)."""
    problems = []
    for row, variant in enumerate(variants):
        features = variant.features
        size = int(batch.is_node[row].sum())

        def numbers(tensor: Tensor, row: int = row, size: int = size) -> np.ndarray[Any, Any]:
            return tensor[row, :size].double().numpy().copy()

        penalty = numbers(batch.penalty)
        penalty[batch.compulsory[row, :size].numpy()] = np.inf
        pickups = batch.is_pickup[row].nonzero()[:, 0].tolist()
        fleet, customers = int(batch.max_routes[row]), int((~batch.is_depot[row, :size]).sum())
        if features.several_routes and fleet > customers:
            fleet = None  # no limit
        durations = batch.duration[row, :size, :size].double().numpy()
        problems.append(
            Problem.from_matrix(
                batch.distance[row, :size, :size].double().numpy(),
                durations=None if batch.duration is batch.distance else durations,
                depots=batch.is_depot[row].nonzero()[:, 0].tolist(),
                demand=numbers(batch.demand),
                capacity=float(batch.capacity[row]),
                load_rule=load_rule,
                windows=np.stack([numbers(batch.opening), numbers(batch.closing)], axis=1),
                service=numbers(batch.service),
                max_length=float(batch.max_length[row]),
                open_routes=features.open_routes,
                backhaul_last=features.backhaul_last,
                prize=numbers(batch.prize),
                penalty=None if features.orienteering else penalty,
                min_prize=recipe.MIN_PRIZE if features.prize_collecting else 0.0,
                revealed_prize=numbers(batch.revealed_prize)
                if features.stochastic_prizes
                else None,
                maximise_prize=features.orienteering,
                pairs=tuple((pickup, int(batch.partner[row, pickup])) for pickup in pickups),
                max_routes=fleet,
                variant=variant.name,
            )
        )
    return problems


@pytest.mark.parametrize(
    ("size", "num_nodes", "load_rule", "dtype"),
    [
        (10, None, "single", torch.float32),
        (4, 9, "paper", torch.float32),
        (10, 16, "separate", torch.float64),
    ],
)
def test_a_batch_of_all_variants_equals_the_stack_of_its_instances(
    size, num_nodes, load_rule, dtype
):
    batch = Sampler(ALL, size, "cpu", num_nodes, load_rule, dtype).draw(seeded(1))
    problems = unstack(batch, ALL, load_rule)
    expected = stack(problems, num_nodes=num_nodes, dtype=dtype)
    assert batch.duration is batch.distance
    for field in fields(Batch):
        ours, theirs = getattr(batch, field.name), getattr(expected, field.name)
        assert ours.dtype == theirs.dtype, field.name
        assert torch.equal(ours, theirs), field.name
    for problem, variant in zip(problems, ALL, strict=True):
        assert problem.inferred_features == variant.features


def test_a_varied_batch_equals_the_stack_of_its_instances() -> None:
    ((sizes, varied),) = variety.spread(ALL, 26, 1.0)
    assert len(set(sizes)) > 2
    batch = Sampler(ALL, sizes, "cpu", 29, "single", torch.float64, varied).draw(seeded(1))
    expected = stack(unstack(batch, ALL, "single"), num_nodes=29, dtype=torch.float64)
    for field in fields(Batch):
        assert torch.equal(getattr(batch, field.name), getattr(expected, field.name)), field.name


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("size", [4, 26])
def test_every_sampled_customer_can_be_served(size: int, share: float) -> None:
    """At the smaller size most asymmetric maps must shrink first."""
    sizes, varied = variety.spread(ALL, size, share)[0]
    batch = Sampler(ALL, sizes, varied=varied).draw(seeded(2))
    for problem in unstack(batch, ALL, "single"):
        if problem.pairs or problem.max_routes is not None:
            continue
        for depot in problem.depots:
            home = [] if problem.open_routes else [depot]
            plan = [[depot, node, *home] for node in problem.customers]
            assert judge(problem, plan).violations == ()


@pytest.mark.parametrize("name", ["ACVRPL", "AMDCVRPTW", "AOP"])
def test_maps_shrink_just_enough(name: str) -> None:
    variant = VARIANTS[name]
    batch = Sampler([variant] * 50, 5).draw(seeded(3))
    depots = recipe.num_depots(variant.features)
    out = batch.distance[:, :depots, depots:].amax(dim=1)
    back = batch.distance[:, depots:, :depots].amax(dim=2)
    reach = (out + back).amax(dim=1)
    limit = recipe.reach_limit(variant.features, 5)
    assert (reach <= limit + 1e-6).all()
    shrunk = (reach - limit).abs() < 1e-6
    assert 0 < shrunk.sum() < 50  # some maps had to shrink, some were small enough


def test_padding_offers_no_short_cuts() -> None:
    batch = Sampler([VARIANTS["ATSP"]] * 20, 8, num_nodes=40).draw(seeded(4))
    assert (batch.distance[:, 8:] == 0).all()
    assert (batch.distance[:, :, 8:] == 0).all()
    inner = batch.distance[:, :8, :8]
    wide = Sampler([VARIANTS["ATSP"]] * 20, 40).draw(seeded(4)).distance
    assert inner.mean() > 2 * wide.mean()  # 40 nodes know many more detours than 8


def per_instance(batch: Batch) -> dict[str, Tensor]:
    """Numbers of each instance whose means tell distributions apart, (B,) each."""
    closing = torch.where(batch.closing.isinf(), 0.0, batch.closing)
    return {
        "distance": batch.distance.mean(dim=(1, 2)),
        "spread": batch.distance.std(dim=(1, 2)),
        "demand": batch.demand.mean(dim=1),
        "goods": batch.demand.abs().mean(dim=1),
        "opening": batch.opening.mean(dim=1),
        "closing": closing.mean(dim=1),
        "width": (closing - batch.opening).square().mean(dim=1),
        "prize": batch.prize.mean(dim=1),
        "squared prize": batch.prize.square().mean(dim=1),
        "penalty": batch.penalty.mean(dim=1),
        "real prize": batch.revealed_prize.square().mean(dim=1),
        "required": batch.min_prize,
    }


@pytest.mark.parametrize("name", ["MDCVRPBTW", "AMDCVRPBPLTW", "OP", "AOP", "SPCTSP", "PDCVRP"])
def test_the_distribution_is_that_of_the_test_sets(name: str) -> None:
    count, size = 150, 30
    theirs = per_instance(stack(generate(name, size, count)))
    ours = per_instance(Sampler([VARIANTS[name]] * count, size).draw(seeded(6)))
    for key, values in ours.items():
        difference = values.mean() - theirs[key].mean()
        deviation = ((values.var() + theirs[key].var()) / count).sqrt()
        assert abs(difference) <= 4.5 * deviation + 1e-6, key


def test_draws_follow_their_generator() -> None:
    sampler = Sampler([VARIANTS[name] for name in SEEN_NAMES], 10)
    generator = seeded(8)
    first, second = sampler.draw(generator), sampler.draw(generator)
    again = sampler.draw(seeded(8))
    assert torch.equal(first.distance, again.distance)
    assert torch.equal(first.demand, again.demand)
    assert not (first.distance == second.distance)[:, 0, 1].any()


def test_a_draw_waits_for_no_value_and_no_shape() -> None:
    """Fake tensors have no values: reading one, as the host would have to, raises."""
    with FakeTensorMode():
        batch = Sampler(ALL, 10, varied=[True] * 110).draw()
    assert batch.distance.shape == (110, 13, 13)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_draw_can_be_captured_in_a_graph() -> None:
    sampler = Sampler(ALL, 10, "cuda", varied=[True] * 110)
    sampler.draw()  # compiles the kernel
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        batch = sampler.draw()
    draws = []
    for _ in range(2):
        graph.replay()
        drawn = batch.to("cpu")
        draws.append(drawn)
        expected = stack(unstack(drawn, ALL, "single"))
        for field in fields(Batch):
            ours, theirs = getattr(drawn, field.name), getattr(expected, field.name)
            torch.testing.assert_close(ours, theirs, msg=field.name)
    assert not (draws[0].distance == draws[1].distance)[:, 0, 1].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sampler(ALL, [10, 10]), "size: expected 110 values, received 2"),
        (lambda: Sampler(ALL, 10, varied=[True]), "varied: expected 110 values, received 1"),
        (lambda: Sampler([], 10), "variants: expected at least one, received none"),
        (lambda: Sampler(ALL, 11), "size: expected an even number, as customers come in pairs"),
        (lambda: Sampler(ALL, 10, num_nodes=12), "num_nodes: expected at least 13, received 12"),
        (lambda: Sampler(ALL, 10, load_rule="any"), "load_rule: expected one of .* received 'any'"),
    ],
)
def test_impossible_requests_are_refused(make: Callable[[], Sampler], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        make()
