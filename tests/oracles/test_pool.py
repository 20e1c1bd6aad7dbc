"""Many instances, several processes, and going on after an interruption."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from spacevrp.generators import generate
from spacevrp.oracles import ORACLES, Failure, OracleResult, SolverOracle, solve_many
from spacevrp.oracles.base import OracleDisagreement, Plan
from spacevrp.oracles.pool import read_record, task_key
from spacevrp.oracles.scaling import Routes
from spacevrp.problems.errors import FormatError, SolutionError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge


class Counting(SolverOracle):
    """Visits everybody in turn, counts how often it is asked, and is wrong about instance 2."""

    name: ClassVar[str] = "pyvrp"
    package: ClassVar[str] = "numpy"
    module: ClassVar[str] = "numpy"
    asked: ClassVar[list[str]] = []

    def supports(self, problem: Problem) -> str | None:
        return None

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        self.asked.append(problem.name)
        if problem.name.endswith("i1"):
            return None
        routes = tuple((0, node, 0) for node in problem.customers)
        return Plan(routes, judge(problem, routes).cost + problem.name.endswith("i2"), 0.0)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setitem(ORACLES, "pyvrp", Counting)
    Counting.asked.clear()
    return Counting.asked


def test_every_rule_is_part_of_the_name_of_an_instance() -> None:
    matrix = [[0.0 if a == b else 1.0 for a in range(5)] for b in range(5)]
    plain = Problem.from_matrix(matrix, demand=[0, 1, 1, 1, 1], capacity=9)
    changes: list[dict[str, Any]] = [
        {},
        {"release": [None, 1, 2, 3, 4]},
        {"release": [None, 1, 2, 3, 5]},
        {"setup": [0, 1, 1, 1, 1]},
        {"windows": [(0, 9), [(0, 2), (3, 9)], *[(0, 9)] * 3]},
        {"travel_times": [(0, matrix), (5, matrix)]},
        {"travel_times": [(0, matrix), (6, matrix)]},
        {"pickup": [0, 1, 1, 1, 1]},
        {"groups": [(1, 2)]},
        {"same_route": [(1, 2)]},
        {"different_routes": [(1, 2)]},
        {"order": [(1, 2)]},
        {"priority": [0, 1, 2, 3, 4]},
        {"objective": ("vehicles", "cost")},
        {"vehicles": [{"max_stops": 2}]},
    ]
    keys = {task_key(plain.replace(**change), "pyvrp", 1.0, 0, None) for change in changes}
    assert len(keys) == len(changes)


def test_a_disagreement_ends_the_run_and_what_was_found_stays(counting, tmp_path) -> None:
    record = tmp_path / "record.jsonl"
    with pytest.raises(OracleDisagreement, match="pyvrp claims a cost of"):
        solve_many(generate("CVRP", 5, 4, seed=2), "pyvrp", record=record)
    assert len(counting) == 3
    assert len(read_record(record)) == 1


def test_what_is_recorded_is_not_computed_again(counting: list[str], tmp_path: Path) -> None:
    problems = generate("CVRP", 5, 2, seed=2)
    record = tmp_path / "record.jsonl"
    first = solve_many(problems[:1], "pyvrp", record=record)
    everything = solve_many(problems, "pyvrp", record=record)
    assert counting == [problem.name for problem in problems]
    assert everything[0] == first[0]
    assert isinstance(everything[1], Failure)
    assert "found no plan" in everything[1].message
    # Only the failure is tried again.
    assert solve_many(problems, "pyvrp", record=record) == everything
    assert counting[2:] == [problems[1].name]


def test_another_time_seed_or_start_is_another_result(counting: list[str], tmp_path: Path) -> None:
    problems = generate("CVRP", 5, 1, seed=2)
    start = [[0, node, 0] for node in problems[0].customers]
    record = tmp_path / "record.jsonl"
    for _ in range(2):
        solve_many(problems, "pyvrp", 1.0, record=record)
        solve_many(problems, "pyvrp", 2.0, record=record)
        solve_many(problems, "pyvrp", 2.0, seed=3, record=record)
        solve_many(problems, "pyvrp", 2.0, seed=3, starts=[start], record=record)
        solve_many([problems[0].replace(max_routes=9)], "pyvrp", record=record)
    assert len(counting) == 5
    assert len(record.read_text().splitlines()) == 5


def test_a_file_that_is_no_record_is_refused(counting: list[str], tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    record.write_text("something\nelse\n")
    with pytest.raises(FormatError, match=r"record.jsonl: line 1: expected a result"):
        solve_many(generate("CVRP", 5, 1), "pyvrp", record=record)


def test_a_record_is_judged_again(counting: list[str], tmp_path: Path) -> None:
    problems = generate("CVRP", 5, 1, seed=2)
    record = tmp_path / "record.jsonl"
    solve_many(problems, "pyvrp", record=record)
    record.write_text(record.read_text().replace("[0, 5, 0]", "[0, 4, 0]"))
    with pytest.raises(SolutionError, match=r"recorded plan .* is not feasible: .* again"):
        solve_many(problems, "pyvrp", record=record)


def test_refusals_come_before_the_work(make_tiny_oracle: Callable[[str], SolverOracle]) -> None:
    make_tiny_oracle("vroom")
    problems = [*generate("CVRP", 5, 1), *generate("CVRPB", 5, 1)]
    with pytest.raises(UnsupportedError, match="vroom cannot model mixed pickups"):
        solve_many(problems, "vroom", 60.0)


def test_several_processes(make_tiny_oracle: Callable[[str], SolverOracle], tmp_path: Path) -> None:
    for name in ("vroom", "lkh"):
        make_tiny_oracle(name)
    problems = [*generate("CVRP", 5, 2), *generate("OP", 5, 1)]
    record = tmp_path / "record.jsonl"
    results = solve_many(problems, "vroom", 5.0, jobs=2, record=record)
    for problem, result in zip(problems, results, strict=True):
        assert isinstance(result, OracleResult)
        assert result.solution.feasible
        assert judge(problem, result.solution.routes).cost == result.solution.cost
    assert len(read_record(record)) == 3
