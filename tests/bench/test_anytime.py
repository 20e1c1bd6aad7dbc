"""``spacevrp bench anytime``: rows and winners by hand, records, the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spacevrp import anytime as room
from spacevrp.bench import anytime, references
from spacevrp.bench.anytime_table import Row, describe_winners, winner
from spacevrp.bench.references import Reference
from spacevrp.bench.sets import generated
from spacevrp.bench.solving import Outcome
from spacevrp.bench.tables import Job
from spacevrp.cli.main import main
from spacevrp.oracles import ORACLES
from spacevrp.problems.errors import InfeasibleError
from spacevrp.problems.variants import parse_variant


def row(solver: str, gap: float | None, seconds: float = 1.0, **more: Any) -> Row:
    solved = 0 if gap is None else 4
    facts: dict[str, Any] = {
        "problem": "CVRP",
        "size": 100,
        "limit": 1.0,
        "version": "1",
        "instances": 4,
        "solved": solved,
        "cost": gap,
        "violations": 0,
        "others": 0.0,
    }
    return Row(solver=solver, gap=gap, seconds=seconds, **(facts | more))


def test_the_best_is_whoever_solved_all_in_time() -> None:
    late, unsolved = row("pyvrp", 0.0, seconds=1.2), row("vroom", 0.1, solved=3)
    ours, theirs = row("spacevrp", 2.0, seconds=1.1), row("ortools", 3.0)
    assert winner([late, unsolved, ours, theirs]) is ours
    equal = row("ortools", 2.0)
    assert winner([ours, equal]) is equal  # of equals a classical solver
    assert winner([late, row("vroom", None)]) is None


def test_who_wins_is_said_plainly() -> None:
    rows = [
        row("spacevrp", 2.0),
        row("spacevrp + improvement", 1.5),
        row("pyvrp", 0.5),
        row("spacevrp", 3.0, seconds=1.0, limit=0.1),
        row("pyvrp", 4.0, seconds=0.1, limit=0.1),
        row("spacevrp", 9.0, size=500),
        row("pyvrp", None, size=500),
        row("spacevrp", 9.0, size=500, limit=0.1),
    ]
    text = describe_winners(rows)
    assert "| CVRP | 100 | pyvrp 4.00 (late) | pyvrp 0.50 (1.50) |" in text
    assert "| CVRP | 500 | nobody | spacevrp 9.00 |" in text
    assert text.endswith("Best in so many of 4 cells: pyvrp 2, nobody 1, spacevrp 1.\n")


def test_what_is_not_solved_is_a_dash() -> None:
    assert row("vroom", None).cells()[5:8] == ["0", "-", "-"]


def test_the_best_known_is_the_best_of_all_and_of_the_references(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = [None, Reference(5.0, "pyvrp", "1", 20.0)]
    monkeypatch.setattr(references, "best", lambda name, count, size, seed: held)
    source = generated(parse_variant("CVRP"), 6, 2, 1)
    outcomes = [
        Outcome((12.0, 10.0), 0.0, 3.0, 0.0, violations=0),
        Outcome((10.0, None), 0.0, 2.0, 0.0, violations=0),
    ]
    job = Job("", {}, lambda: outcomes[0])
    entries = [anytime.Entry(source, name, "1", 1.0, job) for name in ("spacevrp", "vroom")]
    args = type("Arguments", (), {"count": 2, "seed": 1})()
    ours, theirs = anytime.rows_of(entries, outcomes, args)
    assert ours.gap == pytest.approx((20 + 100) / 2)
    assert (ours.seconds, ours.solved) == (1.5, 2)
    assert (theirs.gap, theirs.solved, theirs.cost) == (0.0, 1, 10.0)


def test_no_plan_in_time_is_told_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(self: Any, problem: Any, seconds: float) -> Any:
        raise InfeasibleError("none in time")

    monkeypatch.setattr(ORACLES["vroom"], "solve", solve)
    source = generated(parse_variant("CVRP"), 6, 2, 1)
    way = anytime._theirs("vroom", 0.5)
    found = anytime._measure(source, None, way, wait=0, ours=False)  # type: ignore[arg-type]
    assert found.costs == (None, None)
    assert found.violations == 0  # of another solver
    assert found.seconds > 0


@pytest.mark.slow
@pytest.mark.skipif(not ORACLES["pyvrp"].is_installed(), reason="oracles are an extra")
def test_the_whole_command(
    tiny_weights: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    command = ["bench", "anytime", "--count", "1", "--sizes", "8,6", "--problems", "CVRP,CVRPB"]
    command += ["--seconds", "1.5", "--solvers", "pyvrp", "--device", "cpu"]
    command += ["--weights", str(tiny_weights), "-o", str(tmp_path)]
    assert main(command) == 0
    assert "pyvrp is left out on CVRPB: mixed pickups" in capsys.readouterr().err
    record = json.loads((tmp_path / "anytime.json").read_text())
    rows = record["rows"]
    improved = ["spacevrp + improvement"]
    expected = [
        (problem, size, name)
        for problem, others in (("CVRP", ["pyvrp"]), ("CVRPB", []))
        for size in (6, 8)
        for name in ["spacevrp", *improved, *others]
    ]
    assert [(one["problem"], one["size"], one["solver"]) for one in rows] == expected
    assert all(one["solved"] == 1 and one["gap"] >= 0.0 for one in rows)
    assert (tmp_path / "anytime.png").read_bytes()[:4] == b"\x89PNG"
    assert "## Who is best at equal time" in (tmp_path / "anytime.md").read_text()
    assert {"cores_allowed", "load_before", "load_after"} <= set(record["machine"])
    assert record["machine"]["cpu_share"] > 0

    monkeypatch.setattr(room, "solve_for", None)  # nothing is solved again
    assert main(command) == 0
    assert json.loads((tmp_path / "anytime.json").read_text())["rows"] == rows


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--solvers", "lkh"], "--solvers: expected names out of pyvrp, ortools, vroom"),
        (["--seconds", "1,0"], "--seconds: expected seconds above 0, received '0'"),
        (["--sizes", "3"], "--sizes: expected a whole number of at least 4, received '3'"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "anytime", *arguments]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1
