"""The inference door: problems in, refereed solutions out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, overload

import numpy as np
import torch

from spacevrp.decode import routes_of
from spacevrp.model import SpaceModel
from spacevrp.model.weights import DEFAULT_WEIGHTS, load_weights
from spacevrp.problems.conversion import as_whole, show
from spacevrp.problems.errors import InfeasibleError, SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.solver.devices import choose_device
from spacevrp.solver.memory import (
    GIB,
    Cut,
    Footprint,
    available,
    cut,
    default_budget,
    largest_size,
)
from spacevrp.solver.progress import Progress
from spacevrp.solver.reasons import explain, fleet_too_small
from spacevrp.solver.search import Candidate, Seconds, Settings, search_block

ShowProgress = bool | Literal["always"]

# Instances share a batch up to this ratio of their sizes: padding costs its square.
_PADDING = 1.1
# Rounds of the second attempt that draw their moves, where the first came to dead ends only.
_SECOND_SAMPLES = 32
# An error names this many of the instances without a plan.
_MOST_NAMED = 3


class NoPlanError(InfeasibleError):
    """Some instances got no complete plan.

    Attributes
    ----------
    reasons
        Number of the instance -> which of its customers cannot be served, and why.
    solutions
        One entry an instance, None where there is no plan.
    """

    def __init__(self, reasons: dict[int, str], solutions: list[Solution | None]) -> None:
        named = [
            f"instance {number}: no complete plan found: {reason}"
            for number, reason in list(reasons.items())[:_MOST_NAMED]
        ]
        if len(reasons) > _MOST_NAMED:
            named.append(f"and {len(reasons) - _MOST_NAMED} more instances")
        super().__init__("; ".join(named))
        self.reasons = reasons
        self.solutions = solutions


@dataclass(frozen=True)
class Attempt:
    """What came of a call, and what it took.

    Attributes
    ----------
    solutions
        One entry an instance, None where there is no plan.
    reasons
        Number of the instance -> why it has no plan.
    seconds
        Time spent on preparing tensors, on the search and by the referee.
    refused
        Plans that the search held for complete and the referee refused.
    """

    solutions: list[Solution | None]
    reasons: dict[int, str]
    seconds: Seconds
    refused: int = 0


class Solver:
    """A model on a device, loaded once and ready for any number of problems.

    Parameters
    ----------
    weights
        Name of bundled weights, path of a ``.safetensors`` file, or a model (which moves to the
        device); None for the default.
    device
        ``auto`` (a GPU where there is one), ``cpu`` or ``cuda``.
    """

    def __init__(
        self,
        weights: str | Path | SpaceModel | None = None,
        device: str | torch.device = "auto",
    ) -> None:
        self.device = choose_device(device)
        if isinstance(weights, SpaceModel):
            model = weights
        else:
            model, _ = load_weights(DEFAULT_WEIGHTS if weights is None else weights)
        self.model = model.to(self.device)

    @overload
    def solve(
        self,
        problem: Problem,
        *,
        augment: int = ...,
        starts: int | None = ...,
        sample: int = ...,
        seed: int = ...,
        progress: ShowProgress = ...,
        batch_memory: int | None = ...,
    ) -> Solution: ...

    @overload
    def solve(
        self,
        problem: Iterable[Problem],
        *,
        augment: int = ...,
        starts: int | None = ...,
        sample: int = ...,
        seed: int = ...,
        progress: ShowProgress = ...,
        batch_memory: int | None = ...,
    ) -> list[Solution]: ...

    def solve(
        self,
        problem: Problem | Iterable[Problem],
        *,
        augment: int = 8,
        starts: int | None = None,
        sample: int = 0,
        seed: int = 0,
        progress: ShowProgress = False,
        batch_memory: int | None = None,
    ) -> Solution | list[Solution]:
        """Solve one problem, or many of any variants and sizes; a batch in, a batch out.

        Parameters
        ----------
        problem
            One problem, or several. The order is kept.
        augment
            Views (pivot sets) of each instance. More views take longer and are never worse.
        starts
            Start nodes of each view, spread evenly; None for every customer that can come first.
        sample
            Further rounds from every start of every view that draw their moves at random instead of
            taking the likeliest.
        seed
            Decides the views and the draws. Without ``sample`` the plan of an instance does not
            depend on what is solved beside it; with it, only the same call draws the same plans.
        progress
            Show a bar where stderr is a terminal; ``"always"`` shows it anyway.
        batch_memory
            Bytes that the working set may take; by default 80% of what is free on a GPU, and 512
            MiB (or a quarter of the machine's memory) on a CPU.

        Raises
        ------
        InfeasibleError
            If an instance gets no complete plan: which customers are left over, and why. (It is a
            :class:`NoPlanError`, which carries the solutions of the other instances.)
        """
        attempt = self.attempt(
            problem,
            augment=augment,
            starts=starts,
            sample=sample,
            seed=seed,
            progress=progress,
            batch_memory=batch_memory,
        )
        if attempt.reasons:
            raise NoPlanError(attempt.reasons, attempt.solutions)
        complete = [solution for solution in attempt.solutions if solution is not None]
        return complete[0] if isinstance(problem, Problem) else complete

    def attempt(
        self,
        problem: Problem | Iterable[Problem],
        *,
        augment: int = 8,
        starts: int | None = None,
        sample: int = 0,
        seed: int = 0,
        progress: ShowProgress = False,
        batch_memory: int | None = None,
    ) -> Attempt:
        """The same, with an account of the time, and no error where an instance gets no plan."""
        settings = Settings(
            views=_at_least("augment", augment, 1),
            starts=None if starts is None else _at_least("starts", starts, 1),
            samples=_at_least("sample", sample, 0),
            seed=_at_least("seed", seed, 0),
        )
        if batch_memory is not None:
            _at_least("batch_memory", batch_memory, 1)
        work = _Work(self.model, self.device, _as_list(problem), batch_memory)
        solutions, reasons = work.run(settings, progress)
        return Attempt(solutions, dict(sorted(reasons.items())), work.seconds, work.refused)


@overload
def solve(
    problem: Problem,
    augment: int = ...,
    device: str | torch.device = ...,
    *,
    starts: int | None = ...,
    sample: int = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
) -> Solution: ...


@overload
def solve(
    problem: Iterable[Problem],
    augment: int = ...,
    device: str | torch.device = ...,
    *,
    starts: int | None = ...,
    sample: int = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
) -> list[Solution]: ...


def solve(
    problem: Problem | Iterable[Problem],
    augment: int = 8,
    device: str | torch.device = "auto",
    *,
    starts: int | None = None,
    sample: int = 0,
    seed: int = 0,
    weights: str | Path | SpaceModel | None = None,
    progress: ShowProgress = False,
    batch_memory: int | None = None,
) -> Solution | list[Solution]:
    """Solve one problem or many. See :class:`Solver` and :meth:`Solver.solve` for the arguments.

    Weights are loaded anew at each call; keep a :class:`Solver` to load them once.
    """
    return Solver(weights, device).solve(
        problem,
        augment=augment,
        starts=starts,
        sample=sample,
        seed=seed,
        progress=progress,
        batch_memory=batch_memory,
    )


@dataclass
class _Work:
    """One call: the problems, where they are solved, and how much memory a block may take."""

    model: SpaceModel
    device: torch.device
    problems: list[Problem]
    batch_memory: int | None
    seconds: Seconds = field(default_factory=Seconds)
    refused: int = 0

    def run(
        self, settings: Settings, show: ShowProgress
    ) -> tuple[list[Solution | None], dict[int, str]]:
        """The solutions in the order of the problems, and the reasons where there is none."""
        solutions: list[Solution | None] = [None] * len(self.problems)
        reasons: dict[int, str] = {}
        for number, solution, reason in self._pass(range(len(self.problems)), settings, show):
            solutions[number] = solution
            if solution is None:
                reasons[number] = reason
        # Some customers get home over others only, and some fleets are so small that chance is
        # of help. The reasons of the first attempt stay: in it nobody is served without a way home.
        hard = [number for number in reasons if not fleet_too_small(self.problems[number])]
        if not hard:
            return solutions, reasons
        # One view: other moves come from the draws.
        rounds = max(settings.samples, _SECOND_SAMPLES)
        harder = replace(settings, views=1, samples=rounds, direct_return=False)
        for number, solution, _ in self._pass(hard, harder, show):
            if solution is not None:
                solutions[number] = solution
                del reasons[number]
        return solutions, reasons

    def _pass(
        self, chosen: Sequence[int], settings: Settings, show: ShowProgress
    ) -> Iterable[tuple[int, Solution | None, str]]:
        """(number of an instance, its solution, why it has none) for the chosen instances."""
        groups = _group(self.problems, chosen, settings.views)
        total = sum(
            len(numbers)
            * views
            * settings.rounds
            * _starts_expected([self.problems[i] for i in numbers], settings.starts)
            for views, numbers in groups
        )
        with Progress(total, show) as progress:
            for views, numbers in groups:
                here = replace(settings, views=views)
                for number, candidates in self._search(numbers, here, progress):
                    problem = self.problems[number]
                    began = time.perf_counter()
                    solution, reason, refused = settle(problem, candidates)
                    self.seconds.judging += time.perf_counter() - began
                    self.refused += refused
                    label = f"{problem.name!r}, " if problem.name else ""
                    yield number, solution, f"{label}{reason}"

    def _search(
        self, numbers: Sequence[int], settings: Settings, progress: Progress
    ) -> Iterable[tuple[int, list[Candidate]]]:
        """(number of an instance, its candidates), block by block; smaller ones if memory ends."""
        group = [self.problems[number] for number in numbers]
        size = max(problem.size for problem in group)
        own_durations = any(problem.durations is not problem.distances for problem in group)
        width = self.model.config.width
        footprint = Footprint.of(size, width, own_durations=own_durations)
        starts = _starts_expected(group, settings.starts)
        budget = self.batch_memory or default_budget(self.device)
        if footprint.block(1, 1) > max(budget, available(self.device)):
            raise self._too_large(size, available(self.device))
        position = 0
        while position < len(group):
            sizes = cut(footprint, views=settings.views, starts=starts, budget=budget)
            block = group[position : position + sizes.instances]
            progress.begin(len(block) * settings.views * settings.rounds * starts)
            found = self._attempt(block, settings, sizes, progress.advance)
            if found is None:
                if sizes.smallest:
                    raise self._too_large(size, budget)
                progress.take_back()
                budget = _next_budget(footprint, settings.views, starts, budget)
                continue
            progress.end()
            yield from zip(numbers[position:], found, strict=False)
            position += len(block)

    def _attempt(
        self,
        block: list[Problem],
        settings: Settings,
        sizes: Cut,
        report: Callable[[int], None],
    ) -> list[list[Candidate]] | None:
        """The candidates of a block, or None where memory ran out."""
        try:
            return search_block(
                self.model, block, settings, sizes, self.device, report, self.seconds
            )
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
        # Only here, with the error and all that it held on to gone.
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return None

    def _too_large(self, size: int, budget: int) -> SpacevrpError:
        width = self.model.config.width
        need = Footprint.of(size, width).block(1, 1)
        return SpacevrpError(
            f"out of memory on {self.device}: one view of an instance with {size} nodes needs "
            f"about {need / GIB:.2g} GiB, there are {budget / GIB:.2g}; up to "
            f"{largest_size(width, budget)} nodes would fit"
        )


def settle(problem: Problem, candidates: Sequence[Candidate]) -> tuple[Solution | None, str, int]:
    """The first candidate that the referee passes or the reason why there is none; the refused.

    Where nobody has to be visited, staying at home is a candidate, too: no rollout proposes it.
    """
    solution, reason, refused = _first_passed(problem, candidates)
    if problem.depots and np.isfinite(problem.penalty[list(problem.customers)]).all():
        idle = Solution.judged(problem, ())
        if idle.feasible and (solution is None or idle.cost < solution.cost):
            return idle, "", refused
    return solution, reason, refused


def _first_passed(
    problem: Problem, candidates: Sequence[Candidate]
) -> tuple[Solution | None, str, int]:
    refused: list[Solution] = []
    for candidate in candidates:
        if candidate.cost == float("inf"):
            break  # the best come first
        solution = Solution.judged(problem, routes_of(problem, candidate.sequence.tolist()))
        if solution.feasible:
            return solution, "", len(refused)
        refused.append(solution)
    if refused:
        reason = f"the best plan breaks a rule: {refused[0].violations[0].message}"
        return None, reason, len(refused)
    order = [*problem.depots, *problem.customers]
    attempts = [{order[position] for position in one.sequence.tolist()} for one in candidates]
    furthest = max(attempts, key=len)
    return None, explain(problem, furthest - set(problem.depots)), 0


def _group(
    problems: Sequence[Problem], chosen: Iterable[int], augment: int
) -> list[tuple[int, list[int]]]:
    """(views, numbers of instances) that are solved together: of like size, whatever the variant.

    Several depots take more work a step and durations of their own more memory, so those instances
    stay among themselves.
    """

    def kind(number: int) -> tuple[int, bool, bool]:
        problem = problems[number]
        own_durations = problem.durations is not problem.distances
        return _distinct_views(problem, augment), len(problem.depots) > 1, own_durations

    groups: list[tuple[int, list[int]]] = []
    smallest, last = 0, None
    for number in sorted(chosen, key=lambda i: (kind(i), problems[i].size, i)):
        size = problems[number].size
        if kind(number) != last or size > _PADDING * smallest:
            groups.append((kind(number)[0], []))
            smallest, last = size, kind(number)
        groups[-1][1].append(number)
    return groups


def _distinct_views(problem: Problem, augment: int) -> int:
    """Small instances have no more pivot sets than single customers and pairs of them."""
    customers = len(problem.customers)
    return min(augment, customers + customers * (customers - 1) // 2)


def _starts_expected(problems: Sequence[Problem], limit: int | None) -> int:
    """Start nodes of the instance with most of them, before anything is known of feasibility."""
    most = max(len(problem.pairs) or len(problem.customers) for problem in problems)
    return most if limit is None else min(limit, most)


def _next_budget(footprint: Footprint, views: int, starts: int, budget: int) -> int:
    """Halved until the blocks become smaller."""
    before = cut(footprint, views=views, starts=starts, budget=budget)
    while cut(footprint, views=views, starts=starts, budget=budget) == before:
        budget //= 2
    return budget


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # What torch's allocator for the CPU says.
    return "not enough memory" in str(error) or "can't allocate memory" in str(error)


def _as_list(problems: Problem | Iterable[Problem]) -> list[Problem]:
    if isinstance(problems, Problem):
        return [problems]
    expected = "expected a Problem or several"
    if isinstance(problems, str | bytes | Path):
        raise SpacevrpError(f"problem: {expected}, received {show(problems)}; see spacevrp.read")
    try:
        several = list(problems)
    except TypeError:
        raise SpacevrpError(f"problem: {expected}, received {show(problems)}") from None
    for number, problem in enumerate(several):
        if not isinstance(problem, Problem):
            raise SpacevrpError(f"problem, number {number}: {expected}, received {show(problem)}")
    return several


def _at_least(name: str, value: int, lowest: int) -> int:
    expected = f"a whole number of at least {lowest}"
    number = as_whole(name, value, expected)
    if number < lowest:
        raise SpacevrpError(f"{name}: expected {expected}, received {number}")
    return number
