"""The work of a step as two pieces, gradient and update, captured as CUDA graphs where possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import torch
from torch import Tensor

from spacevrp.generate.sampler import Sampler
from spacevrp.problems.variants import parse_variant
from spacevrp.tensors import Batch
from spacevrp.train.config import TrainConfig
from spacevrp.train.step import TrainStep

# Steps before a capture: compilation, autotuning and lazy initialisation happen there.
_WARM_UP_STEPS = 3


class Shards:
    """Draws the instances of a shard: all problems in turn, or one problem alone."""

    def __init__(self, config: TrainConfig, device: torch.device) -> None:
        count = config.batch // config.shards
        variants = [parse_variant(name) for name in config.variants]
        widest = max(
            Sampler([variant], config.size, "cpu", load_rule=config.load_rule).num_nodes
            for variant in variants
        )
        mixes = (
            [[i % len(variants) for i in range(count)]]
            if config.mixed
            else [[problem] * count for problem in range(len(variants))]
        )
        self.samplers = [
            Sampler([variants[i] for i in mix], config.size, device, widest, config.load_rule)
            for mix in mixes
        ]
        self.problems = [torch.tensor(mix, device=device) for mix in mixes]


class EagerWork:
    """Every piece launched from Python; on any device."""

    def __init__(self, step: TrainStep, shards: Shards) -> None:
        self.step, self.shards = step, shards

    def gradient(self, mix: int) -> None:
        """Draw a shard of that mix and add its gradient."""
        batch = self.shards.samplers[mix].draw(None)
        self.step.accumulate(batch, self.shards.problems[mix])

    def update(self) -> None:
        """Share the gradients and update the weights."""
        self.step.share()
        self.step.update()


class CapturedWork:
    """Every piece captured once and replayed: no time is spent in Python."""

    def __init__(self, step: TrainStep, shards: Shards) -> None:
        self.step = step
        first = shards.samplers[0].draw(None)
        self._batch = _static_copy(first)
        self._problem_of = shards.problems[0].clone()
        snapshot = _Snapshot(step)
        self._draws = [
            _capture(lambda s=sampler, p=problem: self._draw(s, p))  # type: ignore[misc]
            for sampler, problem in zip(shards.samplers, shards.problems, strict=True)
        ]
        self._draws[0].replay()
        self._gradient = _capture(lambda: step.accumulate(self._batch, self._problem_of))
        self._update = _capture(step.update)
        snapshot.restore()

    def _draw(self, sampler: Sampler, problem: Tensor) -> None:
        drawn = sampler.draw(None)
        for field in fields(Batch):
            getattr(self._batch, field.name).copy_(getattr(drawn, field.name))
        self._problem_of.copy_(problem)

    def gradient(self, mix: int) -> None:
        """Draw a shard of that mix and add its gradient."""
        self._draws[mix].replay()
        self._gradient.replay()

    def update(self) -> None:
        """Share the gradients and update the weights."""
        self.step.share()
        self._update.replay()


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


def _static_copy(batch: Batch) -> Batch:
    copies = {f.name: getattr(batch, f.name).clone() for f in fields(Batch)}
    copies["duration"] = copies["distance"]  # drawn instances share them
    return Batch(**copies)


def _capture(piece: Callable[[], None]) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP_STEPS):
            piece()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        piece()
    return graph
