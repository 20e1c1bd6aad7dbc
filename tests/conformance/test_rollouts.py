"""Every variant: whatever the policy, the referee finds nothing and agrees on the cost."""

from __future__ import annotations

import pytest
import torch

from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack

# Costs are compared in units of distance; float32 sums of the order of 10 are rounded by this much.
TOLERANCE = 1e-5


def assert_confirmed(world, row, sequence, cost, tolerance):
    """Every start of the instance: no violation, and the environment's cost is the referee's."""
    problem = world.problems[row]
    unit = 1.0 if problem.maximise_prize else problem.unit
    for routes, claimed in zip(world.plans(row, sequence), cost[row].tolist(), strict=True):
        verdict = judge(problem, routes)
        assert verdict.violations == (), routes
        expected = verdict.cost / unit
        assert claimed == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_rollouts_are_feasible_and_cost_what_the_referee_says(world, variant):
    for row in world.rows[variant]:
        assert_confirmed(world, row, world.random.sequence, world.random.cost, 1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_random_rollout_ends_in_a_dead_end(world, variant):
    final = world.random.state
    rows = world.rows[variant]
    assert final.done[rows].all()
    assert not final.stuck[rows].any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_greedy_rollouts_are_feasible_and_cost_what_the_referee_says(world, variant):
    for row in world.rows[variant]:
        assert_confirmed(world, row, world.greedy.sequence, world.greedy.cost, TOLERANCE)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sampled_rollouts_are_feasible_and_cost_what_the_referee_says(world, variant):
    for row in world.rows[variant]:
        assert_confirmed(world, row, world.sampled.sequence, world.sampled.cost, TOLERANCE)


def test_policies_differ_so_that_the_checks_see_many_plans(world):
    greedy, sampled = world.greedy.cost, world.sampled.cost
    assert (greedy != sampled).float().mean() > 0.2
    several = (world.random.sequence[:, 0, 1:] != world.random.sequence[:, 1, 1:]).any(dim=1)
    assert several.float().mean() > 0.9


def test_a_rollout_in_float64_finds_the_same_plans(world):
    # Where float32 rounds a near-tie the other way a plan may differ, now and then.
    same = (world.greedy.cost[:, :2] - world.double_greedy.cost).abs() < 1e-4
    assert same.float().mean() > 0.8


@pytest.mark.parametrize("variant", VARIANTS)
def test_alone_as_in_a_mixed_batch(world, variant):
    row = world.rows[variant][0]
    # The first moves say as much as all of them.
    batch = stack([world.problems[row]], dtype=torch.float64)
    alone = world.roll(batch, starts=2, brief=True).sequence[0]
    assert torch.equal(alone, world.double_greedy.sequence[row, :, : alone.shape[1]])


@pytest.mark.parametrize("variant", VARIANTS)
def test_padding_changes_nothing(world, variant):
    for row in world.rows[variant]:
        assert_same(world, row, world.padded_greedy, row)


def assert_same(world, row, other, other_row):
    """The same moves at the same cost, but for idle moves at the end."""
    moves, cost = world.double_greedy.sequence[row], world.double_greedy.cost[row]
    other_moves = other.sequence[other_row]
    length = min(moves.shape[1], other_moves.shape[1])
    assert torch.equal(moves[:, :length], other_moves[:, :length])
    longer = moves if moves.shape[1] > length else other_moves
    assert (longer[:, length:] == longer[:, length - 1 : length]).all()
    assert other.cost[other_row].tolist() == pytest.approx(cost.tolist(), abs=1e-12)
