"""``spacevrp train`` and ``spacevrp plot training``."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import spacevrp
from spacevrp.cli.main import main
from spacevrp.model import ModelConfig
from spacevrp.model.weights import load_weights
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import checkpoint
from spacevrp.train.config import PRESETS
from spacevrp.train.loop import Outcome, _Loop
from spacevrp.train.state import build_config

TINY = """
size = 4
batch = 12
precision = "float32"
steps = 4
warmup = 2
log_steps = 2
[model]
width = 16
layers = 1
feedforward = 16
pivots = 4
rank = 2
heads = 1
"""


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return str(path)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


Cli = Callable[..., tuple[int, str, str]]


def step_of(folder: Path) -> int:
    return int(checkpoint.read_header(folder)["step"])


def test_train_resume_and_solve(cli: Cli, recipe: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    code, out, err = cli("train", "--config", recipe, "-o", run, "--device", "cpu")
    assert (code, out) == (0, f"{run}: finished, 4 of 4 steps taken\n")
    assert "4/4 steps" in err
    assert "instances/s" in err
    assert "TSP" in err
    assert step_of(run) == 4

    words = ("train", "--resume", run, "--set", "steps=6", "--device", "cpu", "--quiet")
    assert cli(*words) == (0, "", "")
    assert step_of(run) == 6
    assert json.loads((run / "config.json").read_text())["steps"] == 6

    instances = tmp_path / "tsp.npz"
    assert cli("generate", "TSP", "--size", 5, "--count", 2, "-o", instances)[0] == 0
    for weights in (run / "weights.safetensors", run, run / "step-000000006"):
        code, out, _ = cli("solve", instances, "--weights", weights, "--device", "cpu", "--quiet")
        assert code == 0
        assert [entry["feasible"] for entry in json.loads(out)["instances"]] == [True, True]
    problem = spacevrp.generate("TSP", 5, 1)[0]
    assert spacevrp.solve(problem, weights=str(run), device="cpu").feasible
    code, _, err = cli("solve", instances, "--weights", tmp_path, "--device", "cpu", "--quiet")
    assert code == 2
    assert "expected a checkpoint or a folder of them, found none" in err


@pytest.mark.parametrize("as_file", [True, False], ids=["weights file", "run folder"])
def test_starting_from_weights(cli: Cli, recipe: str, tmp_path: Path, as_file: bool) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert cli("train", "--config", recipe, "-o", old, "--quiet")[0] == 0
    source = old / "weights.safetensors" if as_file else old
    # The model comes with the weights; nothing else says how wide it is.
    plain = tmp_path / "plain.toml"
    plain.write_text(TINY.partition("[model]")[0], encoding="utf-8")
    rate = ("--set", "steps=1", "--set", "learning_rate=1e-6", "--set", "muon_rate=1e-6")
    words = ("train", "--config", plain, "--weights", source, *rate, "-o", new, "--quiet")
    assert cli(*words) == (0, "", "")
    before = checkpoint.load(old)[1]["average"]
    after = checkpoint.load(new)[1]["weights"]
    for name, tensor in before.items():
        assert torch.allclose(after[name], tensor, atol=2e-3 if as_file else 1e-5), name


def test_policy_heads_are_trained(cli: Cli, recipe: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert cli("train", "--config", recipe, "-o", old, "--quiet")[0] == 0
    heads = ("--set", "model.policy_heads=2", "--set", "augmentations=3", "--set", "average=0")
    words = ("train", "--config", recipe, "--weights", old, *heads, "-o", new, "--quiet")
    assert cli(*words) == (0, "", "")
    before, after = checkpoint.load(old)[1]["average"], checkpoint.load(new)[1]["weights"]
    for name, tensor in before.items():
        assert torch.equal(after[name], tensor), name
    assert float(after["policy_heads.last"].norm()) > 0
    # Later runs keep what was learned, and may not ask for more of it.
    network = load_weights(new)[0].config
    assert network.policy_heads == 2
    with pytest.raises(SpacevrpError, match=r"model.policy_heads: expected 2.*received 5"):
        build_config(None, None, ["model.policy_heads=5"], network)
    code, _, err = cli("train", "--resume", new, "--set", "augmentations=1", "--quiet")
    assert code == 2
    assert "augmentations: expected 3" in err


def test_keys_of_the_network_that_nobody_set_come_with_the_weights() -> None:
    network = ModelConfig(width=16, heads=1, match_start=0.7)
    for preset in (None, "fast", "paper"):
        config = build_config(preset, None, ["model.width=16", "steps=5"], network)
        assert (config.model, config.steps) == (network, 5)
    with pytest.raises(SpacevrpError, match=r"model.match_start: expected 0.7.*received 0.2"):
        build_config(None, None, ["model.match_start=0.2"], network)


def test_whether_the_budget_was_kept_is_told(cli, recipe, tmp_path, monkeypatch):
    late = "12.3s after the budget was spent"
    for reason, overrun, words in (
        ("budget", 12.34, f"stopped {late}"),
        ("finished", 12.34, f"finished {late}"),
        ("budget", 0.0, "stopped within the budget"),
        ("finished", 0.0, "finished"),
    ):
        outcome = Outcome(reason, 1, 4, tmp_path, overrun=overrun)  # type: ignore[arg-type]
        monkeypatch.setattr("spacevrp.train.loop.train", lambda *_, o=outcome, **__: o)
        code, out, _ = cli("train", "--config", recipe, "--budget", "1s", "-o", tmp_path / "r")
        assert (code, out) == (0, f"{tmp_path / 'r'}: {words}, 1 of 4 steps taken\n")


def test_a_signal(cli: Cli, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = _Loop._take_step

    def acting(loop: _Loop, number: int) -> None:
        take(loop, number)
        # To this thread: a signal to the process may be handled later, after the second one, which
        # would end it.
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(_Loop, "_take_step", acting)
    code, out, _ = cli("train", "--config", recipe, "-o", tmp_path / "run")
    assert code == 128 + signal.SIGTERM
    assert "stopped by a signal, 1 of 4 steps taken" in out
    assert step_of(tmp_path / "run") == 1


def test_preset_below_file_below_settings(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("batch = 64\nsteps = 7\n", encoding="utf-8")
    config = build_config("paper", file, ["steps=9"])
    assert (config.optimizer, config.batch, config.steps) == ("adamw", 64, 9)
    assert build_config(None, None, []) == PRESETS["fast"]
    assert build_config("paper", None, []) == PRESETS["paper"]
    assert build_config(None, file, []) == replace(PRESETS["fast"], batch=64, steps=7)
    file.write_text('preset = "paper"\n', encoding="utf-8")
    assert build_config(None, file, []) == PRESETS["paper"]
    with pytest.raises(SpacevrpError, match="preset"):
        build_config("fast", file, [])


# ------------------------------------------------------------------------------------ the curves


@pytest.mark.parametrize(
    ("log", "output", "message"),
    [
        (None, "a.png", "log.csv: no such file"),
        ("step,cost\n1,2\n", "a.png", "column gradient_norm: missing"),
        ("step,gradient_norm,rate_factor\n", "a.png", "expected at least one row"),
        ("step,gradient_norm,rate_factor\n1,2,3\n", "a.jpg", "ends in .png"),
        ("step,gradient_norm,rate_factor\n1,2,3\n", "no/a.png", "there is no folder"),
    ],
)
def test_curves_that_cannot_be_drawn(cli, tmp_path, log, output, message):
    pytest.importorskip("matplotlib", reason="plots are an extra")
    if log is not None:
        (tmp_path / "log.csv").write_text(log, encoding="utf-8")
    code, _, err = cli("plot", "training", tmp_path, "-o", tmp_path / output)
    assert code == 2
    assert message in err
