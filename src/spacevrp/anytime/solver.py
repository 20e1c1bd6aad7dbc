"""The solver of the public face: with so many views or within a time, from a plan or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from spacevrp import native
from spacevrp.anytime.budget import as_seconds
from spacevrp.anytime.plans import BestPlans, Callback, as_starts
from spacevrp.anytime.solving import solve_for
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.inputs import as_problems, is_one
from spacevrp.problems.recourse import expected_cost
from spacevrp.problems.solution import Solution
from spacevrp.problems.warning import warn
from spacevrp.solver import Attempt, NoPlanError
from spacevrp.solver import Solver as ModelSolver
from spacevrp.solver.effort import BY_DESIGN
from spacevrp.solver.reasons import tell
from spacevrp.solver.solver import AnyProblem
from spacevrp.solver.work import ShowProgress

if TYPE_CHECKING:
    import torch

    from spacevrp.model import SpaceModel


class Solver(ModelSolver):
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

    @overload
    def solve(
        self,
        problem: AnyProblem,
        *,
        time: float | str | None = ...,
        callback: Callback | None = ...,
        start: Any = ...,
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
        time: float | str | None = ...,
        callback: Callback | None = ...,
        start: Any = ...,
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
        time: float | str | None = None,
        callback: Callback | None = None,
        start: Any = None,
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
        time
            Spend so long, seconds or such as ``"5s"`` or ``"2m"``, on all problems together: the
            network's plans, then the compiled search from the best plan on. It is a limit. See
            :func:`spacevrp.anytime.solve_for`, which gives an account. ``KeyboardInterrupt`` ends
            the time: the best plans so far are returned, if there are any.
        callback
            Called with every new best plan, judged by the referee. Raise ``StopIteration`` to stop
            with the best plans so far; other exceptions end the call.
        start
            A feasible plan to begin from, a :class:`Solution` or its routes; for several problems
            one each, None where there is none. The result is never worse.
        augment
            Views of each instance: a pivot set and a policy head each; None for what the protocol
            has: 8, and with ``paper`` 128 where distances are asymmetric; and for none beyond 1,000
            customers, where the search begins without the network, if nothing else is said of its
            plans. More views take longer, and the network's first plan is never worse for them; the
            improved plan may be, as the search ends elsewhere from another first plan. Not with
            ``time``, which decides it.
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
            every customer, as in the paper. Not with ``time``, which decides it.
        seed
            Decides the views and the draws. Without ``time`` the plan of an instance does not
            depend on what is solved beside it, unless moves are drawn for fleets or beyond 200
            customers.
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
            the plans of the model alone, and for thousands of plans at once.
        replan
            Times at most that plans of 40 customers or more are planned anew by the model, region
            by region, before they are improved; None for none (see ``docs/concepts/regions.md``).
            Not with ``time``, which decides it.
        protocol
            ``"paper"``, ``"network"`` or ``"default"`` (see ``docs/concepts/protocols.md``). What
            contradicts it is an error. Not with ``time``.

        Raises
        ------
        InfeasibleError
            If an instance gets no complete plan: which customers are left out, and why. (It is a
            :class:`NoPlanError`, which carries the partial plans, and the solutions of the other
            instances.) Not with ``partial``.
        SolutionError
            If ``start`` breaks a rule, or is no plan of the problem.
        """
        limits: dict[str, Any] = {
            "starts": starts,
            "candidates": candidates,
            "seed": seed,
            "progress": progress,
            "batch_memory": batch_memory,
        }
        attempt: Attempt
        if time is None:
            limits |= {"augment": augment, "sample": sample, "replan": replan}
            limits |= {"improve": improve, "protocol": protocol}
            attempt = self._attempt(problem, callback, start, limits)
        else:
            refuse_with_time(augment=augment, sample=sample, replan=replan, protocol=protocol)
            heard: dict[str, Any] = {"callback": callback, "start": start}
            limits["improve"] = improve is not False
            attempt = solve_for(problem, time, solver=self, **heard, **limits)
        for note in attempt.notes:  # others say what large instances do without, as they should
            if note == native.MISSING or (time is not None and BY_DESIGN not in note):
                warn(note, RuntimeWarning)
        if attempt.reasons and not partial:
            raise NoPlanError(attempt.reasons, attempt.solutions, attempt.partial)
        return attempt.best[0] if is_one(problem) else attempt.best

    def _attempt(
        self,
        problem: AnyProblem | Iterable[AnyProblem],
        callback: Callback | None,
        start: Any,
        limits: dict[str, Any],
    ) -> Attempt:
        """Without a time; plans are told, and begun from, where that is wanted."""
        if callback is None and start is None:
            return self.attempt(problem, **limits)
        problems, _ = as_problems(problem)
        given, deadline = as_starts(start, problem, problems), Deadline()
        plans = BestPlans(problems, deadline, callback)
        for number, plan in given.items():
            plans.offer(number, plan, expected_cost(problems[number], plan))
        attempt = self.attempt(
            problems, deadline=deadline, found=plans.offer, begin=given, **limits
        )
        for number, plan in enumerate(attempt.best):
            plans.offer(number, plan, attempt.expected.get(number))
        reasons = {}
        for number, plan in plans.partial.items():
            known = attempt.reasons.get(number) if attempt.partial.get(number) is plan else None
            reasons[number] = known or tell(plan)
        return replace(attempt, solutions=plans.complete, reasons=reasons, partial=plans.partial)


@overload
def solve(
    problem: AnyProblem,
    augment: int | None = ...,
    device: str | torch.device = ...,
    *,
    time: float | str | None = ...,
    callback: Callback | None = ...,
    start: Any = ...,
    improve: bool | None = ...,
    starts: int | None = ...,
    candidates: int | None = ...,
    sample: int | None = ...,
    replan: int | None = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
    partial: bool = ...,
    protocol: str | None = ...,
    threads: int | None = ...,
) -> Solution: ...


@overload
def solve(
    problem: Iterable[AnyProblem],
    augment: int | None = ...,
    device: str | torch.device = ...,
    *,
    time: float | str | None = ...,
    callback: Callback | None = ...,
    start: Any = ...,
    improve: bool | None = ...,
    starts: int | None = ...,
    candidates: int | None = ...,
    sample: int | None = ...,
    replan: int | None = ...,
    seed: int = ...,
    weights: str | Path | SpaceModel | None = ...,
    progress: ShowProgress = ...,
    batch_memory: int | None = ...,
    partial: bool = ...,
    protocol: str | None = ...,
    threads: int | None = ...,
) -> list[Solution]: ...


def solve(
    problem: AnyProblem | Iterable[AnyProblem],
    augment: int | None = None,
    device: str | torch.device = "auto",
    *,
    time: float | str | None = None,
    callback: Callback | None = None,
    start: Any = None,
    improve: bool | None = None,
    starts: int | None = None,
    candidates: int | None = None,
    sample: int | None = None,
    replan: int | None = None,
    seed: int = 0,
    weights: str | Path | SpaceModel | None = None,
    progress: ShowProgress = False,
    batch_memory: int | None = None,
    partial: bool = False,
    protocol: str | None = None,
    threads: int | None = 1,
) -> Solution | list[Solution]:
    """Solve one problem or many: with so many views, or within a time.

    The arguments are those of :class:`Solver` and :meth:`Solver.solve`. Weights are loaded anew at
    each call; keep a :class:`Solver` to load them once.
    """
    if time is not None:  # before the weights are loaded
        as_seconds(time)
        refuse_with_time(augment=augment, sample=sample, replan=replan, protocol=protocol)
    return Solver(weights, device, threads=threads).solve(
        problem,
        time=time,
        callback=callback,
        start=start,
        augment=augment,
        starts=starts,
        candidates=candidates,
        sample=sample,
        seed=seed,
        progress=progress,
        batch_memory=batch_memory,
        partial=partial,
        improve=improve,
        replan=replan,
        protocol=protocol,
    )


def refuse_with_time(**given: int | str | None) -> None:
    """Raise for what a time decides, and was said all the same."""
    for name, value in given.items():
        if value is not None:
            raise SpacevrpError(f"{name}: expected none with a time, which decides it")
