"""``spacevrp solve`` on large instances: what was left out is said, and can be chosen."""

from __future__ import annotations

import json

import pytest
import torch

from spacevrp.cli.main import main
from spacevrp.cli.solve import shorten
from spacevrp.engines import batching, native_engine, pruning
from spacevrp.formats import write
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import save_weights
from spacevrp.problems.referee import judge


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        # With distances at their full weight, the nearest would be taken however many there are.
        config = ModelConfig(width=16, layers=2, feedforward=32, pivots=4, rank=2, match_start=0.15)
        model = SpaceModel(config)
    return str(save_weights(tmp_path_factory.mktemp("weights") / "tiny", model, {}))


def test_the_note_and_the_plan(tmp_path, weights, capsys):
    (problem,) = generate("CVRP", 230, 1)
    write([problem], tmp_path / "many.npz")
    command = ["solve", str(tmp_path / "many.npz"), "--weights", weights, "--device", "cpu"]
    few = ["--augment", "1", "--starts", "2", "--no-improve"]
    assert main([*command, *few, "--format", "json"]) == 0
    output = capsys.readouterr()
    assert output.err == (
        "spacevrp: note: 'many[0]': at most 2 start nodes an augmentation, 32 nearest "
        "customers a move (see --set start_nodes, candidates)\n"
    )
    plan = json.loads(output.out)["instances"][0]
    assert judge(problem, plan["routes"]).violations == ()
    assert main([*command, *few, "--candidates", "5"]) == 0
    other = capsys.readouterr()
    assert other.err == ""
    assert json.loads(other.out)["instances"][0]["routes"] != plan["routes"]


def test_what_does_not_fit_is_one_line_and_no_file(tmp_path, weights, capsys, monkeypatch):
    for module in (batching, native_engine, pruning):
        monkeypatch.setattr(module, "available", lambda device: 1000)
    monkeypatch.setattr(batching, "default_budget", lambda device, on_cpu=0: 1000)
    write(generate("CVRP", 230, 1), tmp_path / "many.npz")
    out = tmp_path / "plan.json"
    command = ["solve", str(tmp_path / "many.npz"), "--weights", weights, "--device", "cpu"]
    assert main([*command, "-o", str(out)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(
        "spacevrp: error: out of memory on cpu: one augmentation of an instance"
    )
    assert output.err.count("\n") == 1
    assert not out.exists()


def test_many_notes_are_only_counted() -> None:
    assert shorten(["a", "b"]) == ["a", "b"]
    assert shorten(list("abcde")) == ["a", "b", "c", "and so for 2 more instances"]
