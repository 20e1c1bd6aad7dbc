"""Seeds of pivots, furthest pivots, and the representation built on them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators.testsets import generate
from spacevrp.model import ModelConfig, augmentation_seeds, random_seeds
from spacevrp.model.geometry import normalise
from spacevrp.model.pivots import NO_SEED, frechet, furthest_pivots
from spacevrp.problems.problem import Problem
from spacevrp.tensors import stack

CONFIG = ModelConfig(pivots=6)


def instances(*names):
    return [generate(name, 8, 1, 2)[0] for name in names]


MIXED = ("CVRP", "MDCVRP", "TSP")
DEPOTS = {"CVRP": 1, "MDCVRP": 3, "TSP": 0}


def test_augmentations_take_one_customer_each_then_two():
    seeds = augmentation_seeds(stack(instances(*MIXED)), CONFIG, 30, seed=1)
    for row, name in enumerate(MIXED):
        depots = DEPOTS[name]
        customers = list(range(depots, depots + 8))
        assert (seeds[row, :, :depots] == torch.arange(depots)).all()
        assert sorted(seeds[row, :8, depots].tolist()) == customers
        assert (seeds[row, :8, depots + 1 :] == NO_SEED).all()
        pairs = seeds[row, 8:, depots : depots + 2]
        assert set(pairs.flatten().tolist()) <= set(customers)
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


def quasimetric(nodes: int, seed: int) -> torch.Tensor:
    """Random one-way distances that obey the triangle inequality, (N, N) float64."""
    generator = np.random.default_rng(seed)
    matrix = generator.uniform(0.01, 1.0, (nodes, nodes))
    np.fill_diagonal(matrix, 0.0)
    for middle in range(nodes):
        matrix = np.minimum(matrix, matrix[:, middle, None] + matrix[None, middle])
    return torch.from_numpy(matrix)


def furthest(distance: torch.Tensor, seeds: list[int], count: int) -> list[int]:
    padded = [*seeds, *[NO_SEED] * (count - len(seeds))]
    is_node = torch.ones(1, len(distance), dtype=torch.bool)
    return furthest_pivots(distance[None], torch.tensor([padded]), is_node)[0].tolist()


def radius(distance: torch.Tensor, pivots: list[int]) -> float:
    mean = 0.5 * (distance + distance.T)
    return float(mean[:, pivots].amin(dim=1).max())


quasimetrics = st.builds(quasimetric, st.integers(3, 9), st.integers(0, 10**6))


@given(quasimetrics, st.data())
@settings(max_examples=60, deadline=None)
def test_the_representation_never_expands_distances(distance, data):
    count = data.draw(st.integers(1, len(distance)))
    pivots = data.draw(st.permutations(range(len(distance))))[:count]
    points = frechet(distance[None], torch.tensor([pivots]))[0]  # (N, 2M)
    apart = torch.cdist(points, points)
    assert (apart <= torch.maximum(distance, distance.T) + 1e-9).all()


@given(quasimetrics, st.data())
@settings(max_examples=60, deadline=None)
def test_covered_nodes_are_kept_apart(distance, data):
    # At least (distance - 2 covering radius) / sqrt(2M), both in the larger of the two directions.
    count = data.draw(st.integers(1, len(distance)))
    pivots = furthest(distance, [0], count)
    larger = torch.maximum(distance, distance.T)
    cover = larger[:, pivots].amin(dim=1).max()
    points = frechet(distance[None], torch.tensor([pivots]))[0]
    apart = torch.cdist(points, points)
    assert (apart >= (larger - 2 * cover).clamp(min=0) / math.sqrt(2 * count) - 1e-9).all()


@given(quasimetrics, st.data())
@settings(max_examples=60, deadline=None)
def test_furthest_pivots_cover_within_twice_the_best(distance, data):
    nodes = len(distance)
    count = data.draw(st.integers(2, nodes))
    seeds = data.draw(st.permutations(range(nodes)))[: data.draw(st.integers(1, count))]
    pivots = furthest(distance, seeds, count)
    assert pivots[: len(seeds)] == seeds
    assert len(set(pivots)) == count
    others = [node for node in range(nodes) if node not in seeds]
    best = min(
        radius(distance, [*seeds, *rest]) for rest in combinations(others, count - len(seeds))
    )
    assert radius(distance, pivots) <= 2 * best * (1 + 1e-4) + 1e-12


def test_the_next_pivot_is_the_furthest_by_hand():
    # Nodes on a line at 0, 1, 3, 7, 12: from 0 the furthest is 12, then 7 (5 away), then 3.
    line = torch.tensor([0.0, 1.0, 3.0, 7.0, 12.0], dtype=torch.float64)
    distance = (line[:, None] - line[None]).abs()
    assert furthest(distance, [0], 4) == [0, 4, 3, 2]
    assert furthest(distance, [0, 2], 4) == [0, 2, 4, 3]


def test_of_equally_far_nodes_the_first_is_taken_whatever_the_rounding():
    # All on one cycle through node 0: every round trip is as long as the cycle.
    lengths = [0.1, 0.2, 0.3, 0.7]
    position = np.concatenate([[0.0], np.cumsum(lengths)])
    cycle = torch.tensor([[(b - a) % 1.3 for b in position[:4]] for a in position[:4]])
    for scale in (1.0, 3.0, 0.7, 1e3 / 7):
        for dtype in (torch.float32, torch.float64):
            assert furthest((scale * cycle).to(dtype), [0], 2) == [0, 1]


def test_with_more_pivots_than_nodes_nobody_but_nodes_is_a_pivot():
    distance = torch.zeros(1, 6, 6, dtype=torch.float64)
    distance[0, :3, :3] = quasimetric(3, 1)
    is_node = torch.tensor([[True] * 3 + [False] * 3])
    pivots = furthest_pivots(distance, torch.tensor([[1, *[NO_SEED] * 4]]), is_node)[0].tolist()
    assert set(pivots[:3]) == {0, 1, 2}
    assert set(pivots) <= {0, 1, 2}


# -------------------------------------------------------------------------------- normalisation


def test_a_missing_arc_looks_like_the_longest_one():
    matrix = np.array([[0.0, 1.0, 3.0], [np.inf, 0.0, 2.0], [2.0, 1.0, 0.0]])
    problem = Problem.from_matrix(matrix, depots=())
    scores = normalise(stack([problem], dtype=torch.float64)).zscore[0]
    assert scores[1, 0] == scores[0, 2]
    assert torch.isfinite(scores).all()
