"""How long `solve` takes without a time for days of 60 stops with rules of whole routes.

``days.py``: one line a day. Run it with two builds and compare.
"""

from __future__ import annotations

import time

import numpy as np

import spacevrp

SIZE, DAY, LONG = 60, 600, 3000
BREAK = spacevrp.Break(duration=30, windows=[(180, 300)])
LUNCH = [
    spacevrp.Break(duration=15, windows=[(100, 200)]),
    spacevrp.Break(duration=30, windows=[(180, 330)]),
]
TRIPS = {"reload_depots": (0,)}
TIME = {"unit_duration_cost": 0.3}


def day(van, hours=DAY, paired=False, windows=None, **features):
    draw = np.random.default_rng(0)
    places = draw.uniform(0, 60, (SIZE + 1, 2))
    places[0] = 30
    if paired:
        half = SIZE // 2
        amount = draw.integers(1, 5, half)
        features |= {"demand": np.r_[0, -amount, amount], "service": [10] + [3] * SIZE}
        features["pairs"] = [(1 + pair, 1 + half + pair) for pair in range(half)]
    else:
        features |= {"demand": np.r_[0, draw.integers(1, 6, SIZE)], "service": [10] + [5] * SIZE}
    open_from = draw.integers(0, 400, SIZE) if windows else np.zeros(SIZE, dtype=int)
    lasts = windows or hours
    return spacevrp.Problem.from_coordinates(
        places,
        vehicles=[spacevrp.Vehicle(**{"capacity": 20} | van)],
        time_unit="min",
        windows=[(0, hours), *((int(one), int(one) + lasts) for one in open_from)],
        allow_unservable=True,
        **features,
    )


DAYS = {
    "one van, trips": lambda: day({"count": 1} | TRIPS),
    "one van, trips, long day": lambda: day({"count": 1} | TRIPS, LONG),
    "two vans, trips, windows": lambda: day({"count": 2} | TRIPS, windows=150),
    "two vans, trips, windows, a break": lambda: day(
        {"count": 2, "breaks": [BREAK]} | TRIPS, windows=150
    ),
    "six vans, a break, windows": lambda: day({"count": 6, "breaks": [BREAK]}, windows=150),
    "six vans, two breaks, cost of time": lambda: day(
        {"count": 6, "breaks": LUNCH} | TIME, windows=150
    ),
    "pairs": lambda: day({"count": 6}, paired=True),
    "pairs, a break": lambda: day({"count": 6, "breaks": [BREAK]}, paired=True),
    "pairs, trips": lambda: day({"count": 6} | TRIPS, paired=True),
    "pairs, one van, cost of time": lambda: day({"count": 1} | TIME, LONG, paired=True),
    "rides of an hour": lambda: day({"count": 6}, paired=True, max_ride=60),
    "rides, one van": lambda: day({"count": 1}, LONG, paired=True, max_ride=90),
    "rides, a break": lambda: day({"count": 6, "breaks": [BREAK]}, paired=True, max_ride=60),
}
for name, make in DAYS.items():
    problem = make()
    began = time.process_time()
    plan = spacevrp.solve(problem, device="cpu", partial=True, explain=False)
    spent = time.process_time() - began
    print(f"{name},{spent:.2f},{plan.cost:.2f},{len(plan.unserved)}", flush=True)
