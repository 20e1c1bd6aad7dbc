"""What fuzzing found, each as the smallest input that showed it."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fuzz_corpus
import numpy as np
import pandas as pd
import pytest
from fuzz_property import check_message

from spacevrp.formats import FormatWarning, read, read_solution
from spacevrp.problems.clock import Clock
from spacevrp.problems.errors import ProblemError, SpacevrpError
from spacevrp.problems.plan_text import write_span
from spacevrp.problems.problem import Problem

VROOM, OSRM = (fuzz_corpus.documents()[name] for name in ("vroom", "osrm"))
THREE = {"locations": [[0, 0], [3, 0], [0, 4]], "depots": [0]}
POINTS = [[0, 0], [3, 0], [0, 4]]


def refuse(path: Path, content: str | bytes, reader: Any = read) -> str:
    """The one line with which a file is refused."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SpacevrpError) as caught:
        reader(path)
    check_message(caught.value, path)
    return str(caught.value)


@contextmanager
def not_for_ever() -> Iterator[None]:
    """What used to take days now takes no time; without a bound a failure would be a hang."""

    def stop(*_: Any) -> None:
        raise AssertionError("still at it after a minute")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# ---------------------------------------------------------------------------------------- hangs


def test_thousands_of_blanks_do_not_hang_the_readers(tmp_path: Path) -> None:
    """They were tried in every way to part them, a number cubic in their length."""
    blanks = " " * 60_000
    with not_for_ever():
        assert "line 1: expected names of columns" in refuse(tmp_path / "a.csv", f"Route{blanks}\n")
        path = tmp_path / "a.sol"
        text = f"Route #1: 1 2\nRoute{blanks}x\ncost{blanks}x y\nCost 1\n"
        path.write_text(text, encoding="utf-8")
        with pytest.warns(UserWarning, match="left out"):
            assert read_solution(path).instances[0].routes == ((0, 1, 2, 0),)


@pytest.mark.parametrize(
    "arrays",
    [
        {"coords": np.zeros((100_000, 1, 2), np.int8)},
        {"coords": np.zeros((1, 10_000_000, 2), np.int8)},
        {"coords": np.zeros((1, 3, 2)), "prize": np.zeros(10_000_000, np.int8)},
        {"coords": np.zeros((1, 3, 2)), "num_depots": np.zeros(10_000_000, np.int8)},
    ],
    ids=["instances", "nodes", "prizes", "depots"],
)
def test_zeros_packed_a_thousand_times_are_refused_before_they_are_read(tmp_path, arrays):
    """Kilobytes grew into gigabytes, or into hours of building instances."""
    content = fuzz_corpus.pack({"variant": np.array("TSP"), "num_depots": np.array(0)} | arrays)
    assert len(content) < 30_000
    with not_for_ever():
        message = refuse(tmp_path / "a.npz", content)
    assert "expected at most 64 numbers for each packed byte" in message


def formats_of(caught: pytest.WarningsRecorder) -> list[str]:
    """What was said of the file; others may have left a process behind."""
    return [str(one.message) for one in caught if issubclass(one.category, FormatWarning)]


def test_a_hundred_thousand_columns(tmp_path: Path) -> None:
    """To find the one that stands twice took the square of their number."""
    names = [f"c{number}" for number in range(100_000)]
    with not_for_ever():
        message = refuse(tmp_path / "a.csv", ",".join([*names, names[-1]]))
        assert "expected each column once, received c99999 twice" in message
        (tmp_path / "b.csv").write_text(
            ",".join(["x", "y", *names]) + ("\n1,2" + ",3" * 100_000) * 2
        )
        with pytest.warns(FormatWarning) as caught:
            read(tmp_path / "b.csv")
    assert "'c9' and 99990 more" in formats_of(caught)[0]


def test_what_is_left_out_is_not_told_a_hundred_thousand_times(tmp_path: Path) -> None:
    sections = "".join(f"A{number}_SECTION\n" for number in range(1000))
    (tmp_path / "a.vrp").write_text(fuzz_corpus.CVRP.replace("EOF", f"{sections}EOF"))
    plan = {"instances": [{"routes": [], "colour": number} for number in range(1000)]}
    (tmp_path / "a.json").write_text(json.dumps(plan))
    for path, reader in ((tmp_path / "a.vrp", read), (tmp_path / "a.json", read_solution)):
        with pytest.warns(FormatWarning) as caught:
            reader(path)
        assert len(formats_of(caught)) == 11
        assert str(caught[10].message) == f"{path}: and 990 more left out"


# ------------------------------------------------------------------------------ dates and clocks


@pytest.mark.parametrize(
    "windows",
    [
        [["0001-01-01T00:00+14:00", None], ["0001-01-01T09:00+14:00", None], [None, None]],
        [[None, "0001-01-01T00:00"]] * 3,
        [["2026-03-02T08:00+00:00", None], [None, "9999-12-31T23:59-14:00"], [None, None]],
    ],
    ids=["before the year 1", "a day before it", "after the year 9999"],
)
def test_dates_off_the_calendar(tmp_path: Path, windows: Any) -> None:
    message = refuse(tmp_path / "a.json", json.dumps({**THREE, "windows": windows}))
    assert "windows" in message
    assert "expected dates from the year 1 to the year 9999" in message


@pytest.mark.parametrize("origin", ["[1]", "1e400", "null", "true", '{"a": 1}'])
def test_a_clock_starts_at_a_number(tmp_path: Path, origin: str) -> None:
    text = json.dumps({**THREE, "windows": [[0, 9]] * 3, "clock": {"origin": 0, "form": "number"}})
    message = refuse(tmp_path / "a.json", text.replace('"origin": 0', f'"origin": {origin}'))
    assert "clock" in message


def test_a_span_longer_than_the_calendar_is_a_number() -> None:
    clock = Clock(dt.datetime(2026, 3, 2))
    assert write_span(clock, 3661.0) == "1:01:01"
    assert write_span(clock, 1e50) == "1e+50"


# ------------------------------------------------------------------------------------- messages


def test_numbers_of_thousands_of_digits_are_named_and_not_printed() -> None:
    huge = 10**5000
    with pytest.raises(ProblemError, match="depots: expected 0 to 2, received a huge whole number"):
        Problem.from_coordinates(POINTS, depots=huge)
    with pytest.raises(ProblemError, match="node 1: expected a number, received a huge"):
        Problem.from_coordinates([[0, 0], [1, huge]])
    with pytest.raises(ProblemError, match="ids, node 2: expected a text or a number"):
        Problem.from_coordinates(POINTS, ids=["a", "b", huge])


def test_names_with_line_breaks_stay_on_one_line() -> None:
    for data in ({"a\nb": 1}, {"x": [0, 1], "y": [0, 1], "a\nb": 5, "coordinates": 3}):
        with pytest.raises(SpacevrpError) as caught:
            Problem.from_data(data)
        check_message(caught.value)
    with pytest.raises(ProblemError) as caught_too:
        Problem.from_frame({"a\nb": 5})
    check_message(caught_too.value)


def test_a_sol_for_several_depots_names_the_file(tmp_path: Path) -> None:
    problem = Problem.from_coordinates(POINTS, depots=[0, 1])
    message = refuse(
        tmp_path / "a.sol", "Route #1: 1\nCost 1\n", lambda path: read_solution(path, problem)
    )
    assert "route 1: expected customers 2 to" in message


# ----------------------------------------------------------------------- what Python hands over


@pytest.mark.parametrize(("make", "part"), [
    (lambda: Problem.from_frame(None), "frame: expected a data frame, or columns by name"),
    (lambda: Problem.from_frame({"x": [0, 1], "y": [0, 1], "capacity": [np.arange(2)] * 2}),
     "capacity, node 0: expected a number"),
    (lambda: Problem.from_frame({"x": [0, 1], "y": [0, 1], "depot": [np.arange(2)] * 2}),
     "depot, node 0: expected yes, no, or nothing"),
    (lambda: Problem.from_coordinates(POINTS, ids=["a", pd.NA, "c"]), "ids, node 1: expected"),
    (lambda: Problem.from_coordinates(POINTS, ids=np.array(5)), "ids: expected 3 ids"),
    (lambda: Problem.from_lonlat([[0, 0], [1, 1]], places=[[0, 0], [1, 1]]),
     "places: expected nothing beside lonlat"),
    (lambda: Problem.from_vroom({**VROOM, "jobs": np.arange(3)}), "job 0: expected"),
    (lambda: Problem.from_vroom({**VROOM, "jobs": pd.NA}), "jobs: expected"),
    (lambda: Problem.from_vroom({**VROOM, "jobs": pd.DataFrame([[1, 2]])}), "job 0: expected"),
    (lambda: Problem.from_table({**OSRM, "code": pd.NA}), "received a failure"),
    (lambda: Problem.from_matrix(np.array([[0, 1], [1, 0]], "g") * np.longdouble("1e4000")),
     "matrix: expected numbers below 1e.100, or inf, received a larger long double"),
    (lambda: Problem.from_coordinates(POINTS, capacity=np.longdouble("1e4000")),
     "capacity: expected a number"),
])  # fmt: skip
def test_refused_in_words(make: Any, part: str) -> None:
    if "long" in part and np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("long doubles are no longer than doubles here")
    with pytest.raises(ProblemError, match=part) as caught:
        make()
    check_message(caught.value)


# ------------------------------------------------------------------------------------------ text


def test_a_line_break_between_quotes_belongs_to_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,x,y\n"a\nb",0,0\n"c\u2028d",1,1\n', encoding="utf-8")
    problem = read(path)
    assert problem.ids == ("a\nb", "c\u2028d")


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    """It could be read and solved, and then not be printed."""
    text = json.dumps({**THREE, "ids": ["\ud800", "b", "c"]})
    assert r"\ud800 is half of a character" in refuse(tmp_path / "a.json", text)
    (tmp_path / "b.json").write_text(json.dumps({**THREE, "ids": ["\U0001f69a", "b", "c"]}))
    whole = read(tmp_path / "b.json")
    assert whole.ids == ("\U0001f69a", "b", "c")


def test_a_name_that_the_terminal_cannot_write(tmp_path: Path) -> None:
    path, plan = tmp_path / "a.json", tmp_path / "plan.json"
    path.write_text(json.dumps({**THREE, "ids": ["café", "b", "c"]}), encoding="utf-8")
    plan.write_text('{"instances": [{"routes": [[0, 1, 2, 0]]}]}', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "spacevrp", "check", "--plan", str(path), str(plan)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert r"caf\xe9" in done.stdout


def test_limits_beyond_float32_do_not_warn(solver: Any) -> None:
    """A length of 1e50 limits nothing."""
    vehicles = [{"capacity": 4, "max_length": 1e50, "count": 2}, {"capacity": 9, "count": 1}]
    problem = Problem.from_coordinates(
        [(0, 0), (3, 0), (3, 4)], demand=[0, 2, 3], windows=[(0, 90)] * 3, vehicles=vehicles
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver.solve(problem, protocol="network").feasible
