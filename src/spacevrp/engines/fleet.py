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

import torch
from torch import Tensor

from spacevrp.arrays.fleet import ANY_NUMBER
from spacevrp.decode.fleet import Draws, fleet_rollout
from spacevrp.decode.native_fleet import native_fleet_rollout
from spacevrp.decode.native_rollout import supports as supports_native
from spacevrp.decode.random_numbers import random_keys
from spacevrp.decode.rollout import Rollout
from spacevrp.decode.running import Running
from spacevrp.engines.memory import Cut
from spacevrp.engines.search import Best, Moves, encode, numbered_seeds
from spacevrp.engines.settings import Seconds, Settings
from spacevrp.env.fleet import FleetEnvironment, Preferences
from spacevrp.inference.construct import Candidate, with_cheapest_vehicles
from spacevrp.inference.keys import random_state
from spacevrp.model import DecoderTables, SpaceModel
from spacevrp.problems.deadline import TimeIsUp
from spacevrp.problems.problem import Problem
from spacevrp.tensors import Batch
from spacevrp.tensors.fleet import Fleet, stack_fleets

# Routes of which the vehicles are chosen one by one; later ones take the last choice.
_ROUTES = 32
# Customers up to which every one of them is a start, and starts times customers beyond.
_SMALL, _WORK = 200, 20_000


def search_fleets(
    model: SpaceModel,
    problems: Sequence[Problem],
    settings: Settings,
    cut: Cut,
    report: Callable[[int], None],
    seconds: Seconds | None = None,
) -> list[list[Candidate]]:
    """Candidates of each instance, best first; the arguments are those of ``search_block``.

    Instances are searched one by one: random orders of one must not depend on the others.
    """
    found: list[list[Candidate]] = []
    spent = Seconds() if seconds is None else seconds
    device = next(model.parameters()).device
    for problem in problems:
        began = time.perf_counter()
        batch, fleet = stack_fleets([problem])
        prepared = time.perf_counter()
        with torch.inference_mode():
            search = _Search(model, batch.to(device), fleet.to(device), settings, cut)
            try:
                candidates = search.run(report)  # waits for the device
            except TimeIsUp:
                if not found:
                    raise
                candidates = []  # others have theirs
        searched = time.perf_counter()
        found.append(with_cheapest_vehicles(problem, candidates))
        spent.preparing += prepared - began
        spent.searching += searched - prepared
        spent.judging += time.perf_counter() - searched
    return found


class _Search:
    """The search for the plans of one instance."""

    def __init__(
        self, model: SpaceModel, batch: Batch, fleet: Fleet, settings: Settings, cut: Cut
    ) -> None:
        self._model, self._batch, self._fleet = model, batch, fleet
        self._settings, self._cut = settings, cut
        self._environment = FleetEnvironment(batch, fleet, direct_return=settings.direct_return)
        self._starts = _starts(self._environment, settings.starts)  # (1, P)
        self._best = Best(batch, self._environment.max_steps + 1)

    def run(self, report: Callable[[int], None]) -> list[Candidate]:
        """All rounds; ``report`` is told the number of rollouts."""
        settings = self._settings
        seeds = numbered_seeds(self._model, self._batch, settings)  # (1, V, M)
        starts = self._starts.shape[1]
        for turn in range(settings.rounds):
            augmentations = settings.numbered(0, settings.augmentations)
            states = [
                random_state(settings.seed, (7, augmentation, turn))
                for augmentation in augmentations
            ]
            preferences = draw_preferences(self._fleet, starts, states)
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


def _starts(environment: FleetEnvironment, limit: int | None) -> Tensor:
    """Customers to begin with, (B, P), spread evenly; instances with fewer repeat theirs."""
    batch = environment.batch
    customers = batch.is_node & ~batch.is_depot
    number = customers.sum(dim=1, keepdim=True)  # (B, 1)
    most = int(number.max())
    if limit is None:
        limit = most if most <= _SMALL else max(1, _WORK // most)
    order = torch.argsort((~customers).to(torch.int8), dim=1, stable=True)  # customers first
    turn = torch.arange(min(limit, most), device=batch.device).unsqueeze(0)
    turn = turn % number if limit >= most else turn * number // limit
    return order.gather(1, turn)


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


def draw_preferences(fleet: Fleet, starts: int, states: Sequence[int]) -> Preferences:
    """Preferences of every start of every augmentation (V, P) of one instance, on the host.

    Each augmentation has a state of the random numbers, so that it is the same beside any others.
    """
    one = fleet.to("cpu")
    drawn = [_drawn(one, starts, state) for state in states]
    return Preferences(*(torch.cat(values) for values in zip(*drawn, strict=True)))


def _drawn(fleet: Fleet, starts: int, state: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same of one augmentation."""
    generator = torch.Generator().manual_seed(state)

    def random(*more: int) -> Tensor:
        return torch.rand((1, starts, *more), generator=generator)

    vehicle = _simple_orders(fleet, random(_ROUTES, fleet.num_types), random)
    several_depots = bool((fleet.depot != fleet.depot[:, :1]).any())
    scarce = bool((fleet.fixed_cost > 0).any() or (fleet.count < ANY_NUMBER).any())
    nearest, stays_out, owed_first = (random() < 0.5 for _ in range(3))
    return vehicle, several_depots & nearest, scarce & stays_out, owed_first


def _simple_orders(fleet: Fleet, noise: Tensor, random: Callable[..., Tensor]) -> Tensor:
    """Large first, cheap for its size first, cheap first, any order, any vehicle: (1, P, R, K)."""
    types = fleet.num_types
    room = (fleet.capacity / fleet.seen_capacity.unsqueeze(1)).nan_to_num(nan=1.0, posinf=1.0)
    room = room.amin(dim=2).clamp(max=1.0)[0]  # (K,) of the largest
    cost = fleet.fixed_cost[0]
    orders = torch.stack([room, -cost / room, -cost])  # (3, K)
    kind = (random() * 8).long()  # of 8: one each of the three, two in any order, three at random
    resolved = torch.where((kind >= 3).unsqueeze(-1), random(types), orders[kind.clamp(max=2)])
    fixed = (kind <= 4)[..., None, None]
    return torch.where(fixed, resolved.unsqueeze(2) + 1e-6 * noise, noise)
