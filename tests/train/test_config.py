"""Configurations and what follows from them: learning rates, and which problems come when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from spacevrp.model import ModelConfig
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train.config import PRESETS, TrainConfig
from spacevrp.train.mixes import Mixes, choose_problem
from spacevrp.train.optim import rate_factor
from spacevrp.train.work import Shards

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
            *("steps=500", "learning_rate = 1e-3", "optimizer=adamw", "mixed=false"),
            *("variants=TSP, CVRP", "sizes=[20, 30]", "betas=0.8,0.9", "model.layers=6"),
            *("model.width=64",),
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
        ({"arc_credit": 0.5}, "arc_credit: no key of a training run"),
        ({"steps": 0}, "steps: expected a whole number of at least 1, received 0"),
        ({"trajectories": 1}, "trajectories: expected 0, or 2 and more that can be compared"),
        ({"clip": float("nan")}, "clip: expected a number of at least 0"),
        ({"sure": 0.1}, "sure: expected a number from 0.5 to 1, received 0.1"),
        ({"average": 1.0}, "average: expected a number from 0 to below 1"),
        ({"varied": 0.002}, "varied: expected 0, or at least 0.0042 for batches of 128 instances"),
        ({"mixed": "yes"}, "mixed: expected true or false, received 'yes'"),
        ({"variants": "TSP"}, "variants: expected a list of names, received 'TSP'"),
        ({"variants": ["TSP", "TSP"]}, "variants: expected each variant once"),
        ({"variants": ["FLYING"]}, "FLYING"),
        ({"extra": ["CVRPL"]}, "extra: expected some of ATSP, TSP.*received 'CVRPL'"),
        ({"model": {"signals": 8}}, "model.signals: expected at most 7, received 8"),
        ({"sizes": 20}, "sizes: expected a list of whole numbers"),
        ({"sizes": [5.5]}, r"sizes: expected a list of whole numbers, received \(5.5,\)"),
        ({"sizes": [20, 0]}, "sizes: expected 4 to 10,000 customers, received 0"),
        ({"sizes": [10**9]}, "sizes: expected 4 to 10,000 customers, received 1000000000"),
        ({"size": 10_001}, "size: expected 4 to 10,000 customers, received 10001"),
        ({"size": 7}, "size: expected an even number"),
        ({"betas": [0.9, 1.0]}, "betas: expected two numbers from 0 to below 1"),
        ({"shards": 3}, "shards: expected a divisor of the batch 128, received 3"),
        ({"optimizer": "sgd"}, "optimizer: expected one of muon, adamw, received 'sgd'"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SpacevrpError, match=message):
        TrainConfig.from_dict(values)


def test_a_model_is_given_as_its_configuration() -> None:
    with pytest.raises(SpacevrpError, match="expected a ModelConfig, received"):
        TrainConfig(model={"layers": 2})  # type: ignore[arg-type]


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


Build = Callable[..., TrainConfig]


DECAY = "constant-then-decay"


@pytest.mark.parametrize(
    ("changes", "factors"),
    [
        ({"warmup": 4, "steps": 100}, {0: 0.25, 1: 0.5, 2: 0.75, 3: 1, 4: 1}),
        (
            {"schedule": DECAY, "warmup": 0, "steps": 100, "decay_share": 0.2},
            {0: 1, 79: 1, 80: 1, 85: 0.75, 90: 0.5, 99: 0.05, 100: 0},
        ),
        ({"schedule": "cosine", "warmup": 0, "steps": 300}, {0: 1, 100: 0.75, 150: 0.5, 300: 0}),
        ({"schedule": DECAY, "warmup": 0, "steps": 10, "decay_share": 0.0}, {0: 1, 9: 1}),
        # Half of a run that is shorter than its warm-up.
        (
            {"schedule": DECAY, "warmup": 200, "steps": 10, "decay_share": 0.4},
            {0: 0.2, 3: 0.8, 4: 1, 5: 1, 6: 1, 7: 0.75, 8: 0.5, 9: 0.25},
        ),
        ({"schedule": "cosine", "warmup": 6, "steps": 6}, {0: 1 / 3, 2: 1, 3: 0.5, 4: 0.25}),
    ],
)
def test_factors_by_hand(tiny: Build, changes: dict[str, Any], factors: dict[int, float]) -> None:
    config = tiny(**changes)
    assert {step: rate_factor(config, step) for step in factors} == pytest.approx(factors)


def test_the_papers_rate_falls_once_after_450_of_500_epochs() -> None:
    config = PRESETS["paper"]
    epoch = 2_000
    assert config.steps == 500 * epoch
    assert rate_factor(config, 0) == 1.0
    assert rate_factor(config, 450 * epoch - 1) == 1.0
    assert rate_factor(config, 450 * epoch) == pytest.approx(0.1)
    assert rate_factor(config, 500 * epoch - 1) == pytest.approx(0.1)


def problems_of(config: TrainConfig, steps: int) -> list[list[int]]:
    """For each step the problems of all its rows."""
    mixes = Mixes(config)
    return [
        [
            problem
            for shard in range(config.shards)
            for problem in mixes.distinct[mixes.number(step, shard)].problems
        ]
        for step in range(steps)
    ]


@pytest.mark.parametrize("shards", [2, 4, 8, 24])
def test_shards_go_on_where_the_one_before_ended(tiny: Build, shards: int) -> None:
    config = tiny(batch=24, shards=shards)
    assert problems_of(config, 2) == [[row % 12 for row in range(24)]] * 2


@pytest.mark.parametrize(("batch", "shards"), [(8, 1), (8, 4), (1, 1), (5, 1), (11, 11), (6, 2)])
def test_small_batches_go_on_where_the_last_ended(tiny: Build, batch: int, shards: int) -> None:
    config = tiny(batch=batch, shards=shards)
    rows = [problem for step in problems_of(config, 12) for problem in step]
    assert rows == [row % 12 for row in range(12 * batch)]


def test_problems_named_once_more_come_up_more_often(tiny: Build) -> None:
    config = tiny(extra=("OP", "CVRPTW", "OP"), batch=30)
    op, windows = config.variants.index("OP"), config.variants.index("CVRPTW")
    first, second = problems_of(config, 2)
    assert first == second == [*range(12), op, windows, op] * 2
    few = tiny(extra=("OP",), batch=4)
    rows = Counter(problem for step in problems_of(few, 13) for problem in step)
    assert rows == {problem: 8 if problem == op else 4 for problem in range(12)}
    alone = tiny(extra=("OP",) * 36, mixed=False)
    drawn = Counter(choose_problem(alone, step) for step in range(1000))
    assert 720 < drawn[op] < 820  # 37 of 48 turns


@pytest.mark.parametrize(
    ("batch", "shards", "mixed"), [(24, 4, True), (8, 2, True), (1, 1, True), (10, 2, False)]
)
def test_varied_instances_of_every_problem(tiny, batch, shards, mixed):
    config = tiny(batch=batch, shards=shards, mixed=mixed, varied=0.25, size=30)
    mixes = Mixes(config)
    varied: Counter[int] = Counter()
    rows: Counter[int] = Counter()
    sizes = set()
    for step in range(480):
        for shard in range(shards):
            mix = mixes.distinct[mixes.number(step, shard)]
            for problem, size, leaves in zip(mix.problems, mix.sizes, mix.varied, strict=True):
                rows[problem] += 1
                varied[problem] += leaves
                sizes.add(size)
    # Exactly where the turns come round; problems that are drawn come to different steps.
    allowed = 0.0 if mixed else 0.05
    assert len(rows) == 12
    assert all(abs(varied[one] / rows[one] - 0.25) <= allowed for one in rows)
    assert sizes == {20, 22, 24, 26, 28, 30}


def test_larger_instances_come_in_smaller_batches(tiny: Build) -> None:
    sizes = (5, 10, 20, 30)
    config = tiny(variants=("CVRP",), size=10, sizes=sizes, batch=36, trajectories=8, max_moves=15)
    steps = [config.at(size) for size in config.all_sizes]
    assert tuple(step.size for step in steps) == sizes
    assert [step.batch for step in steps] == [36, 36, 9, 4]  # as many arcs, but no more instances
    assert [step.trajectories for step in steps] == [4, 8, 16, 24]
    assert [step.max_moves for step in steps] == [8, 15, 30, 45]
    assert all(step.sizes == () for step in steps)
    # One alone is as good as the mean of its instance, and teaches nothing.
    assert tiny(size=30, sizes=(4, 30), trajectories=6).at(4).trajectories == 2
    whole = tiny(size=10, sizes=(10, 20), batch=72, shards=2, trajectories=0, max_moves=0)
    step = whole.at(20)
    assert (step.batch, step.shards, step.starts, step.max_moves) == (18, 2, 20, 0)


def test_a_smaller_batch_still_holds_a_round(tiny: Build) -> None:
    """Otherwise every step until one begins with the first problem again has its own mix."""
    config = tiny(size=10, sizes=(10, 30), batch=36, extra=("OP",))
    assert config.at(30).batch == 13  # and not 36 / 9
    assert len(Mixes(config.at(30)).distinct) == 1
    # In shards of one length each; a batch that holds no round comes in ninths all the same.
    assert tiny(size=10, sizes=(10, 30), batch=36, shards=3, extra=("OP",)).at(30).batch == 15
    assert tiny(size=10, sizes=(10, 30), batch=9).at(30).batch == 1
    assert tiny(size=10, sizes=(10, 30), batch=36, mixed=False).at(30).batch == 4


def test_every_size_is_checked_before_the_run(tiny: Build) -> None:
    assert tiny(size=10, sizes=(10,), batch=48, varied=0.25).at(10).varied == 0.25
    # 48 / 16 instances are less than a round of twelve problems.
    message = "varied: expected 0, or at least 0.042 for batches of 12 instances with 40 customers"
    with pytest.raises(SpacevrpError, match=f"^{message}, received 0.03$"):
        tiny(size=10, sizes=(10, 40), batch=48, varied=0.03)


def test_the_samplers_draw_what_the_mixes_say(tiny: Build) -> None:
    config = tiny(batch=8, varied=0.5, size=24)
    shards = Shards(config, torch.device("cpu"))
    for number, mix in enumerate(shards.mixes.distinct):
        batch = shards.samplers[number].draw(None)
        assert shards.problems[number].tolist() == list(mix.problems)
        assert (batch.is_node & ~batch.is_depot).sum(dim=1).tolist() == list(mix.sizes)
    # Rows with pairs in any of them: a captured graph serves all.
    paired = {
        row
        for mix in shards.mixes.distinct
        for row, problem in enumerate(mix.problems)
        if config.variants[problem] == "PDTSP"
    }
    assert shards.related_rows.tolist() == sorted(paired) == [2, 6]
