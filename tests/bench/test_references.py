"""``spacevrp bench references``: the file, whose costs they are, merging; stored outcomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.bench import references, references_command, suite
from spacevrp.bench.references import Reference, References, ReferenceSet, SetName
from spacevrp.bench.runner import Outcome, Store
from spacevrp.bench.sets import compare
from spacevrp.cli.main import main
from spacevrp.generators import generate
from spacevrp.oracles import ORACLES, OracleResult
from spacevrp.oracles.pool import as_line
from spacevrp.problems.errors import FormatError
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS

CVRP = SetName("CVRP", 6, 1)


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., int]:
    """The verb on CVRP with 6 customers, on a file of its own."""

    def call(*options: str) -> int:
        where = ["--file", str(tmp_path / "file.json"), "--size", "6", "--only", "CVRP", "--quiet"]
        return main(["bench", "references", *where, *options])

    return call


def cost_in_turn(index: int) -> float:
    """Everybody in turn, one a route, from the distances."""
    (problem,) = generate("CVRP", 6, 1, 1, first=index)
    way = problem.distances.between
    return sum(way(a, b) for n in range(1, 7) for a, b in pairwise([0, n, 0]))


def result_line(index: int, seconds: float = 4.0) -> dict[str, Any]:
    """The same as a line of a record."""
    (problem,) = generate("CVRP", 6, 1, 1, first=index)
    plan = Solution.judged(problem, [(0, n, 0) for n in range(1, 7)])
    result = OracleResult(plan, "pyvrp", "1", seconds, plan.cost)
    return as_line(f"{index}-{seconds:g}", problem, seconds, result)


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


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


entries = st.none() | st.builds(
    Reference,
    st.floats(-1e6, 1e6),
    st.sampled_from(["lkh", "pyvrp"]),
    st.sampled_from(["1.0", "2.0"]),
    st.sampled_from([0.5, 10.0, 20.0]),
    st.sampled_from(["", "planned with expected prizes"]),
)
sets = st.builds(ReferenceSet, st.lists(entries, max_size=4), st.lists(entries, max_size=4))
names = st.builds(
    SetName, st.sampled_from(sorted(VARIANTS)), st.sampled_from([20, 100]), st.just(1)
)


@given(st.dictionaries(names, sets, max_size=4))
def test_a_file_holds_every_bit(tmp_path_factory: pytest.TempPathFactory, held: dict) -> None:
    path = tmp_path_factory.getbasetemp() / "every-bit.json"
    file = References()
    file.sets = held
    file.save(path)
    again = References.load(path)
    assert again.sets == held
    assert again.text() == path.read_text()


SERIES = '{"solvers": [["lkh", "1", ""]], "sets": [{"variant": "TSP", "size": 6, "seed": 1, '


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "TypeError"),
        ('{"solvers": [], "sets": [{"variant": "CVRB"}]}', "'CVRB' is not legal"),
        (SERIES + '"best": [[1.0, 7, 10]], "paper": []}]}', "IndexError"),
        (SERIES + '"best": [[NaN, 0, 10]], "paper": []}]}', "a cost of nan"),
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
                assert of_paper.solver == references_command.paper_solver(name.variant)
    # Nothing is known of other sizes and seeds, and of instances beyond.
    assert references.best("CVRP", 2, size=21) == [None, None]
    assert references.paper_kind("CVRP", 2, seed=77) == [None, None]
    assert references.best("CVRP", 100_000)[-1] is None


# --------------------------------------------------------------------------- extending, merging


def test_records_of_other_machines(command, tmp_path, capsys):
    file, record = tmp_path / "file.json", tmp_path / "record.jsonl"
    lines = [result_line(index) for index in range(3)]
    # Here somebody knows better, there a cost is made up, and there a plan leaves somebody out.
    better = Reference(0.5, "lkh", "1", 1.0)
    held = References()
    held.offer(CVRP, 0, better)
    held.save(file)
    lines[1]["cost"] -= 0.1
    lines[2]["routes"] = lines[2]["routes"][1:]
    assert command("--merge", str(write_lines(record, lines))) == 1
    shown = capsys.readouterr()
    assert "1 results judged again, 0 better than before" in shown.out
    assert "CVRP-n6-s1-i1: expected the recorded cost" in shown.err
    assert "is not feasible" in shown.err
    assert References.load(file).best(CVRP, 3) == [better, None, None]


def test_the_papers_kind_has_the_papers_time(command, tmp_path):
    lines = [result_line(0, seconds=4), result_line(1, seconds=20)]
    assert command("--merge", str(write_lines(tmp_path / "record.jsonl", lines))) == 0
    held = References.load(tmp_path / "file.json")
    costs = [cost_in_turn(0), cost_in_turn(1)]
    assert [entry.cost for entry in held.best(CVRP, 2)] == pytest.approx(costs, abs=1e-12)
    none, of_paper = held.paper(CVRP, 2)
    assert none is None
    assert of_paper == held.best(CVRP, 2)[1] == Reference(of_paper.cost, "pyvrp", "1", 20.0)


def test_extending_runs_a_suite_and_takes_in_its_plans(command, tmp_path, monkeypatch):
    def run(args: Any) -> int:
        assert (args.suite, args.only, args.size) == ("paper-oracles", ("CVRP",), 6)
        write_lines(args.output / suite.BETTER, [result_line(0, seconds=20)])
        return 0

    monkeypatch.setattr(suite, "run", run)
    assert command("--extend", "paper", "-o", str(tmp_path)) == 0
    (of_paper,) = References.load(tmp_path / "file.json").paper(CVRP, 1)
    assert of_paper.cost == pytest.approx(cost_in_turn(0), abs=1e-12)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"name": "X-n101-k25"}, "such as CVRP-n100-s1-i0, received 'X-n101-k25'"),
        ({"name": "CVRX-n100-s1-i0"}, "received 'CVRX-n100-s1-i0'"),
        ({"name": "CVRP-n7-s1-i0", "budget": 10, "cost": 1.0}, "expected routes"),
        ({"name": "CVRP-n7-s1-i0", "cost": 1.0, "routes": []}, "expected budget"),
    ],
)
def test_a_record_of_something_else_is_refused(line, fault, command, tmp_path, capsys):
    record = write_lines(tmp_path / "record.jsonl", [{"key": "1", **line}])
    assert command("--merge", str(record)) == 2
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "file.json").exists()


def test_the_table(command, tmp_path, capsys):
    held = References()
    held.offer(CVRP, 0, Reference(2.0, "lkh", "1", 5.0))
    paper = Reference(3.0, "pyvrp", "1", 20.0)
    held.offer(CVRP, 0, paper, paper=paper)
    held.offer(CVRP, 1, Reference(5.0, "pyvrp", "1", 20.0))
    held.save(tmp_path / "file.json")
    assert command() == 0
    _, row = capsys.readouterr().out.splitlines()
    # Mean of 2 and 5; of the paper's kind one, 50% above the best.
    shown = " ".join(row.split())
    assert shown == "CVRP 1 lkh 5 s, 1 pyvrp 20 s 2 3.50000 1 3.00000 50.000"
    assert command("--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {"CVRP": 2}


def outcome(*costs: float | None, **other: object) -> Outcome:
    return Outcome(costs, 1.0, 2.0, 3.0, violations=0, **other)  # type: ignore[arg-type]


def reference(cost: float, solver: str = "pyvrp") -> Reference:
    return Reference(cost, solver, "1", 20.0)


# ------------------------------------------------------------------------------------- comparison


def test_only_instances_with_a_plan_and_a_reference_are_compared() -> None:
    held = [reference(10.0), None, reference(5.0, "lkh"), reference(20.0)]
    found = compare([11.0, 7.0, None, 30.0], held)
    # 10% and 50%; the second has no reference, the third no plan.
    assert found.gap == pytest.approx(30.0)
    assert (found.instances, found.cost, found.solvers) == (2, 15.0, "pyvrp")


# ------------------------------------------------------------------------------------------- store


@given(
    st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=5),
    st.floats(0, 1e6),
)
def test_numbers_come_back_bit_by_bit(tmp_path_factory, costs, seconds):
    path = tmp_path_factory.mktemp("store") / "x.solved.jsonl"
    kept = Outcome(tuple(costs), seconds, 0.0, 0.0, violations=0)
    Store(path).keep({"a": 1}, kept)
    assert Store(path).get({"a": 1}) == kept


def test_a_line_cut_off_at_the_end_is_left_out_and_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x.solved.jsonl"
    store = Store(path)
    for number in (1, 2):
        store.keep({"n": number}, outcome(float(number)))
    path.write_bytes(path.read_bytes()[:-20])
    cut = Store(path)
    assert cut.get({"n": 1}) == outcome(1.0)
    assert cut.get({"n": 2}) is None
    cut.keep({"n": 3}, outcome(3.0))
    whole = Store(path)
    assert (whole.get({"n": 1}), whole.get({"n": 3})) == (outcome(1.0), outcome(3.0))
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("line", ["[]", "{}", '{"key": {}, "outcome": {"costs": []}}', "x"])
def test_a_line_of_something_else_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.solved.jsonl"
    good = json.dumps({"key": {}, "outcome": None})
    path.write_text(f"{line}\n{good}\n")
    with pytest.raises(FormatError, match=r"x.solved.jsonl: line 1: expected the outcome of a set"):
        Store(path)
