"""What a call returns: a plan with what each stage did for it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from html import escape
from pathlib import Path
from typing import Any

from spacevrp.inference.settings import Seconds
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.plan_text import write_number
from spacevrp.problems.solution import Solution

# An error names this many of the instances without a plan.
_MOST_NAMED = 3


@dataclass(frozen=True)
class Stage:
    """One stage of a call.

    Attributes
    ----------
    name
        ``start``, ``construct``, ``improve`` or ``judge``.
    seconds
        That the stage took, for all problems of the call.
    cost
        Of the plan after it; None as long as there is no complete one.
    """

    name: str
    seconds: float
    cost: float | None = None


@dataclass(frozen=True, eq=False)
class Result(Solution):
    """The best plan of a problem, judged by the referee, and how it came about.

    It is a :class:`Solution`, and equal to one with the same routes and verdict.

    Attributes
    ----------
    stages
        What each stage of the call took, and the cost of the plan after it.
    notes
        What was left out, a line each: for large instances, or for want of the compiled search.
    expected
        What the plan was expected to cost when it was chosen, where visits reveal prizes.
    hindsight
        What the best plan would have cost, had the prizes been known.
    """

    stages: tuple[Stage, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    expected: float | None = field(default=None, repr=False)
    hindsight: float | None = field(default=None, repr=False)

    @classmethod
    def of(cls, plan: Solution, **more: Any) -> Result:
        """A plan with what is known of how it came about."""
        own = {one.name: getattr(plan, one.name) for one in fields(Solution)}
        result = cls(**own, **more)
        vars(result).update(  # what was computed of the plan already
            {name: vars(plan)[name] for name in ("plan", "explanation") if name in vars(plan)}
        )
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        compared = [one.name for one in fields(Solution) if one.compare]
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    def __hash__(self) -> int:
        return hash((self.routes, self.cost, self.vehicles))

    def describe_stages(self) -> list[str]:
        """A line for each stage: its time, and the cost of the plan after it."""
        lines, before = [], None
        for stage in self.stages:
            line = f"{stage.name:<9} {stage.seconds:8.3f} s"
            if stage.cost is not None:
                line += f"  cost {write_number(stage.cost)}"
                if before is not None and stage.cost < before:
                    line += f"  ({100.0 * (before - stage.cost) / abs(before or 1.0):.2f}% better)"
                before = stage.cost
            lines.append(line)
        return lines

    def plot(self, path: str | Path | None = None, *, kind: str = "routes", ax: Any = None) -> Any:
        """Draw the plan into a file, or into axes of matplotlib, which are returned.

        Parameters
        ----------
        path
            ``.png``, ``.svg``, ``.pdf`` (with the extra ``plots``), or ``.html``: a page with a map
            to pan and zoom, which needs nothing else.
        kind
            ``routes``, ``schedule``, ``load`` or ``bars``; a page has the first two.
        ax
            Axes to draw into instead of new ones.
        """
        from spacevrp.plots.pictures import plot

        return plot(self._problem, self, path, kind, ax)

    def _repr_html_(self) -> str:
        """A table of the routes, for notebooks."""
        rows = "".join(
            f"<tr><td>{number}</td><td>{escape(' '.join(map(str, route)))}</td></tr>"
            for number, route in enumerate(self.routes, start=1)
        )
        head = escape(str(self).splitlines()[0])
        return f"<p>{head}</p><table><tr><th>route</th><th>nodes</th></tr>{rows}</table>"


class NoPlanError(InfeasibleError):
    """Some instances got no complete plan.

    Attributes
    ----------
    reasons
        Number of the instance -> which of its customers cannot be served, and why.
    solutions
        One entry an instance, None where there is no complete plan.
    partial
        Number of the instance -> its best partial plan: it keeps every rule, except that customers
        are left out, and its ``unserved`` says which and why.
    """

    def __init__(
        self,
        reasons: dict[int, str],
        solutions: list[Result | None],
        partial: dict[int, Result] | None = None,
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

    def __reduce__(self) -> tuple[type[NoPlanError], tuple[Any, ...]]:
        """For other processes."""
        return type(self), (self.reasons, self.solutions, self.partial)


@dataclass(frozen=True)
class Outcome:
    """What came of a call over several problems.

    Attributes
    ----------
    results
        One an instance, with a partial plan where there is no complete one.
    reasons
        Number of the instance -> why it has no complete plan.
    seconds
        Time spent on preparing tensors, by the network, by the referee and by the search.
    refused
        Plans that the network held for complete and the referee refused.
    notes
        What was left out for large instances, or for want of the compiled search, a line each.
    spent
        Seconds of the whole call.
    augmentations
        Augmentations of each instance that the network looked at.
    """

    results: list[Result]
    reasons: dict[int, str]
    seconds: Seconds
    refused: int = 0
    notes: tuple[str, ...] = ()
    spent: float = 0.0
    augmentations: int = 0

    @property
    def solutions(self) -> list[Result | None]:
        """One entry an instance, None where there is no complete plan."""
        return [one if one.feasible else None for one in self.results]

    @property
    def partial(self) -> dict[int, Result]:
        """Number of the instance -> the best partial plan where there is no complete one."""
        return {n: one for n, one in enumerate(self.results) if not one.feasible}
