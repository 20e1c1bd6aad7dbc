"""The compiled kernels against numpy in float64; and all of it without torch."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.inference import threads
from spacevrp.inference.threads import one_blas_thread
from spacevrp.native import network

Array = np.ndarray[Any, Any]
SEGMENTS = [0, 3, 4, 11]


def rows(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    values: Array = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return values * np.float32(scale)


def test_exponentials_over_the_whole_range() -> None:
    exponents = np.concatenate([[0.0], np.geomspace(1e-30, 87.0, 997)]).astype(np.float32)
    lengths = exponents.reshape(2, -1)
    out = np.empty_like(lengths)
    network.exponentials(lengths, 1.0, out)
    exact = np.exp(-lengths.astype(np.float64))
    assert np.abs(out / exact - 1.0).max() < 2e-7
    assert out[0, 0] == 1.0
    far = np.array([[88.0, 1e3, 1e30, np.inf]], dtype=np.float32)
    network.exponentials(far, 1.0, out := np.ones_like(far))
    assert (out == 0.0).all()


def test_part_of_longer_rows() -> None:
    wide, out = np.abs(rows(4, 9)), np.zeros((4, 9), dtype=np.float32)
    network.exponentials(wide[:, 2:5], 0.5, out[:, 4:7])
    assert np.allclose(out[:, 4:7], np.exp(-0.5 * wide[:, 2:5]), atol=1e-6)
    assert (out[:, :4] == 0).all()
    assert (out[:, 7:] == 0).all()


@given(st.integers(1, 80), st.sampled_from([0.1, 3.0, 60.0]), st.integers(0, 99))
def test_keyed_values(width: int, scale: float, seed: int) -> None:
    key, value = rows(11, width, seed=seed, scale=scale), rows(11, width, seed=seed + 1)
    out = np.empty((11, 2 * width), dtype=np.float32)
    network.keyed_values(key, value, SEGMENTS, out)
    for first, last in pairwise(SEGMENTS):
        own = key[first:last].astype(np.float64)
        weight = np.exp(own - own.max(axis=0))
        assert np.allclose(out[first:last, width:], weight, rtol=1e-5, atol=1e-36)
        assert np.allclose(out[first:last, :width], weight * value[first:last], atol=1e-5)


def test_gated_ratio_stays_finite() -> None:
    query = np.array([[-1e4, -100.0, 0.0, 2.0, 1e4]], dtype=np.float32)
    sums = np.array([[1, 1, 3, 0, 5, 1, 1, 2, 0, 5]], dtype=np.float32)
    network.gated_ratio(query, sums, out := np.empty_like(query))
    assert np.isfinite(out).all()
    assert out[0, [0, 1]] == pytest.approx(0.0, abs=1e-37)
    assert out[0, 2] == pytest.approx(0.75)
    assert out[0, 3] == 0.0
    assert out[0, 4] == pytest.approx(1.0)


def test_normalising() -> None:
    x, added, bias = rows(11, 70, scale=5.0), rows(11, 70, seed=1), rows(70, seed=2)
    scale, shift = rows(70, seed=3), rows(70, seed=4)
    got = x.copy()
    network.add_and_normalise(got, added, bias, scale, shift, 1e-5, SEGMENTS)
    total = x.astype(np.float64) + added + bias
    for first, last in pairwise(SEGMENTS):
        own = total[first:last] - total[first:last].mean(axis=0)
        wanted = own / np.sqrt((own**2).mean(axis=0) + 1e-5) * scale + shift
        assert np.allclose(got[first:last], wanted, atol=2e-4 if last - first == 1 else 1e-5)


def test_a_survey_by_hand() -> None:
    lengths = np.array([[0, 1, 2], [3, 0, np.inf], [2, 4, 0]], dtype=np.float32)
    found = network.survey(lengths)
    known = np.array([0, 1, 2, 3, 0, 4, 2, 4, 0])  # the longest in the place of the missing
    assert found["mean"] == pytest.approx(known.mean())
    assert found["deviation"] == pytest.approx(known.std())
    assert (found["longest"], found["total"], found["arcs"]) == (4.0, 12.0, 5.0)
    assert (found["change"], found["missing"]) == (4.0, 1.0)  # |1 - 3| both ways; |2 - 2|


def test_wrong_arrays_are_refused() -> None:
    x, half = rows(11, 4), rows(11, 4).astype(np.float16)
    out = np.empty((11, 8), dtype=np.float32)
    fixed = out.copy()
    fixed.setflags(write=False)
    read: list[tuple[str, Any]] = [
        ("key: expected float32", lambda: network.keyed_values(half, x, SEGMENTS, out)),
        ("value: expected float32", lambda: network.keyed_values(x, x[:3], SEGMENTS, out)),
        ("side by side", lambda: network.keyed_values(x.T, x.T, [0, 4], out)),
        ("written to", lambda: network.keyed_values(x, x, SEGMENTS, fixed)),
        ("out: expected float32", lambda: network.keyed_values(x, x, SEGMENTS, out[:, :7])),
        ("segments: expected", lambda: network.keyed_values(x, x, [0, 5, 5, 11], out)),
        ("segments: expected", lambda: network.keyed_values(x, x, [0, 12], out)),
        ("segments: expected", lambda: network.keyed_values(x, x, [], out)),
        ("sums: expected", lambda: network.gated_ratio(x, x, x.copy())),
        ("bias: expected", lambda: network.add_and_rectify(x, x[0, :3])),
        ("partner: expected as many", lambda: network.relation(x, x, x, [0], 1.0, [0, 11], x)),
        (
            "partner: expected numbers from 0 to 10",
            lambda: network.relation(x, x, x, [*range(10), 11], 1.0, [0, 11], x),
        ),
        ("lengths: expected", lambda: network.survey(x)),
        ("lengths: expected", lambda: network.survey(x[0])),
        ("lengths: expected", lambda: network.survey(np.empty((0, 0), dtype=np.float32))),
    ]
    for message, call in read:
        with pytest.raises(ValueError, match=message):
            call()


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
    seeds = seeds_of_augmentations(1, 8, network.config, 2, 0)
    tables = encode(network, prepare(problem), seeds, heads=Heads(range(2)))
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
        with one_blas_thread():
            assert ask() == 1
            with one_blas_thread():
                assert ask() == 1
            assert ask() == 1  # until the last one is done
        assert ask() == at_start
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        assert ask() == at_start
    finally:
        tell(before)


def test_a_blas_without_such_functions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_functions", lambda: None)
    with one_blas_thread():
        assert float(np.ones(2) @ np.ones(2)) == 2.0
