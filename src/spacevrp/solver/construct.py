"""The second stage: the network constructs plans, and the referee chooses the best of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from spacevrp.engines.base import Account, Engine
from spacevrp.engines.grouping import count_beams, count_rollouts, group
from spacevrp.engines.progress import Progress, ShowProgress
from spacevrp.engines.pruning import search_of
from spacevrp.inference.construct import Candidate
from spacevrp.inference.heads import STRENGTH
from spacevrp.inference.large import is_large
from spacevrp.inference.settings import Seconds, Settings
from spacevrp.problems.deadline import NEVER, Deadline, TimeIsUp
from spacevrp.problems.explanation.insertions import Insertions, missing
from spacevrp.problems.problem import Problem
from spacevrp.solver.effort import BY_DESIGN, SEARCHED_AUGMENTATIONS, is_long
from spacevrp.solver.params import SolveParams
from spacevrp.solver.partial import best_partial
from spacevrp.solver.pool import OTHERS, Pool
from spacevrp.solver.protocol import Protocol
from spacevrp.solver.reasons import fleet_too_small
from spacevrp.solver.reduce import Task, reduce
from spacevrp.solver.rounds import rounds_in_time, seed_of_round
from spacevrp.solver.selection import Case, others_of, select, select_all

# Sampled rollouts of the second attempt, where the first came to dead ends only.
_SECOND_SAMPLES, _SECOND_SAMPLES_LARGE = 32, 8
# Instances whose plans are judged at a time.
_JUDGED_TOGETHER = 256
# Of a time, for the network at the most, where the search follows.
NETWORK_SHARE = 0.25
# Within a time: start nodes of the first round, and of large instances.
FIRST_STARTS, FIRST_STARTS_LARGE = 8, 1
# An instance goes without the network if there are fewer seconds than this for each pair of nodes:
# it looks at all of them, and a single layer cannot be interrupted.
_SECONDS_A_PAIR = 1e-6

# Problems, how they are planned, and the augmentations of those with symmetric distances and of the
# others.
Round = tuple[Sequence[int], Settings, tuple[int, int]]
# By the number of a problem: the rollouts that came to dead ends.
Stuck = dict[int, tuple[Task, list[Candidate]]]


@dataclass
class Construct:
    """The stage: whose plans are made, who makes them, and what came of it."""

    engine: Engine
    pool: Pool
    params: SolveParams
    protocol: Protocol
    deadline: Deadline
    searched: frozenset[int]  # the problems that the search goes on with
    show: ShowProgress = False
    seconds: Seconds = field(default_factory=Seconds)
    refused: int = 0
    notes: list[str] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)  # where no rollout was complete
    rounds: list[Settings] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)  # problems with rollouts, complete or not

    def run(self, planned: Sequence[int]) -> None:
        """Offer the network's plans of some problems, reduced to forms that it knows."""
        account = Account(self.params.batch_memory, self.seconds, self.notes)
        for numbers, settings, augmentations in self._rounds(planned):
            self.rounds.append(replace(settings, augmentations=max(augmentations)))
            tasks, stuck = self._reduce(numbers, augmentations), Stuck()
            for attempt, harder in self._attempts(tasks, settings, stuck):
                groups, total = self._groups(attempt, harder)
                with Progress(total, self.show) as progress:
                    for some, alike in groups:
                        forms = [task.form for task in some]
                        found: list[tuple[Task, list[Candidate]]] = []
                        with suppress(TimeIsUp):  # those that are there before are judged
                            searched = self.engine.search(forms, alike, progress, account)
                            for one in zip(some, searched, strict=False):
                                found.append(one)
                                if len(found) == _JUDGED_TOGETHER:
                                    self._judge(found, stuck)
                                    found = []
                        self._judge(found, stuck)
            self._accept_partial(numbers, stuck)

    # ------------------------------------------------------------------------- what is to be done

    def _rounds(self, planned: Sequence[int]) -> Iterator[Round]:
        """One round without a time, else as many as there is time for.

        First those that the search goes on with, whose rounds are few.
        """
        params, deadline = self.params, self.deadline
        timed = deadline.seconds < NEVER.seconds
        settings = Settings(
            starts=params.start_nodes,
            samples=self.protocol.decide("num_samples", params.num_samples, None),
            beam_width=self.protocol.decide(
                "beam_width", params.beam_width, self.protocol.usual_beam_width
            ),
            seed=params.seed,
            choices=params.candidates,
            heads=self.protocol.decide("policy_heads", params.policy_heads, STRENGTH),
            pruned=self.protocol.pruned,
            deadline=deadline if timed or self.pool.hears else NEVER,
        )
        alone = [number for number in planned if number not in self.searched]
        for numbers in ([number for number in planned if number in self.searched], alone):
            if not numbers or deadline.over:
                continue
            follows = numbers is not alone  # the search does
            if not timed:
                usual = (SEARCHED_AUGMENTATIONS,) * 2 if follows else self.protocol.augmentations
                asked = params.augmentations
                yield numbers, settings, usual if asked is None else (asked, asked)
                continue
            until = NETWORK_SHARE * deadline.seconds
            if not follows:  # to each its part of what is left
                working = self.pool.working
                until = working.spent + working.left * len(alone) / len(self.pool.problems)
            self.deadline = deadline.until(until)
            # A quick round, and whole augmentations.
            most = 1 + SEARCHED_AUGMENTATIONS if follows else None
            yield from self._rounds_in_time(numbers, settings, most)
            self.deadline = deadline

    def _rounds_in_time(
        self, numbers: Sequence[int], settings: Settings, most: int | None
    ) -> Iterator[Round]:
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
                    seed=seed_of_round(settings.seed, order),
                    first_augmentation=sum(done.augmentations for done in self.rounds),
                    deadline=self.deadline,
                )
                yield able, here, (one.augmentations, one.augmentations)
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
        if number not in self.searched and not is_large(self.pool.problems[number], None):
            return 0.0
        return _SECONDS_A_PAIR * self.pool.problems[number].size ** 2

    def _reduce(self, numbers: Sequence[int], augmentations: tuple[int, int]) -> list[Task]:
        """The forms in which the network plans the problems of a round."""
        began, problems = time.perf_counter(), self.pool.problems
        counts = [augmentations[problems[number].features.asymmetric] for number in numbers]
        tasks = reduce(problems, numbers, counts, self.protocol)
        self.seconds.preparing += time.perf_counter() - began
        return tasks

    def _attempts(
        self, tasks: Sequence[Task], settings: Settings, stuck: Stuck
    ) -> Iterator[tuple[Sequence[Task], Settings]]:
        """All tasks; then one augmentation once more where all rollouts came to dead ends.

        In the second attempt other moves come from the samples.
        """
        yield tasks, settings
        hard = [
            task
            for number, (task, _) in stuck.items()
            if not self.pool.complete(number) and self.needs_chance(number)
        ]
        for large, samples in ((False, _SECOND_SAMPLES), (True, _SECOND_SAMPLES_LARGE)):
            harder = replace(
                settings,
                samples=max(settings.samples or 0, samples),
                beam_width=0,
                direct_return=False,
            )
            able = []
            for task in hard:
                if is_large(task.form, settings.choices) != large:
                    continue
                lacking = self.engine.lacks(task.form, harder)
                if lacking is None:
                    able.append(replace(task, augmentations=1))
                else:
                    self.notes.append(f"not looked for: {lacking}")
            if able:
                yield able, harder

    @property
    def is_late(self) -> bool:
        """Whether the network's share of a time is over, where the search follows."""
        return self.deadline.spent > NETWORK_SHARE * self.deadline.seconds

    def needs_chance(self, number: int) -> bool:
        """Whether to look for a complete plan by sampling.

        Some fleets are so small that chance is of help, and some customers get home over others
        only. The search is better at the first, and cannot begin with the second.
        """
        problem = self.pool.problems[number]
        if not self.protocol.persist or self.deadline.over or fleet_too_small(problem):
            return False
        if number not in self.searched:
            return True
        alone = Insertions(problem, ())
        return any(
            not any(insertion.fits for insertion in alone.own_routes(stops))
            for stops in missing(problem, ())
        )

    def _groups(
        self, tasks: Sequence[Task], settings: Settings
    ) -> tuple[list[tuple[list[Task], Settings]], int]:
        """Tasks that are planned together, with their settings, and the rollouts of all."""
        device, forms = self.engine.device, [task.form for task in tasks]
        groups, total = [], 0
        for wanted in sorted({task.augmentations for task in tasks}):
            chosen = [place for place, task in enumerate(tasks) if task.augmentations == wanted]
            for augmentations, places in group(
                forms, chosen, wanted, lambda form: search_of(form, settings, device)
            ):
                alike = replace(settings, augmentations=augmentations)
                groups.append(([tasks[place] for place in places], alike))
                some = [forms[place] for place in places]
                rollouts = count_rollouts(some, settings, device)
                rollouts += count_beams(some, settings, device)
                total += len(places) * augmentations * rollouts
        return groups, total

    # ------------------------------------------------------------------------- what came of it

    def _judge(self, found: Sequence[tuple[Task, list[Candidate]]], stuck: Stuck) -> None:
        """Offer the best plan of each task; keep what came to dead ends."""
        began = time.perf_counter()
        cases = [
            (task.problem, self._without_hindsight(task, candidates), task.form)
            for task, candidates in found
        ]
        selected = select_all(cases)
        self._keep_others([task.number for task, _ in found], cases)
        self.seconds.judging += time.perf_counter() - began
        for (task, _), (problem, candidates, _), (plan, reason, refused) in zip(
            found, cases, selected, strict=True
        ):
            self.refused += refused
            self.reached.add(task.number)
            if plan is None:
                stuck.setdefault(task.number, (task, []))[1].extend(candidates)
                self.reasons.setdefault(task.number, reason)
                continue
            expected = None
            if problem.has_unknown_prizes and plan.routes:
                # Candidates are selected in their order: the first that passes is the plan.
                expected = candidates[refused].cost * problem.unit
            self.pool.offer(task.number, plan, expected)

    def _keep_others(self, numbers: Sequence[int], cases: Sequence[Case]) -> None:
        """Keep further plans of the problems that a long search goes on with."""
        share = self.pool.seconds / len(self.pool.problems)
        wanted = [
            place
            for place, number in enumerate(numbers)
            if number in self.searched
            and not cases[place][0].has_unknown_prizes
            and is_long(cases[place][0], self.params.iterations, share)
        ]
        for place, plans in zip(
            wanted, others_of([cases[place] for place in wanted], OTHERS + 1), strict=True
        ):
            self.pool.keep(numbers[place], plans)

    def _without_hindsight(self, task: Task, candidates: list[Candidate]) -> list[Candidate]:
        """Those to choose from; what the best of the others costs is noted."""
        others = [candidate for candidate in candidates if candidate.hindsight]
        if others:
            best = select(task.problem, others, task.form)[0]
            if best is not None:
                known = self.pool.hindsight.get(task.number, math.inf)
                self.pool.hindsight[task.number] = min(best.cost, known)
        return [candidate for candidate in candidates if not candidate.hindsight]

    def _accept_partial(self, numbers: Sequence[int], stuck: Stuck) -> None:
        """Offer what is legal of the rollouts where none is complete."""
        began = time.perf_counter()
        for number in numbers:
            if self.pool.complete(number):
                self.reasons.pop(number, None)
                continue
            problem = self.pool.problems[number]
            form, some = problem, list[Candidate]()
            if number in stuck and not self.deadline.over:
                task, some = stuck[number]
                form = task.form
            # The sort is stable: of two that served as many, the better one stays first.
            candidates = sorted(some, key=lambda one: -len(np.unique(one.sequence)))
            self.pool.offer(number, best_partial(problem, candidates, form, self.deadline))
        self.seconds.judging += time.perf_counter() - began


def _starts_of(problem: Problem, settings: Settings, engine: Engine) -> int:
    """Start nodes of a full augmentation."""
    own = len(problem.pairs) or len(problem.customers)
    large = search_of(problem, settings, engine.device)
    if large is not None:
        own = min(own, large.starts)
    return max(1, own if settings.starts is None else min(own, settings.starts))
