"""The front door: what starting up imports, and how the command ends."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import spacevrp
from spacevrp.cli.main import VERBS, main
from spacevrp.cli.verbs import Verb
from spacevrp.problems.errors import ProblemError


def imported_by(*arguments: str) -> tuple[set[str], str]:
    """Top-level packages that ``python ARGUMENTS`` imports, and its stdout."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().split(".")[0] for line in lines}, done.stdout


ORACLES = "from spacevrp.oracles import ORACLES, make_oracle; list(map(make_oracle, ORACLES))"
SOLVERS = {"pyvrp", "ortools", "vroom", "elkai"}


@pytest.mark.parametrize(
    ("arguments", "absent", "printed"),
    [
        (["-c", "import spacevrp"], {"torch"}, []),
        (["-c", "import spacevrp; print(spacevrp.formats.read.__name__)"], {"torch"}, ["read"]),
        (["-c", ORACLES], {"torch", *SOLVERS}, []),
        (["-m", "spacevrp", "versions"], {"torch"}, [spacevrp.__version__]),
        (
            ["-m", "spacevrp", "serve", "--help"],
            {"fastapi", "starlette", "uvicorn"},
            ["--max-customers"],
        ),
        (["-m", "spacevrp", "--help"], {"torch", "numpy"}, [verb.name for verb in VERBS]),
        (["-m", "spacevrp", "--version"], {"torch", "numpy"}, [spacevrp.__version__]),
    ],
)
def test_nothing_is_imported_that_is_not_used(arguments, absent, printed):
    packages, output = imported_by(*arguments)
    assert "spacevrp" in packages
    assert packages.isdisjoint(absent)
    assert all(word in output for word in printed)
    assert {"formats", "write"} <= set(dir(spacevrp))  # though they are imported when asked for


def test_every_verb_can_be_imported_and_explains_itself(capsys):
    for verb in VERBS:
        assert main([verb.name, "--help"]) == 0
        assert f"usage: spacevrp {verb.name} " in capsys.readouterr().out


@pytest.fixture
def run_verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], int]], int]:
    """Call ``main`` on a verb whose ``run`` does what the test wants."""

    def call(action: Callable[[], int]) -> int:
        module = ModuleType("spacevrp_test_verb")
        module.__dict__.update(add_arguments=lambda parser: None, run=lambda args: action())
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr("spacevrp.cli.main.VERBS", (Verb("act", "act", module.__name__),))
        return main(["act"])

    return call


def raising(error: BaseException) -> Callable[[], int]:
    def action() -> int:
        raise error

    return action


@pytest.mark.parametrize("code", [0, 1])
def test_the_verb_decides_the_exit_code(run_verb, code):
    assert run_verb(lambda: code) == code


@pytest.mark.parametrize(("error", "code", "line"), [
    (ProblemError("demand", node=3, expected="a number", received="'x\ny'"), 2,
     "spacevrp: error: demand, node 3: expected a number, received 'x y'\n"),
    (ProblemError("a", expected="b", received="\x1b[31m"), 2, r"received \x1b[31m" + "\n"),
    (FileNotFoundError(2, "No such file or directory", "in.npz"), 2,
     "spacevrp: error: in.npz: No such file or directory\n"),
    (OSError("the disk is gone"), 2, "spacevrp: error: the disk is gone\n"),
    (MemoryError("8 TiB"), 2, "spacevrp: error: not enough memory: 8 TiB\n"),
    (KeyboardInterrupt(), 130, ""),
    (BrokenPipeError(), 141, ""),
])  # fmt: skip
def test_a_failure_is_one_line_and_an_exit_code(run_verb, capsys, error, code, line):
    assert run_verb(raising(error)) == code
    stderr = capsys.readouterr().err
    assert stderr.endswith(line)
    assert stderr.count("\n") == (1 if line else 0)


def test_a_mistake_of_ours_keeps_its_traceback(run_verb):
    with pytest.raises(ZeroDivisionError):
        run_verb(raising(ZeroDivisionError()))


def test_a_warning_is_one_line(run_verb, capsys):
    def warn() -> int:
        warnings.warn("a.vrp: unknown section FOO", stacklevel=1)
        return 0

    assert run_verb(warn) == 0
    assert capsys.readouterr().err == "spacevrp: warning: a.vrp: unknown section FOO\n"


def test_a_reader_that_has_left_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "spacevrp", "variants"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk always full")
def test_a_full_disk_is_one_line() -> None:
    command = [sys.executable, "-m", "spacevrp", "variants"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == b"spacevrp: error: No space left on device\n"
