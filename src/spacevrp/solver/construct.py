"""The second stage: the network constructs plans, and the referee chooses the best of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from spacevrp.engines.base import Account, Engine, in_time
from spacevrp.engines.grouping import count_rollouts, group, search_of
from spacevrp.engines.progress import Progress, ShowProgress
from spacevrp.engines.pruning import SMALL, is_large
from spacevrp.engines.settings import Seconds, Settings
from spacevrp.inference.construct import Candidate
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.explanation.insertions import Insertions, missing
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.effort import BY_DESIGN, can_search
from spacevrp.solver.partial import best_partial
from spacevrp.solver.pool import Pool
from spacevrp.solver.protocol import Protocol
from spacevrp.solver.reasons import fleet_too_small
from spacevrp.solver.reduce import Task, reduce
from spacevrp.solver.selection import select, select_all

# Sampled rollouts of the second attempt, where the first came to dead ends only.
_SECOND_SAMPLES, _SECOND_SAMPLES_LARGE = 32, 8
# Instances whose plans are judged at a time.
_JUDGED_TOGETHER = 256
# Within a time: start nodes of the first round, and of large instances.
FIRST_STARTS, FIRST_STARTS_LARGE = 8, 1
# An instance goes without the network if there are fewer seconds than this for each pair of nodes:
# it looks at all of them, and a single layer cannot be interrupted.
_SECONDS_A_PAIR = 1e-6
# Augmentations at the most where there is time for more; then moves are sampled.
MOST_AUGMENTATIONS = 128
_SAMPLES = 7
# A round has at most so many times as many rollouts as the one before.
_GROWTH = 4.0
_SHORTEST = 1e-6  # seconds, where a clock did not move

# The problem itself as a task, and its rollouts that came to dead ends.
Stuck = tuple[Task, list[Candidate]]


@dataclass
class Construct:
    """The stage: whose plans are made, who makes them, and what came of it."""

    engine: Engine
    pool: Pool
    protocol: Protocol
    deadline: Deadline
    batch_memory: int | None = None
    show: ShowProgress = False
    retry: bool = True  # sample more where every rollout comes to a dead end
    searched: bool = False  # the search follows
    seconds: Seconds = field(default_factory=Seconds)
    refused: int = 0
    notes: list[str] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)  # where no rollout was complete
    rounds: list[Settings] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)  # problems with rollouts, complete or not

    def run(
        self, numbers: Sequence[int], settings: Settings, augmentations: tuple[int, int]
    ) -> None:
        """Offer the network's plans of some problems.

        ``augmentations`` of each: where distances are symmetric, and where they are not.
        """
        problems = self.pool.problems
        self.rounds.append(replace(settings, augmentations=max(augmentations)))
        began = time.perf_counter()
        tasks = reduce(
            problems,
            numbers,
            [augmentations[problems[number].features.asymmetric] for number in numbers],
            self.protocol,
            reductions=self.protocol.reductions and not self.searched,
            largest=SMALL if settings.choices is None else min(SMALL, settings.choices),
        )
        self.seconds.preparing += time.perf_counter() - began
        stuck: dict[int, Stuck] = {}
        parts = [part for _, _, some in tasks.parts for part in some]
        plans: list[Solution | None] = [None] * len(parts)
        for place, plan, reason, candidates in self._plan([*tasks.whole, *parts], settings):
            if place >= len(tasks.whole):
                plans[place - len(tasks.whole)] = plan
                continue
            task = tasks.whole[place]
            self.reached.add(task.number)
            if plan is not None:
                self._offer(task, plan, candidates)
            elif task.plain:
                stuck[task.number] = task, candidates
                self.reasons.setdefault(task.number, reason)
        rest = iter(plans)
        for number, split, some in tasks.parts:
            own = [plan.routes for plan in islice(rest, len(some)) if plan is not None]
            if len(own) == len(some):
                self.pool.offer(number, Solution.judged(problems[number], split.together(own)))
        hard = [n for n in stuck if not self.pool.complete(n) and self.needs_chance(n)]
        self._try_again([stuck[number][0] for number in hard], settings, stuck)
        self._accept_partial(numbers, stuck)

    def _offer(self, task: Task, plan: Solution, candidates: Sequence[Candidate]) -> None:
        expected = None
        if task.problem.has_unknown_prizes and task.reduction.exact:
            # Candidates are selected in their order: the first that passes is the plan.
            expected = candidates[0].cost * task.problem.unit
        self.pool.offer(task.number, plan, expected)

    def needs_chance(self, number: int) -> bool:
        """Whether to look for a complete plan by sampling.

        Some fleets are so small that chance is of help, and some customers get home over others
        only. The search is better at the first, and cannot begin with the second.
        """
        problem = self.pool.problems[number]
        if not self.retry or self.deadline.over or fleet_too_small(problem):
            return False
        if not (self.searched and can_search(problem)):
            return True
        alone = Insertions(problem, ())
        return any(
            not any(insertion.fits for insertion in alone.own_routes(stops))
            for stops in missing(problem, ())
        )

    def _try_again(
        self, tasks: Sequence[Task], settings: Settings, stuck: dict[int, Stuck]
    ) -> None:
        """One augmentation once more: other moves come from the samples."""
        for large, samples in ((False, _SECOND_SAMPLES), (True, _SECOND_SAMPLES_LARGE)):
            harder = replace(
                settings, samples=max(settings.samples or 0, samples), direct_return=False
            )
            able = []
            for task in tasks:
                if is_large(task.form, settings.choices) != large:
                    continue
                lacking = self.engine.lacks(task.form, harder)
                if lacking is None:
                    able.append(replace(task, augmentations=1))
                else:
                    self.notes.append(f"not looked for: {lacking}")
            if not able:
                continue
            for place, plan, _, candidates in self._plan(able, harder):
                if plan is not None:
                    self._offer(able[place], plan, candidates)
                else:
                    stuck[able[place].number][1].extend(candidates)

    def _accept_partial(self, numbers: Sequence[int], stuck: dict[int, Stuck]) -> None:
        """Offer what is legal of the rollouts where none is complete."""
        began = time.perf_counter()
        for number in numbers:
            if self.pool.complete(number):
                self.reasons.pop(number, None)
                continue
            problem = self.pool.problems[number]
            form, some = problem, list[Candidate]()
            if number in stuck and not self.deadline.over:
                form, some = stuck[number][0].form, stuck[number][1]
            # The sort is stable: of two that served as many, the better one stays first.
            candidates = sorted(some, key=lambda one: -len(np.unique(one.sequence)))
            self.pool.offer(number, best_partial(problem, candidates, form, self.deadline))
        self.seconds.judging += time.perf_counter() - began

    # ------------------------------------------------------------------------- what engines do

    def _plan(
        self, tasks: Sequence[Task], settings: Settings
    ) -> Iterator[tuple[int, Solution | None, str, list[Candidate]]]:
        """(place of a task, its best plan, why there is none, its candidates) in any order."""
        device, account = self.engine.device, Account(self.batch_memory, self.seconds, self.notes)
        forms = [task.form for task in tasks]
        groups = []
        for augmentations in sorted({task.augmentations for task in tasks}):
            chosen = [
                place for place, task in enumerate(tasks) if task.augmentations == augmentations
            ]
            groups += group(
                forms, chosen, augmentations, lambda form: search_of(form, settings, device)
            )
        total = sum(
            len(places)
            * augmentations
            * count_rollouts([forms[p] for p in places], settings, device)
            for augmentations, places in groups
        )
        with Progress(total, self.show) as progress:
            for augmentations, places in groups:
                here = replace(settings, augmentations=augmentations)
                some = [forms[place] for place in places]
                shown = [tasks[place].reduction.shown for place in places]
                found = in_time(self.engine.search(some, shown, here, progress, account))
                pairs = zip(places, found, strict=False)
                while several := list(islice(pairs, _JUDGED_TOGETHER)):
                    yield from self._judge(tasks, several)

    def _judge(
        self, tasks: Sequence[Task], found: Sequence[tuple[int, list[Candidate]]]
    ) -> Iterator[tuple[int, Solution | None, str, list[Candidate]]]:
        """The same for tasks whose candidates are there."""
        began = time.perf_counter()
        cases = []
        for place, candidates in found:
            task = tasks[place]
            cases.append((task.problem, self._without_hindsight(task, candidates), task.reduction))
        resolved = select_all(cases)
        self.seconds.judging += time.perf_counter() - began
        for (place, _), (_, some, _), (plan, reason, refused) in zip(
            found, cases, resolved, strict=True
        ):
            self.refused += refused
            yield place, plan, reason, some[refused:] if plan is not None else some

    def _without_hindsight(self, task: Task, candidates: list[Candidate]) -> list[Candidate]:
        """Those to choose from; what the best of the others costs is noted."""
        others = [candidate for candidate in candidates if candidate.hindsight]
        if others:
            best = select(task.problem, others, task.reduction)[0]
            if best is not None:
                known = self.pool.hindsight.get(task.number, math.inf)
                self.pool.hindsight[task.number] = min(best.cost, known)
        return [candidate for candidate in candidates if not candidate.hindsight]

    # --------------------------------------------------------------------------- within a time

    def run_in_time(self, numbers: Sequence[int], settings: Settings, most: int | None) -> None:
        """Rounds of more and more rollouts as long as the next is expected to end in time.

        The first has a few start nodes of one augmentation. ``most`` augmentations in all; None for
        as many as there is time for, and then for samples.
        """
        problems, total = self.pool.problems, len(self.pool.problems)
        able = [number for number in numbers if self._first_needs(number) <= self.deadline.left]
        if able and not self.deadline.over:
            large = any(is_large(problems[number], settings.choices) for number in able)
            every = max(_starts_of(problems[number], settings, self.engine) for number in able)
            few = min(every, FIRST_STARTS_LARGE if large else FIRST_STARTS)
            for order, one in enumerate(rounds_in_time(self.deadline, few, every, most)):
                # A full augmentation is searched as it is without a time.
                full = one.starts == every and not one.samples
                here = replace(
                    settings,
                    starts=settings.starts if full else one.starts,
                    samples=settings.samples if full else one.samples,
                    seed=_seed_of_round(settings.seed, order),
                    first_augmentation=sum(done.augmentations for done in self.rounds),
                    deadline=self.deadline,
                )
                self.run(able, here, (one.augmentations, one.augmentations))
        late = [number for number in numbers if number not in self.reached]
        if late:
            of = "the instance" if total == 1 else f"{len(late)} of {total} instances"
            note = f"the time was too short for the network's first plan of {of}"
            if all(self.pool.serves(number) for number in late):
                note = f"{BY_DESIGN}: {note}"
            self.notes.append(note)

    def _first_needs(self, number: int) -> float:
        """Seconds of the first round, at the least.

        A plan of the search's own is there already; less time than this is better left to it.
        """
        if not self.searched and not is_large(self.pool.problems[number], None):
            return 0.0
        return _SECONDS_A_PAIR * self.pool.problems[number].size ** 2


@dataclass(frozen=True)
class Round:
    """How many rollouts of each problem."""

    augmentations: int
    starts: int  # of each augmentation
    samples: int = 0  # from each of them, beside the greedy one

    @property
    def rollouts(self) -> int:
        """Of one problem."""
        return self.augmentations * self.starts * (1 + self.samples)


def rounds_in_time(deadline: Deadline, few: int, every: int, most: int | None) -> Iterator[Round]:
    """Rounds, each asked for when the last is done, as long as they are expected to end in time.

    A round with k times as many rollouts takes at most k times as long, since all rollouts share
    some of the work. ``few`` start nodes come first, ``every`` one is a full augmentation.
    """
    known: list[tuple[int, float]] = []  # rollouts and seconds
    augmentations, next_ = 0, Round(1, few)
    while True:
        began = deadline.spent
        yield next_
        known.append((next_.rollouts, max(deadline.spent - began, _SHORTEST)))
        augmentations += next_.augmentations
        left = (MOST_AUGMENTATIONS if most is None else most) - augmentations
        if deadline.over or (most is not None and left <= 0):
            return
        rollouts = max(
            (
                math.floor(count * min(_GROWTH, deadline.left / took))
                for count, took in known
                if took <= deadline.left
            ),
            default=0,
        )
        if rollouts < few:
            return  # no fewer than at first
        next_ = _plan_round(rollouts, every, left)


def _plan_round(rollouts: int, starts: int, augmentations: int) -> Round:
    """A round of at most so many rollouts; first ``augmentations``, then samples."""
    if rollouts < starts:
        return Round(1, rollouts)
    whole = rollouts // starts
    if augmentations > 0:
        return Round(min(whole, augmentations), starts)
    samples = min(_SAMPLES, whole - 1)
    return Round(whole // (1 + samples), starts, samples)


def _seed_of_round(seed: int, order: int) -> int:
    """The caller's own, and then others that follow from it: other pivots, other samples."""
    if not order:
        return seed
    return int(np.random.SeedSequence([seed, order]).generate_state(1)[0])


def _starts_of(problem: Problem, settings: Settings, engine: Engine) -> int:
    """Start nodes of a full augmentation."""
    own = len(problem.pairs) or len(problem.customers)
    large = search_of(problem, settings, engine.device)
    if large is not None:
        own = min(own, large.starts)
    return max(1, own if settings.starts is None else min(own, settings.starts))
