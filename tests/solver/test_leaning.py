"""Views that lean, through the solver: every path, and what stays as it is."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from spacevrp.bench.tables import add_weights_options
from spacevrp.cli import solve as solve_verb
from spacevrp.generators import generate
from spacevrp.model import LEAN, SpaceModel
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver

# What is looked at here is the search of the model.
ALONE: dict[str, Any] = {"replan": 0, "improve": False}


@pytest.fixture(scope="module")
def upright(model: SpaceModel) -> Solver:
    return Solver(model, "cpu", lean=0)


@pytest.fixture(scope="module")
def leaning(model: SpaceModel) -> Solver:
    """Far: what a random model wants is mostly what is near."""
    return Solver(model, "cpu", lean=50)


def fleets() -> list[Problem]:
    plain = generate("CVRP", 12, 4)
    vehicles = [Vehicle(count=3, capacity=30), Vehicle(count=6, capacity=20)]
    return [problem.replace(vehicles=vehicles, variant=None) for problem in plain]


SETS: dict[str, tuple[list[Problem], dict[str, Any]]] = {
    "usual": (generate("CVRP", 30, 4), {"starts": 1}),
    "large": (generate("OCVRPTW", 15, 4), {"candidates": 5}),
    "fleets": (fleets(), {}),
}


@pytest.mark.parametrize("name", ["usual", "large", pytest.param("fleets", marks=pytest.mark.slow)])
def test_other_views_find_other_plans_and_the_first_is_as_it_was(
    leaning: Solver, upright: Solver, name: str
) -> None:
    problems, options = SETS[name]
    first = leaning.solve(problems, augment=1, **options, **ALONE)
    assert first == upright.solve(problems, augment=1, **options, **ALONE)
    plans = leaning.solve(problems, augment=6, **options, **ALONE)
    assert plans != upright.solve(problems, augment=6, **options, **ALONE)
    for plan, before in zip(plans, first, strict=True):
        assert plan.feasible
        assert plan.cost <= before.cost


@pytest.mark.slow
def test_leaning_views_are_the_same_however_the_work_is_cut(leaning: Solver) -> None:
    problems, options = SETS["usual"]
    options = {"augment": 6, **options, **ALONE}
    together = leaning.solve(problems, **options)
    assert leaning.solve(problems, batch_memory=1, **options) == together
    assert [leaning.solve(problem, **options) for problem in problems] == together


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "far"])
def test_how_far_views_lean_is_checked(model: SpaceModel, value: Any) -> None:
    with pytest.raises(SpacevrpError, match="lean: expected a number"):
        Solver(model, "cpu", lean=value)


def test_without_a_number_the_protocol_decides(model: SpaceModel) -> None:
    parser = argparse.ArgumentParser()
    add_weights_options(parser)
    assert parser.parse_args([]).lean is None
    verb = argparse.ArgumentParser()
    solve_verb.add_arguments(verb)
    assert verb.parse_args(["file.json"]).lean is None
    problems, options = SETS["usual"]
    options = {"augment": 3, **options, **ALONE}
    usual = Solver(model, "cpu", lean=LEAN).solve(problems, **options)
    assert Solver(model, "cpu").solve(problems, **options) == usual
