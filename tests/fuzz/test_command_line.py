"""Hostile files and arguments through the command: an exit code, one line, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fuzz_corpus
import pytest
from fuzz_property import COUNTS, fuzzed
from hostile_json import damaged_json, damaged_solutions
from hostile_text import damaged_bytes, damaged_text
from hostile_words import TOKENS
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.cli.main import main
from spacevrp.model.weights import save_weights
from spacevrp.solver import Solver

_CODES = (0, 1, 2)
_NAMES = tuple(fuzz_corpus.documents())
_files = st.one_of(
    damaged_text((".vrp", ".tsp", ".atsp", ".txt", ".csv")), damaged_json(_NAMES), damaged_bytes()
)
# Words that an argument may be; none of them asks for hours of work.
_WORDS = tuple(token for token in TOKENS if len(token) < 500 and "\0" not in token)
_OPTIONS = (
    *("--augment", "--starts", "--candidates", "--sample", "--seed", "--device", "--weights"),
    *("--rounding", "--format", "-o", "--plot", "--plot-kind", "--plot-index", "--quiet", "--plan"),
    *("--help", "--nonsense", "-x", "--", "--format=json", "--augment=2", "--seed=-1"),
)
_COUNTED = ("--augment", "--sample", "--starts", "--candidates")
_small = st.sampled_from(("0", "1", "2", "-1", "1.5", "x", "", "٣", "1e3", "nan"))


@st.composite
def extras(draw: st.DrawFn) -> list[str]:
    """Further arguments, some with a value."""
    words: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        option = draw(st.sampled_from(_OPTIONS))
        words.append(option)
        if option in _COUNTED:
            words.append(draw(_small))
        elif option == "--seed":
            words.append(draw(st.sampled_from(("0", "7", "-1", "9" * 30, "9" * 5000, "x"))))
        elif option in ("--format", "--plot-kind", "--rounding"):
            known = ("json", "table", "vrplib", "geojson", "routes", "nearest", "none")
            words.append(draw(st.sampled_from((*known, *_WORDS[:20]))))
        elif draw(st.booleans()):
            words.append(draw(st.sampled_from(_WORDS)))
    return words


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory, solver: Solver) -> Path:
    """A small model in a file: the command loads it again every time."""
    folder = tmp_path_factory.mktemp("weights")
    return save_weights(folder / "small", solver.model, {"description": "random, for tests"})


def check_output(code: int, errors: str, verb: str) -> None:
    """A known code; where it is 2, one line that says error, beside warnings and notes."""
    assert code in _CODES, code
    assert "Traceback" not in errors
    lines = errors.splitlines()
    complaints = [line for line in lines if line.startswith("spacevrp: error:")]
    assert len(complaints) == (code == 2), errors
    assert all(line.startswith("spacevrp: ") for line in lines), errors
    COUNTS[f"spacevrp {verb}", f"exit code {code}"] += 1


def run(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The command in this process."""
    capsys.readouterr()
    code = main(argv)
    return code, capsys.readouterr().err


@fuzzed(110)
@given(case=_files, more=extras())
def test_solve(tmp_path, weights, capsys, monkeypatch, watch, case, more):
    watch()
    monkeypatch.chdir(tmp_path)  # where -o and --plot may write
    path = tmp_path / case[0]
    path.write_bytes(case[1])
    argv = ["solve", str(path), "--weights", str(weights), "--augment", "1", "--device", "cpu"]
    check_output(*run([*argv, *more], capsys), "solve")


@fuzzed(80)
@given(case=_files, plan=damaged_solutions(), swapped=st.booleans(), more=extras())
def test_check(tmp_path, capsys, watch, case, plan, swapped, more):
    watch()
    name, content = case if swapped else ("cvrp.vrp", fuzz_corpus.CVRP.encode())
    instance, solution = tmp_path / name, tmp_path / plan[0]
    instance.write_bytes(content)
    solution.write_bytes(plan[1])
    argv = ["check", str(instance), str(solution), *(word for word in more if word != "--help")]
    check_output(*run(argv, capsys), "check")


@fuzzed(70)
@given(case=_files, plan=st.none() | damaged_solutions(), more=extras())
def test_explain(tmp_path, weights, capsys, watch, case, plan, more):
    watch()
    instance = tmp_path / case[0]
    instance.write_bytes(case[1])
    argv = ["explain", str(instance), "--weights", str(weights), "--augment", "1"]
    if plan is not None:
        solution = tmp_path / f"solution-{plan[0]}"
        solution.write_bytes(plan[1])
        argv.insert(2, str(solution))
    check_output(*run([*argv, *more], capsys), "explain")


@fuzzed(40)
@given(words=st.lists(st.sampled_from((*_OPTIONS, *_WORDS, "solve", "check")), max_size=4))
def test_any_words(tmp_path, capsys, monkeypatch, watch, words):
    watch()
    monkeypatch.chdir(tmp_path)
    code, errors = run(words, capsys)
    check_output(code, errors, "with any words")


@pytest.mark.parametrize(("name", "content"), [
    ("case.csv", b"Route" + b" " * 60_000),
    ("case.json", b'{"a":' * 50_000),
    ("case.vrp", fuzz_corpus.CVRP.replace("DIMENSION : 5", "DIMENSION : 9" + "9" * 300).encode()),
])  # fmt: skip
def test_a_real_process(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "spacevrp", "solve", str(path)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    check_output(done.returncode, done.stderr, "solve, as a process")
    assert done.returncode == 2
