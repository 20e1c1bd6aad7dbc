"""Start nodes, devices, the progress bar, the best of many, and what is made ahead by a thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest
import torch

from spacevrp.decode import launch
from spacevrp.decode.trace import Trace
from spacevrp.engines import rollouts
from spacevrp.engines.batching import Coming
from spacevrp.engines.devices import choose_device
from spacevrp.engines.progress import Progress
from spacevrp.engines.rollouts import Moves, choose, uses_kernel
from spacevrp.engines.search import Best, choose_starts
from spacevrp.engines.torch_engine import ahead
from spacevrp.env import Environment
from spacevrp.env.returns import return_paths
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver
from spacevrp.tensors import stack


def test_all_starts_and_some_spread_evenly() -> None:
    # Customers of CVRP are nodes 1 to 12, pickups of PDTSP are nodes 1 to 6.
    problems = [generate("CVRP", 12)[0], generate("PDTSP", 12)[0]]
    environment = Environment(stack(problems))
    every = choose_starts(environment, None)
    assert every[0].tolist() == list(range(1, 13))
    assert every[1].tolist() == 2 * list(range(1, 7))
    assert choose_starts(environment, 4).tolist() == [[1, 4, 7, 10], [1, 2, 4, 5]]
    assert choose_starts(environment, 99).tolist() == every.tolist()


def test_the_device_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    assert choose_device("cpu") == torch.device("cpu")
    with pytest.raises(SpacevrpError, match="expected a CUDA device for 'cuda', found none"):
        choose_device("cuda")
    for wrong in ("gpu", "mps", 1.5, ""):
        with pytest.raises(SpacevrpError, match="device: expected auto, cpu or cuda"):
            choose_device(wrong)  # type: ignore[arg-type]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto") == torch.device("cuda")
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(SpacevrpError, match="expected cuda:0 to cuda:1, received 'cuda:2'"):
        choose_device("cuda:2")


@pytest.mark.usefixtures("network_alone")
def test_the_bar_shows_where_somebody_watches(solver, capsys, monkeypatch):
    # Under the rule `paper` backhauls cannot come first: fewer plans than first expected.
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 1, 2, -3], capacity=4, load_rule="paper"
    )
    counts = []

    class Watched(Progress):
        def __exit__(self, *args: Any) -> None:
            counts.append((self._bar.n, self._bar.total))
            super().__exit__(*args)

    monkeypatch.setattr("spacevrp.solver.construct.Progress", Watched)
    monkeypatch.setattr("spacevrp.engines.progress.DELAY", 0.0)
    solver.solve(problem, augment=2)
    solver.solve(problem, augment=2, progress=True)  # stderr is no terminal here
    assert capsys.readouterr().err == ""
    solver.solve(problem, augment=2, progress="always")
    assert " plans/s" in capsys.readouterr().err
    assert counts[-1] == (16, 16)  # two starts of two augmentations, four plans from each


# ------------------------------------------------------------------------------- the best of many


def moves_of(cost: torch.Tensor, sequence: torch.Tensor) -> Moves:
    def take(order: torch.Tensor) -> torch.Tensor:
        return sequence.gather(1, order.unsqueeze(-1).expand(-1, -1, sequence.shape[2]))

    return Moves(cost, take)


def test_the_best_are_the_same_however_they_are_cut() -> None:
    batch = stack(generate("CVRP", 6, 2))
    generator = torch.Generator().manual_seed(3)
    # 3 augmentations, 20 starts; few distinct costs, so that ranks decide; the second is often
    # stuck.
    cost = torch.randint(0, 5, (2, 3, 20), generator=generator).float()
    cost[1, torch.rand((3, 20), generator=generator) < 0.95] = torch.inf
    sequence = torch.randint(0, 7, (2, 3, 20, 5), generator=generator)
    rank = torch.arange(60).view(3, 20)

    def served(item: int, position: int) -> int:
        return len(set(sequence[item].flatten(0, 1)[position].tolist()))

    expected = []
    for item in range(2):
        costs = cost[item].flatten().tolist()
        keys = [
            (value, -served(item, i) if value == float("inf") else 0, i)
            for i, value in enumerate(costs)
        ]
        expected.append([key[2] for key in sorted(keys)][:16])
    for augmentations, starts in ((3, 20), (1, 20), (2, 7), (3, 16)):
        best = Best(batch, 6)
        pieces = [(v, p) for v in range(0, 3, augmentations) for p in range(0, 20, starts)]
        for augmentation, start in reversed(
            pieces
        ):  # the order of the pieces does not matter either
            part = (
                slice(None),
                slice(augmentation, augmentation + augmentations),
                slice(start, start + starts),
            )
            done = moves_of(cost[part].flatten(0, 1), sequence[part].flatten(0, 1))
            best.add(done, rank[part[1:]])
        found = best.candidates()
        finite = int(torch.isfinite(cost[1]).sum())
        assert [one.rank for one in found[0]] == expected[0]
        assert [one.rank for one in found[1]][:finite] == expected[1][:finite]
        for item in range(2):
            for one in found[item]:
                row = sequence[item].flatten(0, 1)[one.rank].tolist()
                assert one.cost == cost[item].flatten()[one.rank]
                assert one.sequence.tolist() == [*row, row[-1]]  # it rests where it stopped


def test_of_stuck_rollouts_those_that_served_most_are_kept() -> None:
    batch = stack(generate("CVRP", 6))
    sequence = torch.tensor([[[0, 1, 1, 1], [0, 2, 3, 4], [0, 5, 6, 6]]])
    best = Best(batch, 4)
    best.add(moves_of(torch.full((1, 3), torch.inf), sequence), torch.arange(3).view(1, 3))
    (found,) = best.candidates()
    assert [one.rank for one in found] == [1, 2, 0]


def test_only_the_moves_of_the_winners_are_gathered() -> None:
    trace = Trace(
        starts=torch.tensor([[1, 2, 3], [4, 5, 1]]),
        origin=torch.zeros((2, 3), dtype=torch.int64),
        action=torch.arange(2 * 4 * 3, dtype=torch.int32).view(2, 4, 3) % 6,
        steps=torch.tensor([[4, 2, 3], [1, 0, 4]], dtype=torch.int32),
        cost=torch.rand(2, 3),
    )
    order = torch.tensor([[2, 0], [1, 2]])
    every = trace.sequences()
    some = choose(trace, order).sequences()
    assert some.tolist() == [[every[0, 2].tolist(), every[0, 0].tolist()], [*every[1, 1:].tolist()]]
    assert choose(trace, order).cost.tolist() == trace.cost.gather(1, order).tolist()


# ----------------------------------------------------------------------------------- the kernel

KERNEL_CHECK = """
from functools import partial
import torch
from spacevrp.decode.launch import Launch
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.engines import rollouts
from spacevrp.solver import Solver

torch.manual_seed(0)
config = ModelConfig(width=16, layers=1, feedforward=16, pivots=2, rank=2, heads=1)
solver = Solver(SpaceModel(config), "cpu")
problems = [p for n in ("CVRPTW", "ATSP", "PDTSP", "OP") for p in generate(n, 6, 1)]
slow = solver.solve(problems, augment=2)
rollouts.uses_kernel = lambda environment, width: True
rollouts.fused_rollout = partial(rollouts.fused_rollout, launch=Launch(torch.float32))
assert solver.solve(problems, augment=2) == slow
short = Problem.from_coordinates(
    [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 2, 2, 2], capacity=3, max_routes=2
)
reason = solver.run([short], augment=1).reasons[0]
assert reason.startswith("1 of 3 customers left out: all 2 routes that are allowed"), reason
print("equal")
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
def test_the_kernel_finds_the_same_plans_in_the_interpreter() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KERNEL_CHECK],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("equal\n", 0), done.stderr


def test_the_kernel_is_for_gpus_and_few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnGpu:
        """A batch that says it lies on a GPU."""

        def __init__(self, name: str, size: int) -> None:
            self.batch = self
            real = stack(generate(name, size))
            self.num_nodes, self.num_depots = real.num_nodes, int(real.is_depot.sum())
            self.device = torch.device("cuda")
            self.home = return_paths(real, direct=True)

    def fits(name: str, size: int, width: int = 128) -> bool:
        return uses_kernel(OnGpu(name, size), width)  # type: ignore[arg-type]

    memory = 227 * 1024  # of an H100
    monkeypatch.setattr(launch, "shared_memory", lambda device: memory)
    monkeypatch.setattr(rollouts, "_has_triton", lambda: True)
    assert fits("CVRP", 255)
    assert fits("TSP", 256)
    assert not fits("CVRP", 256)
    assert fits("MDCVRP", 253)
    detours = OnGpu("CVRP", 10)
    detours.home = return_paths(stack(generate("CVRP", 10)), direct=False)
    assert not uses_kernel(detours, 128)  # type: ignore[arg-type]
    many = OnGpu("MDCVRP", 20)
    many.num_depots = 9
    assert not uses_kernel(many, 128)  # type: ignore[arg-type]
    assert not uses_kernel(Environment(stack(generate("CVRP", 10))), 128)
    memory = 163 * 1024  # of an A100
    assert fits("CVRP", 127)
    assert not fits("CVRP", 128)
    assert fits("CVRP", 128, width=64)
    memory = 99 * 1024  # of a GPU for games
    assert fits("CVRP", 127)
    assert not fits("CVRP", 127, width=256)
    monkeypatch.setattr(rollouts, "_has_triton", lambda: False)
    assert not fits("CVRP", 10)


def test_a_missing_triton_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollouts, "find_spec", lambda name: None)
    rollouts._has_triton.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="Triton is not installed: .* step by step"):
            assert not rollouts._has_triton()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not rollouts._has_triton()
    finally:
        rollouts._has_triton.cache_clear()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_finds_plans_about_as_good() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = ModelConfig(width=64, layers=3, feedforward=128)
        on_cpu, on_gpu = Solver(SpaceModel(config), "cpu"), Solver(SpaceModel(config), "cuda")
    on_gpu.model.load_state_dict(on_cpu.model.state_dict())
    names = ("CVRP", "AMDOCVRPBPLTW", "PDTSP", "OP")
    problems = [problem for name in names for problem in generate(name, 20, 5)]
    expected = sum(solution.cost for solution in on_cpu.solve(problems, sample=1))
    received = on_gpu.solve(problems, sample=1)
    assert all(solution.feasible for solution in received)
    # bfloat16 may turn a close decision, not the overall result.
    assert sum(solution.cost for solution in received) == pytest.approx(expected, rel=0.03)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["CVRP", "ATSP", "OP", "PCTSP", "PDTSP", "CVRPB", "ACVRPBTW"])
def test_the_kernel_is_as_good_as_single_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        solver = Solver(SpaceModel(ModelConfig(width=64, layers=3, feedforward=128)), "cuda")
    problems = generate(name, 50, 32)
    fast = solver.run(problems, augment=4)
    monkeypatch.setattr(rollouts, "uses_kernel", lambda environment, width: False)
    slow = solver.run(problems, augment=4)
    assert fast.reasons == slow.reasons == {}
    assert fast.refused == 0
    costs = [sum(one.cost for one in attempt.solutions if one) for attempt in (fast, slow)]
    assert costs[0] == pytest.approx(costs[1], rel=0.02)


def test_items_come_in_order_and_an_error_after_those_before_it() -> None:
    def source() -> Iterator[int]:
        yield from range(5)
        raise ValueError("no sixth")

    items = ahead(source(), 2)
    assert [next(items) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="no sixth"):
        next(items)
    assert list(ahead(iter(range(100)), 3)) == list(range(100))
    assert list(ahead(iter(()), 1)) == []


def test_no_more_is_made_than_was_allowed() -> None:
    made, enough = [], threading.Event()

    def source() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            if len(made) == 4:  # one was taken, two wait, and one has no place yet
                enough.set()
            yield number

    items = ahead(source(), 2)
    assert next(items) == 0
    assert enough.wait(60)
    items.close()  # type: ignore[attr-defined]  # a generator; its thread has ended afterwards
    assert made == [0, 1, 2, 3]


def test_the_source_works_in_a_thread_within_the_given_context() -> None:
    seen = []

    @contextmanager
    def here() -> Iterator[None]:
        seen.append(("enter", threading.current_thread().name))
        yield
        seen.append(("leave", threading.current_thread().name))

    assert list(ahead(iter((1, 2)), 1, here())) == [1, 2]
    assert seen == [("enter", "spacevrp-ahead"), ("leave", "spacevrp-ahead")]


def test_a_block_prepared_ahead_is_the_block_that_is_taken() -> None:
    problems = generate("CVRP", 6, 5)
    coming = Coming(problems)
    assert coming.take(0, 2).problems == problems[:2]
    coming.begin(2, 2)
    assert coming.take(2, 2).problems == problems[2:4]
    coming.begin(4, 2)  # the memory ended: smaller blocks
    first, second = coming.take(2, 1), coming.take(4, 2)
    assert (first.problems, second.problems) == (problems[2:3], problems[4:])
    assert second.batch.distance.shape[0] == 1
    coming.begin(5, 2)  # there is none
    assert coming.take(3, 2).problems == problems[3:]
