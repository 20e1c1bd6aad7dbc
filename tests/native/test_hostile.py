"""Hostile inputs never end the process: an error, or a plan that is one."""

from __future__ import annotations

import contextlib
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from moves import sample
from random_problems import build

from fuzz import campaign
from spacevrp import native
from spacevrp.problems.problem import Problem
from spacevrp.search.model import model_arguments, native_model


def arguments(**changes: Any) -> dict[str, Any]:
    problem = build({"capacity", "windows"}, 1)
    return model_arguments(problem) | changes


# Rules of whole routes that are none.
RULES: tuple[dict[str, Any], ...] = (
    *({"max_stops": [-1]}, {"max_stops": [1, 2]}, {"max_stops": [2**40]}),
    *({"latest_start": [np.nan]}, {"overtime_cost": [-1.0]}, {"duration_cost": [np.inf]}),
    *({"slowness": [0.5]}, {"service": [np.full(7, -1.0)]}, {"service": [np.zeros(6)]}),
    *({"breaks": [[(1.0, [])]]}, {"breaks": [[(-1.0, [(0.0, 1.0)])]]}),
    *({"breaks": [[(1.0, [(1.0, 0.0)])]]}, {"breaks": [[(1.0, [(np.nan, 0.0)])]]}),
    *({"reload_depots": [[99]]}, {"max_reloads": [-1]}, {"on_board": [[99]]}),
    *({"closed": [(99, 0.0, 1.0)]}, {"closed": [(1, 1.0, 0.0)]}),
    *({"release": np.full(7, np.nan)}, {"release": np.full(7, np.inf)}),
    *({"setup": np.full(7, -1.0)}, {"setup": np.zeros(6)}),
    *({"travel_times": [(0.0, np.zeros((7, 6)))]},),
    *({"travel_times": [(1.0, np.zeros((7, 7))), (0.0, np.zeros((7, 7)))]},),
    *({"travel_times": [(np.nan, np.zeros((7, 7)))]}, {"x": [1]}),
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, np.full(7, np.nan)) for name in ("opening", "service", "penalty", "prize")),
        ("service", np.full(7, -1.0)),
        ("prize", np.full(7, np.inf)),
        ("penalty", np.full(7, -1.0)),
        ("demand", np.full((7, 1), np.nan)),
        ("demand", np.zeros((7, 0))),
        ("demand", np.zeros((6, 1))),
        ("distances", np.full((7, 7), -1.0)),
        ("distances", np.full((7, 7), np.nan)),
        ("distances", np.zeros((7, 6))),
        ("durations", np.zeros((6, 7))),
        ("coordinates", np.zeros((7, 3))),
        ("customers", np.array([1, 1], dtype=np.int32)),
        ("customers", np.array([-1], dtype=np.int32)),
        ("customers", np.array([7], dtype=np.int32)),
        ("start", np.array([9], dtype=np.int32)),
        ("start", np.array([], dtype=np.int32)),
        ("end", np.array([-2], dtype=np.int32)),
        ("pinned", [[99]]),
        ("pinned", [[-1]]),
        ("partner", np.full(7, 99, dtype=np.int32)),
        ("partner", np.full(7, 1, dtype=np.int32)),
        ("load_rule", "x"),
        ("geometry", "flat"),
        ("rounding", "x"),
        ("min_prize", np.nan),
        ("time_slack", -1.0),
        ("time_slack", np.inf),
        *(("rules", rules) for rules in RULES),
    ],
)
def test_what_makes_no_model_is_refused(name: str, value: Any) -> None:
    assert native.core is not None
    given = arguments()
    if name in ("coordinates", "geometry", "rounding"):
        given |= {"distances": None, "coordinates": np.zeros((7, 2))}
    native.core.Model(**given)
    with pytest.raises(ValueError, match=r"expected .*, received"):
        native.core.Model(**given | {name: value})


def test_no_distances_at_all_is_refused() -> None:
    assert native.core is not None
    with pytest.raises(ValueError, match="coordinates"):
        native.core.Model(**arguments(distances=None, coordinates=None))


@pytest.mark.parametrize(
    "routes",
    [[[99]], [[-1]], [[0, 0]], [[2**31 - 1]], [[1, 1]], [[1], [1]]],
)
def test_bad_routes_are_refused_or_taken_apart(routes: list[list[int]]) -> None:
    problem = build({"capacity"}, 1)
    model = native_model(problem).model
    types = [0] * len(routes)
    with contextlib.suppress(ValueError):
        assert not model.evaluate(routes, types)["feasible"]
    try:
        found = model.search(routes, types, iterations=10)
    except ValueError:
        return
    stops = [node for route in found.routes for node in route]
    assert sorted(stops) == sorted(problem.customers)


@pytest.mark.parametrize("types", [[], [-1], [5], [0, 0], [2**31 - 1]])
def test_bad_types_are_refused(types: list[int]) -> None:
    model = native_model(build({"capacity"}, 1)).model
    with pytest.raises(ValueError, match="type"):
        model.evaluate([[1]], types)


def test_calls_without_an_end_or_a_method_are_refused() -> None:
    assert native.core is not None
    model = native_model(build({"capacity"}, 1)).model
    with pytest.raises(ValueError, match="iterations"):
        model.search([], [], seed=1)
    with pytest.raises(ValueError, match="savings"):
        model.construct("magic", 1)
    for models, message in (([None], "received None"), ([model, model], "as many")):
        with pytest.raises(ValueError, match=message):
            native.core.search_many(models, [([], [])], seeds=[1], iterations=1)
    assert native.core.search_many([], [], seeds=[], iterations=1, threads=-5) == []


@pytest.mark.slow
def test_some_hostile_inputs() -> None:
    """The campaign of 100,000 is run by hand: python tests/native/fuzz.py 100000."""
    ends, bad = campaign(1500)
    assert bad == []
    assert ends["refused"] > 100
    assert ends["plan"] > 100


@pytest.mark.slow
def test_some_random_moves() -> None:
    """The million is run by hand under sanitizers: python tests/native/moves.py 1000000."""
    assert sum(sample(seed) for seed in range(60)) > 5000


# ------------------------------------------------------------------------- what the campaign found


def test_one_customer_has_no_neighbours() -> None:
    """Without a matrix the neighbours come from a tree; there are none to look for here."""
    assert native.core is not None
    problem = build({"capacity"}, 1, 1)
    model = native.core.Model(**model_arguments(problem) | {"distances": None})
    assert model.search([], [], iterations=5).routes == [list(problem.customers)]


def test_the_loads_of_a_pair_must_be_opposite() -> None:
    assert native.core is not None
    problem = build({"pairs", "capacity", "whole"}, 1)
    given = model_arguments(problem)
    for change in (0.5, -0.5):
        demand = given["demand"].copy()
        demand[problem.pairs[0][1]] += change
        with pytest.raises(ValueError, match="demand: expected a pickup"):
            native.core.Model(**given | {"demand": demand})


@pytest.mark.parametrize("arc", [1e9, 1e15, 1e300])
def test_a_huge_arc_does_not_send_the_descent_round_in_circles(arc: float) -> None:
    """Differences of sums of arcs lose the small ones next to it."""
    assert native.core is not None
    for seed in range(10):
        given = model_arguments(build({"matrix"}, seed, 7))
        matrix = given["distances"].copy()
        matrix[2, 1] = matrix[5, 3] = arc
        model = native.core.Model(**given | {"distances": matrix})
        found = model.search(*model.construct("insertion", seed), seed=seed, iterations=50)
        assert found.cost == pytest.approx(model.evaluate(found.routes, found.types)["cost"])
        assert found.cost < 1000


def test_missing_arcs_do_not_stop_the_search() -> None:
    """The best of all tours is found where one arc in four is missing."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        matrix = rng.integers(1, 50, (8, 8)).astype(float)
        matrix[rng.random((8, 8)) < 0.25] = np.inf
        matrix[np.arange(8), (np.arange(8) + 1) % 8] = 49.0  # one tour there is
        tours = np.array(list(permutations(range(1, 8))))  # (5040, 7)
        ends = np.zeros((len(tours), 1), dtype=int)
        stops = np.hstack([ends, tours, ends])
        best = matrix[stops[:, :-1], stops[:, 1:]].sum(axis=1).min()
        native_tour = native_model(Problem.from_matrix(matrix, depots=()))
        found = native_tour.model.search([[*range(1, 8)]], [0], seed=1, iterations=3000)
        assert found.cost == best
