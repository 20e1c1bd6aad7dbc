"""The encoder without torch says what the torch encoder says, and so do the plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from spacevrp.arrays import Instance, prepare
from spacevrp.arrays.fleet import fleet_view
from spacevrp.decode.signal import problem_signals
from spacevrp.env import Environment, start_nodes
from spacevrp.generators.testsets import generate
from spacevrp.inference import encoder
from spacevrp.inference.encoder import encode
from spacevrp.inference.geometry import seeds_of_augmentations
from spacevrp.inference.heads import Heads
from spacevrp.inference.network import Network, load_network
from spacevrp.inference.tables import Tables
from spacevrp.inference.weights import DEFAULT_WEIGHTS
from spacevrp.model import HEAD_STRENGTH, DecoderTables, SpaceModel, augmentation_seeds
from spacevrp.model.blocks import encode_in_blocks
from spacevrp.model.decoder import logits
from spacevrp.problems.deadline import Deadline, TimeIsUp
from spacevrp.problems.distances import Metric
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import Batch, stack
from spacevrp.tensors.fleet import stack_fleets

# Both round to float32 (6e-8) in another order. Twelve layers make of that about 1e-5 of the
# largest number, and more where normalising magnifies small differences: as far as torch itself is
# away from the same network in float64, so that distance counts, too.
CLOSE, TIMES = 3e-5, 8.0
FIELDS = ("embedding", "keyed", "query_first", "query_last", "state_weight", "zscore")
FIELDS_OF_FACTS = ("move_first", "move_last", "move_state")
As = Callable[[Sequence[Tables], int], DecoderTables]
Of = Callable[[SpaceModel], Network]


def tables_of(
    network: Network,
    instances: Sequence[Instance],
    augmentations: int,
    heads: range | None,
    seed: int = 0,
) -> list[Tables]:
    of = None if heads is None else Heads(heads)
    return [
        encode(
            *(network, one),
            seeds_of_augmentations(one.num_depots, one.size, network.config, augmentations, seed),
            heads=of,
        )
        for one in instances
    ]


class Expected(NamedTuple):
    """What torch makes of a batch, in float32 and in float64."""

    tables: DecoderTables
    exact: DecoderTables


@torch.no_grad()
def expected(model: SpaceModel, batch: Batch, augmentations: int, heads: range) -> Expected:
    seeds = augmentation_seeds(batch, model.config, augmentations, 0).flatten(0, 1)
    repeated = batch.repeat_interleave(augmentations)
    tables = model.apply_heads(
        model(repeated, seeds, torch.float32), repeated, heads, HEAD_STRENGTH
    )
    values = {field.name: getattr(repeated, field.name) for field in fields(repeated)}
    wide = replace(
        repeated,
        **{
            name: value.double()
            for name, value in values.items()
            if isinstance(value, torch.Tensor) and value.is_floating_point()
        },
    )
    double = deepcopy(model).double()
    return Expected(
        tables, double.apply_heads(double(wide, seeds, torch.float64), wide, heads, HEAD_STRENGTH)
    )


def assert_close(got: DecoderTables, expected: Expected, is_node: torch.Tensor) -> None:
    """On real nodes; of padding the network without torch knows nothing."""
    wanted = expected.tables
    real = is_node.repeat_interleave(len(wanted.embedding) // len(is_node), dim=0)
    fields = FIELDS if wanted.move_first is None else (*FIELDS, *FIELDS_OF_FACTS)
    for name in fields:
        one, other, exact = (getattr(each, name) for each in (got, wanted, expected.exact))
        assert one.shape == other.shape, name
        counts: torch.Tensor | float = 1.0
        if name == "zscore":
            counts = real.unsqueeze(1) & real.unsqueeze(2)
        elif name not in ("state_weight", "move_state"):
            counts = real.unsqueeze(-1)
        rounding = float(((other - exact) * counts).abs().max())
        close = max(CLOSE * float((other * counts).abs().max()), TIMES * rounding)
        assert float(((one - other) * counts).abs().max()) <= close, name
    assert torch.allclose(got.read_weight, wanted.read_weight, rtol=1e-5, atol=1e-6)
    assert torch.allclose(got.match_weight, wanted.match_weight, rtol=1e-5, atol=1e-6)
    assert got.clipping == wanted.clipping


def assert_same_moves(batch: Batch, got: DecoderTables, wanted: DecoderTables) -> None:
    """Along the greedy plans of one, the other would move alike, but for ties."""
    got, wanted = (replace(tables, batch=batch) for tables in (got, wanted))
    environment = Environment(batch)
    state = environment.begin(start_nodes(environment, 3))
    for _ in range(environment.max_steps):
        if bool(state.done.all()):
            break
        allowed = environment.mask(state)
        signals = problem_signals(batch, state, wanted.num_signals)
        one, other = (
            logits(tables, state.origin, state.current, signals, allowed)
            for tables in (wanted, got)
        )
        action = one.argmax(dim=-1, keepdim=True)
        # Logits lie between -50 and 50.
        assert bool((other.gather(-1, action) >= other.amax(dim=-1, keepdim=True) - 0.01).all())
        state = environment.step(state, action.squeeze(-1))


def test_all_variants_in_one_mixed_group(bundled: SpaceModel, as_decoder_tables: As) -> None:
    problems = [generate(variant, 10, 1, 5)[0] for variant in VARIANTS]
    assert len(problems) == 110
    batch = stack(problems)
    network, card = load_network()
    assert card["name"] == DEFAULT_WEIGHTS
    got = tables_of(network, list(map(prepare, problems)), 2, range(2))
    assert [one.embedding.shape[1] for one in got] == [problem.size for problem in problems]
    wanted = expected(bundled, batch, 2, range(2))
    joined = as_decoder_tables(got, batch.num_nodes)
    assert_close(joined, wanted, batch.is_node)
    assert_same_moves(batch.repeat_interleave(2), joined, wanted.tables)


@pytest.mark.parametrize("variant", ["ACVRPTW", "PDCVRP", "MDOCVRPB"])
def test_many_augmentations_and_policy_heads(bundled, network_of, as_decoder_tables, variant):
    """More augmentations than customers, more heads than learned ones, several blocks of rows."""
    problems = [generate(variant, size, 1, 3)[0] for size in (40, 8)]
    batch, augmentations = stack(problems), 18
    got = tables_of(
        network_of(bundled), list(map(prepare, problems)), augmentations, range(augmentations)
    )
    wanted = expected(bundled, batch, augmentations, range(augmentations))
    assert_close(as_decoder_tables(got, batch.num_nodes), wanted, batch.is_node)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"representation": "averaged", "signals": 4, "policy_heads": 2},
        {"representation": "identifiers"},
        {"pivot_choice": "random", "depot_seed": False},
        {"projections": "hypernetwork", "pivots": 9},
        {"signals": 7, "constraint_aware": True, "problem_bits": True},
    ],
)
def test_every_configuration(random_model, network_of, as_decoder_tables, changes):
    model = random_model(**changes)
    names = ("TSP", "ACVRPTW", "PDTSP", "MDCVRPB", "PCTSP", "OP", "OCVRPBPL")
    problems = [
        generate(name, size, 1, 2)[0] for name, size in zip(names, range(4, 18, 2), strict=True)
    ]
    problems.append(problems[-1].replace(max_routes=9, load_rule="separate"))
    batch = stack(problems)
    got = tables_of(network_of(model), list(map(prepare, problems)), 3, range(3))
    wanted = expected(model, batch, 3, range(3))
    assert_close(as_decoder_tables(got, batch.num_nodes), wanted, batch.is_node)


def odd_problems() -> list[Problem]:
    rng = np.random.default_rng(3)
    matrix = rng.random((9, 9)) + 0.1
    matrix[rng.random((9, 9)) < 0.3] = np.inf
    matrix[0, :] = matrix[:, 0] = 1.0
    points = rng.random((8, 2)) * 1000 + 5e5
    return [
        Problem.from_matrix(matrix, depots=[0], demand=[0] + [1] * 8, capacity=4),
        Problem.from_coordinates(
            points, depots=[5, 2], demand=[1, 1, 0, 1, 1, 0, 1, 1], capacity=4
        ),
        Problem.from_coordinates(np.zeros((5, 2)), depots=[0]),  # all at one place
        Problem.from_coordinates(
            points, depots=[0], penalty=[0] + [700.0] * 7, prize=[0] + [2] * 7, min_prize=5.0
        ),
    ]


def test_missing_arcs_depots_anywhere_and_large_units(bundled, network_of, as_decoder_tables):
    problems = odd_problems()
    batch = stack(problems)
    got = tables_of(network_of(bundled), list(map(prepare, problems)), 2, range(2))
    wanted = expected(bundled, batch, 2, range(2))
    assert_close(as_decoder_tables(got, batch.num_nodes), wanted, batch.is_node)


def test_fleets(bundled: SpaceModel, network_of: Of, as_decoder_tables: As) -> None:
    points = np.random.default_rng(1).random((11, 2))
    vehicles = [Vehicle(count=3, capacity=4, start=0, end=1), Vehicle(count=2, capacity=7, start=1)]
    problem = Problem.from_coordinates(
        points, depots=[0, 1], demand=[0, 0] + [1, 2, 3] * 3, vehicles=vehicles
    )
    batch, _ = stack_fleets([problem])
    got = tables_of(network_of(bundled), [prepare(problem, view=fleet_view(problem))], 2, range(2))
    wanted = expected(bundled, batch, 2, range(2))
    assert_close(as_decoder_tables(got, batch.num_nodes), wanted, batch.is_node)


# ---------------------------------------------------------------------------- large instances


@pytest.mark.parametrize("geometry", ["euclidean", "manhattan", "geo"])
def test_without_a_matrix(random_model, network_of, monkeypatch, geometry):
    """Coordinates and a few rows at a time say the same as the whole matrix."""
    monkeypatch.setattr(encoder, "_TILE", 7 * 31)
    model = random_model(policy_heads=2)
    rng = np.random.default_rng(2)
    problem = Problem.from_coordinates(
        rng.random((31, 2)) * 40,
        depots=[0],
        demand=[0] + [1] * 30,
        capacity=9,
        metric=Metric(geometry),
    )
    batch = stack([problem], on_the_fly=True)
    with torch.no_grad():
        wanted = encode_in_blocks(model, batch, augmentation_seeds(batch, model.config, 2, 0))
        wanted = wanted.with_heads(model, batch, range(2), HEAD_STRENGTH)
    (got,) = tables_of(network_of(model), [prepare(problem, on_the_fly=True)], 2, range(2))
    (whole,) = tables_of(network_of(model), [prepare(problem)], 2, range(2))
    assert got.zscore is None
    for name in ("embedding", "keyed", "query_first", "query_last"):
        value, scale = getattr(got, name), np.abs(getattr(whole, name)).max()
        assert np.abs(value - getattr(wanted, name)[0].numpy()).max() <= CLOSE * scale, name
        assert np.abs(value - getattr(whole, name)).max() <= CLOSE * scale, name
    for name in ("mean", "deviation", "longest"):
        own = getattr(got.scale, name)
        assert own == pytest.approx(float(getattr(wanted.scale, name)[0]), rel=1e-5)
        assert own == pytest.approx(getattr(whole.scale, name), rel=1e-5)
    assert got.scale.penalty == pytest.approx(whole.scale.penalty, rel=1e-5)


def test_a_matrix_some_rows_at_a_time(random_model, network_of, monkeypatch):
    network = network_of(random_model())
    instances = list(map(prepare, generate("ACVRP", 20, 1, 1)))
    (whole,) = tables_of(network, instances, 2, None)
    monkeypatch.setattr(encoder, "_TILE", 1)
    (got,) = tables_of(network, instances, 2, None)
    assert np.allclose(got.embedding, whole.embedding, atol=CLOSE)


# ------------------------------------------------------------------------------------ borders


def test_the_work_can_be_stopped(network_of: Of, random_model: Callable[..., SpaceModel]) -> None:
    network = network_of(random_model(layers=3))
    instance = prepare(generate("TSP", 6, 1, 1)[0])
    looks = iter(range(10))
    deadline = Deadline(1.5, clock=lambda: float(next(looks)))  # one look, one second
    seeds = seeds_of_augmentations(0, 6, network.config, 1, 0)
    with pytest.raises(TimeIsUp):
        encode(network, instance, seeds, look=deadline.check)
    assert next(looks) == 3
