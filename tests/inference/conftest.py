"""Networks in both forms, and tables of one as those of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from spacevrp import native
from spacevrp.inference.network import Network
from spacevrp.inference.tables import Tables
from spacevrp.model import DecoderTables, ModelConfig, SpaceModel
from spacevrp.model.weights import load_weights


@pytest.fixture(autouse=True)
def compiled() -> None:
    """Nothing here works without the compiled module."""
    if native.network is None:
        pytest.skip(native.NETWORK_MISSING)


@pytest.fixture(scope="session")
def bundled() -> SpaceModel:
    """The weights of the package, in torch."""
    return load_weights()[0]


@pytest.fixture(scope="session")
def network_of() -> Callable[[SpaceModel], Network]:
    """A network with the parameters of a model."""

    def build(model: SpaceModel) -> Network:
        tensors = {name: value.detach().numpy() for name, value in model.state_dict().items()}
        return Network(model.config, tensors)

    return build


@pytest.fixture(scope="session")
def random_model() -> Callable[..., SpaceModel]:
    """A small model whose parameters are all away from their neutral starts."""

    def build(**changes: Any) -> SpaceModel:
        small = {"width": 32, "layers": 2, "feedforward": 48, "pivots": 4, "rank": 4, "heads": 2}
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(7)
            model = SpaceModel(ModelConfig(**{**small, **changes})).eval()
            for parameter in model.parameters():
                parameter += 0.05 * torch.randn_like(parameter)
        return model

    return build


@pytest.fixture(scope="session")
def told_more(random_model: Callable[..., SpaceModel]) -> SpaceModel:
    """A small model that counts facts of moves, with much weight, and sees bits of the problem."""
    model = random_model(signals=7, constraint_aware=True, problem_bits=True)
    with torch.no_grad():
        for parameter in model.moves.parameters():
            parameter *= 20.0
    return model


@pytest.fixture(scope="session")
def as_decoder_tables() -> Callable[[Sequence[Tables], int], DecoderTables]:
    """Tables of instances as the padded tensors of all their augmentations in a row."""

    def build(tables: Sequence[Tables], width: int) -> DecoderTables:
        def padded(name: str) -> torch.Tensor:
            rows = []
            for one in tables:
                table = getattr(one, name)
                space = np.zeros((table.shape[0], width, table.shape[2]), dtype=np.float32)
                space[:, : table.shape[1]] = table
                rows.append(space)
            return torch.from_numpy(np.concatenate(rows))

        def per_view(values: Sequence[Any]) -> torch.Tensor:
            augmentations = [one.augmentations for one in tables]
            return torch.from_numpy(
                np.repeat(np.array(values, dtype=np.float32), augmentations, axis=0)
            )

        squares = np.zeros((len(tables), width, width), dtype=np.float32)
        for square, one in zip(squares, tables, strict=True):
            assert one.zscore is not None
            square[: len(one.zscore), : len(one.zscore)] = one.zscore
        facts = {}
        if tables[0].move_first is not None:
            facts = {name: padded(name) for name in ("move_first", "move_last")}
            facts["move_state"] = per_view([one.move_state for one in tables])
        return DecoderTables(
            embedding=padded("embedding"),
            keyed=padded("keyed"),
            query_first=padded("query_first"),
            query_last=padded("query_last"),
            state_weight=per_view([one.state_weight for one in tables]),
            zscore=per_view(squares),
            read_weight=per_view([one.read_weight for one in tables]),
            match_weight=per_view([one.match_weight for one in tables]),
            clipping=tables[0].clipping,
            **facts,
        )

    return build
