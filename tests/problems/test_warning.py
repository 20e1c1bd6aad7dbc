"""Warnings name what they are about, and point at the line that caused them."""

from __future__ import annotations

import inspect
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import spacevrp
from spacevrp.problems.errors import ProblemError, UnsupportedError
from spacevrp.problems.problem import Problem
from spacevrp.problems.warning import IgnoredWarning, UnitWarning

POINTS = [(0, 0), (3, 0), (0, 4)]
DAY = [("08:00", "18:00"), ("08:30", "09:00"), ("08:30", "10:00")]


def vroom(*priorities: int | None) -> dict[str, Any]:
    jobs = [{"id": 7 + n, "location_index": n + 1} for n in range(len(priorities))]
    for job, priority in zip(jobs, priorities, strict=True):
        if priority is not None:
            job["priority"] = priority
    size = len(jobs) + 1
    matrix = [[abs(a - b) for b in range(size)] for a in range(size)]
    return {"vehicles": [{"id": 1, "start_index": 0}], "jobs": jobs, "matrix": matrix}


@pytest.mark.parametrize("maker", [Problem.from_vroom, Problem.from_data])
def test_steps_that_are_left_out_are_named(maker: Any) -> None:
    document = vroom(None, 100, 3)
    document["vehicles"][0]["steps"] = [{"type": "job", "id": 8}]
    with pytest.warns(IgnoredWarning, match="vehicle 0, steps: where VROOM's search") as caught:
        problem = maker(document)
    (warning,) = caught
    assert warning.filename == __file__
    assert problem.priority.tolist() == [0, 0, 100, 3]


def test_service_in_numbers_beside_times_of_day_needs_a_unit() -> None:
    with pytest.warns(UnitWarning, match=r"service: 5 is 5 seconds, .* time_unit") as caught:
        problem = Problem.from_coordinates(POINTS, windows=DAY, service=[0, 5, 10])
    line = inspect.currentframe()
    (warning,) = caught
    assert warning.filename == __file__
    assert warning.lineno == line.f_lineno - 4
    assert problem.service.tolist() == [0, 5, 10]


@pytest.mark.parametrize(
    "fields",
    [
        {"windows": DAY, "service": [0, 5, 10], "time_unit": "s"},
        {"windows": DAY, "service": [0, 5, 10], "time_unit": "min"},
        {"windows": DAY, "service": [timedelta(0), timedelta(minutes=5), timedelta(minutes=9)]},
        {"windows": DAY, "service": [0, 0, 0]},
        {"windows": DAY},
        {"windows": [(0, 90)] * 3, "service": [0, 5, 10]},
    ],
)
def test_a_unit_that_is_said_or_not_needed_is_no_warning(fields: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = Problem.from_coordinates(POINTS, **fields)
        assert problem.replace(name="again").name == "again"


def test_files_warn_of_units_too(tmp_path: Path) -> None:
    (tmp_path / "day.json").write_text(
        '{"coordinates": [[0, 0], [3, 0]], "service": [0, 5], '
        '"windows": [["08:00", "18:00"], ["08:30", "09:00"]]}'
    )
    (tmp_path / "day.csv").write_text(
        "x,y,service,open,close\n0,0,0,08:00,18:00\n3,0,5,08:30,09:00\n"
    )
    for name in ("day.json", "day.csv"):
        with pytest.warns(UserWarning, match="service: 5 is 5 seconds") as caught:
            problem = spacevrp.read(tmp_path / name)
        assert {warning.filename for warning in caught} == {__file__}
    spacevrp.write(problem, tmp_path / "again.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spacevrp.read(tmp_path / "again.json") == problem


def test_columns_that_are_left_out_point_at_the_caller() -> None:
    frame = {"x": [0, 1], "y": [0, 1], "colour": ["red", "blue"]}
    for make in (Problem.from_frame, Problem.from_data):
        with pytest.warns(UserWarning, match="columns left out: 'colour'") as caught:
            make(frame)
        assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: Problem.from_coordinates(POINTS, skills=[1]), "Problem.from_coordinates, skills"),
        (lambda: Problem.from_coordinates(POINTS, vehicles=[{"skills": [1]}]), "vehicles, skills"),
    ],
)
def test_what_is_not_modelled_is_not_taken_for_a_slip(make: Any, where: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{where}: not modelled here yet: skills"):
        make()


def test_what_vehicles_say_is_told_to_be_theirs() -> None:
    expected = "Problem.from_coordinates: expected breaks of vehicles, as one of their fields"
    with pytest.raises(ProblemError, match=expected):
        Problem.from_coordinates(POINTS, breaks=[1])


def test_times_in_errors_are_those_that_were_typed() -> None:
    wrong = [DAY[0], ("08:30", "08:00"), DAY[2]]
    with pytest.raises(ProblemError, match=r"closes after it opens, received 08:30 to 08:00$"):
        Problem.from_coordinates(POINTS, windows=wrong)
    far = [(0, 0), (3600, 0), (0, 4)]
    expected = r"still open at 09:20, the earliest possible arrival, received closing at 09:00$"
    early = [("08:20", "18:00"), DAY[1], DAY[2]]
    with pytest.raises(ProblemError, match=expected):
        Problem.from_coordinates(far, windows=early)
    with pytest.raises(ProblemError, match=r"an end after the beginning, received 12:00 to 11:00$"):
        Problem.from_coordinates(POINTS, windows=DAY, vehicles=[{"window": ("12:00", "11:00")}])
    with pytest.raises(ProblemError, match=r"closes after it opens, received 30 to 10$"):
        Problem.from_coordinates(POINTS, windows=[(0, 90), (30, 10), (0, 90)])


def test_keys_beside_a_routing_table_are_named() -> None:
    table = {"code": "Ok", "durations": [[0, 1], [1, 0]]}
    with pytest.warns(IgnoredWarning, match="left out: 'demands'"):
        Problem.from_table({**table, "demands": [0, 3]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Problem.from_table({**table, "data_version": "1", "metadata": {}})
