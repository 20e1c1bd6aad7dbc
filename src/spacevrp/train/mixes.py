"""Which problem each instance of a step poses, and which of them leave the recipe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spacevrp.generators import variety
from spacevrp.problems.variants import parse_variant
from spacevrp.train.config import TrainConfig


@dataclass(frozen=True)
class Mix:
    """What the rows of a shard are; what is drawn again in every step is left out."""

    problems: tuple[int, ...]  # positions in the run's list of variants
    sizes: tuple[int, ...]  # customers
    varied: tuple[bool, ...]  # which leave the recipe


class Mixes:
    """All mixes that the shards of a run come to, whose instances have one size.

    In a mixed run each shard begins with the problem after the last one of the shard before. The
    first shard of a step begins with the first problem; where a batch holds fewer instances than
    there are problems, with the one after the last of the step before.
    """

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        variants, turns = [parse_variant(name) for name in config.variants], config.turns
        count = config.batch // config.shards
        layouts = (
            [[turns[row % len(turns)] for row in range(config.cycle * config.batch)]]
            if config.mixed
            else [[problem] * config.batch for problem in range(len(variants))]
        )
        numbers: dict[Mix, int] = {}
        # For each layout, each turn of the varied instances and each shard: the number of the mix.
        self._number_of: list[list[list[int]]] = []
        for layout in layouts:
            rounds = variety.spread([variants[i] for i in layout], config.size, config.varied)
            self._number_of.append([])
            for sizes, varied in rounds:
                parts = [slice(at, at + count) for at in range(0, len(layout), count)]
                found = [
                    Mix(tuple(layout[part]), tuple(sizes[part]), tuple(varied[part]))
                    for part in parts
                ]
                self._number_of[-1].append([numbers.setdefault(m, len(numbers)) for m in found])
        self.distinct = list(numbers)

    def number(self, step: int, shard: int) -> int:
        """Position in ``distinct`` of the mix of a shard of a step; both count from 0."""
        config = self._config
        turns = self._number_of[0 if config.mixed else choose_problem(config, step)]
        cycles, place = divmod(step, config.cycle)
        return turns[cycles % len(turns)][place * config.shards + shard]


def choose_problem(config: TrainConfig, step: int) -> int:
    """The problem of a step that has only one."""
    return config.turns[_words(config, step)[0] % len(config.turns)]


def choose_size(config: TrainConfig, step: int) -> int:
    """How many customers the instances of a step have."""
    sizes = config.all_sizes
    return sizes[_words(config, step)[1] % len(sizes)]


def _words(config: TrainConfig, step: int) -> list[int]:
    """Two random words that follow from the seed and the number of the step alone."""
    return [int(w) for w in np.random.SeedSequence([config.seed, step]).generate_state(2)]
