"""The Triton kernels equal their slow twins, rule by rule, in Triton's interpreter.

On a GPU ``spacevrp bench train-step`` compares them at full size.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed (it exists for Linux alone)"
)

PROGRAM = Path(__file__).with_name("interpreted.py")
TABLES = {
    *("embedding", "keyed", "query_first", "query_last", "state_weight", "read_weight"),
    *("match_weight",),
}
TABLES_OF_FACTS = {"move_first", "move_last", "move_state"}
# The kernels' tanh is up to so many times less exact than torch's where it saturates.
TIMES = 8.0
# Where every unvisited customer may always come next.
FREE = {"no depot", "asymmetric", "prize collecting", "stochastic prizes"}


NETWORKS = ("four signals", "facts of moves")
DEPOTS = ("four signals, surest", "four signals, drawn", "facts of moves, drawn")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """What the program found, once for all tests."""
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def cases(results: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Network, rule, and what was found; which they are is said in ``interpreted.ASKED``."""
    for network in NETWORKS:
        for rule, case in results["cases"][network].items():
            yield network, rule, case


def test_every_rule_is_looked_at(results: dict[str, Any]) -> None:
    assert {rule for _, rule, _ in cases(results)} == set(results["rules"])
    assert len(results["rules"]) > 15


def test_the_rollout_makes_the_same_moves(results: dict[str, Any]) -> None:
    for network, rule, case in cases(results):
        where = (network, rule)
        assert case["masks"], where
        assert case["choices"], where
        assert case["costs"], where
        assert all(error < 1e-5 for _, error in case["signals"]), where
        assert case["likeliest"] < 1e-4, where
        assert case["finished"] == 4, where
        assert (case["forbidden"] == 0) == (rule in FREE), where  # the rule had something to say


def test_drawn_solutions_are_legal_and_cost_what_the_referee_says(results: dict[str, Any]) -> None:
    for network, rule, case in cases(results):
        where = (network, rule)
        assert case["drawn_alike"], where  # as step by step
        assert case["violations"] == [], where
        assert case["referee"] < 1e-5, where
        # With too few vehicles a drawn solution may get stuck; everywhere else all must finish.
        assert case["drawn"] == 4 or (rule == "few vehicles" and case["drawn"] > 0), where


@pytest.mark.parametrize("case", DEPOTS)
def test_several_depots_look_ahead_alike(results: dict[str, Any], case: str) -> None:
    found = results["several depots"][case]
    assert found["same_likeliest"]
    assert found["same_sampled"]
    assert found["same_costs"]
    assert found["sampled_other"]
    assert found["switches"] > 0  # otherwise the look-ahead had nothing to decide
    assert found["violations"] == []
    assert found["referee"] < 1e-5


@pytest.mark.parametrize("case", DEPOTS)
def test_several_depots_are_recorded_and_replayed_alike(results: dict[str, Any], case: str) -> None:
    found = results["several depots"][case]
    assert found["same_steps"]
    first, current, signals, allowed, action, active = found["same_record"]
    assert first == current == allowed == action == active == 0
    assert signals < 1e-5
    assert found["same_likelihoods"] < 1e-4
    for tables in found["gradients"]:
        assert tables["embedding"][1] > 1e-2  # there was something to learn
        for name, (error, norm, rounding) in tables.items():
            assert error <= 1e-3 * norm + TIMES * rounding, name


@pytest.mark.parametrize("case", DEPOTS[1:])
def test_depots_are_drawn_alike_on_the_same_grounds(results: dict[str, Any], case: str) -> None:
    found = results["several depots"][case]
    chosen, step, odds, customer, signals, allowed = found["same_choices"]
    assert chosen == step == customer == allowed == 0
    assert odds < 1e-3
    assert signals < 1e-5
    assert found["same_asked"]
    assert found["choices"] > 50
    assert found["not_the_surest"] > 5
    # Learned from where there are several depots, and nowhere else.
    *several, one, none = found["of_depots"]
    assert sum(share > 0.01 for share in several) >= 3
    assert max(one, none) < 1e-4


def test_every_signal_says_something_somewhere(results: dict[str, Any]) -> None:
    told: dict[int, set[str]] = {}
    for cases in results["cases"].values():
        for rule, case in cases.items():
            for number, (size, _) in enumerate(case["signals"]):
                told.setdefault(number, set()).update({rule} if size > 0 else ())
    assert told[1] == {
        "time windows",
        "open, length, windows",
        "asymmetric backhauls and windows",
        "durations of their own",
    }
    assert told[2] == {"load rule single", "load rule separate", "backhauls last"}
    assert told[3] == set(results["rules"])
    assert told[4] == {"length limit", "open, length, windows", "orienteering"}
    assert told[5] == {
        "load rule single",
        "load rule paper",
        "load rule separate",
        "backhauls last",
        "pickup, delivery and capacity",  # a pickup takes goods on board, too
    }
    assert told[6] == {"pickup, delivery and capacity"}


@pytest.mark.parametrize("network", NETWORKS)
def test_drawing_is_not_greedy(results: dict[str, Any], network: str) -> None:
    alike = [case["drawn_like_greedy"] for case in results["cases"][network].values()]
    assert alike.count(False) > 3


def test_the_replay_has_the_same_gradient(results: dict[str, Any]) -> None:
    """As the slow twin in float64, within what float32 makes of the twin itself."""
    for network, rule, case in cases(results):
        tables = case["gradients"]
        assert set(tables) == TABLES | (TABLES_OF_FACTS if network == "facts of moves" else set())
        assert max(norm for _, norm, _ in tables.values()) > 1e-3, (network, rule)
        for name, (error, norm, rounding) in tables.items():
            assert error <= 1e-3 * norm + TIMES * rounding, (network, rule, name)


@pytest.mark.parametrize("network", NETWORKS)
def test_plans_are_left_alike(results: dict[str, Any], network: str) -> None:
    found = results["deviations"][network]
    assert all(found["same"])
    assert found["finished"] > 40
    assert found["stuck"] > 10


@pytest.mark.parametrize("nodes", ["13", "132"])
def test_the_encoders_kernel_equals_its_twin(results: dict[str, Any], nodes: str) -> None:
    found = results["mixing"][nodes]
    assert set(found) == {"output", "projections", "weights"}
    assert all(error < 1e-5 for error in found.values())


@pytest.mark.parametrize("nodes", ["many nodes", "few nodes"])
def test_more_than_128_nodes_and_fewer_than_signals_go_alike(
    results: dict[str, Any], nodes: str
) -> None:
    (case,) = results[nodes].values()
    assert case["masks"]
    assert case["choices"]
    assert case["costs"]
    assert case["drawn_alike"]
    assert case["violations"] == []
    assert case["drawn"] == case["finished"] == 4
    assert case["referee"] < 1e-4
    assert set(case["gradients"]) == TABLES | TABLES_OF_FACTS
    for name, (error, norm, rounding) in case["gradients"].items():
        assert norm > 1e-3, name
        assert error <= 1e-3 * norm + TIMES * rounding, name


@pytest.mark.parametrize(
    ("registers", "shared", "blocks"),
    [(255, 98_320, 1), (128, 98_320, 2), (32, 0, 8)],  # 65,536 registers, 8 warps a block
)
def test_as_many_blocks_as_there_are_registers_get_shared_memory(
    monkeypatch: pytest.MonkeyPatch, registers: int, shared: int, blocks: int
) -> None:
    fused = pytest.importorskip("spacevrp.decode.fused")
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(fused, "_ask_for_shared", lambda *given: asked.append(given))
    metadata = SimpleNamespace(num_warps=8, shared=shared)
    fused._leave_cache(SimpleNamespace(metadata=metadata, n_regs=registers, function=7))
    assert asked == [(7, blocks * (shared + 1024))]


@pytest.mark.gpu
def test_on_a_gpu_at_full_size() -> None:
    """The bars of the project: 99.9 percent of greedy choices, mean costs within 0.001."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    from spacevrp.bench.agreement import measure_agreement
    from spacevrp.model.weights import load_weights
    from spacevrp.train.config import TrainConfig

    # Trained weights: the best moves of an untrained network are nearly tied.
    found = measure_agreement(TrainConfig(), torch.device("cuda"), load_weights()[0])
    assert found["equal_greedy_choices"] >= 0.999
    assert found["mean_cost_kernel"] == pytest.approx(found["mean_cost_twin"], rel=1e-3)


@pytest.mark.gpu
def test_several_depots_on_a_gpu() -> None:
    """In the form that training compiles."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    command = [sys.executable, str(PROGRAM.with_name("depots.py"))]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
