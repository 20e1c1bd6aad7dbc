"""The search for fleets: as for others, and over the vehicles that leave one after the other.

The model decides who is served next, and knows nothing of the types. Which vehicle leaves next is
decided by preferences: simple orders (large, cheap, or cheap for their size first) and random ones,
another for each start of each augmentation. At the end every route gets the cheapest vehicle that
can drive it, all routes considered together. Visits and vehicles are weighed by the search that
follows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from spacevrp.decode.fleet import Draws, fleet_rollout
from spacevrp.decode.native_fleet import native_fleet_rollout
from spacevrp.decode.native_rollout import supports as supports_native
from spacevrp.decode.random_numbers import random_keys
from spacevrp.decode.rollout import Rollout
from spacevrp.decode.running import Running
from spacevrp.engines.memory import Cut
from spacevrp.engines.rollouts import Moves
from spacevrp.engines.search import Best, encode, numbered_seeds
from spacevrp.env.fleet import FleetEnvironment, Preferences
from spacevrp.inference import fleet as choices
from spacevrp.inference.construct import Candidate, with_cheapest_vehicles
from spacevrp.inference.keys import random_state
from spacevrp.inference.settings import Seconds, Settings
from spacevrp.model import DecoderTables, SpaceModel
from spacevrp.problems.deadline import TimeIsUp
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch
from spacevrp.tensors.fleet import Fleet, stack_fleets


def search_fleets(
    model: SpaceModel,
    problems: Sequence[Problem],
    settings: Settings,
    cut: Cut,
    report: Callable[[int], None],
    seconds: Seconds,
) -> list[list[Candidate]]:
    """Candidates of each instance, best first; the arguments are those of ``search_block``.

    Instances are searched one by one: random orders of one must not depend on the others.
    """
    found: list[list[Candidate]] = []
    device = next(model.parameters()).device
    for problem in problems:
        began = time.perf_counter()
        batch, fleet = stack_fleets([problem])
        prepared = time.perf_counter()
        with torch.inference_mode():
            search = _Search(model, (batch.to(device), fleet.to(device)), problem, settings, cut)
            try:
                candidates = search.run(report)  # waits for the device
            except TimeIsUp:
                if not found:
                    raise
                candidates = []  # others have theirs
        searched = time.perf_counter()
        found.append(with_cheapest_vehicles(problem, candidates))
        seconds.preparing += prepared - began
        seconds.searching += searched - prepared
        seconds.judging += time.perf_counter() - searched
    return found


class _Search:
    """The search for the plans of one instance."""

    def __init__(
        self,
        model: SpaceModel,
        tensors: tuple[Batch, Fleet],
        problem: Problem,
        settings: Settings,
        cut: Cut,
    ) -> None:
        self._model, (self._batch, self._fleet) = model, tensors
        batch, fleet = tensors
        self._choices = choices.Fleet.of(problem)
        self._settings, self._cut = settings, cut
        self._environment = FleetEnvironment(batch, fleet, direct_return=settings.direct_return)
        starts = torch.from_numpy(self._choices.starts(settings.starts))
        self._starts = starts.to(batch.device).unsqueeze(0)  # (1, P)
        self._best = Best(batch, self._environment.max_steps + 1)

    def run(self, report: Callable[[int], None]) -> list[Candidate]:
        """All rounds; ``report`` is told the number of rollouts."""
        settings = self._settings
        seeds = numbered_seeds(self._model, self._batch, settings)  # (1, V, M)
        starts = self._starts.shape[1]
        for turn in range(settings.rounds):
            augmentations = settings.numbered(0, settings.augmentations)
            # Each augmentation has a state of its own: it is the same beside any others.
            drawn = [
                self._choices.preferences(starts, random_state(settings.seed, (7, number, turn)))
                for number in augmentations
            ]
            joined = {name: np.concatenate([one[name] for one in drawn]) for name in drawn[0]}
            preferences = Preferences(**{k: torch.from_numpy(v) for k, v in joined.items()})
            for first in range(0, settings.augmentations, self._cut.augmentations):
                some = slice(first, first + self._cut.augmentations)
                try:
                    settings.deadline.check()
                    self._search_augmentations(seeds[0, some], some, preferences, turn)
                except TimeIsUp:
                    if self._best.is_empty:
                        raise
                    return self._best.candidates()[0]
                report(len(seeds[0, some]) * starts)
        (found,) = self._best.candidates()
        return found

    def _search_augmentations(
        self, seeds: Tensor, augmentations: slice, preferences: Preferences, turn: int
    ) -> None:
        """Every start of some augmentations (v, M), piece by piece."""
        settings, number, device = self._settings, len(seeds), self._batch.device
        batch = self._batch.repeat_interleave(number)
        fleet = self._fleet.repeat_interleave(number)
        environment = FleetEnvironment(batch, fleet, direct_return=settings.direct_return)
        numbers = settings.numbered(augmentations.start, number)
        tables = encode(self._model, batch, seeds, settings, numbers)
        everywhere = self._starts.shape[1]
        for first in range(0, everywhere, self._cut.starts):
            starts = slice(first, first + self._cut.starts)
            piece = self._starts[:, starts].expand(number, -1)  # (v, p)
            wanted = preferences.some(augmentations, starts).to(device)
            place = (0, turn, augmentations.start, first)
            done = _roll_out(environment, tables, piece, wanted, settings, place)
            augmentation = torch.arange(
                augmentations.start, augmentations.start + number, device=device
            )
            rank = turn * settings.augmentations + augmentation
            order = torch.arange(first, first + piece.shape[1], device=device)
            self._best.add(Moves.of(done), rank[:, None] * everywhere + order)


def _roll_out(
    environment: FleetEnvironment,
    tables: DecoderTables,
    starts: Tensor,
    preferences: Preferences,
    settings: Settings,
    place: tuple[int, ...],
) -> Rollout:
    """Complete a plan from each start (v, p); the first of the rounds is greedy."""
    native = settings.compiled and supports_native(environment.batch)
    decode = native_fleet_rollout if native else fleet_rollout
    draws = None
    if place[1]:
        generator = torch.Generator(starts.device).manual_seed(random_state(settings.seed, place))
        keys = random_keys(starts.shape, starts.device, generator)
        draws = Draws(keys, settings.temperature(place[1]))
    running = Running(settings.deadline.check)
    return decode(environment, tables, starts, preferences, draws, running)
