"""Two engines for one network: which of them works, and that both make the same plans."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from spacevrp import native
from spacevrp.engines import choosing, devices
from spacevrp.engines.choosing import choose_engine
from spacevrp.engines.devices import wants_gpu
from spacevrp.engines.native_engine import NativeEngine
from spacevrp.engines.torch_engine import TorchEngine
from spacevrp.generators import generate
from spacevrp.inference.large import LargeInstance
from spacevrp.model import SpaceModel
from spacevrp.model.weights import save_weights
from spacevrp.problems.errors import SpacevrpError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver

pytestmark = pytest.mark.skipif(native.network is None, reason="needs the compiled network")

VARIANTS = ("CVRP", "ACVRPTW", "PDCVRP", "MDCVRP", "OCVRPB", "TSP", "OP", "SPCTSP")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory, model: SpaceModel) -> Path:
    """The small random model in a file."""
    return save_weights(tmp_path_factory.mktemp("weights") / "small", model, {})


@pytest.fixture(scope="module")
def both(weights: Path) -> tuple[Solver, Solver]:
    return Solver(weights, "cpu"), Solver(weights, "cpu", engine="torch")


def test_a_cpu_has_the_compiled_network(weights: Path, model: SpaceModel) -> None:
    assert isinstance(choose_engine(None, "cpu"), NativeEngine)
    assert isinstance(choose_engine(weights, "cpu"), NativeEngine)
    assert isinstance(choose_engine(str(weights), torch.device("cpu")), NativeEngine)
    assert isinstance(choose_engine(weights, "cpu", engine="torch"), TorchEngine)
    given = choose_engine(model, "cpu")
    assert isinstance(given, TorchEngine)
    assert given.model is model


def test_torch_where_the_compiled_network_is_missing(weights, monkeypatch):
    monkeypatch.setattr(native, "network", None)
    assert isinstance(choose_engine(weights, "cpu"), TorchEngine)
    with pytest.raises(SpacevrpError, match="the compiled network"):
        choose_engine(weights, "cpu", engine="native")
    monkeypatch.setattr(choosing, "has_torch", lambda: False)
    expected = r"the compiled network .*install a C\+\+20 compiler.* have PyTorch run .*: pip"
    with pytest.raises(SpacevrpError, match=expected):
        choose_engine(weights, "cpu")


def test_what_only_torch_can_do_is_said(model, tmp_path, monkeypatch):
    for weights, what in ((model, "a model of torch"), (tmp_path, "a training run's folder")):
        with pytest.raises(SpacevrpError, match=f"expected torch for {what}, received 'native'"):
            choose_engine(weights, "cpu", engine="native")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SpacevrpError, match="a training run's folder: PyTorch is not installed"):
        choose_engine(tmp_path, "cpu")
    with pytest.raises(SpacevrpError, match="engine torch: PyTorch is not installed: pip install"):
        choose_engine(None, "cpu", engine="torch")
    with pytest.raises(SpacevrpError, match="device: expected cpu, received 'cuda:1': PyTorch"):
        choose_engine(None, "cuda:1")
    assert isinstance(choose_engine(None, "auto"), NativeEngine)


def test_a_wrong_engine_or_device_is_named() -> None:
    with pytest.raises(SpacevrpError, match="engine: expected auto, native, torch, received 'tf'"):
        choose_engine(engine="tf")  # type: ignore[arg-type]
    with pytest.raises(SpacevrpError, match="device: expected auto, cpu or cuda, received 'tpu'"):
        choose_engine(device="tpu")


def test_torch_is_asked_for_a_gpu_only_where_there_may_be_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert wants_gpu("auto")  # torch is loaded: it tells
    assert not wants_gpu("cpu")
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(devices, "_finds_driver", lambda: False)
    assert not wants_gpu("auto")
    assert "torch" not in sys.modules


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_plans(both: tuple[Solver, Solver], variant: str) -> None:
    """With the usual samples and policy heads."""
    problems = generate(variant, 12, 2, seed=3)
    for options in ({"augment": 2}, {"augment": 2, "protocol": "paper"}, {"candidates": 5}):
        here, there = (
            solver.run(problems, **({"protocol": "network"} | options)) for solver in both
        )
        assert [plan and plan.cost for plan in here.solutions] == pytest.approx(
            [plan and plan.cost for plan in there.solutions]
        )
        assert all(plan.feasible for plan in here.solutions if plan)
        assert here.notes == there.notes
        for one, other in zip(here.results, there.results, strict=True):
            assert one.expected == pytest.approx(other.expected)
            assert one.hindsight == pytest.approx(other.hindsight)


def test_large_instances_as_the_paper_has_them(both: tuple[Solver, Solver]) -> None:
    """All starts and choices, distances as they are."""
    (problem,) = generate("CVRP", 201, 1)
    (usual, plain) = (LargeInstance.of(problem, adjusted=adjusted) for adjusted in (True, False))
    assert usual.depot_weight < 1 < usual.missing
    assert (plain.depot_weight, plain.missing, plain.bonus.any()) == (1.0, 1.0, False)
    assert both[0].solve(problem, protocol="paper", augment=1).feasible


def test_samples_of_large_instances_are_left_to_torch(both, monkeypatch):
    (problem,) = generate("CVRP", 10, 1)
    options = {"candidates": 4, "sample": 1, "improve": False, "augment": 1}
    here, there = (solver.solve(problem, **options) for solver in both)
    assert here == there
    monkeypatch.setitem(sys.modules, "torch", None)
    expected = "samples of an instance with 10 customers: PyTorch is not installed: pip install"
    with pytest.raises(UnsupportedError, match=expected):
        both[0].solve(problem, **options)


def test_without_torch_a_second_attempt_is_left_out_with_a_note(both, monkeypatch):
    """Nothing fits: both customers have to be served by one vehicle that takes one of them."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0)], depots=[0], demand=[0, 1, 1], capacity=1, max_routes=1
    )
    monkeypatch.setattr("spacevrp.solver.construct.fleet_too_small", lambda problem: False)
    monkeypatch.setitem(sys.modules, "torch", None)
    attempt = both[0].run(problem, candidates=1, improve=False)
    assert attempt.solutions == [None]
    assert len(attempt.partial[0].routes) == 1
    assert any("PyTorch is not installed" in note for note in attempt.notes)


def test_the_deadline_ends_the_compiled_network(both: tuple[Solver, Solver]) -> None:
    attempt = both[0].run(generate("CVRP", 8, 2), search=False, time=1e-9)
    assert attempt.solutions == [None, None]


def test_the_model_of_torch_is_where_torch_is(both: tuple[Solver, Solver]) -> None:
    assert isinstance(both[1].model, SpaceModel)
    with pytest.raises(AttributeError, match="expected a solver with engine='torch'"):
        _ = both[0].model
    assert (str(both[0].device), str(both[1].device)) == ("cpu", "cpu")


def test_threads(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Solver(weights, "cpu", threads=3).engine.threads == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert Solver(weights, "cpu", threads=None).engine.threads == 2
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert Solver(weights, "cpu", threads=None).engine.threads >= 1
