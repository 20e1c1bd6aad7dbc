"""Coordinates on a plane: five shops, vans that carry ten crates, straight lines."""

import spacevrp

problem = spacevrp.Problem.from_coordinates(
    [(50, 50), (20, 60), (80, 30), (30, 20), (70, 80), (55, 75)],
    ids=["depot", "north west", "south east", "south", "north east", "north"],
    demand=[0, 4, 6, 3, 5, 2],
    capacity=10,
)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
