"""The work of a step as two pieces, gradient and update, captured as CUDA graphs where possible."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from spacevrp.decode.pruned_graph import capture
from spacevrp.generators.sampler import Sampler
from spacevrp.problems.variants import parse_variant
from spacevrp.tensors import Batch
from spacevrp.train.config import TrainConfig
from spacevrp.train.mixes import Mixes
from spacevrp.train.step import TrainStep


class Shards:
    """Draws the instances of a shard: the problems in turn, or one problem alone."""

    def __init__(self, config: TrainConfig, device: torch.device) -> None:
        variants = [parse_variant(name) for name in config.variants]
        self.mixes = Mixes(config)
        mixes = self.mixes.distinct
        dtype = torch.float64 if config.precision == "float64" else torch.float32
        self.samplers = [
            Sampler(
                [variants[i] for i in mix.problems],
                mix.sizes,
                device,
                config.num_nodes,
                config.load_rule,
                dtype,
                mix.varied,
                config.model.problem_bits,
            )
            for mix in mixes
        ]
        self.problems = [torch.tensor(mix.problems, device=device) for mix in mixes]
        self.trajectories = config.starts
        # Rows that have pairs in some mix: a captured graph needs them all.
        related = {
            row
            for mix in mixes
            for row, problem in enumerate(mix.problems)
            if variants[problem].features.pickup_delivery
        }
        self.related_rows = torch.tensor(sorted(related), dtype=torch.int64, device=device)


class EagerWork:
    """Every piece launched from Python; on any device and for any size."""

    def __init__(self, step: TrainStep, shards: Shards) -> None:
        self.step, self.shards = step, shards

    def gradient(self, step: int, shard: int = 0) -> None:
        """Draw a shard of that step and add its gradient."""
        mix = self.shards.mixes.number(step, shard)
        batch = self.shards.samplers[mix].draw(None)
        self.step.accumulate(batch, self.shards.problems[mix], self.shards.trajectories)

    def update(self) -> None:
        """Share the gradients and update the weights."""
        self.step.share()
        self.step.update()


class CapturedWork:
    """Every piece captured once and replayed: no time is spent in Python.

    Beyond the size that the kernels take, the graph holds a fixed number of compiled steps. Other
    captured work may share the ``pool`` of its memory: none of it outlives a replay.
    """

    def __init__(self, step: TrainStep, shards: Shards, pool: Any = None) -> None:
        self.step = step
        # The graphs know the samplers' tensors by their addresses: they must outlive them.
        self._shards = shards
        first = shards.samplers[0].draw(None)
        shared = not any(sampler.draws_durations for sampler in shards.samplers)
        self._batch = _static_copy(first, shared)
        self._problem_of = shards.problems[0].clone()
        snapshot = _Snapshot(step)
        self._draws = [
            capture(lambda s=sampler, p=problem: self._draw(s, p), pool)  # type: ignore[misc]
            for sampler, problem in zip(shards.samplers, shards.problems, strict=True)
        ]
        self._draws[0]()
        self._gradient = capture(
            lambda: step.accumulate(
                self._batch, self._problem_of, shards.trajectories, shards.related_rows
            ),
            pool,
        )
        self._update = capture(step.update, pool)
        snapshot.restore()

    def _draw(self, sampler: Sampler, problem: Tensor) -> None:
        drawn = sampler.draw(None)
        for field in fields(Batch):
            getattr(self._batch, field.name).copy_(getattr(drawn, field.name))
        self._problem_of.copy_(problem)

    def gradient(self, step: int, shard: int = 0) -> None:
        """Draw a shard of that step and add its gradient."""
        mix = self._shards.mixes.number(step, shard)
        self._draws[mix]()
        self._gradient()

    def update(self) -> None:
        """Share the gradients and update the weights."""
        self.step.share()
        self._update()


class SizedWork:
    """The work for each size, made when the size first comes up."""

    def __init__(self, step: TrainStep, config: TrainConfig, device: torch.device) -> None:
        self._step, self._config, self._device = step, config, device
        self._made: dict[int, EagerWork | CapturedWork] = {}
        self._pool: Any = None
        # Graphs that share their memory need it once; varied instances come in several turns.
        if device.type == "cuda" and (len(config.all_sizes) > 1 or config.varied):
            self._pool = torch.cuda.graph_pool_handle()

    def at(self, size: int) -> EagerWork | CapturedWork:
        """The work on instances of that size. Making it takes random numbers: seed afterwards."""
        if size not in self._made:
            shards = Shards(self._config.at(size), self._device)
            captured = self._step.fused and self._device.type == "cuda"
            self._made[size] = (
                CapturedWork(self._step, shards, self._pool)
                if captured
                else EagerWork(self._step, shards)
            )
        return self._made[size]


class _Snapshot:
    """Everything a warm-up step changes, to be put back before the run begins."""

    def __init__(self, step: TrainStep) -> None:
        optimizer = step.optimizer
        self._live = [
            *(parameter.data for parameter in optimizer.parameters),
            *(parameter.grad for parameter in optimizer.parameters if parameter.grad is not None),
            *optimizer.state().values(),
            *step.average.weights,
            *step.tally.tensors,
            optimizer.count,
        ]
        self._kept = [tensor.clone() for tensor in self._live]

    def restore(self) -> None:
        torch._foreach_copy_(self._live, self._kept)


def _static_copy(batch: Batch, shared: bool) -> Batch:
    copies = {f.name: getattr(batch, f.name).clone() for f in fields(Batch)}
    if shared:  # no draw tells durations from distances
        copies["duration"] = copies["distance"]
    return Batch(**copies)
