"""Arrays of single instances are the tensors of a batch without its padding."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from spacevrp.arrays import Instance, prepare
from spacevrp.arrays.fleet import fleet_view
from spacevrp.arrays.instance import _OF_NODES
from spacevrp.arrays.plane import Plane
from spacevrp.generators.testsets import generate
from spacevrp.problems.distances import GEOMETRIES, ROUNDINGS, Metric
from spacevrp.problems.errors import UnsupportedError
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.problem import Problem
from spacevrp.problems.variants import VARIANTS
from spacevrp.tensors import Batch, stack
from spacevrp.tensors.fleet import stack_fleets


def assert_row(instance: Instance, batch: Batch, number: int) -> None:
    size = instance.size
    assert size == int(batch.is_node[number].sum())
    assert np.array_equal(instance.is_depot, batch.is_depot[number, :size].numpy())
    for field in fields(Instance):
        if field.name == "num_depots":
            continue
        wanted = getattr(batch, field.name)[number]
        value = getattr(instance, field.name)
        if field.name in ("distance", "duration"):
            wanted = wanted[:size, :size]
        elif field.name in _OF_NODES:
            wanted = wanted[:size]
        else:
            value = np.asarray(value, dtype=wanted.numpy().dtype)
        assert np.array_equal(value, wanted.numpy()), field.name
    assert (instance.duration is instance.distance) or batch.duration is not batch.distance


def test_all_variants() -> None:
    problems = [generate(variant, 6, 1, 3)[0] for variant in VARIANTS]
    batch = stack(problems)
    for number, instance in enumerate(map(prepare, problems)):
        assert_row(instance, batch, number)
        assert instance.demand.dtype == instance.distance.dtype == np.float32


def test_depots_anywhere_pairs_and_units() -> None:
    points = np.random.default_rng(0).random((7, 2)) * 900
    problems = [
        Problem.from_coordinates(
            points, depots=[4, 1], demand=[1, 0, 1, 2, 0, 1, 1], capacity=3, max_length=5000.0
        ),
        Problem.from_coordinates(
            points, depots=[6], pairs=[(0, 3), (5, 1), (2, 4)], service=[9.0] * 6 + [0.0]
        ),
        Problem.from_matrix(
            np.where(np.eye(7, k=1), np.inf, 3.0), durations=np.full((7, 7), 60.0), depots=[0]
        ),
    ]
    batch = stack(problems)
    for number, instance in enumerate(map(prepare, problems)):
        assert_row(instance, batch, number)


def test_fleets_need_a_view() -> None:
    points = np.random.default_rng(1).random((6, 2))
    problem = Problem.from_coordinates(
        points,
        depots=[2, 0],
        demand=[0, 1, 0, 1, 2, 1],
        vehicles=[Vehicle(capacity=2, start=0, end=2), Vehicle(capacity=3, start=2)],
    )
    with pytest.raises(UnsupportedError, match="a batch holds alike vehicles"):
        prepare(problem)
    instance = prepare(problem, view=fleet_view(problem))
    assert_row(instance, stack_fleets([problem])[0], 0)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_lengths_on_the_fly(geometry: str, rounding: str) -> None:
    points = np.random.default_rng(2).random((9, 2)) * 80
    problem = Problem.from_coordinates(points, depots=[3], metric=Metric(geometry, rounding))
    whole, instance = prepare(problem), prepare(problem, on_the_fly=True)
    plane = instance.distance
    assert isinstance(plane, Plane)
    assert isinstance(whole.distance, np.ndarray)
    assert instance.duration is plane
    assert plane.shape == (9, 9)
    assert np.array_equal(plane.rows(np.array([4, 0, 8])), whole.distance[[4, 0, 8]])
    tile = plane.tile(slice(2, 6))
    # In float32, where rounding to whole numbers may go the other way.
    step = {"none": 0.0, "one-decimal": 0.1}.get(rounding, 1.0) / problem.unit
    assert np.abs(tile - whole.distance[2:6]).max() <= step + 1e-5 * whole.distance.max()


def test_a_matrix_stays_one() -> None:
    (problem,) = generate("ATSP", 5, 1, 1)
    instance = prepare(problem, on_the_fly=True)
    assert isinstance(instance.distance, np.ndarray)
    with pytest.raises(ValueError, match="received a matrix"):
        Plane.of(problem.distances, np.arange(5), 1.0)


def test_huge_prizes_and_penalties_stay_finite() -> None:
    """Prizes are told in the largest, once float32 cannot hold them; penalties are cut."""
    problem = Problem.from_coordinates(
        [[0, 0], [1, 0], [0, 1]],
        prize=[0, 1e50, 5e49],
        penalty=[np.inf, 1e50, 3],
        min_prize=1e50,
        max_routes=1,
    )
    instance = prepare(problem)
    assert instance.prize.tolist() == [0.0, 1.0, 0.5]
    assert instance.min_prize == 1.0
    assert instance.penalty.tolist() == [0.0, pytest.approx(1e12), 3.0]


def test_a_closing_time_beyond_float32_is_none() -> None:
    """A warning of NumPy would fail the test."""
    windows = [(0, 1e50), (0, 9), (0, 1e50)]
    problem = Problem.from_coordinates([(0, 0), (3, 0), (0, 4)], windows=windows)
    instance = prepare(problem)
    assert np.isinf(instance.closing[[0, 2]]).all()
    assert instance.closing[1] == pytest.approx(9)
