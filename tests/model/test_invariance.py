"""What must not matter: the unit of distance, the numbering of nodes."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from spacevrp.decode import rollout, routes_of
from spacevrp.env import Environment, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.model import augmentation_seeds
from spacevrp.problems.distances import Distances
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack

STARTS = 3


def scaled(problem: Problem, factor: float) -> Problem:
    """The same instance in another unit of distance and time."""
    distances = problem.distances
    if distances.coordinates is not None:
        changed = Distances(coordinates=distances.coordinates * factor)
    else:
        changed = Distances(matrix=distances.matrix() * factor)
    return problem.replace(
        distances=changed,
        windows=problem.windows * factor,
        service=problem.service * factor,
        max_length=problem.max_length * factor,
        penalty=problem.penalty if problem.maximise_prize else problem.penalty * factor,
    )


def relabelled(problem: Problem, order: np.ndarray) -> Problem:
    """The same instance with node ``order[i]`` renamed to ``i``."""
    renamed = np.argsort(order)  # old -> new
    per_node = ("demand", "windows", "service", "prize", "penalty", "revealed_prize")
    changes = {
        name: getattr(problem, name)[order]
        for name in per_node
        if getattr(problem, name) is not None
    }
    values = {field.name: getattr(problem, field.name) for field in fields(problem)}
    values |= changes
    values["distances"] = problem.distances.reordered(order)
    values["durations"] = None
    values["depots"] = tuple(int(renamed[depot]) for depot in problem.depots)
    values["pairs"] = tuple((int(renamed[a]), int(renamed[b])) for a, b in problem.pairs)
    return Problem(**values)


def solve(model, problems, seeds=None, starts=None):
    batch = stack(problems, dtype=torch.float64)
    environment = Environment(batch)
    if seeds is None:
        seeds = augmentation_seeds(batch, model.config, 1, 3)[:, 0]
    if starts is None:
        starts = start_nodes(environment, STARTS)
    with torch.no_grad():
        tables = model(batch, seeds)
        return rollout(environment, tables, starts), seeds, starts


@pytest.mark.parametrize("factor", [0.37, 1e6 / 7])
def test_the_unit_of_distance_changes_no_choice(make_model, factor):
    # Prize collecting weighs penalties against distances: that is the next test.
    names = [n for n, variant in VARIANTS.items() if not variant.features.prize_collecting]
    problems = [generate(name, 10, 1, 8)[0] for name in names]
    model = make_model()
    plain, _, _ = solve(model, problems)
    changed, _, _ = solve(model, [scaled(problem, factor) for problem in problems])
    for row, problem in enumerate(problems):
        one = [routes_of(problem, moves.tolist()) for moves in plain.sequence[row]]
        other = [routes_of(problem, moves.tolist()) for moves in changed.sequence[row]]
        assert one == other, names[row]


def test_the_unit_of_foreign_distances_changes_no_choice_where_penalties_count(make_model):
    names = [name for name, variant in VARIANTS.items() if variant.features.prize_collecting]
    problems = [generate(name, 10, 1, 8)[0] for name in names]
    model = make_model()
    metres, _, _ = solve(model, [scaled(problem, 5000.0) for problem in problems])
    miles, _, _ = solve(model, [scaled(problem, 5000.0 / 1.609) for problem in problems])
    length = min(metres.sequence.shape[2], miles.sequence.shape[2])
    assert torch.equal(metres.sequence[..., :length], miles.sequence[..., :length])


@pytest.mark.parametrize("move_depots", [False, True])
def test_other_names_for_the_nodes_give_the_same_plan_in_other_names(make_model, move_depots):
    generator = np.random.default_rng(1)
    # On closed matrices pivots may tie, and then the first in the numbering is taken.
    names = [name for name, variant in VARIANTS.items() if not variant.features.asymmetric]
    problems = [generate(name, 10, 1, 9)[0] for name in names]
    others, orders = [], []
    for problem in problems:
        if move_depots:
            order = generator.permutation(problem.size)
        else:
            order = np.array([*problem.depots, *generator.permutation(problem.customers)])
        orders.append(order)
        others.append(relabelled(problem, order))
    model = make_model()
    plain, seeds, starts = solve(model, problems)

    def position(row: int, node: int) -> int:
        """Where node (of the first numbering) stands in the second batch."""
        if node < 0:
            return node
        new = int(np.argsort(orders[row])[[*problems[row].depots, *problems[row].customers][node]])
        return [*others[row].depots, *others[row].customers].index(new)

    moved_seeds = [[position(row, s) for s in line] for row, line in enumerate(seeds.tolist())]
    moved_starts = [[position(row, s) for s in line] for row, line in enumerate(starts.tolist())]
    changed, _, _ = solve(model, others, torch.tensor(moved_seeds), torch.tensor(moved_starts))
    for row, (problem, other) in enumerate(zip(problems, others, strict=True)):
        for start in range(STARTS):
            one = routes_of(problem, plain.sequence[row, start].tolist())
            two = routes_of(other, changed.sequence[row, start].tolist())
            back = [[int(orders[row][node]) for node in route] for route in two]
            assert one == back, names[row]
            assert judge(other, two).violations == ()
    assert torch.allclose(plain.cost, changed.cost)
