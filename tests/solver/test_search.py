"""Start nodes, devices and the progress bar."""

from __future__ import annotations

import pytest
import torch

from spacevrp.env import Environment
from spacevrp.generate import generate
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.solver import Solver
from spacevrp.solver.devices import choose_device
from spacevrp.solver.search import choose_starts
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


def test_as_many_starts_as_there_are_whatever_the_company() -> None:
    pairs = generate("PDTSP", 12)[0]
    alone = choose_starts(Environment(stack([pairs])), 8)
    among = choose_starts(Environment(stack([generate("CVRP", 12)[0], pairs])), 8)[1]
    assert alone.shape[1] == 6
    assert set(alone[0].tolist()) == set(among.tolist()) == set(range(1, 7))


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


def test_the_bar_shows_where_somebody_watches(
    solver: Solver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Under the rule `paper` backhauls cannot come first: fewer plans than first expected.
    problem = Problem.from_coordinates(
        [(0, 0), (0, 1), (1, 0), (1, 1)], demand=[0, 1, 2, -3], capacity=4, load_rule="paper"
    )
    monkeypatch.setattr("spacevrp.solver.progress.DELAY", 0.0)
    solver.solve(problem, augment=2)
    solver.solve(problem, augment=2, progress=True)  # stderr is no terminal here
    assert capsys.readouterr().err == ""
    solver.solve(problem, augment=2, progress="always")
    assert "4.00/4.00" in capsys.readouterr().err
