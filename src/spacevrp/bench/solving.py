"""Solving a set, what came of each instance, and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.solver import Outcome as Solved
    from spacevrp.solver import Solver


@dataclass(frozen=True)
class Outcome:
    """What came of a set. Rows are made from it and from references, which may come later."""

    costs: tuple[float | None, ...]  # the referee's; None where there is no plan
    seconds_host: float  # from problems to tensors
    seconds_model: float  # encoding and decoding
    seconds_referee: float
    violations: int  # rules broken by the plans that are reported, and instances without a plan
    refused: int = 0  # plans that the search proposed and the referee refused
    note: str = ""  # why an instance has no plan
    others: float | None = None  # cores busy with other processes meanwhile
    peak_gib: float | None = None  # the most memory held, where that was measured
    seconds_search: float = 0.0  # local search
    # Where visits reveal prizes: the best costs had they been known; None where nothing is unknown.
    hindsight: tuple[float | None, ...] = ()
    seconds_least: float | None = None  # of the shortest of several repeats; the others are medians

    @property
    def found(self) -> NDArray[np.float64]:
        """Costs of the instances that have a plan."""
        return np.array([cost for cost in self.costs if cost is not None], dtype=np.float64)

    @property
    def mean(self) -> float | None:
        """Their mean; None where no instance has a plan."""
        return float(self.found.mean()) if len(self.found) else None

    @property
    def seconds(self) -> float:
        """All of it."""
        network = self.seconds_host + self.seconds_model
        return network + self.seconds_referee + self.seconds_search


def warm_up(solver: Solver, problems: Sequence[Problem], protocol: str = "network") -> None:
    """On a GPU, compile the kernels before anything is timed."""
    if solver.device.type == "cuda":
        solver.run(problems[:2], augmentations=1, protocol=protocol)


# Names of options in records, and what the solver calls them.
_RUN_NAMES = {"starts": "start_nodes", "sample": "num_samples", "heads": "policy_heads"}


def solve_set(
    solver: Solver,
    problems: Sequence[Problem],
    augmentations: int,
    *,
    show: bool = False,
    **options: Any,
) -> Outcome:
    """Solve the instances of a set together; ``options`` are those of the solver."""
    from spacevrp.bench.neighbours import Neighbours

    neighbours = Neighbours()
    told = {_RUN_NAMES.get(name, name): value for name, value in options.items()}
    attempt = solver.run(
        problems, augmentations=augmentations, progress=show, **{"protocol": "network", **told}
    )
    plans = [plan for plan in attempt.solutions if plan is not None]
    return Outcome(
        costs=tuple(None if plan is None else plan.cost for plan in attempt.solutions),
        seconds_host=attempt.seconds.preparing,
        seconds_model=attempt.seconds.searching,
        seconds_referee=attempt.seconds.judging,
        seconds_search=attempt.seconds.improving,
        hindsight=_hindsight(attempt),
        violations=sum(len(plan.violations) for plan in plans) + len(attempt.reasons),
        refused=attempt.refused,
        note=next(iter(attempt.reasons.values()), ""),
        others=neighbours.busy(),
    )


def _hindsight(outcome: Solved) -> tuple[float | None, ...]:
    found = tuple(one.hindsight for one in outcome.results)
    return found if any(one is not None for one in found) else ()


# ------------------------------------------------------------------------------------------- gaps


def gaps(
    cost: NDArray[np.float64], reference: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Percent above the reference: mean of the instances' gaps, and gap of the means.

    Costs may be negative (minus a prize): the gap is in proportion to the reference's size, so that
    less cost, or more prize, is always a lower gap.
    """
    if len(cost) == 0 or bool((reference == 0).any()):
        return None, None
    each = (cost - reference) / np.abs(reference)
    whole = (cost.mean() - reference.mean()) / abs(reference.mean())
    return 100.0 * float(each.mean()), 100.0 * float(whole)


class Paid(Protocol):
    """What another solver paid for an instance."""

    @property
    def cost(self) -> float: ...

    @property
    def solver(self) -> str: ...


@dataclass(frozen=True)
class Comparison:
    """A set beside its references, over the instances that have both a plan and a reference."""

    solvers: str  # who found the references, the most frequent first
    instances: int
    cost: float | None  # mean of the references
    gap: float | None  # percent; mean of the instances' gaps
    gap_of_means: float | None  # percent


def compare(costs: Sequence[float | None], references: Sequence[Paid | None]) -> Comparison:
    """The gap to references that some instances may lack."""
    pairs = [
        (cost, reference)
        for cost, reference in zip(costs, references, strict=True)
        if cost is not None and reference is not None
    ]
    names = [reference.solver for _, reference in pairs]
    # Of equal frequency, in the order of the alphabet.
    by_frequency = sorted(set(names), key=lambda name: (-names.count(name), name))
    theirs = np.array([reference.cost for _, reference in pairs], dtype=np.float64)
    ours = np.array([cost for cost, _ in pairs], dtype=np.float64)
    mean = float(theirs.mean()) if pairs else None
    return Comparison("+".join(by_frequency), len(pairs), mean, *gaps(ours, theirs))
