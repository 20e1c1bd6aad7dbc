"""Checkpoints: small shards, whole or not there, the last two kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import checkpoint

HEADER: dict[str, Any] = {"seconds": 1.5, "config": {"steps": 3}}


def groups(value: float = 1.0, count: int = 2, numbers: int = 8) -> dict[str, dict[str, Any]]:
    return {"weights": {f"w{i}": torch.full((numbers,), value + i) for i in range(count)}}


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    stored = groups() | {"moments": {"m": torch.arange(3).to(torch.bfloat16)}}
    path = checkpoint.save(tmp_path, 7, stored, HEADER)
    assert path == tmp_path / "step-000000007"
    for where in (path, tmp_path):  # the checkpoint itself, or the run's folder
        header, found = checkpoint.load(where)
        assert (header["step"], header["seconds"], header["config"]) == (7, 1.5, {"steps": 3})
        assert set(found) == {"weights", "moments"}
        for group, tensors in stored.items():
            for name, tensor in tensors.items():
                assert torch.equal(found[group][name], tensor)
                assert found[group][name].dtype == tensor.dtype


def test_shards_stay_below_16_megabytes(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, 1, groups(count=7, numbers=1_200_000), HEADER)
    files = sorted(path.glob("*.safetensors"))
    assert len(files) == 3  # three tensors of 4.8 MB fit one file
    assert all(file.stat().st_size < 16_000_000 for file in files)
    _, found = checkpoint.load(path)
    assert sorted(found["weights"]) == [f"w{i}" for i in range(7)]


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    for step in (1, 5, 20, 100):
        checkpoint.save(tmp_path, step, groups(step), HEADER)
    names = [path.name for path in checkpoint.list_checkpoints(tmp_path)]
    assert names == ["step-000000020", "step-000000100"]
    header, found = checkpoint.load(tmp_path)
    assert header["step"] == 100
    assert float(found["weights"]["w0"][0]) == 100.0


def test_a_partial_folder_is_no_checkpoint(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 3, groups(), HEADER)
    for name in (".step-000000009.partial", "step-000000009"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights-0.safetensors").write_bytes(b"half of it")
    assert checkpoint.find(tmp_path) == tmp_path / "step-000000003"


def test_a_crash_while_saving_leaves_the_old_one(tmp_path, monkeypatch):
    checkpoint.save(tmp_path, 3, groups(), HEADER)
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise OSError("the disk is full")

        patch.setattr(checkpoint, "save_file", fail)
        with pytest.raises(OSError, match="full"):
            checkpoint.save(tmp_path, 4, groups(), HEADER)
    assert checkpoint.find(tmp_path) == tmp_path / "step-000000003"
    checkpoint.save(tmp_path, 4, groups(), HEADER)
    assert checkpoint.find(tmp_path) == tmp_path / "step-000000004"
    assert not list(tmp_path.glob(".*"))  # nothing is left lying about


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("header.json", "{", "header.json: expected JSON"),
        ("header.json", "[]", "step: missing or of the wrong type"),
        ("header.json", '{"step": 1, "seconds": 2, "files": {}}', "config: missing"),
        ("weights-0.safetensors", "no tensors", "not a complete checkpoint"),
        ("weights-0.safetensors", None, "not a complete checkpoint"),
    ],
)
def test_a_broken_checkpoint_is_named(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    path = checkpoint.save(tmp_path, 1, groups(), HEADER)
    if text is None:
        (path / name).unlink()
    else:
        (path / name).write_text(text)
    with pytest.raises(SpacevrpError, match=message):
        checkpoint.load(path)
