"""Dates and times of day as numbers, and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.problems.clock import Clock, as_durations, parse_moment, read_windows
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem

EIGHT = datetime(2026, 3, 2, 8, 0)
NINE = EIGHT + timedelta(hours=1)
LINE = [(0, 0), (3, 0), (3, 4)]
BERLIN = ZoneInfo("Europe/Berlin")


def at(hour: int, minute: int = 0, day: int = 2) -> datetime:
    return datetime(2026, 3, day, hour, minute)


def test_datetimes_count_from_the_first_opening() -> None:
    windows, clock = read_windows([(NINE, at(10)), (EIGHT, None), (None, at(8, 30))], "min")
    assert clock == Clock(EIGHT, "min", "datetime")
    assert windows.tolist() == [[60, 120], [0, np.inf], [-np.inf, 30]]
    assert clock.moment(90.0) == at(9, 30)
    assert clock.moment(np.inf) == np.inf


def test_iso_text_comes_back_as_text() -> None:
    windows, clock = read_windows([("2026-03-02T08:00", "2026-03-02 18:00"), ("", None)], "s")
    assert windows.tolist() == [[0, 36_000], [-np.inf, np.inf]]
    assert clock.moment(61.0) == "2026-03-02T08:01:01"
    assert clock.moment(0.5) == "2026-03-02T08:00:00.500"


def test_times_of_day_go_past_midnight() -> None:
    windows, clock = read_windows([("22:15", "26:00"), (time(23, 0), "24:00")], "h")
    assert windows.tolist() == [[0, 3.75], [0.75, 1.75]]
    assert clock.moment(0.75) == "23:00"
    assert clock.moment(3.25) == "25:30"
    assert clock.moment(1.75 + 1 / 3600) == "24:00:01"


def test_the_clock_knows_when_summer_begins() -> None:
    """At 2:00 on 29 March 2026 clocks in Berlin are put forward to 3:00."""
    before = datetime(2026, 3, 29, 1, 30, tzinfo=BERLIN)
    after = datetime(2026, 3, 29, 3, 30, tzinfo=BERLIN)
    windows, clock = read_windows([(before, after)], "min")
    assert windows.tolist() == [[0, 60]]
    assert clock.moment(60.0) == after
    assert clock.moment(60.0).utcoffset() == timedelta(hours=2)  # type: ignore[union-attr]


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2090, 1, 1)),
    st.integers(0, 10**8),
    st.sampled_from(["s", "min", "h"]),
    st.sampled_from(["datetime", "iso"]),
)
def test_a_moment_survives_the_way_there_and_back(origin, milliseconds, unit, form):
    origin = origin.replace(microsecond=0)
    clock = Clock(origin, unit, form)
    moment = origin + timedelta(milliseconds=milliseconds)
    there = clock.moment(clock.number(moment))
    assert parse_moment(there)[0] == moment


@pytest.mark.parametrize(
    ("windows", "node", "part"),
    [
        ([("08:00", "09:00"), ("2026-03-02T08:00", None)], 1, "dates everywhere or times of day"),
        ([(EIGHT, None), (EIGHT.replace(tzinfo=UTC), None)], 1, "all moments with a time zone"),
        ([(EIGHT, None), (date(2026, 3, 2), None)], 1, "a date with a time"),
        ([(EIGHT, None), ("2026-03-02", None)], 1, "a date with a time"),
        ([(EIGHT, None), (7, None)], 1, "a date with a time .* received 7"),
        ([(EIGHT, None), (EIGHT,)], 1, "an opening and a closing"),
        ([("08:61", "09:00"), ("08:00", "09:00")], 0, "received '08:61'"),
        ([(at(10), at(9)), (at(8), None)], 0, "closes after it opens"),
        ([(None, None), ("8:00 AM", "9:00 AM")], 1, r"2026-03-02T08:30.*08:30.*'8:00 AM'"),
        ([(0, 9), ("2026-03-02", None)], 1, r"a number, a date with a time .*'2026-03-02'"),
        ([(0, 9), (date(2026, 3, 2), 9)], 1, "a number, a date with a time"),
    ],
)
def test_what_is_no_window(windows: list[Any], node: int, part: str) -> None:
    with pytest.raises(ProblemError, match=part) as caught:
        Problem.from_coordinates([(0, 0), (1, 0)], windows=windows)
    assert caught.value.field == "windows"
    assert caught.value.node == node


def test_durations_in_timedeltas() -> None:
    minutes = [timedelta(0), timedelta(minutes=5), np.timedelta64(90, "s")]
    assert as_durations(minutes, "min") == [0, 5, 1.5]
    assert as_durations(np.array(minutes, dtype="timedelta64[s]"), "s").tolist() == [0, 300, 90]
    assert as_durations([1, 2.5], "h") == [1, 2.5]
    problem = Problem.from_coordinates(LINE, service=minutes, time_unit="min")
    assert problem.service.tolist() == [0, 5, 1.5]


def test_a_copy_keeps_the_clock_or_gets_new_windows() -> None:
    problem = Problem.from_coordinates(LINE, windows=[(EIGHT, at(18))] * 3, time_unit="min")
    assert problem.replace(name="b") == problem
    later = problem.replace(windows=[(NINE, at(18))] * 3)
    assert later.clock == problem.clock
    assert later.windows.tolist() == [[60, 600]] * 3


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((EIGHT, "days"), "one of"),
        ((EIGHT, "s", "stardate"), "one of"),
        ((8.0, "s", "iso"), "a datetime as origin"),
        ((EIGHT, "s", "number"), "a number as origin"),
    ],
)
def test_a_clock_that_cannot_be(arguments: Any, part: str) -> None:
    with pytest.raises(ProblemError, match=part):
        Clock(*arguments)


def test_beyond_the_calendar_a_number_stays() -> None:
    assert Clock(datetime(9999, 12, 31)).moment(1e9) == 1e9
