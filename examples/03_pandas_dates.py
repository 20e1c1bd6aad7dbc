"""A pandas table with dates: what comes in as a Timestamp comes out as one."""

import pandas

import spacevrp

day = pandas.Timestamp("2026-03-02")
stops = pandas.DataFrame(
    {
        "id": ["hub", "bakery", "school", "clinic", "office"],
        "x": [0.0, 3.0, 3.0, 0.0, 5.0],
        "y": [0.0, 0.0, 4.0, 8.0, 6.0],
        "demand": [0, 4, 6, 3, 5],
        "open": [day + pandas.Timedelta(time) for time in ("7h", "7h30min", "8h", "10h", "9h")],
        "close": [day + pandas.Timedelta(time) for time in ("18h", "9h", "8h45min", "12h", "17h")],
        "service": pandas.to_timedelta([0, 10, 15, 10, 5], unit="min"),
    }
)

# One unit of distance takes a minute here; give durations= where it does not.
problem = spacevrp.Problem.from_frame(stops, capacity=12, time_unit="min")
solution = spacevrp.solve(problem, device="cpu")
print(solution)
print(solution.to_frame()[["route", "id", "arrival", "waiting", "load"]].to_string())
