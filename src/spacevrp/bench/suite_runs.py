"""One run of ``spacevrp bench suite``: an instance, a solver, a seed; what it came to."""

from __future__ import annotations

import hashlib
import re
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacevrp.bench.records import processor
from spacevrp.problems.errors import InfeasibleError, SpacevrpError

if TYPE_CHECKING:
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.solution import Solution

OURS, PYVRP, ORACLE = "spacevrp", "pyvrp", "pyvrp-oracle"
# Beyond, PyVRP's matrices take more memory than usual machines have.
_PYVRP_LARGEST = 7001  # nodes
# PyVRP's names of roundings.
_ROUND_FUNCS = {"nearest": "round", "one-decimal": "dimacs", "three-decimals": "exact"}


@dataclass(frozen=True)
class Run:
    """One solver on one instance with one seed; ``limit`` is in seconds, or ``2.4n``."""

    suite: str
    problem_class: str
    path: Path
    solver: str
    limit: str
    seed: int

    def seconds(self, customers: int) -> float:
        """The limit for so many customers."""
        each = self.limit.endswith("n")
        return float(self.limit.removesuffix("n")) * (customers if each else 1)

    @property
    def subject(self) -> dict[str, Any]:
        """What tells it from all other runs."""
        told = {"suite": self.suite, "class": self.problem_class, "instance": self.path.stem}
        return {**told, "solver": self.solver, "limit": self.limit, "seed": self.seed}


def measure(run: Run) -> dict[str, Any]:
    """Solve one instance, and say what came of it."""
    file = read_file(run.path)
    limit = run.seconds(file.customers)
    solve = {OURS: _solve_ours, PYVRP: _solve_pyvrp, ORACLE: _solve_oracle}[run.solver]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solve(file, limit, run.seed)
    return line_of(run, file, found)


def line_of(run: Run, file: File, found: Found) -> dict[str, Any]:
    """What a run came to, as a line."""
    told = {
        "version": version_of(run.solver),
        "customers": file.customers,
        "processor": processor(),
    }
    return {**run.subject, **told, **asdict(found)}


@dataclass(frozen=True)
class Found:
    """What a run came to; costs are in one unit, whichever solver counts."""

    cost: float | None
    best: float | None
    complete: bool
    seconds: float
    unserved: int | None = None
    note: str = ""  # why there is no plan, where it is not for want of time


@dataclass(frozen=True, eq=False)
class File:
    """An instance as both sides see it; ``refused`` says why there is no problem of ours."""

    path: Path
    customers: int
    problem: Problem | None
    best: float | None
    refused: str = ""


@lru_cache(maxsize=2)
def read_file(path: Path) -> File:
    """The instance, with its best known cost."""
    from spacevrp.formats import read

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = read(path)
            assert not isinstance(problem, list)
            best = _best_known(path, problem)
    except SpacevrpError as error:
        reason = str(error).removeprefix(f"{path}: ")
        return File(path, count_customers(path), None, _stated_cost(path), reason)
    return File(path, len(problem.customers), problem, best)


def count_customers(path: Path) -> int:
    """By what the file says of its size, or else by its lines."""
    text = path.read_text(encoding="utf-8", errors="replace")
    size = re.search(r"DIMENSION\s*:\s*(\d+)", text)
    return (int(size[1]) if size else text.count("\n")) - 1


def _best_known(path: Path, problem: Problem) -> float | None:
    """The cost of the plan beside the file, by the referee; None where there is none."""
    from spacevrp.formats import read_solution
    from spacevrp.problems.solution import Solution

    beside = path.with_suffix(".sol")
    if not beside.exists():
        return None
    (held,) = read_solution(beside, problem).instances
    plan = Solution.judged(problem, held.routes, held.vehicles)
    if not plan.feasible:
        raise SpacevrpError(f"{beside}: expected a feasible plan: {plan.violations[0].message}")
    return plan.cost


def _stated_cost(path: Path) -> float | None:
    beside = path.with_suffix(".sol")
    text = beside.read_text(encoding="utf-8") if beside.exists() else ""
    found = re.search(r"^Cost:?\s+(\S+)", text, re.MULTILINE)
    return float(found[1]) if found else None


@cache
def _solver() -> Any:
    """Loaded once in a process."""
    from spacevrp.generators import generate
    from spacevrp.solver import Solver

    solver = Solver(device="cpu", threads=1)
    solver.run(generate("CVRP", 10)[0], time=0.1)  # loads libraries
    return solver


def _solve_ours(file: File, limit: float, seed: int) -> Found:
    """The whole call of a loaded solver with a time, as its users have it."""
    if file.problem is None:
        return Found(None, file.best, False, 0.0, note=file.refused)
    solver = _solver()
    began = time.perf_counter()
    (plan,) = solver.run(file.problem, time=limit, seed=seed, explain=False).results
    return _found(plan, file.best, time.perf_counter() - began)


def _found(plan: Solution, best: float | None, seconds: float) -> Found:
    from spacevrp.problems.explanation import is_missing_visit

    missing = sum(map(is_missing_visit, plan.violations))
    return Found(plan.cost, best, plan.feasible, seconds, missing)


def _solve_pyvrp(file: File, limit: float, seed: int) -> Found:
    """PyVRP with its own settings; the time runs from the call on."""
    import pyvrp

    if file.customers >= _PYVRP_LARGEST:
        note = f"{file.customers} customers take more memory than there is"
        return Found(None, file.best, False, 0.0, note=note)
    data, judge = _as_pyvrp(file)
    began = time.perf_counter()
    end = began + limit
    result = pyvrp.solve(
        data, lambda cost: time.perf_counter() >= end, seed=seed, collect_stats=False, display=False
    )
    seconds = time.perf_counter() - began
    if not result.is_feasible():
        return Found(None, file.best, False, seconds)
    if file.problem is None:
        return Found(float(result.cost()), file.best, True, seconds, 0, "cost by PyVRP")
    plan = judge(result.best)
    if not plan.feasible:
        note = f"the referee refuses it: {plan.violations[0].message}"
        return Found(plan.cost, file.best, False, seconds, note=note)
    return _found(plan, file.best, seconds)


def _solve_oracle(file: File, limit: float, seed: int) -> Found:
    from spacevrp.oracles import make_oracle

    if file.problem is None:
        return Found(None, file.best, False, 0.0, note=file.refused)
    began = time.perf_counter()
    try:
        result = make_oracle(PYVRP).solve(file.problem, limit, seed)
    except InfeasibleError:
        return Found(None, file.best, False, time.perf_counter() - began)
    except SpacevrpError as error:
        return Found(None, file.best, False, time.perf_counter() - began, note=str(error))
    return _found(result.solution, file.best, time.perf_counter() - began)


def _as_pyvrp(file: File) -> tuple[Any, Callable[[Any], Solution]]:
    """PyVRP's data of a file, and its plans as ours."""
    import pyvrp

    from spacevrp.formats import routes_from_sol
    from spacevrp.formats.vrplib import rounding_of
    from spacevrp.oracles.pyvrp import as_pyvrp
    from spacevrp.problems.solution import Solution

    if file.path.suffix != ".vrp":
        assert file.problem is not None
        model = as_pyvrp(file.problem)
        return model.data, lambda best: Solution.judged(file.problem, model.read_routes(best))
    data = pyvrp.read(file.path, _ROUND_FUNCS[rounding_of(file.path)])

    def judge(best: Any) -> Solution:
        assert file.problem is not None
        return Solution.judged(file.problem, routes_from_sol(file.problem, *_as_sol(data, best)))

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


@cache
def version_of(solver: str) -> str:
    """Of a solver; of ours also which build of the search."""
    if solver in (PYVRP, ORACLE):
        from spacevrp.oracles import make_oracle

        make_oracle(PYVRP).require()
        return version(PYVRP)
    from spacevrp import native

    package: Any = sys.modules[__name__.partition(".")[0]]
    path = None if native.core is None else native.core.__file__
    build = "" if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    return f"{package.__version__}+{build}"
