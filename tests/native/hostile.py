"""Hostile arguments for the compiled module, each named by a number."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from random_problems import FEATURES, RULES, build, random_plan
from related_problems import ride

from spacevrp import native
from spacevrp.problems.distances import Distances
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.search.model import Plan, model_arguments, native_model

NUMBERS = (math.nan, math.inf, -math.inf, -1.0, 0.0, 1.0, 1e300, -1e300, 1.7e308, 5e-324, 1e-300)
WHOLES = (-(2**31), -2, -1, 0, 1, 2, 7, 100, 2**31 - 1)
OTHERS: tuple[Any, ...] = (None, "x", "", 3, -1, 1.5, True, [], [[]], {}, b"1", object(), [None])
# What may be raised; anything else, and above all the end of the process, is a fault.
REFUSALS = (ValueError, TypeError)

Arguments = dict[str, Any]


def sound(rng: np.random.Generator) -> tuple[Problem, Arguments]:
    """A problem as it should be, and what the model is told of it."""
    count = int(rng.integers(0, 12))
    features = set(rng.choice(FEATURES, count, replace=False).tolist())
    if rng.random() < 0.4:
        features |= {"vehicles", *rng.choice(RULES, int(rng.integers(1, 5)), replace=False)}
    make = ride if rng.random() < 0.2 else build
    problem = make(features, int(rng.integers(10**6)), int(rng.integers(1, 9)))
    return problem, model_arguments(problem)


def extreme(rng: np.random.Generator) -> Problem | None:
    """A problem that is valid, with numbers that are hard to bear; None where it is not valid."""
    problem, _ = sound(rng)
    scale = float(rng.choice([1e-300, 1e-150, 1e-12, 1e9, 1e50, 1e90, 1e98]))
    changes: Arguments = {}
    words = ["prize", "penalty", "demand", "service", "windows", "max_length", "capacity"]
    for word in rng.choice(words, 2, replace=False):
        if word in ("demand", "capacity"):
            changes["demand"] = problem.loads * (scale if word == "demand" else 1.0)
            changes["capacity"] = [one * scale for one in problem.capacities]
        else:
            changes[str(word)] = getattr(problem, str(word)) * scale
    if problem.kinds_of_load == 1 and "demand" in changes:
        changes |= {"demand": changes["demand"][:, 0], "capacity": changes["capacity"][0]}
    try:
        if rng.random() < 0.5:
            changes["distances"] = Distances(matrix=problem.distances.matrix() * scale)
        return problem.replace(variant=None, **changes)
    except ProblemError:
        return None


def damaged(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    """The same with one to four faults."""
    worse = dict(arguments)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        name = str(rng.choice(sorted(worse)))
        worse[name] = _worse(worse[name], rng)
    if rng.random() < 0.02:
        worse.pop(str(rng.choice(sorted(worse))))
    if "opening" in arguments and rng.random() < 0.1:
        size = len(np.atleast_1d(arguments["opening"]))
        shape = (int(rng.integers(0, size + 2)), int(rng.integers(0, 4)))
        worse["candidates"] = rng.choice(WHOLES, shape).astype(np.int32)
    return worse


def _worse(value: Any, rng: np.random.Generator) -> Any:
    kind = rng.random()
    if kind < 0.05:
        return OTHERS[int(rng.integers(len(OTHERS)))]
    if isinstance(value, np.ndarray):
        return _worse_array(value, rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return int(rng.choice(WHOLES))
    if isinstance(value, float):
        return float(rng.choice(NUMBERS))
    if isinstance(value, str):
        words = ["single", "separate", "pairs", "euclidean", "geo", "nearest", "up", "", "x" * 1000]
        return str(rng.choice(words))
    if isinstance(value, dict) and value:  # the rules of whole routes
        key = str(rng.choice(sorted(value)))
        return value | {key: _worse_entry(value[key], rng)}
    if isinstance(value, list):  # the pinned customers
        worse = [list(one) for one in value if isinstance(one, list)]
        if worse and rng.random() < 0.8:
            row = int(rng.integers(len(worse)))
            worse[row] += rng.choice(WHOLES, int(rng.integers(1, 4))).tolist()
        else:
            worse += [[0]]
        return worse
    return OTHERS[int(rng.integers(len(OTHERS)))]


def _worse_entry(value: Any, rng: np.random.Generator) -> Any:
    """One entry of a nest of lists, or how many there are."""
    if not isinstance(value, list | tuple) or not value or rng.random() < 0.1:
        return value if isinstance(value, dict) else _worse(value, rng)
    if rng.random() < 0.1:
        return [*value, value[0]]
    worse = list(value)
    place = int(rng.integers(len(worse)))
    if isinstance(worse[place], list | tuple | np.ndarray) or rng.random() < 0.1:
        worse[place] = _worse_entry(worse[place], rng)
    else:
        worse[place] = [float(rng.choice(NUMBERS)), int(rng.choice(WHOLES))][int(rng.integers(2))]
    return type(value)(worse)


def _worse_array(value: np.ndarray, rng: np.random.Generator) -> Any:
    kind = int(rng.integers(10))
    if kind == 0:
        return value[:-1]
    if kind == 1:
        return value[:0]
    if kind == 2:
        return np.concatenate([value, value])
    if kind == 3:
        return value[..., None]
    if kind == 4:
        with contextlib.suppress(OverflowError, ValueError):  # objects that no such number can hold
            return value.astype(rng.choice(["f2", "f4", "i1", "i8", "u8", "?", "c16", "O"]))
    if kind == 5:
        return np.asfortranarray(np.tile(value, 2))[..., ::2]
    worse = value.copy()
    if worse.size:
        places = rng.integers(0, worse.size, int(rng.integers(1, 4)))
        if worse.dtype.kind == "f":
            worse.flat[places] = rng.choice(NUMBERS, len(places))
        elif worse.dtype == np.uint8:
            worse.flat[places] = rng.integers(0, 256, len(places))
        else:
            worse.flat[places] = rng.choice(WHOLES, len(places))
    return worse


def hostile_plan(arguments: Arguments, rng: np.random.Generator) -> tuple[Any, Any]:
    """Routes and types: some sound, some of any kind."""
    size = len(np.atleast_1d(np.asarray(arguments.get("opening"), dtype=object)))
    if rng.random() < 0.1:
        return OTHERS[int(rng.integers(len(OTHERS)))], OTHERS[int(rng.integers(len(OTHERS)))]
    routes: Any = [
        rng.integers(-1, size + 1, int(rng.integers(0, 6))).tolist()
        for _ in range(int(rng.integers(0, 5)))
    ]
    if routes and rng.random() < 0.2:
        entries = [2**31 - 1, 2**31, 2**63, -(2**63), -(10**30), 1.5, None, "1"]
        routes[0].append(entries[int(rng.integers(8))])
    types: Any = rng.integers(-1, 3, max(len(routes) + int(rng.integers(-1, 2)), 0)).tolist()
    return routes, types


# ----------------------------------------------------------------------------- what is done with it


def structure(plan: Plan, arguments: Arguments) -> None:
    """Every stop is a customer, at most once; every type exists."""
    routes, types = plan
    assert len(routes) == len(types)
    stops = [node for route in routes for node in route]
    assert len(set(stops)) == len(stops), "a customer twice"
    known = set(np.asarray(arguments["customers"]).tolist())
    assert set(stops) <= known, "a stop that is no customer"
    kinds = len(np.asarray(arguments["start"]))
    assert all(0 <= number < kinds for number in types), "a type that does not exist"


def attack(seed: int) -> str:
    """One hostile input through every function; how it ended.

    Raises
    ------
    AssertionError
        For a plan that is none.
    """
    rng = np.random.default_rng(seed)
    kind = rng.random()
    if kind < 0.15:
        return _attack_problem(extreme(rng), rng)
    problem, arguments = sound(rng)
    if kind < 0.85:
        arguments = damaged(arguments, rng)
    assert native.core is not None, native.MISSING
    try:
        model = native.core.Model(**arguments)
    except REFUSALS:
        return "refused"
    good = rng.random() < 0.5
    routes, types = random_plan(problem, rng) if good else hostile_plan(arguments, rng)
    told = "plan"
    number = int(rng.integers(0, 2**63))

    def tried(call: Callable[[], Any]) -> Any:
        nonlocal told
        try:
            return call()
        except REFUSALS:
            told = "plan refused"
            return None

    tried(lambda: model.evaluate(routes, types))
    tried(lambda: model.sample_moves(routes, types, number, 10))
    found = tried(lambda: model.search(routes, types, seed=number, iterations=30))
    if found is not None:
        _legal(model, found.routes, found.types, arguments)
    for method in ("savings", "insertion", "regret"):
        built = tried(lambda method=method: model.construct(method, number))
        if built is not None:
            structure(built, arguments)
            again = model.search(*built, seed=number, iterations=30, threads=2)
            _legal(model, again.routes, again.types, arguments)
            staged = {"seed": number, "iterations": 60, "tuning": {"staged": 1.0}}
            crossed = tried(
                lambda built=built, staged=staged: model.search(
                    *built, **staged, others=[(routes, types), built]
                )
            )
            if crossed is not None:
                _legal(model, crossed.routes, crossed.types, arguments)
            for _, _, moved, kinds in model.sample_moves(again.routes, again.types, number, 10):
                structure((moved, kinds), arguments)
    _attack_options(model, routes, types, rng)
    return told


_OPTIONS = ("seconds", "no_gain", "seed", "threads", "callback", "should_stop", "others", "nothing")
_TUNING = (
    *("hot", "cold", "removed", "longest_string", "blink", "places", "descent", "granularity"),
    *("staged",),
)


def _attack_options(model: Any, routes: Any, types: Any, rng: np.random.Generator) -> None:
    """Options of any kind and value; the search ends after five iterations at the latest."""
    other = OTHERS[int(rng.integers(len(OTHERS)))]
    value = [other, float(rng.choice(NUMBERS)), int(rng.choice(WHOLES))][int(rng.integers(3))]
    many = [model] * int(rng.integers(0, 3))
    starts = [(routes, types)] * int(rng.integers(0, 3))
    calls: list[Callable[[], Any]] = [
        lambda: model.construct(other, 1),
        lambda: model.sample_moves(routes, types, 1, value) if value != 2**31 - 1 else None,
        lambda: model.search(routes, types, seed=1),
        lambda: model.search(routes, types, iterations=5, **{str(rng.choice(_OPTIONS)): value}),
        lambda: model.search([], [], iterations=5, tuning={str(rng.choice(_TUNING)): value}),
        lambda: native.core.search_many(
            many, starts, seeds=[1] * len(many), threads=int(rng.integers(-1, 4)), iterations=5
        ),
    ]
    for call in calls:
        with contextlib.suppress(*REFUSALS):
            call()


def _legal(model: Any, routes: Any, types: Any, arguments: Arguments) -> None:
    structure((routes, types), arguments)
    told = model.evaluate(routes, types)
    pinned = any(arguments["pinned"])
    if not pinned and not arguments["min_prize"] > 0:
        assert told["feasible"], "a plan that breaks a rule by its own account"


def _attack_problem(problem: Problem | None, rng: np.random.Generator) -> str:
    """A valid problem with extreme numbers: the referee must accept what the search returns."""
    if problem is None:
        return "no problem"
    try:
        one = native_model(problem)
    except REFUSALS:
        return "refused"
    found = one.model.search(*random_plan(problem, rng), seed=1, iterations=30)
    structure((found.routes, found.types), model_arguments(problem))
    if one.model.evaluate(found.routes, found.types)["feasible"]:
        plan = one.solution(found.routes, found.types)
        assert plan.is_legal, [violation.message for violation in plan.violations]
    return "refereed"
