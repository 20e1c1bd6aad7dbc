"""Solvers that ``spacevrp bench suite`` compares: ours, parts of it, and others."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.bench import paper
from spacevrp.problems.deadline import Deadline
from spacevrp.problems.errors import InfeasibleError, SpacevrpError, UnsupportedError
from spacevrp.problems.explanation import is_missing_visit
from spacevrp.problems.problem import Problem
from spacevrp.problems.recourse import can_plan_ahead
from spacevrp.problems.solution import Solution

if TYPE_CHECKING:
    from spacevrp.solver import Solver

OURS = "spacevrp"  # a loaded ``Solver`` with a time, as its users call it
SEARCH, FROM_NETWORK, FROM_SAVINGS, FROM_INSERTION = (
    f"{OURS} {how}"
    for how in ("search", "network + search", "savings + search", "insertion + search")
)
FROM_BEST_OF_EIGHT = f"{OURS} 8 augmentations + search"
NETWORK, AS_THE_PAPER = f"{OURS} network", f"{OURS} paper"  # the protocols, without a limit
PRINTED = "SPACE as printed"
PYVRP, ORACLE, PYVRP_AFTER_NETWORK = "pyvrp", "pyvrp-oracle", "pyvrp from the first plan"
# Beyond, the matrices of other solvers take more memory than usual machines have.
_OTHERS_LARGEST = 7001  # nodes
# Left out where they are not installed: their licence is not for everybody.
_MAY_BE_MISSING = ("lkh",)
# PyVRP's names of roundings.
_ROUND_FUNCS = {"nearest": "round", "one-decimal": "dimacs", "three-decimals": "exact"}


@dataclass(frozen=True, eq=False)
class Item:
    """An instance, what other solvers are given in its place, and what is known of it."""

    problem: Problem
    known: float | None = None  # the best known cost
    given: Problem | None = None  # None: the same
    back: Callable[[Solution], Solution] = lambda found: found
    path: Path | None = None  # of its file


@dataclass(frozen=True)
class Found:
    """What a run came to; no plan where there is none that keeps the rules."""

    plan: Solution | None
    seconds: float
    iterations: int | None = None
    note: str = ""  # why there is none, where it is not for want of time
    printed: float | None = None  # a cost that others tell, which the referee cannot judge

    @classmethod
    def of(cls, plan: Solution, began: float, iterations: int | None = None) -> Found:
        """A plan, unless it breaks a rule."""
        seconds = time.perf_counter() - began
        if plan.is_legal:
            return cls(plan, seconds, iterations)
        missing = (one for one in plan.violations if not is_missing_visit(one))
        broken = next(one for one in missing if one.code != "prize")
        return cls(None, seconds, iterations, f"the referee refuses it: {broken.message}")

    @property
    def unserved(self) -> int | None:
        """Compulsory customers without a visit, or prize that is missing."""
        return None if self.plan is None else len(self.plan.violations)

    @property
    def cost(self) -> float | None:
        """The referee's, or else the printed one."""
        return self.printed if self.plan is None else self.plan.cost


@dataclass(frozen=True)
class Setting:
    """What a run is given; the device and the weights are those of our network."""

    seconds: float
    whole: bool = True  # the seconds are for the whole call, and not for the search alone
    device: str = "cpu"
    weights: str | None = None  # None for those of the protocol


Solve = Callable[[Problem, Setting, int], Found]  # the number is a seed


@dataclass(frozen=True)
class Method:
    """How plans are made.

    Attributes
    ----------
    version
        Raises where it is not installed.
    refuses
        Why it cannot take a problem; None where it can.
    """

    solve: Callable[[Item, Setting, int], Found]
    version: Callable[[], str]
    refuses: Callable[[Problem], str | None] = lambda problem: None


# -------------------------------------------------------------------------------------------- ours


def _ours(solve: Solve, refuses: Callable[[Problem], str | None] = lambda problem: None) -> Method:
    def solve_item(item: Item, setting: Setting, seed: int) -> Found:
        began = time.perf_counter()
        try:
            return solve(item.problem, setting, seed)
        except (SpacevrpError, MemoryError) as error:  # as where memory does not suffice
            return Found(None, time.perf_counter() - began, note=str(error) or "out of memory")

    return Method(solve_item, own_version, refuses)


@cache
def own_version() -> str:
    """The package's, and which build of the search it has."""
    from spacevrp import native

    if native.core is None:
        raise UnsupportedError(native.MISSING)
    package: Any = sys.modules[__name__.partition(".")[0]]
    build = hashlib.sha256(Path(native.core.__file__).read_bytes()).hexdigest()[:12]
    return f"{package.__version__}+{build}"


@cache
def _solver(device: str, weights: str | None) -> Solver:
    """Loaded once in a process."""
    from spacevrp.solver import Solver

    return Solver(weights, device, threads=1)


def _solve(protocol: str | None, problem: Problem, setting: Setting, seed: int) -> Found:
    """The whole call of a loaded solver with a time, or by a protocol without a limit."""
    solver, began = _solver(setting.device, setting.weights), time.perf_counter()
    how: dict[str, Any] = {"protocol": protocol} if protocol else {"time": setting.seconds}
    (plan,) = solver.run(problem, seed=seed, explain=False, **how).results
    return Found.of(plan, began)


def _search(
    starts: tuple[str, ...] | None,
    augmentations: int,
    problem: Problem,
    setting: Setting,
    seed: int,
) -> Found:
    """The compiled search, from the network's plans or from the better of what ``starts`` make."""
    from spacevrp.search import Stop, improve

    solver = _solver(setting.device, setting.weights) if augmentations else None
    began = time.perf_counter()
    plans = None if solver is None else solver.first_plans(problem, augmentations)
    spent = time.perf_counter() - began
    limits: dict[str, Any] = {"stop": Stop(seconds=setting.seconds)}
    if setting.whole:
        if spent >= setting.seconds:
            return Found(None, spent, note="the network takes longer")
        limits = {"stop": Stop(), "deadline": Deadline(setting.seconds - spent)}
    improved = improve([problem], [plans], starts=starts, seed=seed, threads=1, **limits)
    done = [run.iterations for run in improved.runs if run is not None]
    return Found.of(improved[0], began, sum(done) if done else None)


def _no_plan_ahead(problem: Problem) -> str | None:
    """No plan can be made before the first visit."""
    if can_plan_ahead(problem):
        return None
    return "prizes that only a visit reveals, where rules limit the visits"


def _revealing(problem: Problem) -> str | None:
    """The network's plans have reacted to the real prizes: no search may begin there."""
    return "prizes that only a visit reveals" if problem.has_unknown_prizes else None


# ------------------------------------------------------------------------------------------ theirs


def _oracle(name: str, *, warm: bool = False) -> Method:
    """A classical solver with its best settings, from nothing or from the network's first plan."""
    from spacevrp.oracles import make_oracle

    oracle = make_oracle(name)

    def version() -> str:
        oracle.require()
        return oracle.version()

    def refuses(problem: Problem) -> str | None:
        if name in _MAY_BE_MISSING and not oracle.is_installed():
            return f"it is not installed (the extra {oracle.extra})"
        return _too_large(problem.size) or oracle.supports(problem)

    def solve(item: Item, setting: Setting, seed: int) -> Found:
        problem = item.given or item.problem
        if reason := _too_large(problem.size):
            return Found(None, 0.0, note=reason)
        solver = _solver(setting.device, setting.weights) if warm else None
        plans = [] if solver is None else solver.first_plans(problem)
        start = plans[0].routes if plans else None
        began = time.perf_counter()
        try:
            result = oracle.solve(problem, setting.seconds, seed, start)
        except InfeasibleError:  # no plan in time is a result
            return Found(None, time.perf_counter() - began)
        except SpacevrpError as error:
            return Found(None, time.perf_counter() - began, note=str(error))
        return Found.of(item.back(result.solution), began)

    return Method(solve, version, refuses)


def _too_large(size: int) -> str | None:
    return f"{size} nodes take more memory than there is" if size > _OTHERS_LARGEST else None


def _solve_pyvrp(item: Item, setting: Setting, seed: int) -> Found:
    """PyVRP with its own settings on what its own reader makes of a file."""
    import pyvrp

    if item.path is None:
        return _oracle(PYVRP).solve(item, setting, seed)
    if reason := _too_large(item.problem.size):
        return Found(None, 0.0, note=reason)
    data, judge = _as_pyvrp(item, item.path)
    began = time.perf_counter()
    end = began + setting.seconds
    result = pyvrp.solve(
        data, lambda cost: time.perf_counter() >= end, seed=seed, collect_stats=False, display=False
    )
    took = time.perf_counter() - began
    return Found.of(judge(result.best), began) if result.is_feasible() else Found(None, took)


def _as_pyvrp(item: Item, path: Path) -> tuple[Any, Callable[[Any], Solution]]:
    """PyVRP's data of a file, and its plans as ours."""
    import pyvrp

    from spacevrp.formats import routes_from_sol
    from spacevrp.formats.vrplib import rounding_of
    from spacevrp.oracles.pyvrp import as_pyvrp

    if path.suffix != ".vrp":
        model = as_pyvrp(item.problem)
        return model.data, lambda best: Solution.judged(item.problem, model.read_routes(best))
    data = pyvrp.read(path, _ROUND_FUNCS[rounding_of(path)])

    def judge(best: Any) -> Solution:
        return Solution.judged(item.problem, routes_from_sol(item.problem, *_as_sol(data, best)))

    return data, judge


def _as_sol(data: Any, best: Any) -> tuple[list[list[int]], list[int]]:
    """A plan of a file that PyVRP has read, as VRPLIB numbers customers and vehicles."""
    names = [iter(kind.name.split(",")) for kind in data.vehicle_types()]
    lists, numbers = [], []
    for route in best.routes():
        places = [_place(data, activity) for activity in route]
        lists.append(places[1:-1])  # without the depots at its ends
        numbers.append(int(next(names[route.vehicle_type()])) + 1)
    return lists, numbers


def _place(data: Any, activity: Any) -> int:
    number = activity.idx
    if activity.is_client():
        return int(data.client(number).location)
    if activity.is_depot():
        return int(data.depot(number).location)
    stop = data.shipment(number)
    return int((stop.pickup if activity.is_pickup() else stop.delivery).location)


def _print_paper(item: Item, setting: Setting, seed: int) -> Found:
    """The cost that the paper's figure for SPACE stands for."""
    gap = None if item.path is None else paper.cvrplib_gap(item.path.stem)
    if gap is None or item.known is None:
        return Found(None, 0.0, note="not in the paper")
    return Found(None, 0.0, note="cost by the paper", printed=item.known * (1 + gap / 100))


@cache
def methods() -> dict[str, Method]:
    """All of them, by name."""
    from spacevrp.oracles import APPROXIMATE, ORACLES

    own = _oracle(PYVRP)
    return {
        OURS: _ours(partial(_solve, None)),
        NETWORK: _ours(partial(_solve, "network")),
        AS_THE_PAPER: _ours(partial(_solve, "paper")),
        SEARCH: _ours(partial(_search, None, 0), _no_plan_ahead),
        FROM_NETWORK: _ours(partial(_search, (), 1), _revealing),
        FROM_BEST_OF_EIGHT: _ours(partial(_search, (), 8), _revealing),
        FROM_SAVINGS: _ours(partial(_search, ("savings",), 0), _no_plan_ahead),
        FROM_INSERTION: _ours(partial(_search, ("insertion",), 0), _no_plan_ahead),
        **{name: _oracle(name) for name in (*ORACLES, *APPROXIMATE)},
        PYVRP: Method(_solve_pyvrp, own.version, own.refuses),
        ORACLE: own,
        PYVRP_AFTER_NETWORK: _oracle(PYVRP, warm=True),
        PRINTED: Method(_print_paper, lambda: "1"),
    }
