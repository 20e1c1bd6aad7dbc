"""Pruned rollouts: those of all options where all are options, and legal plans with any fewer."""

from __future__ import annotations

from copy import copy

import pytest
import torch

from spacevrp.decode import pruned, pruned_graph, rollout, routes_of
from spacevrp.decode.neighbourhood import neighbourhood
from spacevrp.decode.pruned import Drawing, Pruning, pruned_rollout
from spacevrp.decode.pruned_graph import GraphedWalk
from spacevrp.env import Environment, start_nodes
from spacevrp.env.candidates import CandidateEnvironment
from spacevrp.generators.testsets import generate
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds
from spacevrp.model.blocks import encode_in_blocks
from spacevrp.model.candidates import NodeTables
from spacevrp.model.streaming import Scale, survey
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack

from .conftest import distance_tables

AUGMENTATIONS, STARTS = 2, 2
CONFIG = ModelConfig(width=16, layers=2, feedforward=32, pivots=4, rank=2, heads=2)


@pytest.fixture(scope="module")
def model() -> SpaceModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = SpaceModel(CONFIG).double().eval()
        for name, parameter in model.named_parameters():
            if name.endswith("magnitude"):
                torch.nn.init.normal_(parameter, std=0.3)
        with torch.no_grad():
            model.bias.bias_out[-1] = 0.15
    return model


class World:
    """All variants, or each so-many-th, in one mixed batch, with the ordinary rollout of each."""

    def __init__(self, model: SpaceModel, size: int, each: int = 1) -> None:
        self.names = list(VARIANTS)[::each]
        self.problems = [generate(name, size, 1, 20)[0] for name in self.names]
        self.batch = stack(self.problems, dtype=torch.float64)
        seeds = augmentation_seeds(self.batch, CONFIG, AUGMENTATIONS, 1)
        repeated = self.batch.repeat_interleave(AUGMENTATIONS)
        with torch.no_grad():
            plain = model(repeated, seeds.flatten(0, 1))
        self.starts = start_nodes(Environment(self.batch), STARTS)
        begin = self.starts.repeat_interleave(AUGMENTATIONS, dim=0)
        self.plain = rollout(Environment(repeated), plain, begin)
        self.tables = encode_in_blocks(model, self.batch, seeds)

    def pruned(self, listed: int, kind=None, **options):
        environment = CandidateEnvironment(self.batch)
        pruning = Pruning(neighbourhood(self.batch, listed), **options)
        starts = self.starts.repeat(1, AUGMENTATIONS)
        return pruned_rollout(environment, self.tables, starts, pruning, kind=kind)

    def on(self, device: str) -> World:
        """The same on another device."""
        other = copy(self)
        other.batch, other.starts = self.batch.to(device), self.starts.to(device)

        def moved(values):
            return values.to(device) if isinstance(values, torch.Tensor) else values

        scale = Scale(*(moved(values) for values in vars(self.tables.scale).values()))
        tables = {name: moved(values) for name, values in vars(self.tables).items()}
        other.tables = NodeTables(**{**tables, "scale": scale})
        return other

    def faults(self, result) -> dict[str, str]:
        """Variants with a plan that the referee refuses, or prices otherwise."""
        faults = {}
        for row, (name, problem) in enumerate(zip(self.names, self.problems, strict=True)):
            for moves, cost in zip(result.sequence[row], result.cost[row].tolist(), strict=True):
                verdict = judge(problem, routes_of(problem, moves.tolist()))
                unit = 1.0 if problem.maximise_prize else problem.unit
                if verdict.violations:
                    faults[name] = verdict.violations[0].message
                elif cost != pytest.approx(verdict.cost / unit, abs=1e-9):
                    faults[name] = f"expected cost {verdict.cost / unit}, received {cost}"
        return faults


@pytest.fixture(scope="module")
def small(model: SpaceModel) -> World:
    return World(model, 12)


@pytest.fixture(scope="module")
def some(model: SpaceModel) -> World:
    """Enough where what is looked at has little to do with the rules."""
    return World(model, 12, each=5)


@pytest.fixture(scope="module")
def large(model: SpaceModel) -> World:
    return World(model, 50)


@pytest.fixture(params=["small", pytest.param("large", marks=pytest.mark.slow)])
def world(request: pytest.FixtureRequest) -> World:
    return request.getfixturevalue(request.param)


def test_with_all_options_it_is_the_ordinary_rollout(world: World) -> None:
    result = world.pruned(1000, choices=1000)
    plain = world.plain.cost.view(-1, AUGMENTATIONS * STARTS)
    assert torch.isfinite(plain).all()
    assert torch.allclose(result.cost, plain, rtol=0, atol=1e-10)
    moves = world.plain.sequence.unflatten(0, (-1, AUGMENTATIONS)).flatten(1, 2)
    for row, problem in enumerate(world.problems):
        for one, other in zip(result.sequence[row], moves[row], strict=True):
            assert routes_of(problem, one.tolist()) == routes_of(problem, other.tolist())


@pytest.mark.parametrize(
    ("listed", "options"),
    [(5, {"choices": 5}), (1000, {"choices": 3, "readout": 6})],
    ids=["five near", "three of the legal"],
)
def test_no_variant_comes_to_a_dead_end(world: World, listed: int, options) -> None:
    result = world.pruned(listed, **options)
    assert torch.isfinite(result.cost).all()
    assert world.faults(result) == {}
    # Otherwise nothing was left out.
    assert (result.cost - world.plain.cost.view(-1, AUGMENTATIONS * STARTS)).abs().max() > 1e-3


def test_sampled_moves_are_legal_too(some: World) -> None:
    def draw(seed: int, temperature: float = 1.0):
        drawing = Drawing(torch.Generator().manual_seed(seed), temperature)
        return some.pruned(10, choices=5, drawing=drawing)

    one, same, hot = draw(1), draw(1), draw(1, temperature=100.0)
    assert torch.equal(one.sequence, same.sequence)
    assert not torch.equal(one.cost, hot.cost)
    assert some.faults(one) == some.faults(hot) == {}


@pytest.mark.slow
def test_how_often_those_who_wait_are_asked_makes_no_difference(some, monkeypatch):
    often = some.pruned(5, choices=5)
    monkeypatch.setitem(pruned._STEPS_BETWEEN_QUESTIONS, "cpu", 32)
    monkeypatch.setitem(pruned._MOST_LOOKED_AT, "cpu", 10_000)  # a few at a time
    seldom = some.pruned(5, choices=5)
    assert torch.allclose(often.cost, seldom.cost, rtol=0, atol=1e-10)
    length = min(often.sequence.shape[2], seldom.sequence.shape[2])
    assert torch.equal(often.sequence[..., :length], seldom.sequence[..., :length])


# --------------------------------------------------------------------------- captured as a graph


def test_a_walk_with_its_tensors_in_place_is_the_same(some, monkeypatch):
    def warmed_up(work):
        for _ in range(2):  # what a capture does before, and has to be undone
            work()
        return work

    monkeypatch.setattr(pruned_graph, "capture", warmed_up)
    plain = some.pruned(10, choices=5)
    graphed = some.pruned(10, choices=5, kind=GraphedWalk)
    assert torch.equal(plain.sequence, graphed.sequence)
    assert torch.equal(plain.cost, graphed.cost)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("size", ["small", "large"])
def test_captured_steps_are_the_plain_ones(size: str, request: pytest.FixtureRequest) -> None:
    world = request.getfixturevalue(size).on("cuda")
    plain = world.pruned(10, choices=5)
    graphed = world.pruned(10, choices=5, kind=GraphedWalk)
    assert torch.equal(plain.sequence, graphed.sequence)
    assert torch.allclose(plain.cost, graphed.cost)
    assert world.faults(graphed) == {}


# ------------------------------------------------------------------------- by distance, by hand


def plan(problem: Problem, start: int, listed: int, choices: int) -> list[int]:
    environment, tables = distance_tables(problem)
    pruning = Pruning(neighbourhood(environment.batch, listed), choices)
    result = pruned_rollout(environment, tables, torch.tensor([[start]]), pruning)
    assert torch.isfinite(result.cost).all()
    return result.sequence[0, 0].tolist()


# A depot, two customers at 10 and 11, and two at 20 and 21 on the other side.
LINE = [(0.0, 0.0), (10.0, 0.0), (11.0, 0.0), (-20.0, 0.0), (-21.0, 0.0)]


def test_a_list_of_the_served_sends_nobody_home() -> None:
    # From 2 only 1 is on the list, and served: all customers are looked at, and home is nearest.
    problem = Problem.from_coordinates(LINE)
    assert plan(problem, 1, listed=1, choices=1)[:4] == [0, 1, 2, 0]
    # Without a depot there is no way home, and the tour goes on to the other side.
    tour = Problem.from_coordinates(LINE, depots=())
    assert plan(tour, 1, listed=1, choices=1)[:6] == [1, 1, 2, 0, 3, 4]


def test_a_full_vehicle_goes_home_though_its_list_has_customers() -> None:
    problem = Problem.from_coordinates(LINE, demand=[0, 3, 3, 3, 3], capacity=3)
    assert plan(problem, 1, listed=1, choices=1)[:8] == [0, 1, 0, 2, 0, 3, 0, 4]


def test_the_last_vehicle_looks_around_before_it_goes_home_for_good() -> None:
    # Customer 2 is on the list of 1 but does not fit; 3 and 4 are far and fit.
    problem = Problem.from_coordinates(LINE, demand=[0, 2, 9, 1, 1], capacity=9, max_routes=2)
    moves = plan(problem, 2, listed=1, choices=1)
    assert judge(problem, routes_of(problem, moves)).violations == ()
    assert sorted(routes_of(problem, moves)) == [[0, 1, 3, 4, 0], [0, 2, 0]]


def test_near_nodes_of_a_large_instance_are_not_all_alike() -> None:
    # Clipped, their scores are the same in float32: not the nearest but the first would be taken.
    points = [(0.0, 0.0), (1000.0, 1000.0), *[(2.0 - 0.1 * i, 0.0) for i in range(1, 9)]]
    problem = Problem.from_coordinates(points, depots=())
    batch = stack([problem], on_the_fly=True)
    _, double = distance_tables(problem)
    tables = NodeTables(
        *(
            getattr(double, name).float()
            for name in ("embedding", "keyed", "query_first", "query_last", "state_weight")
        ),
        read_weight=torch.ones(1),
        match_weight=torch.full((1,), 30.0),
        scale=survey(batch).scale,
        clipping=50.0,
    )
    pruning = Pruning(neighbourhood(batch, 9), 9)
    environment = CandidateEnvironment(batch)
    result = pruned_rollout(environment, tables, torch.tensor([[0]]), pruning)
    assert result.sequence[0, 0, 1:].tolist() == [0, 9, 8, 7, 6, 5, 4, 3, 2, 1]
