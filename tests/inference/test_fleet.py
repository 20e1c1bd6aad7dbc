"""Plans of fleets without torch are those of the torch path, random preferences included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from spacevrp.arrays.routes import routes_of
from spacevrp.decode.random_numbers import random_keys
from spacevrp.engines.fleet import search_fleets
from spacevrp.engines.memory import Cut
from spacevrp.inference.construct import construct
from spacevrp.inference.fleet import Fleet
from spacevrp.inference.keys import Mersenne
from spacevrp.inference.network import Network
from spacevrp.inference.settings import Seconds, Settings
from spacevrp.model import SpaceModel
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.tensors.fleet import stack_fleets

Of = Callable[[SpaceModel], Network]


def fleets() -> dict[str, Problem]:
    points = np.random.default_rng(4).random((12, 2)) * 50
    demand = [0, 0, *[1, 2, 3, 2, 1] * 2]
    both = [[load, 4 - load] if load else [0, 0] for load in demand]
    windows = [(0, 400), (0, 400), *[(10.0 * k, 10.0 * k + 150) for k in range(10)]]
    return {
        "types": Problem.from_coordinates(
            points,
            depots=[0, 1],
            demand=demand,
            vehicles=[
                Vehicle(count=2, capacity=8, start=0, end=1, fixed_cost=30.0),
                Vehicle(count=3, capacity=6, start=1, max_length=300.0),
                Vehicle(count=1, capacity=4, start=0, pinned=(5, 7)),
            ],
        ),
        "kinds of load": Problem.from_coordinates(
            points, depots=[0, 1], demand=both, capacity=[9, 9]
        ),
        "windows and penalties": Problem.from_coordinates(
            points,
            depots=[0, 1],
            demand=demand,
            windows=windows,
            service=[0, 0, *[5.0] * 10],
            penalty=[0, 0, *[60.0] * 5, *[np.inf] * 5],
            vehicles=[Vehicle(count=2, capacity=7, start=0), Vehicle(capacity=5, start=1)],
        ),
    }


def test_random_numbers_are_those_of_torch() -> None:
    source = Mersenne(2**62 + 12345)
    generator = torch.Generator().manual_seed(2**62 + 12345)
    assert np.array_equal(source.uniform(3, 5), torch.rand((3, 5), generator=generator).numpy())
    keys = random_keys((2, 9), torch.device("cpu"), generator)
    assert np.array_equal(source.keys(2, 9), keys.numpy())


@pytest.mark.parametrize("name", fleets())
def test_fleets(name: str) -> None:
    problem = fleets()[name]
    fleet, (_, wanted) = Fleet.of(problem), stack_fleets([problem])
    for field, value in fleet.vehicles.items():
        assert np.array_equal(value, getattr(wanted, field).numpy()), field


@pytest.mark.parametrize("name", fleets())
def test_the_same_plans(bundled: SpaceModel, network_of: Of, name: str) -> None:
    problem = fleets()[name]
    settings = Settings(augmentations=2, starts=None, samples=1, seed=5)
    cut, report = Cut(1, 2, 10**6), lambda _: None
    (wanted,) = search_fleets(bundled, [problem], settings, cut, report, Seconds())
    got = construct(network_of(bundled), problem, settings)
    assert got[0].cost == pytest.approx(wanted[0].cost, rel=1e-6)
    assert got[0].rank == wanted[0].rank
    assert judge(problem, routes_of(problem, got[0].sequence.tolist())).feasible


def test_fewer_starts_than_customers() -> None:
    fleet = Fleet.of(fleets()["types"])
    first = fleet.instance.num_depots
    assert (fleet.starts(None) - first).tolist() == list(range(10))
    assert (fleet.starts(4) - first).tolist() == [0, 2, 5, 7]
