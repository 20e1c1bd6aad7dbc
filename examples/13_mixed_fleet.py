"""Vans and bikes: weight and volume, fixed costs, and streets where only bikes may go."""

import spacevrp

problem = spacevrp.Problem.from_coordinates(
    [(50, 50), (20, 60), (80, 30), (30, 20), (70, 80), (55, 75), (45, 40), (52, 58)],
    ids=["depot", "mill", "farm", "pier", "hill", "school", "market", "old town"],
    # Kilograms and crates.
    demand=[(0, 0), (40, 4), (60, 9), (30, 2), (50, 5), (10, 2), (15, 1), (5, 1)],
    vehicles=[
        spacevrp.Vehicle("van", count=2, capacity=(150, 12), fixed_cost=80, forbidden=["old town"]),
        spacevrp.Vehicle("bike", capacity=(30, 3), fixed_cost=15, max_length=90),
    ],
)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
