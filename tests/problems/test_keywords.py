"""Arguments that nobody knows."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import spacevrp
from spacevrp.problems.errors import ProblemError, SpacevrpError
from spacevrp.problems.keywords import naming_arguments
from spacevrp.problems.problem import Problem

POINTS = [(0, 0), (0, 1)]
MATRIX = [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("make", "arguments", "meant"),
    [
        (Problem.from_coordinates, (POINTS,), {"demands": "demand"}),
        (Problem.from_coordinates, (POINTS,), {"speed_kph": "speed_kmh|depots"}),
        (Problem.from_lonlat, (POINTS,), {"window": "windows"}),
        (Problem.from_matrix, (MATRIX,), {"duration": "durations"}),
        (Problem.from_frame, ({"x": [0, 1], "y": [0, 1]},), {"capacities": "capacity"}),
        (Problem.from_ortools, ({"distance_matrix": MATRIX},), {"maxlength": "max_length"}),
        (Problem.from_table, ({"durations": MATRIX},), {"minimize": "min_prize|maximise_prize"}),
        (Problem.from_data, ({"matrix": MATRIX},), {"vehicle": "vehicles|vehicle_ids"}),
    ],
)
def test_makers_name_the_nearest(make: Any, arguments: Any, meant: dict[str, str]) -> None:
    ((slip, name),) = meant.items()
    with pytest.raises(ProblemError) as caught:
        make(*arguments, **{slip: None})
    message = str(caught.value)
    assert message.startswith(f"Problem.{make.__name__}: expected known arguments")
    assert f"received {slip!r}" in message
    if "|" not in name:
        assert f"(the nearest is {name!r})" in message


def test_the_public_functions_name_the_nearest() -> None:
    problem = Problem.from_coordinates(POINTS)
    with pytest.raises(ProblemError, match=r"replace: .*\(the nearest is 'demand'\).*'demands'"):
        problem.replace(demands=[0, 1])
    with pytest.raises(SpacevrpError, match=r"solve: .*\(the nearest is 'time'\).*'timelimit'"):
        spacevrp.solve(problem, timelimit=3)
    with pytest.raises(SpacevrpError, match=r"read: .*\(the nearest is 'rounding'\)"):
        spacevrp.read("a.vrp", round="up")
    with pytest.raises(SpacevrpError, match="judge: expected known arguments"):
        spacevrp.judge(problem, [[0, 1, 0]], vehicle=[0])


def test_a_function_stays_what_it_is() -> None:
    """Its name, its arguments and its home: other processes find it again."""

    def add(one: int, *, other: int = 2) -> int:
        return one + other

    named = naming_arguments(add)
    assert named(1) == 3
    assert named(one=1, other=5) == 6
    assert named.__name__ == "add"
    assert pickle.loads(pickle.dumps(spacevrp.judge)) is spacevrp.judge
