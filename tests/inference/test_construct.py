"""First plans without torch are those of the torch path, for every variant; sampled ones, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pytest
import torch

from spacevrp.arrays import prepare
from spacevrp.arrays.routes import routes_of
from spacevrp.decode.signal import problem_signals
from spacevrp.engines.memory import Cut
from spacevrp.engines.search import Prepared, search_block
from spacevrp.env import Environment
from spacevrp.generators.testsets import generate
from spacevrp.inference.construct import Best, Candidate, construct
from spacevrp.inference.moves import facts_at_depots
from spacevrp.inference.network import Network
from spacevrp.inference.rollouts import RolloutPlan, Trajectories
from spacevrp.inference.settings import Seconds, Settings
from spacevrp.model import SpaceModel
from spacevrp.model.geometry import normalise
from spacevrp.model.moves import move_facts
from spacevrp.problems.deadline import Deadline, TimeIsUp
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack
from spacevrp.tensors.lengths import columns_of

Of = Callable[[SpaceModel], Network]


def by_torch(
    model: SpaceModel, problems: Sequence[Problem], settings: Settings
) -> list[list[Candidate]]:
    cut = Cut(len(problems), settings.augmentations, 10**6)
    return search_block(model, Prepared.of(problems), settings, cut, lambda _: None, Seconds())


def by_numpy(
    network: Network, problems: Sequence[Problem], settings: Settings
) -> list[list[Candidate]]:
    return [construct(network, problem, settings) for problem in problems]


def moves(candidate: Candidate) -> list[int]:
    """The sequence without the moves at which a finished solution rests."""
    nodes = candidate.sequence.tolist()
    return [node for place, node in enumerate(nodes) if place == 0 or node != nodes[place - 1]]


def assert_same_best(
    wanted: Sequence[list[Candidate]], got: Sequence[list[Candidate]], ties: int = 0
) -> None:
    """The best plans are the same, but for so many instances where moves are equally likely."""
    differing = 0
    for one, other in zip(wanted, got, strict=True):
        for hindsight in (False, True):
            firsts = [
                next((c for c in some if c.hindsight is hindsight), None) for some in (one, other)
            ]
            if hindsight and firsts[1] is None:
                continue  # the torch path has some of all instances beside one of unknown prizes
            assert firsts[0] is not None
            same = moves(firsts[0]) == moves(firsts[1])
            differing += not same
            if same:
                assert firsts[1].cost == pytest.approx(firsts[0].cost, rel=1e-5, abs=1e-5)
    assert differing <= ties


def test_all_variants(bundled: SpaceModel, network_of: Of) -> None:
    problems = [generate(variant, 8, 1, 4)[0] for variant in VARIANTS]
    wanted = by_torch(
        bundled, problems, Settings(augmentations=2, starts=None, samples=None, seed=3)
    )
    got = by_numpy(network_of(bundled), problems, Settings(augmentations=2, seed=3))
    assert_same_best(wanted, got, ties=2)
    for problem, candidates in zip(problems, got, strict=True):
        assert candidates[-1].hindsight is problem.has_unknown_prizes
        assert judge(problem, routes_of(problem, candidates[0].sequence.tolist())).feasible


@pytest.mark.parametrize("rule", ["single", "paper", "separate"])
def test_facts_at_depots_are_those_of_torch(rule: Literal["single", "paper", "separate"]) -> None:
    told = np.zeros(5)
    for variant in VARIANTS:
        (problem,) = generate(variant, 8, 1, 4)
        problem = problem.replace(load_rule=rule)
        if not problem.depots:
            continue
        instance, batch = prepare(problem), stack([problem])
        environment = Environment(batch)
        depots = torch.arange(environment.num_depots).unsqueeze(0)
        signals = problem_signals(batch, environment.standing(depots), 7)
        zscore = normalise(batch).zscore
        far = columns_of(zscore, depots)
        (wanted,) = move_facts(batch, depots, depots, signals, far).numpy()
        got = facts_at_depots(instance, signals[0].numpy(), zscore[0].numpy())
        assert np.allclose(got, wanted, rtol=1e-5, atol=1e-6), variant
        told += np.abs(got).max(axis=(0, 1)) > 0
    assert told.min() > 10


@pytest.mark.parametrize("compiled", [True, False])
def test_facts_of_moves(told_more: SpaceModel, network_of: Of, compiled: bool) -> None:
    """The likeliest starts and the moves count them, by torch step by step or compiled."""
    names = [name for name in VARIANTS if compiled or len(name) % 3 == 0]
    problems = [generate(variant, 8, 1, 4)[0] for variant in names]
    settings = Settings(augmentations=2, starts=3, samples=1, seed=3, compiled=compiled)
    wanted = by_torch(told_more, problems, settings)
    assert_same_best(wanted, by_numpy(network_of(told_more), problems, settings), ties=2)


def test_facts_where_there_is_no_way_home(told_more: SpaceModel, network_of: Of) -> None:
    """Open routes need none: what it would be must not count, nor make scores of nothing."""
    matrix = np.random.default_rng(1).random((7, 7)) + 0.2
    matrix[1::2, 0] = np.inf
    problem = Problem.from_matrix(
        matrix, depots=[0], demand=[0] + [1] * 6, capacity=3, max_length=2.5, open_routes=True
    )
    settings = Settings(starts=2, samples=1)
    wanted = by_torch(told_more, [problem], settings)
    assert_same_best(wanted, by_numpy(network_of(told_more), [problem], settings))


@pytest.mark.slow
def test_all_variants_step_by_step(bundled: SpaceModel, network_of: Of) -> None:
    """The torch path in its slowest form."""
    problems = [generate(variant, 20, 1, 6)[0] for variant in VARIANTS]
    settings = Settings(augmentations=2, starts=4, samples=1, seed=1, compiled=False)
    wanted = by_torch(bundled, problems, settings)
    assert_same_best(wanted, by_numpy(network_of(bundled), problems, settings), ties=3)


@pytest.mark.parametrize(
    "changes",
    [
        {"starts": 3},
        {"samples": 2},
        {"starts": 2, "samples": 1, "first_augmentation": 5},
        {"heads": 0},
    ],
)
def test_starts_samples_and_heads(bundled, network_of, changes):
    problems = [generate(name, 10, 1, 2)[0] for name in ("CVRPTW", "TSP", "AOP", "MDCVRP")]
    settings = Settings(augmentations=2, seed=9, **changes)
    got = by_numpy(network_of(bundled), problems, settings)
    assert_same_best(by_torch(bundled, problems, settings), got)


def test_ways_home_over_other_customers(bundled: SpaceModel, network_of: Of) -> None:
    matrix = np.array(
        [[0, 1, 2, 3], [np.inf, 0, 1, 1], [1, 1, 0, 1], [2, 1, 1, 0]], dtype=float
    )  # no arc from 1 to the depot
    problem = Problem.from_matrix(matrix, depots=[0], demand=[0, 1, 1, 1], capacity=3)
    settings = Settings(augmentations=1, starts=None, samples=4, seed=0, direct_return=False)
    got = by_numpy(network_of(bundled), [problem], settings)
    assert_same_best(by_torch(bundled, [problem], settings), got)
    assert math.isfinite(got[0][0].cost)
    stuck = construct(network_of(bundled), problem, Settings())
    assert math.isinf(stuck[0].cost)


def test_finished_rollouts_are_told(bundled: SpaceModel, network_of: Of) -> None:
    done: list[int] = []
    settings = Settings(augmentations=2, starts=None, samples=0)
    construct(network_of(bundled), generate("CVRP", 10, 1)[0], settings, report=done.append)
    assert sum(done) == 2 * 10


def test_a_deadline(bundled: SpaceModel, network_of: Of) -> None:
    (problem,) = generate("CVRP", 8, 1, 1)
    network = network_of(bundled)
    with pytest.raises(TimeIsUp):
        construct(network, problem, Settings(deadline=Deadline(0.0)))
    looks = iter(range(10**6))
    deadline = Deadline(20.0, clock=lambda: float(next(looks)))  # one look, one second
    found = construct(network, problem, Settings(augmentations=50, deadline=deadline))
    assert math.isfinite(found[0].cost)


# ------------------------------------------------------------------------------ rollout plans


def test_a_plan_of_rollouts_by_hand() -> None:
    plan = RolloutPlan.of(3, Settings(starts=2, samples=1), has_depot=True)
    assert plan.start.tolist() == [0, 1, 0, 1]
    assert plan.draw.tolist() == plan.rounds.tolist() == [0, 0, 1, 1]
    keys = plan.keys(0, range(3))
    assert (keys[:, :2] == -1).all()
    assert len(np.unique(keys[:, 2:])) == 6
    many = RolloutPlan.of(3, Settings(starts=9), has_depot=True)
    assert many.start.tolist() == [0, 1, 2]
    default = RolloutPlan.of(100, Settings(), has_depot=True)
    assert len(default.start) == 100
    assert default.start.max() == 24
    tour = RolloutPlan.of(100, Settings(), has_depot=False)
    assert tour.start.tolist() == list(range(100))
    assert (tour.draw == 0).all()
    assert RolloutPlan.of(0, Settings(samples=0), has_depot=True).start.tolist() == [0]


def test_the_best_come_first() -> None:
    def done(cost: list[float], steps: list[int]) -> Trajectories:
        number = len(cost)
        action = np.tile(np.arange(2, 8, dtype=np.int32), (number, 1))
        start, origin = np.ones(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
        return Trajectories(start, origin, action, np.array(steps), np.array(cost))

    best, inf = Best(), math.inf
    assert not best
    first = done([inf, inf, inf], [1, 3, 3])
    best.add(first, first.cost, 0)
    assert [one.rank for one in best.candidates()] == [1, 2, 0]  # who served most, then the first
    second = done([2.0, 1.0, 2.0, inf], [1, 2, 3, 6])
    best.add(second, second.cost, 10)
    assert [one.rank for one in best.candidates()] == [11, 10, 12, 13, 1, 2, 0]
    assert best.candidates(hindsight=True)[0].hindsight
    assert best.candidates()[0].sequence.tolist() == [0, 1, 2, 3]
