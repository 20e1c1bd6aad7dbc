"""Each adaptor against proven optima: every variant it claims, and what users may add to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.oracles import ORACLES, SolverOracle
from spacevrp.problems.features import Features
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS

SECONDS = 60.0  # never reached: searches end by count
ALL = tuple(ORACLES)
# What each solver claims, by the flags of a variant.
CLAIMS: dict[str, Callable[[Features], bool]] = {
    "ortools": lambda flags: True,
    "ortools-ils": lambda flags: not (flags.prize_collecting or flags.orienteering),
    "pyvrp": lambda flags: (
        not flags.prize_collecting and (not flags.backhaul or flags.backhaul_last)
    ),
    "vroom": lambda flags: (
        not flags.prize_collecting and (not flags.backhaul or flags.backhaul_last)
    ),
    "lkh": lambda flags: not flags.depot,
}


def tiny(variant: str) -> Problem:
    """Five or six customers of a variant, with a capacity that binds."""
    features = VARIANTS[variant].features
    (problem,) = generate(variant, 6 if features.pickup_delivery else 5, 1, seed=11)
    return problem.replace(capacity=12.0) if features.capacity else problem


def cases(claimed: bool) -> Iterator[tuple[str, str]]:
    for solver in ALL:
        for variant in VARIANTS.values():
            if CLAIMS[solver](variant.features) == claimed:
                yield solver, variant.name


def planned(problem: Problem) -> Problem:
    """What is known before the visits: the expected prizes."""
    if problem.revealed_prize is None:
        return problem
    return problem.replace(revealed_prize=None, variant=None)


def check_optimal(oracle: SolverOracle, problem: Problem, best: float) -> None:
    result = oracle.solve(problem, SECONDS)
    assert result.solution.feasible
    assert result.solver == oracle.name
    # Five customers have few plans, and none of them are this close to each other by chance.
    if problem.revealed_prize is None:
        assert result.solution.cost == pytest.approx(best, abs=1e-9)
    else:
        assert result.claimed == pytest.approx(best, abs=1e-4)
        assert "expected prizes" in result.note


def searched(solver: str, variant: str) -> bool:
    """Not all with both searches of OR-Tools: their model is the same."""
    features = VARIANTS[variant].features
    return solver != "ortools-ils" or (features.backhaul and not features.backhaul_last)


def in_short() -> Iterator[Any]:
    """Every variant it claims; those that the model was not trained on are slow tests."""
    for solver, variant in cases(claimed=True):
        if searched(solver, variant):
            marks = () if VARIANTS[variant].seen else pytest.mark.slow
            yield pytest.param(solver, variant, marks=marks)


@pytest.mark.parametrize(("solver", "variant"), list(in_short()))
def test_finds_the_optimum(solver, variant, optimum, make_tiny_oracle):
    problem = tiny(variant)
    check_optimal(make_tiny_oracle(solver), problem, optimum(planned(problem)))


def test_refuses_the_rest() -> None:
    for solver, variant in cases(claimed=False):
        reason = ORACLES[solver]().supports(tiny(variant))
        features = VARIANTS[variant].features
        expected = "minimum prize" if features.prize_collecting else "load rule 'single'"
        if solver == "ortools-ils":
            expected = "customers that may be skipped"
        assert reason is not None, (solver, variant)
        assert solver == "lkh" or expected in reason, (solver, variant)


# ----------------------------------------------------------------- what no named variant contains

POINTS = np.array(
    [(0.1, 0.5), (0.8, 0.1), (0.4, 0.9), (0.55, 0.35), (0.9, 0.75), (0.2, 0.15), (0.7, 0.6)]
)


def points(**fields: Any) -> Problem:
    return Problem.from_coordinates(POINTS, **fields)


def distances() -> np.ndarray:
    return np.asarray(np.linalg.norm(POINTS[:, None] - POINTS, axis=-1))


def with_gaps() -> np.ndarray:
    """Some arcs are missing, a way out of the depot and a way back to it among them."""
    matrix = distances()
    for origin, target in ((0, 1), (6, 0), (3, 6), (1, 4), (2, 4), (5, 3), (3, 5)):
        matrix[origin, target] = np.inf
    return matrix


MIXED = [0, 4, -5, 6, -3, 5, -4]
PAIRS = ((1, 2), (3, 4), (5, 6))
HOURS = [(0, 4), (0.5, 1.4), (1.0, 2.0), (0, 1.2), (0.8, 2.9), (0, 3), (1.2, 2.2)]
PENALTIES = [0, 0.3, 0.9, 0.2, 0.1, np.inf, 0.25]

LOADED: dict[str, Any] = {"demand": [0, 4, 5, 6, 3, 5, 4], "capacity": 12.0}
PAIRED: dict[str, Any] = {"demand": [0, -4, 4, -6, 6, -3, 3], "pairs": PAIRS, "capacity": 9.0}
SERVICE = [0, 0.1, 0.2, 0.1, 0.1, 0.3, 0.1]
WORTH = [0, 0.7, 0.3, 0.2, 0.9, 0.4, 0.5]
MOST = {"ortools", "pyvrp", "vroom"}
USERS: dict[str, tuple[Problem, set[str]]] = {
    # name -> the problem, and who must be able to take it
    "mixed loads, separate": (points(demand=MIXED, capacity=11.0, load_rule="separate"), MOST),
    "mixed loads, single": (points(demand=MIXED, capacity=11.0, load_rule="single"), {"ortools"}),
    "mixed loads, open, two depots, separate": (
        points(demand=[0, 4, -5, 6, 0, 5, -4], depots=(4, 0), capacity=9.0, open_routes=True),
        MOST,
    ),
    "backhauls last beside a neutral customer": (
        points(demand=[0, 4, -5, 6, 0, 5, -4], capacity=10.0, backhaul_last=True),
        {"ortools"},
    ),
    "backhauls last without a capacity": (points(demand=MIXED, backhaul_last=True), MOST),
    "missing arcs": (Problem.from_matrix(with_gaps(), **LOADED), MOST),
    "missing arcs in a tour": (Problem.from_matrix(with_gaps(), depots=()), MOST),
    "missing arcs with a length limit, open": (
        Problem.from_matrix(with_gaps(), max_length=1.3, open_routes=True),
        MOST,
    ),
    "durations of their own": (
        Problem.from_matrix(
            distances(), durations=1.5 * distances() ** 2, windows=HOURS, service=SERVICE
        ),
        MOST,
    ),
    "windows before time zero, a depot in the middle": (
        points(
            depots=(3,),
            windows=np.array([(0, 3), *HOURS[1:3], (0, 3.5), *HOURS[4:]]) - 2.0,
            service=[0.1] * 3 + [0.0] + [0.1] * 3,
        ),
        MOST,
    ),
    "open routes whose depot closes early": (
        points(windows=[(0, 0.2), *HOURS[1:]], open_routes=True),
        MOST,
    ),
    "a fleet limit": (points(**LOADED | {"capacity": 15.0}, max_routes=2), MOST),
    "a fleet limit for two depots together": (
        points(demand=[0, 4, 5, 6, 3, 5, 0], depots=(0, 6), capacity=12.0, max_routes=2),
        {"ortools"},
    ),
    "customers that may be skipped": (points(penalty=PENALTIES, **LOADED), {"ortools", "pyvrp"}),
    "pairs with windows and service": (
        points(
            **PAIRED,
            windows=[(0, 6), *[(0, 3)] * 3, (0.8, 3.5), (0.3, 4), (1.2, 4)],
            service=SERVICE,
        ),
        MOST,
    ),
    "pairs that may be skipped": (
        points(**PAIRED, penalty=[0, 0.4, 0.2, 0.6, 0.5, np.inf, np.inf]),
        {"ortools", "pyvrp"},
    ),
    "two vehicles collect prizes": (
        points(maximise_prize=True, max_length=1.5, max_routes=2, prize=[0, 7, 3, 2, 9, 4, 5]),
        MOST,
    ),
    "prizes with many digits": (
        points(
            **{"maximise_prize": True, "max_length": 1.9, "max_routes": 1},
            prize=[0, 0.71234567, *WORTH[2:]],
        ),
        {"ortools", "pyvrp"},
    ),
    "two vehicles and a minimum prize": (
        points(prize=WORTH, penalty=[0, 0.2, 0.2, 0.1, 0.1, 0.3, 0.1], min_prize=2.0, **LOADED),
        {"ortools"},
    ),
    "a minimum prize beyond all there is": (
        points(
            prize=[0, 0.7, 0.3, 0.0, 0.9, 0.4, 0.5],
            penalty=[0, 0.2, 0.2, 0.01, 0.1, 0.3, 0.1],
            **{"min_prize": 20.0, "max_routes": 1},
        ),
        {"ortools"},
    ),
    "one open route from a depot in the middle": (
        points(depots=(3,), max_routes=1, open_routes=True),
        MOST | {"lkh"},
    ),
    "one route": (points(max_routes=1), MOST | {"lkh"}),
    "fractions of a load": (
        points(demand=np.array(LOADED["demand"]) / 30, capacity=11 / 30),
        MOST,
    ),
    "lengths in the thousands": (
        Problem.from_coordinates(POINTS * 4321.0, **LOADED, max_length=9100.0),
        MOST,
    ),
    "rounded distances": (
        Problem.from_coordinates(np.rint(POINTS * 100), metric=None, **LOADED),
        MOST,
    ),
}
# In these some may be left out. All else is for OR-Tools with either search.
WITH_SKIPS = {
    "customers that may be skipped",
    "pairs that may be skipped",
    "two vehicles collect prizes",
    "prizes with many digits",
    "two vehicles and a minimum prize",
    "a minimum prize beyond all there is",
}


IN_SHORT = {"mixed loads, separate", "missing arcs", "pairs that may be skipped"}


@pytest.mark.parametrize(
    ("solver", "name"),
    [
        pytest.param(
            *(solver, name),
            marks=() if name in IN_SHORT and not solver.startswith("ortools") else pytest.mark.slow,
        )
        for solver in ALL
        for name in USERS
    ],
)
def test_what_users_may_ask(solver, name, optimum, make_tiny_oracle):
    problem, able = USERS[name]
    able = able if name in WITH_SKIPS else able | {"ortools-ils"}
    oracle = make_tiny_oracle(solver)
    assert (oracle.supports(problem) is None) == (solver in able)
    if solver in able:
        best = optimum(problem.replace(name=name))
        assert np.isfinite(best)
        result = oracle.solve(problem, SECONDS)
        assert result.solution.cost == pytest.approx(best, abs=1e-6 * problem.unit)
