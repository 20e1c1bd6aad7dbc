"""Checkpoints, and runs that were stopped or killed: they go on as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spacevrp.model import ModelConfig
from spacevrp.model.weights import load_weights
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import checkpoint
from spacevrp.train.config import TrainConfig
from spacevrp.train.mixes import choose_size
from spacevrp.train.state import TrainState, network_and_weights, resumed_config, stored_weights

from .conftest import quiet, stop_at

Build = Callable[..., TrainConfig]


def assert_equal_states(one: Path, other: Path) -> None:
    """The same step, weights, moments and averages, to the bit."""
    (header, groups), (other_header, other_groups) = checkpoint.load(one), checkpoint.load(other)
    assert header["step"] == other_header["step"]
    assert groups.keys() == other_groups.keys()
    for group, tensors in groups.items():
        assert tensors.keys() == other_groups[group].keys()
        for name, tensor in tensors.items():
            assert torch.equal(tensor, other_groups[group][name]), f"{group}: {name}"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "adamw", "mixed": False, "average": 0.0, "schedule": "cosine"},
        pytest.param({"sizes": (4, 6, 8), "shards": 2}, marks=pytest.mark.slow),
    ],
    ids=["mixed", "one problem a batch", "sizes"],
)
def test_four_and_four_steps_are_eight(
    tiny: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    config = tiny(steps=8, **changes)
    whole = quiet(config, tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_at(patch, 4)
        first = quiet(config, tmp_path / "parts")
    assert (first.reason, first.step) == ("signal", 4)
    second = quiet(config, tmp_path / "parts", resume=tmp_path / "parts")
    assert (second.reason, second.step) == ("finished", 8)
    assert_equal_states(whole.checkpoint, second.checkpoint)


def test_moments_go_with_weights_into_another_schedule(tiny: Build, tmp_path: Path) -> None:
    earlier = quiet(tiny(steps=6, moments="bfloat16"), tmp_path / "earlier").checkpoint
    _, weights = stored_weights(earlier)
    config = tiny(steps=3, moments="bfloat16", variants=("CVRP", "MDCVRP"))
    state = TrainState(config, torch.device("cpu"), weights)
    state.take_moments(earlier)
    stored = checkpoint.load(earlier)[1]["moments"]
    assert all(torch.equal(m, stored[n].float()) for n, m in state.optimizer.state().items())
    assert (state.step, float(state.optimizer.count)) == (0, 6.0)

    later = quiet(config, tmp_path / "later", weights=weights, moments=tmp_path / "earlier")
    assert (later.reason, later.step) == ("finished", 3)
    assert checkpoint.read_header(later.checkpoint)["updates"] == 9
    resumed = TrainState(config, torch.device("cpu"))
    resumed.restore(later.checkpoint)
    assert (resumed.step, float(resumed.optimizer.count)) == (3, 9.0)


def test_moments_of_another_optimizer_are_refused(tiny: Build, tmp_path: Path) -> None:
    earlier = quiet(tiny(steps=1, optimizer="adamw"), tmp_path / "earlier").checkpoint
    state = TrainState(tiny(), torch.device("cpu"))
    with pytest.raises(SpacevrpError, match="moments: expected the tensors of this run"):
        state.take_moments(earlier)


# Takes all steps of a run, then those of another until it is killed.
KILLED = """
import os, signal, sys
from pathlib import Path
from spacevrp.train.config import TrainConfig
from spacevrp.train.loop import _Loop, train

config = TrainConfig.read(sys.argv[1])
folder = Path(sys.argv[2])
train(config, folder / "whole", device="cpu", progress=False)
take = _Loop._take_step
def acting(loop, number):
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    take(loop, number)
_Loop._take_step = acting
train(config, folder / "killed", device="cpu", progress=False)
"""
RESUMED = """
import sys
from pathlib import Path
from spacevrp.train.config import TrainConfig
from spacevrp.train.loop import train

folder = Path(sys.argv[2]) / "killed"
train(TrainConfig.read(sys.argv[1]), folder, device="cpu", progress=False, resume=folder)
"""


def in_a_process(script: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run it where nothing has happened before, with one thread.

    The last bits depend on the threads and on what a process has multiplied before (see
    ``steady_products``): states are compared between processes alike in both.
    """
    command = [sys.executable, "-c", script, *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, check=False, capture_output=True, env=environment)


@pytest.mark.slow
def test_a_killed_run_goes_on(tiny: Build, tmp_path: Path) -> None:
    # Short enough that a checkpoint is written at every look at the clock: at every log at least.
    config = tiny(steps=20, checkpoint_seconds=1e-6, log_steps=2)
    recipe = tmp_path / "run.toml"
    recipe.write_text(as_toml(config), encoding="utf-8")
    assert TrainConfig.read(recipe) == config
    done = in_a_process(KILLED, str(recipe), str(tmp_path))
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert not (tmp_path / "killed" / "weights.json").exists()  # it had no time to finish
    left = checkpoint.read_header(tmp_path / "killed")["step"]
    assert left in (12, 13)
    # What was logged after the checkpoint must not be there twice.
    with (tmp_path / "killed" / "log.csv").open("a") as file:
        file.write("13,1,2,cut sho")
    done = in_a_process(RESUMED, str(recipe), str(tmp_path))
    assert done.returncode == 0, done.stderr.decode()
    assert_equal_states(tmp_path / "whole", tmp_path / "killed")
    lines = (tmp_path / "killed" / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == [str(step) for step in range(2, 21, 2)]
    sittings = json.loads((tmp_path / "killed" / "run.json").read_text())["sittings"]
    assert [sitting["from_step"] for sitting in sittings] == [0, left]


def as_toml(config: TrainConfig) -> str:
    values = config.to_dict()
    model = values.pop("model")
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join([*lines, "[model]", *(f"{k} = {json.dumps(v)}" for k, v in model.items())])


def test_a_longer_run_is_allowed_and_recorded(tiny: Build, tmp_path: Path) -> None:
    quiet(tiny(steps=2), tmp_path)
    config = resumed_config(tmp_path, ["steps=4", "schedule=cosine"])
    assert config == tiny(steps=4, schedule="cosine")
    assert quiet(config, tmp_path, resume=tmp_path).step == 4
    changed = json.loads((tmp_path / "run.json").read_text())["sittings"][1]["changed"]
    assert changed["steps"] == {"before": 2, "now": 4}
    assert set(changed) == {"steps", "schedule"}
    assert resumed_config(tmp_path, []) == config


def stored_otherwise(folder: Path, **changes: Any) -> None:
    """Make the newest checkpoint one of another version; keys of the run given as None are gone."""
    file = checkpoint.find(folder) / "header.json"
    header = json.loads(file.read_text())
    header.pop("instances", None)
    changed = {**header["config"], **changes}
    header["config"] = {name: value for name, value in changed.items() if value is not None}
    file.write_text(json.dumps(header))


def test_a_run_from_before_depots_were_drawn_goes_on_with_them_drawn(
    tiny: Build, tmp_path: Path
) -> None:
    quiet(tiny(steps=1, depot_temperature=0.0), tmp_path)
    stored_otherwise(tmp_path, depot_temperature=None)
    assert resumed_config(tmp_path, []).depot_temperature == 1.0


def test_the_instances_of_a_run_are_counted(tiny: Build, tmp_path: Path) -> None:
    """Also where its batch and its sizes change on the way."""
    quiet(tiny(steps=3, seed=3), tmp_path)
    config = resumed_config(tmp_path, ["steps=5", "batch=48", "sizes=6,12"])
    quiet(config, tmp_path, resume=tmp_path)
    sittings = json.loads((tmp_path / "run.json").read_text())["sittings"]
    assert set(sittings[1]["changed"]) == {"steps", "batch", "sizes"}
    sizes = [choose_size(config, step) for step in (3, 4)]
    assert sizes == [12, 6]  # by a quarter of 48, and by 48
    assert load_weights(tmp_path / "weights")[1]["instances"] == 3 * 12 + 12 + 48
    assert checkpoint.read_header(tmp_path)["instances"] == 3 * 12 + 12 + 48


def test_a_run_from_before_batches_followed_their_size_does_not_change_them_silently(
    tiny: Build, tmp_path: Path
) -> None:
    quiet(tiny(steps=1, size=6, sizes=(6,)), tmp_path)
    stored_otherwise(tmp_path, sizes=[6, 12])
    message = r"sizes: expected batch 24 also with 12 customers, as .*, received 12"
    with pytest.raises(SpacevrpError, match=message):
        quiet(resumed_config(tmp_path, ["steps=2", "batch=24"]), tmp_path, resume=tmp_path)
    # Smaller sizes have the same batches.
    stored_otherwise(tmp_path, sizes=[4, 6])
    assert quiet(resumed_config(tmp_path, ["steps=2"]), tmp_path, resume=tmp_path).step == 2
    assert load_weights(tmp_path / "weights")[1]["instances"] == 2 * 12


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.layers=2", "model.layers: expected 1 as in .*, received 2"),
        ("optimizer=adamw", "optimizer: expected 'muon'"),
        ("variants=TSP", "variants: expected"),
        ("load_rule=paper", "load_rule: expected 'single'"),
    ],
)
def test_a_run_cannot_become_another(
    tiny: Build, tmp_path: Path, setting: str, message: str
) -> None:
    quiet(tiny(steps=1), tmp_path)
    with pytest.raises(SpacevrpError, match=message):
        resumed_config(tmp_path, [setting])


def test_a_run_cannot_end_before_it_began(tiny: Build, tmp_path: Path) -> None:
    quiet(tiny(steps=3), tmp_path)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(SpacevrpError, match=r"steps: expected at least 3, .* received 2"):
        quiet(resumed_config(tmp_path, ["steps=2"]), tmp_path, resume=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == kept


def test_an_average_that_begins_on_the_way(tiny: Build, tmp_path: Path) -> None:
    first = quiet(tiny(steps=4, average=0.0), tmp_path)
    _, before = checkpoint.load(first.checkpoint)
    config = resumed_config(tmp_path, ["average=0.25", "steps=5"])
    _, after = checkpoint.load(quiet(config, tmp_path, resume=tmp_path).checkpoint)
    for name, tensor in after["average"].items():
        # One step: a quarter of where it began, three quarters of where the weights are now.
        expected = 0.25 * before["weights"][name] + 0.75 * after["weights"][name]
        assert torch.allclose(tensor, expected, atol=1e-6), name


def test_an_average_that_is_lost_is_missed(tiny: Build, tmp_path: Path) -> None:
    saved = quiet(tiny(steps=1), tmp_path).checkpoint
    header = json.loads((saved / "header.json").read_text())
    del header["files"]["average"]
    (saved / "header.json").write_text(json.dumps(header))
    with pytest.raises(SpacevrpError, match="average: expected the tensors of this run"):
        quiet(tiny(steps=2), tmp_path, resume=tmp_path)


def test_another_model_does_not_fit(tiny: Build, tmp_path: Path) -> None:
    quiet(tiny(steps=1), tmp_path)
    wider = replace(tiny(), model=ModelConfig(width=32, layers=1, feedforward=32, pivots=4, rank=2))
    with pytest.raises(SpacevrpError, match=r"weights.*expected"):
        TrainState(wider, torch.device("cpu")).restore(tmp_path)


def test_weights_alone_begin_with_the_warm_up(
    tiny: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet(tiny(steps=3, average=0.0), tmp_path / "old")
    _, weights = stored_weights(tmp_path / "old")
    config = tiny(steps=8, warmup=4, average=0.0)
    stop_at(monkeypatch, 1)
    outcome = quiet(config, tmp_path / "new", weights=weights)
    _, groups = checkpoint.load(outcome.checkpoint)
    before, after = weights["embed_types"], groups["weights"]["embed_types"]
    # A first AdamW step moves every number by the rate: a quarter of it, in the warm-up.
    moved = (after - before).abs()
    assert float(moved.max()) == pytest.approx(config.learning_rate / 4, rel=1e-3)


def test_weights_are_taken_from_runs_with_keys_of_other_versions(
    tiny: Build, tmp_path: Path
) -> None:
    config = tiny(steps=1)
    _, groups = checkpoint.load(quiet(config, tmp_path).checkpoint)
    stored_otherwise(tmp_path, batch=0, critic=True)
    network, weights = network_and_weights(str(tmp_path))
    assert network == config.model
    assert all(torch.equal(weights[name], groups["average"][name]) for name in weights)
    with pytest.raises(SpacevrpError, match="critic: no key of a training run"):
        resumed_config(tmp_path, [])  # the run itself cannot go on


def test_rounded_moments_are_the_ones_that_live_on(tiny: Build, tmp_path: Path) -> None:
    state = TrainState(tiny(moments="bfloat16"), torch.device("cpu"))
    for moment in state.optimizer.state().values():
        moment.normal_()
    before = {name: moment.clone() for name, moment in state.optimizer.state().items()}
    state.round_moments()
    state.save(tmp_path, {"seconds": 0.0})
    _, groups = checkpoint.load(tmp_path)
    for name, moment in state.optimizer.state().items():
        assert groups["moments"][name].dtype == torch.bfloat16
        assert torch.equal(moment, groups["moments"][name].float())
        assert torch.allclose(moment, before[name], rtol=2**-8)


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
