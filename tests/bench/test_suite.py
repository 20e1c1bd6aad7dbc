"""``spacevrp bench suite``: days and gaps by hand, who takes part, runs, records."""

from __future__ import annotations

import argparse
import itertools
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spacevrp import native
from spacevrp.bench import paper, suite_methods
from spacevrp.bench.references import References, SetName
from spacevrp.bench.references_command import merge
from spacevrp.bench.suite import Run, _Lines, _lines_asked, better, line_of, measure
from spacevrp.bench.suite_days import KINDS, build_day
from spacevrp.bench.suite_methods import FROM_NETWORK, SEARCH, Found, Item, Setting, methods
from spacevrp.bench.suite_table import compare_solvers, table
from spacevrp.bench.suites import SUITES, Instance, read_file
from spacevrp.bench.tables import _head
from spacevrp.cli.main import main
from spacevrp.formats import write
from spacevrp.generators import generate
from spacevrp.oracles import ORACLES
from spacevrp.oracles.pyvrp import PyVrpOracle
from spacevrp.problems.distances import Metric
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS

compiled = pytest.mark.skipif(not native.available(), reason=native.MISSING)


# --------------------------------------------------------------------------------------------- days


@pytest.mark.parametrize("kind", KINDS)
def test_a_day_is_the_same_for_the_same_seed_and_no_other(kind: str) -> None:
    day, again, other = (build_day(kind, 16, 0, seed) for seed in (1, 1, 2))
    assert day.problem == again.problem
    assert day.problem != other.problem
    given = day.given or day.problem
    assert given is not None
    assert PyVrpOracle().supports(given) is None


def test_a_day_with_pins_starts_where_the_pins_end_and_costs_the_same_in_the_end() -> None:
    day = build_day("pinned", 30, 0, 1)
    assert day.given is not None
    assert day.problem is not None
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


def test_stops_of_an_overloaded_day_are_optional_for_others_and_compulsory_for_the_referee():
    day = build_day("overloaded", 30, 0, 1)
    assert day.given is not None
    unplanned = Solution.judged(day.given, [], [])
    assert unplanned.feasible
    assert Found(day.back(unplanned), 0.0).unserved == 30
    assert np.isfinite(day.given.penalty[1:]).all()


# --------------------------------------------------------------------------------------------- rows


def line(
    name: str,
    solver: str,
    cost: float | None,
    best: float | None = 10.0,
    *,
    seed: int = 1,
    limit: str = "1",
    unserved: int = 0,
) -> dict[str, Any]:
    told = {"suite": "pyvrp", "class": "CVRP", "instance": name, "solver": solver, "limit": limit}
    complete = cost is not None and not unserved
    came = {"cost": cost, "best": best, "complete": complete, "unserved": unserved, "note": ""}
    return {**told, **came, "seed": seed, "version": "1", "processor": "some", "seconds": 1.0}


def test_a_gap_is_that_of_the_mean_over_seeds_and_then_of_the_instances() -> None:
    held = [line("a", "spacevrp", 11.0), line("a", "spacevrp", 13.0, seed=2)]
    held += [line("b", "spacevrp", 10.0), line("b", "spacevrp", None, seed=2)]
    (row,) = table(held, fixed=True)
    assert row.gap == pytest.approx((20.0 + 0.0) / 2)
    assert (row.worst, row.solved, row.runs, row.instances) == (pytest.approx(20.0), 3, 4, 2)
    assert row.failed


def test_gaps_are_to_the_files_plan_or_to_the_best_of_all() -> None:
    held = [line("a", "spacevrp", 12.0, None), line("a", "pyvrp", 10.0, None)]
    ours, theirs = table(held, fixed=True)
    assert (ours.solver, ours.gap, theirs.gap) == ("spacevrp", pytest.approx(20.0), 0.0)
    below = [line("a", "spacevrp", 8.0), line("a", "pyvrp", 10.0)]
    assert [row.gap for row in table(below, fixed=True)] == [pytest.approx(-20.0), 0.0]
    assert [row.gap for row in table(below, fixed=False)] == [0.0, pytest.approx(25.0)]


def test_fewer_unserved_come_before_cost() -> None:
    held = [line("a", SEARCH, 20.0, None, unserved=1), line("b", SEARCH, 11.0)]
    held += [line("a", "pyvrp", 15.0, None, unserved=2), line("b", "pyvrp", None)]
    ours, theirs = table(held, fixed=False)
    assert (ours.solved, ours.unserved, ours.seconds) == (2, 1, 1.0)
    assert ours.gap == pytest.approx(5.0)  # 0 and 10 percent
    assert ours.worst == pytest.approx(10.0)
    assert (theirs.solved, theirs.unserved, theirs.gap) == (0, None, None)


def test_where_another_solver_wins_is_said_plainly() -> None:
    held = [line("a", SEARCH, 10.5), line("a", FROM_NETWORK, 10.3), line("a", "pyvrp", 10.1)]
    held += [line("a", SEARCH, 10.0, limit="5"), line("a", "pyvrp", 10.0, limit="5")]
    text = compare_solvers(table(held, fixed=False))
    assert "ahead in 0, level in 1 and behind in 1 cells" in text
    assert "| CVRP | 1 | 3.000 (spacevrp network + search) | 1.000 (pyvrp) |" in text


def test_a_network_that_is_slower_than_the_limit_leaves_no_time(monkeypatch) -> None:
    class Slow:
        def first_plans(self, problem: Problem, augmentations: int) -> list[Solution]:
            assert augmentations == 1
            time.sleep(0.02)
            return [Solution.judged(problem, [[0, 1, 2, 3, 4, 5, 0]])]

    monkeypatch.setattr(suite_methods, "_solver", lambda *loaded: Slow())
    (problem,) = generate("CVRP", 5, 1, 1)
    found = methods()[FROM_NETWORK].solve(Item(problem), Setting(0.01), 1)
    assert (found.plan, found.note) == (None, "the network takes longer")


def test_who_cannot_take_a_problem_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    (problem,) = generate("SPCTSP", 6, 1, 1)
    assert methods()[SEARCH].refuses(problem) is None
    assert methods()[FROM_NETWORK].refuses(problem) is not None
    assert methods()[SEARCH].refuses(problem.replace(max_length=9.0, variant=None)) is not None
    for name in ("lkh", "pyvrp"):
        monkeypatch.setattr(ORACLES[name], "is_installed", classmethod(lambda cls: False))
    (tour,) = generate("TSP", 6, 1, 1)
    assert "not installed" in (methods()["lkh"].refuses(tour) or "")
    assert methods()["pyvrp"].refuses(tour) is None  # what is required is an error, not left out


# ----------------------------------------------------------------------------------- who takes part


def test_a_size_for_all_makes_one_of_a_problem_with_several() -> None:
    args = argparse.Namespace(size=60, count=2)
    names = [one.name for one in SUITES["frontier"].instances(args)]
    assert [name for name in names if name.startswith("CVRP-")] == ["CVRP-n60-i0", "CVRP-n60-i1"]
    assert len(names) == len(set(names)) == 2 * 10  # eleven cases, CVRP twice
    usual = argparse.Namespace(size=None, count=1)
    assert len(list(SUITES["frontier"].instances(usual))) == 11


@pytest.mark.filterwarnings("ignore:.*distances have rounding")
@pytest.mark.parametrize("suite", ["vrptw", "pdptw"])
def test_seconds_a_customer_count_customers_and_not_lines(suite: str, tmp_path: Path) -> None:
    problem = Problem.from_coordinates(
        [[0, 0], [1, 2], [3, 4], [5, 6], [7, 8]],
        demand=[0, -1, 1, -2, 2] if suite == "pdptw" else [0, 1, 1, 2, 2],
        capacity=9,
        windows=[[0, 99]] * 5,
        pairs=[(1, 2), (3, 4)] if suite == "pdptw" else None,
    )
    (tmp_path / suite).mkdir()
    write(problem.replace(max_routes=3), tmp_path / suite / "R101.txt")
    args = argparse.Namespace(suite=suite, data=tmp_path)
    (found,) = SUITES[suite].instances(args)
    assert found.customers == len(found.load().problem.customers) == 4


def test_a_solver_that_is_named_is_no_stand_in() -> None:
    lines = SUITES["equal-time"].lines_of("CVRP")
    stand_in = [{SEARCH: None}, {FROM_NETWORK: None}, {"pyvrp": None, "ortools": "10"}]
    assert list(lines) == _lines_asked(lines, None) == stand_in
    found = [line for line in _lines_asked(lines, (SEARCH, "pyvrp", "ortools", "lkh")) if line]
    assert found == [{SEARCH: None}, {"pyvrp": None}, {"ortools": "10"}, {"lkh": None}]
    assert [line for line in _lines_asked(lines, ("*",)) if line] == stand_in


def test_solvers_of_which_none_can_take_part_are_an_error(monkeypatch, capsys) -> None:
    monkeypatch.setattr(ORACLES["lkh"], "is_installed", classmethod(lambda cls: False))
    command = ["bench", "suite", "frontier", "--only", "ATSP:100", "--solvers", "lkh"]
    assert main(command) == 2
    told = capsys.readouterr().err
    assert "lkh is left out on ATSP: it is not installed" in told
    assert "--solvers: expected one that can take these problems, received none" in told


def test_a_page_tells_no_number_of_cores_that_it_does_not_know() -> None:
    none = {"begin": None, "end": None}
    record = {"machine": {"processor": "Xeon"}, "versions": ["pyvrp 1"], "command": "spacevrp"}
    assert "Device: Xeon. Load" in _head("a suite", {**record, "load_average": none})
    record["machine"] = {"processor": "Xeon", "cores": 2}
    assert "Device: Xeon, 2 cores. Load" in _head("a suite", {**record, "load_average": none})


# ------------------------------------------------------------------------------------------ methods


def test_every_name_in_a_suite_is_a_method() -> None:
    lines = [
        line for suite in SUITES.values() for name in VARIANTS for line in suite.lines_of(name)
    ]
    assert {name for line in lines for name in line} <= set(methods())


def test_every_variant_has_an_exact_reference_and_one_of_the_papers_kind() -> None:
    for name in VARIANTS:
        (example,) = generate(name, 6, 1)
        for suite in ("references", "paper-oracles"):
            line = SUITES[suite].lines_of(name)[0]
            assert any(methods()[one].refuses(example) is None for one in line), (name, suite)


@compiled
def test_better_plans_are_results_to_merge(tmp_path: Path) -> None:
    (problem,) = generate("CVRP", 8, 1, 1)
    found = methods()[SEARCH].solve(Item(problem), Setting(0.02), 1)
    assert found.plan is not None
    run = Run("small", Instance("small", "a", 8, partial(Item, problem)), SEARCH, "0.02", 1)
    assert better(run, Item(problem, known=found.plan.cost), found) is None
    assert better(replace(run, suite="references"), Item(problem, known=1.0), found) is not None
    told = better(run, Item(problem, known=1e9), found)
    path = tmp_path / "better.jsonl"
    path.write_text(json.dumps(told) + "\n", encoding="utf-8")
    references = References()
    assert merge([path], references).improved == 1
    (best,) = references.best(SetName("CVRP", 8, 1), 1)
    assert best is not None
    assert (best.solver, best.cost) == ("spacevrp", found.plan.cost)


# ------------------------------------------------------------------------------------------ command


def save_square(folder: Path) -> Path:
    """The depot in a corner of a rectangle of 3 by 4, which is 14 around.

    The plan beside it costs 18: 6 to node 2 and back, 12 for the rest.
    """
    path = folder / "pyvrp" / "CVRP" / "square.vrp"
    path.parent.mkdir(parents=True)
    corners, nearest = [(0, 0), (3, 0), (3, 4), (0, 4)], Metric(rounding="nearest")
    write(Problem.from_coordinates(corners, demand=[0, 1, 1, 1], capacity=9, metric=nearest), path)
    routes = "Route #1: 1\nRoute #2: 2 3\nCost 18\n"
    path.with_suffix(".sol").write_text(routes, encoding="utf-8")
    return path


@compiled
@pytest.mark.parametrize(
    "solver",
    [
        *("spacevrp", "spacevrp network", "spacevrp paper", SEARCH),
        *("pyvrp", "pyvrp-oracle", "pyvrp from the first plan"),
    ],
)
def test_a_run_is_judged_by_the_referee(tmp_path: Path, solver: str) -> None:
    pytest.importorskip("pyvrp", reason="an extra")
    instance = Instance("CVRP", "square", 3, partial(read_file, save_square(tmp_path)))
    found = measure(Run("pyvrp", instance, solver, "0.1", 1))
    assert (found["cost"], found["best"], found["complete"]) == (14.0, 18.0, True)


def test_what_the_paper_prints_is_a_solver_of_its_own() -> None:
    """As if SPACE had paid so many percent more than the plan beside the file."""
    printed = methods()["SPACE as printed"]
    (problem,) = generate("CVRP", 5, 1, 1)
    known, other = (Item(problem, 100.0, path=Path(name)) for name in ("X-n502-k39.vrp", "x.vrp"))
    gap = paper.table("cvrplib")["X"]["method"]["SPACE"]["X-n502-k39"]["gap"]
    assert printed.solve(known, Setting(1.0), 1).cost == pytest.approx(100 + gap)
    assert printed.solve(other, Setting(1.0), 1).cost is None


@compiled
@pytest.mark.slow
def test_a_suite_goes_on_where_it_was_and_makes_tables_of_its_lines(tmp_path: Path) -> None:
    pytest.importorskip("pyvrp", reason="an extra")
    save_square(tmp_path)
    folder = tmp_path / "out"
    command = ["bench", "suite", "pyvrp", "--data", str(tmp_path), "--time", "0.1", "--seeds", "1"]
    command += ["--quiet", "-o", str(folder)]
    assert main(command) == 0
    stored = (folder / "pyvrp.jsonl").read_text(encoding="utf-8")
    assert len(stored.splitlines()) == 2
    assert main(command) == 0
    assert (folder / "pyvrp.jsonl").read_text(encoding="utf-8") == stored
    record = json.loads((folder / "pyvrp.json").read_text(encoding="utf-8"))
    assert [row["solver"] for row in record["rows"]] == ["spacevrp", "pyvrp"]
    assert all(row["gap"] == pytest.approx(-400 / 18) for row in record["rows"])


@compiled
def test_a_line_of_another_device_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    (problem,) = generate("CVRP", 8, 1, 1)
    instance = Instance("small", "a", 8, partial(Item, problem))
    here = Run("small", instance, "spacevrp", "1", 1)
    there = replace(here, device="cuda")
    lines = _Lines(argparse.Namespace(output=tmp_path, suite="small"))
    lines.keep(line_of(there, Item(problem), Found(None, 0.0)))
    assert lines.get(here) is None
    assert lines.get(there) is not None


@compiled
@pytest.mark.slow
def test_parts_of_a_suite_make_one_table_without_solving(tmp_path: Path) -> None:
    command = ["bench", "suite", "frontier", "--count", "1", "--time", "0.02", "--quiet"]
    kept = ""
    for name, solver in (("OP", "spacevrp"), ("ATSP", SEARCH)):
        part = tmp_path / name
        chosen = ["--only", f"{name}:100", "--solvers", solver, "-o", str(part)]
        assert main([*command, *chosen]) == 0
        kept += (part / "frontier.jsonl").read_text(encoding="utf-8")
    # A solver that is not installed here, on another machine.
    elsewhere = {"solver": "lkh", "version": "9.9", "processor": "elsewhere"}
    kept += json.dumps({**json.loads(kept.splitlines()[1]), **elsewhere}) + "\n"
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "frontier.jsonl").write_text(kept, encoding="utf-8")
    assert main([*command, "--stored", "-o", str(whole)]) == 0
    record = json.loads((whole / "frontier.json").read_text(encoding="utf-8"))
    found = [(row["problem"], row["size"], row["solver"]) for row in record["rows"]]
    assert found == [("ATSP", 100, SEARCH), ("ATSP", 100, "lkh"), ("OP", 100, "spacevrp")]
    assert record["rows"][1]["version"] == "9.9"
    assert "elsewhere" in record["machine"]["processor"]
    assert main([*command, "--stored"]) == 2  # of what?
