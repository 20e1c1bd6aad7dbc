"""One training step: draw, encode, roll out, replay, go back through the encoder, update."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from spacevrp.decode.fused import FusedOptions, fused_rollout
from spacevrp.decode.fused_replay import fused_replay_gradients
from spacevrp.decode.launch import supports
from spacevrp.decode.random_numbers import random_keys
from spacevrp.decode.replay import replay_gradients, trained_tables
from spacevrp.decode.rollout import advance, rollout
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment, start_nodes
from spacevrp.model import HEAD_STRENGTH, SpaceModel, random_seeds
from spacevrp.model.decoder import DecoderTables
from spacevrp.tensors import Batch
from spacevrp.train.advantage import coefficients, contributions, with_failures
from spacevrp.train.config import TrainConfig
from spacevrp.train.credit import less_what_was_known, unless_sure
from spacevrp.train.optim import MuonAdamW, WeightAverage, gradient_of
from spacevrp.train.parallel import add_up

DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
Encode = Callable[[Batch, Tensor, torch.dtype, Tensor | None], DecoderTables]


class Tally:
    """Running sums on the device, read and cleared when the log is written."""

    def __init__(self, problems: int, device: torch.device | str) -> None:
        self.cost = torch.zeros(problems, device=device)  # (V,) sum of the instances' mean costs
        self.best = torch.zeros(problems, device=device)  # (V,) sum of their best costs
        self.instances = torch.zeros(problems, device=device)  # (V,)
        self.planned = torch.zeros(problems, device=device)  # (V,) those with a plan, which count
        self.unfinished = torch.zeros((), device=device)  # trajectories without a plan
        self.norm = torch.zeros((), device=device)  # sum of the gradient norms
        self.updates = torch.zeros((), device=device)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All sums, in the order of the fields."""
        counts = self.instances, self.planned, self.unfinished, self.updates
        return self.cost, self.best, self.norm, *counts

    def add_costs(self, problem_of: Tensor, mean: Tensor, cost: Tensor) -> None:
        """Count a shard: mean costs (B,) and all costs (B, P)."""
        best = cost.amin(dim=1).float()
        planned = torch.isfinite(best)
        self.cost.index_add_(0, problem_of, torch.where(planned, mean.float(), 0.0))
        self.best.index_add_(0, problem_of, torch.where(planned, best, 0.0))
        self.planned.index_add_(0, problem_of, planned.float())
        self.instances.index_add_(0, problem_of, torch.ones_like(best))
        self.unfinished += (~torch.isfinite(cost)).sum()

    def add_update(self, norm: Tensor) -> None:
        """Count an update."""
        self.norm += norm
        self.updates += 1


class TrainStep:
    """The step of a run on one device.

    ``encode`` is the model's forward pass, a compiled one where speed matters; ``fused`` uses the
    Triton kernels for all instances that they can take.
    """

    def __init__(
        self,
        model: SpaceModel,
        optimizer: MuonAdamW,
        average: WeightAverage,
        config: TrainConfig,
        encode: Encode | None = None,
        fused: bool = False,
    ) -> None:
        self.model, self.optimizer, self.average = model, optimizer, average
        self.config = config
        runs = [config.at(size) for size in {config.size, *config.all_sizes}]
        self.max_moves = {run.num_nodes: run.max_moves for run in runs}  # of batches by their nodes
        model.encoder.bound = config.instance_clip
        self.encode = model if encode is None else encode
        self.fused = fused
        # For instances that the kernels cannot take.
        self.one_step = torch.compile(advance, dynamic=False) if fused else advance
        self.take_off = (
            torch.compile(less_what_was_known, dynamic=False) if fused else less_what_was_known
        )
        self.dtype = DTYPES[config.precision]
        device = next(model.parameters()).device
        self.tally = Tally(len(config.variants), device)
        # Gradients stay where they are: a captured graph knows them by their addresses.
        for parameter in optimizer.parameters:
            parameter.grad = torch.zeros_like(parameter)

    def accumulate(
        self,
        batch: Batch,
        problem_of: Tensor,
        trajectories: int,
        related_rows: Tensor | None = None,
    ) -> None:
        """Add the gradient of one shard, whose instances belong to the given problems (B,).

        ``related_rows`` are the instances that may have pairs; a captured graph must be told.
        """
        augmentations = self.config.augmentations
        if augmentations > 1:
            batch = batch.repeat_interleave(augmentations)
            if related_rows is not None:
                each = torch.arange(augmentations, device=related_rows.device)
                related_rows = (related_rows[:, None] * augmentations + each).flatten()
        environment, starts = self.begin(batch, trajectories)
        tables = self.forward(batch, related_rows)
        trace = self.roll_out(environment, tables, starts)
        coefficient = self.weigh(batch, trace, problem_of)
        gradients = self.replay(environment, tables, trace, coefficient)
        self.backward(tables, gradients)

    def begin(self, batch: Batch, trajectories: int) -> tuple[Environment, Tensor]:
        """The rules of a shard and its start nodes (B, P)."""
        environment = Environment(batch, num_depots=self.config.num_depots)
        return environment, start_nodes(environment, trajectories)

    def forward(self, batch: Batch, related_rows: Tensor | None = None) -> DecoderTables:
        """Encode a shard with fresh pivots."""
        seeds = random_seeds(batch, self.model.config)
        if not self.config.trains_heads:
            return self.encode(batch, seeds, self.dtype, related_rows)
        with torch.no_grad():
            tables = self.encode(batch, seeds, self.dtype, related_rows)
        return self.model.apply_heads(
            tables, batch, range(self.config.augmentations), HEAD_STRENGTH
        )

    @torch.no_grad()
    def roll_out(self, environment: Environment, tables: DecoderTables, starts: Tensor) -> Trace:
        """Draw solutions and record their decisions."""
        longest = environment.max_steps
        limit = min(self.max_moves[environment.batch.num_nodes] or longest, longest)
        keys = random_keys(starts.shape, starts.device)
        if self.uses_kernels(environment):
            drawing = self.config.depot_temperature
            options = FusedOptions(
                True, limit, missing_arcs=False, depot_temperature=drawing, all_drawn=True
            )
            return fused_rollout(environment, tables, starts, keys, options)
        detached = tables.map(torch.Tensor.detach)
        trace = rollout(
            environment,
            detached,
            starts,
            keys=keys,
            # A captured graph cannot wait for an answer.
            moves=limit if self.fused else None,
            depot_temperature=self.config.depot_temperature,
            one_step=partial(self.one_step, dtype=self.dtype, record=True),
        ).trace
        assert trace is not None  # it was asked for
        return trace

    @torch.no_grad()
    def weigh(self, batch: Batch, trace: Trace, problem_of: Tensor) -> Tensor:
        """Coefficients of the trajectories, (B, P), or of decisions, (B, T, P); counts costs."""
        if self.config.trains_heads:
            cost = trace.cost.unflatten(0, (-1, self.config.augmentations))  # (I, V, P)
            coefficient, mean = contributions(cost, self.config)
            coefficient = coefficient.flatten(0, 1)
            self.tally.add_costs(problem_of, mean, cost.flatten(1))
        else:
            cost = with_failures(trace.cost, batch)
            coefficient, mean = coefficients(cost, self.config, problem_of)
            self.tally.add_costs(problem_of, mean, trace.cost)
            if self.config.baseline == "state":
                coefficient = self.take_off(batch, trace, coefficient)
        if self.config.sure < 1:
            coefficient = unless_sure(trace, coefficient, self.config.sure)
        return coefficient

    def replay(
        self, environment: Environment, tables: DecoderTables, trace: Trace, coefficient: Tensor
    ) -> dict[str, Tensor]:
        """Gradients with respect to the decoder's tables."""
        if self.uses_kernels(environment):
            return fused_replay_gradients(tables, trace, coefficient)
        return replay_gradients(tables, trace, coefficient, dtype=self.dtype)

    def backward(self, tables: DecoderTables, gradients: dict[str, Tensor]) -> None:
        """Go back through the encoder, adding to the gradients of all parameters."""
        parameters = self.optimizer.parameters
        reached = [n for n in trained_tables(tables) if getattr(tables, n).requires_grad]
        found = torch.autograd.grad(
            [getattr(tables, name) for name in reached],
            parameters,
            [gradients[name].to(getattr(tables, name).dtype) for name in reached],
            allow_unused=True,  # some configurations leave parameters out
        )
        # Added all at once: one by one, two hundred small kernels would take longer than the sums.
        pairs = zip(parameters, found, strict=True)
        used = [(gradient_of(parameter), new) for parameter, new in pairs if new is not None]
        torch._foreach_add_([gradient for gradient, _ in used], [new for _, new in used])

    def uses_kernels(self, environment: Environment) -> bool:
        """Whether these instances are decoded by the kernels."""
        return self.fused and supports(environment, self.model.config.width)

    def share(self) -> None:
        """Sum the gradients over processes."""
        add_up([gradient_of(parameter) for parameter in self.optimizer.parameters])

    @torch.no_grad()
    def update(self) -> None:
        """Clip, update, average, and clear the gradients for the next step."""
        self.tally.add_update(self.optimizer.clip())
        self.optimizer.step()
        self.average.update()
        torch._foreach_zero_([gradient_of(parameter) for parameter in self.optimizer.parameters])
