"""``spacevrp bench search``: days, ranks and rows by hand, who takes part, records."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp import native
from spacevrp.bench.references import References
from spacevrp.bench.search_command import Entry, Row, compare_solvers, rows_of
from spacevrp.bench.search_days import KINDS, build_day
from spacevrp.bench.search_methods import (
    FROM_NETWORK,
    SEARCH,
    TIMED,
    Found,
    Item,
    Method,
    Network,
    make_methods,
)
from spacevrp.bench.search_suites import SUITES, Case
from spacevrp.bench.solving import Outcome
from spacevrp.bench.tables import Job
from spacevrp.cli.main import main
from spacevrp.generators import generate
from spacevrp.oracles import ORACLES
from spacevrp.oracles.pyvrp import PyVrpOracle
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

compiled = pytest.mark.skipif(not native.available(), reason=native.MISSING)


# --------------------------------------------------------------------------------------------- days


@pytest.mark.parametrize("kind", KINDS)
def test_a_day_is_the_same_for_the_same_seed_and_no_other(kind: str) -> None:
    day, again, other = (build_day(kind, 16, 0, seed) for seed in (1, 1, 2))
    assert day.problem == again.problem
    assert day.problem != other.problem
    assert PyVrpOracle().supports(day.given or day.problem) is None


def test_streets_are_the_fastest_ways_and_fleets_get_smaller() -> None:
    day = build_day("streets", 40, 1, 1).problem
    seconds = day.durations.matrix()
    through = (seconds[:, :, None] + seconds[None]).min(axis=1)
    assert (seconds <= through + 1.5).all()  # each way was rounded
    assert (seconds != seconds.T).mean() > 0.5
    assert np.isfinite(day.distances.matrix()).all()
    assert [build_day("streets", 40, n, 1).problem.max_routes for n in (0, 5, 6)] == [4, 2, 4]


def test_a_day_with_pins_starts_where_the_pins_end_and_costs_the_same_in_the_end() -> None:
    day = build_day("pinned", 30, 0, 1)
    assert day.given is not None
    pins = {node for terms in day.problem.fleet for node in terms.pinned}
    assert len(day.given.customers) == len(day.problem.customers) - len(pins)
    # Every customer who is left with the vehicles at the depot, one after the other.
    last = day.given.fleet[-1]
    stops = list(day.given.customers)
    found = Solution.judged(day.given, [[last.start, *stops, last.start]], [last.number])
    back = day.back(found)
    prefixes = [
        [terms.start, *terms.pinned, terms.start] for terms in day.problem.fleet if terms.pinned
    ]
    metres = day.problem.distances.matrix()
    driven = sum(metres[a, b] for route in prefixes for a, b in itertools.pairwise(route))
    assert back.cost == pytest.approx(found.cost + driven)
    assert {v.code for v in back.violations} <= {"time", "window", "load", "capacity"}
    assert not any(v.code == "visit" for v in back.violations)


def test_stops_of_an_overloaded_day_are_optional_for_others_and_compulsory_for_the_referee():
    day = build_day("overloaded", 30, 0, 1)
    assert day.given is not None
    nobody = Solution.judged(day.given, [], [])
    assert nobody.feasible
    assert Found(day.back(nobody), 0.0).unserved == 30
    assert np.isfinite(day.given.penalty[1:]).all()


# --------------------------------------------------------------------------------------------- rows


def method(name: str) -> Method:
    return Method(
        name, name.startswith("spacevrp"), lambda: "1", lambda: None, lambda p: None, _never
    )


def _never(items: Any, seconds: Any) -> list[Found]:
    raise AssertionError


def outcome(costs: tuple[float | None, ...], unserved: tuple[int | None, ...]) -> Outcome:
    return Outcome(costs, 0.0, 2.0, 0.0, violations=0, unserved=unserved, iterations=7.0)


def measured(case: Case, *rows: tuple[str, float, Outcome]) -> list[Row]:
    entries = [
        (Entry(case, name, method(name), limit, Job("", {}, lambda: rows[0][2])), found)
        for name, limit, found in rows
    ]
    return rows_of(case, entries)


def case_of(*known: float | None) -> Case:
    items = [Item(problem, known=cost) for problem, cost in zip(_problems(), known, strict=False)]
    return Case("CVRP", 5, {}, lambda: items, len(items))


def _problems() -> list[Problem]:
    return generate("CVRP", 5, 3, 1)


def test_fewer_unserved_come_before_cost() -> None:
    case = case_of(None, 10.0)
    ours, theirs = measured(
        case,
        (SEARCH, 1.0, outcome((20.0, 11.0), (1, 0))),
        ("pyvrp", 1.0, outcome((15.0, None), (2, None))),
    )
    assert (ours.solved, ours.unserved, ours.seconds, ours.iterations) == (2, 1, 1.0, 7.0)
    assert ours.gap == pytest.approx(5.0)  # 0 and 10 percent
    assert ours.worst == pytest.approx(10.0)
    assert (theirs.solved, theirs.unserved, theirs.gap) == (0, None, None)
    assert theirs.cells()[5:9] == ["0", "-", "15.0000", "-"]


def test_where_another_solver_wins_is_said_plainly() -> None:
    rows = measured(
        case_of(10.0),
        (SEARCH, 1.0, outcome((10.5,), (0,))),
        (FROM_NETWORK, 1.0, outcome((10.3,), (0,))),
        ("pyvrp", 1.0, outcome((10.1,), (0,))),
        (SEARCH, 5.0, outcome((10.0,), (0,))),
        ("pyvrp", 5.0, outcome((10.0,), (0,))),
    )
    text = compare_solvers(rows)
    assert "ahead in 0, level in 1 and behind in 1 cells" in text
    assert "| CVRP 5 | 1 | 3.000 (spacevrp network + search) | 1.000 (pyvrp) |" in text
    assert "| pyvrp | 5 | 1 | 0.000 | 0.000 | 0 | 0 | 2.0 |" in text


# --------------------------------------------------------------------------------------------- ways


class _SlowNetwork(Network):
    def __init__(self) -> None:
        self.asked = 0

    def plan(self, item: Item) -> tuple[Solution, float]:
        self.asked += 1
        return Solution.judged(item.problem, [[0, 1, 2, 3, 4, 5, 0]]), 9.0

    def solve(self, items: Any, seconds: Any) -> list[Found]:
        raise AssertionError


def test_a_network_that_is_slower_than_the_limit_is_asked_once() -> None:
    network = _SlowNetwork()
    methods = make_methods(network, whole=True, threads=1, seed=0)
    found = methods[FROM_NETWORK].solve([Item(problem) for problem in _problems()], 1.0)
    assert network.asked == 1
    assert [(one.solution, one.seconds) for one in found] == [(None, 9.0)] * 3
    assert all(one.note for one in found)


def test_no_search_begins_with_a_plan_that_has_reacted_to_the_real_prizes() -> None:
    methods = make_methods(_SlowNetwork(), whole=True, threads=1, seed=0)
    (problem,) = generate("SPCTSP", 6, 1, 1)
    assert methods[SEARCH].refuses(problem) is None
    assert methods[FROM_NETWORK].refuses(problem) is not None
    assert methods[SEARCH].refuses(problem.replace(max_length=9.0, variant=None)) is not None


def test_lkh_is_left_out_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ORACLES["lkh"], "is_installed", classmethod(lambda cls: False))
    monkeypatch.setattr(ORACLES["pyvrp"], "is_installed", classmethod(lambda cls: False))
    methods = make_methods(_SlowNetwork(), whole=True, threads=1, seed=0)
    (tour,) = generate("TSP", 6, 1, 1)
    assert "not installed" in (methods["lkh"].refuses(tour) or "")
    assert methods["pyvrp"].refuses(tour) is None  # what is required is an error, and not left out


# ------------------------------------------------------------------------------------------ command


@compiled
def test_a_suite_writes_its_record(tmp_path: Path, tiny_weights: Path) -> None:
    command = ["bench", "search", "variants", "--count", "1", "--seconds", "0.02", "--quiet"]
    command += ["--only", "TSP,CVRPB", "--weights", str(tiny_weights), "-o", str(tmp_path)]
    assert main(command) == 0
    record = json.loads((tmp_path / "variants.json").read_text(encoding="utf-8"))
    assert [row["problem"] for row in record["rows"]] == ["TSP", "CVRPB"]
    assert all(row["solved"] == 1 and row["solver"] == SEARCH for row in record["rows"])
    assert len(record["search_sha256"]) == 64
    assert "## Means over the cases" in (tmp_path / "variants.md").read_text(encoding="utf-8")
    assert main(command) == 0  # from what is kept


@compiled
def test_parts_of_a_suite_make_one_table_without_solving(tmp_path, tiny_weights, monkeypatch):
    pytest.importorskip("matplotlib", reason="plots are an extra")
    command = ["bench", "search", "frontier", "--count", "1", "--seconds", "0.02", "--quiet"]
    command += ["--weights", str(tiny_weights), "--device", "cpu"]
    kept = ""
    for name, solver in (("OP", TIMED), ("ATSP", SEARCH)):
        part = tmp_path / name
        chosen = ["--only", f"{name}:100", "--solvers", solver, "-o", str(part)]
        assert main([*command, *chosen]) == 0
        kept += (part / "frontier.solved.jsonl").read_text(encoding="utf-8")
    # Another machine measured it, and another build of the search.
    lines = [json.loads(line) for line in kept.splitlines()]
    for line in lines:
        line["key"] |= {"device": "elsewhere, 1 threads", "search_sha256": "0" * 64}
        line["key"]["solver_version"] = "9.9"
    # A solver that is not installed here.
    rival = {**lines[1]["key"], "solver": "lkh", "solver_version": "3.0"}
    lines.append({"key": rival, "outcome": lines[1]["outcome"]})
    monkeypatch.setattr(ORACLES["lkh"], "is_installed", classmethod(lambda cls: False))
    whole = tmp_path / "whole"
    whole.mkdir()
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (whole / "frontier.solved.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.setattr("spacevrp.bench.search_command._measure", _never)
    assert main([*command, "--stored", "-o", str(whole)]) == 0
    record = json.loads((whole / "frontier.json").read_text(encoding="utf-8"))
    found = [(row["problem"], row["solver"], row["version"]) for row in record["rows"]]
    assert found == [("ATSP", SEARCH, "9.9"), ("ATSP", "lkh", "3.0"), ("OP", TIMED, "9.9")]
    assert all(row["peak_gib"] > 0 for row in record["rows"])
    assert record["machine"] == {"processor": "elsewhere, 1 threads"}
    assert record["measured_search_sha256"] == ["0" * 64]
    assert (whole / "frontier.png").read_bytes()[:4] == b"\x89PNG"
    assert main([*command, "--stored"]) == 2  # of what?


@compiled
def test_better_plans_are_results_to_merge(tmp_path: Path) -> None:
    from spacevrp.bench.references import SetName
    from spacevrp.bench.references_work import merge
    from spacevrp.bench.search_command import keep_better

    (problem,) = generate("CVRP", 8, 1, 1)
    methods = make_methods(_SlowNetwork(), whole=True, threads=1, seed=0)
    (found,) = methods[SEARCH].solve([Item(problem)], 0.02)
    assert found.solution is not None
    path = tmp_path / "better.jsonl"
    keep_better(Item(problem, known=found.solution.cost), found, methods[SEARCH], 0.02, path)
    assert not path.exists()  # no better than what is known
    keep_better(Item(problem, known=1e9), found, methods[SEARCH], 0.02, path)
    references = References()
    assert merge([path], references).improved == 1
    (best,) = references.best(SetName("CVRP", 8, 1), 1)
    assert best is not None
    assert (best.solver, best.cost) == ("spacevrp", found.solution.cost)


def test_every_name_in_a_suite_is_a_way() -> None:
    methods = make_methods(_SlowNetwork(), whole=True, threads=1, seed=0)
    for suite in SUITES.values():
        for line in suite.lines:
            for entry in line:
                assert (entry if isinstance(entry, str) else entry[0]) in methods
