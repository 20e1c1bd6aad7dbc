"""First plans of problems by the network on a CPU: every augmentation from its start nodes.

Instances are worked on one after the other, and what one needs is gone before the next: memory does
not grow with their number. The twin of ``solver/search.py``, ``fleet.py`` and
``large.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spacevrp.arrays import Instance, prepare
from spacevrp.arrays.routes import routes_of
from spacevrp.inference.encoder import encode
from spacevrp.inference.fleet import Fleet, roll_out_fleet
from spacevrp.inference.geometry import seeds_of_augmentations
from spacevrp.inference.heads import STRENGTH
from spacevrp.inference.keys import Mersenne, random_state
from spacevrp.inference.large import LargeInstance, is_large, roll_out_large
from spacevrp.inference.network import Network
from spacevrp.inference.rollouts import RolloutPlan, Trajectories, roll_out
from spacevrp.inference.starts import Starts
from spacevrp.inference.tables import Tables
from spacevrp.problems.canonical import needs_fleet_rules
from spacevrp.problems.deadline import NEVER, Deadline, TimeIsUp
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution

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


@dataclass(frozen=True)
class ConstructParams:
    """How hard to search.

    Attributes
    ----------
    augmentations, first_augmentation
        Number of augmentations of an instance, a pivot set and a policy head each, and the number
        of the first one.
    starts
        Start nodes an augmentation, the likeliest; None for all that can start.
    samples
        Rounds from every start that sample their moves after the greedy one; with neither
        ``starts`` nor ``samples``, see :meth:`RolloutPlan.of`.
    strength
        How strongly policy heads count.
    choices
        Nearest customers that a move chooses from; None for all up to 200 customers, and by the
        kind of problem beyond.
    adjusted
        Have the decoder see large instances as in training (see :func:`is_adjusted`).
    direct_return
        Serve only customers with a direct way home; see :class:`Starts`.
    temperature
        Of each round; 1 where there are fewer numbers than rounds.
    """

    augmentations: int = 1
    first_augmentation: int = 0
    starts: int | None = None
    samples: int | None = None
    seed: int = 0
    strength: float = STRENGTH
    choices: int | None = None
    adjusted: bool = True
    direct_return: bool = True
    temperature: tuple[float, ...] = ()
    threads: int = 1
    deadline: Deadline = NEVER

    @property
    def numbers(self) -> range:
        """The numbers of the augmentations."""
        return range(self.first_augmentation, self.first_augmentation + self.augmentations)

    def temperature_of(self, number: int) -> float:
        """Of the samples of a round."""
        return self.temperature[number] if number < len(self.temperature) else 1.0


def construct(
    network: Network,
    problems: Sequence[Problem],
    params: ConstructParams,
    *,
    shown: Sequence[Problem | None] | None = None,
    report: Callable[[int], None] | None = None,
) -> Iterator[list[Candidate]]:
    """Candidates of each problem in turn, best first; those of the augmentations that were in time.

    Where prizes are revealed by the visits, a candidate is chosen by what its policy would pay for
    the expected prizes; what the revealed ones would choose comes last, marked as hindsight.

    Parameters
    ----------
    shown
        What the network sees in place of a problem, whose rules and costs hold all the same.
    report
        Called with the number of rollouts whenever some are finished.

    Raises
    ------
    TimeIsUp
        When the deadline is over before there is any candidate of a problem.
    """
    for number, problem in enumerate(problems):
        if needs_fleet_rules(problem):
            yield _FleetWork(network, problem, params, report).run()
            continue
        if is_large(problem, params.choices):
            yield _LargeWork(network, problem, params, report).run()
            continue
        seen = problem if shown is None else shown[number] or problem
        yield _Work(network, problem, seen, params, report).run()


def first_plans(
    network: Network, problems: Sequence[Problem], params: ConstructParams
) -> list[Solution | None]:
    """The best plan of each problem that the referee passes; None where there is none."""
    plans = []
    for problem, candidates in zip(problems, construct(network, problems, params), strict=True):
        judged = (
            Solution.judged(problem, routes_of(problem, candidate.sequence.tolist()))
            for candidate in candidates
            if np.isfinite(candidate.cost) and not candidate.hindsight
        )
        plans.append(next((plan for plan in judged if plan.feasible), None))
    return plans


class _Work:
    """The augmentations of one problem."""

    def __init__(
        self,
        network: Network,
        problem: Problem,
        seen: Problem,
        params: ConstructParams,
        report: Callable[[int], None] | None,
    ) -> None:
        self.network, self.params, self.report = network, params, report
        (self.instance,) = prepare([problem])
        self.seen: Instance = self.instance if seen is problem else prepare([seen])[0]
        self.starts = Starts(self.instance, params.direct_return)
        self.expected: Starts | None = None
        if problem.has_unknown_prizes:
            (expected,) = prepare([problem.as_expected()])
            self.expected = Starts(expected, params.direct_return)
        self.plan = RolloutPlan.of(
            int(self.starts.ready.sum()),
            has_depot=self.instance.has_depot,
            wanted=params.starts,
            samples=params.samples,
        )
        degrees = [params.temperature_of(number) for number in range(1 + self.plan.samples)]
        self.temperature = np.array(degrees, dtype=np.float32)[self.plan.rounds]
        self.keys = self.plan.keys(params.seed, params.numbers)

    def run(self) -> list[Candidate]:
        """All augmentations, until the time is up."""
        return _through_augmentations(self.params, len(self.plan.start), self._augmentation)

    def _augmentation(self, place: int) -> tuple[Trajectories, Trajectories | None]:
        """The rollouts of an augmentation; with unknown prizes also those of the expected ones."""
        params = self.params
        together = _TOGETHER if params.deadline is NEVER else 1  # soon there is a first plan
        own = place % together
        if own == 0:
            numbers = params.numbers[place : place + together]
            self._tables = _tables(self.network, self.seen, numbers, params)
            self._order = self.starts.likeliest_first(self._tables)
        nodes = self._order[own][self.plan.start]
        options: dict[str, Any] = {
            "keys": None if self.keys is None else self.keys[place],
            "temperature": self.temperature,
            "threads": params.threads,
            "look": None if params.deadline is NEVER else params.deadline.check,
        }
        done = roll_out(self.starts, self._tables, own, nodes, **options)
        expected = None
        if self.expected is not None:
            expected = roll_out(self.expected, self._tables, own, nodes, **options)
        if self.report is not None:
            self.report(len(nodes))
        return done, expected


class _FleetWork:
    """The augmentations of one problem whose vehicles differ."""

    def __init__(
        self,
        network: Network,
        problem: Problem,
        params: ConstructParams,
        report: Callable[[int], None] | None,
    ) -> None:
        self.network, self.problem, self.params, self.report = network, problem, params, report
        self.fleet = Fleet.of(problem)
        self.starts = Starts(self.fleet.instance, params.direct_return)
        self.nodes = self.fleet.starts(params.starts)

    def run(self) -> list[Candidate]:
        """All augmentations, until the time is up; with the cheapest vehicles, best first."""
        best = Best()
        for place in range(self.params.augmentations):
            try:
                self.params.deadline.check()
                self._augmentation(place, best)
            except TimeIsUp:
                if not best:
                    raise
                break
        return self._judged(best.candidates())

    def _augmentation(self, place: int, best: Best) -> None:
        params, count = self.params, len(self.nodes)
        own = params.numbers[place : place + 1]
        tables = _tables(self.network, self.fleet.instance, own, params)
        for turn in range(1 + (params.samples or 0)):
            wanted = self.fleet.preferences(count, random_state(params.seed, (7, own.start, turn)))
            keys = None
            if turn:
                source = Mersenne(random_state(params.seed, (0, turn, 0, 0)))
                keys = source.keys(params.augmentations, count)[place]
            done = roll_out_fleet(
                *(self.fleet, self.starts, tables, 0, self.nodes, wanted),
                keys=keys,
                temperature=params.temperature_of(turn),
                threads=params.threads,
                look=None if params.deadline is NEVER else params.deadline.check,
            )
            best.add(done, done.cost, (turn * params.augmentations + place) * count)
            if self.report is not None:
                self.report(count)

    def _judged(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates with what they cost with the cheapest vehicles, best first."""
        problem = self.problem
        unit = 1.0 if problem.maximise_prize else problem.unit

        def judged(candidate: Candidate) -> Candidate:
            if not np.isfinite(candidate.cost):
                return candidate
            routes = routes_of(problem, candidate.sequence.tolist())
            return replace(candidate, cost=judge(problem, routes).cost / unit)

        return sorted(map(judged, candidates), key=lambda one: (one.cost, one.rank))


class _LargeWork:
    """The augmentations of one large problem, from a few starts, by candidate lists."""

    def __init__(
        self,
        network: Network,
        problem: Problem,
        params: ConstructParams,
        report: Callable[[int], None] | None,
    ) -> None:
        if params.samples:
            raise UnsupportedError(
                f"expected no samples of an instance with {len(problem.customers)} customers: "
                f"without torch large instances are planned greedily; received {params.samples}"
            )
        self.network, self.params, self.report = network, params, report
        self.large = LargeInstance.of(problem, params.choices, adjusted=params.adjusted)
        self.expected: LargeInstance | None = None
        if problem.has_unknown_prizes:
            self.expected = LargeInstance.of(
                problem.as_expected(), params.choices, adjusted=params.adjusted
            )
        self.nodes = self.large.start_nodes(params.starts)

    def run(self) -> list[Candidate]:
        """All augmentations, until the time is up."""
        return _through_augmentations(self.params, len(self.nodes), self._augmentation)

    def _augmentation(self, place: int) -> tuple[Trajectories, Trajectories | None]:
        params, own = self.params, self.params.numbers[place : place + 1]
        seen = self.large.starts.instance
        tables = _tables(self.network, seen, own, params, zscore=False)
        look = None if params.deadline is NEVER else params.deadline.check

        def planned(large: LargeInstance) -> Trajectories:
            one = (tables, 0, own.start, self.nodes)
            return roll_out_large(large, *one, threads=params.threads, look=look)

        done = planned(self.large)
        expected = None if self.expected is None else planned(self.expected)
        if self.report is not None:
            self.report(len(self.nodes))
        return done, expected


def _through_augmentations(
    params: ConstructParams,
    rollouts: int,
    augmentation: Callable[[int], tuple[Trajectories, Trajectories | None]],
) -> list[Candidate]:
    """The best of all augmentations until the time is up, then those in hindsight.

    ``augmentation`` has the ``rollouts`` of an augmentation by its place, and where prizes are
    unknown also those of the same policy for the expected ones.
    """
    chosen, afterwards = Best(), Best()
    for place in range(params.augmentations):
        try:
            params.deadline.check()
            done, expected = augmentation(place)
        except TimeIsUp:
            if not chosen:
                raise
            break
        cost, rank = done.cost, place * rollouts
        if expected is not None:
            afterwards.add(done, cost, rank)
            cost = np.where(np.isfinite(cost), expected.cost, np.inf)
        chosen.add(done, cost, rank)
    return [*chosen.candidates(), *afterwards.candidates(hindsight=True)]


def _tables(
    network: Network,
    seen: Instance,
    numbers: range,
    params: ConstructParams,
    *,
    zscore: bool = True,
) -> Tables:
    """The tables of the augmentations of these numbers."""
    seeds = seeds_of_augmentations(
        seen.num_depots, seen.size, network.config, numbers.stop, params.seed
    )
    (tables,) = encode(
        network,
        [seen],
        [seeds[numbers.start :]],
        heads=numbers,
        strength=params.strength,
        zscore=zscore,
        threads=params.threads,
        look=None if params.deadline is NEVER else params.deadline.check,
    )
    return tables


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
