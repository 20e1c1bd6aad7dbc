"""First plans of a problem by the network on a CPU: every augmentation from its start nodes.

The twin of ``engines/search.py``, ``fleet.py`` and ``large.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spacevrp.arrays import Instance, prepare
from spacevrp.arrays.routes import routes_of
from spacevrp.inference.beam import search_beam
from spacevrp.inference.encoder import encode
from spacevrp.inference.fleet import Fleet, roll_out_fleet
from spacevrp.inference.geometry import seeds_of_augmentations
from spacevrp.inference.heads import Heads
from spacevrp.inference.keys import Mersenne, random_state
from spacevrp.inference.large import LargeInstance, is_large, roll_out_large
from spacevrp.inference.network import Network
from spacevrp.inference.rollouts import Deviations, Draws, RolloutPlan, Trajectories, roll_out
from spacevrp.inference.settings import Settings
from spacevrp.inference.starts import Starts
from spacevrp.inference.tables import Tables
from spacevrp.problems.canonical import needs_fleet_rules
from spacevrp.problems.deadline import NEVER, TimeIsUp
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

Array = np.ndarray[Any, Any]

# Beside the best plan, some of the next best: the referee has the last word.
_CANDIDATES = 16
# Augmentations that are encoded together: they share the exponentials of their distances.
_TOGETHER = 8


@dataclass(frozen=True)
class Candidate:
    """A finished (or stuck) rollout."""

    cost: float  # in units of distance; inf where it is stuck
    rank: int  # in the order of augmentations, rounds and starts: breaks ties
    sequence: Array  # (T,) positions in the instance: origin, start, then every move
    hindsight: bool = False  # chosen by prizes that were not known beforehand: for the record only


def construct(
    network: Network,
    problem: Problem,
    settings: Settings,
    *,
    report: Callable[[int], object] = lambda rollouts: None,
) -> list[Candidate]:
    """Candidates of a problem, best first; those of the augmentations that were in time.

    Where prizes are revealed by the visits, a candidate is chosen by what its policy would pay for
    the expected prizes; what the revealed ones would choose comes last, marked as hindsight.

    Parameters
    ----------
    report
        Called with the number of rollouts whenever some are finished.

    Raises
    ------
    TimeIsUp
        When the deadline is over before there is any candidate.
    """
    kind: type[_Work] = _UsualWork
    if needs_fleet_rules(problem):
        kind = _FleetWork
    elif is_large(problem, settings.choices):
        kind = _LargeWork
    return kind(network, problem, settings, report).run()


@dataclass
class _Work:
    """The augmentations of one problem."""

    network: Network
    problem: Problem
    settings: Settings
    report: Callable[[int], object]

    def __post_init__(self) -> None:
        """Prepare the arrays."""
        raise NotImplementedError

    def run(self) -> list[Candidate]:
        """All augmentations, until the time is up; the best first, then those in hindsight."""
        self.chosen, self.afterwards = Best(), Best()
        for place in range(self.settings.augmentations):
            try:
                self.settings.deadline.check()
                self.augmentation(place)
            except TimeIsUp:
                if not self.chosen:
                    raise
                break
        return [*self.chosen.candidates(), *self.afterwards.candidates(hindsight=True)]

    def augmentation(self, place: int) -> None:
        """Make the rollouts of an augmentation, by its place."""
        raise NotImplementedError

    def keep(self, place: int, done: Trajectories, expected: Trajectories | None) -> None:
        """Rollouts; where prizes are unknown, also those of the same policy for expected ones."""
        cost, rank = done.cost, place * len(done.cost)
        if expected is not None:
            self.afterwards.add(done, cost, rank)
            cost = np.where(np.isfinite(cost), expected.cost, np.inf)
        self.chosen.add(done, cost, rank)
        self.report(len(done.cost))

    def tables(self, instance: Instance, numbers: range, *, zscore: bool = True) -> Tables:
        """The tables of the augmentations of these numbers."""
        network, settings = self.network, self.settings
        seeds = seeds_of_augmentations(
            instance.num_depots, instance.size, network.config, numbers.stop, settings.seed
        )
        return encode(
            *(network, instance, seeds[numbers.start :]),
            heads=Heads(numbers, settings.heads),
            zscore=zscore,
            look=settings.look,
        )


class _UsualWork(_Work):
    """A problem that is neither large nor one of different vehicles."""

    def __post_init__(self) -> None:
        problem, settings = self.problem, self.settings
        self.instance = prepare(problem)
        self.starts = Starts(self.instance, settings.direct_return)
        self.expected: Starts | None = None
        if problem.has_unknown_prizes:
            self.expected = Starts(prepare(problem.as_expected()), settings.direct_return)
        ready = int(self.starts.ready.sum())
        self.plan = RolloutPlan.of(ready, settings, has_depot=self.instance.has_depot)
        degrees = [settings.temperature(number) for number in range(1 + self.plan.samples)]
        self.temperature = np.array(degrees, dtype=np.float32)[self.plan.rounds]
        self.keys = self.plan.keys(settings.seed, settings.numbers)

    def augmentation(self, place: int) -> None:
        """All rollouts of the plan."""
        settings = self.settings
        together = _TOGETHER if settings.deadline is NEVER else 1  # soon there is a first plan
        own = place % together
        if own == 0:
            numbers = settings.numbers[place : place + together]
            self._tables = self.tables(self.instance, numbers)
            self._order = self.starts.likeliest_first(self._tables)
        nodes = self._order[own][self.plan.start]
        draws = None if self.keys is None else Draws(self.keys[place], self.temperature)
        turn = (self._tables.one(own), nodes, settings, draws)
        done = roll_out(self.starts, *turn)
        self.keep(place, done, None if self.expected is None else roll_out(self.expected, *turn))
        # What a policy would pay for expected prizes says nothing of its plan for the real ones.
        if settings.beam_width and self.expected is None:
            beam = self._search_beam(own, done)
            self.chosen.add(beam, beam.cost, place * len(beam.cost))

    def _search_beam(self, own: int, done: Trajectories) -> Trajectories:
        """The beam search of an augmentation, by its place among the tables, from its rollouts."""
        tables, settings = self._tables.one(own), self.settings

        def complete(start: Array, leaves: Deviations) -> Trajectories:
            settings.deadline.check()
            self.report(len(start))
            return roll_out(self.starts, tables, start, settings, deviations=leaves)

        return search_beam(done, settings.beam_width, complete)


class _FleetWork(_Work):
    """A problem whose vehicles differ."""

    def __post_init__(self) -> None:
        self.fleet = Fleet.of(self.problem)
        self.starts = Starts(self.fleet.instance, self.settings.direct_return)
        self.nodes = self.fleet.starts(self.settings.starts)

    def run(self) -> list[Candidate]:
        """The same with the cheapest vehicles, best first."""
        return with_cheapest_vehicles(self.problem, super().run())

    def augmentation(self, place: int) -> None:
        """A greedy round, and those that sample."""
        settings, count = self.settings, len(self.nodes)
        own = settings.numbers[place : place + 1]
        tables = self.tables(self.fleet.instance, own)
        for turn in range(1 + (settings.samples or 0)):
            state = random_state(settings.seed, (7, own.start, turn))
            draws = None
            if turn:
                source = Mersenne(random_state(settings.seed, (0, turn, 0, 0)))
                keys = source.keys(settings.augmentations, count)[place]
                degrees = np.full(count, settings.temperature(turn), dtype=np.float32)
                draws = Draws(keys, degrees)
            vehicles = {**self.fleet.vehicles, **self.fleet.preferences(count, state)}
            done = roll_out_fleet(vehicles, self.starts, tables, self.nodes, settings, draws)
            self.keep(turn * settings.augmentations + place, done, None)


def with_cheapest_vehicles(problem: Problem, candidates: list[Candidate]) -> list[Candidate]:
    """The candidates with what they cost with the cheapest vehicles, best first."""
    unit = 1.0 if problem.maximise_prize else problem.unit

    def judged(candidate: Candidate) -> Candidate:
        if not np.isfinite(candidate.cost):
            return candidate
        routes = routes_of(problem, candidate.sequence.tolist())
        return replace(candidate, cost=judge(problem, routes).cost / unit)

    return sorted(map(judged, candidates), key=lambda one: (one.cost, one.rank))


class _LargeWork(_Work):
    """A large problem, from a few starts, by candidate lists."""

    def __post_init__(self) -> None:
        problem, settings = self.problem, self.settings
        if settings.samples:
            raise UnsupportedError(
                f"expected no samples of an instance with {len(problem.customers)} customers: "
                f"without torch large instances are planned greedily; received {settings.samples}"
            )
        self.large = LargeInstance.of(problem, settings.choices, adjusted=settings.pruned)
        self.expected: LargeInstance | None = None
        if problem.has_unknown_prizes:
            self.expected = LargeInstance.of(
                problem.as_expected(), settings.choices, adjusted=settings.pruned
            )
        self.nodes = self.large.start_nodes(settings.starts)

    def augmentation(self, place: int) -> None:
        """Greedily, from all start nodes."""
        settings, own = self.settings, self.settings.numbers[place : place + 1]
        tables = self.tables(self.large.starts.instance, own, zscore=False)
        turn = (tables, own.start, self.nodes, settings)
        done = roll_out_large(self.large, *turn)
        expected = None if self.expected is None else roll_out_large(self.expected, *turn)
        self.keep(place, done, expected)


class Best:
    """The best rollouts of an instance so far.

    Cheaper is better; among the stuck, to have served more; then the first in rank.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[float, int, int, Array]] = []

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, done: Trajectories, cost: Array, first_rank: int) -> None:
        """Rollouts of an augmentation with their costs (P,), ranked from ``first_rank`` on."""
        stuck = ~np.isfinite(cost)
        order = np.argsort(cost, kind="stable")
        if stuck.all():  # now it matters who served more
            served = np.array([done.served(number) for number in range(len(cost))])
            order = np.argsort(-served, kind="stable")
        for number in order[:_CANDIDATES]:
            served_here = done.served(number) if stuck[number] else 0
            entry = (float(cost[number]), -served_here, first_rank + int(number))
            self._kept.append((*entry, done.sequence(number)))
        self._kept.sort(key=lambda entry: entry[:3])
        del self._kept[_CANDIDATES:]

    def candidates(self, *, hindsight: bool = False) -> list[Candidate]:
        """All that is left, best first."""
        return [Candidate(cost, rank, moves, hindsight) for cost, _, rank, moves in self._kept]
