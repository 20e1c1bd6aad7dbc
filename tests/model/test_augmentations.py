"""Seeds of pivots: one customer for training, a fixed schedule of augmentations for solving."""

from __future__ import annotations

import torch

from spacevrp.generators.testsets import generate
from spacevrp.model import ModelConfig, augmentation_seeds, random_seeds
from spacevrp.model.pivots import NO_SEED
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack

CONFIG = ModelConfig(pivots=6)


def instances(*names):
    return [generate(name, 8, 1, 2)[0] for name in names]


MIXED = ("CVRP", "MDCVRP", "TSP")
DEPOTS = {"CVRP": 1, "MDCVRP": 3, "TSP": 0}


def test_the_first_augmentations_take_one_customer_each_and_all_of_them():
    seeds = augmentation_seeds(stack(instances(*MIXED)), CONFIG, 8, seed=1)
    for row, name in enumerate(MIXED):
        depots = DEPOTS[name]
        assert (seeds[row, :, :depots] == torch.arange(depots)).all()
        chosen = seeds[row, :, depots].tolist()
        assert sorted(chosen) == list(range(depots, depots + 8))
        assert (seeds[row, :, depots + 1 :] == NO_SEED).all()


def test_later_augmentations_take_two_customers():
    seeds = augmentation_seeds(stack(instances(*MIXED)), CONFIG, 30, seed=1)
    for row, name in enumerate(MIXED):
        depots = DEPOTS[name]
        assert (seeds[row, :, :depots] == torch.arange(depots)).all()
        pairs = seeds[row, 8:, depots : depots + 2]
        assert (pairs >= depots).all()
        assert (pairs < depots + 8).all()
        assert (pairs[:, 0] != pairs[:, 1]).all()
        assert (seeds[row, 8:, depots + 2 :] == NO_SEED).all()
        assert len({tuple(pair) for pair in pairs.tolist()}) > 10


def test_the_same_seed_gives_the_same_augmentations_whatever_the_batch():
    problems = instances(*MIXED)
    together = augmentation_seeds(stack(problems, 20), CONFIG, 20, seed=5)
    for row, problem in enumerate(problems):
        assert torch.equal(
            augmentation_seeds(stack([problem]), CONFIG, 20, seed=5)[0], together[row]
        )
    assert not torch.equal(augmentation_seeds(stack(problems), CONFIG, 20, seed=6), together)


def test_training_seeds_are_the_depots_and_any_customer():
    batch = stack(instances(*MIXED), 14)
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack([random_seeds(batch, CONFIG, generator) for _ in range(200)])
    for row, name in enumerate(MIXED):
        depots = DEPOTS[name]
        assert (draws[:, row, :depots] == torch.arange(depots)).all()
        assert set(draws[:, row, depots].tolist()) == set(range(depots, depots + 8))
        assert (draws[:, row, depots + 1 :] == NO_SEED).all()


def test_random_pivots_are_distinct_nodes_and_never_padding():
    config = ModelConfig(pivots=6, pivot_choice="random")
    small = Problem.from_coordinates([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
    batch = stack([*instances(*MIXED), small], 14)
    for seeds in (random_seeds(batch, config), augmentation_seeds(batch, config, 1, 0)[:, 0]):
        for row, size in enumerate((9, 11, 8, 4)):
            chosen = [seed for seed in seeds[row].tolist() if seed != NO_SEED]
            assert len(set(chosen)) == len(chosen) == min(6, size)
            assert max(chosen) < size


def test_random_pivots_begin_with_the_depots_where_depots_are_seeds():
    """The paper's ablation without furthest pivot sampling keeps the depot as the first pivot."""
    batch = stack(instances("MDCVRP", "CVRP", "TSP"))
    config = ModelConfig(pivots=6, pivot_choice="random")
    drawn = [random_seeds(batch, config, torch.Generator().manual_seed(i)) for i in range(40)]
    for seeds in (
        torch.stack(drawn, dim=1),
        augmentation_seeds(batch, config, 40, 0),
    ):  # (3, 40, 6)
        assert (seeds[0, :, :3] == torch.arange(3)).all()
        assert (seeds[0, :, 3:] >= 3).all()
        assert (seeds[1, :, 0] == 0).all()
        assert set(seeds[1, :, 1].tolist()) == set(range(1, 9))  # any customer comes next
        assert set(seeds[2, :, 0].tolist()) == set(range(8))  # no depot: any node is the first
    few = ModelConfig(pivots=2, pivot_choice="random")
    for seeds in (random_seeds(batch, few), augmentation_seeds(batch, few, 1, 0)[:, 0]):
        assert int(seeds[0, 0]) == 0
        assert int(seeds[0, 1]) >= 3  # room for a customer
    free = ModelConfig(pivots=6, pivot_choice="random", depot_seed=False)
    drawn = [random_seeds(batch, free, torch.Generator().manual_seed(i)) for i in range(40)]
    for seeds in (torch.stack(drawn, dim=1), augmentation_seeds(batch, free, 40, 0)):
        assert set(seeds[1, :, 0].tolist()) >= {0, 1, 2}  # a depot is a node like others


def test_without_depot_seeds_only_customers_are_seeds():
    config = ModelConfig(pivots=6, depot_seed=False)
    batch = stack(instances("MDCVRP"))
    for seeds in (random_seeds(batch, config), augmentation_seeds(batch, config, 1, 0)[:, 0]):
        assert int(seeds[0, 0]) >= 3
        assert (seeds[0, 1:] == NO_SEED).all()
