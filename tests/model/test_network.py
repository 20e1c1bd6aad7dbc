"""The network as a whole: features, ablations, precision, stability, and what must not matter."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
import torch

from spacevrp.decode import rollout, routes_of
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.model import ModelConfig, SpaceModel, augmentation_seeds, random_seeds
from spacevrp.model.decoder import logits
from spacevrp.model.encoder import _Bounded
from spacevrp.model.features import node_attributes
from spacevrp.model.geometry import normalise
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import stack

MIXED = ("TSP", "ACVRP", "PDTSP", "MDOCVRPBTW", "AOP", "SPCTSP")


def mixed(size=10, dtype=torch.float64):
    return stack([generate(name, size, 1, 6)[0] for name in MIXED], dtype=dtype)


def first_scores(model, batch, seeds=None, dtype=None):
    """Tables, and the logits of the first decision."""
    if seeds is None:
        seeds = augmentation_seeds(batch, model.config, 1, 0)[:, 0]
    environment = Environment(batch)
    state = environment.begin(start_nodes(environment, 2))
    allowed = environment.mask(state)
    with torch.no_grad():
        tables = model(batch, seeds, dtype)
        signals = problem_signals(batch, state, tables.num_signals)
        return tables, logits(tables, state.origin, state.current, signals, allowed, dtype), allowed


# ------------------------------------------------------------------------------------- features


def test_attributes_by_hand(four_customers):
    problem = four_customers(
        demand=[0, 2, -4, 6, 8],
        capacity=8.0,
        windows=[(0, 50), (5, 10), (10, 25), (0, np.inf), (0, 50)],
        service=[0, 1, 2, 3, 4],
    )
    values = node_attributes(stack([problem], 7, dtype=torch.float64))[0].tolist()
    assert values[0] == pytest.approx([0, 0, 0, 0, 1, 0])
    assert values[1] == pytest.approx([0.25, 0, 0, 0.1, 0.2, 0.02])
    assert values[2] == pytest.approx([-0.5, 0, 0, 0.2, 0.5, 0.04])
    assert values[3] == pytest.approx([0.75, 0, 0, 0, 1, 0.06])
    assert values[5] == values[6] == [0.0] * 6


def test_prizes_in_other_units_are_brought_to_the_same_range(four_customers):
    thousands = [0.0, 1000.0, 2000.0, 3000.0, 4000.0]
    problem = four_customers(
        prize=thousands, penalty=[0, 1, 1, 1, 1], min_prize=5000.0, max_routes=1
    )
    values = node_attributes(stack([problem], dtype=torch.float64))[0]
    assert values[1:, 1].tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8])
    problem = four_customers(prize=thousands, max_length=20.0, maximise_prize=True)
    values = node_attributes(stack([problem], dtype=torch.float64))[0]
    assert values[1:, 1].tolist() == pytest.approx([0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize("name", ["PCTSP", "APCTSP"])
def test_penalties_in_other_units_are_seen_alike(name):
    problem = generate(name, 20, 1, 3)[0]

    def seen(factor):
        matrix = problem.distances.matrix() * factor
        penalty = problem.penalty * factor
        there = problem.replace(distances=Distances(matrix=matrix), penalty=penalty)
        return node_attributes(stack([there], 25, dtype=torch.float64))[0, :, 2]

    # Beside the factor of 2 within which nothing is rescaled, the unit makes no difference ...
    for factor in (1e-4, 0.2, 7.0, 1e4):
        assert torch.allclose(seen(factor), seen(1e3), rtol=1e-9, atol=0)
    # ... and what is seen is close to what the training has shown.
    ratio = (seen(1e3) / seen(1.0))[1:21]
    assert ((ratio > 0.5) & (ratio < 2.0)).all()


def test_penalties_beside_missing_arcs_and_places_all_alike():
    matrix = np.full((4, 4), 100.0)
    matrix[1, 2] = np.inf
    problem = Problem.from_matrix(matrix, penalty=[0, 10, 10, 10])
    seen = node_attributes(stack([problem], 6, dtype=torch.float64))[0, :, 2]
    assert seen.tolist() == pytest.approx([0, *[0.1 * 0.5214] * 3, 0, 0])
    problem = Problem.from_coordinates([(1, 1)] * 3, penalty=[0, 10, 10])
    batch = stack([problem])
    assert torch.equal(node_attributes(batch)[..., 2], batch.penalty)


# ------------------------------------------------------------------------------- configurations


ABLATIONS = {
    "paper": {},
    "distance only": {"representation": "identifiers"},
    "averaged directions": {"representation": "averaged"},
    "random pivots": {"pivot_choice": "random"},
    "no depot seed": {"depot_seed": False},
    "one head": {"rank": 6, "heads": 1},
    "hypernetwork": {"projections": "hypernetwork"},
    "more pivots than nodes": {"pivots": 20},
}


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_runs_and_learns(make_model, name):
    model = make_model(**ABLATIONS[name])
    batch = mixed()
    seeds = random_seeds(batch, model.config, torch.Generator().manual_seed(0))
    environment = Environment(batch)
    state = environment.begin(start_nodes(environment, 2))
    allowed = environment.mask(state)
    tables = model(batch, seeds)
    scores = logits(
        tables,
        state.origin,
        state.current,
        problem_signals(batch, state, tables.num_signals),
        allowed,
    )
    chances = scores.softmax(dim=-1)
    assert torch.allclose(chances.sum(dim=-1), torch.ones(6, 2).double())
    assert (chances[~allowed] == 0).all()
    (chances.square().sum()).backward()
    for parameter_name, parameter in model.named_parameters():
        if not parameter_name.endswith("feed_out.bias"):  # taken away by the normalisation
            assert torch.isfinite(parameter.grad).all(), parameter_name
            assert parameter.grad.abs().max() > 0, parameter_name


def test_identifiers_tell_nodes_apart_and_see_no_distance(make_model):
    model = make_model(representation="identifiers")
    batch = mixed()
    seeds = augmentation_seeds(batch, model.config, 2, 0)
    geometry = normalise(batch)
    shuffled = normalise(batch.replace(distance=batch.distance.flip(0)))
    numbers = model._position(geometry, seeds[:, 0])
    assert torch.equal(numbers, model._position(shuffled, seeds[:, 0]))
    assert not torch.equal(numbers, model._position(geometry, seeds[:, 1]))
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert len(np.unique(numbers[0].numpy().round(9))) == numbers[0].numel()
    assert 0.4 < float(numbers.mean()) < 0.6


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({"width": 0}, "model.width"),
        ({"heads": 1.5}, "model.heads"),
        ({"layers": True}, "model.layers"),
        ({"representation": "coordinates"}, "model.representation"),
        ({"projections": "none"}, "model.projections"),
        ({"clipping": float("nan")}, "model.clipping"),
    ],
)
def test_bad_configurations_are_refused_by_name(changes, culprit):
    with pytest.raises(SpacevrpError, match=culprit):
        ModelConfig(**changes)


# --------------------------------------------------------------------- precision and stability


def test_an_encoder_in_bfloat16_stays_close(make_model):
    model = make_model(width=32, layers=4).float()
    batch = mixed(50, torch.float32)
    exact, exact_scores, allowed = first_scores(model, batch)
    rough, rough_scores, _ = first_scores(model, batch, dtype=torch.bfloat16)
    error = (rough.embedding - exact.embedding)[batch.is_node]
    assert torch.isfinite(rough.embedding).all()
    assert rough.embedding.dtype == torch.float32
    assert 0 < error.square().mean().sqrt() < 0.03  # embeddings are of the order of 1
    # Logits reach 50: bfloat16 has 8 bits.
    assert (rough_scores - exact_scores)[allowed].abs().mean() < 0.5


def test_strong_biases_agree_with_exact_arithmetic(make_model):
    # exp(-8 log2(21) 4) is far below what float32 can hold.
    model = make_model()
    with torch.no_grad():
        model.bias.weight_out.zero_()
        model.bias.bias_out.fill_(8.0)
    exact = first_scores(model, mixed(20))[0].embedding
    received = first_scores(model.float(), mixed(20, torch.float32))[0].embedding
    assert (received.double() - exact).abs().max() < 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_large_instances_stay_finite(dtype):
    torch.manual_seed(0)
    points = np.random.default_rng(0).uniform(size=(1001, 2))
    demand = np.r_[0.0, np.ones(1000)]
    batch = stack([Problem.from_coordinates(points, demand=demand, capacity=50.0)])
    model = SpaceModel(ModelConfig(width=8, layers=2, feedforward=16, rank=2, heads=1))
    tables, scores, allowed = first_scores(model, batch, dtype=dtype)
    assert torch.isfinite(tables.embedding).all()
    assert torch.isfinite(scores[allowed]).all()
    spread = tables.embedding[0].std(dim=0)
    assert (spread > 0.5).all()  # nodes are still told apart
    assert float(tables.read_weight) == pytest.approx(math.log2(1001), rel=0.5)


def test_branches_that_do_not_see_distances_are_counted():
    """One of the four distance branches of two layers; relations do not count."""
    model = SpaceModel(ModelConfig(width=16, layers=2, feedforward=32, pivots=4, rank=2, heads=2))
    attributes = torch.tensor([VARIANTS[name].attributes for name in MIXED]).float()
    assert model.blind_share(attributes) == 0
    with torch.no_grad():
        model.bias.weight_out.zero_()
        model.bias.bias_out.copy_(torch.tensor([1.0, -1.0, -1.0, 1.0, 0.1, -3.0, -1.0, -1.0]))
    assert model.blind_share(attributes) == 0.25


def test_no_instance_outweighs_the_others():
    """Gradients of sizes 1, 1 and 8 have the geometric mean 2; one without any has no say."""
    gradient = torch.zeros(4, 3, 2, dtype=torch.float64)
    gradient[0, 0, 0], gradient[1, 1, 1] = 1.0, -1.0
    gradient[2, 2] = torch.tensor([4.8, 6.4])
    x = torch.randn(4, 3, 2, dtype=torch.float64, requires_grad=True)
    same = _Bounded.apply(x, 1.5)
    assert torch.equal(same, x)
    (found,) = torch.autograd.grad(same, x, gradient)
    assert torch.equal(found[[0, 1, 3]], gradient[[0, 1, 3]])
    assert torch.allclose(found[2, 2], torch.tensor([1.8, 2.4]).double())


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


def test_the_unit_of_distance_changes_no_choice(make_model):
    # Prize collecting weighs penalties against distances: that is the next test.
    names = [n for n, variant in VARIANTS.items() if not variant.features.prize_collecting]
    problems = [generate(name, 10, 1, 8)[0] for name in names]
    model = make_model()
    plain, _, _ = solve(model, problems)
    changed, _, _ = solve(model, [scaled(problem, 1e6 / 7) for problem in problems])
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
