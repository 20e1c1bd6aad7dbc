"""The inference door: problems in, refereed solutions out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from spacevrp.inference.heads import STRENGTH
from spacevrp.problems.conversion import as_number, as_whole
from spacevrp.problems.deadline import NEVER, Deadline
from spacevrp.problems.errors import InfeasibleError, SpacevrpError
from spacevrp.problems.inputs import as_problems, is_one
from spacevrp.problems.problem import Problem
from spacevrp.problems.readings import as_it_is
from spacevrp.problems.solution import Solution
from spacevrp.solver.choosing import EngineName, choose_engine
from spacevrp.solver.effort import MOST_FOR_NETWORK, ROUNDS, STARTS
from spacevrp.solver.protocol import protocol_named
from spacevrp.solver.settings import Seconds, Settings
from spacevrp.solver.work import ShowProgress, Work

if TYPE_CHECKING:
    import torch

    from spacevrp.model import SpaceModel
    from spacevrp.solver.devices import Device

# What Problem.from_data takes: another program's keys here, and data frames, which have no type.
AnyProblem = Problem | Mapping[str, Any]
# An error names this many of the instances without a plan.
_MOST_NAMED = 3


class NoPlanError(InfeasibleError):
    """Some instances got no complete plan.

    Attributes
    ----------
    reasons
        Number of the instance -> which of its customers cannot be served, and why.
    solutions
        One entry an instance, None where there is no complete plan.
    partial
        Number of the instance -> its best partial plan: it keeps every rule, except that somebody
        is left out, and its ``unserved`` says who and why.
    """

    def __init__(
        self,
        reasons: dict[int, str],
        solutions: list[Solution | None],
        partial: dict[int, Solution] | None = None,
    ) -> None:
        named = [
            f"instance {number}: no complete plan found: {reason}"
            for number, reason in list(reasons.items())[:_MOST_NAMED]
        ]
        if len(reasons) > _MOST_NAMED:
            named.append(f"and {len(reasons) - _MOST_NAMED} more instances")
        super().__init__("; ".join(named))
        self.reasons = reasons
        self.solutions = solutions
        self.partial = partial or {}


@dataclass(frozen=True)
class Attempt:
    """What came of a call, and what it took.

    Attributes
    ----------
    solutions
        One entry an instance, None where there is no complete plan.
    reasons
        Number of the instance -> why it has no complete plan.
    seconds
        Time spent on preparing tensors, by the network, by the referee and by the search.
    refused
        Plans that the search held for complete and the referee refused.
    notes
        What was left out for large instances, or for want of the compiled search, a line each.
    partial
        Number of the instance -> the best partial plan where there is no complete one.
    expected
        Number of the instance -> what its plan was expected to cost when it was chosen, where
        prizes are revealed by the visits (see ``docs/concepts/prizes.md``).
    hindsight
        The same for the cost of the plan that would have been chosen, had the prizes been known.
    """

    solutions: list[Solution | None]
    reasons: dict[int, str]
    seconds: Seconds
    refused: int = 0
    notes: tuple[str, ...] = field(default=())
    partial: dict[int, Solution] = field(default_factory=dict)
    expected: dict[int, float] = field(default_factory=dict)
    hindsight: dict[int, float] = field(default_factory=dict)

    @property
    def best(self) -> list[Solution]:
        """One plan an instance, partial where there is no complete one."""
        return [
            self.partial[number] if solution is None else solution
            for number, solution in enumerate(self.solutions)
        ]


class Solver:
    """A model on a device, loaded once and ready for any number of problems.

    Parameters
    ----------
    weights
        Name of bundled weights, path of a ``.safetensors`` file, or a model (which moves to the
        device); None for the default.
    device
        ``auto`` (a GPU where there is one and torch is installed), ``cpu`` or ``cuda``.
    lean
        Strength of the policy heads (see ``docs/concepts/views.md``); 0 for views that differ in
        nothing but their pivots, as in the paper. None for what the protocol has: 0.25, or 0.
    threads
        Threads of a CPU that the network and the search use here, whatever libraries are set to
        otherwise. With one, a solver may be made before a fork, and other programs hardly slow it
        down (see ``docs/how-to/processes-and-threads.md``). None for one a core, or for as many as
        torch is set to.
    engine
        Who runs the network: ``native``, the compiled network on a CPU, which needs no torch;
        ``torch``, on a GPU or a CPU; ``auto`` takes torch on a GPU, for a model of torch, for the
        folder of a training run, and where the compiled network is not installed. Both make the
        same plans but for ties. What the compiled network does not do, torch does where it is
        installed: samples beyond 200 customers, and plans of more than 4,096 nodes.
    """

    def __init__(
        self,
        weights: str | Path | SpaceModel | None = None,
        device: str | torch.device = "auto",
        lean: float | None = None,
        *,
        threads: int | None = 1,
        engine: EngineName = "auto",
    ) -> None:
        self.lean = None if lean is None else _as_lean(lean)
        self.threads = None if threads is None else _at_least("threads", threads, 1)
        self.engine = choose_engine(weights, device, self.threads, engine)

    @property
    def device(self) -> Device:
        """Where the network works."""
        return self.engine.device

    @property
    def model(self) -> SpaceModel:
        """The model of torch, where torch runs the network."""
        found: SpaceModel | None = getattr(self.engine, "model", None)
        if found is None:
            raise AttributeError("expected a solver with engine='torch': this one has no model")
        return found

    @overload
    def solve(
        self,
        problem: AnyProblem,
        *,
        augment: int | None = ...,
        starts: int | None = ...,
        candidates: int | None = ...,
        sample: int | None = ...,
        seed: int = ...,
        progress: ShowProgress = ...,
        batch_memory: int | None = ...,
        partial: bool = ...,
        improve: bool | None = ...,
        replan: int | None = ...,
        protocol: str | None = ...,
    ) -> Solution: ...

    @overload
    def solve(
        self,
        problem: Iterable[AnyProblem],
        *,
        augment: int | None = ...,
        starts: int | None = ...,
        candidates: int | None = ...,
        sample: int | None = ...,
        seed: int = ...,
        progress: ShowProgress = ...,
        batch_memory: int | None = ...,
        partial: bool = ...,
        improve: bool | None = ...,
        replan: int | None = ...,
        protocol: str | None = ...,
    ) -> list[Solution]: ...

    def solve(
        self,
        problem: AnyProblem | Iterable[AnyProblem],
        *,
        augment: int | None = None,
        starts: int | None = None,
        candidates: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        progress: ShowProgress = False,
        batch_memory: int | None = None,
        partial: bool = False,
        improve: bool | None = None,
        replan: int | None = None,
        protocol: str | None = None,
    ) -> Solution | list[Solution]:
        """Solve one problem, or many of any variants and sizes; a batch in, a batch out.

        Parameters
        ----------
        problem
            One problem, or several. The order is kept. A :class:`Problem`, or what
            :meth:`Problem.from_data` takes: a data frame, or a table of keys of another program.
        augment
            Views of each instance: a pivot set and a policy head each. More views take longer, and
            the network's first plan is never worse for them; the improved plan may be, as the
            search ends elsewhere from another first plan. None for what the protocol has: 8, and
            with ``paper`` 128 where distances are asymmetric; and for none beyond 1,000 customers,
            where the search begins without the network, if nothing else is said of its plans.
        starts
            Start nodes of each view, the likeliest ones (beyond 200 customers, spread evenly). None
            for as many as suit ``sample`` or, beyond 200 customers, for a number that falls with
            the size.
        candidates
            The nearest customers that a move chooses from; None for all or, beyond 200 customers,
            for 32 (64 where directions or windows count). Routes begin anywhere, and a legal move
            is never lost (see ``docs/concepts/large.md``).
        sample
            Further rounds from every start of every view that draw their moves at random instead of
            taking the likeliest. None for three from a quarter of the customers that can come
            first, so that a view has as many plans as there are customers; with ``starts``, for
            tours without a depot, fleets, and beyond 200 customers, for none. 0 for one plan from
            every customer, as in the paper.
        seed
            Decides the views and the draws. The plan of an instance does not depend on what is
            solved beside it, unless moves are drawn for fleets or beyond 200 customers.
        progress
            Show a bar where stderr is a terminal; ``"always"`` shows it anyway.
        batch_memory
            Bytes that the working set may take; by default 80% of what is free on a GPU, and 512
            MiB (2 GiB beyond 200 customers, or a quarter of the machine's memory) on a CPU.
        partial
            Where an instance gets no complete plan, return the best partial one instead of raising:
            its ``unserved`` says who is left out, why, and what would let them in.
        improve
            Improve the plans by the compiled search (see ``docs/concepts/search.md``). False for
            the plans of the model alone, and for those who want thousands of plans at once.
        replan
            Times at most that plans of 40 customers or more are planned anew by the model, region
            by region, before they are improved; None for none (see ``docs/concepts/regions.md``).
        protocol
            ``"paper"``, ``"network"`` or ``"default"`` (see ``docs/concepts/protocols.md``). What
            contradicts it is an error.

        Raises
        ------
        InfeasibleError
            If an instance gets no complete plan: which customers are left out, and why. (It is a
            :class:`NoPlanError`, which carries the partial plans, and the solutions of the other
            instances.) Not with ``partial``.
        """
        attempt = self.attempt(
            problem,
            augment=augment,
            starts=starts,
            candidates=candidates,
            sample=sample,
            seed=seed,
            progress=progress,
            batch_memory=batch_memory,
            improve=improve,
            replan=replan,
            protocol=protocol,
        )
        if attempt.reasons and not partial:
            raise NoPlanError(attempt.reasons, attempt.solutions, attempt.partial)
        return attempt.best[0] if is_one(problem) else attempt.best

    def attempt(
        self,
        problem: AnyProblem | Iterable[AnyProblem],
        *,
        augment: int | None = None,
        starts: int | None = None,
        candidates: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        progress: ShowProgress = False,
        batch_memory: int | None = None,
        persist: bool = True,
        improve: bool | None = None,
        replan: int | None = None,
        first_view: int = 0,
        protocol: str | None = None,
        deadline: Deadline = NEVER,
        found: Callable[[int, Solution, float | None], object] | None = None,
        begin: Mapping[int, Solution] | None = None,
        explain: bool = True,
    ) -> Attempt:
        """The same, with an account of the time, and no error where no plan is complete.

        Without ``persist`` the network tries nothing more for an instance that comes to dead ends,
        and the reason is left empty. Views are counted from ``first_view`` on; all but view 0 have
        a policy head. When the ``deadline`` is over the best plans so far are taken. ``found`` is
        told the number of an instance, its plan and, where visits reveal prizes, what was expected
        of it, whenever there is one that may be better. Plans in ``begin`` compete with those of
        the model. Without ``explain`` the reasons for customers who are left out are not looked
        for.
        """
        ruled = protocol_named(protocol)
        ruled.check(starts=starts, candidates=candidates)
        improving = ruled.decide("improve", improve, True)
        # What is said of the network's plans asks for them.
        asked = any(one is not None for one in (augment, starts, candidates, sample, replan))
        if improving and not asked:
            starts = STARTS
        sample = ruled.decide("sample", sample, None)
        symmetric, asymmetric = ruled.views if augment is None else (augment, augment)
        settings = Settings(
            views=_at_least("augment", symmetric, 1),
            asymmetric_views=None if asymmetric == symmetric else asymmetric,
            starts=None if starts is None else _at_least("starts", starts, 1),
            choices=None if candidates is None else _at_least("candidates", candidates, 1),
            samples=None if sample is None else _at_least("sample", sample, 0),
            seed=_at_least("seed", seed, 0),
            persist=persist and ruled.persist,
            explain=persist and explain,
            improve=improving,
            threads=self.engine.threads,
            most_customers=MOST_FOR_NETWORK if improving and not asked else math.inf,
            replan=_at_least("replan", ruled.decide("replan", replan, ROUNDS), 0),
            lean=ruled.decide("lean", self.lean, STRENGTH),
            first_view=_at_least("first_view", first_view, 0),
            reductions=ruled.reductions,
            pruned=ruled.pruned,
            deadline=deadline,
        )
        if batch_memory is not None:
            _at_least("batch_memory", batch_memory, 1)
        problems = as_problems(problem)[0]
        readings = [] if ruled.reductions else [as_it_is(one) for one in problems]
        with self.engine.at_work():
            work = Work(self.engine, problems, batch_memory, readings=readings)
            work.found, work.starts = found, dict(begin or {})
            solutions, reasons = work.run(settings, progress)
        reasons = dict(sorted(reasons.items()))
        notes = tuple(work.notes)
        return Attempt(
            solutions,
            reasons,
            work.seconds,
            work.refused,
            notes,
            work.partial,
            work.expected,
            work.hindsight,
        )

    def plan_anew(
        self,
        problems: Sequence[Problem],
        plans: Sequence[Solution],
        *,
        rounds: int = 1,
        first: int = 0,
        seed: int = 0,
        batch_memory: int | None = None,
        deadline: Deadline = NEVER,
    ) -> Attempt:
        """The plans, planned anew region by region; those that cannot be divided stay.

        Every round, by its number from ``first`` on, divides them otherwise.
        """
        lean = STRENGTH if self.lean is None else self.lean
        settings = Settings(1, None, 0, seed, replan=rounds, lean=lean, deadline=deadline)
        solutions: list[Solution | None] = list(plans)
        with self.engine.at_work():
            work = Work(self.engine, list(problems), batch_memory)
            work.plan_anew(solutions, settings, False, first)
        return Attempt(solutions, {}, work.seconds, work.refused)


def _as_lean(value: float) -> float:
    number = as_number("lean", value)
    if not 0 <= number < math.inf:
        raise SpacevrpError(f"lean: expected a number of at least 0, received {value!r}")
    return number


def _at_least(name: str, value: int, lowest: int) -> int:
    expected = f"a whole number of at least {lowest}"
    number = as_whole(name, value, expected)
    if number < lowest:
        raise SpacevrpError(f"{name}: expected {expected}, received {number}")
    return number
