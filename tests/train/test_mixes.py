"""Which problems the shards of a step hold: every one gets its turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import torch

from spacevrp.train.config import TrainConfig
from spacevrp.train.mixes import Mixes, choose_problem
from spacevrp.train.work import Shards

Build = Callable[..., TrainConfig]


def problems_of(config: TrainConfig, steps: int) -> list[list[int]]:
    """For each step the problems of all its rows."""
    mixes = Mixes(config, config.size)
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
    mixes = Mixes(config, 30)
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
