"""Configurations: presets, files, settings, and everything that can be wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spacevrp.model import ModelConfig
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train.config import PRESETS, TrainConfig

RECIPES = Path(__file__).parents[2] / "recipes"


def write(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_recipes_are_the_presets_written_out(name: str) -> None:
    assert TrainConfig.read(RECIPES / f"{name}.toml") == PRESETS[name]


def test_plain_data_and_back() -> None:
    config = TrainConfig(sizes=(20, 30), betas=(0.8, 0.9), model=ModelConfig(layers=3))
    assert TrainConfig.from_dict(config.to_dict()) == config


def test_a_file_changes_its_preset(tmp_path: Path) -> None:
    path = write(
        tmp_path, 'preset = "paper"\nbatch = 64\nvariants = ["TSP", "CVRP"]\n[model]\nlayers = 6\n'
    )
    config = TrainConfig.read(path)
    assert (config.batch, config.variants, config.model.layers) == (64, ("TSP", "CVRP"), 6)
    assert (config.optimizer, config.model.width) == ("adamw", 128)


def test_settings() -> None:
    config = TrainConfig().changed(
        [
            "steps=500",
            "learning_rate = 1e-3",
            "optimizer=adamw",
            "mixed=false",
            "variants=TSP, CVRP",
            "sizes=[20, 30]",
            "betas=0.8,0.9",
            "model.layers=6",
            "model.width=64",
        ]
    )
    assert (config.steps, config.learning_rate, config.optimizer) == (500, 1e-3, "adamw")
    assert not config.mixed
    assert (config.variants, config.sizes) == (("TSP", "CVRP"), (20, 30))
    assert (config.betas, config.model.layers, config.model.width) == ((0.8, 0.9), 6, 64)
    assert config.model.feedforward == 512


def test_settings_hold_together_not_one_by_one() -> None:
    # Three shards do not divide 128 instances, but they divide 96.
    config = TrainConfig().changed(["shards=3", "batch=96"])
    assert (config.shards, config.batch) == (3, 96)


@pytest.mark.parametrize("setting", ["steps", "=5", "steps.more=5"])
def test_what_is_no_setting(setting: str) -> None:
    with pytest.raises(SpacevrpError, match="--set"):
        TrainConfig().changed([setting])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"stepz": 5}, r"stepz: no key of a training run \(did you mean steps\?\)"),
        ({"model": {"depth": 3}}, "model.depth: unknown key"),
        ({"model": 5}, "model: expected a table, received 5"),
        ({"baseline": "critic"}, "baseline: expected one of mean, state, received"),
        (
            {"baseline": "state", "arc_credit": 0.5},
            "arc_credit: expected 0 with the baseline `state`, received 0.5",
        ),
        ({"steps": 0}, "steps: expected a whole number of at least 1, received 0"),
        ({"clip": float("nan")}, "clip: expected a number of at least 0"),
        ({"sure": 0.1}, "sure: expected a number from 0.5 to 1, received 0.1"),
        ({"average": 1.0}, "average: expected a number from 0 to below 1"),
        ({"varied": 0.002}, "varied: expected 0, or at least 0.0042 for this batch"),
        ({"mixed": "yes"}, "mixed: expected true or false, received 'yes'"),
        ({"variants": "TSP"}, "variants: expected a list of names, received 'TSP'"),
        ({"variants": ["TSP", "TSP"]}, "variants: expected each variant once"),
        ({"variants": ["FLYING"]}, "FLYING"),
        ({"extra": ["CVRPL"]}, "extra: expected some of ATSP, TSP.*received 'CVRPL'"),
        ({"model": {"signals": 8}}, "model.signals: expected at most 7, received 8"),
        ({"sizes": 20}, "sizes: expected a list of numbers"),
        ({"sizes": [20, 2]}, "size: expected a whole number of at least 4"),
        ({"size": 7}, "size: expected an even number"),
        ({"betas": [0.9, 1.0]}, "betas: expected two numbers from 0 to below 1"),
        ({"shards": 3}, "shards: expected a divisor of the batch 128, received 3"),
        ({"optimizer": "sgd"}, "optimizer: expected one of muon, adamw, received 'sgd'"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SpacevrpError, match=message):
        TrainConfig.from_dict(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps = ", "run.toml: expected TOML"),
        ("stepz = 5", "run.toml: stepz: no key"),
        ('preset = "huge"', "run.toml: preset: expected one of paper, fast, received 'huge'"),
        ("preset = [1]", "run.toml: preset"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpacevrpError, match=message):
        TrainConfig.read(write(tmp_path, text))
