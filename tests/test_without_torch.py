"""The package where torch is not installed: import, solve from Python and by the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spacevrp import native

pytestmark = pytest.mark.skipif(native.network is None, reason="needs the compiled network")

# An import of torch is the error that it is where torch is not installed.
WITHOUT = """
import sys
sys.modules["torch"] = None
"""

FROM_PYTHON = """
import spacevrp
from spacevrp import Problem, Solver, Vehicle, generate, judge
from spacevrp.problems.variants import VARIANTS

solver = Solver(device="auto")
every = [generate(str(variant), 6, 1)[0] for variant in VARIANTS]
assert len(every) == 110
for problem, plan in zip(every, solver.solve(every, iterations=20), strict=True):
    assert judge(problem, plan.routes).feasible, problem
problems = [generate(name, 8, 1)[0] for name in ("CVRP", "CVRPTW", "PDCVRP", "MDCVRP", "OP")]
places = [(0, 0), (3, 0), (0, 3), (-3, 0), (0, -3)]
types = [Vehicle(count=1, capacity=3, start=0), Vehicle(count=2, capacity=2, start=0)]
problems.append(Problem.from_coordinates(places, demand=[0, 1, 2, 1, 2], vehicles=types))
options = ({}, {"augment": 1, "improve": False}, {"candidates": 3, "augment": 2})
for more in options:
    for problem, plan in zip(problems, solver.solve(problems, **more), strict=True):
        verdict = judge(problem, plan.routes)
        assert verdict.feasible, verdict
assert all(plan.feasible for plan in solver.solve(problems[:2], time=0.5))
assert spacevrp.solve(problems[0], augment=1).feasible
first = solver.solve(problems[0], search=False)
assert solver.solve(problems[0], start=first, time=0.3).cost <= first.cost
assert not [name for name in sys.modules if name.startswith("torch.")]
"""

# Each argument is a command; the last code is that of the process, and the others are 0.
COMMANDS = """
from spacevrp.cli.main import main
codes = [main(words.split()) for words in sys.argv[1:]]
assert not any(codes[:-1]), codes
assert not [name for name in sys.modules if name.startswith("torch.")]
sys.exit(codes[-1])
"""


def python(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
    )


def commands(*lines: str, folder: Path) -> str:
    """What these commands print; all must go well."""
    done = python(COMMANDS, *lines, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_problems_of_all_kinds_are_solved_from_python(tmp_path: Path) -> None:
    done = python(FROM_PYTHON, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_command_line_makes_solves_checks_and_explains(tmp_path: Path) -> None:
    told = commands(
        "generate CVRPTW --size 8 --count 2 -o in.npz",
        "solve in.npz -o plan.json",
        "check in.npz plan.json",
        "solve in.npz --time 0.5s -o timed.json",
        "check in.npz timed.json",
        "explain in.npz plan.json",
        "demo",
        folder=tmp_path,
    )
    assert "plan.json: " in told
    assert "cost " in told


@pytest.mark.parametrize(
    "line", ["train -o run", "solve in.npz --device cuda", "solve in.npz --weights ."]
)
def test_what_needs_torch_says_so_in_one_line(tmp_path: Path, line: str) -> None:
    done = python(COMMANDS, "generate CVRP --size 5 --count 1 -o in.npz", line, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("spacevrp: error: ")
    assert done.stderr.endswith("PyTorch is not installed: pip install 'spacevrp[torch]'\n")
    assert done.stderr.count("\n") == 1
