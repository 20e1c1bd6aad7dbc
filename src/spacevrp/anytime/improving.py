"""Improvement of a plan by the compiled search, or by a classical solver."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spacevrp import native
from spacevrp.anytime.budget import as_seconds
from spacevrp.anytime.engines import engines_for
from spacevrp.oracles import OracleDisagreement, OracleResult, SolverOracle
from spacevrp.problems.deadline import Clock, Deadline
from spacevrp.problems.errors import InfeasibleError, SolutionError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import can_plan_ahead
from spacevrp.problems.solution import Solution

# What the referee says twice of the same routes is the same; this is for a result made elsewhere.
_SAME = 1e-9


@dataclass(frozen=True)
class Improvement:
    """A plan, and what was made of it.

    Attributes
    ----------
    solution
        Judged by the referee, and never worse than the start; where prizes show only on the visit,
        never expected to be.
    start
        The plan to start from.
    engine, version
        Who searched on from there; empty where nobody did.
    seconds
        How long that took.
    note
        Why nobody searched, or who could not; empty where there is nothing to say.
    """

    solution: Solution
    start: Solution
    engine: str = ""
    version: str = ""
    seconds: float = 0.0
    note: str = ""

    @property
    def improved(self) -> bool:
        """Whether the plan costs less than the start."""
        return self.solution.cost < self.start.cost


def improve(
    problem: Problem,
    solution: Solution | Sequence[Sequence[int]],
    seconds: float | str = 5.0,
    *,
    seed: int = 0,
    engines: Sequence[SolverOracle] | None = None,
    watch: Callable[[float], None] | None = None,
    clock: Clock = time.perf_counter,
) -> Improvement:
    """Search on from a plan, with a solver that models the problem exactly.

    Parameters
    ----------
    solution
        The plan to start from, or its routes. It must be feasible.
    seconds
        The time for it, as a number or such as ``"5s"`` or ``"2m"``.
    seed
        Of the search, for solvers that draw.
    engines
        The solvers to try, the first that can; None for the package's own search or, where that
        was not compiled, PyVRP, then OR-Tools, where they are installed (``pip install
        spacevrp[oracles]``) and model the problem exactly. Where none can, the start comes back,
        with a note.
    watch
        Told the cost of the best plan so far whenever there is a better one: what it is expected to
        cost where prizes show only on the visit.
    clock
        Tells the time in seconds.

    Raises
    ------
    SolutionError
        The plan to start from breaks a rule.
    OracleDisagreement
        A solver and the referee do not agree on what its plan costs, or whether it is one.
    """
    deadline = Deadline(as_seconds(seconds, "seconds"), clock)
    routes = solution.routes if isinstance(solution, Solution) else solution
    start = Solution.judged(problem, routes)
    if not start.feasible:
        message = start.violations[0].message
        raise SolutionError(f"the plan to start from is not feasible: {message}")
    chosen = engines_for(problem) if engines is None else engines
    return improve_until(start, deadline, chosen, seed=seed, watch=watch)


def improve_until(
    start: Solution,
    deadline: Deadline,
    engines: Sequence[SolverOracle],
    *,
    seed: int = 0,
    watch: Callable[[float], None] | None = None,
    better: Callable[[Solution], object] | None = None,
) -> Improvement:
    """The same from a feasible plan on, until the time is up or the call interrupted.

    ``better`` is told better plans on the way, judged by the referee. A solver that could not build
    its model in time is left out.
    """
    problem, began = start.plan.problem, deadline.spent

    def tell(routes: Sequence[Sequence[int]]) -> None:
        plan = Solution.judged(problem, routes)
        if better is not None and plan.feasible and plan.cost < start.cost:
            better(plan)

    notes = [] if engines else [why_nobody(problem)]
    for engine in engines:
        if deadline.over:
            break
        if deadline.left <= engine.seconds_needed(problem):
            notes.append(f"{engine.name} was left out: the time was too short for its model")
            continue
        try:
            with engine.heard(deadline, watch, None if better is None else tell):
                result = engine.solve(problem, deadline.left, seed, start.routes)
        except (InfeasibleError, UnsupportedError) as error:
            notes.append(str(error))  # the start is there all the same, and so may others be
            continue
        found = _confirm(problem, result)
        # Engines choose by the prizes that are expected, where the real ones are not known.
        better_in_the_end = problem.has_unknown_prizes or found.cost < start.cost
        best = found if better_in_the_end else start
        spent, note = deadline.spent - began, "; ".join(notes)
        return Improvement(best, start, result.solver, result.version, spent, note)
    return Improvement(start, start, seconds=deadline.spent - began, note="; ".join(notes))


def why_nobody(problem: Problem) -> str:
    """Why no solver searches on from a plan for this problem, in words."""
    if not can_plan_ahead(problem):
        return "no solver models prizes that show only on the visit, where rules limit the visits"
    return (
        f"{native.MISSING}; no installed solver models this {problem.variant_name} exactly and "
        "searches on from a plan (pip install spacevrp[oracles])"
    )


def _confirm(problem: Problem, result: OracleResult) -> Solution:
    """The referee's verdict on what a solver hands over as refereed; any difference is an error."""
    told, found = result.solution, Solution.judged(problem, result.solution.routes)
    if not found.feasible:
        message = found.violations[0].message
        raise OracleDisagreement(f"{result.solver} hands over a plan that breaks a rule: {message}")
    if abs(found.cost - told.cost) > _SAME * max(abs(found.cost), problem.unit):
        raise OracleDisagreement(
            f"{result.solver} hands over a plan at {told.cost:.10g}, the referee counts "
            f"{found.cost:.10g}"
        )
    return found
