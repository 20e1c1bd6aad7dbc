"""Rollouts of large instances: a few options a move, found in lists of neighbours.

A vehicle at a customer chooses among the nearest customers on its list that the rules allow, and
the way home. The decoder's readout averages over some more of the list. All customers are looked
at, as ``rollout`` does at every move,

- at a depot: a route may begin anywhere,
- where all customers on the list have been served,
- where no customer on the list can be served and the vehicle may not go home, or would go home for
  good.

So a legal move is never lost. With as many options as there are customers, all this is ``rollout``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from spacevrp.decode.adjustment import Adjustment
from spacevrp.decode.neighbourhood import Neighbourhood
from spacevrp.decode.rollout import Rollout, choose
from spacevrp.decode.running import USUAL, Running
from spacevrp.decode.signal import problem_signals
from spacevrp.env.candidates import CandidateEnvironment, select
from spacevrp.env.rules import at
from spacevrp.env.state import State
from spacevrp.model.candidates import NodeTables, Options, node_scores, option_scores
from spacevrp.tensors.lengths import between, rows_of

# Steps after which those who wait are asked for. To ask a GPU makes it wait; on a CPU, some who
# wait together are served faster than one after the other.
_STEPS_BETWEEN_QUESTIONS = {"cpu": 4, "cuda": 8}
# Questions after which it is asked whether all have finished.
_QUESTIONS_BETWEEN_REPORTS = 8
# Entries of the tensors (B, V P, N) that are worked on together where all customers are looked at.
_MOST_LOOKED_AT = {"cpu": 2**20, "cuda": 2**24}


@dataclass(frozen=True)
class Drawing:
    """How moves are drawn; without it, the likeliest is taken."""

    generator: torch.Generator
    temperature: float = 1.0


@dataclass(frozen=True)
class Pruning:
    """What moves choose from, and how."""

    near: Neighbourhood  # lists of customers
    choices: int  # customers that a vehicle on its way chooses from, at most
    readout: int | None = None  # that the readout averages over; as many as are listed where None
    drawing: Drawing | None = None
    adjustment: Adjustment | None = None  # of what the decoder is told of large instances

    @property
    def limits(self) -> tuple[int, int]:
        """How many of a list a move chooses from, and reads out."""
        read = min(max(self.readout or self.near.width, self.choices), self.near.width)
        return min(self.choices, read), read


@torch.no_grad()
def pruned_rollout(
    environment: CandidateEnvironment,
    tables: NodeTables,
    starts: Tensor,
    pruning: Pruning,
    running: Running = USUAL,
    kind: type[Walk] | None = None,
) -> Rollout:
    """Complete a solution from each start node (B, V P), the starts of each augmentation in a row.

    ``kind`` is how the steps are taken: ``Walk``, or the same captured (see ``pruned_graph``).
    """
    walk = (kind or Walk)(environment, tables, starts, pruning)
    interval = _STEPS_BETWEEN_QUESTIONS[starts.device.type]
    # A waiting trajectory waits for the next question at most.
    for question in range(environment.max_steps):
        if running.look is not None:
            running.look()
        walk.look_at_all()
        if question % _QUESTIONS_BETWEEN_REPORTS == 0 and walk.finished(running.report):
            break
        for _ in range(interval):
            walk.step()
    return walk.result()


class Walk:
    """Partial solutions on their way."""

    def __init__(
        self,
        environment: CandidateEnvironment,
        tables: NodeTables,
        starts: Tensor,
        pruning: Pruning,
    ) -> None:
        self.environment, self.tables, self.near = environment, tables, pruning.near
        self.choices, self.readout = pruning.limits
        self.drawing, self.adjustment = pruning.drawing, pruning.adjustment
        order = torch.arange(starts.shape[1], device=starts.device)
        self.augmentation = (order // (starts.shape[1] // tables.augmentations)).expand_as(
            starts
        )  # (B, V P)
        self.state = environment.begin(starts)
        origin = environment.origins(starts)
        length = environment.max_steps + 2
        self.sequence = torch.empty(
            (*starts.shape, length), dtype=torch.int32, device=starts.device
        )
        self.sequence[..., 0], self.sequence[..., 1] = origin, starts
        self.place = torch.ones_like(starts)  # (B, V P) of the last move in the sequence
        self.waits = torch.zeros_like(self.state.done)  # (B, V P) to look at all customers
        wanted = torch.arange(1, self.readout + 1, device=starts.device)
        self.wanted = wanted.expand(*starts.shape, -1).contiguous()  # (B, V P, R) 1, 2, 3, ...
        self.share = 0.0

    # ------------------------------------------------------------------------------------ steps

    def step(self) -> None:
        """Everybody chooses from the list of their node, but for those who have to wait."""
        state, batch = self.state, self.environment.batch
        nodes, distance = self.near.around(state.current)  # (B, V P, W)
        found = self.environment.prospect(state, nodes)
        rank = found.legal.cumsum(dim=-1)
        servable = rank[..., -1] > 0
        legal = found.legal
        if self.choices < self.near.width:
            # The legal ones first, in the order of the list.
            first = torch.searchsorted(rank, self.wanted)
            legal = first < self.near.width
            first = first.clamp(max=self.near.width - 1)
            nodes, distance = nodes.gather(2, first), distance.gather(2, first)
        home = self.environment.origin_moves(state)
        at_depot = at(batch.is_depot, state.current)
        for_good = state.routes >= batch.max_routes.unsqueeze(1)
        waits = ~servable & (~home | ~found.fresh.any(dim=-1) | for_good)
        self.waits = (waits | at_depot) & (state.left > 0) & ~state.done

        idle = ~home & ~servable
        # The way home comes first. Where nothing is legal any row will do: the vehicle stays.
        back = between(batch.distance, state.current, state.origin)
        nodes = torch.cat([state.origin.unsqueeze(-1), nodes], dim=-1)
        distance = torch.cat([back.unsqueeze(-1), distance], dim=-1)
        signals = problem_signals(batch, state, self.tables.num_signals)
        allowed = torch.cat([(home | idle).unsqueeze(-1), legal], dim=-1)
        zscore = self.tables.scale.zscore(distance)
        options = Options(nodes, zscore, allowed, self.choices + 1)
        place = (self.augmentation, state.origin, state.current, signals)
        scores = option_scores(self.tables, *place, options)
        action = nodes.gather(2, self._choose(scores).unsqueeze(-1)).squeeze(-1)
        action = torch.where(idle, state.current, action)
        self._move(action, ~state.done & ~self.waits)

    def look_at_all(self) -> None:
        """Those who wait choose from all customers."""
        augmentations = self.tables.augmentations
        waits = self.waits.unflatten(1, (augmentations, -1))  # (B, V, P)
        count = int(waits.sum(dim=2).max())
        if count == 0:
            return
        batch = self.environment.batch
        # Those who wait come first; where an augmentation has fewer, others are looked at for
        # nothing.
        order = waits.int().argsort(dim=2, descending=True, stable=True)[..., :count]
        order = (
            order + torch.arange(augmentations, device=order.device).unsqueeze(1) * waits.shape[2]
        )
        most = _MOST_LOOKED_AT[order.device.type]
        together = max(1, most // (batch.num_nodes * batch.size * augmentations))
        action = self.state.current.clone()
        for index in order.split(together, dim=2):
            some = select(self.state, index.flatten(1))
            action.scatter_(1, index.flatten(1), self._choose_of_all(some))
        self._move(action, self.waits)
        self.waits = torch.zeros_like(self.waits)

    def _move(self, action: Tensor, moving: Tensor) -> None:
        """Those who are moving move, the others stay as they are."""
        state = self.state
        after = self.environment.step(replace(state, done=~moving), action)
        self.state = replace(
            after,
            done=torch.where(moving, after.done, state.done),
            switched=torch.where(moving, after.switched, state.switched),
        )
        self.place = self.place + moving
        self.sequence.scatter_(2, self.place.unsqueeze(-1), self.state.current.unsqueeze(-1).int())

    def finished(self, report: Callable[[float], None] | None = None) -> bool:
        """Whether everybody has arrived."""
        state = self.state
        if report is not None:
            customers = (self.environment.batch.is_node & ~self.environment.batch.is_depot).sum()
            total = customers * state.left.shape[1]
            share = 1.0 - float(torch.where(state.done, 0, state.left).sum() / total)
            report(share - self.share)
            self.share = share
        return bool(state.done.all())

    def result(self) -> Rollout:
        """The solutions."""
        state = self.state
        longest = int(self.place.max()) + 1
        sequence = self.sequence[..., :longest]
        time = torch.arange(longest, device=sequence.device)
        # A finished solution rests where it is.
        rests = time > self.place.unsqueeze(-1)
        sequence = torch.where(rests, state.current.unsqueeze(-1).int(), sequence)
        cost = torch.where(state.done, self.environment.cost(state), torch.inf)
        return Rollout(sequence, cost)

    # --------------------------------------------------------------------------------- decisions

    def _choose_of_all(self, state: State) -> Tensor:
        """The next node (B, V P) out of all, as many partial solutions of every augmentation."""
        environment = self.environment
        allowed = environment.mask(state)
        action = self._choose(self._scores_of_all(state, allowed))
        if environment.num_depots > 1:
            action = self._look_ahead(state, action)
        return action

    def _scores_of_all(self, state: State, allowed: Tensor) -> Tensor:
        batch = self.environment.batch
        zscore = self.tables.scale.zscore(rows_of(batch.distance, state.current))
        at_depot = at(batch.is_depot, state.current)
        if self.adjustment is not None:
            zscore = self.adjustment.zscore(zscore, at_depot)
        parted = (
            values.unflatten(1, (self.tables.augmentations, -1))
            for values in (
                state.origin,
                state.current,
                problem_signals(self.environment.batch, state, self.tables.num_signals),
                zscore,
                allowed,
            )
        )
        scores = node_scores(self.tables, *parted).flatten(1, 2)
        if self.adjustment is not None:
            scores = self.adjustment.scores(scores, at_depot)
        return scores

    def _choose(self, scores: Tensor) -> Tensor:
        if self.drawing is None:
            return scores.argmax(dim=-1)
        logits = self._clipped(scores) / self.drawing.temperature
        drawn = torch.rand(
            logits.shape[:-1], generator=self.drawing.generator, device=logits.device
        )
        return choose(logits, drawn)

    def _clipped(self, scores: Tensor) -> Tensor:
        clipped = self.tables.clipping * torch.tanh(scores)
        return clipped.masked_fill(torch.isneginf(scores), -torch.inf)

    def _look_ahead(self, state: State, action: Tensor) -> Tensor:
        """At a depot, compare all depots before the next route, as ``rollout.look_ahead`` does."""
        batch = self.environment.batch
        several = batch.is_depot.sum(dim=1, keepdim=True) > 1  # beside others in a mixed batch
        here = at(batch.is_depot, state.current) & ~state.done & ~state.switched
        here = here & several & (state.left > 0)
        best_chance = torch.full_like(state.length, -torch.inf)
        best_move = action
        for depot in range(self.environment.num_depots):
            there = torch.full_like(state.current, depot)
            standing = replace(state, current=there, origin=there, clock=at(batch.opening, there))
            customers = self.environment.customer_moves(standing)
            exists = at(batch.is_depot, there) & customers.any(dim=-1)
            # Where nothing can be served, any row will do: it never wins.
            legal = torch.where(exists.unsqueeze(-1), customers, torch.ones_like(customers))
            scores = self._scores_of_all(standing, legal)
            clipped = self._clipped(scores)
            chance = clipped.amax(dim=-1) - clipped.logsumexp(dim=-1)
            move = torch.where(state.current == there, self._choose(scores), there)
            better = exists & (chance > best_chance)
            best_chance = torch.where(better, chance, best_chance)
            best_move = torch.where(better, move, best_move)
        return torch.where(here & torch.isfinite(best_chance), best_move, action)
