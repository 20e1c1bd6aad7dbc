"""The first stage: each problem in the form in which the network knows it best.

That is the problem itself, or the same with a capacity that nothing can reach, or a tour (see
:mod:`spacevrp.problems.canonical`): every plan costs the same in both, and none is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spacevrp.problems.canonical import canonical
from spacevrp.problems.problem import Problem
from spacevrp.solver.protocol import Protocol


@dataclass(frozen=True)
class Task:
    """A problem to be planned, and how the network sees it."""

    number: int  # among the problems of the call
    problem: Problem  # whose referee judges the plans
    form: Problem
    augmentations: int


def reduce(
    problems: Sequence[Problem],
    numbers: Sequence[int],
    augmentations: Sequence[int],
    protocol: Protocol,
) -> list[Task]:
    """The tasks for some problems, each with its number of ``augmentations``."""
    return [
        Task(
            number,
            problems[number],
            canonical(problems[number]) if protocol.canonical else problems[number],
            count,
        )
        for number, count in zip(numbers, augmentations, strict=True)
    ]
