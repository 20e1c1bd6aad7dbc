"""Many instances on the processes of this machine: the same plans, each once, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spacevrp
from spacevrp.many import solve_many
from spacevrp.many.engines import (
    MOST_FAILED_STARTS,
    Ended,
    LocalEngine,
    Lost,
    Task,
    _make_worker,
    as_ready,
)
from spacevrp.many.run import _Run
from spacevrp.many.sources import gather
from spacevrp.many.store import Store
from spacevrp.many.worker import WorkerSettings
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem

Row = dict[str, Any]
# The search alone needs no weights of its own, and is the same in every process.
QUICK: dict[str, Any] = {"network": False, "iterations": 20, "device": "cpu", "workers": 1}
OPTIONS = ("--set", "network=false", "--set", "iterations=20", "--device", "cpu")


def plans(rows: Any) -> list[tuple[int, Any, Any]]:
    return [(row["index"], row["cost"], row["routes"]) for row in rows]


class InProcess:
    """Its worker is in this process: most of a run does not depend on where that is."""

    workers, device = 1, ""

    def __init__(self, settings: WorkerSettings, workers: int | None, most: int) -> None:
        self._answer = _make_worker(settings)

    def solve(self, next_task: Callable[[], Task | None], count: int) -> Iterator[list[Ended]]:
        self.device = as_ready(self._answer(None)).device
        while (task := next_task()) is not None:
            yield [(task, self._answer(task.items))]

    def close(self) -> None:
        pass


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacevrp.many.run.LocalEngine", InProcess)


def test_plans_are_those_of_solve(folder: Path, tmp_path: Path) -> None:
    result = solve_many(folder, output=tmp_path / "out", seed=3, **QUICK)
    paths = [*sorted(folder.glob("*.*")), folder / "more" / "batch.npz"]
    problems: list[Problem] = []
    for path in paths:
        if path.suffix != ".md":
            content = spacevrp.read(path)
            problems += [content] if isinstance(content, Problem) else content
    alone = [
        spacevrp.solve(one, seed=3, network=False, iterations=20, device="cpu") for one in problems
    ]
    rows = list(result.rows())
    assert (result.count, result.solved, result.failures) == (12, 12, ())
    assert [row["index"] for row in rows] == list(range(12))
    assert [row["cost"] for row in rows] == [one.cost for one in alone]
    assert [row["routes"] for row in rows] == [list(map(list, one.routes)) for one in alone]
    assert [row["name"] for row in rows] == [problem.name for problem in problems]
    assert rows[11]["source"] == f"{folder / 'more' / 'batch.npz'}[2]"
    assert result.mean_cost == pytest.approx(np.mean([one.cost for one in alone]), rel=1e-12)


@pytest.mark.usefixtures("in_process")
def test_one_bad_instance_ends_nothing(folder: Path, tmp_path: Path) -> None:
    (folder / "4.json").write_text("{")
    batch = dict(np.load(folder / "more" / "batch.npz"))
    batch["coords"][1, 3, 0] = np.nan
    np.savez(folder / "more" / "batch.npz", **batch)
    result = solve_many(folder, output=tmp_path / "out", **QUICK)
    assert (result.count, result.solved) == (12, 10)
    broken, nan = result.failures
    assert (broken["index"], broken["status"]) == (4, "failed")
    assert broken["reason"].startswith(f"{folder / '4.json'}: line 1: not JSON")
    assert nan["index"] == 10
    assert "instance 1: key coords, node 3" in nan["reason"]
    listed = (tmp_path / "out" / "_failures.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in listed] == list(result.failures)

    # A file that is mended is solved, and nothing else is.
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")}
    spacevrp.write(spacevrp.generate("CVRP", 8, 1, seed=5)[0], folder / "4.json")
    again = solve_many(folder, output=tmp_path / "out", **QUICK)
    assert (again.here, again.solved) == (1, 11)
    touched = {path.name for path, then in written.items() if path.stat().st_mtime_ns != then}
    assert touched == {"part-000004.jsonl"}


@pytest.mark.usefixtures("in_process")
def test_partial_plans_are_kept_and_listed(tmp_path: Path) -> None:
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    short = Problem.from_coordinates(places, demand=[0, 2, 2, 2], capacity=3, max_routes=2)
    fine = Problem.from_coordinates(places, demand=[0, 2, 2, 2], capacity=3)
    result = solve_many([fine, short], output=tmp_path / "out", **QUICK)
    solved, partial = result.rows()
    assert (solved["status"], solved["cost"]) == ("solved", pytest.approx(2 + 2 + 2 * 2**0.5))
    assert (partial["status"], partial["feasible"]) == ("partial", False)
    assert len(partial["unserved"]) == 1
    assert [row["index"] for row in result.failures] == [1]


@pytest.mark.usefixtures("in_process")
def test_a_run_that_is_there_is_not_solved_again(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = solve_many(folder, output=out, part_size=5, **QUICK)
    assert (first.here, len(list(out.glob("part-*")))) == (12, 3)
    before = list(first.rows())
    (out / "part-000001.jsonl").unlink()
    (out / ".part-000001.99.jsonl").write_text("half a par")
    second = solve_many(folder, output=out, **QUICK)
    assert (second.here, second.solved) == (5, 12)
    assert plans(second.rows()) == plans(before)
    assert list(second.rows())[:5] == before[:5]  # to the second that it took
    assert not list(out.glob(".*"))
    third = solve_many(folder, output=out, **QUICK)
    assert (third.here, third.workers) == (0, 0)


@pytest.mark.usefixtures("in_process")
def test_a_changed_parameter_is_an_error(tmp_path: Path) -> None:
    problems = spacevrp.generate("CVRP", 5, 2)
    asked = {**QUICK, "output": tmp_path / "out", "part_size": 5}
    solve_many(problems, **asked)
    for changes, message in (
        ({"seed": 1}, "seed=0, now seed=1"),
        ({"iterations": 21}, "iterations=20, now iterations=21"),
        ({"part_size": 4}, "part_size=5, now part_size=4"),
        ({"rounding": "nearest"}, "rounding=None, now rounding='nearest'"),
        ({"iterations": None, "time": 2}, "iterations=20, now iterations=None; time=None, now"),
    ):
        with pytest.raises(SpacevrpError, match=message):
            solve_many(problems, **{**asked, **changes})
    assert solve_many(problems, **{**asked, "workers": 1, "threads": 2}).here == 0


@pytest.mark.usefixtures("in_process")
def test_changed_instances_are_an_error(tmp_path: Path) -> None:
    problems = spacevrp.generate("CVRP", 5, 3)
    asked = {**QUICK, "output": tmp_path / "out"}
    solve_many(problems, **asked)
    with pytest.raises(SpacevrpError, match="3 sources then, 2 now"):
        solve_many(problems[:2], **asked)
    with pytest.raises(SpacevrpError, match="problem 0 has changed since it was solved"):
        solve_many(problems[::-1], **asked)


@pytest.mark.usefixtures("in_process")
def test_a_foreign_or_damaged_folder_is_refused(tmp_path: Path) -> None:
    problems = spacevrp.generate("CVRP", 5, 2)
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(SpacevrpError, match=r"expected an empty folder .* 'thesis.tex'"):
        solve_many(problems, output=out, **QUICK)
    (out / "thesis.tex").unlink()
    solve_many(problems, output=out, part_size=2, **QUICK)
    part = out / "part-000000.jsonl"
    part.write_text(part.read_text().splitlines()[0] + "\n")
    with pytest.raises(SpacevrpError, match="delete it to solve them again"):
        solve_many(problems, output=out, **QUICK)


@pytest.mark.usefixtures("in_process")
def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    problems = spacevrp.generate("CVRP", 5, 2)
    store = Store(tmp_path / "out", gather(problems), "jsonl", "0")
    with store.locked(), pytest.raises(SpacevrpError, match=f"that of process {os.getpid()} on "):
        solve_many(problems, output=tmp_path / "out", **QUICK)
    assert solve_many(problems, output=tmp_path / "out", **QUICK).solved == 2


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ("nowhere", {}, "nowhere: expected a file or a folder"),
        ([], {}, "expected at least one, received none"),
        (7, {}, "expected a Problem or several"),
        ([], {"engine": "spark"}, "expected local, ray or ray://HOST:PORT, received 'spark'"),
        ([], {"format": "xml"}, "expected jsonl or parquet"),
        ([], {"workers": 0}, "workers: expected a whole number of at least 1"),
        ([], {"time": "1s", "iterations": 5}, "expected none with a time"),
    ],
)
def test_what_is_wrong_is_said_before_the_work(
    given: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpacevrpError, match=message):
        solve_many(given, **options)


def test_weights_that_are_not_there_are_an_error_of_the_run(tmp_path: Path) -> None:
    with pytest.raises(SpacevrpError, match=r"gone\.safetensors"):
        solve_many(
            spacevrp.generate("CVRP", 5, 2),
            output=tmp_path / "out",
            weights=tmp_path / "gone.safetensors",
            **QUICK,
        )


# ----------------------------------------------------------------------------- workers that end


class Failing:
    """Workers that end at instance 3, whenever they meet it, and once at the first task."""

    workers, device = 1, "cpu"

    def __init__(self) -> None:
        self.given: list[tuple[int, ...]] = []

    def solve(self, next_task: Callable[[], Task | None], count: int) -> Iterator[list[Ended]]:
        while (task := next_task()) is not None:
            numbers = tuple(item.number for item in task.items)
            self.given.append(numbers)
            if 3 in numbers or len(self.given) == 1:
                yield [(task, Lost("it was ended by SIGKILL"))]
                continue
            rows = [
                {"index": n, "source": "", "status": "solved", "reason": None, "cost": 1.0}
                for n in numbers
            ]
            yield [(task, rows)]

    def close(self) -> None:
        pass


def test_a_lost_part_is_solved_again_and_a_deadly_instance_fails_alone(tmp_path: Path) -> None:
    sources = gather(spacevrp.generate("CVRP", 5, 6))
    store = Store(tmp_path, sources, "jsonl", "0")
    with store.locked():
        store.open({}, 2, 2)
        run = _Run(sources, store, {})
        engine = Failing()
        run.work(lambda most: engine, False)
    # Part (0, 1) twice; part (2, 3) twice, then one by one, instance 3 twice.
    assert engine.given.count((0, 1)) == 2
    assert engine.given.count((2, 3)) == 2
    assert engine.given.count((3,)) == 2
    assert engine.given.count((2,)) == engine.given.count((4, 5)) == 1
    rows = [row for part in store.parts for row in store.read(part)]
    assert [row["status"] for row in rows] == ["solved"] * 3 + ["failed"] + ["solved"] * 2
    assert rows[3]["reason"] == "the process that solved it ended twice: it was ended by SIGKILL"


# ----------------------------------------------------------------------- processes of their own


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "spacevrp", "solve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for_parts(process: subprocess.Popen[str], out: Path, number: int) -> None:
    while len(list(out.glob("part-*"))) < number:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.fixture
def long_run(tmp_path: Path) -> tuple[list[object], Path]:
    """Arguments of a run of many parts, which takes seconds: a busy machine may look late."""
    batch, out = tmp_path / "batch.npz", tmp_path / "out"
    spacevrp.write(spacevrp.generate("CVRP", 30, 40), batch)
    options = ["--set", "network=false", "--set", "iterations=60000", "--device", "cpu"]
    return [batch, "--engine", "local", "--workers", 2, "--part-size", 2, *options, "-o", out], out


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.usefixtures("usual_interrupt")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_goes_on_after_a_signal(long_run: tuple[list[object], Path], number: int) -> None:
    arguments, out = long_run
    process = start(*arguments)
    wait_for_parts(process, out, 3)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    there = {path: path.read_bytes() for path in out.glob("part-*")}
    assert 3 <= len(there) < 20, (process.returncode, output, errors)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert errors == f"spacevrp: interrupted; the same command goes on in {out}\n"
    done = start(*arguments)
    output, errors = done.communicate(timeout=300)
    assert (done.returncode, errors) == (0, "")
    assert "40 of 40 solved, mean cost " in output
    assert f", {40 - 2 * len(there)} of them now, in " in output
    assert all(path.read_bytes() == held for path, held in there.items())
    rows = [json.loads(line) for path in sorted(out.glob("part-*")) for line in path.open()]
    assert [row["index"] for row in rows] == list(range(40))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
def test_a_killed_worker_costs_nothing_but_time(long_run: tuple[list[object], Path]) -> None:
    arguments, out = long_run
    process = start(*arguments, "--workers", 1)  # of several, one may not have a part yet
    wait_for_parts(process, out, 3)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
    os.kill(next(pid for pid, line in commands.items() if b"spawn_main" in line), signal.SIGKILL)
    output, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (0, "")
    assert "40 of 40 solved" in output
    assert "1 part given out again" in output


@pytest.mark.slow
def test_processes_that_cannot_start_are_an_error(tmp_path: Path) -> None:
    program = tmp_path / "unguarded.py"
    program.write_text(
        "import spacevrp\n"
        "problems = spacevrp.generate('CVRP', 5, 2)\n"
        "spacevrp.solve_many(problems, network=False, device='cpu', workers=1)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "processes do not start" in last
    assert "`if __name__ == '__main__':`" in last


@pytest.mark.slow
def test_the_command(folder: Path, tmp_path: Path) -> None:
    (folder / "1.vrp").write_text("NAME : x\nTYPE : CVRP\n")
    out = tmp_path / "out"
    process = start(folder, *OPTIONS, "--workers", 1, "-o", out)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert output.startswith(f"{out}: 11 of 12 solved, mean cost ")
    (line,) = errors.splitlines()
    assert line.startswith(f"spacevrp: 1: {folder / '1.vrp'}: failed: ")


class Silent:
    """A process that never answers."""

    def __init__(self, *given: Any) -> None:
        self.connection = object()

    def send(self, message: Any) -> None:
        pass

    end = send


def test_workers_that_do_not_start_leave_the_work_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spacevrp.many.engines.AnsweringProcess", Silent)
    engine = LocalEngine(WorkerSettings(spacevrp.SolveParams(), device="cpu"), 2, 2)

    def lose(task: Task | None) -> list[Ended]:
        _, (worker, _) = engine._busy.popitem()
        return engine._missed(worker, task, "gone")

    for _ in range(MOST_FAILED_STARTS - 1):
        assert lose(None) == []
        assert len(engine._busy) == 2
    assert lose(None) == []
    assert len(engine._busy) == 1
    # One that was ready shows that they start.
    ((_, lost),) = lose(Task(0, ()))
    assert lost == Lost("gone")
    assert len(engine._busy) == 1
    for _ in range(MOST_FAILED_STARTS - 1):
        lose(None)
    with pytest.raises(SpacevrpError, match="workers: processes do not start: gone"):
        lose(None)
