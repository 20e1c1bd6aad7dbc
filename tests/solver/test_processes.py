"""Solvers in forked processes, in several threads, and beside a caller's own torch code."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from spacevrp.generators import generate
from spacevrp.problems.errors import SpacevrpError
from spacevrp.solver import Solver
from spacevrp.tensors.threads import own_threads

# Solves, forks, and solves in the child: as a web server with preloading, as a pool of processes,
# and again after torch has used several threads. A child that hangs is killed and told.
FORKS = """
import multiprocessing, os, signal, sys, time, torch
import spacevrp

PATIENCE = 60.0
problem = spacevrp.generate("CVRP", 20, 1)[0]
solver = spacevrp.Solver(device="cpu")

def plan(_=None):
    return solver.solve(problem, augment=1, improve=False).routes

expected = plan()

def forked(case):
    child = os.fork()
    if child == 0:
        os._exit(0 if plan() == expected else 1)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            print(case, os.waitstatus_to_exitcode(status), flush=True)
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    print(case, "hangs", flush=True)

def pooled(case):
    pool = multiprocessing.get_context("fork").Pool(1)
    try:
        found = pool.map_async(plan, range(2)).get(PATIENCE)
        print(case, 0 if found == [expected] * 2 else 1, flush=True)
    except multiprocessing.TimeoutError:
        print(case, "hangs", flush=True)
    finally:
        pool.terminate()

forked("fork")
pooled("pool")
torch.set_num_threads(4)
large = torch.ones(600, 600)
assert float((large @ large).add(1).sum()) > 0
assert plan() == expected
assert torch.get_num_threads() == 4
forked("fork after threads")
pooled("pool after threads")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_solver_survives_a_fork() -> None:
    # Several threads whatever the machine: they are what hung.
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    command = [sys.executable, "-W", "ignore", "-c", FORKS]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    cases = ("fork", "pool", "fork after threads", "pool after threads")
    assert done.stdout.splitlines() == [f"{case} 0" for case in cases]


def test_the_callers_threads_are_left_as_they_were() -> None:
    (problem,) = generate("CVRP", 6, 1)
    before = torch.get_num_threads()
    used: list[int] = []

    def note(*args: object) -> None:
        used.append(torch.get_num_threads())

    try:
        torch.set_num_threads(3)
        for threads, expected in ((1, 1), (2, 2), (None, 3)):
            solver = Solver(device="cpu", threads=threads, engine="torch")
            handle = solver.model.register_forward_pre_hook(note)
            solver.solve(problem, augment=1, improve=False)
            handle.remove()
            assert set(used) == {expected}
            assert torch.get_num_threads() == 3
            used.clear()
        with pytest.raises(SpacevrpError, match=r"threads: expected .* at least 1, received 0"):
            Solver(device="cpu", threads=0)
    finally:
        torch.set_num_threads(before)


def test_threads_that_overlap_leave_the_setting_as_it_was() -> None:
    """The second comes while the first is at work, and leaves after it."""
    before = torch.get_num_threads()
    inside, done = threading.Event(), threading.Event()
    seen: list[int] = []

    def second() -> None:
        with own_threads(1):
            seen.append(torch.get_num_threads())
            inside.set()
            done.wait(60)
        seen.append(torch.get_num_threads())

    try:
        torch.set_num_threads(3)
        thread = threading.Thread(target=second)
        with own_threads(1), own_threads(1):  # a call within a call changes nothing
            thread.start()
            assert inside.wait(60)
        assert torch.get_num_threads() == 3
        done.set()
        thread.join(60)
        assert seen == [1, 3]
        with ThreadPoolExecutor(1) as pool:  # nor for threads that are new
            assert pool.submit(torch.get_num_threads).result(60) == 3
    finally:
        done.set()
        torch.set_num_threads(before)


def test_one_solver_serves_several_threads() -> None:
    problems = [*generate("CVRP", 8, 2, seed=1), *generate("TSP", 9, 2), *generate("CVRPTW", 7, 2)]
    solver = Solver(device="cpu")

    def plan(number: int) -> object:
        return solver.solve(problems[number], augment=2, seed=number)

    expected = [plan(number) for number in range(6)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(plan, range(6), timeout=300)) == expected
