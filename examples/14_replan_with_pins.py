"""Planning again during the day: a van under way keeps its next stops, the rest may change."""

import spacevrp

problem = spacevrp.Problem.from_coordinates(
    [(50, 50), (35, 28), (20, 60), (80, 30), (30, 20), (70, 80), (55, 75), (45, 40)],
    ids=["depot", "van 1 now", "mill", "farm", "pier", "hill", "school", "market"],
    # Where van 1 is now is a depot of its own.
    depots=["depot", "van 1 now"],
    demand=[0, 0, 4, 6, 3, 5, 2, 3],
    windows=[("10:40", "17:00"), ("10:40", "17:00")] + [("10:00", "16:30")] * 6,
    service=[0, 0] + [10] * 6,
    time_unit="min",
    vehicles=[
        {
            "name": "van 1",
            "start": "van 1 now",
            "end": "depot",
            "capacity": 15,
            "pinned": ["pier", "farm"],
        },
        {
            "name": "other vans",
            "start": "depot",
            "capacity": 15,
            "fixed_cost": 80,
            "window": ("11:30", "17:00"),
        },
    ],
)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
