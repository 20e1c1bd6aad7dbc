"""Two processes on one run do what one process does."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import PRESETS, checkpoint
from spacevrp.train.loop import train
from spacevrp.train.parallel import choose_device

pytestmark = [
    pytest.mark.skipif(
        not (dist.is_available() and dist.is_gloo_available()), reason="needs torch with gloo"
    ),
    pytest.mark.slow,
]

# What the preset has otherwise than a run that says nothing.
OURS = ("muon_decay", "instance_clip", "baseline", "sure")
SETTINGS = (
    "size=6 batch=8 shards=2 precision=float64 steps=6 warmup=2 log_steps=3 model.width=16 "
    "model.layers=1 model.feedforward=32 model.pivots=4 model.rank=2 model.heads=2 "
    "model.match_start=1.0"
)


def torchrun(processes: int, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    settings = [word for setting in SETTINGS.split() for word in ("--set", setting)]
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *(f"--nproc-per-node={processes}", "-m", "spacevrp", "train", "--device", "cpu"),
        *settings,
        *more,
        *("-o", str(folder)),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.mark.skipif(sys.platform != "linux", reason="the loopback is called lo on Linux alone")
def test_two_processes_equal_one(tmp_path: Path, tiny) -> None:  # type: ignore[no-untyped-def]
    """Up to rounding, and in float64 as in no other type.

    Gradients that are 0 but for rounding have any sign, and in float32 AdamW takes a whole step
    along them; in float64 they are far below its epsilon.
    """
    done = torchrun(2, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("finished, 6 of 6 steps taken") == 1  # one of them speaks

    stored = checkpoint.read_header(tmp_path / "two")
    ours = {name: getattr(PRESETS["fast"], name) for name in OURS}
    config = tiny(batch=8, shards=2, steps=6, warmup=2, log_steps=3, precision="float64", **ours)
    assert stored["config"] == json.loads(json.dumps(config.to_dict()))
    outcome = train(config, tmp_path / "one", device="cpu", progress=False)
    (_, one), (_, two) = checkpoint.load(outcome.checkpoint), checkpoint.load(tmp_path / "two")
    for group, tensors in one.items():
        for name, tensor in tensors.items():
            assert torch.allclose(tensor, two[group][name], rtol=1e-6, atol=1e-7), name
    # Each process counts its own half; the log has both.
    logs = []
    for folder in ("one", "two"):
        with (tmp_path / folder / "log.csv").open(newline="") as file:
            logs.append(list(csv.DictReader(file)))
    timing = ("seconds", "step_milliseconds", "instances_per_second")
    for row, other in zip(*logs, strict=True):
        for name in row.keys() - set(timing):
            assert float(row[name]) == pytest.approx(float(other[name]), rel=1e-4), name
    (sitting,) = json.loads((tmp_path / "two" / "run.json").read_text())["sittings"]
    assert sitting["processes"] == 2


def test_shards_must_divide_among_processes(  # type: ignore[no-untyped-def]
    tmp_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacevrp.train.loop.rank_and_world", lambda: (0, 2))
    with pytest.raises(SpacevrpError, match="shards: expected a multiple of 2 processes"):
        train(tiny(shards=3), tmp_path, device="cpu", progress=False)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto", 1) == torch.device("cuda", 1)
    assert choose_device("cpu", 1) == torch.device("cpu")
    assert choose_device("cuda:0", 1) == torch.device("cuda", 0)
    with pytest.raises(SpacevrpError, match="expected 3 CUDA devices or more, found 2"):
        choose_device("cuda", 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    with pytest.raises(SpacevrpError, match="found 0; use --device cpu"):
        choose_device("cuda")


def test_a_broken_environment_is_named(  # type: ignore[no-untyped-def]
    tmp_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "first")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SpacevrpError, match="RANK: expected a number in the environment"):
        train(tiny(), tmp_path, device="cpu", progress=False)


def test_a_group_that_is_there_is_taken_and_left(  # type: ignore[no-untyped-def]
    tmp_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under Ray Train, whose processes have joined each other before they run anything."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    store = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        assert train(tiny(), tmp_path / "run", device="cpu", progress=False).reason == "finished"
        assert torch.distributed.is_initialized()
    finally:
        torch.distributed.destroy_process_group()
