"""The referee against the world: best-known solutions of public instances."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge

pytestmark = pytest.mark.data


def read_pair(solution: Path) -> tuple[Problem, list[list[int]]]:
    from spacevrp.formats import read, read_solution

    problem = read(solution.with_suffix(".vrp"))
    assert isinstance(problem, Problem)
    (stated,) = read_solution(solution, problem).instances
    return problem, [list(route) for route in stated.routes]


@pytest.fixture(scope="module")
def solutions(data_folder: Path) -> list[Path]:
    files = sorted((data_folder / "cvrplib").glob("*.sol"))
    if not files:
        pytest.skip(f"no CVRPLIB solutions in {data_folder}")
    return files


def test_cvrplib_solutions_cost_what_their_files_say(solutions: list[Path]) -> None:
    wrong = []
    for path in solutions:
        problem, routes = read_pair(path)
        verdict = judge(problem, routes)
        # Taken from the text itself, so that a reader that invents a cost is found out.
        stated = re.search(r"^Cost\s+(\d+)", path.read_text(), flags=re.MULTILINE)
        assert stated is not None, path
        if verdict.cost != float(stated[1]) or not verdict.feasible:
            wrong.append((path.name, verdict.cost, stated[1], verdict.violations[:3]))
    assert wrong == []


def test_a_customer_dropped_from_a_cvrplib_solution_is_missed(solutions: list[Path]) -> None:
    for path in solutions[-3:]:
        problem, routes = read_pair(path)
        dropped = routes[0].pop(1)
        (violation,) = judge(problem, routes).violations
        assert (violation.code, violation.node) == ("visit", dropped)
