"""The first stage: what the network plans in place of a problem, and how its plans come back.

A problem is planned as it is. Where ``--protocol network`` wants the best that the network can do
alone, it is also planned in forms that are closer to what the network was trained on: other
reductions of the same problem, and each depot with its own customers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacevrp.problems.problem import Problem
from spacevrp.problems.reductions import (
    Decomposition,
    Reduction,
    as_it_is,
    decompose,
    other_reductions,
    plain_reduction,
)
from spacevrp.solver.protocol import Protocol


@dataclass(frozen=True)
class Task:
    """A problem to be planned, and how the network sees it."""

    number: int  # of the problem of the call that it is done for
    problem: Problem  # whose referee judges the plans
    reduction: Reduction
    augmentations: int
    plain: bool = False  # the problem itself, or the same in other words

    @property
    def form(self) -> Problem:
        """The problem that the network sees."""
        return self.reduction.problem


@dataclass
class Tasks:
    """Plans to be made: of whole problems, and of parts that are put together again."""

    whole: list[Task] = field(default_factory=list)
    parts: list[tuple[int, Decomposition, list[Task]]] = field(default_factory=list)


def reduce(
    problems: Sequence[Problem],
    numbers: Sequence[int],
    augmentations: Sequence[int],
    protocol: Protocol,
    *,
    reductions: bool,
    largest: int,
) -> Tasks:
    """The tasks for some problems, each with its number of ``augmentations``.

    Without ``reductions`` each is planned as it is alone. Beyond ``largest`` customers the network
    sees no other distances than those of the problem.
    """
    tasks = Tasks()
    for number, count in zip(numbers, augmentations, strict=True):
        problem = problems[number]
        exactly = plain_reduction if protocol.reductions else as_it_is
        others = _others(problem, largest) if reductions else []
        # Another form is mostly planned better than the problem itself, which keeps one
        # augmentation.
        own = 1 if any(one.in_place for one in others) else count
        tasks.whole.append(Task(number, problem, exactly(problem), own, plain=True))
        tasks.whole += [Task(number, problem, one, count) for one in others]
        split = decompose(problem) if reductions else None
        if split is not None:
            parts = [_part(number, part, count, largest) for part in split.problems]
            tasks.parts.append((number, split, parts))
    return tasks


def _others(problem: Problem, largest: int) -> list[Reduction]:
    return [
        one
        for one in other_reductions(problem)
        if one.shown is None or len(one.problem.customers) <= largest
    ]


def _part(number: int, part: Problem, augmentations: int, largest: int) -> Task:
    """A part, in the form that takes its place if there is one."""
    usual = plain_reduction(part)
    reduction = next((one for one in _others(part, largest) if one.in_place), usual)
    return Task(number, part, reduction, augmentations)
