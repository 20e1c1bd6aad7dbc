"""Moves: the change of cost that the search predicts, and the rules that it keeps."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import check_moves, faults
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import build, problems, random_plan

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.search import model as search_model
from spacevrp.search import native_model
from spacevrp.search.model import Native, Plan


def some_plans(native: Native, seed: int) -> list[Plan]:
    """Plans that keep the rules: constructed, searched, and by chance."""
    model, rng = native.model, np.random.default_rng(seed)
    built = model.construct("insertion", seed)
    found = model.search(*built, seed=seed, iterations=20)
    plans = [built, (found.routes, found.types)]
    for plan in plans:
        # What is pinned may be impossible to finish, and little prize may be in reach.
        assert set(faults(native.solution(*plan))) <= {"prize", "pin"}, (native.problem, plan)
    plans.append(random_plan(native.problem, rng))
    # A part of a good plan, so that there are customers to insert.
    plans.append((found.routes[1:], found.types[1:]))
    return [plan for plan in plans if not faults(native.solution(*plan))]


@pytest.mark.parametrize("name", VARIANTS)
def test_moves_of_every_variant(name: str) -> None:
    (problem,) = generate(name, 12, 1, seed=4)
    native = native_model(problem.as_expected())
    names: set[str] = set()
    for seed, plan in enumerate(some_plans(native, 1)):
        names |= check_moves(native, plan, seed, 40)
    assert names


@settings(max_examples=80)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_moves_of_random_problems(problem: Problem, seed: int) -> None:
    native = native_model(problem)
    for plan in some_plans(native, seed):
        check_moves(native, plan, seed, 20)


@pytest.mark.slow
@settings(max_examples=1200)
@given(problem=problems, seed=st.integers(0, 10**6))
def test_moves_of_many_random_problems(problem: Problem, seed: int) -> None:
    test_moves_of_random_problems.hypothesis.inner_test(problem, seed)


# Features that bind together, each often enough to be broken by a search that forgets it.
FOCUS = (
    {"capacity", "backhaul", "separate"},
    {"kinds", "backhaul", "separate"},
    {"capacity", "backhaul", "backhaul_last", "open", "depots"},
    {"vehicles", "skills"},
    {"vehicles", "capacities", "capacity", "lengths"},
    {"vehicles", "windows", "shifts", "ends"},
    {"vehicles", "pins", "windows", "service"},
    {"vehicles", "counts", "fixed", "max_routes", "capacity"},
    {"vehicles", "unit_costs", "fixed", "capacities", "capacity"},
    {"vehicles", "unit_costs", "depots", "matrix", "optional"},
    {"vehicles", "max_durations", "windows", "service"},
    {"vehicles", "max_durations", "windows", "whole", "shifts", "ends"},
    {"vehicles", "max_durations", "durations", "matrix"},
    {"vehicles", "max_durations", "pairs", "windows", "unit_costs"},
    {"windows", "service"},
    {"windows", "durations", "matrix"},
    {"pairs", "capacity", "windows"},
    {"pairs", "capacity", "vehicles", "skills", "lengths"},
    {"pairs", "capacity", "optional", "max_routes"},
    {"prize", "optional", "capacity"},
    {"maximise", "windows"},
    {"missing", "capacity", "length"},
)


@pytest.mark.parametrize("by_points", [False, True], ids=["matrix", "points"])
@pytest.mark.parametrize("features", FOCUS, ids=lambda features: "+".join(sorted(features)))
def test_moves_where_rules_bind(
    monkeypatch: pytest.MonkeyPatch, features: set[str], by_points: bool
) -> None:
    """With a matrix all places are tried; without one those next to near neighbours."""
    if by_points:
        monkeypatch.setattr(search_model, "MATRIX_NODES", 0)
    names: set[str] = set()
    for seed in range(2):
        native = native_model(build(features, seed, 14))
        for plan in some_plans(native, seed):
            names |= check_moves(native, plan, seed, 30)
    assert names


def test_every_kind_of_move_is_sampled() -> None:
    """With 40 customers and room in the vehicles there is a legal move of each kind."""
    names: set[str] = set()
    for variant in ("CVRP", "ACVRP", "PDCVRP", "PCTSP"):
        (problem,) = generate(variant, 40, 1, seed=2)
        native = native_model(problem)
        for seed, plan in enumerate(some_plans(native, 3)):
            names |= check_moves(native, plan, seed, 200)
    assert len(names) >= 6, names
    assert "or_three_opt" in names, names


@pytest.mark.parametrize("ends", [(4, 9, 15), (0, 8, 12), (5, 11, 16)])
@pytest.mark.parametrize("depots", [(), (0,)], ids=["tour", "route"])
def test_parts_of_a_one_way_ring_change_places(
    ends: tuple[int, int, int], depots: tuple[int, ...]
) -> None:
    """Each arc of the ring costs 1, all others 50: three arcs must be replaced at once."""
    matrix = np.full((17, 17), 50.0)
    matrix[np.arange(17), (np.arange(17) + 1) % 17] = 1.0
    native = native_model(Problem.from_matrix(matrix, depots=depots))
    first, second, third = ends
    ring = list(range(1, 17))
    start = [*ring[:first], *ring[second:third], *ring[first:second], *ring[third:]]
    assert native.model.evaluate([start], [0])["cost"] == 14.0 + 3 * 50.0
    for iterations in (0, 50):  # the descent alone, then with those within iterations
        found = native.model.search([start], [0], iterations=iterations)
        assert (found.routes, found.cost) == ([ring], 17.0)
