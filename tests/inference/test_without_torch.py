"""What is here runs where torch is not installed, with one thread, and after a fork."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from spacevrp.inference import threads
from spacevrp.inference.threads import blas_threads

PROGRAM = """
import sys
sys.modules["torch"] = None
import numpy as np
from spacevrp.arrays import prepare
from spacevrp.inference.encoder import encode
from spacevrp.inference.geometry import seeds_of_augmentations
from spacevrp.inference.heads import Heads
from spacevrp.inference.network import load_network
from spacevrp.problems.problem import Problem

points = np.random.default_rng(0).random((8, 2))
problem = Problem.from_coordinates(points, depots=[0], demand=[0] + [1] * 7, capacity=3)
network, _ = load_network()
def work():
    (tables,) = encode(
        network, prepare([problem]), [seeds_of_augmentations(1, 8, network.config, 2, 0)],
        heads=Heads(range(2))
    )
    assert np.isfinite(tables.query_last).all()
    return tables.query_last
"""


def run(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_process_says_the_same() -> None:
    run(
        """
import os
a = np.random.default_rng(0).random((512, 512))
a @ a  # with as many threads as there are
here = work()
child = os.fork()
if not child:
    os._exit(0 if (work() == here).all() else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    )


def test_the_number_of_threads_is_set_and_given_back() -> None:
    functions = threads._functions()
    if functions is None:
        pytest.skip("this BLAS has no number of threads to be set")
    ask, tell = functions
    before = ask()
    try:
        tell(2)
        at_start = ask()  # a library built for one thread stays at one
        with blas_threads(1):
            assert ask() == 1
            with blas_threads(2):  # that of the first holds
                assert ask() == 1
        assert ask() == at_start
        with blas_threads(None):
            assert ask() == at_start
        with pytest.raises(KeyError), blas_threads(1):
            raise KeyError
        assert ask() == at_start
    finally:
        tell(before)


def test_a_blas_without_such_functions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_functions", lambda: None)
    with blas_threads(1):
        assert float(np.ones(2) @ np.ones(2)) == 2.0
