"""Weights in files: what comes back, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from spacevrp.inference import weights
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import bundled_weights, load_weights, save_weights
from spacevrp.problems.errors import FormatError, SpacevrpError

CONFIG = ModelConfig(width=8, layers=1, feedforward=16, pivots=3, rank=2, heads=1)


@pytest.fixture(scope="module")
def model() -> SpaceModel:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return SpaceModel(CONFIG)


@pytest.fixture
def saved(tmp_path: Path, model: SpaceModel) -> Path:
    return save_weights(tmp_path / "tiny-0.1", model, {"training": {"variants": ["CVRP"]}})


def edit_card(saved: Path, **changes: Any) -> None:
    path = saved.with_name("tiny-0.1.json")
    card = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in card.items() if value is not None}))


def edit_tensors(saved: Path, **changes: torch.Tensor | None) -> None:
    """Change tensors (None removes one) and make the checksum right again."""
    tensors = {**load_file(saved), **changes}
    save_file({key: value for key, value in tensors.items() if value is not None}, saved)
    edit_card(saved, sha256=hashlib.sha256(saved.read_bytes()).hexdigest())


def test_what_is_saved_comes_back_in_half_precision(saved: Path, model: SpaceModel) -> None:
    loaded, card = load_weights(saved)
    assert loaded.config == CONFIG
    assert not loaded.training
    original = model.state_dict()
    assert loaded.state_dict().keys() == original.keys()
    for name, value in loaded.state_dict().items():
        assert value.dtype == torch.float32
        assert value.device.type == "cpu"
        assert torch.equal(value, original[name].half().float()), name
    assert card["name"] == "tiny-0.1"
    assert card["training"] == {"variants": ["CVRP"]}
    assert card["parameters"] == model.num_parameters
    assert card["sha256"] == hashlib.sha256(saved.read_bytes()).hexdigest()
    assert card["config"] == CONFIG.to_dict()


def test_a_path_with_either_suffix_or_none(saved: Path) -> None:
    folder = saved.parent
    for path in (saved, str(saved), folder / "tiny-0.1", folder / "tiny-0.1.json"):
        assert load_weights(path)[1]["name"] == "tiny-0.1"
    assert sorted(path.name for path in folder.iterdir()) == [
        "tiny-0.1.json",
        "tiny-0.1.safetensors",
    ]


def test_saving_twice_gives_the_same_bytes(tmp_path: Path, saved: Path, model: SpaceModel) -> None:
    again = save_weights(tmp_path / "again.safetensors", model, {"name": "other"})
    assert again == tmp_path / "again.safetensors"
    assert again.read_bytes() == saved.read_bytes()
    assert load_weights(again)[1]["name"] == "other"


def test_loading_leaves_the_random_numbers_alone(saved: Path) -> None:
    before = torch.random.get_rng_state()
    load_weights(saved)
    assert torch.equal(before, torch.random.get_rng_state())


def test_bundled_weights_by_name(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "BUNDLED", tmp_path)
    assert bundled_weights() == ("tiny-0.1",)
    assert load_weights("tiny-0.1")[1]["name"] == "tiny-0.1"
    with pytest.raises(FormatError) as caught:
        load_weights("huge")
    assert str(caught.value) == (
        "weights 'huge': no bundled weights (known names: tiny-0.1), no file huge.safetensors"
    )
    with pytest.raises(FormatError, match="weights '': no bundled weights"):
        load_weights("")


def write_checkpoint(folder: Path, step: int, **groups: dict[str, torch.Tensor]) -> Path:
    """As training leaves it: a header and a file for each group of tensors."""
    target = folder / f"step-{step:09d}"
    target.mkdir(parents=True)
    for group, tensors in groups.items():
        save_file(tensors, target / f"{group}-0.safetensors")
    header = {
        "step": step,
        "seconds": 2.5,
        "files": {group: [f"{group}-0.safetensors"] for group in groups},
        "config": {"model": CONFIG.to_dict()},
    }
    (target / "header.json").write_text(json.dumps(header))
    return target


def test_a_run_and_its_checkpoints(tmp_path: Path, model: SpaceModel) -> None:
    plain = {name: value.detach().clone() for name, value in model.state_dict().items()}
    halves = {name: 0.5 * value for name, value in plain.items()}
    run = tmp_path / "run"
    first = write_checkpoint(run, 3, weights=plain)
    write_checkpoint(run, 7, weights=plain, average=halves)
    save_weights(run / "weights", model, {})  # which the newest checkpoint comes before
    name = next(iter(plain))
    for path, step, group, expected in (
        (run, 7, "average", halves),
        (str(run), 7, "average", halves),
        (first, 3, "weights", plain),
    ):
        loaded, card = load_weights(path)
        assert (card["step"], card["group"], card["train_seconds"]) == (step, group, 2.5)
        assert loaded.config == CONFIG
        assert not loaded.training
        assert torch.equal(loaded.state_dict()[name], expected[name])  # not rounded


def test_what_is_left_of_a_run(tmp_path: Path, model: SpaceModel) -> None:
    save_weights(tmp_path / "weights", model, {})
    assert load_weights(tmp_path)[1]["name"] == "weights"
    (tmp_path / "weights.safetensors").unlink()
    with pytest.raises(SpacevrpError, match="expected a checkpoint or a folder of them"):
        load_weights(tmp_path)


def test_a_missing_file_is_named(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no file .*absent\.safetensors"):
        load_weights(tmp_path / "absent.safetensors")
    saved.with_name("tiny-0.1.json").unlink()
    with pytest.raises(FormatError, match=r"tiny-0\.1\.json: cannot be read: No such file"):
        load_weights(saved)


def test_one_flipped_bit_is_noticed(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[-1] ^= 1
    saved.write_bytes(data)
    with pytest.raises(
        FormatError, match=r"safetensors: expected checksum \w{64}, received \w{64}"
    ):
        load_weights(saved)


def test_a_file_of_something_else_with_a_right_checksum(saved: Path) -> None:
    saved.write_bytes(b"not tensors")
    edit_card(saved, sha256=hashlib.sha256(b"not tensors").hexdigest())
    with pytest.raises(FormatError, match="safetensors: cannot be read: "):
        load_weights(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embed_types": None}, "tensor embed_types: missing"),
        ({"extra": torch.zeros(2)}, "tensor extra: unexpected, the configuration has none"),
        (
            {"embed_types": torch.zeros(8, 5)},
            r"tensor embed_types: expected shape \(8, 7\), not \(8, 5\)",
        ),
        (
            {"embed_types": torch.full((8, 7), torch.nan)},
            "tensor embed_types: expected finite floating-point numbers",
        ),
        (
            {"embed_types": torch.zeros(8, 7, dtype=torch.int32)},
            "tensor embed_types: expected finite floating-point numbers",
        ),
    ],
)
def test_tensors_must_be_exactly_those_of_the_configuration(saved, changes, message):
    edit_tensors(saved, **changes)
    with pytest.raises(FormatError, match=message):
        load_weights(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "format: expected 'spacevrp-weights', received 'other'"),
        ({"version": 2}, "version: expected 1, received 2"),
        ({"config": None}, "config: expected a dict, received None"),
        ({"sha256": 3}, "sha256: expected a str, received 3"),
        ({"config": {"depth": 3}}, "config: model.depth: unknown key"),
        ({"config": {"width": "8"}}, "config: model.width: expected a whole number"),
        ({"config": {"clipping": "8"}}, "config: "),
    ],
)
def test_a_wrong_card_is_refused(saved: Path, changes: dict[str, Any], message: str) -> None:
    edit_card(saved, **changes)
    with pytest.raises(FormatError, match=rf"tiny-0\.1\.json: {message}"):
        load_weights(saved)


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[1]"])
def test_a_card_that_is_no_table(saved: Path, text: bytes) -> None:
    saved.with_name("tiny-0.1.json").write_bytes(text)
    with pytest.raises(FormatError, match=r"tiny-0\.1\.json: (cannot be read|expected a table)"):
        load_weights(saved)


def test_what_cannot_be_saved(tmp_path: Path, model: SpaceModel) -> None:
    with pytest.raises(SpacevrpError, match="card, sha256: expected no such key"):
        save_weights(tmp_path / "a", model, {"sha256": "0"})
    with pytest.raises(FormatError, match="cannot be written: No such file or directory"):
        save_weights(tmp_path / "no" / "a", model, {})
    large = SpaceModel(CONFIG)
    with torch.no_grad():
        large.embed_types[0, 0] = 1e6  # beyond float16
    with pytest.raises(SpacevrpError, match="tensor embed_types: expected finite numbers"):
        save_weights(tmp_path / "a", large, {})
    assert list(tmp_path.iterdir()) == []
