"""Dates and times of day: the user's moments as numbers of a time unit, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np

from spacevrp.problems.conversion import Array, as_number, show
from spacevrp.problems.errors import ProblemError

# What stands for a moment: a date with a time, text, or a plain number.
Moment = datetime | str | float

# Seconds of the units that durations may be in.
TIME_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
FORMS = ("datetime", "iso", "time of day", "number")

# Hours from 24 on are the next day, as in timetables.
_TIME_OF_DAY = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d{1,6})?))?")
_EXPECTED = "a date with a time (2026-03-02T08:30) or a time of day (08:30)"
_ANY_FORM = f"a number, {_EXPECTED}"


@dataclass(frozen=True)
class Clock:
    """How numbers of an instance are moments of the user's.

    Attributes
    ----------
    origin
        The moment that is number 0: a datetime, or seconds after midnight for times of day, or a
        number for numbers that were given far from 0.
    unit
        What the number 1 is: ``s``, ``min`` or ``h``.
    form
        How moments are written: as ``datetime`` objects, as ``iso`` text, as the text of a ``time
        of day`` (24:30 is half past midnight on the next day), or as a ``number``.
    """

    origin: datetime | float
    unit: str = "s"
    form: str = "datetime"

    def __post_init__(self) -> None:
        check_unit(self.unit)
        if self.form not in FORMS:
            raise ProblemError("clock", f"one of {FORMS}", show(self.form))
        dated = self.form in ("datetime", "iso")
        if isinstance(self.origin, datetime) != dated:
            expected = "a datetime" if dated else "a number"
            raise ProblemError("clock", f"{expected} as origin", show(self.origin))
        if not dated and not math.isfinite(as_number("clock", self.origin)):
            raise ProblemError("clock", "a finite number as origin", show(self.origin))

    @property
    def seconds(self) -> float:
        """Seconds of one unit."""
        return TIME_UNITS[self.unit]

    @property
    def midnight(self) -> float | None:
        """When the day of times of day begins, in units; None for other moments."""
        return self.number(0.0) if self.form == "time of day" else None

    def number(self, moment: datetime | float) -> float:
        """A parsed moment (see :func:`parse_moment`) as units after the origin."""
        if isinstance(self.origin, datetime):
            if not isinstance(moment, datetime):
                raise _unlike(moment)
            if (moment.tzinfo is None) != (self.origin.tzinfo is None):
                expected = "all moments with a time zone or all without"
                received = f"{self.origin.isoformat()} beside {moment.isoformat()}"
                raise ProblemError("windows", expected, received)
            try:
                passed = (_universal(moment) - _universal(self.origin)).total_seconds()
            except OverflowError:  # a time zone takes it across the end of the calendar
                raise _off_calendar(moment) from None
            return passed / self.seconds
        if isinstance(moment, datetime):
            raise _unlike(moment)
        if self.form == "number":
            return moment - self.origin
        return (moment - self.origin) / self.seconds

    def moment(self, number: float) -> Moment:
        """The moment that many units after the origin; infinity stays what it is."""
        if not math.isfinite(number):
            return number
        if self.form == "number":
            return float(self.origin) + number  # type: ignore[arg-type]
        # To the millisecond: what is finer comes from adding floats.
        passed = round(number * self.seconds, 3)
        if not isinstance(self.origin, datetime):
            return _as_time_of_day(self.origin + passed)
        try:
            there = _universal(self.origin) + timedelta(seconds=passed)
            if self.origin.tzinfo is not None:
                there = there.astimezone(self.origin.tzinfo)
        except OverflowError:  # beyond the year 9999, or before the year 1
            return number
        return there if self.form == "datetime" else write_iso(there)

    def __str__(self) -> str:
        """What the numbers of an instance count, for messages."""
        start = self.origin if self.form == "number" else self.moment(0.0)
        if isinstance(start, datetime):
            start = write_iso(start)
        return f"times are in {self.unit} after {start}"


def moment_of(clock: Clock | None, number: float) -> Moment:
    """A time as the user has it: a moment by the clock, or the number where there is none."""
    return number if clock is None else clock.moment(number)


def told(clock: Clock | None, number: float) -> str:
    """A time as the user would write it, for messages."""
    moment = moment_of(clock, number)
    if isinstance(moment, datetime):
        return write_iso(moment)
    return f"{moment:g}" if isinstance(moment, float) else str(moment)


def check_unit(unit: object) -> None:
    """Refuse what is no unit of time."""
    if not isinstance(unit, str) or unit not in TIME_UNITS:
        raise ProblemError("time_unit", f"one of {tuple(TIME_UNITS)}", show(unit))


def metres_per_unit(speed_kmh: object, time_unit: str) -> float:
    """Metres in a unit of time."""
    speed = as_number("speed_kmh", speed_kmh)
    if not 0 < speed < math.inf:
        raise ProblemError("speed_kmh", "more than 0", str(speed))
    return speed / 3.6 * TIME_UNITS[time_unit]


def is_absent(value: object) -> bool:
    """Whether an entry says nothing: None, NaN, NaT or empty text."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, float | datetime | np.generic):
        return bool(value != value)  # NaN and NaT differ from themselves
    return False


def holds_moments(values: object) -> bool:
    """Whether windows are given as dates, times or text rather than as numbers."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iuf":
            return False
        if values.dtype.kind == "M":
            return True
    return any(_is_moment(entry) for row in _rows(values) for entry in _rows(row))


def _is_moment(entry: object) -> bool:
    """Text that is no moment does not turn numbers into moments: it is a mistake among them."""
    if not isinstance(entry, str | date | time | np.datetime64) or is_absent(entry):
        return False
    try:
        parse_moment(entry)
    except ProblemError:
        return False
    return True


def _rows(values: object) -> list[Any]:
    if isinstance(values, str | bytes) or getattr(values, "ndim", 1) == 0:
        return []  # an array without dimensions says that it can be gone through, and cannot
    return list(values) if isinstance(values, Iterable) else []


def read_windows(
    values: Iterable[Iterable[object]], unit: str, clock: Clock | None = None
) -> tuple[Array, Clock]:
    """Windows (N, 2) of moments as numbers, and the clock.

    By default the clock starts when the first window opens. An end that is absent is infinite: no
    limit.
    """
    parsed: list[tuple[datetime | float | None, datetime | float | None]] = []
    first: datetime | float | None = None
    form = "number"
    for node, window in enumerate(values):
        ends = _rows(window)
        if len(ends) != 2:
            raise ProblemError("windows", "an opening and a closing", show(window), node=node)
        couple: list[datetime | float | None] = []
        for end in ends:
            if is_absent(end):
                couple.append(None)
                continue
            moment, its_form = parse_moment(end, node)
            if first is None:
                first, form = moment, its_form
            else:
                try:
                    Clock(first, unit, form).number(moment)
                except ProblemError as error:  # of another kind than the first
                    raise error.at("windows", node) from None
            couple.append(moment)
        parsed.append((couple[0], couple[1]))
    clock = clock or _start_clock(parsed, unit, form)
    array = np.empty((len(parsed), 2))
    for node, (opening, closing) in enumerate(parsed):
        try:
            array[node, 0] = -np.inf if opening is None else clock.number(opening)
            array[node, 1] = np.inf if closing is None else clock.number(closing)
        except ProblemError as error:
            raise error.at("windows", node) from None
    return array, clock


def read_numbers(values: Any) -> Any:
    """Windows of numbers with no limit where an end is None; whatever else, as it is.

    Text and dates among them are no moments that are read (see :func:`holds_moments`), and an error
    says which are.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values
    rows = [_rows(row) for row in _rows(values)]
    for node, row in enumerate(rows):
        for end in row:
            if isinstance(end, str | date | time | np.datetime64) and not is_absent(end):
                raise ProblemError("windows", _ANY_FORM, show(end), node=node)
    if not rows or any(len(row) != 2 for row in rows):
        return values
    return [
        [-np.inf if opening is None else opening, np.inf if closing is None else closing]
        for opening, closing in rows
    ]


def _start_clock(
    parsed: list[tuple[datetime | float | None, datetime | float | None]], unit: str, form: str
) -> Clock:
    openings = [opening for opening, _ in parsed if opening is not None]
    first = openings or [closing for _, closing in parsed if closing is not None]
    if form == "time of day":
        # Midnight would do, too; but the model knows instances whose first window opens at 0.
        return Clock(min(openings, default=0.0), unit, form)
    earliest = first[0]
    for moment in first[1:]:
        probe = Clock(earliest, unit, form)
        if probe.number(moment) < 0:
            earliest = moment
    if not openings:
        # Nothing ever opens, so the day before the first closing is early enough.
        try:
            earliest = earliest - timedelta(days=1)  # type: ignore[operator]
        except OverflowError:
            raise _off_calendar(earliest) from None
    return Clock(earliest, unit, form)


def parse_moment(value: object, node: int | None = None) -> tuple[datetime | float, str]:
    """A datetime, or seconds after midnight for a time of day; and the form it was written in."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        return value, "datetime"
    if isinstance(value, time) and value.tzinfo is None:
        since = datetime.combine(date.min, value) - datetime.min
        return since.total_seconds(), "time of day"
    if isinstance(value, str):
        text = value.strip()
        clock_face = _TIME_OF_DAY.fullmatch(text)
        if clock_face and text.isascii():
            hours, minutes, seconds = clock_face.groups()
            return 3600.0 * int(hours) + 60.0 * int(minutes) + float(seconds or 0), "time of day"
        # A date alone says nothing of the hour.
        if len(text) > len("2026-03-02") and text.isascii():
            try:
                return datetime.fromisoformat(text), "iso"
            except ValueError:
                pass
    raise ProblemError("windows", _EXPECTED, show(value), node=node)


def as_durations(values: Any, unit: str) -> Any:
    """Values with every timedelta as a number of units; anything else is left as it is."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "m":
        return np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "us")) / (
            1e6 * TIME_UNITS[unit]
        )
    if isinstance(values, list | tuple) or (
        isinstance(values, np.ndarray) and values.dtype == object
    ):
        return [_units(value, unit) for value in values]
    return _units(values, unit)


def _units(value: Any, unit: str) -> Any:
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").item()  # None for NaT
    if isinstance(value, timedelta):
        if value != value:  # pandas' NaT is a timedelta, too
            return None
        return value.total_seconds() / TIME_UNITS[unit]
    return value


def write_iso(moment: datetime) -> str:
    """ISO text, with milliseconds only where there are any."""
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


def _as_time_of_day(seconds: float) -> str:
    sign = "-" if seconds < 0 else ""
    thousandths = round(abs(seconds) * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    text = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    if rest:
        text += f":{rest // 1000:02d}"
    if rest % 1000:
        text += f".{rest % 1000:03d}"
    return text


def _universal(moment: datetime) -> datetime:
    """In UTC, so that differences are right where clocks are put forward or back."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _off_calendar(moment: object) -> ProblemError:
    return ProblemError("windows", "dates from the year 1 to the year 9999", show(moment))


def _unlike(moment: object) -> ProblemError:
    return ProblemError("windows", "dates everywhere or times of day everywhere", show(moment))
