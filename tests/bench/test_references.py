"""``spacevrp bench references``: the file, who solves what, extending, merging, checking."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.bench import references, references_work
from spacevrp.bench.references import Reference, References, ReferenceSet, SetName
from spacevrp.bench.references_work import Job
from spacevrp.cli.main import main
from spacevrp.generators import generate
from spacevrp.oracles import ORACLES, SolverOracle
from spacevrp.oracles.base import Plan
from spacevrp.oracles.scaling import Routes
from spacevrp.problems.errors import FormatError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS

CVRP, TSP = SetName("CVRP", 6, 1), SetName("TSP", 6, 1)


class Turns(SolverOracle):
    """Everybody in turn, one a route, or two with more than 5 seconds; notes what it is asked."""

    name: ClassVar[str] = "pyvrp"
    package: ClassVar[str] = "numpy"
    module: ClassVar[str] = "numpy"
    asked: ClassVar[list[str]] = []
    stop_before: ClassVar[int | None] = None  # the question that Ctrl-C interrupts

    def supports(self, problem: Problem) -> str | None:
        return None if problem.depots else "a tour without a depot"

    def _search(
        self, problem: Problem, seconds: float, seed: int, start: Routes | None
    ) -> Plan | None:
        if len(self.asked) == self.stop_before:
            raise KeyboardInterrupt
        self.asked.append(problem.name)
        step = 2 if seconds > 5 else 1
        stops = list(problem.customers)
        routes = tuple((0, *stops[i : i + step], 0) for i in range(0, len(stops), step))
        return Plan(routes, judge(problem, routes).cost, 0.0)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> type[Turns]:
    monkeypatch.setitem(ORACLES, "pyvrp", Turns)
    monkeypatch.setattr(Turns, "asked", [])
    monkeypatch.setattr(Turns, "stop_before", None)
    return Turns


@pytest.fixture
def extend(turns: type[Turns], tmp_path: Path) -> Callable[..., int]:
    """The verb on CVRP with 6 customers, on a file of its own."""

    def call(*options: str) -> int:
        where = ["--file", str(tmp_path / "file.json"), "--size", "6", "--variants", "CVRP"]
        return main(["bench", "references", *where, *options])

    return call


def cost_in_turn(index: int, step: int = 1) -> float:
    """What the stub pays for an instance, from the distances."""
    (problem,) = generate("CVRP", 6, 1, 1, first=index)
    way = problem.distances.between
    total = 0.0
    for first in range(1, 7, step):
        route = [0, *range(first, first + step), 0]
        total += sum(way(a, b) for a, b in pairwise(route))
    return total


# ----------------------------------------------------------------------------------------- the file


def test_the_better_cost_is_kept() -> None:
    held = References()
    first, worse = Reference(3.0, "pyvrp", "1", 10.0), Reference(3.5, "ortools", "2", 20.0)
    better, equal = Reference(2.5, "lkh", "3", 5.0), Reference(2.5, "pyvrp", "1", 60.0)
    assert held.offer(CVRP, 1, first)
    assert not held.offer(CVRP, 1, worse, paper=worse)
    assert held.offer(CVRP, 1, better)
    assert not held.offer(CVRP, 1, equal)
    assert held.best(CVRP, 3) == [None, better, None]
    assert held.paper(CVRP, 3) == [None, worse, None]
    # Whoever was asked is remembered, with the most time.
    assert held.sets[CVRP].tried == {"pyvrp": [0, 60.0], "ortools": [0, 20.0], "lkh": [0, 5.0]}


def test_two_files_make_one_with_the_best_of_both() -> None:
    one, two = References(), References()
    one.offer(CVRP, 0, Reference(3.0, "pyvrp", "1", 10.0))
    one.offer(CVRP, 1, Reference(4.0, "pyvrp", "1", 10.0))
    two.offer(CVRP, 0, Reference(2.0, "lkh", "1", 20.0))
    two.offer(CVRP, 1, Reference(5.0, "pyvrp", "1", 20.0))
    two.offer(CVRP, 2, Reference(6.0, "pyvrp", "1", 20.0))
    one.take_in(two)
    assert [entry.cost for entry in one.best(CVRP, 3) if entry] == [2.0, 4.0, 6.0]
    assert one.seconds_tried(CVRP, 1, "pyvrp") == 20.0
    assert one.seconds_tried(CVRP, 0, "vroom") == one.seconds_tried(TSP, 0, "lkh") == 0.0


entries = st.none() | st.builds(
    Reference,
    st.floats(-1e6, 1e6),
    st.sampled_from(["lkh", "pyvrp"]),
    st.sampled_from(["1.0", "2.0"]),
    st.sampled_from([0.5, 10.0, 20.0]),
    st.sampled_from(["", "planned with expected prizes"]),
)
sets = st.builds(
    ReferenceSet,
    st.lists(entries, max_size=4),
    st.lists(entries, max_size=4),
    st.dictionaries(st.sampled_from(["lkh", "pyvrp"]), st.lists(st.sampled_from([0.0, 2.5, 10.0]))),
)
names = st.builds(
    SetName, st.sampled_from(sorted(VARIANTS)), st.sampled_from([20, 100]), st.just(1)
)


@given(st.dictionaries(names, sets, max_size=4))
def test_a_file_holds_every_bit(tmp_path_factory: pytest.TempPathFactory, held: dict) -> None:
    path = tmp_path_factory.getbasetemp() / "every-bit.json"
    path.unlink(missing_ok=True)
    file = References()
    file.sets = held
    file.save(path)
    again = References.load(path)
    assert again.sets == held
    assert again.text() == path.read_text()
    # A line a series of instances.
    assert len(path.read_text().splitlines()) == 6 + len(held) + (not held)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "TypeError"),
        ('{"solvers": [], "sets": [{"variant": "CVRB"}]}', "'CVRB' is not legal"),
        (
            '{"solvers": [["lkh", "1", ""]], "sets": [{"variant": "TSP", "size": 6, "seed": 1, '
            '"best": [[1.0, 7, 10]], "paper": [], "tried": {}}]}',
            "IndexError",
        ),
        (
            '{"solvers": [["lkh", "1", ""]], "sets": [{"variant": "TSP", "size": 6, "seed": 1, '
            '"best": [[NaN, 0, 10]], "paper": [], "tried": {}}]}',
            "a cost of nan",
        ),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=rf"some.json: expected a file of references: .*{fault}"):
        References.load(path)


def test_what_comes_with_the_package() -> None:
    held = references.packaged()
    known = {*ORACLES, "pyvrp-approximate", "spacevrp"}
    for name, each in held.sets.items():
        count = len(each.best)
        for best, of_paper in zip(held.best(name, count), held.paper(name, count), strict=True):
            assert best is None or best.solver in known
            if of_paper is not None:
                assert best.cost <= of_paper.cost
                assert of_paper.seconds == references.PAPER_SECONDS
                assert of_paper.solver == references_work.paper_solver(name.variant)
    # Nothing is known of other sizes and seeds, and of instances beyond.
    assert references.best("CVRP", 2, size=21) == [None, None]
    assert references.paper_kind(VARIANTS["CVRP"], 2, seed=77) == [None, None]
    assert references.best("CVRP", 100_000)[-1] is None


# --------------------------------------------------------------------------------------- who solves


def test_every_variant_has_its_solvers() -> None:
    for variant in VARIANTS:
        (example,) = generate(variant, 6, 1)
        for solver in ("auto", "paper"):
            for name in references_work.solvers_for(variant, solver):
                assert name == "pyvrp-approximate" or ORACLES[name]().supports(example) is None
    assert references_work.solvers_for("CVRP", "lkh") == ()


def test_all_variants_come_before_the_next_instance(turns: type[Turns]) -> None:
    held = References()
    held.offer(CVRP, 1, Reference(1.0, "pyvrp", "1", 10.0))
    other = SetName("OCVRP", 6, 1)
    jobs = references_work.plan([CVRP, other], 2, "pyvrp", 10.0, held)
    assert [(job.name, job.index) for job in jobs] == [(CVRP, 0), (other, 0), (other, 1)]
    # More time than before is something new, and so it is where one says so.
    assert len(references_work.plan([CVRP], 2, "pyvrp", 10.5, held)) == 2
    assert len(references_work.plan([CVRP], 2, "pyvrp", 10.0, held, again=True)) == 2
    # Of the paper's kind are only those with its time.
    held.offer(CVRP, 0, Reference(1.0, "pyvrp", "1", 60.0))
    assert len(references_work.plan([CVRP], 2, "paper", 20.0, held)) == 2


def test_a_solver_that_can_take_nothing_is_refused(turns: type[Turns]) -> None:
    with pytest.raises(UnsupportedError, match="pyvrp cannot model a tour without a depot"):
        references_work.plan([TSP], 2, "pyvrp", 10.0, References())


# ---------------------------------------------------------------------------------------- extending


def test_extending(extend: Callable[..., int], turns: type[Turns], tmp_path: Path) -> None:
    path, record = tmp_path / "file.json", tmp_path / "record.jsonl"
    options = ("--extend", "--count", "3", "--seconds", "4", "--record", str(record))
    assert extend(*options) == 0
    assert turns.asked == ["CVRP-n6-s1-i0", "CVRP-n6-s1-i1", "CVRP-n6-s1-i2"]
    held = References.load(path)
    version = Turns().version()
    for index, entry in enumerate(held.best(CVRP, 3)):
        assert entry.cost == pytest.approx(cost_in_turn(index), abs=1e-12)
        assert (entry.solver, entry.version, entry.seconds) == ("pyvrp", version, 4.0)
    assert held.paper(CVRP, 3) == [None] * 3
    # Nothing is done twice: neither what the file knows, nor what only the record does.
    assert extend(*options) == 0
    path.unlink()
    assert extend(*options) == 0
    assert len(turns.asked) == 3
    assert References.load(path).sets == held.sets


def test_the_papers_kind_has_the_papers_time(extend, turns, tmp_path):
    assert extend("--extend", "--count", "1", "--seconds", "4") == 0
    assert extend("--extend", "--count", "1", "--solver", "paper") == 0
    held = References.load(tmp_path / "file.json")
    (best,), (of_paper,) = held.best(CVRP, 1), held.paper(CVRP, 1)
    assert best == of_paper
    assert best.seconds == 20.0
    assert best.cost == pytest.approx(cost_in_turn(0, step=2), abs=1e-12)
    assert held.sets[CVRP].tried == {"pyvrp": [20.0]}


def test_an_interruption_loses_nothing(extend, turns, tmp_path, monkeypatch, capsys):
    record = tmp_path / "record.jsonl"
    options = ("--extend", "--count", "4", "--record", str(record))
    monkeypatch.setattr(turns, "stop_before", 2)
    assert extend(*options) == 130
    assert "interrupted; everything found is in" in capsys.readouterr().err
    assert len(record.read_text().splitlines()) == 2
    assert len(References.load(tmp_path / "file.json").sets[CVRP].known("best")) == 2
    monkeypatch.setattr(turns, "stop_before", None)
    assert extend(*options) == 0
    assert turns.asked == [f"CVRP-n6-s1-i{index}" for index in range(4)]


def test_nothing_is_begun_that_cannot_end_in_time(extend, turns, capsys):
    assert extend("--extend", "--count", "4", "--seconds", "1h", "--time", "59m") == 0
    assert turns.asked == []
    assert "0 computed" in (shown := capsys.readouterr().out)
    assert "4 left" in shown


@pytest.mark.slow
def test_sigterm_loses_nothing(tmp_path: Path) -> None:
    path, record = tmp_path / "file.json", tmp_path / "record.jsonl"
    command = [sys.executable, "-m", "spacevrp", "bench", "references", "--file", str(path)]
    command += ["--extend", "--variants", "TSP", "--size", "30", "--count", "1000"]
    command += ["--solver", "vroom"]
    command += ["--jobs", "2", "--record", str(record)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (record.exists() and record.stat().st_size > 2000):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGTERM)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    recorded = [json.loads(line) for line in record.read_text().splitlines()]
    best = References.load(path).sets[SetName("TSP", 30, 1)].best
    costs = {line["name"]: line["cost"] for line in recorded}
    assert {
        f"TSP-n30-s1-i{index}": entry.cost for index, entry in enumerate(best) if entry
    } == costs


@pytest.mark.parametrize("moment", ["append_line", "take_in"])
def test_a_signal_in_the_middle_of_a_result_loses_nothing(extend, tmp_path, monkeypatch, moment):
    """Before a result is recorded, or after that and before it is taken in."""
    known = getattr(references_work, moment)
    calls = []

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return known(*arguments)

    monkeypatch.setattr(references_work, moment, interrupted)
    record = tmp_path / "record.jsonl"
    with suppress(KeyboardInterrupt):
        extend("--extend", "--count", "3", "--record", str(record))
    recorded = {json.loads(line)["name"] for line in record.read_text().splitlines()}
    assert len(recorded) == 2
    (held,) = References.load(tmp_path / "file.json").sets.values()
    assert len([entry for entry in held.best if entry]) == 2


# ------------------------------------------------------------------------------------------ merging


def test_records_of_other_machines(extend, turns, tmp_path, capsys):
    record = tmp_path / "record.jsonl"
    assert extend("--extend", "--count", "3", "--record", str(record)) == 0
    here = References.load(tmp_path / "file.json")
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    # Here somebody knows better, there a cost is made up, and there a plan leaves somebody out.
    better = Reference(0.5, "lkh", "1", 1.0)
    file = References()
    file.offer(CVRP, 0, better)
    (tmp_path / "file.json").unlink()
    file.save(tmp_path / "file.json")
    lines[1]["cost"] -= 0.1
    lines[2]["routes"] = lines[2]["routes"][1:]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert extend("--merge", str(record)) == 1
    shown = capsys.readouterr()
    assert "1 results judged again, 0 better than before" in shown.out
    assert "CVRP-n6-s1-i1: expected the recorded cost" in shown.err
    assert "is not feasible" in shown.err
    assert References.load(tmp_path / "file.json").best(CVRP, 3) == [better, None, None]
    # Untouched, the record gives back what it was made beside.
    lines[1]["cost"] += 0.1
    lines = lines[:2]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "file.json").unlink()
    assert extend("--merge", str(record)) == 0
    assert References.load(tmp_path / "file.json").best(CVRP, 2) == here.best(CVRP, 2)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"name": "X-n101-k25"}, "such as CVRP-n100-s1-i0, received 'X-n101-k25'"),
        ({"name": "CVRX-n100-s1-i0"}, "received 'CVRX-n100-s1-i0'"),
        ({"name": "CVRP-n7-s1-i0", "budget": 10, "cost": 1.0}, "expected routes"),
        ({"name": "CVRP-n7-s1-i0", "cost": 1.0, "routes": []}, "expected budget"),
    ],
)
def test_a_record_of_something_else_is_refused(line, fault, extend, tmp_path, capsys):
    record = tmp_path / "record.jsonl"
    record.write_text(json.dumps({"key": "1", **line}) + "\n")
    assert extend("--merge", str(record)) == 2
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "file.json").exists()


# ----------------------------------------------------------------------------------------- checking


def test_more_time_by_solver(turns: type[Turns]) -> None:
    held = References()
    once = [cost_in_turn(index) for index in range(2)]
    twice = [cost_in_turn(index, step=2) for index in range(2)]
    for index in range(2):
        held.offer(CVRP, index, Reference(once[index], "pyvrp", "1", 2.0))
    jobs = references_work.plan_check([CVRP], held, 5.0, 7)
    assert jobs == [Job(CVRP, 0, "pyvrp", 10.0), Job(CVRP, 1, "pyvrp", 10.0)]
    (family,), report = references_work.compare(held, jobs)
    expected = [100 * (b - a) / a for a, b in zip(once, twice, strict=True)]
    assert (family.mean, family.least) == pytest.approx((sum(expected) / 2, min(expected)))
    assert (family.solver, family.distances, family.better) == ("pyvrp", "symmetric", 2)
    assert (report.computed, report.improved) == (2, 2)
    # What is better is kept.
    assert [entry.cost for entry in held.best(CVRP, 2) if entry] == pytest.approx(twice)


def test_the_table(extend, tmp_path, capsys):
    held = References()
    held.offer(CVRP, 0, Reference(2.0, "lkh", "1", 5.0))
    paper = Reference(3.0, "pyvrp", "1", 20.0)
    held.offer(CVRP, 0, paper, paper=paper)
    held.offer(CVRP, 1, Reference(5.0, "pyvrp", "1", 20.0))
    held.save(tmp_path / "file.json")
    assert extend() == 0
    columns, row = capsys.readouterr().out.splitlines()
    assert columns.split()[:3] == ["variant", "found", "by"]
    # Mean of 2 and 5; of the paper's kind one, 50% above the best.
    shown = " ".join(row.split())
    assert shown == "CVRP 1 lkh 5 s, 1 pyvrp 20 s 2 3.50000 1 3.00000 50.000"
