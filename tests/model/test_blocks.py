"""The encoder in blocks computes what the ordinary one does, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spacevrp.generators.testsets import generate
from spacevrp.model import augmentation_seeds
from spacevrp.model.blocks import Blocks, encode_in_blocks
from spacevrp.model.candidates import NodeTables, Options, node_scores, option_scores
from spacevrp.model.decoder import logits
from spacevrp.model.features import distance_scale
from spacevrp.model.geometry import normalise
from spacevrp.model.streaming import survey
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch, stack

# Every branch of the encoder: directions, pairs, prizes, windows, several depots, none.
NAMES = ("CVRP", "ACVRPBTW", "PDTSP", "APDCVRP", "PCTSP", "ASPCTSP", "TSP", "MDOCVRPBLTW", "AOP")
PLANAR = tuple(name for name in NAMES if not name.startswith("A"))
AUGMENTATIONS = 3
CUTS = (Blocks(5, 7), Blocks(1, 3), Blocks(64, 64), Blocks(3, 4, workers=3))
TABLES = ("embedding", "keyed", "query_first", "query_last")


def with_missing_arcs() -> Problem:
    rng = np.random.default_rng(3)
    matrix = rng.uniform(1, 9, (11, 11))
    missing = rng.random((11, 11)) < 0.3
    missing[0, :] = missing[:, 0] = False
    matrix[missing] = np.inf
    return Problem.from_matrix(matrix, penalty=[0, *rng.uniform(1, 5, 10)])


def problems_of(names: tuple[str, ...]) -> list[Problem]:
    sizes = (12, 14, 16)
    return [generate(name, sizes[i % 3], 1, 5)[0] for i, name in enumerate(names)]


def encode(model, batch: Batch, seeds: torch.Tensor):
    with torch.no_grad():
        return model(batch.repeat_interleave(AUGMENTATIONS), seeds.flatten(0, 1))


def assert_close(tables: NodeTables, plain, batch: Batch, tolerance: float) -> None:
    real = batch.is_node[:, None, :, None]
    for name in TABLES:
        expected = getattr(plain, name).unflatten(0, (-1, AUGMENTATIONS))
        difference = (getattr(tables, name) - expected).abs() * real
        assert difference.max() < tolerance, name
    for name in ("state_weight", "read_weight", "match_weight"):
        assert torch.allclose(getattr(tables, name), getattr(plain, name)[::AUGMENTATIONS])


@pytest.mark.parametrize("planar", [False, True], ids=["matrix", "coordinates"])
@pytest.mark.parametrize("blocks", CUTS, ids=str)
def test_blocks_of_any_size(make_model, planar: bool, blocks: Blocks) -> None:
    model = make_model()
    problems = problems_of(PLANAR) if planar else [*problems_of(NAMES), with_missing_arcs()]
    batch = stack(problems, 22, dtype=torch.float64)
    seeds = augmentation_seeds(batch, model.config, AUGMENTATIONS, 1)
    lazy = stack(problems, 22, dtype=torch.float64, on_the_fly=planar)
    shares: list[float] = []
    tables = encode_in_blocks(model, lazy, seeds, blocks=blocks, report=shares.append)
    assert_close(tables, encode(model, batch, seeds), batch, 1e-9)
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "changes",
    [{"representation": "averaged"}, {"representation": "identifiers"}, {"depot_seed": False}],
    ids=str,
)
def test_ablations(make_model, changes: dict[str, object]) -> None:
    model = make_model(**changes)
    batch = stack(problems_of(NAMES[:3]), dtype=torch.float64)
    seeds = augmentation_seeds(batch, model.config, AUGMENTATIONS, 1)
    assert_close(encode_in_blocks(model, batch, seeds), encode(model, batch, seeds), batch, 1e-9)


def test_a_weight_of_zero_sees_all_alike(make_model) -> None:
    # The ReLU of a bias network says exactly 0 for some problems, and then no tile is computed.
    model = make_model()
    with torch.no_grad():
        model.bias.bias_out[:2] = -5.0
        model.bias.bias_out[4] = -5.0
    batch = stack(problems_of(("CVRP", "ATSP")), dtype=torch.float64)
    assert (model.bias(batch.attributes)[:, [0, 1, 4]] == 0).all()
    seeds = augmentation_seeds(batch, model.config, AUGMENTATIONS, 1)
    assert_close(encode_in_blocks(model, batch, seeds), encode(model, batch, seeds), batch, 1e-9)


# ------------------------------------------------------------------------------ what is streamed


def test_a_survey_tells_what_the_whole_matrix_would(monkeypatch: pytest.MonkeyPatch) -> None:
    from spacevrp.model import streaming

    monkeypatch.setitem(streaming._ENTRIES, "cpu", 50)  # a few rows at a time
    problems = [*problems_of(NAMES), with_missing_arcs()]
    batch = stack(problems, 20, dtype=torch.float64)
    found, geometry = survey(batch), normalise(batch)
    pair = batch.is_node.unsqueeze(1) & batch.is_node.unsqueeze(2)
    zscore = torch.where(pair, found.scale.zscore(batch.distance), 0.0)
    assert torch.allclose(zscore, geometry.zscore, atol=1e-12)
    asked = batch.penalty.amax(dim=1) > 0  # nobody asks for the scale of other instances
    assert asked.sum() == 3
    assert torch.allclose(found.penalty_scale[asked], distance_scale(batch)[asked])
    assert (distance_scale(batch)[asked] != 1).any()


def test_nodes_in_one_place_have_a_survey_too() -> None:
    batch = stack([Problem.from_coordinates([(1, 1)] * 4)], on_the_fly=True)
    scale = survey(batch).scale
    assert torch.isfinite(scale.zscore(torch.zeros(1, 4, 4))).all()


# ------------------------------------------------------------------- the decoder of few options


class Moment:
    """Random states of a few instances, and what the ordinary decoder says of them."""

    def __init__(self, model) -> None:
        batch = stack(problems_of(("CVRP", "ATSP", "PDTSP")), dtype=torch.float64)
        seeds = augmentation_seeds(batch, model.config, 2, 1)
        with torch.no_grad():
            plain = model(batch.repeat_interleave(2), seeds.flatten(0, 1))
        self.tables = encode_in_blocks(model, batch, seeds)
        generator = torch.Generator().manual_seed(0)
        shape, nodes = (3, 2, 4), 12  # instances, augmentations, partial solutions
        self.first = torch.randint(nodes, shape, generator=generator)
        self.current = torch.randint(nodes, shape, generator=generator)
        self.signals = torch.rand(
            (*shape, model.config.signals), generator=generator, dtype=torch.float64
        )
        self.allowed = torch.rand((*shape, batch.num_nodes), generator=generator) < 0.6
        self.allowed &= batch.is_node[:, None, None]
        self.allowed[..., 3] = True
        instance = torch.arange(3)[:, None, None]
        self.zscore = self.tables.scale.zscore(batch.distance)[instance, self.current]
        self.expected = logits(
            plain,
            *(x.flatten(0, 1) for x in (self.first, self.current, self.signals, self.allowed)),
        ).unflatten(0, (3, 2))


@pytest.fixture(scope="module")
def moment(make_model) -> Moment:
    return Moment(make_model())


def clipped(tables: NodeTables, scores: torch.Tensor) -> torch.Tensor:
    return (tables.clipping * torch.tanh(scores)).masked_fill(scores.isneginf(), -torch.inf)


def test_scores_of_all_nodes_are_those_of_the_decoder(moment: Moment) -> None:
    scores = node_scores(
        moment.tables, moment.first, moment.current, moment.signals, moment.zscore, moment.allowed
    )
    assert torch.allclose(clipped(moment.tables, scores), moment.expected, atol=1e-8)


def test_scores_of_options_in_any_order_are_those_of_the_decoder(moment: Moment) -> None:
    order = torch.randperm(moment.allowed.shape[-1], generator=torch.Generator().manual_seed(1))
    options = order.expand_as(moment.allowed).flatten(1, 2)
    augmentation = torch.arange(2).repeat_interleave(4).expand(3, -1)
    arguments = [x.flatten(1, 2) for x in (moment.first, moment.current, moment.signals)]
    rest = [x[..., order].flatten(1, 2) for x in (moment.zscore, moment.allowed)]
    scores = option_scores(moment.tables, augmentation, *arguments, Options(options, *rest))
    expected = moment.expected[..., order].flatten(1, 2)
    assert torch.allclose(clipped(moment.tables, scores), expected, atol=1e-8)
    # Fewer choices, the same readout.
    few = option_scores(moment.tables, augmentation, *arguments, Options(options, *rest, 5))
    assert torch.allclose(few, scores[..., :5])
